#!/usr/bin/env python3
"""Writes fixtures/tokenizer/random.json: random texts, their words (as lengths in characters) and their ids, from
the PyPI `tokenizers` wheel.

    python3 -m venv V && V/bin/pip install tokenizers
    V/bin/python checks/tokenizer_fixtures.py [--seed N] [--count N] [--out FILE]

Another seed and count, written elsewhere, checks more texts: BOTPSY_TOKENIZER_CASES=FILE makes the test read them.
"""

import argparse
import json
import pathlib
import random

import tokenizers

FIXTURES = pathlib.Path(__file__).parent.parent / "fixtures"
VOCABULARIES = {"tiny": "reference/tiny-grouped/tokenizer.json", "nano": "tokenizer/nano-tokenizer.json"}

WORDS = "the set an alarm for tomorrow I'll you're we've they'd don't café naïve Straße return def fn let".split()
APOSTROPHES = ["'s", "'S", "'ſ", "'ſs", "'t", "'RE", "'re", "'vE", "'Ve", "'m", "'LL", "'lL", "'l", "'d", "'D", "''s", "'", "’s",
               "'\u212a", "'ß", "'st", " 's", "\n's", "'r\u0065\u0301", "'l\u0142"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\r", "\n\n", " \n", "\n ", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029",
          "\u202f", "\u205f", "\u3000", "\u0085", "\u000b", "\u000c", "\u200b", "\ufeff", "\u180e", "\u001c", "\u001f"]
SPECIAL = ["<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>", "<|im_", "<<think>>", "<|endoftext|>",
           "</tool_response>", "<tool_", "|>", "<|im_end|", "<｜im_end｜>", "<\u0301think>", "<think>\u0301"]
SCRIPTS = [(0x21, 0x7E), (0xA1, 0x24F), (0x370, 0x3FF), (0x400, 0x52F), (0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0x980, 0xDFF),
           (0xE00, 0xEFF), (0xF00, 0xFFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1B00, 0x1BFF), (0x1E00, 0x1FFF), (0x2000, 0x20CF),
           (0x2100, 0x218F), (0x2460, 0x24FF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF),
           (0xFB00, 0xFDFF), (0xFE00, 0xFEFF), (0xFF00, 0xFFEF), (0x10000, 0x107FF), (0x10800, 0x11FFF), (0x1D100, 0x1D7FF),
           (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0x2F800, 0x2FA1F)]
MARKS = [(0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x64B, 0x65F), (0x93C, 0x94D), (0xE38, 0xE3A), (0x1AB0, 0x1ACE),
         (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0x3099, 0x309A), (0xFE20, 0xFE2F), (0x1D165, 0x1D172), (0x1E8D0, 0x1E8D6)]
EDGES = [(0, 0x20), (0x7F, 0xA0), (0xD7FB, 0xD7FF), (0xE000, 0xE010), (0xFFF0, 0xFFFF), (0x1FFFE, 0x1FFFF), (0xE0000, 0xE0FFF),
         (0xF0000, 0xF0010), (0x10FFF0, 0x10FFFF)]


def char(rng, ranges):
    return chr(rng.randint(*rng.choice(ranges)))


def any_char(rng):
    code_point = rng.randrange(0x110000 - 0x800)
    return chr(code_point if code_point < 0xD800 else code_point + 0x800)


def part(rng):
    script = rng.choice(SCRIPTS)
    return rng.choice([
        lambda: rng.choice(WORDS),
        lambda: rng.choice(WORDS) + rng.choice(APOSTROPHES),
        lambda: rng.choice(APOSTROPHES),
        lambda: "".join(rng.choice(SPACES) for _ in range(rng.randint(1, 5))),
        lambda: rng.choice([" ", "\n", "\r\n"]) * rng.randint(1, 6),
        lambda: rng.choice(SPECIAL),
        lambda: "".join(chr(rng.randint(*script)) for _ in range(rng.randint(1, 8))),
        lambda: "".join(char(rng, [script]) + "".join(char(rng, MARKS) for _ in range(rng.randint(0, 3))) for _ in range(3)),
        lambda: rng.choice("aeiouyAEIOUнйがは\u1100") + "".join(char(rng, MARKS) for _ in range(rng.randint(1, 4))),
        lambda: "".join(chr(rng.choice([0x1100, 0x1161, 0x11A7]) + rng.randint(0, 20)) for _ in range(rng.randint(1, 6))),
        lambda: "".join(char(rng, EDGES) for _ in range(rng.randint(1, 3))),
        lambda: "".join(any_char(rng) for _ in range(rng.randint(1, 4))),
        lambda: str(rng.randrange(10 ** rng.randint(1, 9))) + rng.choice(["", "%", "½", "²", "٣", "一", "Ⅷ", "e5"]),
        lambda: "".join(rng.choice("!?.,;:-_=+*/\\|<>()[]{}\"'`~@#$%^&") for _ in range(rng.randint(1, 6))) + rng.choice(["", "\n", "\r\n\r"]),
        lambda: rng.choice(["👩‍👩‍👧", "🇩🇪", "✋🏽", "❤️", "👍", "🫠", "1️⃣"]),
        lambda: rng.choice('e(x)=y {"k": [1, true]} <a href="#">x</a> if(!a){b();}'.split()),
    ])()


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--seed", type=int, default=20261201)
    args.add_argument("--count", type=int, default=2000)
    args.add_argument("--out", type=pathlib.Path, default=FIXTURES / "tokenizer/random.json")
    args = args.parse_args()
    rng = random.Random(args.seed)
    texts = ["".join(part(rng) for _ in range(rng.randint(1, 6))) for _ in range(args.count)]
    cases = [{"text": text} for text in texts]
    splitter = tokenizers.Tokenizer.from_file(str(FIXTURES / VOCABULARIES["tiny"])).pre_tokenizer
    for case in cases:
        # The offsets count characters, and bytes of the same word are never apart.
        case["words"] = [end - start for _, (start, end) in splitter.pre_tokenize_str(case["text"])]
    for name, path in VOCABULARIES.items():
        oracle = tokenizers.Tokenizer.from_file(str(FIXTURES / path))
        for case, encoding in zip(cases, oracle.encode_batch(texts, add_special_tokens=False)):
            case[name] = encoding.ids
    about = (f"{args.count} random texts (seed {args.seed}), their words before normalization (lengths in characters) and their ids from tokenizers {tokenizers.__version__}, "
             f"by {', '.join(f'{name}: fixtures/{path}' for name, path in VOCABULARIES.items())}")
    rows = ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases)
    args.out.write_text('{"about":%s,"cases":[\n%s\n]}\n' % (json.dumps(about), rows), newline="\n")


if __name__ == "__main__":
    main()
