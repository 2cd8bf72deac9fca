//! Times in words, through the tools.

use botpsy_agent::Plan;
use expect_test::expect;
use serde_json::{Value, json};

use crate::desk::Desk;

/// What a call would be, or what would be asked.
fn when(desk: &Desk, tool: &str, arguments: Value) -> String {
    match desk.plan(tool, arguments) {
        Ok(Plan::Change(change)) => {
            let shown = change.details.iter().filter(|(name, _)| name == "when" || name == "repeats");
            shown.map(|(_, text)| text.clone()).collect::<Vec<_>>().join("; ")
        }
        Ok(Plan::Answer(answer)) => answer["when"].to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn words_are_understood() {
    let desk = Desk::new();
    let event = |start: &str| when(&desk, "create_event", json!({"title": "x", "start": start}));
    let alarm = |time: &str| when(&desk, "set_alarm", json!({"time": time}));
    let list = |words: &str| when(&desk, "list_events", json!({"when": words}));
    let mut lines = Vec::new();
    for words in [
        "tomorrow 3 pm",
        "tomorrow",
        "tomorrow afternoon",
        "next week",
        "Friday from 3 to 5 pm",
        "every Monday at 9",
        "every Monday",
        "in 2 hours",
        "3/4",
        "gestern",
    ] {
        lines.push(format!("event {words}: {}", event(words)));
    }
    for words in ["7 am", "tomorrow at 7", "every weekday at 6:30", "every day", "tomorrow", "in 20 minutes"] {
        lines.push(format!("alarm {words}: {}", alarm(words)));
    }
    for words in ["today", "this week", "tomorrow afternoon", "Friday", "December", "tomorrow 3 pm"] {
        lines.push(format!("list {words}: {}", list(words)));
    }
    lines.push(when(&desk, "create_event", json!({"title": "x", "start": "tomorrow 3 pm", "end": "5 pm"})));
    lines.push(when(
        &desk,
        "create_event",
        json!({"title": "x", "start": "tomorrow 3 pm", "end": "4:30", "repeat": "every Tuesday and Thursday"}),
    ));
    lines.push(when(
        &desk,
        "create_event",
        json!({"title": "x", "start": "tomorrow 3 pm", "duration": "an hour and a half"}),
    ));
    lines.push(when(
        &desk,
        "create_event",
        json!({"title": "x", "start": "2026-12-04T15:00", "repeat": "every Tuesday"}),
    ));
    lines.push(when(&desk, "set_timer", json!({"duration": "half an hour"})));
    desk.run("create_event", json!({"title": "Dentist", "start": "2026-12-04T15:00"}));
    for words in ["4 pm", "at 4", "Monday", "Monday at 9", "noon"] {
        lines.push(format!(
            "change {words}: {}",
            when(&desk, "change_event", json!({"event": "dentist", "start": words}))
        ));
    }
    lines.push(when(&desk, "change_event", json!({"event": "dentist", "end": "5:30 pm"})));
    expect![[r#"
        event tomorrow 3 pm: Tuesday 1 December 2026, 15:00 to 16:00 (Europe/Berlin)
        event tomorrow: Tuesday 1 December 2026, all day
        event tomorrow afternoon: At what time, for `tomorrow afternoon`?
        event next week: On which day, and at what time, for `next week`?
        event Friday from 3 to 5 pm: Friday 4 December 2026, 15:00 to 17:00 (Europe/Berlin)
        event every Monday at 9: Monday 7 December 2026, 09:00 to 10:00 (Europe/Berlin); every week on Monday
        event every Monday: Monday 7 December 2026, all day; every week on Monday
        event in 2 hours: Monday 30 November 2026, 14:00 to 15:00 (Europe/Berlin)
        event 3/4: Is it 3 April or 4 March? (Saturday 3 April 2027; or Thursday 4 March 2027)
        event gestern: When is `gestern`? ("gestern" is not English: say the time in English or in digits, as in 2026-12-01 15:00)
        alarm 7 am: Tuesday 1 December 2026, 07:00 (Europe/Berlin)
        alarm tomorrow at 7: Tuesday 1 December 2026, 07:00 (Europe/Berlin)
        alarm every weekday at 6:30: Tuesday 1 December 2026, 06:30 (Europe/Berlin); every week on Monday, Tuesday, Wednesday, Thursday, Friday
        alarm every day: At what time, for `every day`?
        alarm tomorrow: At what time, for `tomorrow`?
        alarm in 20 minutes: Monday 30 November 2026, 12:20 (Europe/Berlin)
        list today: "Monday 30 November 2026, all day"
        list this week: "Monday 30 November 2026 to Sunday 6 December 2026, all day"
        list tomorrow afternoon: "Tuesday 1 December 2026, 12:00 to 18:00 (Europe/Berlin)"
        list Friday: "Friday 4 December 2026, all day"
        list December: "Tuesday 1 December 2026 to Thursday 31 December 2026, all day"
        list tomorrow 3 pm: "Tuesday 1 December 2026, all day"
        Tuesday 1 December 2026, 15:00 to 17:00 (Europe/Berlin)
        Tuesday 1 December 2026, 15:00 to 16:30 (Europe/Berlin); every week on Tuesday, Thursday
        Tuesday 1 December 2026, 15:00 to 16:30 (Europe/Berlin)
        Tuesday 8 December 2026, 15:00 to 16:00 (Europe/Berlin); every week on Tuesday
        Monday 30 November 2026, 12:30 (Europe/Berlin)
        change 4 pm: Friday 4 December 2026, 16:00 to 17:00 (Europe/Berlin)
        change at 4: Friday 4 December 2026, 16:00 to 17:00 (Europe/Berlin)
        change Monday: Today is Monday: is it today, or Monday in a week? (Monday 30 November 2026; or Monday 7 December 2026)
        change Monday at 9: Monday 30 November 2026, 21:00 to 22:00 (Europe/Berlin)
        change noon: Friday 4 December 2026, 12:00 to 13:00 (Europe/Berlin)
        Friday 4 December 2026, 15:00 to 17:30 (Europe/Berlin)"#]].assert_eq(&lines.join("\n"));
}
