//! The calendar: what is in it, and new events.

use jiff::{SignedDuration, Span, Zoned};
use serde_json::{Map, Value, json};

use super::args::{line, optional_block, optional_line, problem};
use super::pick::{self, Candidate};
use super::when::{self, Start, clock, say_rule, say_span};
use super::{BuiltIn, optional, text, tool};
use crate::store::ics::{self, NewEvent, Occurrence, Stamp};
use crate::store::{Agenda, Change, Op, Place, StoredEvent, new_id};
use crate::{Effect, Output, Plan, Role, ToolError, Undo, World};

/// No answer names more events.
const MAX_LISTED: usize = 40;

/// An event of which nobody says how long it is.
const USUAL_LENGTH: SignedDuration = SignedDuration::from_hours(1);

pub(super) fn tools() -> Vec<BuiltIn> {
    let writes = (Effect::Write, Output::Service, Undo::InverseCall);
    let reads = (Effect::Read, Output::ThirdParty, Undo::None);
    vec![
        tool(
            "create_event",
            "Adds an event to the calendar.",
            writes,
            vec![
                text("title", Role::Key, "What it is, e.g. Dentist."),
                text("start", Role::KeyTime, "When it begins, in the user's words or ISO 8601, e.g. tomorrow 3 pm."),
                optional(text("end", Role::KeyTime, "When it ends.")),
                optional(text("duration", Role::KeyTime, "How long it is, e.g. 90 minutes. Instead of end.")),
                optional(text("place", Role::Content, "Where it is.")),
                optional(text("repeat", Role::KeyTime, "How often, e.g. every week. Only if it repeats.")),
                optional(text("notes", Role::Content, "Anything else to write down.")),
            ],
            create,
        ),
        tool(
            "list_events",
            "Shows what is in the calendar on a day or in a time.",
            reads,
            vec![optional(text(
                "when",
                Role::Selector,
                "Which time, e.g. today, this week. The next 7 days if left out.",
            ))],
            list,
        ),
        tool(
            "find_events",
            "Searches the calendar by words.",
            reads,
            vec![text("query", Role::Selector, "Words of the title, the place or the notes.")],
            find,
        ),
    ]
}

fn create(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let title = line(arguments, "title")?;
    let mut start = when::start(&line(arguments, "start")?, world.now)?;
    let mut end = end_of_new(arguments, &start, world.now)?;
    let words = optional_line(arguments, "repeat")?.or(start.rrule.clone());
    let rrule = match words {
        Some(words) => {
            let (rule, first) = when::repeat(&words, &start.at, world.now)?;
            let length = end.datetime() - start.at.datetime();
            let bad = |error: jiff::Error| problem("repeat", &error.to_string());
            let last = first.datetime().checked_add(length).map_err(bad)?;
            (start.at, end) = (first, world.now.time_zone().to_zoned(last).map_err(bad)?);
            Some(rule)
        }
        None => None,
    };
    let stamp = |moment: &Zoned| if start.is_days { Stamp::Day(moment.date()) } else { Stamp::of(moment) };
    let new = NewEvent {
        uid: new_id("botpsy-"),
        title,
        start: stamp(&start.at),
        end: stamp(&end),
        place: optional_line(arguments, "place")?,
        notes: optional_block(arguments, "notes")?,
        rrule,
    };
    let text = ics::compose(&new, world.now);
    let words = say_span(&start.at, &end, start.is_days);
    let mut details = vec![("when".to_owned(), words.clone())];
    details.extend(new.rrule.as_ref().map(|rule| ("repeats".to_owned(), say_rule(rule))));
    details.extend(new.place.as_ref().map(|place| ("where".to_owned(), place.clone())));
    details.extend(new.notes.as_ref().map(|notes| ("notes".to_owned(), notes.clone())));
    let mut warnings = Vec::new();
    if end <= *world.now {
        warnings.push("it is in the past".to_owned());
    }
    warnings.extend(overlaps(world, &text, &new.uid, None)?);
    let result = json!({
        "id": new.uid, "title": new.title, "when": words, "start": when::iso(&start.at), "end": when::iso(&end),
    });
    let path = format!("{}{}.ics", folder(world)?, new.uid);
    Ok(Plan::Change(Change {
        summary: format!("Add to the calendar: {}", new.title),
        details,
        warnings,
        ops: vec![Op::File { place: Place::Calendar, path, before: None, after: Some(text) }],
        result,
    }))
}

fn end_of_new(arguments: &Map<String, Value>, start: &Start, now: &Zoned) -> Result<Zoned, ToolError> {
    let bad = |error: jiff::Error| problem("end", &error.to_string());
    if let Some(words) = optional_line(arguments, "end")? {
        if optional_line(arguments, "duration")?.is_some() {
            return Err(problem("duration", "give it or the end, not both"));
        }
        let end = when::end(&words, &start.at, now)?;
        let end = match (start.is_days, end.is_days, end.end) {
            (true, true, Some(after)) => after,
            (false, false, _) => end.at,
            _ => return Err(problem("end", "start and end must both be days, or both have an hour")),
        };
        return if end > start.at { Ok(end) } else { Err(problem("end", "it is before the start")) };
    }
    if let Some(words) = optional_line(arguments, "duration")? {
        let length = when::duration("duration", &words, now)?;
        return match start.is_days {
            false => start.at.checked_add(length).map_err(bad),
            true => {
                let days = (length.as_hours() + 23) / 24;
                start.at.checked_add(Span::new().days(days.max(1))).map_err(bad)
            }
        };
    }
    match &start.end {
        Some(end) => Ok(end.clone()),
        None => start.at.checked_add(USUAL_LENGTH).map_err(bad),
    }
}

fn list(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let (from, to) = match optional_line(arguments, "when")? {
        Some(words) => when::span(&words, world.now)?,
        None => (world.now.clone(), later(world.now, 7)?),
    };
    let agenda = world.store.events(&from, &to)?;
    Ok(Plan::Answer(answer(&agenda, Some(when::say_range(&from, &to)))))
}

fn find(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let query = line(arguments, "query")?;
    let mut agenda = world.store.find_events(&query, &later(world.now, -365)?, &later(world.now, 730)?)?;
    // Of what repeats, the next time; what is to come before what was.
    let (coming, mut past): (Vec<Occurrence>, Vec<Occurrence>) =
        agenda.occurrences.drain(..).partition(|occurrence| occurrence.end > *world.now);
    past.reverse();
    let mut seen = std::collections::HashSet::new();
    let first_ones = coming.into_iter().chain(past).filter(|occurrence| seen.insert(occurrence.uid.clone()));
    agenda.occurrences = first_ones.collect();
    Ok(Plan::Answer(answer(&agenda, None)))
}

fn answer(agenda: &Agenda, when: Option<String>) -> Value {
    let events: Vec<Value> = agenda.occurrences.iter().take(MAX_LISTED).map(describe).collect();
    let mut answer = Map::new();
    if let Some(when) = when {
        answer.insert("when".to_owned(), json!(when));
    }
    answer.insert("events".to_owned(), json!(events));
    let more = agenda.occurrences.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        answer.insert("more".to_owned(), json!(more));
    }
    if !agenda.broken.is_empty() {
        let broken = agenda.broken.iter().take(5).map(|broken| format!("{}: {}", broken.path, broken.why));
        answer.insert("unreadable".to_owned(), json!(broken.collect::<Vec<_>>()));
    }
    Value::Object(answer)
}

/// An occurrence as the model is told it.
pub(super) fn describe(occurrence: &Occurrence) -> Value {
    let mut event = Map::new();
    let mut put = |name: &str, value: Value| event.insert(name.to_owned(), value);
    put("id", json!(occurrence.id));
    put("title", json!(occurrence.title));
    put("when", json!(say_span(&occurrence.start, &occurrence.end, occurrence.is_all_day)));
    put("start", json!(when::iso(&occurrence.start)));
    put("end", json!(when::iso(&occurrence.end)));
    if let Some(place) = &occurrence.place {
        put("place", json!(place));
    }
    if let Some(rule) = &occurrence.rrule {
        put("repeats", json!(say_rule(rule)));
    }
    if let Some(notes) = &occurrence.notes {
        put("notes", json!(notes.chars().take(500).collect::<String>()));
    }
    Value::Object(event)
}

/// What else happens while the event of a text does, the first ten times in the next hundred days after it begins.
pub(super) fn overlaps(world: World, text: &str, uid: &str, key: Option<&str>) -> Result<Vec<String>, ToolError> {
    let (events, _) = ics::events(text);
    let of_uid: Vec<ics::Event> = events.into_iter().filter(|event| event.uid == uid).collect();
    let Some(first) = of_uid.iter().filter_map(|event| event.start.moment(world.now.time_zone()).ok()).min() else {
        return Ok(Vec::new());
    };
    let from = if first > *world.now { first } else { world.now.clone() };
    let from = from.with_time_zone(world.now.time_zone().clone());
    let (mut own, _) = ics::occurrences(&of_uid, &from, &later(&from, 100)?);
    own.retain(|occurrence| key.is_none_or(|key| occurrence.id == key));
    own.truncate(10);
    let (Some(start), Some(end)) = (own.first().map(|own| own.start.clone()), own.iter().map(|own| &own.end).max())
    else {
        return Ok(Vec::new());
    };
    let others = world.store.events(&start, end)?.occurrences;
    let others = others.iter().filter(|other| other.uid != uid && !other.is_all_day);
    let meets =
        |other: &&Occurrence| own.iter().any(|own| !own.is_all_day && own.start < other.end && other.start < own.end);
    let mut warnings: Vec<String> = Vec::new();
    for other in others.filter(meets) {
        let day = if other.start.date() == start.date() {
            String::new()
        } else {
            other.start.strftime("%A %-d %B, ").to_string()
        };
        warnings.push(format!("overlaps with {} ({day}{} to {})", other.title, clock(&other.start), clock(&other.end)));
    }
    warnings.truncate(5);
    Ok(warnings)
}

/// The event that a model means by an id or by words of its title, and the occurrence, if the id names one.
pub(super) fn pick_event(said: &str, world: World) -> Result<(StoredEvent, Option<Occurrence>), ToolError> {
    if let Some(event) = world.store.event(said)? {
        let occurrence = event.occurrence(said, world.now.time_zone()).filter(|occurrence| occurrence.id != event.uid);
        return Ok((event, occurrence));
    }
    let (stored, _) = world.store.stored_events()?;
    let (from, to) = (later(world.now, -3660)?, later(world.now, 1830)?);
    let next = |event: &StoredEvent| event.between(world.now, &to).into_iter().next();
    let shown = |event: &StoredEvent| next(event).or_else(|| event.between(&from, world.now).into_iter().next_back());
    let candidate = |event: &StoredEvent| Candidate {
        id: event.uid.clone(),
        title: event.master().title.clone(),
        hint: String::new(),
    };
    let mut candidates: Vec<Candidate> = stored.iter().map(candidate).collect();
    let mut places = pick::best(said, &candidates);
    if places.len() > 1 {
        let coming: Vec<usize> = places.iter().copied().filter(|place| next(&stored[*place]).is_some()).collect();
        places = if coming.is_empty() { places } else { coming };
    }
    match places[..] {
        [place] => Ok((stored[place].clone(), None)),
        [] => Err(ToolError::Missing(format!("no event is called `{said}`; find_events searches by other words"))),
        _ => {
            for place in &places {
                let occurrence = shown(&stored[*place]);
                let hint = occurrence.map(|it| say_span(&it.start, &it.end, it.is_all_day));
                candidates[*place].hint = hint.unwrap_or_default();
            }
            Err(pick::which("event", said, places.iter().map(|place| &candidates[*place])))
        }
    }
}

/// The folder of new events: that of the others, when all are in one.
fn folder(world: World) -> Result<String, ToolError> {
    let (stored, _) = world.store.stored_events()?;
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let mut folders = stored.iter().map(|event| folder(&event.path));
    let first = folders.next().unwrap_or_default();
    Ok(if folders.all(|other| other == first) { first } else { String::new() })
}

pub(super) fn later(now: &Zoned, days: i32) -> Result<Zoned, ToolError> {
    now.checked_add(Span::new().days(days)).map_err(|error| problem("when", &error.to_string()))
}
