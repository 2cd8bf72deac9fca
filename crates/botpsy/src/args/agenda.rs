//! Flags of `botpsy agenda`.

use clap::Args;

const AGENDA_HELP: &str = "\
With --json the result is one object:
  {\"from\", \"to\", \"zone\", \"missed\": [REMINDER], \"events\": [EVENT], \"reminders\": [REMINDER], \"unreadable\": [{\"path\", \"why\"}]}
  EVENT: {\"id\", \"title\", \"start\", \"end\", \"all_day\", \"place\", \"repeats\", \"overlaps\": [ids]}
  REMINDER: {\"id\", \"kind\", \"text\", \"due\", \"repeats\"}
`to` is left out of the time that is shown; times are RFC 3339; `place` and `repeats` may be null.";

/// Shows events, alarms and reminders of a day or a longer time, and what was missed.
#[derive(Debug, Args)]
#[command(after_help = AGENDA_HELP)]
pub(crate) struct AgendaArgs {
    /// A day or a time, as in `Friday` or `next week` [default: today and the next 7 days]
    #[arg(value_name = "WHEN")]
    pub(crate) when: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// The moment it is asked at, as in 2026-12-01T09:00:00Z
    #[arg(long, value_name = "RFC3339", hide = true)]
    pub(crate) now: Option<String>,
}
