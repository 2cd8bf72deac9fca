"""Writes fixtures/time/expressions.jsonl: what dateparser and dateutil answer, and what the rules say, by hand.

    python3 checks/time_fixtures.py        # needs dateparser (1.5.0 was used) and python-dateutil (4.0.0 was used)

A line is {"expression", "now", "zone", "expected": {"kind", ..}, "source"}; the source is "dateparser VERSION", "dateutil VERSION" or
"by hand: REASON". Answers of dateparser that
are wrong by themselves are left out, see `is_wrong`.
"""

import json
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from zoneinfo import ZoneInfo

import dateparser
from dateutil.relativedelta import FR, MO, SA, SU, TH, TU, WE, relativedelta
from dateutil.rrule import rrulestr

import time_by_hand

OUT = Path(__file__).resolve().parent.parent / "fixtures" / "time" / "expressions.jsonl"
PARSER, UTIL = f"dateparser {version('dateparser')}", f"dateutil {version('python-dateutil')}"

# Moments: the end of a month on a Monday; days before American clocks change; the end of a month on a Sunday; a leap year.
NOWS = {
    "berlin": ("2026-11-30T10:00:00", "Europe/Berlin"),
    "new-york": ("2027-03-10T11:30:00", "America/New_York"),
    "kolkata": ("2027-01-31T20:45:00", "Asia/Kolkata"),
    "auckland": ("2028-02-28T08:15:00", "Pacific/Auckland"),
}

# One moment each.
MOMENTS = [
    "in 20 minutes", "in 90 minutes", "in 2 hours", "in an hour", "in 3 hours", "in half an hour", "3 hours ago", "an hour ago",
    "15 minutes ago", "2 hours ago", "in 45 minutes", "in 30 seconds",
    "in 3 days", "in 10 days", "in a week", "in two weeks", "in 6 weeks", "in a month", "in 3 months", "in a year", "3 days ago",
    "2 weeks ago", "a month ago", "a year ago", "5 days ago",
    "tomorrow at 3 pm", "tomorrow at 15:30", "tomorrow at 8:15 am", "tomorrow at noon", "tomorrow 09:00", "3 pm tomorrow",
    "yesterday at 07:15", "yesterday at 11 pm", "yesterday at noon", "today at 23:30", "today at 11:45 pm",
    "Friday at 3 pm", "Tuesday at 18:00", "Saturday at 9 am", "thursday 10:30 pm", "Sunday at noon", "Fri 16:00",
    "24 Dec 2026 15:30", "December 24 at noon", "March 3rd, 2027 at 8 am", "3 March 2027 at 8 am", "July 4, 2027 at 9:30 pm",
    "4 July 2027 21:30", "1 January 2028 00:00", "Jan 2, 2028 10:00", "15 Aug 2027 at 6 pm", "2026-12-01 15:00",
    "2027-06-30T08:30", "2027-06-30T08:30:00Z", "2027-06-30T08:30:15+02:00", "2028-02-29 12:00", "Feb 29, 2028 at noon",
    "25/12/2027 14:00", "12/25/2027 14:00", "31.12.2027 23:59", "1 May at 10:00", "Oct 31 at 7:30 pm", "30 June at 17:00",
    "3 pm UTC", "15:30", "11 pm", "11:59 pm", "00:30", "noon", "Sept 5 2027 13:00", "5th of September 2027 1:00 pm",
]

# One day each.
DAYS = [
    "tomorrow", "yesterday", "today", "Thursday", "Tuesday", "Saturday", "3 March 2027", "March 3, 2027", "3rd of March 2027", "March 3rd",
    "24 December", "Dec 24", "4 July", "July 4th", "2026-12-01", "2028-02-29", "31.12.2027", "25/12/2027", "12/25/2027", "Feb 29, 2028",
    "1 Jan 2028", "Sep 9 2027", "31 October", "2027/08/15", "29 Nov 2027",
]

# By the calendar arithmetic of dateutil: the day that a rule names.
CALENDAR = {
    "this Friday": relativedelta(weekday=FR),
    "this Sunday": relativedelta(weekday=SU),
    "last Friday": relativedelta(days=-1, weekday=FR(-1)),
    "last Monday": relativedelta(days=-1, weekday=MO(-1)),
    "last Sunday": relativedelta(days=-1, weekday=SU(-1)),
    "next Tuesday": [relativedelta(weekday=MO(-1)), relativedelta(days=7, weekday=TU)],
    "next Monday": [relativedelta(weekday=MO(-1)), relativedelta(days=7)],
    "next Sunday": [relativedelta(weekday=MO(-1)), relativedelta(days=7, weekday=SU)],
    "Wednesday next week": [relativedelta(weekday=MO(-1)), relativedelta(days=7, weekday=WE)],
    "Saturday of last week": [relativedelta(weekday=MO(-1)), relativedelta(days=-7, weekday=SA)],
    "a week on Thursday": [relativedelta(weekday=TH), relativedelta(days=7)],
    "Thursday week": [relativedelta(weekday=TH), relativedelta(days=7)],
    "two weeks from tomorrow": relativedelta(days=15),
    "the day after tomorrow": relativedelta(days=2),
    "the day before yesterday": relativedelta(days=-2),
    "end of the month": relativedelta(day=31),
    "the end of next month": relativedelta(months=1, day=31),
    "the beginning of next month": relativedelta(months=1, day=1),
    "end of the year": relativedelta(month=12, day=31),
    "the first of next month": relativedelta(months=1, day=1),
    "first Monday of next month": relativedelta(months=1, day=1, weekday=MO(1)),
    "last Friday of next month": relativedelta(months=1, day=31, weekday=FR(-1)),
    "the third Thursday of November 2027": relativedelta(year=2027, month=11, day=1, weekday=TH(3)),
    "last Sunday in October 2027": relativedelta(year=2027, month=10, day=31, weekday=SU(-1)),
    "the last day of February 2028": relativedelta(year=2028, month=2, day=31),
    "second Tuesday of next month": relativedelta(months=1, day=1, weekday=TU(2)),
}

# Rules, and the clock time at which they start.
RULES = {
    "every day at 8 am": ("FREQ=DAILY", 8, 0),
    "daily at 18:30": ("FREQ=DAILY", 18, 30),
    "every weekday at 7": ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", 7, 0),
    "weekdays at 7": ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", 7, 0),
    "every Monday at 9:15 am": ("FREQ=WEEKLY;BYDAY=MO", 9, 15),
    "every second Tuesday": ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", 0, 0),
    "every other Friday at noon": ("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", 12, 0),
    "mondays and thursdays": ("FREQ=WEEKLY;BYDAY=MO,TH", 0, 0),
    "every Tuesday, Thursday and Sunday at 20:00": ("FREQ=WEEKLY;BYDAY=TU,TH,SU", 20, 0),
    "on the first of every month": ("FREQ=MONTHLY;BYMONTHDAY=1", 0, 0),
    "on the 31st of every month at 9 am": ("FREQ=MONTHLY;BYMONTHDAY=31", 9, 0),
    "the last day of every month": ("FREQ=MONTHLY;BYMONTHDAY=-1", 0, 0),
    "every first Monday of the month at 10:00": ("FREQ=MONTHLY;BYDAY=1MO", 10, 0),
    "the last Friday of every month": ("FREQ=MONTHLY;BYDAY=-1FR", 0, 0),
    "yearly on 4 July": ("FREQ=YEARLY;BYMONTH=7;BYMONTHDAY=4", 0, 0),
    "every 29 February at noon": ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", 12, 0),
    "every weekend": ("FREQ=WEEKLY;BYDAY=SA,SU", 0, 0),
}


def stamp(moment):
    return moment.isoformat()


def local(name):
    text, zone = NOWS[name]
    return datetime.fromisoformat(text), ZoneInfo(zone)


def line(expression, name, expected, source):
    now, zone = local(name)
    utc = now.replace(tzinfo=zone).astimezone(ZoneInfo("UTC"))
    moment = utc.isoformat().replace("+00:00", "Z")
    return {"expression": expression, "now": moment, "zone": str(zone), "expected": expected, "source": source}


def parsed(expression, name):
    now, zone = local(name)
    settings = {"RELATIVE_BASE": now, "PREFER_DATES_FROM": "future", "TIMEZONE": str(zone), "TO_TIMEZONE": str(zone)}
    found = dateparser.parse(expression, languages=["en"], settings={**settings, "RETURN_AS_TIMEZONE_AWARE": True})
    return found and found.astimezone(zone)


def is_wrong(expression, found, now, zone):
    """Two faults of dateparser 1.5.0: days counted by the watch through a change of clocks, and clock times days away."""
    if expression.startswith("in ") or expression.endswith(" ago"):
        counted = expression.split()[-1 if expression.startswith("in ") else -2].rstrip("s")
        return counted in ("day", "week", "month", "year") and found.time() != now.time()
    is_clock = expression in ("15:30", "11 pm", "11:59 pm", "00:30", "noon", "3 pm UTC")
    return is_clock and not timedelta() <= found - now.replace(tzinfo=zone) < timedelta(days=1)


def whole_day(day, zone):
    start = datetime(day.year, day.month, day.day, tzinfo=zone)
    following = datetime(day.year, day.month, day.day) + timedelta(days=1)
    return {"kind": "range", "from": stamp(start), "to": stamp(following.replace(tzinfo=zone))}


def from_dateparser():
    for name in NOWS:
        for expression in MOMENTS + DAYS:
            found = parsed(expression, name)
            if found is None or is_wrong(expression, found, *local(name)):
                continue
            expected = {"kind": "instant", "at": stamp(found)} if expression in MOMENTS else whole_day(found, found.tzinfo)
            yield line(expression, name, expected, PARSER)


def from_dateutil():
    for name in NOWS:
        now, zone = local(name)
        for expression, steps in CALENDAR.items():
            day = now
            for step in steps if isinstance(steps, list) else [steps]:
                day += step
            yield line(expression, name, whole_day(day, zone), UTIL)
        for expression, (rule, hour, minute) in RULES.items():
            start = datetime(now.year, now.month, now.day, hour, minute)
            # Every other week starts with the first week that has the day.
            start = rrulestr(rule.replace("INTERVAL=2;", ""), dtstart=start).after(now, inc=True)
            first = rrulestr(rule, dtstart=start).after(now, inc=True).replace(tzinfo=zone)
            yield line(expression, name, {"kind": "recurrence", "first": stamp(first), "rrule": rule}, UTIL)


def by_hand():
    for expression, name, expected, reason in time_by_hand.cases(NOWS):
        yield line(expression, name, expected, f"by hand: {reason}")


def main():
    lines = [*from_dateparser(), *from_dateutil(), *by_hand()]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    print(len(lines), "expressions")


if __name__ == "__main__":
    main()
