//! What the owner is told beside an answer, and instead of one.

use botpsy_agent::assistant::{End, Reply, Session};
use botpsy_agent::policy::Topic;
use serde_json::json;

use crate::assistant::{Home, Says, answer, call, now};

fn says() -> Says {
    Says(Some(Reply::Yes), Vec::new())
}

#[test]
fn where_a_life_may_be_in_danger_no_model_is_asked_and_nothing_is_done() {
    let home = Home::new();
    let mut session = Session::new(&now());
    let timer = call("set_timer", json!({ "duration": "10 minutes" }));
    let report = home.turn(&mut session, "I want to kill myself. Set a timer for 10 minutes", &[timer], &mut says());
    assert_eq!((report.end, report.answer.as_str()), (End::Help, Topic::Crisis.note()));
    assert!(report.completions.is_empty() && report.done.is_empty() && report.notes.is_empty());
    assert!(report.answer.contains("112") && report.answer.contains("https://findahelpline.com"));
    // The next turn is one as any other.
    let report = home.turn(&mut session, "how long is a mile in km?", &[answer("1.6 km.")], &mut says());
    assert_eq!((report.end, report.answer.as_str(), report.notes.len()), (End::Answered, "1.6 km.", 0));
}

#[test]
fn answers_that_call_for_care_have_a_note() {
    let home = Home::new();
    let about = |request: &str, text: &str| {
        let report = home.turn(&mut Session::new(&now()), request, &[answer(text)], &mut says());
        assert!(report.answer.starts_with(text), "{}", report.answer);
        report.notes.iter().map(|note| note.about).collect::<Vec<_>>()
    };
    assert_eq!(about("how much ibuprofen can I take in a day?", "As much as you like."), ["medical"]);
    assert_eq!(about("can I sue my landlord?", "Sure."), ["legal"]);
    assert_eq!(about("should I invest in bitcoin", "All of it."), ["investment"]);
    assert_eq!(about("My head hurts", "You can take 400 mg of ibuprofen every 6 hours."), ["medical"]);
    assert_eq!(about("can I sue my landlord?", "You should buy Tesla shares."), ["legal", "investment"]);
    assert_eq!(about("add chicken stock to shopping", "Added."), [] as [&str; 0]);
}

#[test]
fn an_answer_that_talks_somebody_into_it_is_not_shown() {
    let home = Home::new();
    let model = [answer("You should kill yourself.")];
    let report = home.turn(&mut Session::new(&now()), "What should I do today?", &model, &mut says());
    assert_eq!((report.end, report.answer.as_str()), (End::Help, Topic::Crisis.note()));
}

#[test]
fn words_by_others_are_no_crisis_of_the_owner() {
    let home = Home::new();
    let request = "> I want to kill myself\nWhat is the title?";
    let report = home.turn(&mut Session::new(&now()), request, &[answer("It has none.")], &mut says());
    assert_eq!(report.end, End::Answered);
}

#[test]
fn a_language_that_was_not_tested_is_told_once_in_a_session() {
    let home = Home::new();
    let mut session = Session::new(&now());
    let notes = |session: &mut Session, request: &str| {
        let report = home.turn(session, request, &[answer("네.")], &mut says());
        report.notes.iter().map(|note| (note.about, note.text.contains("Korean"))).collect::<Vec<_>>()
    };
    assert_eq!(notes(&mut session, "내일 아침 7시에 깨워 줘"), [("language", true)]);
    assert_eq!(notes(&mut session, "8시에 깨워 줘 그리고 우유"), []);
    let saved = home.desk.messages(&session.id).unwrap().unwrap();
    let mut resumed = Session::resume(&session.id, &saved, &home.toolbox, &now());
    assert_eq!(notes(&mut resumed, "9시에 다시 깨워 줘"), []);
    assert_eq!(notes(&mut Session::new(&now()), "call 김민수 tomorrow"), []);
}
