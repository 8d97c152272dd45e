//! Checks that this process and the kernel's BPF programs use the same clock.
//!
//! The lease of the fail-open gate ends at a time of CLOCK_MONOTONIC, which the packet loop writes and the BPF programs
//! compare with their clock (bpf_ktime_get_ns). In a time namespace (time_namespaces(7)) the process's clock is shifted and
//! the kernel's is not: the lease would never be valid, or, after the process has died or hangs, would last as long as the
//! shift.

use anyhow::{Result, bail};

/// Refuses a shifted clock.
///
/// # Errors
/// The shift, and the remedy.
pub(crate) fn check() -> Result<()> {
    // Before Linux 5.6 there is no such file, and no such namespace.
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    match shift(&offsets) {
        None => Ok(()),
        Some(shift) => bail!(
            "the box runs in a time namespace whose monotonic clock is shifted by {shift} s: the kernel would not hold the \
             traffic when the box does, nor let go of it when it dies; start it outside of the time namespace"
        ),
    }
}

/// Seconds and nanoseconds, unless zero, of the line "monotonic SECONDS NANOSECONDS".
fn shift(offsets: &str) -> Option<String> {
    let mut words = offsets.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    words.find_map(|words| match words[..] {
        ["monotonic", seconds, nanos] if seconds != "0" || nanos != "0" => Some(format!("{seconds}.{nanos:0>9}")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shifted_monotonic_clock_is_detected() {
        assert_eq!(shift("monotonic           0         0\nboottime            0         0\n"), None);
        assert_eq!(shift("monotonic           0         0\nboottime         3600         0\n"), None);
        assert_eq!(
            shift("monotonic      -86400         5\nboottime            0         0\n").as_deref(),
            Some("-86400.000000005")
        );
        assert_eq!(shift(""), None);
        check().expect("this process is in the namespace of the machine");
    }
}
