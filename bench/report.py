#!/usr/bin/env python3
"""Prints the table of a result of compare.py, in Markdown. Exits with 1 when a promise is not kept.

  report.py bench/results/NAME.json [--into docs/performance.md]

With --into the table also replaces the one between the two marks of that file.
"""

import argparse
import json
import statistics
import sys


BEGIN, END = "<!-- result -->\n", "<!-- end of result -->"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("result", metavar="RESULT.json")
    p.add_argument("--into", default="", metavar="FILE.md")
    a = p.parse_args()
    with open(a.result) as file:
        result = json.load(file)
    table, kept = report(result)
    print(table)
    if a.into:
        with open(a.into) as file:
            text = file.read()
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
        with open(a.into, "w") as file:
            file.write(f"{before}{BEGIN}{table}\nFrom `{a.result}`.\n{END}{after}")
    return 0 if kept else 1


def report(result):
    """The table, and whether all promises are kept."""
    ours, peer, machine = result["engines"]["ours"], result["engines"].get("llama.cpp"), result["machine"]
    files = ", ".join(f"{file['name']} ({file['bytes'] / 1e6:.1f} MB)" for file in result["files"].values())
    pinned = f", pinned to {result['cpus']}" if result["cpus"] else ""
    lines = [f"{result['date']}, {machine['cpu']}, {result['threads']} threads{pinned}; {ours['version']} at {ours['commit']}"
             + (f"; llama.cpp {peer['version']}" if peer else "") + f"; {files}. Medians (smallest .. largest).", "",
             "| case | unit | botpsy | llama.cpp -fa 0 | llama.cpp -fa 1 | result | promised | holds |",
             "|---|---|---|---|---|---|---|---|"]
    kept = True
    for name, row in result["cases"].items():
        measured, promised, holds = verdict(row)
        kept &= holds is not False
        cells = [spread(row, engine) for engine in ("ours", "llama.cpp -fa 0", "llama.cpp -fa 1")]
        mark = {True: "yes", False: "**no**", None: ""}[holds]
        lines.append(f"| {name} | {row['unit']} | {' | '.join(cells)} | {measured} | {promised} | {mark} |")
    return "\n".join(lines) + "\n", kept


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
