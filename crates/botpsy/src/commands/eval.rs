//! `botpsy eval guardrail`.

use botpsy_eval::{Bar, guardrail};
use serde_json::Value;

use crate::args::{EvalArgs, EvalCommand, GuardrailArgs};
use crate::failure::{Exit, OrFail};
use crate::output;

pub(crate) fn run(args: &EvalArgs) -> anyhow::Result<Exit> {
    match &args.command {
        EvalCommand::Guardrail(args) => guardrail(args),
    }
}

fn guardrail(args: &GuardrailArgs) -> anyhow::Result<Exit> {
    let progress = output::progress("replay", guardrail::STEPS);
    let bars = guardrail::run(&args.data, || progress.inc(1));
    progress.finish_and_clear();
    let bars = bars.or_bad_input("give --data a folder with agentdojo, injecagent and policy in it")?;
    for bar in &bars {
        match args.json {
            true => output::json(&serde_json::to_value(bar)?)?,
            false => output::result(told(bar).as_bytes())?,
        }
    }
    Ok(if bars.iter().all(|bar| bar.holds) { Exit::Done } else { Exit::Failed })
}

fn told(bar: &Bar) -> String {
    const SHOWN: usize = 10;
    let number = |(name, value): (&String, &Value)| format!("{} {value}", name.replace('_', " "));
    let values: Vec<String> = bar.values.iter().map(number).collect();
    let mut text = format!("{}  {:<6}  {}\n", bar.bar, if bar.holds { "holds" } else { "BROKEN" }, values.join(", "));
    bar.breaks.iter().take(SHOWN).for_each(|name| text.push_str(&format!("      {name}\n")));
    if bar.breaks.len() > SHOWN {
        text.push_str(&format!("      and {} more\n", bar.breaks.len() - SHOWN));
    }
    text
}
