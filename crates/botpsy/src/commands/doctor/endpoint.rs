//! Whether the endpoint answers.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use botpsy_chat::{Endpoint, EndpointError, EndpointOptions};

use super::Check;
use crate::answering::leaving;

/// What a list of models may take.
const SILENCE: Duration = Duration::from_secs(10);
/// As many models are named.
const SHOWN: usize = 8;

pub(super) fn check(options: EndpointOptions) -> Check {
    let (base, named) = (options.base.clone(), options.model.clone());
    let elsewhere = leaving(&base).map(|told| format!("; {told}")).unwrap_or_default();
    let started = Instant::now();
    let asked = Endpoint::new(EndpointOptions { silence: SILENCE, ..options })
        .and_then(|endpoint| endpoint.models(&AtomicBool::new(false)));
    let models = match asked {
        Ok(models) => models,
        Err(error) => return Check::problem("endpoint", error.to_string(), error.help()),
    };
    let answers = format!("{base} answers in {} ms", started.elapsed().as_millis());
    let Some(models) = models else {
        let text = format!("{answers} and has no list of models{elsewhere}");
        return match named {
            Some(_) => Check::ok("endpoint", text),
            None => Check::note("endpoint", text, "name the model with `botpsy config set model_name NAME`"),
        };
    };
    let shown: Vec<&str> = models.iter().take(SHOWN).map(String::as_str).collect();
    let shown = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
    match named {
        Some(name) if models.contains(&name) => Check::ok("endpoint", format!("{answers} and has {name}{elsewhere}")),
        Some(name) => {
            let help = "name one of its models with `botpsy config set model_name NAME`";
            Check::problem("endpoint", format!("{answers} and has no model {name}: it has {shown}"), help)
        }
        None if models.len() > 1 => {
            let several = EndpointError::Models { url: base.to_string(), names: shown };
            Check::problem("endpoint", several.to_string(), several.help())
        }
        None => Check::ok("endpoint", format!("{answers}, model {shown}{elsewhere}")),
    }
}
