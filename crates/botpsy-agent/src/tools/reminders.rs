//! Alarms, timers and reminders.

use jiff::Zoned;
use serde_json::{Map, Value, json};

use super::args::{line, optional_line, problem};
use super::pick::{self, Candidate};
use super::when::{self, Start, say, say_length, say_rule};
use super::{BuiltIn, optional, text, tool, wake};
use crate::store::{Change, Op, Reminder, ReminderKind, ReminderState, Table, ics, new_id};
use crate::{Effect, Output, Plan, Role, ToolError, Undo, World};

pub(super) fn tools() -> Vec<BuiltIn> {
    let writes = (Effect::Write, Output::Service, Undo::InverseCall);
    let time = || text("time", Role::KeyTime, "When, in the user's words or ISO 8601, e.g. tomorrow 7 am.");
    let repeat = || optional(text("repeat", Role::KeyTime, "How often, e.g. every day. Only if it repeats."));
    let label = || optional(text("label", Role::Key, "What it is for."));
    let reminder = || text("reminder", Role::Object, "Its id, or words of it.");
    vec![
        tool("set_alarm", "Sets an alarm for a time.", writes, vec![time(), label(), repeat()], set_alarm),
        tool(
            "set_timer",
            "Starts a timer.",
            writes,
            vec![text("duration", Role::KeyTime, "How long, e.g. 10 minutes."), label()],
            set_timer,
        ),
        tool(
            "create_reminder",
            "Reminds the user of something at a time.",
            writes,
            vec![text("text", Role::Key, "What to remind of."), time(), repeat()],
            create_reminder,
        ),
        tool(
            "list_reminders",
            "Shows the alarms, timers and reminders that are set.",
            (Effect::Read, Output::OwnAccount, Undo::None),
            vec![],
            list,
        ),
        tool(
            "change_reminder",
            "Changes the time or text of an alarm, timer or reminder.",
            writes,
            vec![
                reminder(),
                optional(text("text", Role::Key, "The new text.")),
                optional(text("time", Role::KeyTime, "The new time.")),
                optional(text("repeat", Role::KeyTime, "How often from now on, or `never`.")),
            ],
            change,
        ),
        tool(
            "cancel_reminder",
            "Cancels an alarm, timer or reminder.",
            (Effect::Destructive, Output::OwnAccount, Undo::Trash),
            vec![reminder()],
            cancel,
        ),
    ]
}

fn set_alarm(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let label = optional_line(arguments, "label")?.unwrap_or_else(|| "Alarm".to_owned());
    let (due, rrule) = due(arguments, world.now, wake::prefer_morning)?;
    Ok(Plan::Change(create(ReminderKind::Alarm, label, due, rrule, world.now)))
}

fn create_reminder(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let text = line(arguments, "text")?;
    let (due, rrule) = due(arguments, world.now, |at, _, _| at)?;
    Ok(Plan::Change(create(ReminderKind::Reminder, text, due, rrule, world.now)))
}

fn set_timer(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let length = when::duration("duration", &line(arguments, "duration")?, world.now)?;
    let label = optional_line(arguments, "label")?.unwrap_or_else(|| "Timer".to_owned());
    let due = world.now.checked_add(length).map_err(|error| problem("duration", &error.to_string()))?;
    let mut change = create(ReminderKind::Timer, label, due, None, world.now);
    change.details.insert(0, ("length".to_owned(), say_length(length)));
    Ok(Plan::Change(change))
}

/// When, and how often; nothing can ring in the past. `prefer` chooses between the halves of the day that the words leave open.
fn due(
    arguments: &Map<String, Value>,
    now: &Zoned,
    prefer: fn(Zoned, &str, &Zoned) -> Zoned,
) -> Result<(Zoned, Option<String>), ToolError> {
    let words = line(arguments, "time")?;
    let Start { at, rrule, .. } = when::moment(&words, now)?;
    let at = prefer(at, &words, now);
    match optional_line(arguments, "repeat")?.or(rrule) {
        Some(words) => {
            let (rule, first) = when::repeat(&words, &at, now)?;
            future(first, Some(rule), now)
        }
        None => future(at, None, now),
    }
}

fn future(at: Zoned, rrule: Option<String>, now: &Zoned) -> Result<(Zoned, Option<String>), ToolError> {
    if at > *now {
        return Ok((at, rrule));
    }
    let next = rrule.as_deref().and_then(|rule| ics::next_after(rule, &at, now));
    match next {
        Some(next) => Ok((next, rrule)),
        None => Err(problem("time", &format!("{} is in the past", say(&at)))),
    }
}

fn create(kind: ReminderKind, text: String, due: Zoned, rrule: Option<String>, now: &Zoned) -> Change {
    let (state, made) = (ReminderState::Waiting, now.timestamp());
    let reminder = Reminder { id: new_id("r-"), kind, text, due, rrule, state, made };
    let summary = match kind {
        ReminderKind::Alarm => format!("Set an alarm: {}", reminder.text),
        ReminderKind::Timer => format!("Start a timer: {}", reminder.text),
        ReminderKind::Reminder => format!("Remind of: {}", reminder.text),
    };
    Change {
        summary,
        details: details(&reminder),
        warnings: Vec::new(),
        result: describe(&reminder),
        ops: vec![Op::Row { table: Table::Reminders, before: None, after: Some(reminder.row()), id: reminder.id }],
    }
}

fn list(_: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let there = world.store.reminders(&[ReminderState::Waiting])?;
    Ok(Plan::Answer(json!({ "reminders": there.iter().map(describe).collect::<Vec<_>>() })))
}

fn change(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let before = pick_reminder(arguments, world)?;
    let mut after = before.clone();
    if let Some(text) = optional_line(arguments, "text")? {
        after.text = text;
    }
    if let Some(words) = optional_line(arguments, "time")? {
        let is_clock = when::is_clock(&words) && before.due.date() >= world.now.date();
        let midnight = before.due.start_of_day().map_err(|error| problem("time", &error.to_string()))?;
        let start = when::moment(&words, if is_clock { &midnight } else { world.now })?;
        after.due = start.at;
        after.rrule = start.rrule.or(after.rrule);
    }
    match optional_line(arguments, "repeat")?.as_deref() {
        Some("never" | "none" | "no") => after.rrule = None,
        Some(words) => {
            let (rule, first) = when::repeat(words, &after.due, world.now)?;
            (after.rrule, after.due) = (Some(rule), first);
        }
        None => {}
    }
    if after == before {
        return Err(problem("text", "say what is to be changed: text, time or repeat"));
    }
    (after.due, after.rrule) = future(after.due, after.rrule, world.now)?;
    let mut details = details(&after);
    if after.due != before.due {
        details.push(("before".to_owned(), say(&before.due)));
    }
    if after.text != before.text {
        details.push(("text".to_owned(), after.text.clone()));
    }
    Ok(Plan::Change(Change {
        summary: format!("Change the {}: {}", before.kind.name(), before.text),
        details,
        warnings: Vec::new(),
        result: describe(&after),
        ops: vec![op(&before, &after)],
    }))
}

fn cancel(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let before = pick_reminder(arguments, world)?;
    let after = Reminder { state: ReminderState::Cancelled, ..before.clone() };
    let repeats = before.rrule.is_some();
    Ok(Plan::Change(Change {
        summary: format!("Cancel the {}: {}", before.kind.name(), before.text),
        details: details(&before),
        warnings: if repeats { vec!["it does not come again".to_owned()] } else { Vec::new() },
        result: json!({ "id": before.id, "title": before.text, "cancelled": true }),
        ops: vec![op(&before, &after)],
    }))
}

fn op(before: &Reminder, after: &Reminder) -> Op {
    let (id, before, after) = (before.id.clone(), Some(before.row()), Some(after.row()));
    Op::Row { table: Table::Reminders, id, before, after }
}

fn details(reminder: &Reminder) -> Vec<(String, String)> {
    let mut details = vec![("when".to_owned(), say(&reminder.due))];
    details.extend(reminder.rrule.as_ref().map(|rule| ("repeats".to_owned(), say_rule(rule))));
    details
}

fn describe(reminder: &Reminder) -> Value {
    let mut described = json!({
        "id": reminder.id, "title": reminder.text, "kind": reminder.kind.name(),
        "when": say(&reminder.due), "time": when::iso(&reminder.due),
    });
    if let Some(rule) = &reminder.rrule {
        described["repeats"] = json!(say_rule(rule));
    }
    described
}

/// The one that a model means, of those that wait. `the alarm` and `timer` name one by its kind.
fn pick_reminder(arguments: &Map<String, Value>, world: World) -> Result<Reminder, ToolError> {
    let said = line(arguments, "reminder")?;
    let mut there = world.store.reminders(&[ReminderState::Waiting])?;
    let candidate = |reminder: &Reminder, title: &str| Candidate {
        id: reminder.id.clone(),
        title: title.to_owned(),
        hint: format!("{}, {}", reminder.kind.name(), say(&reminder.due)),
    };
    let by_text: Vec<Candidate> = there.iter().map(|reminder| candidate(reminder, &reminder.text)).collect();
    let by_kind: Vec<Candidate> = there.iter().map(|reminder| candidate(reminder, reminder.kind.name())).collect();
    let is_named = !pick::best(&said, &by_text).is_empty() || pick::best(&said, &by_kind).is_empty();
    let place = pick::one("reminder", &said, if is_named { &by_text } else { &by_kind })?;
    Ok(there.swap_remove(place))
}
