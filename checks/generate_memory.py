"""Peak memory of `botpsy generate` on full-size random files, at 4,096 tokens of context.

    python3 checks/generate_memory.py PROGRAM [FOLDER]

The files are made in FOLDER (a temporary one without it, 2.3 GB) by ../shared/bench/make_model.py. Fails when a run takes
more than the file and 300 MB.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CONTEXT = 4096
N_NEW = 32
ROOM = 300_000_000
MAKER = Path(__file__).resolve().parents[2] / "shared/bench/make_model.py"


def peak_bytes(program, model, n_prompt, n_new):
    """Runs the program in a child of its own, so that the peak is that of this run alone."""
    ids = json.dumps([(7 * i) % 50_000 for i in range(n_prompt)])
    command = [program, "generate", "-m", model, "--ctx", str(n_prompt + n_new), "--max-tokens", str(n_new), "--json"]
    read, write = os.pipe()
    child = subprocess.Popen(command, stdin=read, stdout=subprocess.PIPE, close_fds=True)
    os.close(read)
    with os.fdopen(write, "w") as stdin:
        stdin.write(ids)
    answer = json.loads(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    print(f"  prefill {answer['prefill_tps']:.1f}/s, decode {answer['decode_tps']:.1f}/s, {len(answer['ids'])} new tokens")
    return usage.ru_maxrss * 1024


def main(program, folder):
    fits = True
    for kind in ["bf16", "q8_0"]:
        model = Path(folder) / f"random-{kind}.gguf"
        if not model.exists():
            subprocess.run([sys.executable, MAKER, "--gguf", model, "--type", kind], check=True)
        peak, size = peak_bytes(program, str(model), CONTEXT - N_NEW, N_NEW), model.stat().st_size
        print(f"{kind}: peak {peak / 1e6:.0f} MB, file {size / 1e6:.0f} MB, over the file {(peak - size) / 1e6:.0f} MB")
        fits &= peak <= size + ROOM
    return 0 if fits else 1


if __name__ == "__main__":
    if not MAKER.exists():
        sys.exit(f"left out: {MAKER} is not there")
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    if len(sys.argv) == 3:
        sys.exit(main(sys.argv[1], sys.argv[2]))
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], scratch))
