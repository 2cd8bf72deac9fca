//! `botpsy time`.

use anyhow::Context;
use botpsy_agent::time::{Reading, read};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Value, json};

use crate::args::TimeArgs;
use crate::failure::{Exit, OrFail};
use crate::output;

pub(crate) fn run(args: &TimeArgs) -> anyhow::Result<Exit> {
    let reading = read(&args.expr, &now(args)?);
    if args.json {
        output::json(&as_json(&reading))?;
    } else {
        output::result(format!("{}\n", told(&reading)).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn now(args: &TimeArgs) -> anyhow::Result<Zoned> {
    let zone = match &args.zone {
        None => TimeZone::system(),
        Some(name) => TimeZone::get(name)
            .with_context(|| format!("--zone {name}"))
            .or_bad_input("take a name of the IANA time zone database, as in Europe/Berlin")?,
    };
    let now = match &args.now {
        None => Timestamp::now(),
        Some(text) => text
            .parse()
            .with_context(|| format!("--now {text}"))
            .or_bad_input("write it as in 2026-12-01T09:00:00Z or 2026-12-01T10:00:00+01:00")?,
    };
    Ok(now.to_zoned(zone))
}

fn as_json(reading: &Reading) -> Value {
    match reading {
        Reading::Instant(at) => json!({ "kind": "instant", "at": stamp(at), "zone": zone(at) }),
        Reading::Range(from, to) => {
            json!({ "kind": "range", "from": stamp(from), "to": stamp(to), "zone": zone(from) })
        }
        Reading::Recurrence { first, rrule, length } => {
            let mut told = json!({ "kind": "recurrence", "first": stamp(first), "rrule": rrule, "zone": zone(first) });
            if let Some(length) = length {
                told["seconds"] = length.as_secs().into();
            }
            told
        }
        Reading::Duration(length) => json!({ "kind": "duration", "seconds": length.as_secs() }),
        Reading::Ambiguous { question, choices } => {
            let choices: Vec<String> = choices.iter().map(stamp).collect();
            json!({ "kind": "ambiguous", "question": question, "choices": choices })
        }
        Reading::Unknown { reason } => json!({ "kind": "unknown", "reason": reason }),
    }
}

/// RFC 3339.
fn stamp(at: &Zoned) -> String {
    at.timestamp().display_with_offset(at.offset()).to_string()
}

/// The IANA name, or the offset where the time was said with one.
fn zone(at: &Zoned) -> String {
    at.time_zone().iana_name().map_or_else(|| at.offset().to_string(), str::to_owned)
}

fn told(reading: &Reading) -> String {
    match reading {
        Reading::Instant(at) => format!("{} ({})", moment(at), zone(at)),
        Reading::Range(from, to) => format!("from {} to {} ({})", moment(from), moment(to), zone(from)),
        Reading::Recurrence { first, rrule, length } => {
            let length = length.map(|length| format!(", each for {length:#}")).unwrap_or_default();
            format!("again and again, first {} ({}){length}; {rrule}", moment(first), zone(first))
        }
        Reading::Duration(length) => format!("for {length:#}"),
        Reading::Ambiguous { question, choices } => choices.iter().fold(question.clone(), |text, choice| {
            let is_twice = choices.iter().filter(|other| moment(other) == moment(choice)).count() > 1;
            let offset = if is_twice { choice.strftime(", UTC%:z").to_string() } else { String::new() };
            format!("{text}\n  {} ({}{offset})", moment(choice), zone(choice))
        }),
        Reading::Unknown { reason } => format!("not understood: {reason}"),
    }
}

fn moment(at: &Zoned) -> String {
    let seconds = if at.second() == 0 { "" } else { ":%S" };
    at.strftime(&format!("%A %-d %B %Y, %H:%M{seconds}")).to_string()
}
