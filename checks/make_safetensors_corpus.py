"""Makes fixtures/corpus/safetensors: small valid files, written by the PyPI package `safetensors`, from which the mutator
starts.

usage: python checks/make_safetensors_corpus.py fixtures/corpus/safetensors                    needs: safetensors, numpy
"""
import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def main():
    folder = Path(sys.argv[1])
    rng = np.random.default_rng(1)
    save_file({}, folder / "empty.safetensors")
    tensors = {f"a.{name}": rng.integers(0, 2, (2, 3)).astype(name) for name in DTYPES}
    tensors |= {"scalar": np.array(1.5, np.float32), "none": np.zeros((0, 4), np.float32),
                "five": rng.random((1, 2, 1, 2, 2)).astype(np.float32)}
    save_file(tensors, folder / "every-dtype.safetensors", metadata={"format": "pt", "note": "tiny é \"x\""})

    shards = {"model-00001-of-00002.safetensors": ["embed", "b"], "model-00002-of-00002.safetensors": ["norm"]}
    for file, names in shards.items():
        save_file({name: rng.random((2, 2)).astype(np.float32) for name in names}, folder / "sharded" / file)
    index = {"metadata": {"total_size": 48}, "weight_map": {name: file for file, names in shards.items() for name in names}}
    (folder / "sharded" / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


main()
