"""What is measured: one row per case, with the command lines of both engines.

A case's name says file, quantity and depth of context. `bar` is what the product promises as a ratio to llama.cpp's better
setting (or, for shares and memory, the number itself).
"""

import json
import re
import sys
from dataclasses import dataclass

PROGRAMS = ("llama-bench", "llama-batched-bench", "llama-completion")
START_CONTEXT = "4096"
PROMPT = "Set an alarm for seven in the morning, and tell me what the weather will be like when I leave the house."


@dataclass(frozen=True)
class Case:
    name: str
    file: str  # key of the model file: q8_0, bf16, q4_k_m
    kind: str  # speed, batch, start, memory, roofline
    pp: int = 0
    tg: int = 0
    depth: int = 0
    batch: int = 1
    bar: float = 0.0

    @property
    def unit(self):
        return {"speed": "tokens/s", "batch": "tokens/s", "start": "s", "memory": "MB", "roofline": "%"}[self.kind]

    @property
    def peers(self):
        """The settings of llama.cpp that take part."""
        return [] if self.kind in ("memory", "roofline") else ["llama.cpp -fa 0", "llama.cpp -fa 1"]


CASES = [
    Case("q8_0 pp512", "q8_0", "speed", pp=512, bar=3.4),
    Case("q8_0 pp4096", "q8_0", "speed", pp=4096, bar=3.1),
    Case("q8_0 tg64 @ d0", "q8_0", "speed", tg=64, bar=1.36),
    Case("q8_0 tg48 @ d4096", "q8_0", "speed", tg=48, depth=4096, bar=1.42),
    Case("q8_0 tg32 @ d16384", "q8_0", "speed", tg=32, depth=16384, bar=1.38),
    Case("q8_0 tg64 x 4 @ d16", "q8_0", "batch", tg=64, depth=16, batch=4, bar=3),
    Case("q8_0 decode / stream", "q8_0", "roofline", tg=64, bar=92),
    Case("q8_0 start", "q8_0", "start", bar=1),
    Case("q8_0 memory @ d4096", "q8_0", "memory", depth=4096, bar=300),
    Case("q8_0 memory @ d16384", "q8_0", "memory", depth=16384, bar=450),
    Case("bf16 pp512", "bf16", "speed", pp=512, bar=1),
    Case("bf16 tg64 @ d0", "bf16", "speed", tg=64, bar=1),
    Case("q4_k_m pp512", "q4_k_m", "speed", pp=512, bar=1),
    Case("q4_k_m tg64 @ d0", "q4_k_m", "speed", tg=64, bar=1),
]


def command(case, engine, a, model):
    """The command line and its standard input."""
    if engine == "ours":
        return ours(case, a, model)
    flash = engine[-1]
    threads, on = str(a.threads), {"0": "off", "1": "on"}[flash]
    if case.kind == "speed":
        return [a.llama_bin + "/llama-bench", "-m", model, "-t", threads, "-r", "1", "-o", "jsonl", "-fa", flash,
                "-p", str(case.pp), "-n", str(case.tg), "-d", str(case.depth)], ""
    if case.kind == "batch":
        return [a.llama_bin + "/llama-batched-bench", "-m", model, "-t", threads, "-tb", threads, "-fa", on,
                "-c", str(case.batch * (case.depth + case.tg) + 256), "-npp", str(case.depth), "-ntg", str(case.tg),
                "-npl", str(case.batch), "--output-format", "jsonl"], ""
    return [a.llama_bin + "/llama-completion", "-m", model, "-t", threads, "-c", START_CONTEXT, "-fa", on, "-no-cnv",
            "--no-warmup", "--temp", "0", "--no-display-prompt", "-n", "1", "-p", PROMPT], ""


def ours(case, a, model):
    common = ["-m", model, "-t", str(a.threads), "--json"]
    if case.kind == "start":
        return [a.ours, "generate", "--text", "--greedy", "-n", "1", "--ctx", START_CONTEXT, *common], PROMPT
    if case.kind == "memory":
        # Any ids of the vocabulary will do; the model's answer is of no interest.
        ids = json.dumps([i * 7919 % 200_000 for i in range(case.depth)])
        return [a.ours, "generate", "--greedy", "-n", "1", *common], ids
    if case.kind == "roofline":
        return [a.ours, "bench", "--roofline", "--tg", str(case.tg), "-r", "3", *common], ""
    return [a.ours, "bench", "--pp", str(case.pp), "--tg", str(case.tg), "--depth", str(case.depth), "-r", "1",
            "--batch", str(case.batch), *common], ""


def values(case, engine, run, model_bytes):
    """The numbers of one finished run, and what is worth keeping beside them. `run` is (stdout, seconds, peak bytes)."""
    out, seconds, peak = run
    if case.kind == "start":
        return [seconds], {"peak_mb": peak / 1e6}
    lines = [line for line in map(parsed, out.splitlines()) if line]
    if not lines:
        return [], {}
    if case.kind == "memory":
        return [(peak - model_bytes) / 1e6], {"peak_mb": peak / 1e6, "prefill_tps": lines[-1]["prefill_tps"]}
    if case.kind == "roofline":
        keep = ("tokens_per_second", "bytes_per_step", "decode_gbs", "stream_gbs", "shares_in_turns")
        limits = next(line["roofline"] for line in lines if "roofline" in line)
        last = lines[-1]
        return [100 * last["share_of_stream"]], {"roofline": limits, **{key: last[key] for key in keep}}
    if engine == "ours":
        last = [line for line in lines if "tokens_per_second" in line][-1]
        return last["tokens_per_second"], {key: last[key] for key in ("load_ms", "peak_rss_mib", "isa")}
    if case.kind == "batch":
        return [line["speed_tg"] for line in lines if line["pl"] == case.batch], {}
    return [x for line in lines for x in line["samples_ts"]], {}


def parsed(line):
    """A line of JSON, an object; `None` for any other text."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def read_result(path):
    """A result that compare.py saved."""
    try:
        with open(path) as file:
            result = json.load(file)
        for key in ("date", "threads", "cpus", "machine", "files", "engines", "cases"):
            result[key]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{path}: no result of compare.py: {error!r}\nhelp: give another name, or remove it and measure again")
    return result


def pick(pattern):
    """The cases whose name has a match of the pattern."""
    return [case for case in CASES if re.search(pattern, case.name)]
