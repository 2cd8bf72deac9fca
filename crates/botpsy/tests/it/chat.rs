use crate::support::{command, finish, scratch};

#[test]
fn turns_follow_each_other_and_lines_are_kept() {
    let home = scratch("chat-home");
    let mut chat = command(&["chat", "--quiet"]);
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
    let ran = finish(command(&["chat"]), format!("{long}\ntext john i'm running late\n"));
    assert!(ran.err.contains("the context holds 8192"), "{}", ran.err);
    assert!(ran.err.contains("demonstration"), "{}", ran.err);
    assert!(ran.ok().contains("send_message\n"));
}
