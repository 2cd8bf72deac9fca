use serde_json::Value;

use crate::ask::TOOLS;
use crate::support::{command, finish, run, scratch, str};

#[test]
fn turns_follow_each_other_and_lines_are_kept() {
    let home = scratch("chat-home");
    let mut chat = command(&["chat", "--tools", TOOLS, "--quiet"]);
    chat.env("BOTPSY_HOME", &home);
    let lines = "text john i'm running late\nwhat's the weather in paris?\n/new\n/tools\n/nonsense\n/quit\nnever\n";
    let ran = finish(chat, lines);
    assert!(ran.err.contains("/nonsense is no command"), "{}", ran.err);
    let out = ran.ok();
    assert!(out.contains("send_message\n  to    john\n"), "{out}");
    assert!(out.contains("web_search           web search\n"), "{out}");
    let history = std::fs::read_to_string(home.join("history.txt")).unwrap();
    assert!(history.contains("text john i'm running late\n") && !history.contains("never"), "{history}");
}

#[test]
fn a_refused_turn_is_told_and_taken_back() {
    let long = "one two three ".repeat(4000);
    let ran = finish(command(&["chat", "--tools", TOOLS]), format!("{long}\ntext john i'm running late\n"));
    assert!(ran.err.contains("the context holds 8192"), "{}", ran.err);
    assert!(ran.err.contains("demonstration"), "{}", ran.err);
    assert!(ran.ok().contains("send_message\n"));
}

#[test]
fn conversations_are_kept_listed_gone_on_with_and_removed() {
    let home = scratch("kept-home");
    let of = |args: &[&str], stdin: &str| {
        let mut command = command(args);
        command.env("BOTPSY_HOME", &home);
        finish(command, stdin)
    };
    assert!(of(&["chat", "--continue"], "").refused().contains("no conversation is kept yet"));
    of(&["chat", "--greedy", "--quiet"], "hello there\n/tools\n/new\nand again\n/quit\n").ok();
    let list = |args: &[&str]| -> Vec<Value> {
        of(args, "").ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let kept = list(&["chat", "--list", "--json"]);
    assert_eq!(kept.len(), 2);
    assert_eq!((&kept[0]["title"], &kept[0]["messages"]), (&Value::from("and again"), &Value::from(2)));
    let id = kept[1]["id"].as_str().unwrap();
    of(&["chat", "--greedy", "--continue", id], "one more\n").ok();
    let messages: Value = serde_json::from_str(&of(&["chat", "--export", id, "--json"], "").ok()).unwrap();
    let users: Vec<&Value> = messages.as_array().unwrap().iter().filter(|m| m["role"] == "user").collect();
    assert_eq!((&users[0]["content"], &users[1]["content"]), (&Value::from("hello there"), &Value::from("one more")));
    assert!(of(&["chat", "--export", id], "").ok().starts_with("**You**\n\nhello there\n\n**BotPsy**\n"));
    of(&["chat", "--delete", id], "").ok();
    assert!(of(&["chat", "--delete", id], "").refused().contains(id));
    assert_eq!(list(&["chat", "--list", "--json"]).len(), 1);
}

#[test]
fn a_conversation_goes_on_after_a_request_that_was_too_long() {
    let home = scratch("long-home");
    let mut chat = command(&["chat", "--greedy"]);
    chat.env("BOTPSY_HOME", &home);
    let ran = finish(chat, format!("{}\nhello\n", "one two three ".repeat(4000)));
    assert!(ran.err.contains("the context holds 8192") && ran.err.contains("the log ends with"), "{}", ran.err);
    assert!(ran.ok().contains("Sorry"));
    let mut list = command(&["chat", "--list", "--json"]);
    list.env("BOTPSY_HOME", &home);
    let kept: Value = serde_json::from_str(&finish(list, "").ok()).unwrap();
    assert_eq!(kept["messages"], 2, "{kept}");
    let err = run(&["chat", "--tools", str(&home), "--continue"], "").refused();
    assert!(err.contains("--continue"), "{err}");
}
