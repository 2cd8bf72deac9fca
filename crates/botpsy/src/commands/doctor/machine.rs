//! The program and the machine that it runs on.

use std::fs;

use botpsy_chat::LoadOptions;
use botpsy_kernels::Isa;
use jiff::tz::TimeZone;

use super::{Check, size};
use crate::commands::daemon::tell::has_desktop;

/// With less memory the system begins to write it to the disk.
const LITTLE_MEMORY: u64 = 1_000_000_000;

pub(super) fn checks() -> Vec<Check> {
    vec![version(), processor(), threads(), memory(), zone_data(), notifications()]
}

fn version() -> Check {
    Check::ok("program", format!("botpsy {}", env!("CARGO_PKG_VERSION")))
}

fn processor() -> Check {
    let names: Vec<&str> = Isa::available().iter().map(|isa| isa.name()).collect();
    match Isa::from_env() {
        Ok(isa) if isa == Isa::detect() => Check::ok("processor", format!("{} ({})", isa.name(), names.join(", "))),
        Ok(isa) => Check::note(
            "processor",
            format!("{}, as BOTPSY_ISA says ({})", isa.name(), names.join(", ")),
            "unset BOTPSY_ISA for the fastest one",
        ),
        Err(error) => Check::problem("processor", error.to_string(), "unset BOTPSY_ISA"),
    }
}

fn threads() -> Check {
    match LoadOptions::default().compute_context() {
        Ok(ctx) => Check::ok("threads", ctx.pool.n_threads().to_string()),
        Err(error) => Check::problem("threads", error.to_string(), "unset BOTPSY_THREADS and BOTPSY_ISA"),
    }
}

fn memory() -> Check {
    match available() {
        None => Check::note("memory", "this system does not tell how much is available", "nothing is to be done"),
        Some(bytes) if bytes < LITTLE_MEMORY => {
            Check::note("memory", format!("{} available", size(bytes)), "close other programs, or take a small model")
        }
        Some(bytes) => Check::ok("memory", format!("{} available", size(bytes))),
    }
}

/// Linux only; elsewhere nothing is known.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn zone_data() -> Check {
    match TimeZone::get("Europe/Berlin") {
        Ok(_) => Check::ok("zone data", "there"),
        Err(error) => Check::problem("zone data", error.to_string(), "install the package tzdata"),
    }
}

fn notifications() -> Check {
    match has_desktop() {
        true => Check::ok("desktop", "notify-send is there: reminders are shown"),
        false => Check::note(
            "desktop",
            "notify-send is not there: `botpsy daemon` tells reminders on its standard output alone",
            "install the package libnotify-bin (libnotify on Fedora and Arch)",
        ),
    }
}
