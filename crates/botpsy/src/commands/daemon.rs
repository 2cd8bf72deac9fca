//! `botpsy daemon`.

pub(crate) mod tell;
mod unit;

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, anyhow};
use botpsy_agent::journal::Desk;
use botpsy_agent::store::Reminder;

use crate::args::DaemonArgs;
use crate::failure::{Exit, OrFail, failed};
use crate::settings::Settings;
use crate::{output, owner};
use tell::Teller;

/// Other programs add and change reminders, and clocks are set: nothing is waited for longer than this.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Nothing is looked at more often: what is due and cannot be written down is tried again, not all the time.
const REST: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &DaemonArgs) -> anyhow::Result<Exit> {
    if args.unit {
        return unit::print();
    }
    let settings = Settings::load()?;
    let desk = owner::open(&settings)?;
    let teller = Teller::new(args.json);
    if args.once {
        look(&desk, &settings, &teller)?;
        return Ok(Exit::Done);
    }
    let _lock = lock(&desk.store().folders().data)?;
    let ended = watch()?;
    output::note("reminders are told here; Ctrl-C ends it");
    loop {
        look(&desk, &settings, &teller)?;
        match ended.recv_timeout(until_next(&desk, &settings)?) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Done),
        }
    }
}

/// Tells what is due, and what was missed and not told.
fn look(desk: &Desk, settings: &Settings, teller: &Teller) -> anyhow::Result<()> {
    let now = settings.now();
    let mut fired: Vec<Reminder> = Vec::new();
    let mut keep = |reminder: &Reminder| fired.push(reminder.clone());
    desk.fire_due(&now, &mut keep).map_err(owner::store_error)?;
    if teller.has_listener() {
        for missed in desk.missed().map_err(owner::store_error)? {
            if desk.dismiss(&missed, &now).map_err(owner::store_error)? {
                teller.tell(&missed, &now)?;
            }
        }
    }
    // Those that were missed have just been told, or wait until somebody listens.
    let is_fired = |reminder: &&Reminder| reminder.state == botpsy_agent::store::ReminderState::Fired;
    fired.iter().filter(is_fired).try_for_each(|reminder| teller.tell(reminder, &now))
}

/// How long to wait. The clock is asked each time: it may have been set, or the machine asleep.
fn until_next(desk: &Desk, settings: &Settings) -> anyhow::Result<Duration> {
    let Some(due) = desk.next_due().map_err(owner::store_error)? else { return Ok(LOOK_AGAIN) };
    let left = due.duration_since(&settings.now());
    Ok(Duration::try_from(left).unwrap_or_default().clamp(REST, LOOK_AGAIN))
}

/// The right to tell reminders of this data; it ends with the process.
fn lock(data: &Path) -> anyhow::Result<File> {
    let path = data.join("daemon.lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = file.with_context(|| path.display().to_string()).or_failed("check that the folder can be written")?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let error = anyhow!("another `botpsy daemon` runs on {}", data.display());
            Err(failed(error, "nothing is missing: it tells all reminders; end it first to run this one"))
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| path.display().to_string()).or_failed("check that the disk can lock files")
        }
    }
}

/// Says when Ctrl-C was pressed, or somebody asked to end.
fn watch() -> anyhow::Result<Receiver<()>> {
    let (sender, ended) = mpsc::channel();
    let end = move || {
        // The receiver is gone when the program is about to end anyway.
        let _ = sender.send(());
    };
    ctrlc::set_handler(end).or_failed("run it again; if that does not help, report it")?;
    Ok(ended)
}
