//! A zone as calendars describe it, for readers that do not know its name.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::{Offset, TimeZone, TimeZoneTransition};
use jiff::{Timestamp, Zoned};

/// The lines of a `VTIMEZONE`, unfolded and without line ends, that is right from the year of `around` on; nothing for UTC.
pub(super) fn vtimezone(around: &Zoned) -> Vec<String> {
    let zone = around.time_zone();
    let Some(name) = zone.iana_name().filter(|name| *name != "UTC" && *name != "Etc/UTC") else { return Vec::new() };
    let mut lines = vec!["BEGIN:VTIMEZONE".to_owned(), format!("TZID:{name}")];
    // From the year before on, so that its last change is the first one that counts.
    let year = around.year().saturating_sub(1);
    let (this, next) = (transitions(zone, year), transitions(zone, year.saturating_add(1)));
    let is_yearly = this.len() == 2
        && next.len() == 2
        && this.iter().zip(&next).all(|(a, b)| rule(a.civil()) == rule(b.civil()) && a.to == b.to && a.from == b.from);
    if this.is_empty() && next.is_empty() {
        let offset = around.offset();
        let start = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
        observance(
            &mut lines,
            &Change { at: around.timestamp(), from: offset, to: offset, is_dst: false },
            start,
            None,
        );
    } else if is_yearly {
        for change in &this {
            let civil = change.civil();
            observance(&mut lines, change, civil, Some(rule(civil)));
        }
    } else {
        let years = year..=year.saturating_add(10);
        for change in years.flat_map(|year| transitions(zone, year)) {
            observance(&mut lines, &change, change.civil(), None);
        }
    }
    lines.push("END:VTIMEZONE".to_owned());
    lines
}

/// A moment at which the clocks of a zone are moved.
struct Change {
    at: Timestamp,
    from: Offset,
    to: Offset,
    is_dst: bool,
}

impl Change {
    /// What the clocks show just before they are moved.
    fn civil(&self) -> DateTime {
        self.from.to_datetime(self.at)
    }
}

fn transitions(zone: &TimeZone, year: i16) -> Vec<Change> {
    let begin = Date::new(year, 1, 1).ok().and_then(|date| date.to_zoned(zone.clone()).ok());
    let Some(begin) = begin else { return Vec::new() };
    let mut from = begin.offset();
    let mut changes = Vec::new();
    for next in zone.following(begin.timestamp()).take_while(|next| is_in(next, zone, year)).take(20) {
        changes.push(Change { at: next.timestamp(), from, to: next.offset(), is_dst: next.dst().is_dst() });
        from = next.offset();
    }
    changes
}

fn is_in(transition: &TimeZoneTransition, zone: &TimeZone, year: i16) -> bool {
    zone.to_datetime(transition.timestamp()).year() == year
}

/// `FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU` for the last Sunday of March.
fn rule(civil: DateTime) -> String {
    let date = civil.date();
    let day = match date.weekday() {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    };
    let nth = if date.day() + 7 > date.days_in_month() { -1 } else { (date.day() + 6) / 7 };
    format!("FREQ=YEARLY;BYMONTH={};BYDAY={nth}{day}", date.month())
}

fn observance(lines: &mut Vec<String>, change: &Change, start: DateTime, rule: Option<String>) {
    let kind = if change.is_dst { "DAYLIGHT" } else { "STANDARD" };
    lines.push(format!("BEGIN:{kind}"));
    lines.push(format!("DTSTART:{}", start.strftime("%Y%m%dT%H%M%S")));
    lines.extend(rule.map(|rule| format!("RRULE:{rule}")));
    lines.push(format!("TZOFFSETFROM:{}", offset(change.from)));
    lines.push(format!("TZOFFSETTO:{}", offset(change.to)));
    lines.push(format!("END:{kind}"));
}

fn offset(offset: Offset) -> String {
    let seconds = offset.seconds();
    let (sign, all) = (if seconds < 0 { '-' } else { '+' }, seconds.abs());
    let rest = if all % 60 == 0 { String::new() } else { format!("{:02}", all % 60) };
    format!("{sign}{:02}{:02}{rest}", all / 3600, all / 60 % 60)
}
