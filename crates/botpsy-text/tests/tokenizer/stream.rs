//! Text that arrives token by token or byte by byte.

use botpsy_text::tokenizer::{Detokenizer, SpecialTokens, TokenId, Utf8Stream};

use crate::load;
use crate::random::Random;

fn stream_in_pieces(bytes: &[u8], random: &mut Random) -> String {
    let mut stream = Utf8Stream::new();
    let mut text = String::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(1 + random.below(rest.len().min(5)));
        text.push_str(&stream.push(piece));
        rest = after;
    }
    text + &stream.finish()
}

#[test]
fn any_split_gives_the_text_of_the_whole() {
    let mut random = Random::new(2);
    let fragments = ["a", "é", "中", "👩‍💻", "\u{fffd}", "\u{7ff}\u{800}\u{ffff}\u{10000}"];
    for round in 0..20_000 {
        let mut bytes = random.text(&fragments, 6).into_bytes();
        if round % 2 == 1 {
            for _ in 0..3 {
                let at = random.below(bytes.len() + 1);
                bytes.insert(at, [0x80, 0xc2, 0xe0, 0xed, 0xf0, 0xf4, 0xff, 0xa0][random.below(8)]);
            }
        }
        assert_eq!(stream_in_pieces(&bytes, &mut random), String::from_utf8_lossy(&bytes), "{bytes:x?}");
    }
}

#[test]
fn half_a_character_waits_and_a_broken_one_does_not() {
    let mut stream = Utf8Stream::new();
    assert_eq!(stream.push(&[b'a', 0xf0, 0x9f]), "a");
    assert_eq!(stream.push(&[0x91]), "");
    assert_eq!(stream.push(&[0x8d, b'!']), "👍!");
    assert_eq!(stream.push(&[0xe4, 0xb8]), "");
    assert_eq!(stream.push(b"x"), "\u{fffd}x");
    assert_eq!(stream.push(&[0xc3]), "");
    assert_eq!(stream.finish(), "\u{fffd}");
    assert_eq!(stream.finish(), "");
}

#[test]
fn tokens_one_by_one_give_the_decoded_text() {
    let tokenizer = load::tiny();
    let mut random = Random::new(3);
    for _ in 0..5_000 {
        let ids: Vec<TokenId> = (0..random.below(20)).map(|_| TokenId(random.below(520) as u32)).collect();
        let shown: Vec<TokenId> = ids.iter().copied().filter(|&id| !tokenizer.is_special(id)).collect();
        for (special, expected) in [(SpecialTokens::Keep, &ids), (SpecialTokens::Skip, &shown)] {
            let mut detokenizer = Detokenizer::new(special);
            let mut text: String = ids.iter().map(|&id| detokenizer.push(&tokenizer, id)).collect();
            text.push_str(&detokenizer.finish());
            assert_eq!(text, tokenizer.decode_lossy(expected));
        }
    }
}

#[test]
fn control_tokens_are_skipped_and_markers_are_not() {
    let tokenizer = load::tiny();
    let ids = tokenizer.encode("<|im_start|><think>é</think><tool_call><|im_end|>");
    let mut detokenizer = Detokenizer::new(SpecialTokens::Skip);
    let text: String = ids.iter().map(|&id| detokenizer.push(&tokenizer, id)).collect();
    assert_eq!(text, "<think>é</think><tool_call>");
}
