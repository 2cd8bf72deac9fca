//! Memory for packed weights: straight from the system, in huge pages where it has them.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use memmap2::MmapMut;

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
// SAFETY: an array of such values.
unsafe impl<T: AnyBytes, const N: usize> AnyBytes for [T; N] {}

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

/// Buffers share regions of this size, or have one of their own where they need more. What no buffer uses takes no memory.
const REGION: usize = 16 * HUGE_PAGE;

/// Alignment of buffers, that of a page.
const ALIGNMENT: usize = 4096;

/// A mapping whose bytes from `start` on are given to one buffer each. It lasts as long as any of them.
struct Region {
    map: MmapMut,
    /// The first border of a huge page.
    start: usize,
}

impl Region {
    fn new(bytes: usize) -> Region {
        let map = MmapMut::map_anon(bytes.max(REGION) + HUGE_PAGE).expect("memory for packed weights");
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

/// The region that has room left, and how much of it is given away.
static OPEN: Mutex<(Weak<Region>, usize)> = Mutex::new((Weak::new(), 0));

impl<T: AnyBytes> Buffer<T> {
    /// `len` values of zeros.
    ///
    /// # Panics
    /// If the system has no room for them, as for any other allocation.
    pub(crate) fn zeros(len: usize) -> Buffer<T> {
        let bytes = len.checked_mul(size_of::<T>()).expect("a size in memory");
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let used = open.1;
        let (region, start) = match open.0.upgrade() {
            Some(region) if bytes <= region.len().saturating_sub(used) => (region, used),
            _ => (Arc::new(Region::new(bytes)), 0),
        };
        *open = (Arc::downgrade(&region), (start + bytes).next_multiple_of(ALIGNMENT));
        Buffer { region, start, len, values: PhantomData }
    }

    fn first(&self) -> *const T {
        // SAFETY: `start` is inside the region.
        unsafe { self.region.map.as_ptr().add(self.region.start + self.start).cast() }
    }
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
        unsafe { std::slice::from_raw_parts_mut(self.first().cast_mut(), self.len) }
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
}
