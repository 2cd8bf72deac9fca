//! What time it is, here and elsewhere.

use jiff::Zoned;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::args::{line, optional_line, problem};
use super::when::{self, say};
use super::{BuiltIn, optional, text, tool};
use crate::store::normalize;
use crate::{Effect, Output, Plan, Role, ToolError, Undo, World};

pub(super) fn tools() -> Vec<BuiltIn> {
    let reads = (Effect::Read, Output::Service, Undo::None);
    vec![
        tool(
            "current_time",
            "Tells the date and time, here or in another place.",
            reads,
            vec![optional(text("zone", Role::Other, "A city or time zone, e.g. Tokyo. The user's own if left out."))],
            current,
        ),
        tool(
            "convert_time",
            "Converts a time from one place to another.",
            reads,
            vec![
                text("time", Role::Other, "The time, e.g. tomorrow 3 pm."),
                text("from_zone", Role::Other, "The city or time zone of that time."),
                text("to_zone", Role::Other, "The city or time zone that is wanted."),
            ],
            convert,
        ),
    ]
}

fn current(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let there = match optional_line(arguments, "zone")? {
        Some(words) => world.now.with_time_zone(zone("zone", &words, world.now)?),
        None => world.now.clone(),
    };
    Ok(Plan::Answer(answer(&there)))
}

fn convert(arguments: &Map<String, Value>, world: World) -> Result<Plan, ToolError> {
    let from = zone("from_zone", &line(arguments, "from_zone")?, world.now)?;
    let to = zone("to_zone", &line(arguments, "to_zone")?, world.now)?;
    let moment = when::moment(&line(arguments, "time")?, &world.now.with_time_zone(from))?.at;
    let mut answer = answer(&moment.with_time_zone(to));
    answer["from"] = json!(say(&moment));
    Ok(Plan::Answer(answer))
}

fn answer(moment: &Zoned) -> Value {
    json!({ "time": say(moment), "iso": when::iso(moment) })
}

/// The zone of a place: an IANA name, its last part, or a short name that people use.
fn zone(name: &str, said: &str, now: &Zoned) -> Result<TimeZone, ToolError> {
    let normal = normalize(said);
    if ["here", "local", "home", "my time", "local time"].contains(&normal.as_str()) {
        return Ok(now.time_zone().clone());
    }
    let known = NAMES.iter().find(|(names, _)| names.contains(&normal.as_str())).map(|(_, zone)| *zone);
    if let Some(zone) = known.or(Some(said)).and_then(|name| TimeZone::get(name).ok()) {
        return Ok(zone);
    }
    let is_city = |zone: &&str| zone.rsplit('/').next().is_some_and(|city| normalize(city) == normal);
    let all: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    let cities: Vec<&str> = all.iter().map(String::as_str).filter(|name| name.contains('/')).filter(is_city).collect();
    // The same city may stand there under several names; they are links to one zone.
    let found = cities.iter().find(|city| !city.starts_with("Etc/")).or(cities.first());
    let zone = found.and_then(|city| TimeZone::get(city).ok());
    zone.ok_or_else(|| {
        problem(name, &format!("`{said}` is not a place whose time is known; say a larger city near it"))
    })
}

/// Names that are no ends of IANA names.
const NAMES: [(&[&str], &str); 40] = [
    (&["utc", "gmt", "zulu", "z"], "UTC"),
    (
        &[
            "new york city",
            "nyc",
            "eastern",
            "eastern time",
            "et",
            "est",
            "edt",
            "boston",
            "washington",
            "miami",
            "atlanta",
        ],
        "America/New_York",
    ),
    (&["central", "central time", "cst", "cdt", "dallas", "houston", "texas", "austin"], "America/Chicago"),
    (&["mountain", "mountain time", "mst", "mdt", "salt lake city", "colorado"], "America/Denver"),
    (
        &[
            "pacific",
            "pacific time",
            "pt",
            "pst",
            "pdt",
            "san francisco",
            "seattle",
            "california",
            "la",
            "las vegas",
            "silicon valley",
        ],
        "America/Los_Angeles",
    ),
    (
        &["uk", "england", "great britain", "united kingdom", "scotland", "manchester", "bst", "edinburgh"],
        "Europe/London",
    ),
    (&["germany", "munich", "hamburg", "frankfurt", "cologne", "cet", "cest", "stuttgart"], "Europe/Berlin"),
    (&["france", "lyon", "marseille"], "Europe/Paris"),
    (&["spain", "barcelona"], "Europe/Madrid"),
    (&["italy", "milan", "naples"], "Europe/Rome"),
    (&["netherlands", "holland", "rotterdam", "the hague"], "Europe/Amsterdam"),
    (&["switzerland", "geneva", "bern", "basel"], "Europe/Zurich"),
    (&["austria", "salzburg"], "Europe/Vienna"),
    (&["belgium"], "Europe/Brussels"),
    (&["poland", "krakow"], "Europe/Warsaw"),
    (&["sweden", "gothenburg"], "Europe/Stockholm"),
    (&["norway"], "Europe/Oslo"),
    (&["denmark"], "Europe/Copenhagen"),
    (&["finland"], "Europe/Helsinki"),
    (&["greece"], "Europe/Athens"),
    (&["portugal", "porto"], "Europe/Lisbon"),
    (&["ireland"], "Europe/Dublin"),
    (&["kyiv", "ukraine"], "Europe/Kiev"),
    (&["turkey", "ankara"], "Europe/Istanbul"),
    (&["moscow", "saint petersburg", "st petersburg"], "Europe/Moscow"),
    (&["israel", "tel aviv"], "Asia/Jerusalem"),
    (&["india", "delhi", "new delhi", "mumbai", "bangalore", "bengaluru", "ist", "chennai"], "Asia/Kolkata"),
    (&["china", "beijing", "shenzhen", "guangzhou"], "Asia/Shanghai"),
    (&["japan", "osaka", "kyoto", "jst"], "Asia/Tokyo"),
    (&["south korea", "korea"], "Asia/Seoul"),
    (&["vietnam", "hanoi"], "Asia/Ho_Chi_Minh"),
    (&["thailand"], "Asia/Bangkok"),
    (&["uae", "abu dhabi"], "Asia/Dubai"),
    (&["pakistan", "islamabad"], "Asia/Karachi"),
    (&["hawaii"], "Pacific/Honolulu"),
    (&["alaska"], "America/Anchorage"),
    (&["canberra", "aest", "aedt"], "Australia/Sydney"),
    (&["new zealand", "wellington"], "Pacific/Auckland"),
    (&["brazil", "rio", "rio de janeiro", "brasilia"], "America/Sao_Paulo"),
    (&["south africa", "cape town"], "Africa/Johannesburg"),
];
