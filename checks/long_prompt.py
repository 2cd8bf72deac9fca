"""A long prompt from end to end: no crash, the memory that `botpsy inspect` predicts, and the speed.

    python3 checks/long_prompt.py PROGRAM MODEL.gguf [TOKENS]

TOKENS is 32,768 unless stated. Fails when the peak is more than the predicted weights, state and keys and values and 200 MB, which
are for the program, the rows of one chunk and the pages of the file that are being read.
"""

import json
import subprocess
import sys

from generate_memory import peak_bytes

N_NEW = 16
ROOM = 200_000_000


def main(program, model, tokens):
    inspected = subprocess.run([program, "inspect", model, "--json"], capture_output=True, check=True, text=True)
    memory = json.loads(inspected.stdout)["memory"]
    predicted = memory["weights"] + memory["state"] + memory["kv_per_token"] * (tokens + N_NEW)
    print(f"{tokens} tokens:")
    peak = peak_bytes(program, model, tokens, N_NEW)
    print(f"peak {peak / 1e6:.0f} MB; predicted {predicted / 1e6:.0f} MB and up to {ROOM / 1e6:.0f} MB for the program")
    return 0 if peak <= predicted + ROOM else 1


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else 32_768))
