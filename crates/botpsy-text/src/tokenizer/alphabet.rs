//! The byte alphabet of GPT-2: a printable character for each byte, so that token bytes can stand in JSON.

use std::sync::LazyLock;

/// One past the largest character of the alphabet.
const END: usize = 0x144;

/// Byte of each character, where it has one.
static BYTE_OF_CHAR: LazyLock<[Option<u8>; END]> = LazyLock::new(|| {
    let mut table = [None; END];
    let mut n_moved = 0;
    for byte in 0..=255u8 {
        // Printable Latin-1 stands for itself; the others move up behind it in order.
        if matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF) {
            table[byte as usize] = Some(byte);
        } else {
            table[0x100 + n_moved] = Some(byte);
            n_moved += 1;
        }
    }
    table
});

/// Appends the bytes that `token` spells; `false` (and a part appended) if a character is outside the alphabet.
pub(super) fn push_bytes(token: &str, out: &mut Vec<u8>) -> bool {
    let table = &*BYTE_OF_CHAR;
    token.chars().all(|ch| {
        let byte = table.get(ch as usize).copied().flatten();
        out.extend(byte);
        byte.is_some()
    })
}

/// The bytes that `token` spells.
pub(super) fn to_bytes(token: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(token.len());
    push_bytes(token, &mut bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alphabet_spells_every_byte_once() {
        let mut bytes: Vec<u8> = BYTE_OF_CHAR.iter().copied().flatten().collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        assert_eq!(to_bytes("\u{120}caf\u{c3}\u{a9}\u{10a}").unwrap(), " café\n".as_bytes());
        assert_eq!(to_bytes("a b"), None);
        assert_eq!(to_bytes("中"), None);
    }
}
