//! Flags of `botpsy bench`.

use std::path::PathBuf;

use clap::Args;
use clap::value_parser;

use super::{Act, Kv};

const BENCH_HELP: &str = "\
Prefill: reads a prompt of --pp tokens. Decode: makes --tg tokens one by one, the output matrix and the choice of the best token
included. Both start from --depth tokens of context, which are read untimed before. With neither --pp nor --tg: --pp 512 --tg 64.
With --batch each sequence has its own prompt and context; prompts are read one after the other, new tokens made in one pass, and
speeds are of all together.

With --roofline: streams of memory (Q8_0 weights multiplied with one row, and plain reads), reads of the caches, and int8,
bfloat16 and f32 operations in registers, on the threads together. With -m also decode (--tg 64 unless stated) against the best
stream of the same run, measured before and after each repetition: a step takes all weights and, of each sequence, its recurrent
state twice and its keys and values once. Takes 2.3 GB of memory beside the model.

With --profile, which measures the limits too: each step of the passes with its share of the time, bytes and operations per
second, and how near it is to its limit: the time that memory or arithmetic at their best would need for it, the longer of the
two. Steps that are short and not of products, states or keys and values have a share only.

With --json each case is a line, decode last:
  {\"case\", \"tokens_per_second\": [one per repetition], \"median\", \"min\", \"max\", \"pp\", \"tg\", \"depth\", \"batch\",
   \"threads\", \"isa\", \"kv\", \"model\", \"load_ms\", \"peak_rss_mib\", \"version\"}
With --roofline or --profile a line with the limits comes before them,
  {\"roofline\": {\"threads\", \"isa\", \"stream_gbs\", \"weights_gbs\", \"read_gbs\", \"l3_gbs\", \"l2_gbs\", \"int8_gops\", \"bf16_gflops\",
   \"f32_gflops\"}}
in 10^9 per second, the last seven each {\"best\", \"median\", \"min\"}, and decode has
  {\"bytes_per_step\", \"decode_gbs\", \"stream_gbs\", \"share_of_stream\", \"shares_in_turns\"}
as well; the last are of each repetition, in the best stream right before and after it. With --profile each case has
  {\"profile\": [{\"step\", \"seconds\", \"share\", \"gbs\", \"gops\", \"share_of_limit\"}]}
`peak_rss_mib` is the most memory that the program had until then, loading included; null with limits, which take more, and where
the system does not tell.";

/// Measures speed: reading a prompt and making tokens, alone or several sequences together.
#[derive(Debug, Args)]
#[command(after_help = BENCH_HELP)]
pub(crate) struct BenchArgs {
    /// Prompt tokens to read; 0 leaves prefill out
    #[arg(long, value_name = "TOKENS")]
    pub(crate) pp: Option<u32>,
    /// Tokens to make; 0 leaves decode out
    #[arg(long, value_name = "TOKENS")]
    pub(crate) tg: Option<u32>,
    /// Tokens of context before what is timed
    #[arg(short, long, value_name = "TOKENS", default_value_t = 0)]
    pub(crate) depth: u32,
    /// Sequences computed together
    #[arg(short, long, visible_alias = "parallel", value_name = "N", default_value_t = 1,
        value_parser = value_parser!(u16).range(1..=256))]
    pub(crate) batch: u16,
    /// How often each case is timed
    #[arg(short, long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u16).range(1..=1000))]
    pub(crate) reps: u16,
    /// Measure what this machine does at most, and with a model how near to it decode comes
    #[arg(long)]
    pub(crate) roofline: bool,
    /// Show where the time goes, step by step, each against the limits of --roofline
    #[arg(long)]
    pub(crate) profile: bool,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
    /// A GGUF file, a safetensors folder, or `embedded` (a small demonstration model) [default: embedded]
    #[arg(short, long, value_name = "FILE", help_heading = "Model")]
    pub(crate) model: Option<PathBuf>,
    /// Threads to compute with [default: BOTPSY_THREADS, or as many as the system grants; 1 for the embedded model]
    #[arg(short, long, value_name = "N", value_parser = value_parser!(u16).range(1..=256), help_heading = "Model")]
    pub(crate) threads: Option<u16>,
    /// How keys and values are kept
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = Kv::F16, help_heading = "Model")]
    pub(crate) kv: Kv,
    /// Inputs of products: int8 rounds them (to BF16 for BF16 weights), f32 keeps them exact
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = Act::Int8, help_heading = "Model")]
    pub(crate) act: Act,
}

impl BenchArgs {
    /// Whether --roofline stands without anything that needs a model.
    pub(crate) fn is_about_limits_alone(&self) -> bool {
        self.roofline && self.model.is_none() && !self.profile && self.depth == 0 && self.batch == 1
    }
}
