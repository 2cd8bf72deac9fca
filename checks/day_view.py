"""The stores of the scripted day as other programs read them, compared with the table.

    python3 checks/day_view.py FOLDER

FOLDER is where the example `day` played. Events are read through `icalendar`, rows through `sqlite3`; the lines that they come to
must be those of the morning (fixtures/agent/day) with all effects of fixtures/agent/day.jsonl. Checks the log too.
"""

import hashlib
import json
import sqlite3
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import icalendar

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures/agent"
HERE = ZoneInfo("Europe/Berlin")


def local(moment):
    return moment.astimezone(HERE).strftime("%Y-%m-%d %H:%M")


def events(folder):
    for path in sorted(Path(folder).glob("*.ics")):
        for event in icalendar.Calendar.from_ical(path.read_bytes()).walk("VEVENT"):
            rule = event["RRULE"].to_ical().decode() if "RRULE" in event else "-"
            times = " | ".join(local(event[name].dt) for name in ["DTSTART", "DTEND"])
            line = f"event {event['SUMMARY']} | {times} | {rule} | {event.get('LOCATION', '-')}"
            if "EXDATE" in event:
                line += f" | not {local(event['EXDATE'].dts[0].dt)}"
            yield line


def notes(folder):
    for path in sorted(Path(folder).iterdir()):
        for line in path.read_bytes().decode().replace("\r\n", "\n").removesuffix("\n").split("\n"):
            yield f"note {path.name} | {line}"


def due(text):
    return local(datetime.fromisoformat(text.replace("Z", "+00:00")))


def rows(database):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    for kind, text, at, rule, state in connection.execute("SELECT kind, text, due, rrule, state FROM reminders"):
        yield f"{kind} {text} | {due(at)} | {rule or '-'} | {state}"
    for text, origin in connection.execute("SELECT text, origin FROM memories"):
        yield f"memory {text} | {origin}"


def view(root):
    root = Path(root)
    return Counter([*events(root / "calendar"), *notes(root / "notes"), *rows(root / "data/botpsy.db")])


def difference(before, after):
    come = [f"+ {line}" for line in (after - before).elements()]
    return sorted(come + [f"- {line}" for line in (before - after).elements()])


def expected():
    """The morning, and all that is asked for."""
    lines = Counter([*events(FIXTURES / "day/calendar"), *notes(FIXTURES / "day/notes")])
    for entry in json.loads((FIXTURES / "day/rows.json").read_text()):
        row = entry["row"]
        if entry["table"] == "memories":
            lines[f"memory {row['text']} | {row['origin']}"] += 1
        else:
            lines[f"{row['kind']} {row['text']} | {due(row['due'])} | {row['rrule'] or '-'} | {row['state']}"] += 1
    for line in (FIXTURES / "day.jsonl").read_text().splitlines():
        for effect in json.loads(line)["effects"]:
            lines[effect[2:]] += 1 if effect[0] == "+" else -1
    assert min(lines.values()) >= 0, "the table takes away what is not there"
    return +lines


def verify_log(root):
    """Checks the chain of the log by its description, and gives the number of its rows."""
    connection = sqlite3.connect(f"file:{Path(root) / 'data/botpsy.db'}?mode=ro", uri=True)
    previous, n = "0" * 64, 0
    query = "SELECT seq, time, session, turn, event, body, previous, hash FROM audit ORDER BY seq"
    for *parts, digest in connection.execute(query):
        n += 1
        text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        assert (parts[0], parts[-1]) == (n, previous), f"row {n} of the log"
        assert digest == hashlib.sha256(text.encode()).hexdigest(), f"row {n} of the log was changed"
        previous = digest
    return n


def main(root):
    found = difference(expected(), view(root))
    print("\n".join(found) or f"as expected; the log has {verify_log(root)} rows that hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
