//! Changing and deleting events, all of what repeats or one time of it.

use jiff::civil::DateTime;
use jiff::{Span, Zoned};
use serde_json::{Map, Value, json};

use super::args::{line, optional_line, problem};
use super::calendar::{describe, later, overlaps, pick_event};
use super::when::{self, say_rule, say_span};
use super::{BuiltIn, optional, text, tool};
use crate::store::ics::{self, Amend, Occurrence, Stamp};
use crate::store::{Change, Op, Place, StoredEvent};
use crate::{Effect, Output, Plan, Role, ToolError, Undo, World};

pub(super) fn tools() -> Vec<BuiltIn> {
    let event = || text("event", Role::Object, "Its id, or words of its title.");
    let day = || optional(text("day", Role::KeyTime, "Only for an event that repeats: which day, or `all`."));
    vec![
        tool(
            "change_event",
            "Changes the title, time or place of an event.",
            (Effect::Write, Output::ThirdParty, Undo::InverseCall),
            vec![
                event(),
                optional(text("title", Role::Key, "The new title.")),
                optional(text("start", Role::KeyTime, "The new start. Its length stays.")),
                optional(text("end", Role::KeyTime, "The new end.")),
                optional(text("place", Role::Content, "The new place.")),
                day(),
            ],
            change,
        ),
        tool(
            "delete_event",
            "Deletes an event from the calendar.",
            (Effect::Destructive, Output::ThirdParty, Undo::Trash),
            vec![event(), day()],
            delete,
        ),
    ]
}

/// How much of an event is meant.
enum Scope {
    All,
    One(Box<Occurrence>),
}

fn change(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let (event, named) = pick_event(&line(arguments, "event")?, world)?;
    let before = editable(&event)?;
    let scope = scope(arguments, &event, named.as_ref(), world)?;
    let base = base(&event, &scope, named, world)?;
    let times = new_times(arguments, &base, world.now)?;
    let title = optional_line(arguments, "title")?;
    let place = optional_line(arguments, "place")?;
    if (&title, &place, &times) == (&None, &None, &None) {
        return Err(problem("title", "say what is to be changed: title, start, end or place"));
    }
    let stamps = times.as_ref().map(|(start, end)| match &scope {
        Scope::One(_) => Ok((as_kind(&event, start, &base), as_kind(&event, end, &base))),
        Scope::All => series_times(&event, &base, start, end),
    });
    let amend = Amend { title: title.clone(), times: stamps.transpose()?, place: place.clone() };
    let key = match &scope {
        Scope::One(occurrence) => Some(&occurrence.key),
        Scope::All => None,
    };
    let after = ics::amend(before, &event.uid, key, &amend, world.now).map_err(|why| problem("start", &why))?;
    let was = say_span(&base.start, &base.end, base.is_all_day);
    let (start, end, is_all_day) = match &times {
        Some((start, end)) => (start.at.clone(), end.at.clone(), start.is_day),
        None => (base.start.clone(), base.end.clone(), base.is_all_day),
    };
    let mut details = Vec::new();
    let mut put = |name: &str, value: String| details.push((name.to_owned(), value));
    if let Some(title) = &title {
        put("title", title.clone());
    }
    put("when", say_span(&start, &end, is_all_day));
    if times.is_some() {
        put("before", was);
    }
    if let Some(place) = &place {
        put("where", place.clone());
    }
    put_scope(&mut details, &event, &scope);
    let occurrence_id = key.map(|_| base.id.as_str());
    let warnings = if times.is_some() { overlaps(world, &after, &event.uid, occurrence_id)? } else { Vec::new() };
    let changed = Occurrence {
        title: title.unwrap_or_else(|| base.title.clone()),
        start,
        end,
        is_all_day,
        place: place.or(base.place.clone()),
        ..base.clone()
    };
    Ok(Plan::Change(Change {
        summary: format!("Change in the calendar: {}", base.title),
        details,
        warnings,
        ops: vec![op(&event, before, Some(after))],
        result: describe(&changed),
    }))
}

fn delete(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let (event, named) = pick_event(&line(arguments, "event")?, world)?;
    let before = editable(&event)?;
    let scope = scope(arguments, &event, named.as_ref(), world)?;
    let base = base(&event, &scope, named, world)?;
    let after = match &scope {
        Scope::All => ics::remove(before, &event.uid),
        Scope::One(occurrence) => {
            let after = ics::exclude(before, &event.uid, &occurrence.key);
            Some(after.map_err(|why| problem("event", &why))?)
        }
    };
    let mut details = vec![("when".to_owned(), say_span(&base.start, &base.end, base.is_all_day))];
    details.extend(base.place.as_ref().map(|place| ("where".to_owned(), place.clone())));
    put_scope(&mut details, &event, &scope);
    let is_series = matches!(scope, Scope::All) && event.master().repeats();
    let warnings = if is_series { vec!["every time of it is deleted, past ones too".to_owned()] } else { Vec::new() };
    let id = if is_series { event.uid.clone() } else { base.id.clone() };
    Ok(Plan::Change(Change {
        summary: format!("Delete from the calendar: {}", base.title),
        details,
        warnings,
        ops: vec![op(&event, before, after)],
        result: json!({ "id": id, "title": base.title, "deleted": true }),
    }))
}

fn op(event: &StoredEvent, before: &str, after: Option<String>) -> Op {
    Op::File { place: Place::Calendar, path: event.path.clone(), before: Some(before.to_owned()), after }
}

fn editable(event: &StoredEvent) -> Result<&str, ToolError> {
    event.text.as_deref().ok_or_else(|| ToolError::Store {
        what: event.path.clone(),
        why: "the file is written in a way that can be read but not changed".to_owned(),
    })
}

fn put_scope(details: &mut Vec<(String, String)>, event: &StoredEvent, scope: &Scope) {
    if let (true, Some(rule)) = (event.master().repeats(), &event.master().rrule) {
        let which = match scope {
            Scope::All => "all of it",
            Scope::One(_) => "only this time",
        };
        details.push(("repeats".to_owned(), format!("{}; {which}", say_rule(rule))));
    }
}

/// All of an event or one time of it. Of an event that repeats, the model must have been told which.
fn scope(
    arguments: &Map<String, Value>,
    event: &StoredEvent,
    named: Option<&Occurrence>,
    world: World,
) -> Result<Scope, ToolError> {
    if !event.master().repeats() && event.events.len() == 1 {
        return Ok(Scope::All);
    }
    let title = &event.master().title;
    let say = |occurrence: &Occurrence| say_span(&occurrence.start, &occurrence.end, occurrence.is_all_day);
    let Some(day) = optional_line(arguments, "day")? else {
        let rule = event.master().rrule.as_deref().map_or("several times".to_owned(), say_rule);
        let one = match named {
            Some(occurrence) => format!("only on {}", say(occurrence)),
            None => "only on one day (which)".to_owned(),
        };
        return Err(ToolError::Ask { question: format!("`{title}` repeats {rule}. Is it {one}, or all of it?") });
    };
    match (day.to_lowercase().as_str(), named) {
        ("all" | "all of them" | "all of it" | "every" | "always" | "series", _) => return Ok(Scope::All),
        ("this" | "only this" | "this one" | "one" | "this day", Some(occurrence)) => {
            return Ok(Scope::One(Box::new(occurrence.clone())));
        }
        _ => {}
    }
    let (from, to) = when::span(&day, world.now)?;
    let mut there = event.between(&from, &to);
    match there.len() {
        0 => Err(ToolError::Missing(format!("`{title}` does not happen on {}", from.strftime("%A %-d %B %Y")))),
        1 => Ok(Scope::One(Box::new(there.remove(0)))),
        _ => {
            let times: Vec<String> = there.iter().take(8).map(say).collect();
            Err(ToolError::Ask { question: format!("Which one: {}?", times.join("; or ")) })
        }
    }
}

/// The occurrence whose times are shown, and from which new times are counted.
fn base(event: &StoredEvent, scope: &Scope, named: Option<Occurrence>, world: World) -> Result<Occurrence, ToolError> {
    let found = match scope {
        Scope::One(occurrence) => Some((**occurrence).clone()),
        Scope::All => named.or_else(|| {
            let local = world.now.time_zone();
            let coming = later(world.now, 3660).ok().and_then(|to| event.between(world.now, &to).into_iter().next());
            let first = || {
                let first = event.master().start.moment(local).ok()?.with_time_zone(local.clone());
                event.between(&first, &later(&first, 3660).ok()?).into_iter().next()
            };
            let any = || event.occurrence(&event.uid, local);
            coming.or_else(first).or_else(any)
        }),
    };
    found.ok_or_else(|| ToolError::Missing(format!("`{}` never happens", event.master().title)))
}

/// A new time, and whether it is a day.
#[derive(Clone, Debug, PartialEq)]
struct NewTime {
    at: Zoned,
    is_day: bool,
}

/// The new start and end; an hour without a day is one of the day that the event is on, a day without an hour keeps the hour.
fn new_times(
    arguments: &Map<String, Value>,
    base: &Occurrence,
    now: &Zoned,
) -> Result<Option<(NewTime, NewTime)>, ToolError> {
    let (start, end) = (optional_line(arguments, "start")?, optional_line(arguments, "end")?);
    if (&start, &end) == (&None, &None) {
        return Ok(None);
    }
    let bad = |error: jiff::Error| problem("start", &error.to_string());
    let zone = now.time_zone();
    let mut is_day = base.is_all_day;
    let mut from = base.start.clone();
    let mut till = None;
    if let Some(words) = start {
        let reference = if when::is_clock(&words) { base.start.start_of_day().map_err(bad)? } else { now.clone() };
        let read = when::start(&words, &reference)?;
        let keeps_hour = read.is_days && !base.is_all_day;
        from = match keeps_hour {
            true => zone.to_zoned(read.at.date().to_datetime(base.start.time())).map_err(bad)?,
            false => read.at.clone(),
        };
        is_day = read.is_days && base.is_all_day;
        let is_one_day = |end: &Zoned| read.is_days && (end.date() - read.at.date()).get_days() == 1;
        till = read.end.filter(|end| !keeps_hour && !is_one_day(end));
    }
    let end = match (end, till) {
        (Some(words), _) => {
            when::end(&words, &from, now).map(|end| if is_day { end.end.unwrap_or(end.at) } else { end.at })?
        }
        (None, Some(till)) => till,
        (None, None) if base.is_all_day && !is_day => from.checked_add(Span::new().hours(1)).map_err(bad)?,
        (None, None) => {
            let length = base.end.datetime() - base.start.datetime();
            zone.to_zoned(from.datetime().checked_add(length).map_err(bad)?).map_err(bad)?
        }
    };
    if end < from {
        return Err(problem("end", "it is before the start"));
    }
    Ok(Some((NewTime { at: from, is_day }, NewTime { at: end, is_day })))
}

/// A time as the file writes this event's times.
fn as_kind(event: &StoredEvent, time: &NewTime, base: &Occurrence) -> Stamp {
    match &event.master().start {
        _ if time.is_day => Stamp::Day(time.at.date()),
        Stamp::At(_, zone) => Stamp::of(&time.at.with_time_zone(zone.clone())),
        Stamp::Floating(_) => Stamp::Floating(time.at.datetime()),
        Stamp::Day(_) => Stamp::of(&time.at.with_time_zone(base.start.time_zone().clone())),
    }
}

/// The first start and end of an event that repeats, when one of its times moves from `base` to `start` and `end`.
fn series_times(
    event: &StoredEvent,
    base: &Occurrence,
    start: &NewTime,
    end: &NewTime,
) -> Result<(Stamp, Stamp), ToolError> {
    let (new_start, new_end) = (as_kind(event, start, base), as_kind(event, end, base));
    let master = event.master();
    if !master.repeats() {
        return Ok((new_start, new_end));
    }
    let shift = |from: DateTime, by: Span| from.checked_add(by).map_err(|error| problem("start", &error.to_string()));
    let old = Stamp::of(&base.start).civil_as(&master.start);
    let first = shift(master.start.civil(), new_start.civil() - old)?;
    let last = shift(first, new_end.civil() - new_start.civil())?;
    Ok((new_start.with_civil(first), new_end.with_civil(last)))
}
