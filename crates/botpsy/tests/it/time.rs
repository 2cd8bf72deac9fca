use expect_test::{Expect, expect};
use serde_json::Value;

use crate::support::run;

const HERE: [&str; 4] = ["--now", "2026-11-30T09:00:00Z", "--zone", "Europe/Berlin"];

fn check(expr: &str, json: Expect, prose: Expect) {
    let args: Vec<&str> = ["time", expr].into_iter().chain(HERE).collect();
    prose.assert_eq(&run(&args, "").ok());
    json.assert_eq(&run(&[&args[..], &["--json"]].concat(), "").ok());
}

#[test]
fn every_kind_has_its_fields() {
    check(
        "Friday at 3 pm",
        expect![[r#"
            {"kind":"instant","at":"2026-12-04T15:00:00+01:00","zone":"Europe/Berlin"}
        "#]],
        expect![[r#"
            Friday 4 December 2026, 15:00 (Europe/Berlin)
        "#]],
    );
    check(
        "tomorrow evening",
        expect![[r#"
            {"kind":"range","from":"2026-12-01T18:00:00+01:00","to":"2026-12-01T22:00:00+01:00","zone":"Europe/Berlin"}
        "#]],
        expect![[r#"
            from Tuesday 1 December 2026, 18:00 to Tuesday 1 December 2026, 22:00 (Europe/Berlin)
        "#]],
    );
    check(
        "every second Tuesday at 9",
        expect![[r#"
            {"kind":"recurrence","first":"2026-12-01T09:00:00+01:00","rrule":"FREQ=WEEKLY;INTERVAL=2;BYDAY=TU","zone":"Europe/Berlin"}
        "#]],
        expect![[r#"
            again and again, first Tuesday 1 December 2026, 09:00 (Europe/Berlin); FREQ=WEEKLY;INTERVAL=2;BYDAY=TU
        "#]],
    );
    check(
        "an hour and a half",
        expect![[r#"
            {"kind":"duration","seconds":5400}
        "#]],
        expect![[r#"
            for 1h 30m
        "#]],
    );
    check(
        "3/4",
        expect![[r#"
            {"kind":"ambiguous","question":"Is it 3 April or 4 March?","choices":["2027-04-03T00:00:00+02:00","2027-03-04T00:00:00+01:00"]}
        "#]],
        expect![[r#"
            Is it 3 April or 4 March?
              Saturday 3 April 2027, 00:00 (Europe/Berlin)
              Thursday 4 March 2027, 00:00 (Europe/Berlin)
        "#]],
    );
    check(
        "30 February",
        expect![[r#"
            {"kind":"unknown","reason":"there is no 30 February"}
        "#]],
        expect![[r#"
            not understood: there is no 30 February
        "#]],
    );
}

#[test]
fn the_moment_and_the_zone_are_the_system_s_unless_said() {
    let read: Value = run(&["time", "now", "--json"], "").json();
    assert_eq!(read["kind"], "instant");
    let here = run(&["time", "noon", "--zone", "Asia/Kolkata", "--json"], "").json();
    assert!(here["at"].as_str().unwrap().ends_with("T12:00:00+05:30"), "{here}");
}

#[test]
fn a_wrong_moment_or_zone_is_bad_input() {
    let err = run(&["time", "noon", "--zone", "Europe/Nowhere"], "").refused();
    assert!(err.contains("--zone Europe/Nowhere") && err.contains("help:"), "{err}");
    let err = run(&["time", "noon", "--now", "yesterday"], "").refused();
    assert!(err.contains("--now yesterday") && err.contains("help:"), "{err}");
    run(&["time"], "").refused();
}
