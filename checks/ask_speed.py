"""Measures `botpsy ask` from Enter to the preview of what would be done.

    python3 checks/ask_speed.py PROGRAM [RUNS]

Runs `PROGRAM ask --dry-run --json "..."` on an empty data folder of its own, once to warm up and then RUNS times (10), and fails
when the median takes a second or longer, or when a run shows no preview.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

WORDS = "set an alarm for 7 am tomorrow"


def once(program, environment):
    """Seconds until the first line that holds the preview, and until the end."""
    start = time.monotonic()
    arguments = [program, "ask", "--dry-run", "--yes", "--json", WORDS]
    process = subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    preview, lines = None, []
    for line in process.stdout:
        lines.append(line)
        if preview is None and "alarm" in line.lower():
            preview = time.monotonic() - start
    errors = process.stderr.read()
    if process.wait() != 0 or preview is None:
        sys.exit(f"no preview, exit status {process.returncode}: {''.join(lines)}{errors}")
    return preview, time.monotonic() - start


def main():
    program = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as home:
        data = {name: os.path.join(home, name) for name in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"]}
        environment = {**os.environ, "HOME": home, **data}
        once(program, environment)
        times = [once(program, environment) for _ in range(runs)]
    previews, ends = zip(*times)
    median = statistics.median(previews)
    print(f"ask: preview after {median:.3f} s (median of {runs}), at most {max(previews):.3f} s; end after "
          f"{statistics.median(ends):.3f} s")
    return 0 if median < 1 else 1


if __name__ == "__main__":
    sys.exit(main())
