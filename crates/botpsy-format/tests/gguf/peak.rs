//! The largest resident set of this process.

use std::{env, fs};

/// Set in a process that runs one test alone, so that the peak is that test's.
pub const PRINT_PEAK: &str = "BOTPSY_PRINT_PEAK";

/// Largest resident set so far; 0 where the system does not say.
pub fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// Prints the growth since `before_kib` if the process was started for that.
pub fn print_peak(before_kib: u64) {
    if env::var_os(PRINT_PEAK).is_some() {
        println!("peak grew by {} KiB", peak_kib() - before_kib);
    }
}
