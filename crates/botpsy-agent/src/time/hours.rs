//! Clock times as seconds since midnight. Which half of the day an hour is in is decided here.

use super::ast::{Clock, Half};
use super::words::Part;

pub(super) const DAY: i64 = 24 * 3600;
const HOUR: i64 = 3600;

/// Seconds since midnight, below zero or above a day where the neighbouring day is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hours {
    /// What is meant as long as nothing speaks against it.
    pub(super) likely: i64,
    /// The other half of the day, where the half was not said.
    pub(super) other: Option<i64>,
}

/// What a clock time is, beside a part of the day or alone.
pub(super) fn hours(clock: &Clock, part: Option<Part>) -> Result<Hours, String> {
    let written = format!("{}:{:02}", clock.hour, clock.minute);
    if clock.hour > 24
        || clock.minute > 59
        || clock.second > 59
        || (clock.hour == 24 && clock.minute + clock.second > 0)
    {
        return Err(format!("there is no {written} on a clock"));
    }
    let hour = i64::from(clock.hour);
    let exact =
        |hour: i64| hour * HOUR + i64::from(clock.minute) * 60 + i64::from(clock.second) - i64::from(clock.less) * 60;
    let one = |hour: i64| Ok(Hours { likely: exact(hour), other: None });
    if clock.midnight {
        // What is before or at midnight is at the end of a day, what is after it at the start.
        return one(if clock.minute > 0 && part != Some(Part::Night) { 0 } else { 24 });
    }
    let hour = match (clock.half, part) {
        (Half::Am, _) if hour <= 12 => hour % 12,
        (Half::Pm, _) if (1..=23).contains(&hour) => {
            if hour < 12 {
                hour + 12
            } else {
                hour
            }
        }
        (Half::Am | Half::Pm, _) => return Err(format!("{written} is not in that half of the day")),
        (Half::Full, _) => hour,
        (Half::Unsaid, Some(part)) => return one(hour_in(hour, part)),
        (Half::Unsaid, None) => {
            let early = exact(hour).rem_euclid(DAY / 2);
            let late = early + DAY / 2;
            let (likely, other) = if early < 7 * HOUR { (late, early) } else { (early, late) };
            return Ok(Hours { likely, other: Some(other) });
        }
    };
    let fits = match part {
        Some(Part::Night) if hour < 6 => return one(hour + 24),
        Some(Part::Evening) if hour == 0 => return one(24),
        Some(Part::Morning) => hour < 12,
        Some(Part::Lunchtime) => (11..=15).contains(&hour),
        Some(Part::Afternoon) => (12..=18).contains(&hour),
        Some(Part::Evening | Part::Night) => hour >= 16,
        None => true,
    };
    if fits { one(hour) } else { Err(format!("{written} is not in that part of the day")) }
}

/// An hour from 1 to 12 in a part of the day.
fn hour_in(hour: i64, part: Part) -> i64 {
    match part {
        Part::Morning => hour % 12,
        Part::Night if hour == 12 || hour < 6 => hour % 12 + 24,
        Part::Evening if hour == 12 => 24,
        Part::Lunchtime if hour >= 7 => hour,
        Part::Lunchtime | Part::Afternoon | Part::Evening | Part::Night => hour % 12 + 12,
    }
}

/// From one clock time to another, on the day of the first. What was not said is taken so that they are near.
pub(super) fn pair(from: &Clock, until: &Clock, part: Option<Part>) -> Result<(i64, i64), String> {
    // `9 to 12 in the afternoon` starts before it.
    let start =
        hours(from, part).or_else(|why| if from.half == Half::Unsaid { hours(from, None) } else { Err(why) })?;
    let end = hours(until, part)?;
    let ends = [Some(end.likely), end.other];
    let after = |start: i64| {
        let ends = ends.iter().flatten().flat_map(|end| [*end, end + DAY]);
        ends.filter(|end| *end > start).min().unwrap_or(start + DAY)
    };
    let Some(other) = start.other.filter(|_| end.other.is_none()) else {
        return Ok((start.likely, after(start.likely)));
    };
    // The end says its half, the start does not: the start nearest before the end.
    let nearest = [start.likely, other].into_iter().filter(|start| *start < end.likely).max();
    let start = nearest.unwrap_or(start.likely.max(other));
    Ok((start, after(start)))
}
