//! Memory for packed weights: straight from the system, in huge pages where it has them.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

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
    /// `None` for a slice of no bytes, which cannot be mapped.
    map: Option<MmapMut>,
    len: usize,
    values: PhantomData<T>,
}

impl<T: AnyBytes> Buffer<T> {
    /// `len` values of zeros.
    ///
    /// # Panics
    /// If the system has no room for them, as for any other allocation.
    pub(crate) fn zeros(len: usize) -> Buffer<T> {
        let bytes = len.checked_mul(size_of::<T>()).expect("a size in memory");
        let map = (bytes > 0).then(|| MmapMut::map_anon(bytes).expect("memory for packed weights"));
        #[cfg(target_os = "linux")]
        if let Some(map) = &map {
            // A hint: without huge pages everything works, a little slower.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        Buffer { map, len, values: PhantomData }
    }
}

impl<T: AnyBytes> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let start = self.map.as_ref().map_or(std::ptr::dangling(), |map| map.as_ptr().cast());
        // SAFETY: `len` values of a type of any bytes lie there, aligned as the start of a page is.
        unsafe { std::slice::from_raw_parts(start, self.len) }
    }
}

impl<T: AnyBytes> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let start = self.map.as_mut().map_or(std::ptr::dangling_mut(), |map| map.as_mut_ptr().cast());
        // SAFETY: as in `deref`, and `self` is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(start, self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_begins_as_zeros_and_keeps_what_is_written() {
        for len in [0, 1, 5000] {
            let mut buffer = Buffer::<[u16; LANES]>::zeros(len);
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().all(|x| *x == [0; LANES]));
            for (i, x) in buffer.iter_mut().enumerate() {
                x[3] = i as u16;
            }
            assert!(buffer.iter().enumerate().all(|(i, x)| x[3] == i as u16));
        }
    }
}
