//! Times as they stand in a file.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};

use super::find_zone;
use super::lines::Line;

/// A time in a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Stamp {
    /// A whole day.
    Day(Date),
    /// The same hour wherever one is.
    Floating(DateTime),
    /// On the clocks of a zone.
    At(DateTime, TimeZone),
}

impl Stamp {
    /// A moment, on the clocks of its own zone.
    pub fn of(moment: &Zoned) -> Stamp {
        Stamp::At(moment.datetime(), moment.time_zone().clone())
    }

    /// What the clock shows; midnight for a whole day.
    pub fn civil(&self) -> DateTime {
        match self {
            Stamp::Day(date) => date.to_datetime(Time::midnight()),
            Stamp::Floating(civil) | Stamp::At(civil, _) => *civil,
        }
    }

    /// The zone on whose clocks it is; `local` where the file names none.
    pub fn zone<'a>(&'a self, local: &'a TimeZone) -> &'a TimeZone {
        match self {
            Stamp::At(_, zone) => zone,
            Stamp::Day(_) | Stamp::Floating(_) => local,
        }
    }

    /// The moment; in a gap of the clocks the later one.
    pub(crate) fn moment(&self, local: &TimeZone) -> Result<Zoned, String> {
        self.zone(local).to_zoned(self.civil()).map_err(|error| error.to_string())
    }

    /// The same kind of time with another reading of the clock.
    pub(crate) fn with_civil(&self, civil: DateTime) -> Stamp {
        match self {
            Stamp::Day(_) => Stamp::Day(civil.date()),
            Stamp::Floating(_) => Stamp::Floating(civil),
            Stamp::At(_, zone) => Stamp::At(civil, zone.clone()),
        }
    }

    /// What the clock shows in the zone of `other` then.
    pub(crate) fn civil_as(&self, other: &Stamp) -> DateTime {
        match (self, other) {
            (Stamp::At(civil, from), Stamp::At(_, to)) if from != to => {
                from.to_zoned(*civil).map_or(*civil, |moment| moment.with_time_zone(to.clone()).datetime())
            }
            _ => self.civil(),
        }
    }

    /// Whether it is a whole day.
    pub fn is_day(&self) -> bool {
        matches!(self, Stamp::Day(_))
    }

    /// The head of its line without the name, and the value: `;TZID=Europe/Berlin` and `20261204T150000`.
    pub(super) fn write(&self) -> (String, String) {
        let civil = self.civil();
        match self {
            Stamp::Day(date) => (";VALUE=DATE".to_owned(), date.strftime("%Y%m%d").to_string()),
            Stamp::Floating(_) => (String::new(), civil.strftime("%Y%m%dT%H%M%S").to_string()),
            Stamp::At(_, zone) => match zone.iana_name() {
                Some(name) if name != "UTC" && name != "Etc/UTC" => {
                    (format!(";TZID={name}"), civil.strftime("%Y%m%dT%H%M%S").to_string())
                }
                _ => {
                    let moment = zone.to_zoned(civil).map(|moment| moment.with_time_zone(TimeZone::UTC).datetime());
                    (String::new(), moment.unwrap_or(civil).strftime("%Y%m%dT%H%M%SZ").to_string())
                }
            },
        }
    }

    /// All times of a line: `EXDATE` and `RDATE` may hold several; of a period, the start.
    pub(super) fn read_all(line: &Line) -> Result<Vec<Stamp>, String> {
        let values = line.value.split(',').filter(|value| !value.trim().is_empty()).take(10_000);
        values.map(|value| Stamp::read(value.split('/').next().unwrap_or_default(), line.param("TZID"))).collect()
    }

    /// The one time of a line. A zone that nobody knows counts as the owner's own.
    pub(super) fn read_one(line: &Line) -> Result<Stamp, String> {
        Stamp::read(&line.value, line.param("TZID"))
    }

    fn read(value: &str, zone: Option<&str>) -> Result<Stamp, String> {
        let value = value.trim();
        let bad = || format!("`{}` is not a time", value.chars().take(40).collect::<String>());
        let (date, time) = value.split_once(['T', 't']).map_or((value, None), |(date, time)| (date, Some(time)));
        let digits = |text: &str, from: usize, n: usize| text.get(from..from + n)?.parse::<i16>().ok();
        let is_digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(date, 8) {
            return Err(bad());
        }
        let number = |text: &str, from: usize, n: usize| digits(text, from, n).ok_or_else(bad);
        let small = |text: &str, from: usize| number(text, from, 2).map(|number| number as i8);
        let date = Date::new(number(date, 0, 4)?, small(date, 4)?, small(date, 6)?).map_err(|_| bad())?;
        let Some(time) = time else { return Ok(Stamp::Day(date)) };
        let (time, is_utc) = time.strip_suffix(['Z', 'z']).map_or((time, false), |time| (time, true));
        if !is_digits(time, 6) {
            return Err(bad());
        }
        // A leap second is the last one of its minute here.
        let (hour, minute, second) = (small(time, 0)?, small(time, 2)?, small(time, 4)?.min(59));
        let civil = date.to_datetime(Time::new(hour, minute, second, 0).map_err(|_| bad())?);
        Ok(match (is_utc, zone.and_then(find_zone)) {
            (true, _) => Stamp::At(civil, TimeZone::UTC),
            (false, Some(zone)) => Stamp::At(civil, zone),
            (false, None) => Stamp::Floating(civil),
        })
    }
}

/// A length such as `P1DT2H`; a negative one counts as none.
pub(super) fn read_duration(value: &str) -> Result<Span, String> {
    let span: Span = value.trim().parse().map_err(|_| format!("`{}` is not a length", value.trim()))?;
    Ok(if span.is_negative() { Span::new() } else { span })
}
