#!/usr/bin/env python3
"""Writes fixtures/random-configs: ten small random models and what the formulas give for them.

    python3 checks/make_random_configs.py        # needs numpy

The formulas are those of fixtures/reference/numpy_ref.py, in float64. Deterministic.
"""
import json
import os
import struct
import sys

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures")
sys.path.insert(0, os.path.join(ROOT, "reference"))
sys.dont_write_bytecode = True
import numpy_ref  # noqa: E402

N_TOKENS = 70  # crosses a page of 64 positions
L, F = "linear_attention", "full_attention"
# hidden, mlp, vocab, (heads, kv, dim), rotary, (k heads, v heads, k dim, v dim), conv, layers, tied, theta
CONFIGS = [
    (24, 40, 61, (2, 1, 12), 0.5, (1, 1, 12, 20), 4, [L, F], True, 1e4),
    (40, 56, 97, (4, 2, 16), 0.25, (2, 4, 8, 8), 4, [L, L, L, F], False, 1e7),
    (48, 64, 128, (3, 3, 20), 0.4, (3, 9, 12, 4), 3, [F, L, F], True, 1e6),
    (32, 32, 64, (6, 2, 8), 1.0, (2, 2, 16, 24), 2, [L, L], True, 1e4),
    (64, 96, 200, (5, 1, 24), 0.25, (1, 3, 20, 36), 6, [F, F], False, 5e5),
    (56, 72, 131, (8, 4, 10), 0.6, (2, 6, 10, 6), 5, [L, F, L], True, 1e7),
    (96, 80, 300, (4, 4, 32), 0.75, (3, 3, 32, 16), 4, [F, L, L], True, 1e6),
    (36, 44, 77, (2, 2, 18), 1.0, (1, 2, 6, 34), 4, [L, L, F, L, L, F], False, 1e4),
    (80, 48, 150, (7, 1, 16), 0.5, (2, 2, 40, 40), 3, [L, F], True, 1e7),
    (28, 60, 90, (4, 1, 14), 0.4285714285714286, (3, 6, 7, 9), 4, [L, L, L, F], True, 2e5),
]


def weights(rng, c):
    hidden, mlp, vocab, (nh, nkv, d), _, (hk, hv, dk, dv), conv, layers, tied, _ = c
    w = {}

    def matrix(name, rows, cols):
        x = rng.standard_normal((rows, cols)) / np.sqrt(cols)
        # bfloat16 by cutting the low half: the values are what the file holds.
        w[name] = ((x.astype(np.float32).view(np.uint32) >> 16) << 16).view(np.float32), "BF16"

    def vector(name, x, shape=None):
        w[name] = np.asarray(x, np.float32).reshape(shape or np.shape(x)), "F32"

    matrix("model.embed_tokens.weight", vocab, hidden)
    w["model.embed_tokens.weight"] = w["model.embed_tokens.weight"][0] * 8, "BF16"
    vector("model.norm.weight", rng.normal(0, 0.3, hidden))
    if not tied:
        matrix("lm_head.weight", vocab, hidden)
    for i, kind in enumerate(layers):
        p = f"model.layers.{i}."
        vector(p + "input_layernorm.weight", rng.normal(0, 0.3, hidden))
        vector(p + "post_attention_layernorm.weight", rng.normal(0, 0.3, hidden))
        matrix(p + "mlp.gate_proj.weight", mlp, hidden)
        matrix(p + "mlp.up_proj.weight", mlp, hidden)
        matrix(p + "mlp.down_proj.weight", hidden, mlp)
        if kind == F:
            matrix(p + "self_attn.q_proj.weight", nh * 2 * d, hidden)
            matrix(p + "self_attn.k_proj.weight", nkv * d, hidden)
            matrix(p + "self_attn.v_proj.weight", nkv * d, hidden)
            matrix(p + "self_attn.o_proj.weight", hidden, nh * d)
            vector(p + "self_attn.q_norm.weight", rng.normal(0, 0.3, d))
            vector(p + "self_attn.k_norm.weight", rng.normal(0, 0.3, d))
        else:
            channels = 2 * hk * dk + hv * dv
            q = p + "linear_attn."
            matrix(q + "in_proj_qkv.weight", channels, hidden)
            matrix(q + "in_proj_z.weight", hv * dv, hidden)
            matrix(q + "in_proj_b.weight", hv, hidden)
            matrix(q + "in_proj_a.weight", hv, hidden)
            matrix(q + "out_proj.weight", hidden, hv * dv)
            vector(q + "conv1d.weight", rng.normal(0, 0.5, channels * conv), (channels, 1, conv))
            vector(q + "A_log", np.log(rng.uniform(0.05, 4.0, hv)))
            vector(q + "dt_bias", rng.normal(0, 1.0, hv))
            vector(q + "norm.weight", 1 + rng.normal(0, 0.2, dv))
    return w


def save(path, tensors):
    head, blobs, at = {}, [], 0
    for name, (x, dtype) in tensors.items():
        raw = x.astype("<f4").tobytes() if dtype == "F32" else (x.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        head[name] = {"dtype": dtype, "shape": list(x.shape), "data_offsets": [at, at + len(raw)]}
        blobs.append(raw)
        at += len(raw)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def config(i, c):
    hidden, mlp, vocab, (nh, nkv, d), rotary, (hk, hv, dk, dv), conv, layers, tied, theta = c
    return {
        "model_type": "qwen3_5_text", "hidden_size": hidden, "intermediate_size": mlp, "vocab_size": vocab,
        "num_hidden_layers": len(layers), "num_attention_heads": nh, "num_key_value_heads": nkv, "head_dim": d,
        "linear_num_key_heads": hk, "linear_num_value_heads": hv, "linear_key_head_dim": dk, "linear_value_head_dim": dv,
        "linear_conv_kernel_dim": conv, "rms_norm_eps": 1e-6, "max_position_embeddings": 4096, "hidden_act": "silu",
        "tie_word_embeddings": tied, "layer_types": layers,
        "rope_parameters": {"rope_type": "default", "rope_theta": theta, "partial_rotary_factor": rotary},
    }


def main():
    for i, c in enumerate(CONFIGS):
        rng = np.random.default_rng(20261130 + i)
        folder = os.path.join(ROOT, "random-configs", str(i))
        os.makedirs(folder, exist_ok=True)
        w, full = weights(rng, c), config(i, c)
        with open(os.path.join(folder, "config.json"), "w") as f:
            json.dump(full, f, indent=1)
        model = numpy_ref.Model(folder, np.float64, {k: v for k, (v, _) in w.items()})
        tokens = rng.integers(0, c[2], N_TOKENS)
        logits = np.stack([model.step(int(t)) for t in tokens])
        print(i, "logit std", logits.std())
        save(os.path.join(folder, "expected.safetensors"),
             {"tokens": (tokens.astype(np.float32), "F32"), "logits": (logits.astype(np.float32), "F32")})
        # Forms that a reader must take as well: nested with tensors to pass over, an interval, older rope fields.
        if i == 0:
            w = {k.replace("model.", "model.language_model."): v for k, v in w.items()}
            w["model.visual.patch_embed.proj.weight"] = np.zeros((4, 3), np.float32), "BF16"
            w["mtp.fc.weight"] = np.zeros((4, 8), np.float32), "BF16"
            full = {"model_type": "qwen3_5", "text_config": full, "vision_config": {}}
        if i == 1:
            del full["layer_types"]
            full["full_attention_interval"] = 4
        if i == 5:
            rope = full.pop("rope_parameters")
            full.update(rope_theta=rope["rope_theta"], partial_rotary_factor=rope["partial_rotary_factor"])
        with open(os.path.join(folder, "config.json"), "w") as f:
            json.dump(full, f, indent=1)
        save(os.path.join(folder, "model.safetensors"), w)


main()
