//! Tools that only compute, and what all tools have in common.

use std::collections::BTreeSet;

use botpsy_agent::{Effect, Output, Tool, Undo, tools};
use expect_test::expect;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::desk::Desk;

#[test]
fn the_tools() {
    let line = |tool: &dyn Tool| {
        let annotation = tool.annotation();
        let args = annotation.args.iter().map(|(name, role)| format!("{name} {role:?}")).collect::<Vec<_>>().join(", ");
        format!(
            "{}: {:?}, {:?}, {:?} ({args})\n",
            tool.spec().name,
            annotation.effect,
            annotation.output,
            annotation.undo
        )
    };
    let lines: String = tools::all().iter().map(|tool| line(tool.as_ref())).collect();
    expect![[r#"
        create_event: Write, Service, InverseCall (duration KeyTime, end KeyTime, notes Content, place Content, repeat KeyTime, start KeyTime, title Key)
        list_events: Read, ThirdParty, None (when Selector)
        find_events: Read, ThirdParty, None (query Selector)
        change_event: Write, ThirdParty, InverseCall (day KeyTime, end KeyTime, event Object, place Content, start KeyTime, title Key)
        delete_event: Destructive, ThirdParty, Trash (day KeyTime, event Object)
        set_alarm: Write, Service, InverseCall (label Key, repeat KeyTime, time KeyTime)
        set_timer: Write, Service, InverseCall (duration KeyTime, label Key)
        create_reminder: Write, Service, InverseCall (repeat KeyTime, text Key, time KeyTime)
        list_reminders: Read, OwnAccount, None ()
        change_reminder: Write, Service, InverseCall (reminder Object, repeat KeyTime, text Key, time KeyTime)
        cancel_reminder: Destructive, OwnAccount, Trash (reminder Object)
        create_note: Write, Service, InverseCall (text Content, title Key)
        find_notes: Read, ThirdParty, None (query Selector)
        read_note: Read, ThirdParty, None (note Selector)
        append_note: Write, ThirdParty, InverseCall (note Object, text Content)
        delete_note: Destructive, ThirdParty, Trash (note Object)
        add_to_list: Write, ThirdParty, InverseCall (items Key, list Key)
        show_list: Read, ThirdParty, None (list Selector)
        check_off: Write, ThirdParty, InverseCall (items Key, list Object)
        remove_from_list: Destructive, ThirdParty, Trash (items Key, list Object)
        remember: MemoryWrite, Service, InverseCall (fact Key)
        recall: Read, Memory, None (query Selector)
        forget: Destructive, Memory, Trash (fact Object)
        calculate: Read, Service, None (expression Other)
        convert_units: Read, Service, None (from Other, to Other, value Other)
        current_time: Read, Service, None (zone Other)
        convert_time: Read, Service, None (from_zone Other, time Other, to_zone Other)
    "#]].assert_eq(&lines);
}

#[test]
fn every_tool_says_what_it_is() {
    let mut names = BTreeSet::new();
    for tool in tools::all() {
        let (spec, annotation) = (tool.spec(), tool.annotation());
        assert!(names.insert(spec.name.clone()), "{} twice", spec.name);
        assert_eq!(spec.source["function"]["name"], json!(spec.name));
        assert_eq!(spec.source["function"]["parameters"], spec.parameters);
        assert!(spec.source["function"]["description"].as_str().unwrap().len() < 100, "{}", spec.name);
        let properties = spec.parameters["properties"].as_object().unwrap();
        assert!(properties.len() <= 7, "{}", spec.name);
        assert!(
            properties.keys().eq(annotation.args.keys())
                || properties.keys().all(|name| annotation.args.contains_key(name))
        );
        for (name, schema) in properties {
            assert!(!schema["description"].as_str().unwrap().is_empty(), "{name}");
        }
        let undo = match annotation.effect {
            Effect::Read => Undo::None,
            Effect::Destructive => Undo::Trash,
            _ => Undo::InverseCall,
        };
        assert_eq!(annotation.undo, undo, "{}", spec.name);
        assert!(annotation.effect != Effect::Read || annotation.output != Output::AddressBook);
    }
    assert_eq!(names.len(), 27);
}

#[test]
fn calculations() {
    let desk = Desk::new();
    let result = |expression: &str| desk.answer("calculate", json!({"expression": expression}));
    assert_eq!(result("0.1 + 0.2")["result"], "0.3");
    assert_eq!(result("2/3")["result_rounded"], "0.666666666667");
    assert_eq!(desk.error("calculate", json!({"expression": "1/0"})), "argument `expression`: it divides by zero");
}

#[test]
fn conversions() {
    let desk = Desk::new();
    let cases = [
        (json!(10), "miles", "km", "10 mi = 16.09344 km"),
        (json!(98.6), "fahrenheit", "°C", "98.6 °F = 37 °C"),
        (json!(-40), "c", "F", "-40 °C = -40 °F"),
        (json!(0), "kelvin", "celsius", "0 K = -273.15 °C"),
        (json!(6), "feet", "cm", "6 ft = 182.88 cm"),
        (json!(1), "cup", "ml", "1 cup = 236.5882365 ml"),
        (json!(100), "km/h", "mph", "100 km/h = 62.13711922 mph"),
        (json!("1,000"), "MB", "GB", "1000 MB = 1 GB"),
        (json!(8), "Mb", "MB", "8 Mb = 1 MB"),
        (json!(90), "minutes", "hours", "90 min = 1.5 h"),
        (json!(2), "pounds", "grams", "2 lb = 907.18474 g"),
        (json!(3), "square feet", "m2", "3 ft² = 0.27870912 m²"),
    ];
    for (value, from, to, expected) in cases {
        let answer = desk.answer("convert_units", json!({"value": value, "from": from, "to": to}));
        assert_eq!(answer["result"], expected);
    }
    let wrong = desk.error("convert_units", json!({"value": 1, "from": "kg", "to": "km"}));
    assert_eq!(wrong, "argument `to`: kg is a mass, but km is a length");
    let unknown = desk.error("convert_units", json!({"value": 1, "from": "parsnips", "to": "km"}));
    assert_eq!(unknown, "argument `from`: `parsnips` is not a unit that is known here");
}

#[test]
fn clocks() {
    let desk = Desk::new();
    let time = |arguments: Value| desk.answer("current_time", arguments)["time"].as_str().unwrap().to_owned();
    assert_eq!(time(json!({})), "Monday 30 November 2026, 12:00 (Europe/Berlin)");
    assert_eq!(time(json!({"zone": "Tokyo"})), "Monday 30 November 2026, 20:00 (Asia/Tokyo)");
    assert_eq!(time(json!({"zone": "New York"})), "Monday 30 November 2026, 06:00 (America/New_York)");
    assert_eq!(time(json!({"zone": "America/Denver"})), "Monday 30 November 2026, 04:00 (America/Denver)");
    assert_eq!(time(json!({"zone": "pst"})), "Monday 30 November 2026, 03:00 (America/Los_Angeles)");
    assert_eq!(
        desk.error("current_time", json!({"zone": "Atlantis"})),
        "argument `zone`: `Atlantis` is not a place whose time is known; say a larger city near it"
    );
    let converted =
        desk.answer("convert_time", json!({"time": "2026-07-01T09:00", "from_zone": "London", "to_zone": "here"}));
    assert_eq!(converted["time"], "Wednesday 1 July 2026, 10:00 (Europe/Berlin)");
    assert_eq!(converted["from"], "Wednesday 1 July 2026, 09:00 (Europe/London)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_arguments_panic(texts in proptest::collection::vec("\\PC{0,30}|[0-9T:./ -]{0,20}", 8)) {
        let desk = Desk::new();
        desk.write("notes/a.md", "# A\n- [ ] x\n");
        for tool in tools::all() {
            let names = tool.spec().parameters["properties"].as_object().unwrap().keys();
            let arguments = names.zip(&texts).map(|(name, text)| (name.clone(), json!(text))).collect();
            let _ = desk.plan(&tool.spec().name, Value::Object(arguments));
        }
    }
}
