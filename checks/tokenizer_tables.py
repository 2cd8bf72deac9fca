#!/usr/bin/env python3
"""Writes crates/botpsy-text/src/tokenizer/unicode_ranges.rs by asking the PyPI `tokenizers` wheel.

    python3 -m venv V && V/bin/pip install tokenizers
    V/bin/python checks/tokenizer_tables.py

The splitter must agree with the wheel on \\p{L}, \\p{M}, \\p{N} and \\s, and NFC must agree with the older
Unicode tables that the wheel normalizes with, so both are measured for every code point instead of taken
from one version of the Unicode character database.
"""

import pathlib
import subprocess
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

OUT = pathlib.Path(__file__).parent.parent / "crates/botpsy-text/src/tokenizer/unicode_ranges.rs"
OTHER, LETTER, MARK, NUMBER, SPACE, NEWLINE = range(6)
UNSTABLE, COMPOSITE = 8, 16
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
nfc = normalizers.NFC().normalize_str


def members(pattern):
    """Code points that match `pattern`."""
    removed = pre_tokenizers.Split(Regex(pattern), "removed")
    found = set()
    for at in range(0, len(CODE_POINTS), 4096):
        chunk = CODE_POINTS[at : at + 4096]
        kept = {ch for piece, _ in removed.pre_tokenize_str("".join(map(chr, chunk))) for ch in piece}
        found.update(c for c in chunk if chr(c) not in kept)
    return found


def combines(c):
    """Whether the code point has a combining class: it trades places with a neighbor of another class."""
    ch = chr(c)
    return nfc("\u2603" + ch + "\u0334") == "\u2603\u0334" + ch or nfc("\u2603\u0359" + ch) == "\u2603" + ch + "\u0359"


def normalization():
    """(unstable, composite): what may change or attach to what stands before it; what NFC itself composes."""
    unstable = {c for c in CODE_POINTS if nfc(chr(c)) != chr(c) or combines(c)}
    unstable |= set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))  # Hangul vowels and finals attach
    composite = set(range(0xAC00, 0xD7A4))
    for c in CODE_POINTS:
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            if nfc("".join(chr(int(p, 16)) for p in parts)) == chr(c):
                composite.add(c)
                unstable.add(int(parts[1], 16))
    return unstable, composite


def main():
    classes = {}
    for pattern, value in ((r"\s", SPACE), (r"\p{L}", LETTER), (r"\p{M}", MARK), (r"\p{N}", NUMBER)):
        classes.update(dict.fromkeys(members(pattern), value))
    classes[0x0A] = classes[0x0D] = NEWLINE
    unstable, composite = normalization()
    rows, last = [], None
    for c in CODE_POINTS:
        value = classes.get(c, OTHER) | UNSTABLE * (c in unstable) | COMPOSITE * (c in composite)
        if value != last:
            rows.append(f"0x{c:X}{value:02X}")
        last = value
    lines = [
        "//! Classes of all code points; written by `checks/tokenizer_tables.py`, do not edit.",
        "//!",
        f"//! Measured from tokenizers {tokenizers.__version__}. Letters, marks and numbers are those of Unicode 16.0,",
        "//! normalization is that of Unicode 9.0.",
        "",
        "/// Where a run of equal classes starts (`value >> 8`) and its class (low byte).",
        f"pub(super) const RANGES: [u32; {len(rows)}] = [",
    ]
    lines += [row + "," for row in rows] + ["];", ""]
    OUT.write_text("\n".join(lines))
    subprocess.run(["rustfmt", "--edition", "2024", str(OUT)], check=True)
    print(f"{OUT.name}: {len(rows)} ranges")


if __name__ == "__main__":
    main()
