#!/usr/bin/env python3
"""Writes a model of the 0.8B's shapes with random weights in Q8_0: for speed and memory, not for answers.

  make_model.py rand-q8_0.gguf

Sizes, types and vocabulary size are those of Qwen3.5-0.8B, so that speed and memory are too. The same file each time.
"""

import argparse
import os
import random
import struct

LAYERS, HIDDEN, FFN, VOCAB, CONTEXT = 24, 1024, 3584, 248_320, 262_144
FULL_EVERY, HEADS, KV_HEADS, HEAD_DIM = 4, 8, 2, 256
LINEAR_HEADS, LINEAR_DIM, CONV = 16, 128, 4

# The control tokens, from id 248,044 on; the rest of the vocabulary after them is unused.
FIRST_CONTROL = VOCAB - 276
CONTROL = """<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> <|quad_start|>
<|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|> <tool_call> </tool_call> <|fim_prefix|>
<|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|> <tool_response> </tool_response> <think> </think>""".split()
PLAIN_TEXT = {"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"}

U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9
TYPE_F32, TYPE_Q8_0 = 0, 8
ALIGNMENT = 32


def vocabulary():
    """Bytes, then words of two to four letters, each merged from the word before and a letter, then the control tokens."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    byte = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
    tokens, merges = [byte[b] for b in range(256)], []
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [byte[0x20], *letters]
    while len(tokens) < FIRST_CONTROL:
        longer = [(word, letter) for word in words for letter in letters][:FIRST_CONTROL - len(tokens)]
        merges += [f"{word} {letter}" for word, letter in longer]
        words = [word + letter for word, letter in longer]
        tokens += words
    types = [1] * len(tokens) + [4 if name in PLAIN_TEXT else 3 for name in CONTROL]
    tokens += CONTROL
    types += [5] * (VOCAB - len(tokens))
    tokens += [f"<|unused_{i}|>" for i in range(VOCAB - len(tokens))]
    return tokens, types, merges


def metadata():
    tokens, types, merges = vocabulary()
    sizes = {
        "block_count": LAYERS, "context_length": CONTEXT, "embedding_length": HIDDEN, "feed_forward_length": FFN,
        "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS, "attention.key_length": HEAD_DIM,
        "attention.value_length": HEAD_DIM, "rope.dimension_count": 64, "full_attention_interval": FULL_EVERY,
        "ssm.conv_kernel": CONV, "ssm.state_size": LINEAR_DIM, "ssm.group_count": LINEAR_HEADS,
        "ssm.time_step_rank": LINEAR_HEADS, "ssm.inner_size": LINEAR_HEADS * LINEAR_DIM,
    }
    return [
        ("general.architecture", STRING, "qwen35"),
        ("general.name", STRING, "random weights for measurements"),
        ("general.file_type", U32, 7),
        ("general.quantization_version", U32, 2),
        *((f"qwen35.{key}", U32, value) for key, value in sizes.items()),
        ("qwen35.attention.layer_norm_rms_epsilon", F32, 1e-6),
        ("qwen35.rope.freq_base", F32, 1e7),
        ("qwen35.rope.dimension_sections", (ARRAY, I32), [11, 11, 10, 0]),
        ("tokenizer.ggml.model", STRING, "gpt2"),
        ("tokenizer.ggml.pre", STRING, "qwen35"),
        ("tokenizer.ggml.tokens", (ARRAY, STRING), tokens),
        ("tokenizer.ggml.token_type", (ARRAY, I32), types),
        ("tokenizer.ggml.merges", (ARRAY, STRING), merges),
        ("tokenizer.ggml.eos_token_id", U32, FIRST_CONTROL + 2),
        ("tokenizer.ggml.padding_token_id", U32, FIRST_CONTROL),
    ]


def tensors():
    """Name, shape (rows first), and how it is filled."""
    values = LINEAR_HEADS * LINEAR_DIM
    found = [("token_embd.weight", [VOCAB, HIDDEN], "matrix")]
    for i in range(LAYERS):
        layer = [("attn_norm.weight", [HIDDEN], "ones"), ("post_attention_norm.weight", [HIDDEN], "ones"),
                 ("ffn_gate.weight", [FFN, HIDDEN], "matrix"), ("ffn_up.weight", [FFN, HIDDEN], "matrix"),
                 ("ffn_down.weight", [HIDDEN, FFN], "matrix")]
        if (i + 1) % FULL_EVERY == 0:
            layer += [("attn_q.weight", [2 * HEADS * HEAD_DIM, HIDDEN], "matrix"),
                      ("attn_k.weight", [KV_HEADS * HEAD_DIM, HIDDEN], "matrix"),
                      ("attn_v.weight", [KV_HEADS * HEAD_DIM, HIDDEN], "matrix"),
                      ("attn_output.weight", [HIDDEN, HEADS * HEAD_DIM], "matrix"),
                      ("attn_q_norm.weight", [HEAD_DIM], "ones"), ("attn_k_norm.weight", [HEAD_DIM], "ones")]
        else:
            layer += [("attn_qkv.weight", [3 * values, HIDDEN], "matrix"), ("attn_gate.weight", [values, HIDDEN], "matrix"),
                      ("ssm_beta.weight", [LINEAR_HEADS, HIDDEN], "matrix"),
                      ("ssm_alpha.weight", [LINEAR_HEADS, HIDDEN], "matrix"), ("ssm_out.weight", [HIDDEN, values], "matrix"),
                      ("ssm_conv1d.weight", [3 * values, CONV], "taps"), ("ssm_dt.bias", [LINEAR_HEADS], "ones"),
                      ("ssm_a", [LINEAR_HEADS], "rates"), ("ssm_norm.weight", [LINEAR_DIM], "ones")]
        found += [(f"blk.{i}.{name}", shape, fill) for name, shape, fill in layer]
    return found + [("output_norm.weight", [HIDDEN], "ones")]


def count(shape):
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def size(shape, fill):
    return count(shape) // 32 * 34 if fill == "matrix" else 4 * count(shape)


def content(dice, shape, fill):
    if fill == "matrix":
        # Blocks of a scale in half precision and 32 bytes; the scale gives rows of about unit length.
        data = bytearray(b"".join(dice.randbytes(34 * shape[1] // 32) for _ in range(shape[0])))
        scale = struct.pack("<e", 1 / (74 * shape[1] ** 0.5))
        blocks = len(data) // 34
        data[0::34], data[1::34] = scale[:1] * blocks, scale[1:] * blocks
        return data
    draw = {"ones": lambda: 1.0, "taps": lambda: dice.uniform(-0.5, 0.5), "rates": lambda: -dice.uniform(0.05, 4)}[fill]
    return struct.pack(f"<{count(shape)}f", *(draw() for _ in range(count(shape))))


def text(value):
    value = value.encode()
    return struct.pack("<Q", len(value)) + value


def packed(kind, value):
    if isinstance(kind, tuple):
        return struct.pack("<IQ", kind[1], len(value)) + b"".join(packed(kind[1], item) for item in value)
    return text(value) if kind == STRING else struct.pack({U32: "<I", I32: "<i", F32: "<f"}[kind], value)


def padding(length):
    return bytes(-length % ALIGNMENT)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", metavar="OUT.gguf")
    out = p.parse_args().out
    if os.path.isdir(out):
        p.error(f"{out}: is a folder; give the name of a file in it")
    try:
        os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
    except OSError as error:
        p.error(f"{out}: {error.strerror}; give a place that can be written")
    pairs, all_tensors, offset = metadata(), tensors(), 0
    head = b"GGUF" + struct.pack("<IQQ", 3, len(all_tensors), len(pairs))
    for key, kind, value in pairs:
        head += text(key) + struct.pack("<I", kind[0] if isinstance(kind, tuple) else kind) + packed(kind, value)
    for name, shape, fill in all_tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += struct.pack("<IQ", TYPE_Q8_0 if fill == "matrix" else TYPE_F32, offset)
        offset += size(shape, fill) + len(padding(size(shape, fill)))
    dice = random.Random(1)
    with open(out + ".part", "wb") as file:
        file.write(head + padding(len(head)))
        for _, shape, fill in all_tensors:
            data = content(dice, shape, fill)
            file.write(data + padding(len(data)))
    os.replace(out + ".part", out)


if __name__ == "__main__":
    main()
