//! Mutated outputs: no panic, streamed equals unstreamed, a cut makes no call.
//!
//! `BOTPSY_FUZZ_N` sets how many are tried, `BOTPSY_FUZZ_SEED` which, `BOTPSY_FUZZ_SLOW_MS` how long one may take,
//! `BOTPSY_LONG_BYTES` how long the long ones are.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use botpsy_text::conversation::ToolSpec;
use botpsy_text::tool_call::{Stop, Thinking, ToolChoice};

use crate::laws::{check_cut, check_pieces};
use crate::support::{Case, Numbers, every_case, fixture, tool};

const DEFAULT_N: usize = 20_000;
/// A reader that reads twice what it read before would take minutes for these.
const DEFAULT_LONG_BYTES: usize = 20_000;

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// What the mutator puts in: every tag, whole and in part, and what stands between them.
const PARTS: [&str; 34] = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<function=",
    "<function=set>",
    "<function=ping>",
    "<function=fly>",
    "<function=get_weather>",
    "</function>",
    "<parameter=",
    "<parameter=n>",
    "\n<parameter=city>\n",
    "\n<parameter=body>\n",
    "<parameter=zzz>",
    "<parameter",
    "</parameter>",
    "\n</parameter>\n",
    "<",
    "</",
    ">",
    "\n",
    "\r\n",
    " ",
    "{",
    "}",
    "\"",
    "'",
    "\\",
    "{\"name\": \"set\", \"arguments\": {\"n\": 1}}",
    "1",
    "x",
    "é",
    "🦷",
];

fn mutate(text: &str, other: &str, numbers: &mut Numbers) -> String {
    let mut text = text.to_owned();
    for _ in 0..=numbers.below(4) {
        let (from, to) = (place(&text, numbers), place(&text, numbers));
        let (from, to) = (from.min(to), from.max(to));
        match numbers.below(6) {
            0 => text.replace_range(from..to, ""),
            1 => text.insert_str(from, PARTS[numbers.below(PARTS.len())]),
            2 => {
                let copy = text[from..to].to_owned();
                text.insert_str(to, &copy);
            }
            3 => text.truncate(to),
            4 => {
                let (from, to) = (place(other, numbers), place(other, numbers));
                let at = place(&text, numbers);
                text.insert_str(at, &other[from.min(to)..from.max(to)]);
            }
            _ => text.replace_range(from..to, PARTS[numbers.below(PARTS.len())]),
        }
    }
    // Short ones are read faster, and most faults need no more.
    let most = [400, 400, 400, 4_000][numbers.below(4)];
    text.truncate((0..=text.len().min(most)).rev().find(|len| text.is_char_boundary(*len)).unwrap_or(0));
    text
}

/// A random place between two characters.
fn place(text: &str, numbers: &mut Numbers) -> usize {
    let at = numbers.below(text.len() + 1);
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The tools of all cases, under their names, and the texts to start from.
fn corpus() -> (Vec<ToolSpec>, Vec<String>) {
    let cases = every_case();
    let mut tools: Vec<ToolSpec> = cases.iter().flat_map(|case| case.tools.to_vec()).collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools.dedup_by(|a, b| a.name == b.name);
    let kept = fixture("corpus/tool_call/seeds.jsonl");
    let kept = kept.lines().map(|line| serde_json::from_str::<String>(line).unwrap());
    let texts = cases.iter().map(|case| case.text.clone()).chain(kept).collect();
    (tools, texts)
}

#[test]
fn mutated_outputs_keep_the_laws() {
    let n = setting("BOTPSY_FUZZ_N", DEFAULT_N);
    let slow = Duration::from_millis(setting("BOTPSY_FUZZ_SLOW_MS", 3_600_000) as u64);
    let (tools, mut texts) = corpus();
    let n_kept = texts.len();
    let mut numbers = Numbers(0x00B0_7B51 ^ ((setting("BOTPSY_FUZZ_SEED", 0) as u64) << 32));
    let (begin, mut slowest) = (Instant::now(), (Duration::ZERO, String::new()));
    // Each output is read with some of the tools: reading those takes longer than reading the output.
    let some = tools.chunks(6).map(|some| Case::new("mutated", some.to_vec(), Thinking::Off, Stop::Eos, ""));
    let bases: Vec<Case> = some.collect();
    for round in 0..n {
        let (first, second) = (numbers.below(texts.len()), numbers.below(texts.len()));
        let text = mutate(&texts[first], &texts[second], &mut numbers);
        let thinking = if numbers.below(2) == 0 { Thinking::On } else { Thinking::Off };
        let stop = if numbers.below(4) == 0 { Stop::Length } else { Stop::Eos };
        let base = &bases[numbers.below(bases.len())];
        let mut case = Case { text: text.clone(), thinking, stop, ..base.clone() };
        if numbers.below(16) == 0 {
            case.tool_choice = ToolChoice::None;
        }
        let longest = [1, 5, 30][numbers.below(3)];
        let pieces = numbers.pieces(text.as_bytes(), longest);
        let cut = place(&text, &mut numbers);
        let broken = broken_bytes(&text, &mut numbers);
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            check_pieces(&case, pieces);
            let by_itself = case.with_stop(Stop::Eos).parse();
            let as_is = case.parse();
            check_cut(&case, cut, &[&by_itself.tool_calls, &as_is.tool_calls]);
            check_nothing_lost(&case);
            // Nothing can be compared where bytes are no text, but what comes must still add up.
            case.stream_pieces(broken.chunks(longest));
        }));
        let took = began.elapsed();
        if let Err(panic) = outcome {
            let (text, broken) = (text.as_bytes().escape_ascii(), broken.escape_ascii());
            println!("round {round}, {thinking:?}, {stop:?}: b\"{text}\", with broken bytes b\"{broken}\"");
            resume_unwind(panic);
        }
        if took > slowest.0 {
            slowest = (took, text.as_bytes().escape_ascii().to_string());
        }
        // Some mutants are mutated further; the texts kept in the repository stay.
        if round % 8 == 0 && text.len() < 2_000 {
            if texts.len() < n_kept + 500 {
                texts.push(text);
            } else {
                let at = n_kept + numbers.below(500);
                texts[at] = text;
            }
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{n} outputs in {seconds:.1} s, {:.0} a second", n as f64 / seconds);
    println!("the slowest took {:?}: b\"{}\"", slowest.0, slowest.1);
    assert!(slowest.0 <= slow, "an output took {:?}", slowest.0);
}

/// The bytes of a text, some of them wrong.
fn broken_bytes(text: &str, numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(bytes.len() + 1);
        bytes.insert(at, [0x80, 0xC3, 0xE2, 0xF0, 0xFF, 0x00][numbers.below(6)]);
    }
    bytes
}

/// Without calls every character but white space and think tags is in one of the two texts.
fn check_nothing_lost(case: &Case) {
    if case.stop == Stop::Length {
        return;
    }
    let message = case.parse();
    if !message.tool_calls.is_empty() {
        return;
    }
    let solid = |text: &str| -> String {
        let text = text.replace("<think>", "").replace("</think>", "");
        text.chars().filter(|character| !character.is_whitespace()).collect()
    };
    let texts = [message.reasoning_content, message.content].map(Option::unwrap_or_default);
    assert_eq!(solid(&texts.join("\n")), solid(&case.text), "{:?}", case.text);
}

#[test]
fn long_runs_of_tags_are_read_to_the_end() {
    let tools = vec![
        tool(&serde_json::json!({"function": {"name": "ping", "parameters": {}}})),
        tool(&serde_json::json!({"function": {"name": "set", "parameters": {"properties": {"n": {}}}}})),
    ];
    let len = setting("BOTPSY_LONG_BYTES", DEFAULT_LONG_BYTES);
    let base = Case::new("long", tools, Thinking::Off, Stop::Eos, "");
    for unit in [
        "<tool_call>",
        "<",
        "</parameter>",
        "<function=ping>",
        "<tool_call><function=ping>",
        "</",
        " ",
        "\n",
        "x",
        "<tool_call><function=set><parameter=n>",
        "<tool_call><function=set><parameter=n></parameter>",
        "<tool_call><function=set>\n<parameter=n>",
        "<tool_call><function=set><parameter=n></parameter> x",
        "<parameter=n>",
        "\n<parameter=n>",
        "<tool_call>{",
        "<tool_call>{\"",
        "<tool_call>{\"\\\"",
        "<tool_call>{}",
        "<tool_call>{\"name\": \"ping\"}",
        "<tool_call><function=ping></function>",
        "<think>",
        "</think>",
        "<function=",
        "<parameter=",
        "<function=ping></function> x",
        "<tool_call>\n<function=set>\n<parameter=\n",
    ] {
        for prefix in ["", "<tool_call>\n<function=set>\n<parameter=n>\n", "<tool_call>{\"a\": \"", "x\n<tool_call>"] {
            let text = prefix.to_owned() + &unit.repeat(len / unit.len());
            for thinking in [Thinking::On, Thinking::Off] {
                for stop in [Stop::Eos, Stop::Length] {
                    let case = base.with_text(&text).with_thinking(thinking).with_stop(stop);
                    check_pieces(&case, text.as_bytes().chunks(7));
                }
            }
        }
    }
}
