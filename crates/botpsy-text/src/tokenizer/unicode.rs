//! What the splitter and NFC need to know of a code point, in one byte.

use std::sync::LazyLock;

use super::unicode_ranges::RANGES;

/// Neither letter, mark, number nor white space.
pub(super) const OTHER: u8 = 0;
/// `\p{L}`.
pub(super) const LETTER: u8 = 1;
/// `\p{M}`.
pub(super) const MARK: u8 = 2;
/// `\p{N}`.
pub(super) const NUMBER: u8 = 3;
/// `\s` other than the two line breaks.
pub(super) const SPACE: u8 = 4;
/// Carriage return and line feed.
pub(super) const NEWLINE: u8 = 5;
/// The bits that hold the class.
pub(super) const CLASS_BITS: u8 = 7;
/// NFC may change it, move it or attach it to what stands before it.
pub(super) const UNSTABLE: u8 = 8;
/// NFC composes it from two others.
pub(super) const COMPOSITE: u8 = 16;

const BLOCK: usize = 256;
const N_BLOCKS: usize = 0x11_0000 / BLOCK;

/// Two-level table; blocks of one class are shared.
pub(super) struct CodePoints {
    block_of: [u16; N_BLOCKS],
    blocks: Vec<[u8; BLOCK]>,
}

static CODE_POINTS: LazyLock<CodePoints> = LazyLock::new(build);

impl CodePoints {
    pub(super) fn get() -> &'static Self {
        &CODE_POINTS
    }

    /// Class and flags of a code point.
    #[inline]
    pub(super) fn of(&self, code_point: u32) -> u8 {
        let code_point = code_point as usize;
        self.blocks[usize::from(self.block_of[code_point / BLOCK])][code_point % BLOCK]
    }

    /// Class and flags of the character that starts at `at`, and its length in bytes.
    ///
    /// `bytes` is UTF-8 and `at` the start of a character.
    #[inline]
    pub(super) fn at(&self, bytes: &[u8], at: usize) -> (u8, usize) {
        let lead = bytes[at];
        if lead < 0x80 {
            return (self.blocks[0][lead as usize], 1);
        }
        let tail = |i: usize| u32::from(bytes[at + i] & 0x3F);
        let lead_bits = u32::from(lead);
        let (code_point, len) = match lead {
            ..0xE0 => ((lead_bits & 0x1F) << 6 | tail(1), 2),
            0xE0..0xF0 => ((lead_bits & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
            0xF0.. => ((lead_bits & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
        };
        (self.of(code_point), len)
    }
}

fn build() -> CodePoints {
    let mut table = CodePoints { block_of: [0; N_BLOCKS], blocks: Vec::new() };
    let mut uniform: [Option<u16>; 256] = [None; 256];
    let mut range = 0;
    for block_idx in 0..N_BLOCKS {
        let mut block = [0; BLOCK];
        for (i, class) in block.iter_mut().enumerate() {
            let code_point = (block_idx * BLOCK + i) as u32;
            if RANGES.get(range + 1).is_some_and(|next| next >> 8 <= code_point) {
                range += 1;
            }
            *class = RANGES[range] as u8;
        }
        let first = block[0];
        let shared = block.iter().all(|&class| class == first).then(|| &mut uniform[usize::from(first)]);
        let new = table.blocks.len() as u16;
        table.block_of[block_idx] = match shared {
            Some(Some(known)) => *known,
            Some(empty) => *empty.insert(new),
            None => new,
        };
        if table.block_of[block_idx] == new {
            table.blocks.push(block);
        }
    }
    // Block 0 is the mixed block of Latin-1, which the ASCII path reads directly.
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_equals_the_ranges() {
        let table = CodePoints::get();
        for (i, range) in RANGES.iter().enumerate() {
            let end = RANGES.get(i + 1).map_or(0x11_0000, |next| next >> 8);
            for code_point in range >> 8..end {
                assert_eq!(table.of(code_point), *range as u8, "U+{code_point:04X}");
            }
        }
        assert!(table.blocks.len() < 400, "{} blocks", table.blocks.len());
    }

    #[test]
    fn characters_are_read_from_utf8() {
        let table = CodePoints::get();
        let text = "a\u{7ff}ह\u{ffff}\u{10000}\u{10ffff}\n ";
        for (at, ch) in text.char_indices() {
            assert_eq!(table.at(text.as_bytes(), at), (table.of(ch as u32), ch.len_utf8()));
        }
    }
}
