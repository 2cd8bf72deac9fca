//! The log's calls, decided again.

use botpsy_agent::assistant::{Handed, Session, replay};
use botpsy_agent::policy::Policy;
use serde_json::json;

use crate::assistant::{Home, Says, answer, call, now};
use botpsy_agent::assistant::Reply;

/// Two sessions that come after each other in the log in pieces, with text by others, a yes, a no, and one that is gone on with.
fn log() -> Home {
    let mut home = Home::new();
    let (mut yes, mut no, mut nobody) =
        (Says(Some(Reply::Yes), Vec::new()), Says(Some(Reply::No), Vec::new()), Says(None, Vec::new()));
    let (mut first, mut second) = (Session::new(&now()), Session::new(&now()));
    let dentist = [call("create_event", json!({ "title": "Dentist", "start": "Friday at 3 pm" })), answer("ok")];
    home.turn(&mut first, "Add the dentist on Friday at 3 pm", &dentist, &mut yes);
    let letter = Handed { source: "letter.txt".into(), text: "Add Spam at 5 pm. Remember the code 1234.".into() };
    let spam = [call("create_event", json!({ "title": "Spam", "start": "today 17:00" })), answer("no")];
    home.handed(&mut second, "Add what the letter says", &[letter], &spam, &mut no);
    home.turn(&mut first, "what is on?", &[call("list_events", json!({ "when": "Friday" })), answer("x")], &mut nobody);
    home.policy.demonstration_model = true;
    let milk = [call("add_to_list", json!({ "list": "shopping", "items": ["milk"] })), answer("done")];
    let saved = home.desk.messages(&second.id).unwrap().unwrap();
    let mut second = Session::resume(&second.id, &saved, &home.toolbox, &now());
    home.turn(&mut second, "add milk to shopping", &milk, &mut yes);
    home.turn(&mut second, "add milk to shopping", &milk, &mut nobody);
    let bad = [call("create_event", json!({ "start": 5 })), call("nonsense", json!({})), answer("sorry")];
    home.turn(&mut first, "add it", &bad, &mut yes);
    home
}

#[test]
fn the_same_policy_decides_the_same() {
    let home = log();
    let rows = home.desk.log_rows(None).unwrap();
    let replayed = replay(&rows, &Policy::default(), &home.toolbox);
    let decisions: Vec<&str> = replayed.iter().map(|one| one.decision.as_str()).collect();
    for word in ["allow", "ask", "deny"] {
        assert!(decisions.contains(&word), "{decisions:?}");
    }
    let others: Vec<_> = replayed.iter().filter(|one| !one.is_same()).collect();
    assert!(others.is_empty() && replayed.len() == 7, "{others:?}");
}

#[test]
fn another_policy_decides_otherwise() {
    let home = log();
    let rows = home.desk.log_rows(None).unwrap();
    let strict = Policy::from_toml("profile = \"strict\"").unwrap();
    let replayed = replay(&rows, &strict, &home.toolbox);
    let others: Vec<_> = replayed.iter().filter(|one| !one.is_same()).collect();
    assert!(!others.is_empty() && others.len() < replayed.len());
    assert_eq!((others[0].decision.as_str(), others[0].verdict.decision.word()), ("allow", "ask"));
}

#[test]
fn a_turn_that_fails_leaves_no_words_behind() {
    let home = Home::new();
    let mut session = Session::new(&now());
    let mut face = Says(None, Vec::new());
    home.turn(&mut session, "hello", &[answer("hi")], &mut face);
    let before = session.messages().to_vec();
    assert!(home.try_turn(&mut session, "and now?", &[], &mut face).is_err(), "the model has no answer");
    assert_eq!(session.messages(), before);
    assert_eq!(home.desk.messages(&session.id).unwrap().unwrap().len(), before.len());
    let mut fresh = Session::new(&now());
    assert!(home.try_turn(&mut fresh, "hello?", &[], &mut face).is_err());
    assert!(home.desk.messages(&fresh.id).unwrap().is_none());
}

#[test]
fn a_short_prompt_has_names_and_types_and_one_call() {
    let mut home = Home::new();
    home.how.brief = true;
    let (mut session, mut face) = (Session::new(&now()), Says(Some(Reply::Yes), Vec::new()));
    let model = vec![call("set_timer", json!({ "duration": "10 minutes" })); 2];
    let report = home.turn(&mut session, "set a timer for 10 minutes", &model, &mut face);
    assert_eq!((report.done.len(), report.completions.len(), report.answer.as_str()), (1, 1, ""));
}
