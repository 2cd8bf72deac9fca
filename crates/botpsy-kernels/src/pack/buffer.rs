//! Memory for weights, states and scratch: straight from the system, in huge pages where it has them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use memmap2::{MmapMut, MmapRaw};

use super::Line;
use crate::lanes::LANES;

/// A type of which any bytes make a value.
///
/// # Safety
/// That must hold, and a page of memory must be aligned enough for it.
pub(crate) unsafe trait AnyBytes: Copy + Send + Sync {}

// SAFETY: integers and floats, and arrays of them; the largest alignment is a line's.
unsafe impl AnyBytes for Line<[f32; LANES]> {}
// SAFETY: as before.
unsafe impl AnyBytes for Line<[u16; 2 * LANES]> {}
// SAFETY: as before.
unsafe impl AnyBytes for Line<[u8; 4 * LANES]> {}
// SAFETY: as before.
unsafe impl AnyBytes for [u16; LANES] {}
// SAFETY: as before.
unsafe impl AnyBytes for f32 {}
// SAFETY: an array of such values.
unsafe impl<T: AnyBytes, const N: usize> AnyBytes for [T; N] {}

/// What a panic carries when the system has no room: programs can tell it from a fault of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// What was asked for.
    pub bytes: usize,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "too little memory: the system refused {} more MB", self.bytes.div_ceil(1_000_000))
    }
}

impl std::error::Error for OutOfMemory {}

/// A slice of its own that begins as zeros. The system gives a page when it is first written, so threads that fill a buffer
/// share also the clearing of its pages.
pub(crate) struct Buffer<T: AnyBytes> {
    region: Arc<Region>,
    /// Where in the region it begins, in bytes.
    start: usize,
    len: usize,
    values: PhantomData<T>,
}

/// What a huge page covers; a matrix by itself would lie in small pages at both ends.
const HUGE_PAGE: usize = 2 << 20;

/// Buffers share regions of this size, or have one of their own where they need more. Huge pages that no buffer touches take no
/// memory.
const REGION: usize = 16 * HUGE_PAGE;

/// Alignment of buffers, that of a page.
const ALIGNMENT: usize = 4096;

/// A mapping whose bytes from `start` on are given to one buffer each. It lasts as long as any of them.
struct Region {
    map: MmapRaw,
    /// The first border of a huge page.
    start: usize,
}

impl Region {
    /// Room for `bytes` zeros; from a huge page on in such pages.
    fn new(bytes: usize) -> Region {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGNMENT);
        let is_huge = bytes.is_some_and(|bytes| bytes >= HUGE_PAGE);
        let bytes = bytes.and_then(|bytes| bytes.checked_add(if is_huge { HUGE_PAGE } else { 0 }));
        let bytes = bytes.expect("a size in memory");
        let map = MmapMut::map_anon(bytes).unwrap_or_else(|_| std::panic::panic_any(OutOfMemory { bytes }));
        // No reference to the whole mapping is ever made: buffers write to their parts of it.
        let map = MmapRaw::from(map);
        if !is_huge {
            return Region { map, start: 0 };
        }
        #[cfg(target_os = "linux")]
        // A hint: without huge pages everything works, a little slower.
        let _ = map.advise(memmap2::Advice::HugePage);
        let start = map.as_ptr().align_offset(HUGE_PAGE);
        Region { map, start }
    }

    fn len(&self) -> usize {
        self.map.len() - self.start
    }
}

/// The shared region that has room left, and how much of it is given away.
static OPEN: Mutex<(Weak<Region>, usize)> = Mutex::new((Weak::new(), 0));

impl<T: AnyBytes> Buffer<T> {
    /// `len` values of zeros.
    ///
    /// # Panics
    /// With [`OutOfMemory`] if the system has no room for them.
    pub(crate) fn zeros(len: usize) -> Buffer<T> {
        let bytes = len.checked_mul(size_of::<T>()).expect("a size in memory");
        let (region, start) = if bytes > REGION { (Arc::new(Region::new(bytes)), 0) } else { share(bytes) };
        Buffer { region, start, len, values: PhantomData }
    }

    fn first(&self) -> *mut T {
        // SAFETY: `start` is inside the region, or at its end.
        unsafe { self.region.map.as_mut_ptr().add(self.region.start + self.start).cast() }
    }
}

/// The next `bytes`, at most a region, of a shared region.
fn share(bytes: usize) -> (Arc<Region>, usize) {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let used = open.1;
    let (region, start) = match open.0.upgrade() {
        Some(region) if bytes <= region.len() - used => (region, used),
        _ => (Arc::new(Region::new(REGION)), 0),
    };
    *open = (Arc::downgrade(&region), (start + bytes).next_multiple_of(ALIGNMENT));
    (region, start)
}

impl<T: AnyBytes> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` values of a type of any bytes lie there, aligned as the start of a page is, and belong to this buffer.
        unsafe { std::slice::from_raw_parts(self.first(), self.len) }
    }
}

impl<T: AnyBytes> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the mapping may be written, and `self` is borrowed for that.
        unsafe { std::slice::from_raw_parts_mut(self.first(), self.len) }
    }
}

/// Numbers in memory of their own: aligned for every instruction set, and in huge pages where they are many. Begins as zeros.
#[derive(Default)]
pub struct FloatBuffer(Option<Buffer<f32>>);

impl FloatBuffer {
    /// `len` zeros.
    ///
    /// # Panics
    /// With [`OutOfMemory`] if the system has no room for them.
    pub fn zeros(len: usize) -> FloatBuffer {
        FloatBuffer::zeros_together([len]).pop().expect("one for the one length")
    }

    /// Buffers of these lengths that lie side by side and are given back to the system together.
    ///
    /// # Panics
    /// With [`OutOfMemory`] if the system has no room for them.
    pub fn zeros_together(lens: impl IntoIterator<Item = usize>) -> Vec<FloatBuffer> {
        let mut end = 0_usize;
        let place = |len: usize| {
            let start = end;
            let bytes = len.checked_mul(size_of::<f32>()).and_then(|bytes| bytes.checked_next_multiple_of(ALIGNMENT));
            end = bytes.and_then(|bytes| start.checked_add(bytes)).expect("a size in memory");
            (start, len)
        };
        let places: Vec<_> = lens.into_iter().map(place).collect();
        let region = Arc::new(Region::new(end));
        let buffer =
            |(start, len)| FloatBuffer(Some(Buffer { region: Arc::clone(&region), start, len, values: PhantomData }));
        places.into_iter().map(buffer).collect()
    }

    /// The first `len` numbers, whatever they are; the buffer grows where it has fewer, and only then forgets them.
    pub fn lend(&mut self, len: usize) -> &mut [f32] {
        if self.len() < len {
            *self = FloatBuffer::zeros(len);
        }
        &mut self[..len]
    }
}

impl FromIterator<f32> for FloatBuffer {
    fn from_iter<I: IntoIterator<Item = f32>>(values: I) -> FloatBuffer {
        let values: Vec<f32> = values.into_iter().collect();
        let mut buffer = FloatBuffer::zeros(values.len());
        buffer.copy_from_slice(&values);
        buffer
    }
}

impl Deref for FloatBuffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl DerefMut for FloatBuffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        self.0.as_deref_mut().unwrap_or_default()
    }
}

impl fmt::Debug for FloatBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FloatBuffer({} values)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_begins_as_zeros_and_keeps_what_is_written() {
        // Together more than a region, and one more than that by itself.
        let mut buffers = Vec::new();
        for len in [0, 1, 5000, 0, REGION / 64, REGION / 64, 3, REGION / 16, 7] {
            let mut buffer = Buffer::<[u16; LANES]>::zeros(len);
            assert_eq!(buffer.len(), len);
            assert!(buffer.as_ptr().addr().is_multiple_of(ALIGNMENT));
            assert!(buffer.iter().all(|x| *x == [0; LANES]));
            for (i, x) in buffer.iter_mut().enumerate() {
                x[3] = (i + len) as u16;
            }
            buffers.push(buffer);
        }
        for buffer in buffers {
            assert!(buffer.iter().enumerate().all(|(i, x)| x[3] == (i + buffer.len()) as u16));
        }
    }

    #[test]
    fn numbers_side_by_side_do_not_meet() {
        for lens in [vec![], vec![0], vec![3, 0, 2000, 1], vec![1 << 19, 5, 1 << 20]] {
            let mut buffers = FloatBuffer::zeros_together(lens.iter().copied());
            for (i, buffer) in buffers.iter_mut().enumerate() {
                assert!(buffer.as_ptr().addr().is_multiple_of(64) && buffer.iter().all(|x| *x == 0.0));
                buffer.fill(i as f32 + 1.0);
            }
            assert_eq!(buffers.iter().map(|buffer| buffer.len()).collect::<Vec<_>>(), lens);
            assert!(buffers.iter().enumerate().all(|(i, buffer)| buffer.iter().all(|x| *x == i as f32 + 1.0)));
        }
        let mut buffer = FloatBuffer::default();
        assert!(buffer.lend(0).is_empty());
        buffer.lend(10)[9] = 1.0;
        assert_eq!(buffer.lend(10)[9], 1.0);
        assert_eq!(buffer.lend(4).len(), 4);
    }
}
