//! What an expression says, before anybody asks what time it is.

use jiff::civil::Weekday;

use super::words::Part;

/// A whole expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    When(When),
    /// From the first to the second.
    Between(When, When),
    /// From the first, so long.
    Lasting(When, Length),
    /// So long before or after something; the sign is in the length.
    Beside(Length, When),
    /// The next or the last hours, days, weeks.
    Window(Length),
    Length(Length),
    Repeat(Repeat),
}

/// A day, a part of it, a clock time, a zone: as much of it as was said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct When {
    pub(super) day: Option<Day>,
    pub(super) part: Option<Part>,
    pub(super) clock: Option<Clock>,
    /// The end, where two clock times were said: `3 to 5`.
    pub(super) until: Option<Clock>,
    /// What else the clock time may be: `10 to 5`.
    pub(super) rival: Option<Clock>,
    pub(super) zone: Option<Zone>,
}

/// Which half of the day an hour from 1 to 12 is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Am,
    Pm,
    /// Not said.
    Unsaid,
    /// The hour is one of 24.
    Full,
}

/// A clock time as written; it may not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) second: u32,
    pub(super) half: Half,
    /// Minutes to be taken off, for `quarter to 5`.
    pub(super) less: u32,
    /// `midnight`, of which a day has two.
    pub(super) midnight: bool,
}

impl Clock {
    pub(super) fn new(hour: u32, minute: u32, half: Half) -> Clock {
        Clock { hour, minute, second: 0, half, less: 0, midnight: false }
    }

    pub(super) fn noon() -> Clock {
        Clock::new(12, 0, Half::Full)
    }

    pub(super) fn midnight() -> Clock {
        Clock { midnight: true, ..Clock::new(0, 0, Half::Full) }
    }
}

/// The zone that a clock time was said in.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Zone {
    /// A name of the time zone database.
    Named(String),
    /// Seconds east of UTC: several where an abbreviation has several meanings.
    Offsets(&'static [i32]),
    Offset(i32),
    Local,
}

/// Which one of those that come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Bare,
    This,
    Next,
    Last,
    AfterNext,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Day {
    /// Days from today.
    Offset(i64),
    Weekday(Weekday, Which),
    /// A weekday of the week so many weeks from this one.
    InWeek(Weekday, i64),
    Date {
        year: Option<u32>,
        month: i8,
        day: u32,
    },
    /// Two numbers in one order or the other.
    Numeric {
        first: u32,
        second: u32,
        year: Option<u32>,
    },
    /// A date, and the weekday that it is said to be.
    Checked(Weekday, Box<Day>),
    Ordinal(u32),
    /// A day of a month, the last one where there is no number.
    OrdinalOf(Option<u32>, Month),
    /// The nth weekday of a month, the last one where there is no number.
    NthOf(Option<u32>, Weekday, Month),
    Period(Period),
    Start(Period),
    End(Period),
    /// So long from now; without a clock time, at the time that it is now.
    Ahead(Length),
    /// So long from a day.
    From(Box<Day>, Length),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    /// Weeks from this one.
    Week(i64),
    IsoWeek {
        year: Option<u32>,
        week: u32,
    },
    Weekend(i64),
    Month(Month),
    /// Years from this one.
    Year(i64),
    YearNumber(u32),
    /// The day that a thing is due.
    Day,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Month {
    /// Months from this one.
    Offset(i64),
    Named(i8, Option<u32>, Which),
}

/// Months, days and seconds, which do not turn into each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Length {
    pub(super) months: i64,
    pub(super) days: i64,
    pub(super) seconds: i64,
}

impl Length {
    pub(super) fn days(days: i64) -> Length {
        Length { days, ..Length::default() }
    }

    /// Forwards when `sign` is 1, backwards when it is -1.
    pub(super) fn signed(self, sign: i64) -> Length {
        Length { months: self.months * sign, days: self.days * sign, seconds: self.seconds * sign }
    }

    pub(super) fn plus(self, other: Length) -> Option<Length> {
        Some(Length {
            months: self.months.checked_add(other.months)?,
            days: self.days.checked_add(other.days)?,
            seconds: self.seconds.checked_add(other.seconds)?,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frequency {
    Secondly,
    Minutely,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// On which days it comes again.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum By {
    Any,
    Weekdays(Vec<Weekday>),
    /// Days of the month, -1 for the last.
    MonthDays(Vec<i8>),
    /// The nth such weekday of the month, -1 for the last.
    Nth(i8, Weekday),
    Date(i8, i8),
    NthIn(i8, Weekday, i8),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Repeat {
    pub(super) frequency: Frequency,
    pub(super) interval: u32,
    pub(super) by: By,
    pub(super) clock: Option<Clock>,
    /// The end of each one, where two clock times were said.
    pub(super) end: Option<Clock>,
    pub(super) part: Option<Part>,
    pub(super) zone: Option<Zone>,
    pub(super) start: Option<When>,
    pub(super) until: Option<When>,
    pub(super) count: Option<u32>,
}

impl Repeat {
    pub(super) fn new(frequency: Frequency, interval: u32, by: By) -> Repeat {
        let (clock, end, part, zone, start, until, count) = (None, None, None, None, None, None, None);
        Repeat { frequency, interval, by, clock, end, part, zone, start, until, count }
    }
}
