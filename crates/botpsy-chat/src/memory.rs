//! How much memory is free. Linux only; elsewhere nothing is known, and nothing is assumed.

/// Bytes that can be taken without swapping, if the system says.
pub(crate) fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The largest context up to `asked` whose keys and values take at most half of `available` bytes, in steps of 1,024.
pub(crate) fn bearable_context(asked: usize, kv_bytes_per_token: usize, available: Option<u64>) -> usize {
    let Some(available) = available else { return asked };
    let fits = available / 2 / (kv_bytes_per_token as u64).max(1);
    let fits = usize::try_from(fits).unwrap_or(usize::MAX);
    if fits >= asked { asked } else { (fits / 1024 * 1024).max(1024).min(asked) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_shrinks_only_when_memory_is_short() {
        assert_eq!(bearable_context(32_768, 12_288, None), 32_768);
        assert_eq!(bearable_context(32_768, 12_288, Some(8 << 30)), 32_768);
        assert_eq!(bearable_context(32_768, 12_288, Some(256 << 20)), 10_240);
        assert_eq!(bearable_context(32_768, 12_288, Some(0)), 1024);
        assert_eq!(bearable_context(500, 12_288, Some(0)), 500);
    }
}
