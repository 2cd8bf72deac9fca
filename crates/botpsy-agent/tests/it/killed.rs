//! The day with kills: a child process plays it and dies, the next one goes on.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::day::open;
use crate::day::plot::{self, Owner};
use crate::day::view::{View, view};
use crate::desk::folder;

/// How a child dies.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// By its own hand, at the n-th thing that happens.
    Abort(usize),
    /// By a signal from outside, some time after the n-th thing that happens.
    Kill(usize),
}

/// What a child said.
#[derive(Debug, Default)]
struct Said {
    begun: usize,
    notes: Vec<String>,
    known: Vec<i64>,
    is_whole: bool,
}

/// Not a test but the child, when it is told where to play and when to die.
#[test]
#[allow(clippy::print_stdout)]
fn child() {
    let Ok(root) = std::env::var("BOTPSY_DAY") else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let (from, abort) = (number("BOTPSY_DAY_FROM").unwrap(), number("BOTPSY_DAY_ABORT"));
    let mut ticks = 0;
    plot::play_from(Path::new(&root), from, Owner::Attentive, &mut |line| {
        ticks += 1;
        println!("\n{line}");
        if Some(ticks) == abort {
            std::process::abort();
        }
    });
    println!("\nWhole");
}

fn run(root: &Path, from: usize, death: Option<Death>) -> Said {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["killed::child", "--exact", "--nocapture", "--test-threads=1"]);
    command.env("BOTPSY_DAY", root).env("BOTPSY_DAY_FROM", from.to_string());
    if let Some(Death::Abort(n)) = death {
        command.env("BOTPSY_DAY_ABORT", n.to_string());
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = Said { begun: from, ..Said::default() };
    let mut ticks = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "Begin" => said.begun = rest.parse().unwrap(),
            "Note" => said.notes.push(rest.to_owned()),
            "Known" => said.known.push(rest.parse().unwrap()),
            "Whole" => said.is_whole = true,
            "Told" => panic!("nothing was wrong, but: {rest}"),
            _ => {}
        }
        ticks += usize::from(!line.is_empty());
        if matches!(death, Some(Death::Kill(n)) if n == ticks) {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    said
}

/// Plays the day, dying again and again, to its end. Gives what is there in the evening and how often it died.
fn play(deaths: impl IntoIterator<Item = Death>) -> (View, usize) {
    let root = folder();
    plot::prepare(&root);
    let (mut from, mut died, mut told) = (0, 0, Vec::new());
    for death in deaths.into_iter().map(Some).chain([None]) {
        let said = run(&root, from, death);
        told.extend(said.notes.clone());
        for step in &said.known {
            let is_told = told.iter().any(|note| note.ends_with(&format!("(step {step})")));
            assert!(is_told, "step {step} was done, and nobody was told: {said:?}");
        }
        from = said.begun;
        if said.is_whole {
            break;
        }
        died += 1;
    }
    let (desk, recovered) = open(&root, plot::requests().last().unwrap());
    assert!(recovered.is_empty(), "{:?}", recovered.notes());
    assert_eq!(desk.verify_log().unwrap().unwrap().1, desk.log_head().unwrap());
    drop(desk);
    let evening = view(&root);
    fs::remove_dir_all(&root).unwrap();
    (evening, died)
}

#[test]
fn a_day_with_kills_ends_as_a_day_without() {
    let (evening, died) = play([]);
    assert_eq!(died, 0);
    let aborts = [3, 9, 14, 20, 27, 33, 41, 47, 52, 58, 66, 75].map(Death::Abort);
    let (after_aborts, died) = play(aborts);
    assert_eq!((died, after_aborts), (12, evening.clone()));
    let kills = [2, 7, 12, 17, 22, 28, 35, 40, 45, 55, 65, 80].map(Death::Kill);
    let (after_kills, died) = play(kills);
    assert!(died > 0);
    assert_eq!(after_kills, evening);
}
