//! What a person reads when something is wrong: what, where, and the next step.

use std::process::Stdio;

use expect_test::{Expect, expect};

use crate::support::{command, finish, fixture, run, scratch, scratch_file, str};

/// Paths of this machine are left out of the text.
fn check(args: &[&str], stdin: &str, expected: Expect) {
    let err = run(args, stdin).refused();
    let fixtures = fixture("");
    let scratch = env!("CARGO_TARGET_TMPDIR");
    let err = err.replace(str(&fixtures), "fixtures/").replace(scratch, "TMP");
    // The names of scratch files begin with numbers of the run.
    let plain: Vec<String> = err.lines().map(|line| line.split("TMP/").map(without_numbers).collect()).collect();
    expected.assert_eq(&(plain.join("\n") + "\n"));
}

fn without_numbers(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-')
}

#[test]
fn models_that_are_none() {
    check(
        &["ask", "-m", "nowhere.gguf", "hi"],
        "",
        expect![[r#"
            error: nowhere.gguf: No such file or directory (os error 2)
            help: -m takes a GGUF file, a folder with safetensors and config.json, or `embedded`; `botpsy inspect` shows a file
        "#]],
    );
    let text = scratch_file("text.gguf", "This is no model.");
    check(
        &["generate", "-m", str(&text)],
        "[1]",
        expect![[r#"
            error: text.gguf: magic: expected GGUF, found This
            help: -m takes a GGUF file, a folder with safetensors and config.json, or `embedded`; `botpsy inspect` shows a file
        "#]],
    );
    let arch = fixture("safety/malformed/gguf/ok_min.gguf");
    check(
        &["ask", "-m", str(&arch), "hi"],
        "",
        expect![[r#"
            error: fixtures/safety/malformed/gguf/ok_min.gguf: qwen35.block_count: missing, expected u32
            help: -m takes a GGUF file, a folder with safetensors and config.json, or `embedded`; `botpsy inspect` shows a file
        "#]],
    );
    let heads = fixture("safety/malformed/gguf/heads_zero.gguf");
    check(
        &["logits", "-m", str(&heads), "--out", "x.safetensors"],
        "[1]",
        expect![[r#"
            error: fixtures/safety/malformed/gguf/heads_zero.gguf: qwen35.block_count: 4294967295 is larger than 1024
            help: -m takes a GGUF file, a folder with safetensors and config.json, or `embedded`; `botpsy inspect` shows a file
        "#]],
    );
}

#[test]
fn input_that_is_not_what_was_asked_for() {
    check(
        &["detokenize"],
        "hello",
        expect![[r#"
            error: standard input: expected a JSON array of token ids: expected value at line 1 column 1
            help: give a JSON array such as [9707, 11], for example the output of `botpsy tokenize`
        "#]],
    );
    check(
        &["detokenize"],
        "[1, -2]",
        expect![[r#"
            error: standard input: item 1: expected a token id, found -2
            help: give a JSON array such as [9707, 11], for example the output of `botpsy tokenize`
        "#]],
    );
    check(
        &["detokenize"],
        "[1, 70000]",
        expect![[r#"
            error: standard input: item 1: token 70000 is outside the vocabulary of 4096
            help: name with -m the model that the ids come from
        "#]],
    );
    check(
        &["generate"],
        "[1, 70000]",
        expect![[r#"
            error: prompt: token 70000 is outside the vocabulary of 4096
            help: give at least one token id, all of this model's vocabulary; `botpsy tokenize` makes them
        "#]],
    );
    check(
        &["generate"],
        "[]",
        expect![[r#"
            error: prompt: expected at least one token, found none
            help: give at least one token id, all of this model's vocabulary; `botpsy tokenize` makes them
        "#]],
    );
    check(
        &["render"],
        r#"{"messages": [{"role": "wizard", "content": "hi"}]}"#,
        expect![[r#"
            error: standard input: messages[0].role: unknown role "wizard", expected system, developer, user, assistant or tool
            help: give {"messages": [{"role": "user", "content": ".."}], "tools": [..]}
        "#]],
    );
    check(
        &["render"],
        r#"{"messages": []}"#,
        expect![[r#"
            error: built-in template: the chat template refuses the conversation: No messages provided.
            help: give {"messages": [{"role": "user", "content": ".."}], "tools": [..]}
        "#]],
    );
    check(
        &["parse", "--stream"],
        "\n[300]\n",
        expect![[r#"
            error: standard input: line 2: expected a piece, found [300]
            help: each line is one piece of the output: a JSON string, or a JSON array of byte values
        "#]],
    );
}

#[test]
fn tools_that_are_none() {
    let tools = scratch_file("tools.json", r#"[{"type": "function", "function": {"parameters": {}}}]"#);
    check(
        &["ask", "--tools", str(&tools), "hi"],
        "",
        expect![[r#"
            error: tools.json: tools[0].function.name: expected a string, found null or nothing
            help: give a JSON array of tools: [{"type": "function", "function": {"name": .., "parameters": {..}}}]
        "#]],
    );
    let tools = scratch_file("tools.json", "{}");
    check(
        &["parse", "--tools", str(&tools)],
        "",
        expect![[r#"
            error: tools.json: expected an array of tools
            help: give a JSON array of tools: [{"type": "function", "function": {"name": .., "parameters": {..}}}]
        "#]],
    );
}

#[test]
fn flags_out_of_range() {
    check(
        &["ask", "--tools", crate::ask::TOOLS, "--temp", "-1", "hi"],
        "",
        expect![[r#"
            error: temperature is -1: it must be a finite number, at least 0
            help: change the flag of that name; `--help` lists them
        "#]],
    );
    check(
        &["generate", "--top-p", "0"],
        "[1]",
        expect![[r#"
            error: top_p is 0: it must be above 0 and at most 1
            help: change the flag of that name; `--help` lists them
        "#]],
    );
    check(
        &["ask"],
        "",
        expect![[r#"
            error: REQUEST is missing: standard input is text to read, not the request
            help: say what you want: botpsy ask "set an alarm for 7 am tomorrow"
        "#]],
    );
}

#[test]
fn variables_that_make_no_sense() {
    for (name, value) in [("BOTPSY_ISA", "mmx"), ("BOTPSY_THREADS", "0"), ("BOTPSY_THREADS", "many")] {
        let mut generate = command(&["generate"]);
        generate.env(name, value);
        let err = finish(generate, "[1]").refused();
        assert!(err.contains(value) && err.contains(name) && err.contains("help: "), "{err}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child = command(&["inspect", "embedded"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn a_place_that_cannot_be_written_is_a_failed_run() {
    let folder = fixture("reference/tiny-grouped");
    let ran = run(&["convert", str(&folder), "--out", "/nowhere/at/all.gguf"], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("/nowhere/at/all.gguf") && ran.err.contains("help: "), "{}", ran.err);
}

#[test]
fn an_output_replaces_no_input_and_no_device() {
    let folder = scratch("folder");
    std::fs::create_dir(&folder).unwrap();
    for name in ["config.json", "model.safetensors", "tokenizer.json"] {
        std::fs::copy(fixture("reference/tiny-grouped").join(name), folder.join(name)).unwrap();
    }
    for out in ["model.safetensors", "config.json"].map(|name| folder.join(name)) {
        let before = std::fs::read(&out).unwrap();
        run(&["convert", str(&folder), "--out", str(&out)], "").refused();
        run(&["logits", "-m", str(&folder), "--out", str(&out)], "[1]").refused();
        assert!(std::fs::read(&out).unwrap() == before, "{}", out.display());
    }
    let ran = run(&["convert", str(&folder), "--out", "/dev/null"], "");
    assert!(
        ran.code != Some(0) && ran.err.contains("/dev/null: output: is there and is no regular file"),
        "{}",
        ran.err
    );
}
