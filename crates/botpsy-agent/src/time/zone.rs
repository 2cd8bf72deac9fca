//! Zones behind clock times: `UTC`, `+02:00`, `Europe/Berlin`, `CET`, `Tokyo time`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::ast::Zone;
use super::parser::{Parsed, Parser};

/// The names of the time zone database, in lower case, with their spelling.
struct Names {
    by_name: BTreeMap<String, String>,
    /// By their last part: `berlin`.
    by_place: BTreeMap<String, String>,
}

/// Read once: a look into the database takes longer than everything else here.
fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names = Names { by_name: BTreeMap::new(), by_place: BTreeMap::new() };
        let mut known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
        known.sort();
        for name in known {
            let lower = name.to_ascii_lowercase();
            if let Some((area, place)) = lower.rsplit_once('/')
                && area != "etc"
            {
                names.by_place.entry(place.to_owned()).or_insert_with(|| name.clone());
            }
            names.by_name.insert(lower, name);
        }
        names
    })
}

impl Parser<'_> {
    /// A zone behind a clock time: `UTC`, `+02:00`, `Europe/Berlin`, `CET`, `Tokyo time`.
    pub(super) fn zone(&self, at: usize) -> Parsed<Zone> {
        if let Some(sign @ ('+' | '-')) = self.mark(at) {
            let (seconds, end) = self.offset(at + 1)?;
            return Some((Zone::Offset(if sign == '+' { seconds } else { -seconds }), self.bracketed(end)));
        }
        if self.mark(at) == Some('[') {
            let (zone, end) = self.named_zone(at + 1)?;
            return (self.mark(end) == Some(']')).then_some((zone, end + 1));
        }
        let word = self.word(at)?;
        if word == "utc" || word == "gmt" || (word == "z" && self.is_joined(at)) {
            let signed = matches!(self.mark(at + 1), Some('+' | '-')) && self.is_joined(at + 1);
            return match self.zone(at + 1).filter(|_| signed) {
                Some(found) => Some(found),
                None => Some((Zone::Offset(0), self.bracketed(at + 1))),
            };
        }
        if let Some(end) = self.phrases(at, &["local time", "my time"]) {
            return Some((Zone::Local, end));
        }
        self.abbreviated(at).or_else(|| self.named_zone(at)).or_else(|| self.place(at))
    }

    /// Behind a zone's name in brackets, which only says again where an offset holds.
    fn bracketed(&self, at: usize) -> usize {
        let again = self.mark(at) == Some('[') && self.is_joined(at);
        self.zone(at).filter(|_| again).map_or(at, |(_, end)| end)
    }

    /// `2`, `02`, `0200`, `02:00`.
    fn offset(&self, at: usize) -> Parsed<i32> {
        let number = self.digits(at).filter(|_| self.is_joined(at))?;
        let (hours, minutes, end) = match number.digits {
            1 | 2 if self.is_joint(at + 1, ':') => (number.value, self.digits(at + 2)?.value, at + 3),
            1 | 2 => (number.value, 0, at + 1),
            4 => (number.value / 100, number.value % 100, at + 1),
            _ => return None,
        };
        let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
        (hours <= 18 && minutes < 60).then_some((seconds, end))
    }

    /// Abbreviations in capitals. Some are used on two continents.
    fn abbreviated(&self, at: usize) -> Parsed<Zone> {
        const HOUR: i32 = 3600;
        let american = match self.written(at) {
            "ET" => Some("America/New_York"),
            "CT" => Some("America/Chicago"),
            "MT" => Some("America/Denver"),
            "PT" => Some("America/Los_Angeles"),
            _ => None,
        };
        if let Some(name) = american {
            return Some((Zone::Named(name.to_owned()), at + 1));
        }
        let offsets: &[i32] = match self.written(at) {
            "WET" => &[0],
            "BST" => &[HOUR, 6 * HOUR],
            "CET" | "WEST" => &[HOUR],
            "CEST" | "EET" => &[2 * HOUR],
            "EEST" | "MSK" => &[3 * HOUR],
            "IST" => &[5 * HOUR + HOUR / 2, 2 * HOUR, HOUR],
            "JST" | "KST" => &[9 * HOUR],
            "AEST" => &[10 * HOUR],
            "AEDT" => &[11 * HOUR],
            "EST" => &[-5 * HOUR],
            "EDT" => &[-4 * HOUR],
            "CST" => &[-6 * HOUR, 8 * HOUR],
            "CDT" => &[-5 * HOUR],
            "MDT" => &[-6 * HOUR],
            "MST" | "PDT" => &[-7 * HOUR],
            "PST" => &[-8 * HOUR],
            _ => return None,
        };
        Some((Zone::Offsets(offsets), at + 1))
    }

    /// `Europe/Berlin`, `America/Argentina/Buenos_Aires`.
    fn named_zone(&self, at: usize) -> Parsed<Zone> {
        self.word(at).filter(|_| self.is_joint(at + 1, '/'))?;
        let mut name = self.written(at).to_owned();
        let mut end = at + 1;
        while self.is_joint(end, '/') && self.word(end + 1).is_some() {
            name = format!("{name}/{}", self.written(end + 1));
            end += 2;
            while self.is_joint(end, '-') && self.word(end + 1).is_some() {
                name = format!("{name}-{}", self.written(end + 1));
                end += 2;
            }
        }
        let known = names().by_name.get(&name.to_ascii_lowercase())?;
        Some((Zone::Named(known.clone()), end))
    }

    /// `Tokyo time`, `New York time`, `Eastern time`: a place that the time zone database names.
    fn place(&self, at: usize) -> Parsed<Zone> {
        let words = (1..=3).find(|words| self.is(at + words, "time"))?;
        let words_there: Option<Vec<&str>> = (at..at + words).map(|at| self.word(at)).collect();
        let place = words_there?.join("_");
        let american = match place.as_str() {
            "eastern" => Some("America/New_York"),
            "central" => Some("America/Chicago"),
            "mountain" => Some("America/Denver"),
            "pacific" => Some("America/Los_Angeles"),
            _ => None,
        };
        let end = at + words + 1;
        if let Some(name) = american {
            return Some((Zone::Named(name.to_owned()), end));
        }
        let known = names().by_place.get(&place)?;
        Some((Zone::Named(known.clone()), end))
    }
}
