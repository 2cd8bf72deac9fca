//! Flags of `botpsy daemon`.

use clap::Args;

const DAEMON_HELP: &str = "\
Each alarm, timer and reminder is told once, however many programs look: on standard output, with `notify-send` where that is there,
and with the bell of the terminal. What was due while nothing ran is told as missed, at the start. Ends with Ctrl-C or SIGTERM.

With --json each is a line:
  {\"id\", \"kind\": \"alarm\"|\"timer\"|\"reminder\", \"text\", \"due\", \"state\": \"fired\"|\"missed\"}
Exit code 1 if another one runs on the same data.";

/// Tells alarms, timers and reminders when they are due.
#[derive(Debug, Args)]
#[command(after_help = DAEMON_HELP)]
pub(crate) struct DaemonArgs {
    /// Tell what is due now, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Print a systemd user unit that keeps it running, and say how to enable it
    #[arg(long, conflicts_with_all = ["once", "json"])]
    pub(crate) unit: bool,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}
