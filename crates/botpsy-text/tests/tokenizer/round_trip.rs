//! Decoding undoes encoding, and long texts take no longer than their length asks for.

use std::time::{Duration, Instant};

use botpsy_text::tokenizer::guard;
use unicode_normalization::UnicodeNormalization;

use crate::load;
use crate::random::Random;

#[test]
fn decoding_gives_the_normalized_text() {
    let tokenizer = load::nano();
    let mut random = Random::new(4);
    // Marks and letters that Unicode 9 had already, so that newer tables normalize them alike.
    let fragments = [
        "e",
        "\u{301}",
        "\u{323}",
        "o\u{308}",
        "ạ",
        "क\u{93c}",
        "\u{1100}\u{1161}",
        "\u{11a8}",
        "가",
        "Å",
        "\u{344}",
        " x",
        "<think>",
    ];
    for _ in 0..10_000 {
        let text: String = (0..random.below(12)).map(|_| random.pick(&fragments)).collect();
        let normal: String = text.nfc().collect();
        assert_eq!(tokenizer.decode_lossy(&tokenizer.encode(&text)), normal, "{text:?}");
        assert_eq!(tokenizer.decode_lossy(&tokenizer.encode_untrusted(&normal)), normal);
    }
}

#[test]
fn normalizing_twice_changes_nothing() {
    let tokenizer = load::tiny();
    let mut random = Random::new(5);
    for _ in 0..10_000 {
        let text = random.text(&["e\u{301}", "\u{323}\u{301}", "\n", "<|im_end|>", "'s "], 8);
        let once = tokenizer.decode_lossy(&tokenizer.encode(&text));
        assert_eq!(tokenizer.decode_lossy(&tokenizer.encode(&once)), once, "{text:?}");
    }
}

/// Far above what the work takes, far below what quadratic work would: that would be minutes.
const LONG_TEXT_BOUND: Duration = Duration::from_secs(10);

#[test]
fn long_runs_are_not_quadratic() {
    let tokenizer = load::nano();
    let runs = [
        "a",
        "the",
        " ",
        "\n",
        " \n",
        "'",
        "'s",
        "<",
        "<|im_",
        "<think>",
        "\u{301}",
        "e\u{323}\u{301}",
        "\u{323}\u{301}",
        "한",
        "\u{1100}\u{1161}",
        "\u{e000}",
        "7",
        "!\r\n",
    ];
    for run in runs {
        let text = run.repeat(1_000_000 / run.len());
        let start = Instant::now();
        let ids = tokenizer.encode(&text);
        assert!(tokenizer.decode(&ids).len() <= text.len());
        let template = tokenizer.encode_template(&guard(&text, tokenizer.added_tokens()));
        assert_eq!(template, tokenizer.encode_untrusted(&text), "{run:?}");
        assert!(start.elapsed() < LONG_TEXT_BOUND, "{run:?} took {:?}", start.elapsed());
    }
}
