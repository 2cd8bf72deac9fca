#!/usr/bin/env python3
"""Prints the table of a result of compare.py, in Markdown.

  report.py bench/results/NAME.json
"""

import json
import statistics
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    with open(sys.argv[1]) as file:
        result = json.load(file)
    ours, peer = result["engines"]["ours"], result["engines"].get("llama.cpp")
    machine = result["machine"]
    files = ", ".join(f"{file['name']} ({file['bytes'] / 1e6:.1f} MB)" for file in result["files"].values())
    pinned = f", pinned to {result['cpus']}" if result["cpus"] else ""
    print(f"{result['date']}, {machine['cpu']}, {result['threads']} threads{pinned}; {ours['version']} at {ours['commit']}"
          + (f"; llama.cpp {peer['version']}" if peer else "") + f"; {files}.\n")
    print("| case | unit | botpsy | llama.cpp -fa 0 | llama.cpp -fa 1 | result | promised | holds |")
    print("|---|---|---|---|---|---|---|---|")
    misses = 0
    for name, row in result["cases"].items():
        measured, promised, holds = verdict(row)
        misses += holds is False
        cells = [spread(row, engine) for engine in ("ours", "llama.cpp -fa 0", "llama.cpp -fa 1")]
        mark = {True: "yes", False: "**no**", None: ""}[holds]
        print(f"| {name} | {row['unit']} | {' | '.join(cells)} | {measured} | {promised} | {mark} |")
    return 1 if misses else 0


def numbers(row, engine):
    return [x for sample in row["engines"].get(engine, []) for x in sample["values"]]


def spread(row, engine):
    found = numbers(row, engine)
    if not found:
        return ""
    digits = 1 if max(found) >= 10 else 2
    low, middle, high = min(found), statistics.median(found), max(found)
    return f"{middle:.{digits}f} ({low:.{digits}f} .. {high:.{digits}f}) n={len(found)}"


def verdict(row):
    """The result, what is promised, and whether it holds (`None` where one side is missing)."""
    ours = numbers(row, "ours")
    if not ours:
        return "", "", None
    ours = statistics.median(ours)
    if row["unit"] == "MB":
        return f"file + {ours:.0f} MB", f"file + {row['bar']:.0f} MB", ours <= row["bar"]
    if row["unit"] == "%":
        return f"{ours:.1f} %", f"{row['bar']:.0f} %", ours >= row["bar"]
    peers = [numbers(row, engine) for engine in ("llama.cpp -fa 0", "llama.cpp -fa 1")]
    peers = [statistics.median(found) for found in peers if found]
    if not peers:
        return "", f"{row['bar']:g}x", None
    ratio = min(peers) / ours if row["unit"] == "s" else ours / max(peers)
    return f"{ratio:.2f}x", f"{row['bar']:g}x", ratio >= row["bar"]


if __name__ == "__main__":
    sys.exit(main())
