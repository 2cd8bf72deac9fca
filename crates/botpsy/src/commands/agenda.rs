//! `botpsy agenda`.

mod show;

use anyhow::{Context, anyhow};
use botpsy_agent::store::ics::Occurrence;
use botpsy_agent::store::{Broken, Reminder, ReminderState, Store};
use botpsy_agent::time::{Reading, read};
use botpsy_agent::tools::say;
use jiff::{SignedDuration, Span, Timestamp, Zoned};

use crate::args::AgendaArgs;
use crate::failure::{Exit, OrFail, bad_input};
use crate::settings::Settings;
use crate::{output, owner};

/// Days that are shown when nobody says.
const DAYS: i32 = 8;

/// A reminder that repeats is shown at most so many times.
const MAX_TIMES: usize = 500;

/// What is due now has this long to make itself heard, until it counts as missed.
const LATE: SignedDuration = SignedDuration::from_secs(60);

/// What stands in the agenda.
struct Agenda {
    from: Zoned,
    to: Zoned,
    /// What was due and not heard.
    missed: Vec<Reminder>,
    events: Vec<Occurrence>,
    /// What is to come, each time on its own.
    reminders: Vec<Reminder>,
    broken: Vec<Broken>,
}

pub(crate) fn run(args: &AgendaArgs) -> anyhow::Result<Exit> {
    let settings = Settings::load()?;
    let now = now(args, &settings)?;
    let (from, to) = span(&args.when.join(" "), &now)?;
    let desk = owner::open(&settings)?;
    let agenda = Agenda::read(desk.store(), &now, from, to)?;
    match args.json {
        true => output::json(&agenda.json())?,
        false => {
            output::Screen::out().write(&agenda.text(&now))?;
            for broken in &agenda.broken {
                output::note(&format!("{} cannot be read and was left out: {}", broken.path, broken.why));
            }
        }
    }
    Ok(Exit::Done)
}

fn now(args: &AgendaArgs, settings: &Settings) -> anyhow::Result<Zoned> {
    let Some(text) = &args.now else { return Ok(settings.now()) };
    let now = text.parse::<Timestamp>().with_context(|| format!("--now {text}"));
    Ok(now.or_bad_input("write it as in 2026-12-01T09:00:00Z")?.to_zoned(settings.zone.value.clone()))
}

/// The time that the words name; a moment stands for its day.
fn span(words: &str, now: &Zoned) -> anyhow::Result<(Zoned, Zoned)> {
    let help = "name a day or a time, as in `tomorrow`, `Friday`, `next week` or `2026-12-24`";
    let days = |from: &Zoned, days: i32| -> anyhow::Result<(Zoned, Zoned)> {
        let start = from.start_of_day().or_bad_input(help)?;
        let end = start.checked_add(Span::new().days(days)).and_then(|end| end.start_of_day()).or_bad_input(help)?;
        Ok((start, end))
    };
    if words.trim().is_empty() {
        return days(now, DAYS);
    }
    let here = |at: Zoned| at.with_time_zone(now.time_zone().clone());
    match read(words, now) {
        Reading::Range(from, to) => Ok((here(from), here(to))),
        Reading::Instant(at) | Reading::Recurrence { first: at, .. } => days(&here(at), 1),
        Reading::Duration(length) => {
            let to = now.checked_add(length).or_bad_input(help)?;
            Ok((now.clone(), to))
        }
        Reading::Ambiguous { question, choices } => {
            let choices: Vec<String> = choices.iter().map(say).collect();
            Err(bad_input(anyhow!("`{words}`: {question}"), format!("say which: {}", choices.join("; or "))))
        }
        Reading::Unknown { reason } => Err(bad_input(anyhow!("`{words}` is no time: {reason}"), help)),
    }
}

impl Agenda {
    fn read(store: &Store, now: &Zoned, from: Zoned, to: Zoned) -> anyhow::Result<Agenda> {
        let events = store.events(&from, &to).map_err(owner::store_error)?;
        let mut missed = store.reminders(&[ReminderState::Missed]).map_err(owner::store_error)?;
        let waiting = store.reminders(&[ReminderState::Waiting]).map_err(owner::store_error)?;
        // Nothing ran that could have told them.
        let is_late = |reminder: &&Reminder| now.duration_since(&reminder.due) > LATE;
        missed.extend(waiting.iter().filter(is_late).cloned());
        missed.sort_by(|a, b| a.due.cmp(&b.due));
        let first = if from > *now { &from } else { now };
        let mut reminders: Vec<Reminder> =
            waiting.iter().flat_map(|reminder| times(reminder, first, &to, now)).collect();
        reminders.sort_by(|a, b| a.due.cmp(&b.due));
        let zone = now.time_zone();
        for reminder in missed.iter_mut().chain(&mut reminders) {
            reminder.due = reminder.due.with_time_zone(zone.clone());
        }
        Ok(Agenda { from, to, missed, events: events.occurrences, reminders, broken: events.broken })
    }

    /// What happens at the same time as an event.
    fn overlaps(&self, event: &Occurrence) -> Vec<&Occurrence> {
        let meets = |other: &&Occurrence| {
            let is_timed = !event.is_all_day && !other.is_all_day;
            other.id != event.id && is_timed && event.start < other.end && other.start < event.end
        };
        self.events.iter().filter(meets).collect()
    }
}

/// Each time that a reminder is due, from `from` up to `to`; what is due just now included.
fn times(reminder: &Reminder, from: &Zoned, to: &Zoned, now: &Zoned) -> Vec<Reminder> {
    let just = now.checked_sub(LATE).unwrap_or_else(|_| now.clone());
    let is_here = |due: &Zoned| *due < *to && (*due >= *from || (*from <= *now && *due >= just));
    let next = |due: &Zoned| reminder.next_after(due);
    let first = if reminder.due >= *from || is_here(&reminder.due) {
        Some(reminder.due.clone())
    } else {
        let before = from.checked_sub(SignedDuration::from_secs(1)).unwrap_or_else(|_| from.clone());
        next(&before)
    };
    let all = std::iter::successors(first, next).take_while(|due| *due < *to).take(MAX_TIMES);
    all.filter(is_here).map(|due| Reminder { due, ..reminder.clone() }).collect()
}
