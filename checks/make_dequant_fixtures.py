"""Makes fixtures/dequant: blocks of every layout with the values that the PyPI package `gguf` gives for them.

usage: python checks/make_dequant_fixtures.py fixtures/dequant        needs: gguf, numpy

TYPE.decode.bin: N blocks as they stand in a file, then their N * block length values as F32.
TYPE.encode.bin: N * block length values as F32, then the N blocks that the package makes of them.
"""
import json
import sys
from importlib.metadata import version
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T

SEED = 20261201
N_RANDOM = 64
# Byte offsets of the F16 fields: scale, then minimum.
HALVES = {T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108],
          T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.IQ4_NL: [0], T.IQ4_XS: [0]}
# One, least subnormal, largest subnormal, least normal, largest, and their negatives; zero, minus zero.
SCALES = [0x3C00, 0x0001, 0x03FF, 0x0400, 0x7BFF, 0xBC00, 0x8001, 0x83FF, 0x8400, 0xFBFF, 0x0000, 0x8000]


def half(bits):
    return np.frombuffer(np.uint16(bits).tobytes(), np.uint8)


def finite(rng):
    """A finite F16, all equally likely."""
    return int(rng.integers(0x7C00)) | int(rng.integers(2)) << 15


def blocks(kind, rng):
    """Random blocks; zeros; for each special scale a block of ones and a block of random quants."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    rows = []
    for i in range(N_RANDOM):
        rows.append(rng.integers(256, size=size, dtype=np.uint8))
        for at in HALVES[kind]:
            # Half of them in the range of real weights.
            bits = finite(rng) if i % 2 else int(np.float16(rng.normal() * 0.01).view(np.uint16))
            rows[-1][at:at + 2] = half(bits)
    rows.append(np.zeros(size, np.uint8))
    for i, bits in enumerate(SCALES):
        for quants in [np.full(size, 255, np.uint8), rng.integers(256, size=size, dtype=np.uint8)]:
            for j, at in enumerate(HALVES[kind]):
                quants[at:at + 2] = half(SCALES[(i + 3 * j) % len(SCALES)] if j else bits)
            rows.append(quants)
    return np.stack(rows)


def plain(kind, rng):
    """Random patterns and the special ones, infinities and quiet NaN too, as rows of one value."""
    if kind == T.F32:
        special = [0, 1 << 31, 1, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000]
        bits = np.concatenate([rng.integers(1 << 32, size=N_RANDOM, dtype=np.uint32), np.array(special, np.uint32)])
    else:
        top = 0x7C00 if kind == T.F16 else 0x7F80
        special = SCALES + [top, top | 0x8000, top | 0x40 if kind == T.BF16 else top | 0x200]
        bits = np.concatenate([rng.integers(1 << 16, size=N_RANDOM, dtype=np.uint16), np.array(special, np.uint16)])
    return bits.view(np.uint8).reshape(len(bits), -1)


def values_to_encode(kind, rng):
    """Rows of 32: weights of several sizes, ties, zeros, subnormals, one large value among small ones."""
    rows = [rng.normal(size=32) * scale for scale in [1e-30, 1e-6, 0.02, 0.02, 0.02, 0.02, 1, 1e3] for _ in range(8)]
    rows.append(np.zeros(32))
    rows.append(np.full(32, -0.0))
    rows.append(np.concatenate([[127.0], np.arange(31) - 15.5]))
    rows.append(np.concatenate([[-127.0], np.arange(31) / 2 - 8]))
    rows.append(np.concatenate([[6e4 if kind == T.F16 else 8e6], rng.normal(size=31)]))
    rows.append(np.full(32, 1e-45))
    # Halfway between two neighbors of F16 and of BF16, above and below it.
    rows.append(1 + np.arange(32) / 2048)
    rows.append(1 + np.arange(32) / 256)
    return np.stack(rows).astype(np.float32)


def main(folder):
    rng = np.random.default_rng(SEED)
    folder.mkdir(parents=True, exist_ok=True)
    counts = {}
    for kind in [T.F32, T.F16, T.BF16, *HALVES]:
        rows = blocks(kind, rng) if kind in HALVES else plain(kind, rng)
        with np.errstate(invalid="ignore"):
            values = gguf.quants.dequantize(rows, kind)
        (folder / f"{kind.name}.decode.bin").write_bytes(rows.tobytes() + values.astype("<f4").tobytes())
        counts[f"{kind.name}.decode.bin"] = len(rows)
    for kind in [T.F16, T.BF16, T.Q8_0]:
        values = values_to_encode(kind, rng)
        if kind == T.F16:
            values = np.clip(values, -65504, 65504)
        encoded = gguf.quants.quantize(values, kind)
        (folder / f"{kind.name}.encode.bin").write_bytes(values.tobytes() + encoded.tobytes())
        counts[f"{kind.name}.encode.bin"] = len(values)
    manifest = {"made_by": "checks/make_dequant_fixtures.py", "gguf": version("gguf"), "numpy": np.__version__,
                "seed": SEED, "rows": counts}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
