"""How many requests of the day a model gets right: a report, not a bar.

    python3 checks/day_model.py PROGRAM [-m FILE]

PROGRAM is a built `botpsy`. Each request of fixtures/agent/day.jsonl is asked alone, in a dry run on an empty home, always with
the best token. Counted are the first calls: those with the right tool, and those whose arguments are the table's too, letters
and blanks aside. Requests whose table has a wrong call on purpose (an order by somebody else, an invented id) are left out.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent


def plain(value):
    return " ".join(str(value).lower().split())


def first_call(program, model, request, home):
    command = [program, "ask", "--greedy", "--dry-run", "--json", "--yes"] + (["-m", model] if model else []) + [request]
    environment = {"BOTPSY_HOME": home, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    calls = json.loads(done.stdout)["tool_calls"] if done.stdout else []
    return calls[0] if calls else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("-m", "--model")
    args = parser.parse_args()
    lines = (FOLDER / "fixtures/agent/day.jsonl").read_text().splitlines()
    asked, named, whole = 0, 0, 0
    with tempfile.TemporaryDirectory() as home:
        for line in map(json.loads, filter(None, lines)):
            wanted = [call for call in line["model"] if isinstance(call, dict) and "arguments" in call]
            if not wanted or line.get("yes", []) != line.get("asked", []):
                continue
            asked += 1
            call = first_call(args.program, args.model, line["say"], home)
            names = {entry["name"] for entry in wanted}
            is_named = call is not None and call["name"] in names
            same = [entry for entry in wanted if call and entry["name"] == call["name"]]
            is_whole = any(
                {key: plain(value) for key, value in entry["arguments"].items()}
                == {key: plain(value) for key, value in call["arguments"].items()}
                for entry in same
            )
            named, whole = named + is_named, whole + is_whole
            mark = "right" if is_whole else "tool" if is_named else "-"
            print(f"{mark:5}  {line['say']}  ->  {json.dumps(call, ensure_ascii=False)}")
    print(f"{asked} requests: the right tool first in {named}, with the table's arguments in {whole}")


if __name__ == "__main__":
    main()
