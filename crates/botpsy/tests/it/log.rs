//! The log: whoever writes into it is found, and its calls are decided again as they were.

use rusqlite::Connection;
use serde_json::Value;

use crate::act::{Home, TIMER};
use crate::support::{scratch_file, str};

fn busy() -> Home {
    let home = Home::new("log");
    for sentence in [TIMER, "add milk to my list", "what is on my calendar tomorrow?", TIMER] {
        home.ask(&["--yes", sentence]);
    }
    home.ask(&[TIMER]);
    home.run(&["undo"]).ok();
    home
}

/// Random numbers, always the same ones.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % n
    }
}

/// Changes a character of a value, removes a row, or swaps the contents of two. `false` if that left everything as it was.
fn forge(database: &Connection, rows: u32, dice: &mut Dice) -> bool {
    const COLUMNS: [&str; 7] = ["time", "session", "turn", "event", "body", "previous", "hash"];
    let row = 1 + dice.below(rows);
    match dice.below(3) {
        0 => {
            let column = COLUMNS[dice.below(COLUMNS.len() as u32) as usize];
            let query = format!("SELECT CAST({column} AS TEXT) FROM audit WHERE seq = ?");
            let old: String = database.query_row(&query, [row], |row| row.get(0)).unwrap();
            let chars = old.chars().count().max(1) as u32;
            let (at, digit) = (dice.below(chars), char::from(b'0' + dice.below(10) as u8));
            let new: String = old.chars().enumerate().map(|(i, c)| if i == at as usize { digit } else { c }).collect();
            database.execute(&format!("UPDATE audit SET {column} = ? WHERE seq = ?"), (&new, row)).unwrap();
            new != old
        }
        1 => database.execute("DELETE FROM audit WHERE seq = ?", [row]).unwrap() > 0,
        _ => {
            let other = 1 + dice.below(rows);
            for (from, to) in [(row, rows + 1), (other, row), (rows + 1, other)] {
                database.execute("UPDATE audit SET seq = ? WHERE seq = ?", [to, from]).unwrap();
            }
            row != other
        }
    }
}

#[test]
fn every_forgery_is_found() {
    let home = busy();
    let clean = home.run(&["log", "verify", "--json"]).json();
    let (rows, head) = (clean["rows"].as_u64().unwrap() as u32, clean["head"].as_str().unwrap().to_owned());
    assert!(rows > 15 && clean["fault"].is_null());
    let (database, mut dice) = (home.database(), Dice(1));
    let mut forged = 0;
    while forged < 1000 {
        database.execute_batch("CREATE TEMP TABLE kept AS SELECT * FROM audit").unwrap();
        if forge(&database, rows, &mut dice) {
            forged += 1;
            let ran = home.run(&["log", "verify", "--head", &head]);
            assert_eq!((ran.code, ran.out.len()), (Some(1), 0), "forgery {forged}: {}", ran.err);
            assert!(ran.err.starts_with("error: log: "), "{}", ran.err);
        }
        let back = "DELETE FROM audit; INSERT INTO audit SELECT * FROM kept; DROP TABLE kept";
        database.execute_batch(back).unwrap();
    }
    home.run(&["log", "verify", "--head", &head]).ok();
    database.execute_batch("CREATE TEMP TABLE kept AS SELECT * FROM audit; DELETE FROM audit").unwrap();
    assert!(home.run(&["log", "verify"]).err.contains("row 1: it and all others are missing"));
    database.execute_batch("INSERT INTO audit SELECT * FROM kept; DROP TABLE kept").unwrap();
    let cut = home.run(&["log", "verify", "--json", "--head", "00"]);
    let fault: Value = serde_json::from_slice(&cut.out).unwrap();
    assert!(fault["fault"]["what"].as_str().unwrap().contains("rows at the end are missing"), "{fault}");
}

#[test]
fn the_same_policy_decides_the_same_and_another_one_is_told() {
    let home = busy();
    let same = home.run(&["log", "replay", "--json"]).json();
    assert!(same["calls"].as_u64().unwrap() >= 3, "{same}");
    assert_eq!(same["differences"], serde_json::json!([]));
    let policy =
        scratch_file("policy.toml", "[[rule]]\nid = \"no-timers\"\ntool = \"set_timer\"\ndecision = \"deny\"\n");
    let ran = home.run(&["log", "replay", "--policy", str(&policy), "--json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let other: Value = serde_json::from_slice(&ran.out).unwrap();
    let first = &other["differences"][0];
    assert_eq!((&first["then"]["decision"], &first["now"]["rule"]), (&"ask".into(), &"own:no-timers".into()));
}

#[test]
fn rows_are_shown_to_people_and_programs() {
    let home = busy();
    let text = home.run(&["log"]).ok();
    assert!(text.contains("user       set a timer for 10 minutes\n"), "{text}");
    assert!(text.contains("step 1: Start a timer: Timer\n") && text.contains("undone     step 2"), "{text}");
    let rows: Vec<Value> =
        home.run(&["log", "--json"]).ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().enumerate().all(|(i, row)| row["seq"] == i + 1));
    let session = rows[0]["session"].as_str().unwrap();
    let n = rows.iter().filter(|row| row["session"] == session).count();
    assert_eq!(home.run(&["log", "--session", session]).ok().lines().count(), n);
    assert!(home.run(&["log", "--session", "s-none"]).refused().contains("s-none"));
}
