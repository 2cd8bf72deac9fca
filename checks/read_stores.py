"""Shows an owner's data as other programs see it: events through `icalendar`, the database through SQLite, notes as text.

    python3 checks/read_stores.py FOLDER

FOLDER holds `calendar`, `notes` and `data/botpsy.db`. Needs `pip install icalendar recurring-ical-events`. Prints one line for each
thing and fails when a file cannot be read, has lines over 75 octets or ends them otherwise than with CR LF, or when the index
of what is remembered does not fit its table.
"""

import sqlite3
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import icalendar
import recurring_ical_events


def read_event(path):
    """One file of the calendar, and what is wrong with it."""
    raw = path.read_bytes()
    problems = []
    if any(len(line) > 75 for line in raw.split(b"\r\n")):
        problems.append("a line over 75 octets")
    if b"\n" in raw.replace(b"\r\n", b""):
        problems.append("a line end that is not CR LF")
    calendar = icalendar.Calendar.from_ical(raw)
    for event in calendar.walk("VEVENT"):
        problems += [f"{name} is missing" for name in ["UID", "DTSTAMP", "DTSTART"] if name not in event]
        problems += [str(error) for error in event.errors]
        names = ["UID", "SUMMARY", "LOCATION", "DESCRIPTION"]
        shown = {name: str(event[name]) for name in names if name in event}
        print(f"event {path.name}: {event['DTSTART'].dt} to {event['DTEND'].dt if 'DTEND' in event else '-'} {shown}")
        if "RRULE" in event:
            first = event["DTSTART"].dt
            span = timedelta(days=30)
            for occurrence in recurring_ical_events.of(calendar).between(first, first + span):
                print(f"  {occurrence['DTSTART'].dt}")
    used = {event["DTSTART"].params.get("TZID") for event in calendar.walk("VEVENT")} - {None}
    described = {str(zone["TZID"]) for zone in calendar.walk("VTIMEZONE")}
    problems += [f"the zone {zone} is not described" for zone in used - described]
    for zone in calendar.walk("VTIMEZONE"):
        described = zone.to_tz(lookup_tzid=False)
        known = icalendar.timezone.tzp.timezone(str(zone["TZID"]))
        for month in range(1, 13):
            moment = datetime(2027, month, 15, 12, tzinfo=timezone.utc)
            there, named = moment.astimezone(described), moment.astimezone(known)
            if there.utcoffset() != named.utcoffset():
                problems.append(f"{zone['TZID']} in month {month}: {there.utcoffset()}, not {named.utcoffset()}")
    return problems


def read_database(path):
    """All rows, and what is wrong with them."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for table in ["reminders", "memories"]:
        for row in connection.execute(f"SELECT * FROM {table}"):
            print(f"{table}: {row}")
    problems = [] if connection.execute("PRAGMA integrity_check").fetchone() == ("ok",) else ["the database is damaged"]
    # Compares the index with its table.
    copy = sqlite3.connect(":memory:")
    connection.backup(copy)
    try:
        copy.execute("INSERT INTO memories_index (memories_index, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        problems.append(f"the index of memories: {error}")
    return problems


def main(folder):
    problems = []
    for path in sorted(folder.glob("calendar/**/*.ics")):
        problems += [f"{path}: {problem}" for problem in read_event(path)]
    for path in sorted(folder.glob("notes/**/*.md")):
        print(f"note {path.relative_to(folder)}: {path.read_text(encoding='utf-8')!r}")
    problems += [f"{folder}/data/botpsy.db: {problem}" for problem in read_database(folder / "data/botpsy.db")]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
