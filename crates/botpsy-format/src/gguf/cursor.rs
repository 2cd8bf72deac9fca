//! Reads little-endian values off the front of bytes; every length is checked against what is left.

use std::fmt::Display;

use crate::{FormatError, Result};

pub(super) struct Cursor<'a> {
    pub(super) file: &'a str,
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self { file, bytes, pos: 0 }
    }

    /// Bytes read so far.
    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    /// The next `len` bytes; `field` is named if they are not there.
    pub(super) fn take(&mut self, len: u64, field: &dyn Display) -> Result<&'a [u8]> {
        let left = self.bytes.len() - self.pos;
        let Some(len) = usize::try_from(len).ok().filter(|&len| len <= left) else {
            return Err(FormatError::Truncated {
                file: self.file.to_owned(),
                field: field.to_string(),
                needed: len,
                left: left as u64,
            });
        };
        let taken = &self.bytes[self.pos..self.pos + len];
        self.pos += len;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, field: &dyn Display) -> Result<[u8; N]> {
        let taken = self.take(N as u64, field)?;
        Ok(taken.try_into().expect("take returns the length asked for"))
    }

    pub(super) fn u32(&mut self, field: &dyn Display) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    pub(super) fn u64(&mut self, field: &dyn Display) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    /// A string of at most `limit` bytes.
    pub(super) fn string(&mut self, limit: u64, field: &dyn Display) -> Result<&'a str> {
        let len = self.u64(field)?;
        FormatError::check_limit(self.file, format_args!("{field}: bytes"), limit, len)?;
        std::str::from_utf8(self.take(len, field)?)
            .map_err(|error| FormatError::malformed(self.file, field, format_args!("not UTF-8: {error}")))
    }

    /// A string that names something: no control characters, which would act on the terminal that shows an error.
    pub(super) fn name(&mut self, limit: u64, field: &dyn Display) -> Result<&'a str> {
        let name = self.string(limit, field)?;
        match name.chars().find(|ch| ch.is_control()) {
            Some(ch) => Err(FormatError::malformed(self.file, field, format_args!("control character {ch:?}"))),
            None => Ok(name),
        }
    }
}
