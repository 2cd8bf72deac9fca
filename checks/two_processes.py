#!/usr/bin/env python3
"""Two processes work at random on one store; at the end nothing is lost, nothing was told twice, and the log verifies.

Usage: checks/two_processes.py [--minutes 10] [--seed N] [--example PATH]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build() -> Path:
    """The example program, as cargo says where it lies."""
    command = ["cargo", "build", "-q", "-p", "botpsy-agent", "--example", "two_processes", "--message-format", "json"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    built = [json.loads(line) for line in lines]
    return next(Path(line["executable"]) for line in built if line.get("executable"))


def work(example: Path, folder: str, seed: int, seconds: int) -> list[dict]:
    """What each of the two says that it did."""
    command = lambda name, seed: [str(example), "run", folder, name, str(seed), str(seconds)]
    both = [
        subprocess.Popen(command(name, seed + i), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for i, name in enumerate(["ann", "ben"])
    ]
    done = []
    for process in both:
        out, err = process.communicate(timeout=seconds + 120)
        if process.returncode != 0 or err:
            sys.exit(f"a process failed ({process.returncode}): {err}")
        done.append(json.loads(out))
    return done


def faults(done: list[dict], there: dict) -> list[str]:
    """What is not as it must be."""
    found = []
    if not isinstance(there["log"], int):
        found.append(f"the log: {there['log']}")
    if there["begun"] or there["wrong"]:
        found.append(f"{there['begun']} steps not ended; database: {there['wrong']}")
    notes = there["notes"]
    shared = notes.pop("shared.md", "").splitlines()
    expected = {path: text for one in done for path, text in one["notes"].items()}
    if notes != expected:
        differ = [path for path in notes.keys() | expected.keys() if notes.get(path) != expected.get(path)]
        found.append(f"notes differ: {sorted(differ)}")
    if sorted(shared) != sorted(line for one in done for line in one["lines"]):
        found.append("lines of the shared note were lost or doubled")
    for one in done:
        if [line for line in shared if line.startswith(one["name"] + "-")] != one["lines"]:
            found.append(f"the lines of {one['name']} are out of order")
    made = sorted(id for one in done for id in one["made"])
    heard = sorted([id for one in done for id in one["fired"]] + there["last"])
    if heard != made or sorted(there["told"]) != made:
        found.append(f"{len(made)} reminders made, {len(heard)} heard, {len(there['told'])} in the log")
    waiting = [id for id, state in there["reminders"].items() if state not in ("fired", "missed")]
    if waiting or sorted(there["reminders"]) != made:
        found.append(f"reminders still waiting or lost: {waiting}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--example", type=Path)
    args = parser.parse_args()
    example = args.example or build()
    with tempfile.TemporaryDirectory() as folder:
        done = work(example, folder, args.seed, round(args.minutes * 60))
        out = subprocess.run([str(example), "check", folder], check=True, stdout=subprocess.PIPE, text=True).stdout
        there = json.loads(out)
        found = faults(done, there)
    counts = ", ".join(f"{one['name']} {one['actions']} actions, {one['conflicts']} conflicts" for one in done)
    made = sum(len(one["made"]) for one in done)
    print(f"seed {args.seed}: {counts}; {there['log']} rows in the log, {made} reminders, each told once")
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
