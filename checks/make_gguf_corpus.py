"""Makes fixtures/corpus/gguf: small valid files, written by the PyPI package `gguf`, from which the mutator starts.

usage: python checks/make_gguf_corpus.py fixtures/reference/tiny-grouped/model-q4_k_m.gguf fixtures/corpus/gguf
                                                                                        needs: gguf, numpy
"""
import sys
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T

SCALARS = {"u8": 200, "i8": -100, "u16": 60000, "i16": -30000, "u32": 1 << 31, "i32": -5, "f32": 0.5, "bool": True,
           "string": "tiny é", "u64": 1 << 60, "i64": -(1 << 60), "f64": 1e-300}
METHODS = {"u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "u32": "uint32", "i32": "int32",
           "f32": "float32", "bool": "bool", "string": "string", "u64": "uint64", "i64": "int64", "f64": "float64"}


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def every_value(path):
    """One key of each type, arrays among them, and one tensor of each layout."""
    rng = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "test")
    for name, value in SCALARS.items():
        getattr(writer, f"add_{METHODS[name]}")(f"scalar.{name}", value)
    for name, value in [("i32", [1, -2, 3]), ("f32", [0.5, 1.5]), ("bool", [True, False]), ("string", ["a", "", "bc"])]:
        writer.add_array(f"array.{name}", value)
    writer.add_array("array.u8", b"\x01\x02")
    for kind in [T.F32, T.F16, T.BF16, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K,
                 T.IQ4_NL, T.IQ4_XS]:
        len_, size = gguf.GGML_QUANT_SIZES[kind]
        rows = rng.integers(256, size=(2, size * (4 if len_ == 1 else 1)), dtype=np.uint8)
        writer.add_tensor(f"t.{kind.name}", rows, raw_dtype=kind)
    finish(writer)


def aligned(path):
    """Alignment 64, one to four dimensions, as version 2."""
    writer = gguf.GGUFWriter(path, "test")
    writer.add_custom_alignment(64)
    for n_dims in range(1, 5):
        writer.add_tensor(f"dims.{n_dims}", np.arange(1 << n_dims, dtype=np.float32).reshape([2] * n_dims))
    finish(writer)
    data = bytearray(path.read_bytes())
    data[4] = 2
    path.write_bytes(data)


def cut_down(source, path):
    """The metadata of a real file, a sixth of its vocabulary, and the tensors of one block."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, "qwen35")
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        kind, value = field.types[0], field.contents()
        value = value[:80] if key.startswith("tokenizer.") and isinstance(value, list) else value
        writer.add_key_value(key, value, kind, sub_type=field.types[1] if len(field.types) > 1 else None)
    for tensor in reader.tensors:
        if tensor.name.startswith("blk.3.") and tensor.n_elements <= 4096:
            writer.add_tensor(tensor.name, np.array(tensor.data), raw_dtype=tensor.tensor_type)
    finish(writer)


def main(source, folder):
    folder.mkdir(parents=True, exist_ok=True)
    every_value(folder / "every-value.gguf")
    aligned(folder / "v2-align64.gguf")
    cut_down(source, folder / "tiny-grouped-block.gguf")
    finish(gguf.GGUFWriter(folder / "empty.gguf", "test"))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
