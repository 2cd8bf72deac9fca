//! How a command ends, and how its errors are shown.

use std::fmt;
use std::io::{self, Write};

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All was done.
    Done = 0,
    /// The run failed.
    Failed = 1,
    /// The usage or the input is wrong.
    BadInput = 2,
    /// The policy refused all that was asked for.
    Refused = 3,
    /// Somebody pressed Ctrl-C.
    Interrupted = 130,
}

/// An error with what the user can do about it, and the exit code that it leads to.
#[derive(Debug)]
struct Failure {
    error: anyhow::Error,
    help: String,
    exit: Exit,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// Says what kind of error it is, and the next step.
pub(crate) trait OrFail<T> {
    /// What the user gave is wrong: exit code 2.
    fn or_bad_input(self, help: impl Into<String>) -> anyhow::Result<T>;
    /// The input was fine, the run was not: exit code 1.
    fn or_failed(self, help: impl Into<String>) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> OrFail<T> for Result<T, E> {
    fn or_bad_input(self, help: impl Into<String>) -> anyhow::Result<T> {
        self.map_err(|error| bad_input(error, help))
    }

    fn or_failed(self, help: impl Into<String>) -> anyhow::Result<T> {
        self.map_err(|error| failed(error, help))
    }
}

/// An error about what the user gave.
pub(crate) fn bad_input(error: impl Into<anyhow::Error>, help: impl Into<String>) -> anyhow::Error {
    Failure { error: error.into(), help: help.into(), exit: Exit::BadInput }.into()
}

/// An error of the run, whose input was fine.
pub(crate) fn failed(error: impl Into<anyhow::Error>, help: impl Into<String>) -> anyhow::Error {
    Failure { error: error.into(), help: help.into(), exit: Exit::Failed }.into()
}

/// Shows an error on standard error. A reader that closed our output early (`| head`) is no error.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    let closed = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(closed) {
        return Exit::Done;
    }
    let failure = error.downcast_ref::<Failure>();
    let help = failure.map_or("run it again; if that does not help, report it", |failure| &failure.help);
    let text = format!("error: {}\nhelp: {help}\n", message(error));
    // Nothing is left to tell it to when standard error is gone too.
    let _ = io::stderr().write_all(text.as_bytes());
    failure.map_or(Exit::Failed, |failure| failure.exit)
}

/// The chain of causes in one line, without those that the line above them quotes already.
pub(crate) fn message(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        text if text.contains(&cause) => text.to_owned(),
        text => format!("{text}: {cause}"),
    })
}
