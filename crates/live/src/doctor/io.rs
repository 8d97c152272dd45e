//! Whether packets can come in through AF_XDP, where that is asked for, and what they would lack.

use std::fs;

use evenair_sys::iface;

use super::Finding;
use crate::config::BoxConfig;
use crate::express::{Io, Needs, comes_incomplete};
use crate::port;

const SUBJECT: &str = "AF_XDP";
const CAP_IPC_LOCK: u32 = 14;

pub(super) fn examine(config: &BoxConfig) -> Vec<Finding> {
    if config.io == Io::AfPacket {
        return Vec::new();
    }
    // Interfaces that are not there were told of before.
    let (Ok(wlan), Ok(wire)) = (iface::find(&config.wlan), iface::find(&config.wire)) else { return Vec::new() };
    let ports = [&wlan, &wire];
    let most_bytes = ports.map(port::most_bytes).into_iter().max().unwrap_or_default();
    let needs = match Needs::of(ports, most_bytes, config.ring_frames) {
        Ok(needs) => needs,
        Err(error) => return vec![instead(format!("{error:#}"))],
    };
    let bytes = u64::from(config.pool_frames + needs.all_places()) * u64::from(needs.place_len);
    let mut findings = vec![lockable(bytes, &read("/proc/self/limits"), &read("/proc/self/status"))];
    for (port, queues) in ports.iter().zip(needs.queues) {
        let name = &port.name;
        let sockets = if queues == 1 { "a receive queue".into() } else { format!("{queues} receive queues") };
        findings
            .push(Finding::fine(SUBJECT, format!("{name} has {sockets}; which mode it offers is seen at the start")));
        findings.extend(tags(name));
        if iface::driver(name).is_ok_and(|driver| comes_incomplete(&driver)) {
            let found = format!(
                "{name} has its other end on this machine: the box completes checksums that are left to a card"
            );
            findings.push(Finding::fine(SUBJECT, found));
        }
    }
    findings
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The box runs, in the other way.
fn instead(found: String) -> Finding {
    Finding::warning(SUBJECT, found, format!("the box would run with [ports] io = \"{}\"; or mend that", Io::AfPacket))
}

/// A tag that the card takes off is lost on this way. The box turns that off where it can.
fn tags(name: &str) -> Option<Finding> {
    match iface::strips_vlan(name) {
        Ok(false) => None,
        Ok(true) => {
            let found =
                format!("{name} takes VLAN tags off received frames; the box turns that off as long as it runs");
            Some(Finding::fine(SUBJECT, found))
        }
        Err(error) => Some(Finding::unknown(SUBJECT, error)),
    }
}

/// Whether a process of this user may lock so many bytes, which cards write to.
fn lockable(bytes: u64, limits: &str, status: &str) -> Finding {
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let limit = limit.and_then(|line| line.split_whitespace().next());
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or_default();
    let needed = bytes.div_ceil(1 << 20);
    match limit {
        _ if set >> CAP_IPC_LOCK & 1 == 1 => {
            Finding::fine(SUBJECT, format!("it may lock the {needed} MiB that it needs"))
        }
        Some("unlimited") => Finding::fine(SUBJECT, format!("it may lock the {needed} MiB that it needs")),
        Some(limit) if limit.parse().is_ok_and(|limit: u64| limit >= bytes) => {
            Finding::fine(SUBJECT, format!("it may lock the {needed} MiB that it needs"))
        }
        Some(limit) => {
            let found = format!("it needs {needed} MiB of locked memory, and this user may have {limit} bytes");
            let mend = format!("LimitMEMLOCK={needed}M in the service, or ulimit -l {}", needed * 1024);
            Finding::warning(SUBJECT, found, mend)
        }
        None => Finding::unknown(SUBJECT, "/proc/self/limits does not say how much memory may be locked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn memory_that_may_not_be_locked_is_told_of() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max locked memory         8388608              8388608              bytes     \n";
        let ordinary = "CapEff:\t0000000000000000\n";
        assert_eq!(lockable(8 << 20, limits, ordinary).verdict, Verdict::Fine);
        let finding = lockable(50 << 20, limits, ordinary);
        assert_eq!(finding.verdict, Verdict::Warning);
        assert!(finding.mend.is_some_and(|mend| mend.starts_with("LimitMEMLOCK=50M")));
        assert_eq!(lockable(50 << 20, limits, "CapEff:\t0000000000004000\n").verdict, Verdict::Fine);
        let without = limits.replacen("8388608  ", "unlimited", 1);
        assert_eq!(lockable(50 << 20, &without, ordinary).verdict, Verdict::Fine);
        assert_eq!(lockable(1, "", ordinary).verdict, Verdict::Unknown);
    }
}
