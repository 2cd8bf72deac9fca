"""Millions of mutated inputs for the readers that face clients and models: no panic, no broken law, none that takes long.

    python3 checks/mutate.py bodies|calls|all [--n 5000000] [--seed 1] [--minutes 5] [--slow-ms 100]

`bodies` are request bodies of all endpoints, read up to where the model would run (tools and their schemas included);
`calls` are outputs of a model, streamed in random pieces, which must add up to what they are as a whole. Both are tests of
this repository, here in release, with other numbers: the seed goes up by one until `--n` inputs were tried or the minutes
of each are over. A failure prints the input as bytes. Then bodies and outputs that repeat one thing many times are read,
where an effort that grows with the square of the length would show.

Needs cargo; building takes a few minutes. Beside each other on two cores 5 million bodies take about 110 s, 5 million
outputs about 190 s.
"""

import argparse
import os
import re
import subprocess
import sys
import time

STEP = 500_000
KINDS = {
    "bodies": (
        ["-p", "botpsy-server", "--lib", "fuzz::mutated_bodies_are_read_or_refused"],
        ["-p", "botpsy-server", "--lib", "fuzz::large_bodies_take_no_time"],
        {"BOTPSY_FUZZ_LARGE": "50000", "BOTPSY_FUZZ_SLOW_MS": "10000"},
    ),
    "calls": (
        ["-p", "botpsy-text", "--test", "tool_call", "fuzz::mutated_outputs_keep_the_laws"],
        ["-p", "botpsy-text", "--test", "tool_call", "fuzz::long_runs_of_tags_are_read_to_the_end"],
        {"BOTPSY_LONG_BYTES": "200000"},
    ),
}


def test(arguments, variables):
    """Runs one test; what it printed, and whether it passed."""
    command = ["cargo", "test", "--release", "--quiet", *arguments, "--", "--exact", "--nocapture"]
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return ran.stdout, ran.returncode == 0


def run(kind, options):
    mutated, large, settings = KINDS[kind]
    test(mutated, {"BOTPSY_FUZZ_N": 10})
    begin, done, seed, slowest = time.monotonic(), 0, options.seed, ""
    while done < options.n and time.monotonic() - begin < options.minutes * 60:
        n = min(STEP, options.n - done)
        numbers = {"BOTPSY_FUZZ_N": n, "BOTPSY_FUZZ_SEED": seed, "BOTPSY_FUZZ_SLOW_MS": options.slow_ms}
        printed, passed = test(mutated, numbers)
        if not passed:
            print(f"{kind}, seed {seed}, {n} inputs: FAILED\n{printed[-8000:]}")
            return False
        done, seed = done + n, seed + 1
        slowest = max(slowest, *re.findall(r"the slowest took (\S+?):", printed), key=milliseconds)
    seconds = time.monotonic() - begin
    rate = done / max(seconds, 1e-9)
    print(f"{kind}: {done:,} inputs in {seconds:.0f} s, {rate:,.0f} a second, the slowest took {slowest or '-'}", flush=True)
    printed, passed = test(large, settings)
    print("".join(f"  {line}\n" for line in printed.splitlines() if " bytes " in line), end="")
    print(f"{kind}: long ones are {'read' if passed else 'FAILED'}" + ("" if passed else f"\n{printed[-4000:]}"), flush=True)
    return passed


def milliseconds(text):
    """A duration as Rust prints it."""
    found = re.fullmatch(r"([\d.]+)(ns|µs|ms|s)", text)
    return float(found.group(1)) * {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1e3}[found.group(2)] if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*KINDS, "all"])
    parser.add_argument("--n", type=int, default=5_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--slow-ms", type=int, default=100)
    options = parser.parse_args()
    kinds = list(KINDS) if options.kind == "all" else [options.kind]
    return 0 if all([run(kind, options) for kind in kinds]) else 1


if __name__ == "__main__":
    sys.exit(main())
