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

/// Runs one of the tests alone in a process of its own and returns by how much the peak of its resident set grew.
#[cfg(target_os = "linux")]
pub fn peak_growth_of(test: &str) -> Option<u64> {
    let run = std::process::Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(PRINT_PEAK, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stderr));
    let number = text.lines().find_map(|line| line.split_once("peak grew by ")?.1.split_once(" KiB"));
    number.map(|(number, _)| number.parse().unwrap())
}
