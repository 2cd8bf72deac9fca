//! `botpsy bench`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use botpsy_chat::ChatError;
use botpsy_engine::{BenchCase, BenchWork, Engine, EngineOptions};
use botpsy_kernels::attention::KvType;
use botpsy_model::Model;
use serde_json::{Value, json};

use crate::args::{BenchArgs, ModelArgs};
use crate::failure::{Exit, bad_input};
use crate::{interrupt, model_flags, output};

/// What is timed when nobody says.
const PROMPT_TOKENS: u32 = 512;
const NEW_TOKENS: u32 = 64;

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Exit> {
    let cases = cases(args)?;
    let cancel = interrupt::watch()?;
    let loaded = Loaded::new(args, &cases)?;
    if !args.json {
        output::result(loaded.heading().as_bytes())?;
    }
    for case in &cases {
        let Some(times) = measure(&loaded.engine, case, usize::from(args.reps), &cancel)? else {
            return Ok(Exit::Interrupted);
        };
        let speeds = Speeds::new(case, &times);
        if args.json {
            output::json(&loaded.json(case, &speeds))?;
        } else {
            output::result(speeds.row(&label(case)).as_bytes())?;
        }
    }
    if !args.json
        && let Some(mib) = peak_rss_mib()
    {
        output::result(format!("peak memory {mib:.0} MiB\n").as_bytes())?;
    }
    Ok(Exit::Done)
}

/// What the flags ask to be timed, prefill first.
fn cases(args: &BenchArgs) -> anyhow::Result<Vec<BenchCase>> {
    let (pp, tg) = match (args.pp, args.tg) {
        (None, None) => (PROMPT_TOKENS, NEW_TOKENS),
        (pp, tg) => (pp.unwrap_or(0), tg.unwrap_or(0)),
    };
    let (depth, batch) = (args.depth as usize, usize::from(args.batch));
    let case = |work, tokens| BenchCase { work, tokens: tokens as usize, depth, batch };
    let cases = [case(BenchWork::Prefill, pp), case(BenchWork::Decode, tg)];
    let cases: Vec<_> = cases.into_iter().filter(|case| case.tokens > 0).collect();
    if cases.is_empty() {
        return Err(bad_input(anyhow!("--pp and --tg are both 0: nothing to time"), "give one of them, or neither"));
    }
    Ok(cases)
}

fn measure(
    engine: &Engine,
    case: &BenchCase,
    reps: usize,
    cancel: &AtomicBool,
) -> anyhow::Result<Option<Vec<Duration>>> {
    let bar = output::progress("measuring", case.total_tokens(reps) as u64);
    let times = engine.bench(case, reps, cancel, &mut |done| bar.set_position(done as u64));
    bar.finish_and_clear();
    times.map_err(|error| model_flags::answer_error(error.into()))
}

/// A model and how it was loaded.
struct Loaded {
    name: String,
    engine: Arc<Engine>,
    load_ms: f64,
}

impl Loaded {
    /// Loads the weights alone: no tokenizer, no template.
    fn new(args: &BenchArgs, cases: &[BenchCase]) -> anyhow::Result<Loaded> {
        let flags = ModelArgs {
            model: args.model.clone().unwrap_or_else(|| PathBuf::from("embedded")),
            threads: args.threads,
            kv: args.kv,
            act: args.act,
        };
        let options = model_flags::load_options(&flags);
        let started = Instant::now();
        let load = || -> Result<_, ChatError> {
            let ctx = options.compute_context()?;
            let checkpoint = model_flags::source(&flags.model).open()?;
            Ok((checkpoint.config()?.context_length, ctx, checkpoint))
        };
        let (made_for, ctx, checkpoint) = load().map_err(model_flags::model_error)?;
        let context_tokens = cases.iter().map(|case| case.depth + case.tokens).max().unwrap_or(1);
        if context_tokens > made_for {
            let error = anyhow!("{context_tokens} tokens of context: {} was made for {made_for}", checkpoint.file());
            return Err(bad_input(error, "give a smaller --depth, --pp or --tg"));
        }
        let engine = || -> Result<_, ChatError> {
            let model = Model::load(&ctx, &checkpoint, options.activations)?;
            let options = EngineOptions { context_tokens, kv_type: options.kv_type, ..EngineOptions::default() };
            Ok(Engine::new(ctx, model, options)?)
        };
        let engine = engine().map_err(model_flags::model_error)?;
        Ok(Loaded { name: checkpoint.file().to_owned(), engine, load_ms: started.elapsed().as_secs_f64() * 1e3 })
    }

    fn kv(&self) -> &'static str {
        match self.engine.options().kv_type {
            KvType::F16 => "f16",
            KvType::F32 => "f32",
        }
    }

    fn heading(&self) -> String {
        let ctx = self.engine.context();
        let (isa, threads) = (ctx.isa.name(), ctx.pool.n_threads());
        format!(
            "{}: {isa}, threads {threads}, keys and values {}, loaded in {:.2} s\n\n{:<24}{:>12}{:>24}\n",
            self.name,
            self.kv(),
            self.load_ms / 1e3,
            "case",
            "tokens/s",
            "(smallest .. largest)"
        )
    }

    fn json(&self, case: &BenchCase, speeds: &Speeds) -> Value {
        let tokens = |work| if case.work == work { case.tokens } else { 0 };
        json!({
            "case": label(case),
            "tokens_per_second": speeds.all,
            "median": speeds.median(),
            "min": speeds.min(),
            "max": speeds.max(),
            "pp": tokens(BenchWork::Prefill),
            "tg": tokens(BenchWork::Decode),
            "depth": case.depth,
            "batch": case.batch,
            "threads": self.engine.context().pool.n_threads(),
            "isa": self.engine.context().isa.name(),
            "kv": self.kv(),
            "model": self.name,
            "load_ms": self.load_ms,
            "peak_rss_mib": peak_rss_mib(),
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}

/// The case in the short form that tables of speeds use.
fn label(case: &BenchCase) -> String {
    let work = match case.work {
        BenchWork::Prefill => "pp",
        BenchWork::Decode => "tg",
    };
    let sequences = if case.batch == 1 { String::new() } else { format!(" x {}", case.batch) };
    format!("{work}{}{sequences} @ d{}", case.tokens, case.depth)
}

/// Tokens per second of each repetition.
struct Speeds {
    all: Vec<f64>,
    sorted: Vec<f64>,
}

impl Speeds {
    fn new(case: &BenchCase, times: &[Duration]) -> Speeds {
        let tokens = case.timed_tokens() as f64;
        let all: Vec<f64> = times.iter().map(|time| tokens / time.as_secs_f64()).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        Speeds { all, sorted }
    }

    fn min(&self) -> f64 {
        self.sorted[0]
    }

    fn max(&self) -> f64 {
        self.sorted[self.sorted.len() - 1]
    }

    fn median(&self) -> f64 {
        let n = self.sorted.len();
        (self.sorted[(n - 1) / 2] + self.sorted[n / 2]) / 2.0
    }

    fn row(&self, label: &str) -> String {
        let spread = format!("({:.2} .. {:.2})", self.min(), self.max());
        format!("{label:<24}{:>12.2}{spread:>24}\n", self.median())
    }
}

/// The most memory that this program had so far. Linux only; elsewhere nothing is known.
fn peak_rss_mib() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
