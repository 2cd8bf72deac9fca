"""What the rules of crates/botpsy-agent/src/time/mod.rs say about expressions, worked out by hand; read by time_fixtures.py.

One line per expression: where it is said, the expression, what it means as `meaning` reads it, and why.
"""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

CASES = """
berlin   | at 4                          | 2026-11-30 16:00                     | a bare hour lies between 7:00 and 18:59
berlin   | 4 tomorrow                    | 2026-12-01 16:00                     | a bare hour lies between 7:00 and 18:59
berlin   | tomorrow at 7                 | 2026-12-01 07:00                     | a bare hour lies between 7:00 and 18:59
berlin   | Friday at 12                  | 2026-12-04 12:00                     | a bare 12 is noon
berlin   | at 7                          | ? 2026-11-30 19:00, 2026-12-01 07:00 | 7:00 is past today and 19:00 comes sooner
berlin   | today at 8                    | 2026-11-30 20:00                     | 8:00 is past, and today was said
berlin   | today at 4                    | 2026-11-30 16:00                     | a bare hour lies between 7:00 and 18:59
berlin   | at five                       | 2026-11-30 17:00                     | hours in words
berlin   | half past three               | 2026-11-30 15:30                     | a bare hour lies between 7:00 and 18:59
berlin   | quarter to 5                  | 2026-11-30 16:45                     | fifteen minutes before 17:00
berlin   | quarter to seven              | 2026-11-30 18:45                     | it lies between 7:00 and 18:59
berlin   | quarter to one                | 2026-11-30 12:45                     | it lies between 7:00 and 18:59
berlin   | quarter to twelve at night    | 2026-11-30 23:45                     | the part says the half
berlin   | quarter past noon             | 2026-11-30 12:15                     | noon is an hour too
berlin   | ten to five                   | 2026-11-30 16:50                     | in words it is a clock time
berlin   | at 10 to 5                    | 2026-11-30 16:50                     | behind at it is a clock time
berlin   | 10 to 5                       | ? 2026-11-30 16:50, 2026-11-30 10:00 | ten minutes to five, or from ten to five
berlin   | twenty-five past four         | 2026-11-30 16:25                     | minutes in words
berlin   | three thirty pm               | 2026-11-30 15:30                     | hour and minutes in words
berlin   | 4 o'clock                     | 2026-11-30 16:00                     | a bare hour lies between 7:00 and 18:59
berlin   | 15h30                         | 2026-11-30 15:30                     | from 7h on it is a time
berlin   | at 9h05 tomorrow              | 2026-12-01 09:05                     | h counts 24 hours
berlin   | 1h30                          | = 5400                               | up to 6h it is how long
berlin   | 3.30 pm                       | 2026-11-30 15:30                     | a point before minutes, with pm
berlin   | at 0730                       | 2026-12-01 07:30                     | four digits behind at
berlin   | 04:30                         | 2026-12-01 04:30                     | a zero in front counts 24 hours
berlin   | 3:30 p.m. on Dec. 3           | 2026-12-03 15:30                     | points of abbreviations
berlin   | 12 am tomorrow                | 2026-12-01 00:00                     | 12 am starts the day
berlin   | 12:30 am on 3 December        | 2026-12-03 00:30                     | 12 am starts the day
berlin   | 12 pm                         | 2026-11-30 12:00                     | 12 pm is noon
berlin   | midnight                      | 2026-12-01 00:00                     | the next one
berlin   | tonight at midnight           | 2026-12-01 00:00                     | the end of today
berlin   | midnight on Friday            | ? 2026-12-04 00:00, 2026-12-05 00:00 | a day has a midnight at each end
berlin   | quarter to midnight           | 2026-11-30 23:45                     | before the end of the day
berlin   | tonight                       | 2026-11-30 18:00 .. 2026-12-01 00:00 | the night is 18 to 24
berlin   | tonight at 8                  | 2026-11-30 20:00                     | the part says the half
berlin   | tonight at 2                  | 2026-12-01 02:00                     | small hours belong to the night before
berlin   | tomorrow evening              | 2026-12-01 18:00 .. 2026-12-01 22:00 | the evening is 18 to 22
berlin   | tomorrow morning              | 2026-12-01 06:00 .. 2026-12-01 12:00 | the morning is 6 to 12
berlin   | Friday afternoon              | 2026-12-04 12:00 .. 2026-12-04 18:00 | the afternoon is 12 to 18
berlin   | tomorrow lunchtime            | 2026-12-01 12:00 .. 2026-12-01 14:00 | lunchtime is 12 to 14
berlin   | last night                    | 2026-11-29 18:00 .. 2026-11-30 00:00 | the night is 18 to 24
berlin   | in the evening                | 2026-11-30 18:00 .. 2026-11-30 22:00 | the next one
berlin   | at 9 in the morning           | 2026-12-01 09:00                     | the part says the half; today's is past
berlin   | 6 in the morning on Thursday  | 2026-12-03 06:00                     | the part says the half
berlin   | tomorrow evening at 8         | 2026-12-01 20:00                     | the part says the half
berlin   | on the evening of 3 March     | 2027-03-03 18:00 .. 2027-03-03 22:00 | a part of a date
berlin   | 15:00 in the morning          | unknown                              | 15:00 is no morning
berlin   | Monday                        | ? 2026-11-30, 2026-12-07             | it is Monday: today or in a week
berlin   | Monday at 9 am                | 2026-12-07 09:00                     | 9:00 is past today
berlin   | Monday at 11 am               | 2026-11-30 11:00                     | 11:00 is ahead today
berlin   | this Monday                   | 2026-11-30                           | the coming one, today included
berlin   | next Friday                   | 2026-12-11                           | the one of next week
berlin   | next Friday at 3              | 2026-12-11 15:00                     | the one of next week
berlin   | Monday after next             | 2026-12-14                           | the one of the week after next
berlin   | the Tuesday after next        | 2026-12-15                           | the one of the week after next
berlin   | Friday 4th                    | 2026-12-04                           | the 4th is a Friday
berlin   | Friday the 11th at 6 pm       | 2026-12-11 18:00                     | the 11th is a Friday
berlin   | in a week's time              | 2026-12-07 10:00                     | a week on the calendar
berlin   | next week                     | 2026-12-07 / 2026-12-14              | weeks start on Monday
berlin   | this week                     | 2026-11-30 / 2026-12-07              | weeks start on Monday
berlin   | last week                     | 2026-11-23 / 2026-11-30              | weeks start on Monday
berlin   | the week after next           | 2026-12-14 / 2026-12-21              | weeks start on Monday
berlin   | this weekend                  | 2026-12-05 / 2026-12-07              | Saturday and Sunday of this week
berlin   | next weekend                  | 2026-12-12 / 2026-12-14              | Saturday and Sunday of next week
berlin   | next week on Tuesday at 3     | 2026-12-08 15:00                     | a weekday of a week
berlin   | in two weeks on Monday        | 2026-12-14                           | a weekday of a week
berlin   | week 53                       | 2026-12-28 / 2027-01-04              | ISO weeks
berlin   | end of the week               | ? 2026-12-04, 2026-12-06             | Friday or Sunday
berlin   | next month                    | 2026-12-01 / 2027-01-01              | the calendar month
berlin   | this month                    | 2026-11-01 / 2026-12-01              | the calendar month
berlin   | next year                     | 2027-01-01 / 2028-01-01              | the calendar year
berlin   | March                         | 2027-03-01 / 2027-04-01              | the next one
berlin   | in December                   | 2026-12-01 / 2027-01-01              | the next one
berlin   | next December                 | ? 2026-12-01, 2027-12-01             | of this year or of next year
berlin   | March 2028                    | 2028-03-01 / 2028-04-01              | the calendar month
berlin   | 30 November                   | 2026-11-30                           | today counts
berlin   | 29 November                   | 2027-11-29                           | the next one
berlin   | 29 February                   | 2028-02-29                           | the next year that has one
berlin   | the 15th                      | 2026-12-15                           | the next one
berlin   | the 31st                      | 2026-12-31                           | the next month that has one
berlin   | the 1st of January            | 2027-01-01                           | the next one
berlin   | 3/4                           | ? 2027-04-03, 2027-03-04             | day first or month first
berlin   | 5/5                           | 2027-05-05                           | both orders are the same
berlin   | 13/4                          | 2027-04-13                           | there is no month 13
berlin   | 3/4/2027                      | ? 2027-04-03, 2027-03-04             | day first or month first
berlin   | 03-04-27                      | ? 2027-04-03, 2027-03-04             | day first or month first
berlin   | 3/4 at 15:00                  | ? 2027-04-03 15:00, 2027-03-04 15:00 | day first or month first
berlin   | 3.4.2027                      | 2027-04-03                           | with points the day stands first
berlin   | 24.12.                        | 2026-12-24                           | with points the day stands first
berlin   | Friday, 4 December 2026       | 2026-12-04                           | it is a Friday
berlin   | Friday 3 December 2026        | ? 2026-12-03, 2026-12-04             | it is a Thursday
berlin   | 20261201T150000Z              | 2026-12-01 16:00                     | ISO 8601, basic form
berlin   | 30 February                   | unknown                              | there is no such date
berlin   | 31 April 2027                 | unknown                              | there is no such date
berlin   | 29 February 2027              | unknown                              | no leap year
berlin   | 2027-13-01                    | unknown                              | there is no such month
berlin   | 25:00                         | unknown                              | there is no such hour
berlin   | 10:75                         | unknown                              | there is no such minute
berlin   | morgen um 15 Uhr              | unknown                              | another language
berlin   | demain                        | unknown                              | another language
berlin   | mañana a las 3                | unknown                              | another language
berlin   | 4 eggs                        | unknown                              | no time
berlin   | in a few minutes              | unknown                              | how many is not said
berlin   | in an hour and a half         | 2026-11-30 11:30                     | 90 minutes on the watch
berlin   | in 1.5 hours                  | 2026-11-30 11:30                     | 90 minutes on the watch
berlin   | in 1h30                       | 2026-11-30 11:30                     | 90 minutes on the watch
berlin   | in three quarters of an hour  | 2026-11-30 10:45                     | 45 minutes on the watch
berlin   | in two hours and 15 minutes   | 2026-11-30 12:15                     | one length of two units
berlin   | 20 minutes from now           | 2026-11-30 10:20                     | on the watch
berlin   | in a fortnight                | 2026-12-14 10:00                     | two weeks on the calendar
berlin   | in 2 days at 5 pm             | 2026-12-02 17:00                     | a clock time of a counted day
berlin   | 2 hours before noon           | 2026-11-30 10:00                     | on the watch
berlin   | an hour after midnight        | 2026-12-01 01:00                     | on the watch
berlin   | now                           | 2026-11-30 10:00                     | this moment
berlin   | the next 2 hours              | 2026-11-30 10:00 .. 2026-11-30 12:00 | from now
berlin   | the last three days           | 2026-11-27 10:00 .. 2026-11-30 10:00 | until now
berlin   | from 3 to 5 pm                | 2026-11-30 15:00 .. 2026-11-30 17:00 | the start takes the half of the end
berlin   | 3-5 pm                        | 2026-11-30 15:00 .. 2026-11-30 17:00 | the start takes the half of the end
berlin   | 11 to 1 pm tomorrow           | 2026-12-01 11:00 .. 2026-12-01 13:00 | the start nearest before the end
berlin   | 9 to 5                        | 2026-11-30 09:00 .. 2026-11-30 17:00 | it is going on
berlin   | Friday 10-12                  | 2026-12-04 10:00 .. 2026-12-04 12:00 | the end is the first after the start
berlin   | between 3 and 5 on Friday     | 2026-12-04 15:00 .. 2026-12-04 17:00 | bare hours lie between 7:00 and 18:59
berlin   | from 10 pm to 6 am            | 2026-11-30 22:00 .. 2026-12-01 06:00 | the end is the first after the start
berlin   | from 22:00 until 23:30        | 2026-11-30 22:00 .. 2026-11-30 23:30 | hours of 24
berlin   | from now until 5 pm           | 2026-11-30 10:00 .. 2026-11-30 17:00 | from this moment
berlin   | from yesterday until this evening | 2026-11-29 00:00 .. 2026-11-30 22:00 | this evening is of today
berlin   | 2-4 tomorrow                  | 2026-12-01 14:00 .. 2026-12-01 16:00 | bare hours lie between 7:00 and 18:59
berlin   | 10-12                         | unknown                              | hours, or a date
berlin   | Tuesday to Thursday           | 2026-12-01 / 2026-12-04              | all of Thursday
berlin   | tomorrow until Friday         | 2026-12-01 / 2026-12-05              | all of Friday
berlin   | 3-5 March                     | 2027-03-03 / 2027-03-06              | all of the 5th
berlin   | March 3 to 5, 2027            | 2027-03-03 / 2027-03-06              | all of the 5th
berlin   | from the 3rd to the 5th of May | 2027-05-03 / 2027-05-06             | all of the 5th
berlin   | December 24 to January 2      | 2026-12-24 / 2027-01-03              | the end is the first after the start
berlin   | Friday 3 pm to Saturday noon  | 2026-12-04 15:00 .. 2026-12-05 12:00 | from one to the other
berlin   | Friday at 3 for an hour       | 2026-12-04 15:00 .. 2026-12-04 16:00 | so long from then
berlin   | 90 minutes                    | = 5400                               | sixty seconds each
berlin   | an hour and a half            | = 5400                               | half of the hour too
berlin   | half an hour                  | = 1800                               | half of an hour
berlin   | two and a half hours          | = 9000                               | half of an hour
berlin   | 2 days                        | = 172800                             | days of 24 hours
berlin   | twenty-five minutes           | = 1500                               | numbers in words
berlin   | a hundred and five seconds    | = 105                                | numbers in words
berlin   | 2 hours, 5 minutes and 3 seconds | = 7503                            | one length of three units
berlin   | PT1H30M                       | = 5400                               | ISO 8601
berlin   | 2 months                      | unknown                              | months have no fixed length
berlin   | 3 pm EST                      | 2026-11-30 21:00                     | five hours behind UTC
berlin   | 15:00 Europe/London           | 2026-11-30 16:00                     | a zone by its name
berlin   | 15:00+05:30                   | 2026-11-30 10:30                     | a zone by its offset
berlin   | 9 am Tokyo time               | 2026-12-01 01:00                     | a zone by its place, the next 9:00 there
berlin   | 3 pm CST                      | ? 2026-11-30 22:00, 2026-12-01 08:00 | America and China use it
berlin   | tomorrow at 3 pm UTC          | 2026-12-01 16:00                     | the day here, the clock there
berlin   | 2027-03-28 02:30              | ? 2027-03-28 01:30, 2027-03-28 03:30 | clocks jump from 2:00 to 3:00
berlin   | 28 March 2027 at 2:30 am      | ? 2027-03-28 01:30, 2027-03-28 03:30 | clocks jump from 2:00 to 3:00
berlin   | 28 March 2027 at 3 am         | 2027-03-28 03:00                     | the first hour after the jump
berlin   | 28 March 2027                 | 2027-03-28                           | a day of 23 hours
berlin   | 2027-10-31 02:30              | ? 2027-10-31 02:30, 2027-10-31 02:30+ | clocks go back from 3:00 to 2:00
berlin   | 31 October 2027               | 2027-10-31                           | a day of 25 hours
berlin   | every day at 8 until 24 December | @ 2026-12-01 08:00 FREQ=DAILY;UNTIL=20261224T225959Z | all of that day
berlin   | every Monday starting 1 February | @ 2027-02-01 00:00 FREQ=WEEKLY;BYDAY=MO | from that day on
berlin   | every 3 hours                 | @ 2026-11-30 13:00 FREQ=HOURLY;INTERVAL=3 | first after one interval
berlin   | every 20 minutes              | @ 2026-11-30 10:20 FREQ=MINUTELY;INTERVAL=20 | first after one interval
berlin   | every evening at 8            | @ 2026-11-30 20:00 FREQ=DAILY        | the part says the half
berlin   | every second Tuesday of the month | @ 2026-12-08 00:00 FREQ=MONTHLY;BYDAY=2TU | of the month was said
berlin   | the 1st and 15th of each month | @ 2026-12-01 00:00 FREQ=MONTHLY;BYMONTHDAY=1,15 | two days of the month
berlin   | every Monday at 9 for 10 times | @ 2026-12-07 09:00 FREQ=WEEKLY;BYDAY=MO;COUNT=10 | so often
berlin   | Monday mornings               | @ 2026-12-07 06:00 FREQ=WEEKLY;BYDAY=MO | the morning starts at 6
berlin   | every Monday to Friday at 7   | @ 2026-12-01 07:00 FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR | 7:00 is past today
berlin   | every two weeks on Friday     | @ 2026-12-04 00:00 FREQ=WEEKLY;INTERVAL=2;BYDAY=FR | a weekday behind the interval
berlin   | at 8 every day                | @ 2026-12-01 08:00 FREQ=DAILY        | the clock time in front
berlin   | every 4 hours starting at 8 pm | @ 2026-11-30 20:00 FREQ=HOURLY;INTERVAL=4 | the clock time of the first
berlin   | once every two weeks on Monday at 8 pm | @ 2026-11-30 20:00 FREQ=WEEKLY;INTERVAL=2;BYDAY=MO | 20:00 is ahead today
berlin   | every half hour               | @ 2026-11-30 10:30 FREQ=MINUTELY;INTERVAL=30 | thirty minutes
new-york | Sunday at 2:30 am             | ? 2027-03-14 01:30, 2027-03-14 03:30 | clocks jump from 2:00 to 3:00
new-york | in 4 days                     | 2027-03-14 11:30                     | the same clock time across the jump
new-york | in 96 hours                   | 2027-03-14 12:30                     | hours on the watch across the jump
new-york | 7 November 2027 at 1:30 am    | ? 2027-11-07 01:30, 2027-11-07 01:30+ | clocks go back from 2:00 to 1:00
new-york | Sunday                        | 2027-03-14                           | a day of 23 hours
new-york | Wednesday                     | ? 2027-03-10, 2027-03-17             | it is Wednesday: today or in a week
new-york | next Monday                   | 2027-03-15                           | the one of next week
new-york | next Wednesday                | 2027-03-17                           | the one of next week
new-york | noon                          | 2027-03-10 12:00                     | the next one
new-york | at 11                         | ? 2027-03-10 23:00, 2027-03-11 11:00 | 11:00 is past today and 23:00 comes sooner
new-york | at 3                          | 2027-03-10 15:00                     | a bare hour lies between 7:00 and 18:59
new-york | 3 pm Pacific time             | 2027-03-10 18:00                     | three hours behind
new-york | this weekend                  | 2027-03-13 / 2027-03-15              | Saturday and Sunday of this week
kolkata  | Sunday                        | ? 2027-01-31, 2027-02-07             | it is Sunday: today or in a week
kolkata  | Monday                        | 2027-02-01                           | the next one
kolkata  | next Monday                   | 2027-02-01                           | next week starts tomorrow
kolkata  | next Saturday                 | 2027-02-06                           | the one of next week
kolkata  | this week                     | 2027-01-25 / 2027-02-01              | Sunday ends the week
kolkata  | next week                     | 2027-02-01 / 2027-02-08              | weeks start on Monday
kolkata  | this weekend                  | 2027-01-30 / 2027-02-01              | it is going on
kolkata  | in a month                    | 2027-02-28 20:45                     | February has no 31st
kolkata  | tonight                       | 2027-01-31 18:00 .. 2027-02-01 00:00 | it is going on
kolkata  | at 8                          | 2027-02-01 08:00                     | 20:00 is past too
kolkata  | at 9                          | ? 2027-01-31 21:00, 2027-02-01 09:00 | 21:00 is ahead today
kolkata  | at 6                          | ? 2027-02-01 06:00, 2027-02-01 18:00 | 6:00 comes sooner
kolkata  | at 5                          | 2027-02-01 17:00                     | 5:00 is before 6:00
kolkata  | the 30th                      | 2027-03-30                           | February has none
kolkata  | end of next month             | 2027-02-28                           | its last day
kolkata  | 29 February                   | 2028-02-29                           | the next year that has one
auckland | tomorrow                      | 2028-02-29                           | a leap year
auckland | in two days                   | 2028-03-01 08:15                     | a leap year
auckland | end of the month              | 2028-02-29                           | a leap year
auckland | 2 April 2028 at 2:30 am       | ? 2028-04-02 02:30, 2028-04-02 02:30+ | clocks go back from 3:00 to 2:00
auckland | 24 September 2028 at 2:30 am  | ? 2028-09-24 01:30, 2028-09-24 03:30 | clocks jump from 2:00 to 3:00
auckland | 3 pm UTC                      | 2028-02-29 04:00                     | it is still the 27th there
"""


def moment(text, zone):
    """RFC 3339; a plus behind the time is the second of two."""
    text, fold = text.strip(), int(text.strip().endswith("+"))
    return datetime.fromisoformat(text.rstrip("+")).replace(tzinfo=zone, fold=fold).isoformat()


def day_range(first, last, zone):
    return {"kind": "range", "from": moment(first, zone), "to": moment(last, zone)}


def meaning(text, zone):
    """`TIME`, `DAY`, `DAY / DAY`, `TIME .. TIME`, `? CHOICE, CHOICE`, `= SECONDS`, `@ TIME RULE`, `unknown`."""
    if text == "unknown":
        return {"kind": "unknown"}
    if text.startswith("="):
        return {"kind": "duration", "seconds": int(text[1:])}
    if text.startswith("?"):
        return {"kind": "ambiguous", "choices": [moment(choice, zone) for choice in text[1:].split(",")]}
    if text.startswith("@"):
        date, time, rule = text[1:].split()
        return {"kind": "recurrence", "first": moment(f"{date} {time}", zone), "rrule": rule}
    if "/" in text:
        return day_range(*text.split("/"), zone)
    if ".." in text:
        return day_range(*text.split(".."), zone)
    if ":" in text:
        return {"kind": "instant", "at": moment(text, zone)}
    return day_range(text, str(datetime.fromisoformat(text) + timedelta(days=1)), zone)


def cases(nows):
    for line in CASES.strip().splitlines():
        name, expression, expected, reason = (part.strip() for part in line.split(" | "))
        yield expression, name, meaning(expected, ZoneInfo(nows[name][1])), reason
