//! Where the time of a pass goes: `--profile`.

use std::fmt::Write as _;
use std::time::Duration;

use botpsy_model::{Operation, Profile, Work};
use serde_json::{Value, json};

use super::limits::Limits;

/// One kind of step, summed over the passes.
struct Step {
    name: &'static str,
    seconds: f64,
    work: Work,
}

/// A profile and what it is held against.
pub(super) struct Steps {
    steps: Vec<Step>,
    seconds: f64,
}

impl Steps {
    /// `time` is that of all passes, the choice of tokens included.
    pub(super) fn new(time: Duration, profile: &Profile) -> Steps {
        let mut steps: Vec<_> = Operation::ALL
            .iter()
            .map(|operation| {
                let (time, work) = profile.spent(*operation);
                Step { name: operation.name(), seconds: time.as_secs_f64(), work }
            })
            .filter(|step| step.seconds > 0.0)
            .collect();
        let seconds = time.as_secs_f64();
        let rest = seconds - steps.iter().map(|step| step.seconds).sum::<f64>();
        steps.push(Step { name: "choice", seconds: rest, work: Work::default() });
        Steps { steps, seconds }
    }

    pub(super) fn table(&self, limits: &Limits) -> String {
        let mut table =
            format!("{:<18}{:>8}{:>12}{:>10}{:>10}{:>12}\n", "step", "share", "ms", "GB/s", "GOPS", "of limit");
        for step in &self.steps {
            let share = 100.0 * step.seconds / self.seconds;
            let _ = write!(table, "{:<18}{share:>7.1}%{:>12.2}", step.name, step.seconds * 1e3);
            if step.work != Work::default() {
                let (gbs, gops) = (step.gbs(), step.gops());
                let of_limit = 100.0 * step.share_of_limit(limits);
                let _ = write!(table, "{gbs:>10.1}{gops:>10.1}{of_limit:>11.1}%");
            }
            table.push('\n');
        }
        table
    }

    pub(super) fn json(&self, limits: &Limits) -> Value {
        let step = |step: &Step| {
            let mut line = json!({ "step": step.name, "seconds": step.seconds, "share": step.seconds / self.seconds });
            if step.work != Work::default() {
                line["gbs"] = step.gbs().into();
                line["gops"] = step.gops().into();
                line["share_of_limit"] = step.share_of_limit(limits).into();
            }
            line
        };
        self.steps.iter().map(step).collect()
    }
}

impl Step {
    fn gbs(&self) -> f64 {
        self.work.bytes as f64 / self.seconds / 1e9
    }

    fn gops(&self) -> f64 {
        self.work.operations() as f64 / self.seconds / 1e9
    }

    /// The time that memory or arithmetic would need at their best, whichever is longer, as a share of the time it took.
    fn share_of_limit(&self, limits: &Limits) -> f64 {
        let memory = self.work.bytes as f64 / limits.stream_gbs();
        let (int8, bf16, f32) = limits.peaks();
        let arithmetic = self.work.int8 as f64 / int8 + self.work.bf16 as f64 / bf16 + self.work.f32 as f64 / f32;
        memory.max(arithmetic) / 1e9 / self.seconds
    }
}
