#!/usr/bin/env python3
"""Speed and memory of botpsy and llama.cpp on the same files, taking turns.

  compare.py --ours target/release/botpsy --llama-bin llama.cpp/build/bin --q8_0 rand-q8_0.gguf --out bench/results/NAME.json

One measurement is one process. In each round the engines go one after the other, in the next round in the opposite order, so
that slow phases of a shared machine fall on all of them. The result is saved after each measurement: the same command goes on
where it was stopped. `report.py` prints the table.
"""

import argparse
import datetime
import hashlib
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import cases


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ours", required=True, metavar="BOTPSY", help="the botpsy program, built with --release")
    p.add_argument("--llama-bin", default="", metavar="FOLDER",
                   help="where llama-bench, llama-batched-bench and llama-completion are; without it only botpsy runs")
    for key in ("q8_0", "bf16", "q4_k_m"):
        p.add_argument("--" + key, default="", metavar="FILE", help=f"the model in {key.upper()}")
    p.add_argument("--out", required=True, metavar="FILE.json", help="the result; goes on with it when it exists")
    p.add_argument("--cases", default="", metavar="REGEX", help="only cases whose name matches; --list shows the names")
    p.add_argument("--rounds", type=positive, default=5, help="how often each engine is measured (default: 5)")
    p.add_argument("--threads", type=positive, default=2, help="threads of both engines (default: 2)")
    p.add_argument("--cpus", default="", metavar="LIST", help="pin every process to these processors, as taskset -c takes them")
    p.add_argument("--drop-slower", type=float, default=15, metavar="PERCENT",
                   help="after the first round, leave out the setting of llama.cpp that was slower by this much"
                        " (default: 15; 0: never)")
    p.add_argument("--list", action="store_true", help="print the cases and their commands")
    a = p.parse_args()
    models = {key: getattr(a, key) for key in ("q8_0", "bf16", "q4_k_m") if getattr(a, key)}
    for path in models.values():
        if not os.path.isfile(path):
            p.error(f"{path}: no such file")
    for program in [a.ours] + [os.path.join(a.llama_bin, name) for name in cases.PROGRAMS if a.llama_bin]:
        if not os.access(program, os.X_OK):
            p.error(f"{program}: not there, or not to be run")
    if a.drop_slower < 0:
        p.error("--drop-slower must be at least 0")
    try:
        chosen = [case for case in cases.pick(a.cases) if case.file in models]
    except re.error as error:
        p.error(f"--cases {a.cases}: {error}")
    if not chosen:
        p.error("no case is left: give a model file, and check --cases")
    if a.list:
        return show(a, chosen, models)
    result = begin(a, models)
    # Round by round through all cases: a run that is cut short has something of each.
    plan = [(r, case, engine) for r in range(a.rounds) for case in chosen for engine in turn(a, case, r)]
    for i, (r, case, engine) in enumerate(plan):
        if sample(result, case, engine, r) is None and not dropped(a, result, case, engine, r):
            measure(a, result, models[case.file], r, case, engine)
            left = sum(expected(result, c, e) for s, c, e in plan[i + 1:]
                       if sample(result, c, e, s) is None and not dropped(a, result, c, e, s))
            report(result, case, engine, f"[{i + 1}/{len(plan)}]", left)
    return 0


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def turn(a, case, r):
    """The engines of one case in the order of round `r`."""
    engines = ["ours"] + (case.peers if a.llama_bin else [])
    return engines if r % 2 == 0 else engines[::-1]


def show(a, chosen, models):
    for case in chosen:
        print(case.name)
        for engine in turn(a, case, 0):
            words, stdin = cases.command(case, engine, a, models[case.file])
            print(f"  {engine}: {' '.join(words)}" + (f" < {stdin[:40]}..." if stdin else ""))
    return 0


def begin(a, models):
    """The result so far, or an empty one with all that one must know to judge it."""
    about = {
        "threads": a.threads,
        "cpus": a.cpus or None,
        "drop_slower": a.drop_slower,
        "machine": machine(),
        "files": {key: {"name": os.path.basename(path), "bytes": os.path.getsize(path)} for key, path in models.items()},
        "engines": {"ours": {"version": text([a.ours, "--version"]), "commit": commit(), "sha256": digest(a.ours)}},
    }
    if a.llama_bin:
        about["engines"]["llama.cpp"] = {"version": text([a.llama_bin + "/llama-bench", "--version"])}
    # A result without a measurement is of a run that failed.
    if not os.path.exists(a.out) or not cases.read_result(a.out)["cases"]:
        os.makedirs(os.path.dirname(a.out) or ".", exist_ok=True)
        today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
        result = {"date": today, **about, "cases": {}, "out": a.out}
        save(result)
        return result
    result = cases.read_result(a.out)
    result["out"] = a.out
    # The program counts, not the commit that happens to be checked out when a run goes on.
    about["engines"]["ours"]["commit"] = result["engines"]["ours"]["commit"]
    for key in ("threads", "cpus", "drop_slower", "machine", "engines"):
        if result[key] != about[key]:
            sys.exit(f"{a.out}: {key} was {result[key]}, is {about[key]}\nhelp: give --out another name")
    for key, found in about["files"].items():
        if result["files"].setdefault(key, found) != found:
            sys.exit(f"{a.out}: {key} was {result['files'][key]}, is {found}\nhelp: give --out another name")
    return result


def machine():
    with open("/proc/cpuinfo") as file:
        names = re.findall(r"^model name\s*:\s*(.*)$", file.read(), re.M)
    return {"cpu": names[0] if names else platform.processor(), "processors": os.cpu_count(), "system": platform.platform()}


def commit():
    here = os.path.dirname(os.path.abspath(__file__))
    found = subprocess.run(["git", "-C", here, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return found.stdout.strip() or None


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text(words):
    run = subprocess.run(words, capture_output=True, text=True)
    said = (run.stdout.strip() or run.stderr.strip()).splitlines()
    if run.returncode or not said:
        sys.exit(f"{' '.join(words)}: ended with {run.returncode}" + (f": {said[-1]}" if said else ""))
    return said[0]


def measure(a, result, model, r, case, engine):
    words, stdin = cases.command(case, engine, a, model)
    if a.cpus:
        words = ["taskset", "-c", a.cpus, *words]
    if case.kind == "start":
        # The page cache is warm for both.
        finished(words, stdin)
    run = finished(words, stdin)
    numbers, extra = cases.values(case, engine, run, os.path.getsize(model))
    if not numbers:
        sys.exit(f"{' '.join(words)}\nprinted no number: {run[0][-800:]}")
    row = result["cases"].setdefault(case.name, {"unit": case.unit, "bar": case.bar, "engines": {}})
    kept = {"round": r, "values": numbers, "seconds": round(run[1], 2), **({"extra": extra} if extra else {})}
    row["engines"].setdefault(engine, []).append(kept)
    save(result)


def finished(words, stdin):
    """Standard output, seconds from start to end, peak resident bytes of one process."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        given.write(stdin)
        given.seek(0)
        started = time.perf_counter()
        child = subprocess.Popen(words, stdin=given, stdout=out, stderr=err)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            sys.exit(f"{' '.join(words)}\nended with {child.returncode}: {err.read()[-800:]}")
        # llama-batched-bench may print its lines on either stream.
        return out.read() + "\n" + err.read(), seconds, usage.ru_maxrss * 1024


def samples(result, case, engine):
    return result["cases"].get(case.name, {}).get("engines", {}).get(engine, [])


def sample(result, case, engine, r):
    return next((found for found in samples(result, case, engine) if found["round"] == r), None)


def dropped(a, result, case, engine, r):
    """Whether this setting of llama.cpp was clearly the slower one in the first round: a round of it can take minutes."""
    if engine == "ours" or r == 0 or not a.drop_slower:
        return False
    first = {peer: sample(result, case, peer, 0) for peer in case.peers}
    if any(found is None for found in first.values()):
        return False
    speed = {peer: statistics.median(found["values"]) for peer, found in first.items()}
    if case.kind == "start":
        speed = {peer: 1 / seconds for peer, seconds in speed.items()}
    return speed[engine] * (1 + a.drop_slower / 100) < max(speed.values())


def expected(result, case, engine):
    """Seconds that a measurement takes: as before, else as the same case of the other engine, else a guess."""
    seconds = [found["seconds"] for found in samples(result, case, engine)]
    if not seconds:
        guess = {"speed": 8 + (case.pp + case.depth) / (600 if engine == "ours" else 140), "batch": 12, "start": 1.5,
                 "memory": 2 + case.depth / 500, "roofline": 20}
        seconds = [guess[case.kind]]
    return statistics.mean(seconds) * (2 if case.kind == "start" else 1)


def report(result, case, engine, at, left):
    found = samples(result, case, engine)[-1]
    numbers = ", ".join(f"{x:.2f}" for x in found["values"])
    print(f"{at} {case.name:22} {engine:16} round {found['round'] + 1}: {numbers} {case.unit}"
          f"   ({found['seconds']:.0f} s; {left / 60:.0f} min left)", flush=True)


def save(result):
    kept = {key: value for key, value in result.items() if key != "out"}
    with open(result["out"] + ".part", "w") as file:
        json.dump(kept, file, indent=1)
        file.write("\n")
    os.replace(result["out"] + ".part", result["out"])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped: the same command goes on")
