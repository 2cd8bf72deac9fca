//! The texts of `--help`, `--version`, and of `botpsy` alone.

use expect_test::{ExpectFile, expect, expect_file};

use crate::support::run;

fn check(command: &str, expected: ExpectFile) {
    let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
    // Spaces at the ends of lines say nothing, and editors remove them.
    let lines: String = run(&args, "").ok().lines().map(|line| format!("{}\n", line.trim_end())).collect();
    expected.assert_eq(&lines);
}

#[test]
fn help_is_as_kept() {
    check("", expect_file!["../data/help/botpsy.txt"]);
    check("ask", expect_file!["../data/help/ask.txt"]);
    check("chat", expect_file!["../data/help/chat.txt"]);
    check("undo", expect_file!["../data/help/undo.txt"]);
    check("log", expect_file!["../data/help/log.txt"]);
    check("log verify", expect_file!["../data/help/log_verify.txt"]);
    check("log replay", expect_file!["../data/help/log_replay.txt"]);
    check("serve", expect_file!["../data/help/serve.txt"]);
    check("tools", expect_file!["../data/help/tools.txt"]);
    check("policy", expect_file!["../data/help/policy.txt"]);
    check("policy explain", expect_file!["../data/help/policy_explain.txt"]);
    check("policy show", expect_file!["../data/help/policy_show.txt"]);
    check("agenda", expect_file!["../data/help/agenda.txt"]);
    check("daemon", expect_file!["../data/help/daemon.txt"]);
    check("import", expect_file!["../data/help/import.txt"]);
    check("config", expect_file!["../data/help/config.txt"]);
    check("config set", expect_file!["../data/help/config_set.txt"]);
    check("doctor", expect_file!["../data/help/doctor.txt"]);
    check("eval", expect_file!["../data/help/eval.txt"]);
    check("eval guardrail", expect_file!["../data/help/eval_guardrail.txt"]);
    check("generate", expect_file!["../data/help/generate.txt"]);
    check("logits", expect_file!["../data/help/logits.txt"]);
    check("tokenize", expect_file!["../data/help/tokenize.txt"]);
    check("detokenize", expect_file!["../data/help/detokenize.txt"]);
    check("render", expect_file!["../data/help/render.txt"]);
    check("parse", expect_file!["../data/help/parse.txt"]);
    check("inspect", expect_file!["../data/help/inspect.txt"]);
    check("convert", expect_file!["../data/help/convert.txt"]);
    check("time", expect_file!["../data/help/time.txt"]);
    check("bench", expect_file!["../data/help/bench.txt"]);
    check("completions", expect_file!["../data/help/completions.txt"]);
}

#[test]
fn the_program_alone_says_what_to_try() {
    expect![[r#"
        BotPsy runs small assistant models of the Qwen3.5 family on this computer: no account, no network.
        A demonstration model is built in. It is weak; give a better one with -m FILE.

        Three things to try:
          botpsy ask "set a timer for 10 minutes"
          botpsy chat
          botpsy inspect embedded

        All commands: botpsy --help
    "#]]
    .assert_eq(&run::<&str>(&[], "").ok());
}

#[test]
fn the_version_is_the_crate_s() {
    assert_eq!(run(&["--version"], "").ok(), format!("botpsy {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completions", shell], "").ok();
        assert!(
            script.contains("detokenize") && script.contains("parallel") && script.contains("thinking-budget"),
            "{shell}"
        );
    }
}

#[test]
fn unknown_flags_are_bad_usage() {
    let err = run(&["ask", "--colour", "hi"], "").refused();
    assert!(err.contains("--colour"), "{err}");
}
