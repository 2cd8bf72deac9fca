#!/usr/bin/env python3
"""Prints the table of a result of compare.py, in Markdown. Exits with 1 when a promise is not kept or was not measured.

  report.py bench/results/NAME.json [--into docs/performance.md]

With --into the table also replaces the one between the two marks of that file.
"""

import argparse
import os
import statistics
import sys

import cases

BEGIN, END = "<!-- result -->\n", "<!-- end of result -->"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("result", metavar="RESULT.json")
    p.add_argument("--into", default="", metavar="FILE.md")
    a = p.parse_args()
    table, kept = report(cases.read_result(a.result))
    print(table)
    if a.into:
        insert(a.into, f"{table}\nFrom `{a.result}`.\n")
    return 0 if kept else 1


def insert(path, table):
    """Puts the table between the marks of a file."""
    with open(path) as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        sys.exit(f"{path}: expected the lines {BEGIN.strip()} and {END}, once each")
    before, after = text[: text.index(BEGIN)], text[text.index(END):]
    with open(path + ".part", "w") as file:
        file.write(before + BEGIN + table + after)
    os.replace(path + ".part", path)


def report(result):
    """The table, and whether all promises are kept."""
    ours, peer, machine = result["engines"]["ours"], result["engines"].get("llama.cpp"), result["machine"]
    files = ", ".join(f"{file['name']} ({file['bytes'] / 1e6:.1f} MB)" for file in result["files"].values())
    pinned = f", pinned to {result['cpus']}" if result["cpus"] else ""
    dropped = result.get("drop_slower")
    dropped = f" A setting of llama.cpp slower by {dropped:g} % in the first round was left out of the others." if dropped else ""
    lines = [f"{result['date']}, {machine['cpu']}, {result['threads']} threads{pinned}; {ours['version']} at {ours['commit']}"
             + (f"; llama.cpp {peer['version']}" if peer else "") + f"; {files}. Medians (smallest .. largest).{dropped}", "",
             "| case | unit | botpsy | llama.cpp -fa 0 | llama.cpp -fa 1 | result | promised | holds |",
             "|---|---|---|---|---|---|---|---|"]
    kept = bool(result["cases"])
    for name, row in result["cases"].items():
        measured, promised, holds = verdict(row)
        kept &= holds is True
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
