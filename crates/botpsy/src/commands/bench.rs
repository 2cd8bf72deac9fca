//! `botpsy bench`.

mod limits;
mod spread;
mod steps;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::anyhow;
use botpsy_chat::{ChatError, LoadOptions};
use botpsy_engine::{BenchCase, BenchEvent, BenchWork, Engine, EngineOptions};
use botpsy_kernels::Context;
use botpsy_kernels::attention::KvType;
use botpsy_model::Model;
use serde_json::{Value, json};

use crate::args::{BenchArgs, ModelArgs};
use crate::failure::{Exit, bad_input};
use crate::{interrupt, model_flags, output};
use limits::Limits;
use spread::Spread;
use steps::Steps;

/// What is timed when nobody says.
const PROMPT_TOKENS: u32 = 512;
const NEW_TOKENS: u32 = 64;

/// Why there is no result.
enum Halt {
    Cancelled,
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for Halt {
    fn from(error: anyhow::Error) -> Halt {
        Halt::Failed(error)
    }
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Exit> {
    let cases = cases(args)?;
    match measure_all(args, &cases, &*interrupt::watch()?) {
        Ok(()) => Ok(Exit::Done),
        Err(Halt::Cancelled) => Ok(Exit::Interrupted),
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// What the flags ask to be timed, prefill first.
fn cases(args: &BenchArgs) -> anyhow::Result<Vec<BenchCase>> {
    let (pp, tg) = match (args.pp, args.tg) {
        // Limits alone need no model.
        (None, None) if args.is_about_limits_alone() => return Ok(Vec::new()),
        (None, None) if args.roofline => (0, NEW_TOKENS),
        (None, None) => (PROMPT_TOKENS, NEW_TOKENS),
        // Leaving one out by name leaves the other.
        (None, Some(0)) if !args.roofline => (PROMPT_TOKENS, 0),
        (Some(0), None) => (0, NEW_TOKENS),
        (pp, tg) => (pp.unwrap_or(0), tg.unwrap_or(0)),
    };
    let (depth, batch) = (args.depth as usize, usize::from(args.batch));
    let case = |work, tokens| BenchCase { work, tokens: tokens as usize, depth, batch };
    let cases = [case(BenchWork::Prefill, pp), case(BenchWork::Decode, tg)];
    let cases: Vec<_> = cases.into_iter().filter(|case| case.tokens > 0).collect();
    if cases.is_empty() {
        return Err(bad_input(anyhow!("--pp and --tg leave nothing to time"), "give one of them, or neither"));
    }
    Ok(cases)
}

/// Measures and prints, one thing after the other.
fn measure_all(args: &BenchArgs, cases: &[BenchCase], cancel: &AtomicBool) -> Result<(), Halt> {
    let file = args.model.clone().unwrap_or_else(|| PathBuf::from("embedded"));
    let flags = ModelArgs { model: Some(file.clone()), threads: args.threads, kv: args.kv, act: args.act };
    let options = match cases {
        [] => LoadOptions { threads: args.threads.map(usize::from), ..LoadOptions::default() },
        _ => model_flags::load_options(&flags, &file),
    };
    let ctx = options.compute_context().map_err(model_flags::model_error)?;
    let mut limits = None;
    if args.roofline || args.profile {
        let limits = limits.insert(Limits::measure(&ctx, cancel)?);
        print(args, limits.json(&ctx), &limits.table(&ctx))?;
    }
    if cases.is_empty() {
        return Ok(());
    }
    let loaded = Loaded::new(&file, &options, ctx, cases)?;
    if !args.json {
        output::result(loaded.heading().as_bytes())?;
    }
    for case in cases {
        let measured = loaded.measure(case, usize::from(args.reps), limits.as_mut(), cancel)?;
        let (mut json, mut row) = (measured.json(&loaded), measured.row());
        if limits.is_some() {
            // Measuring a stream takes more memory than most models.
            json["peak_rss_mib"] = Value::Null;
        }
        if let Some(limits) = limits.as_ref().filter(|_| args.profile) {
            let steps = loaded.profile(case, cancel)?;
            json["profile"] = steps.json(limits);
            row = format!("{row}\n{}\n", steps.table(limits));
        }
        print(args, json, &row)?;
    }
    if let Some(mib) = peak_rss_mib().filter(|_| !args.json && limits.is_none()) {
        output::result(format!("peak memory {mib:.0} MiB\n").as_bytes())?;
    }
    Ok(())
}

fn print(args: &BenchArgs, json: Value, text: &str) -> anyhow::Result<()> {
    if args.json { output::json(&json) } else { output::result(text.as_bytes()) }
}

/// A model and how it was loaded.
struct Loaded {
    name: String,
    engine: Arc<Engine>,
    load_ms: f64,
}

impl Loaded {
    /// Loads the weights alone: no tokenizer, no template.
    fn new(file: &Path, options: &LoadOptions, ctx: Context, cases: &[BenchCase]) -> anyhow::Result<Loaded> {
        let started = Instant::now();
        let open = || -> Result<_, ChatError> {
            let checkpoint = model_flags::source(file).open()?;
            Ok((checkpoint.config()?.context_length, checkpoint))
        };
        let (made_for, checkpoint) = open().map_err(model_flags::model_error)?;
        let context_tokens = cases.iter().map(|case| case.depth + case.tokens).max().unwrap_or(1);
        if context_tokens > made_for {
            let error = anyhow!("{context_tokens} tokens of context: {} was made for {made_for}", checkpoint.file());
            return Err(bad_input(error, "give a smaller --depth, --pp or --tg"));
        }
        let load = || -> Result<_, ChatError> {
            let model = Model::load(&ctx, &checkpoint, options.activations)?;
            let options = EngineOptions { context_tokens, kv_type: options.kv_type, ..EngineOptions::default() };
            Ok(Engine::new(ctx, model, options)?)
        };
        let engine = load().map_err(model_flags::model_error)?;
        Ok(Loaded { name: checkpoint.file().to_owned(), engine, load_ms: started.elapsed().as_secs_f64() * 1e3 })
    }

    /// Times a case, the streams of memory before and after each repetition.
    fn measure(
        &self,
        case: &BenchCase,
        reps: usize,
        mut limits: Option<&mut Limits>,
        cancel: &AtomicBool,
    ) -> Result<Measured, Halt> {
        let ctx = self.engine.context();
        // Only decode is held against memory.
        limits = limits.filter(|_| case.work == BenchWork::Decode);
        let mut streams: Vec<f64> = limits.iter_mut().map(|limits| limits.measure_streams_again(ctx)).collect();
        let bar = output::progress("measuring", (case.batch * case.depth + reps) as u64);
        let times = self.engine.bench(case, reps, cancel, &mut |event| match event {
            BenchEvent::Read { tokens } => bar.set_position(tokens as u64),
            BenchEvent::Timed(_) => {
                bar.inc(1);
                streams.extend(limits.iter_mut().map(|limits| limits.measure_streams_again(ctx)));
            }
        });
        bar.finish_and_clear();
        let times = times.map_err(|error| model_flags::answer_error(error.into()))?.ok_or(Halt::Cancelled)?;
        let per_second = |count: usize| times.iter().map(move |time| count as f64 / time.as_secs_f64());
        let speed = Spread::new(per_second(case.timed_tokens()).collect());
        let memory = limits.map(|limits| {
            let step_bytes = self.engine.step_bytes(case);
            let rates = per_second(case.tokens * step_bytes).zip(streams.windows(2));
            let in_turns = rates.map(|(rate, streams)| rate / 1e9 / streams[0].max(streams[1]));
            AgainstMemory { step_bytes, best_gbs: limits.stream_gbs(), in_turns: Spread::new(in_turns.collect()) }
        });
        Ok(Measured { case: *case, speed, memory })
    }

    /// Runs a case once more to see where its time goes.
    fn profile(&self, case: &BenchCase, cancel: &AtomicBool) -> Result<Steps, Halt> {
        let bar = output::progress("profile", (case.batch * case.depth) as u64);
        let profile = self.engine.profile(case, cancel, &mut |event| {
            if let BenchEvent::Read { tokens } = event {
                bar.set_position(tokens as u64);
            }
        });
        bar.finish_and_clear();
        let (time, profile) =
            profile.map_err(|error| model_flags::answer_error(error.into()))?.ok_or(Halt::Cancelled)?;
        Ok(Steps::new(time, &profile))
    }

    fn kv(&self) -> &'static str {
        match self.engine.options().kv_type {
            KvType::F16 => "f16",
            KvType::F32 => "f32",
        }
    }

    fn heading(&self) -> String {
        let Context { isa, pool } = self.engine.context();
        let how = format!("{}, threads {}, keys and values {}", isa.name(), pool.n_threads(), self.kv());
        let load = format!("loaded in {:.2} s", self.load_ms / 1e3);
        format!("{}: {how}, {load}\n\n{:<24}{:>12}{:>24}\n", self.name, "case", "tokens/s", "(smallest .. largest)")
    }
}

/// The speed of one case.
struct Measured {
    case: BenchCase,
    /// Tokens per second of each repetition.
    speed: Spread,
    memory: Option<AgainstMemory>,
}

/// Decode against the streams of memory of the same run.
struct AgainstMemory {
    step_bytes: usize,
    /// The best stream of the whole run, in 10^9 bytes per second.
    best_gbs: f64,
    /// Each repetition's share of the best stream right before and after it.
    in_turns: Spread,
}

impl Measured {
    /// The case in the short form that tables of speeds use.
    fn label(&self) -> String {
        let BenchCase { work, tokens, depth, batch } = self.case;
        let work = if work == BenchWork::Prefill { "pp" } else { "tg" };
        let sequences = if batch == 1 { String::new() } else { format!(" x {batch}") };
        format!("{work}{tokens}{sequences} @ d{depth}")
    }

    /// What decode moves per second, in 10^9 bytes.
    fn decode_gbs(&self, memory: &AgainstMemory) -> f64 {
        self.speed.median() / self.case.batch as f64 * memory.step_bytes as f64 / 1e9
    }

    fn row(&self) -> String {
        let speed = &self.speed;
        let spread = format!("({:.2} .. {:.2})", speed.min(), speed.max());
        let mut row = format!("{:<24}{:>12.2}{spread:>24}\n", self.label(), speed.median());
        if let Some(memory) = &self.memory {
            let (mb, gbs) = (memory.step_bytes as f64 / 1e6, self.decode_gbs(memory));
            let (of_best, in_turns) = (100.0 * gbs / memory.best_gbs, 100.0 * memory.in_turns.median());
            let _ = writeln!(
                row,
                "{mb:.1} MB per step: {gbs:.1} GB/s, {of_best:.1} % of the best stream of the run, {in_turns:.1} % of the \
                 best one right before and after"
            );
        }
        row
    }

    fn json(&self, loaded: &Loaded) -> Value {
        let (case, speed) = (&self.case, &self.speed);
        let tokens = |work| if case.work == work { case.tokens } else { 0 };
        let Context { isa, pool } = loaded.engine.context();
        let mut line = json!({
            "case": self.label(),
            "tokens_per_second": speed.all,
            "median": speed.median(),
            "min": speed.min(),
            "max": speed.max(),
            "pp": tokens(BenchWork::Prefill),
            "tg": tokens(BenchWork::Decode),
            "depth": case.depth,
            "batch": case.batch,
            "threads": pool.n_threads(),
            "isa": isa.name(),
            "kv": loaded.kv(),
            "model": loaded.name,
            "load_ms": loaded.load_ms,
            "peak_rss_mib": peak_rss_mib(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let Some(memory) = &self.memory {
            let gbs = self.decode_gbs(memory);
            line["bytes_per_step"] = memory.step_bytes.into();
            line["decode_gbs"] = gbs.into();
            line["stream_gbs"] = memory.best_gbs.into();
            line["share_of_stream"] = (gbs / memory.best_gbs).into();
            line["shares_in_turns"] = memory.in_turns.all.clone().into();
        }
        line
    }
}

/// The most memory that this program had so far. Linux only; elsewhere nothing is known.
fn peak_rss_mib() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
