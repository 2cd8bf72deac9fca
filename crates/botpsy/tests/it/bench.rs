use std::process::Command;
use std::time::Duration;

use expect_test::expect;
use serde_json::Value;

use crate::support::{Ran, command, finish, fixture, run, str};

fn lines(ran: Ran) -> Vec<Value> {
    ran.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn positive(value: &Value) -> f64 {
    let number = value.as_f64().unwrap_or_else(|| panic!("{value}"));
    assert!(number > 0.0, "{number}");
    number
}

#[test]
fn each_case_is_one_line_with_a_speed_per_repetition() {
    let model = fixture("reference/tiny-grouped/model-q8_0.gguf");
    let flags = ["--threads", "2", "--pp", "40", "--tg", "3", "--depth", "20", "--batch", "4", "--reps", "4", "--json"];
    let found = lines(run(&[&["bench", "-m", str(&model)], &flags[..]].concat(), ""));
    let cases: Vec<_> =
        found.iter().map(|line| [&line["case"], &line["pp"], &line["tg"]].map(Value::to_string)).collect();
    assert_eq!(cases, [["\"pp40 x 4 @ d20\"", "40", "0"], ["\"tg3 x 4 @ d20\"", "0", "3"]]);
    for line in &found {
        let speeds: Vec<f64> = line["tokens_per_second"].as_array().unwrap().iter().map(positive).collect();
        assert_eq!(speeds.len(), 4);
        let (median, min, max) = (positive(&line["median"]), positive(&line["min"]), positive(&line["max"]));
        assert!(speeds.contains(&min) && speeds.contains(&max) && min <= median && median <= max, "{line}");
        assert_eq!((&line["threads"], &line["depth"], &line["batch"]), (&2.into(), &20.into(), &4.into()));
        assert_eq!((line["kv"].as_str(), line["model"].as_str()), (Some("f16"), model.to_str()));
        positive(&line["load_ms"]);
        if cfg!(target_os = "linux") {
            positive(&line["peak_rss_mib"]);
        }
    }
}

#[test]
fn a_case_of_zero_tokens_is_left_out_and_nothing_stated_is_both() {
    let cases = |flags: &[&str]| -> Vec<String> {
        let lines = lines(run(&[&["bench", "--json", "--reps", "1"], flags].concat(), ""));
        lines.iter().map(|line| line["case"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(cases(&["--pp", "9", "--tg", "0"]), ["pp9 @ d0"]);
    assert_eq!(cases(&["--pp", "0", "--tg", "2", "--depth", "3"]), ["tg2 @ d3"]);
    assert_eq!(cases(&["--tg", "2", "--parallel", "3"]), ["tg2 x 3 @ d0"]);
    assert_eq!(cases(&[]), ["pp512 @ d0", "tg64 @ d0"]);
}

#[test]
fn people_get_a_table() {
    let table = run(&["bench", "--pp", "8", "--tg", "2"], "").ok();
    let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(words[0].starts_with(&["embedded:"]) && words[0].contains(&"threads"), "{table}");
    assert_eq!(words[2], ["case", "tokens/s", "(smallest", "..", "largest)"]);
    assert_eq!((words[3][0], words[4][0]), ("pp8", "tg2"));
    assert!(words[4][3].parse::<f64>().is_ok_and(|speed| speed > 0.0), "{table}");
}

#[test]
fn what_cannot_be_measured_is_bad_input() {
    expect![[r#"
        error: --pp and --tg leave nothing to time
        help: give one of them, or neither
    "#]]
    .assert_eq(&run(&["bench", "--pp", "0", "--tg", "0"], "").refused());
    expect![[r#"
        error: 4000000064 tokens of context: embedded was made for 8192
        help: give a smaller --depth, --pp or --tg
    "#]]
    .assert_eq(&run(&["bench", "--tg", "64", "--depth", "4000000000"], "").refused());
    let err = run(&["bench", "-m", "nowhere.gguf"], "").refused();
    assert!(err.contains("nowhere.gguf") && err.contains("help: "), "{err}");
    for flags in [["--reps", "0"], ["--batch", "0"], ["--threads", "0"], ["--tg", "many"]] {
        let err = run(&[&["bench"], &flags[..]].concat(), "").refused();
        assert!(err.contains(flags[0]), "{err}");
    }
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_ends_cleanly() {
    let mut bench = command(&["bench", "--tg", "1000", "--reps", "1000", "--json"]);
    bench.stdin(std::process::Stdio::null());
    let child = bench.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0), "{err}");
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn the_environment_chooses_instruction_set_and_threads() {
    let mut portable = command(&["bench", "--pp", "4", "--json"]);
    portable.env("BOTPSY_ISA", "portable").env("BOTPSY_THREADS", "2");
    let line = &lines(finish(portable, ""))[0];
    assert_eq!((line["isa"].as_str(), line["threads"].as_u64()), (Some("portable"), Some(2)));
}

#[test]
fn limits_need_no_model_and_decode_and_its_steps_are_held_against_them() {
    let limits = &lines(run(&["bench", "--roofline", "--threads", "2", "--json"], ""))[0]["roofline"];
    assert_eq!(limits["threads"], 2);
    for key in ["weights_gbs", "read_gbs", "l3_gbs", "l2_gbs", "int8_gops", "bf16_gflops", "f32_gflops"] {
        let rate = &limits[key];
        let (best, median, min) = (positive(&rate["best"]), positive(&rate["median"]), positive(&rate["min"]));
        assert!(min <= median && median <= best, "{key}: {rate}");
    }
    let stream = positive(&limits["stream_gbs"]);
    assert_eq!(stream, positive(&limits["weights_gbs"]["best"]).max(positive(&limits["read_gbs"]["best"])));

    let found = lines(run(&["bench", "--profile", "-m", "embedded", "--tg", "4", "--json"], ""));
    let [limits, decode] = &found[..] else { panic!("{found:?}") };
    let (stream, step) = (positive(&decode["stream_gbs"]), positive(&decode["bytes_per_step"]));
    assert!(stream >= positive(&limits["roofline"]["stream_gbs"]));
    let expected = positive(&decode["median"]) * step / 1e9 / stream;
    assert!((positive(&decode["share_of_stream"]) / expected - 1.0).abs() < 1e-9, "{decode}");
    let in_turns: Vec<f64> = decode["shares_in_turns"].as_array().unwrap().iter().map(positive).collect();
    assert_eq!(in_turns.len(), 3);
    let steps = decode["profile"].as_array().unwrap();
    let shares: f64 = steps.iter().map(|step| positive(&step["share"])).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    let head = steps.iter().find(|step| step["step"] == "lm_head").unwrap();
    for key in ["seconds", "gbs", "gops", "share_of_limit"] {
        positive(&head[key]);
    }
}
