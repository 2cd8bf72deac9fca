#!/usr/bin/env python3
"""What counts as a yes at a terminal: `checks/questions.py target/debug/botpsy`.

Runs `botpsy ask` on a pseudo-terminal, answers its question, and looks at what was changed.
"""

import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

PROMPT = b"Do it? [y/N] "


def until(fd, what, seconds):
    """Reads from a terminal until `what` stands there; what was read."""
    seen, end = b"", time.monotonic() + seconds
    while what not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen += os.read(fd, 4096)
            except OSError:
                break
    return seen


def ask(program, answer, before=b"", seconds=20):
    """Exit code, standard output and the terminal's text of a run whose question is answered so."""
    home = tempfile.mkdtemp()
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [program, "ask", "--greedy", "set a timer for 10 minutes"],
        stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env={**os.environ, "BOTPSY_HOME": home},
    )
    os.close(theirs)
    if before:
        os.write(ours, before)
    seen = until(ours, PROMPT, 20)
    assert PROMPT in seen, seen
    if answer is signal.SIGINT:
        child.send_signal(signal.SIGINT)
    elif answer is not None:
        os.write(ours, answer)
    end = time.monotonic() + seconds
    while child.poll() is None and time.monotonic() < end:
        seen += until(ours, b"\0", 0.3)
    out = child.stdout.read().decode()
    log = subprocess.run([program, "log"], capture_output=True, env={**os.environ, "BOTPSY_HOME": home}, check=True)
    os.close(ours)
    return child.wait(), "done: " in out and " done " in log.stdout.decode(), seen


def main(program):
    cases = [
        ("y", b"y\n", b"", True), ("Y", b"Y\n", b"", True), ("yes", b" yes \n", b"", True),
        ("n", b"n\n", b"", False), ("Enter", b"\n", b"", False), ("garbage", b"\x1b[Ayup, y\n", b"", False),
        ("much", b"y" * 4000 + b"\n", b"", False), ("the end", b"\x04", b"", False),
        ("y before the question", b"\n", b"y\ny\ny\n", False),
    ]
    for name, answer, before, expected in cases:
        code, done, seen = ask(program, answer, before)
        assert done == expected and code == 0, (name, code, done, seen)
        print(f"ok: {name} is a {'yes' if done else 'no'}")
    code, done, seen = ask(program, signal.SIGINT)
    assert (code, done) == (130, False), (code, done, seen)
    print("ok: Ctrl-C is a no")
    if os.environ.get("BOTPSY_SLOW"):
        code, done, seen = ask(program, None, seconds=70)
        assert (code, done) == (0, False) and b"no answer: not done" in seen, (code, done, seen)
        print("ok: a minute of silence is a no")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
