"""Plays the scripted day (crates/botpsy-agent/examples/day.rs) under kills and on full disks.

    python3 checks/kill_day.py kills PROGRAM [N] [SEED]
    python3 checks/kill_day.py full PROGRAM [N] [SEED]

PROGRAM is the built example `day`. `kills` sends SIGKILL at N random times (300); `full` lets the disk be full at N random times
(20): on a small tmpfs when one can be mounted (as root), else by a limit on the size of files. After each the day goes on with
the request that was interrupted. Fails when a start does not repair by itself, when a step that was done was not told, when the
log or a store does not hold, or when the evening is not that of a day without kills.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from day_view import difference, verify_log, view


def command(program, root, start):
    return [program, root] + (["--from", str(start)] if start is not None else [])


def read(output, state):
    """What a run said: where it is, what it told. Fails when it knows a step that was not told."""
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word == "Begin":
            state["at"] = int(rest)
        elif word == "Note":
            state["notes"].append(rest)
        elif word == "Told":
            state["told"].append(rest)
        elif word == "Known":
            told = [note for note in state["notes"] if note.endswith(f"(step {rest})")]
            assert told, f"step {rest} was done before and not told"


def new_state():
    return {"at": None, "notes": [], "told": []}


def whole(program, root):
    """A day, or what is left of it, without anything in its way."""
    state = new_state()
    done = subprocess.run(command(program, root, None), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    read(done.stdout, state)
    return view(root)


def prepared(program, root):
    """Waits until the stores of a new day are there."""
    child = subprocess.Popen(command(program, root, None), stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        if line.startswith("Begin"):
            break
    return child


def kills(program, n, rng):
    """`n` kills over as many days as it takes."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        evening = whole(program, folder)
        length = time.monotonic() - start
    done, days, kinds = 0, 0, Counter()
    while done < n:
        with tempfile.TemporaryDirectory() as folder:
            days += 1
            state, child = new_state(), prepared(program, folder)
            state["at"] = 0
            # Thirty kills a day, so that most of them meet a day that was killed before.
            for i in range(1000):
                is_last = i >= 30 or done >= n
                if not is_last:
                    time.sleep(rng.uniform(0, length / 15))
                    child.kill()
                output, _ = child.communicate()
                read(output, state)
                if child.returncode == -signal.SIGKILL:
                    done += 1
                else:
                    assert child.returncode == 0, f"ended with {child.returncode}: {output[-300:]}"
                    break
                child = subprocess.Popen(command(program, folder, state["at"]), stdout=subprocess.PIPE, text=True)
            kinds.update(kind(note) for note in state["notes"])
            assert not state["told"], state["told"]
            check_evening(folder, evening)
    print(f"{done} kills in {days} days; told: {dict(kinds)}")


def kind(note):
    if note.startswith("an interruption was repaired"):
        return "repaired"
    if note.startswith("done before"):
        return "done before"
    return "not done" if note.startswith("interrupted") else "request"


def check_evening(root, evening):
    rows = verify_log(root)
    assert rows > 0
    found = difference(evening, view(root))
    assert not found, "\n".join(found)
    left = [path for path in Path(root).rglob(".botpsy-*")]
    assert not left, f"left over: {left}"


def full(program, n, rng):
    """`n` full disks, over as many days as it takes."""
    with tempfile.TemporaryDirectory() as folder:
        evening = whole(program, folder)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    done, days, told = 0, 0, []
    while done < n:
        days += 1
        with Disk() as disk:
            child = prepared(program, disk.root)
            child.kill()
            output, _ = child.communicate()
            state = new_state()
            state["at"] = 0
            read(output, state)
            for _ in range(6):
                if done >= n:
                    break
                done += 1
                limit = rng.randrange(0, max(size // 3, 1))
                result = disk.run_full(command(program, disk.root, state["at"]), limit)
                read(result.stdout, state)
                crashed = result.returncode not in (0, 1)
                assert not crashed, f"ended with {result.returncode}: {result.stderr[-500:]}"
            last = subprocess.run(
                command(program, disk.root, state["at"]), capture_output=True, text=True, check=False
            )
            assert last.returncode == 0, last.stdout[-500:] + last.stderr
            read(last.stdout, state)
            told += state["told"]
            check_evening(disk.root, evening)
        how = disk.how
    print(f"{done} full disks ({how}) in {days} days; {len(told)} times told that something was not done")
    for text, times in Counter(text.split(": ")[-1] for text in told).most_common(6):
        print(f"  {times} x {text}")


class Disk:
    """A small file system of its own, or else a folder and a limit on file sizes."""

    SIZE = 32_000_000

    def __enter__(self):
        self.root = tempfile.mkdtemp()
        options = ["-t", "tmpfs", "-o", f"size={self.SIZE}", "tmpfs", self.root]
        mounted = subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0
        self.how = "a tmpfs" if mounted else "a limit on file sizes"
        return self

    def __exit__(self, *_):
        if self.how == "a tmpfs":
            subprocess.run(["umount", "--lazy", self.root], check=True)
        shutil.rmtree(self.root)

    def run_full(self, arguments, room):
        """Runs with `room` bytes left."""
        if self.how == "a tmpfs":
            free = os.statvfs(self.root)
            ballast = Path(self.root) / "ballast"
            ballast.write_bytes(b"x" * max(0, free.f_bavail * free.f_frsize - room))
            result = subprocess.run(arguments, capture_output=True, text=True, check=False)
            ballast.unlink()
            return result

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            largest = max(path.stat().st_size for path in Path(self.root).rglob("*") if path.is_file())
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest + room, resource.RLIM_INFINITY))

        return subprocess.run(arguments, capture_output=True, text=True, check=False, preexec_fn=limit)


def main():
    what, program = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else {"kills": 300, "full": 20}[what]
    rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    {"kills": kills, "full": full}[what](program, n, rng)


if __name__ == "__main__":
    main()
