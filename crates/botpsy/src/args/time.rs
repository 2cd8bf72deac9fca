//! Flags of `botpsy time`.

use clap::Args;

const TIME_HELP: &str = "\
Reads English, digits and ISO 8601 by fixed rules: `Friday at 3 pm`, `tomorrow evening`, `in 20 minutes`, `every second
Tuesday`, `2026-12-01 15:00`. Weeks start on Monday. `next Friday` is the one of next week. An hour without am or pm lies
between 7:00 and 18:59: `at 4` is 16:00. What may mean several things is asked about, never guessed.

With --json the result is one object:
  {\"kind\": \"instant\", \"at\", \"zone\"}
  {\"kind\": \"range\", \"from\", \"to\", \"zone\"}               the end left out; a whole day is a range too
  {\"kind\": \"recurrence\", \"first\", \"rrule\", \"zone\"}      first: the first time from now on; rrule: as in RFC 5545;
                                                          also \"seconds\" where each one's end was said
  {\"kind\": \"duration\", \"seconds\"}
  {\"kind\": \"ambiguous\", \"question\", \"choices\": [..]}    what it may mean; of ranges the starts
  {\"kind\": \"unknown\", \"reason\"}
Times are RFC 3339 with the offset, zones have their IANA names. The exit code is 0 for all of these kinds.";

/// Says what a time means.
#[derive(Debug, Args)]
#[command(after_help = TIME_HELP)]
pub(crate) struct TimeArgs {
    /// The time, as a person writes it
    #[arg(value_name = "EXPR")]
    pub(crate) expr: String,
    /// The moment it is said at, as in 2026-12-01T09:00:00Z [default: this one]
    #[arg(long, value_name = "RFC3339")]
    pub(crate) now: Option<String>,
    /// The time zone it is said in, as in Europe/Berlin [default: the system's]
    #[arg(long, value_name = "IANA")]
    pub(crate) zone: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
