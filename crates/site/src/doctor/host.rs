//! Checks of the machine: kernel, privileges, settings, processors.

use std::fs;

use super::Finding;

/// Oldest kernel that the box supports, and the oldest with its preferred attachment (`tcx`).
const OLDEST_KERNEL: (u32, u32) = (5, 15);
const KERNEL_WITH_TCX: (u32, u32) = (6, 6);
/// Privileges that the box needs: to send and receive frames, to change interfaces, to load BPF programs
/// (capabilities(7)).
const CAPABILITIES: [(u32, &str); 3] = [(13, "CAP_NET_RAW"), (12, "CAP_NET_ADMIN"), (39, "CAP_BPF")];
const CAP_SYS_ADMIN: u32 = 21;
const CAP_BPF: u32 = 39;

pub(super) fn examine() -> Vec<Finding> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut findings = vec![kernel(read("/proc/sys/kernel/osrelease").trim()), privileges(&read("/proc/self/status"))];
    findings.extend(bridge_filter(fs::read_to_string("/proc/sys/net/bridge/bridge-nf-call-iptables").ok().as_deref()));
    findings.push(processors(std::thread::available_parallelism().map_or(1, usize::from)));
    findings
}

fn kernel(release: &str) -> Finding {
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
        return Finding::unknown("kernel", format!("its release {release:?} has no number"));
    };
    match (major, minor) {
        old if old < OLDEST_KERNEL => {
            Finding::wrong("kernel", format!("{release} is too old"), "use Linux 5.15 or newer")
        }
        old if old < KERNEL_WITH_TCX => Finding::warning(
            "kernel",
            format!("{release} holds the traffic by an older way (clsact), which is less tried"),
            "use Linux 6.6 or newer if you can",
        ),
        _ => Finding::fine("kernel", release),
    }
}

fn privileges(status: &str) -> Finding {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let Some(set) = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()) else {
        return Finding::unknown("privileges", "/proc/self/status does not say which capabilities there are");
    };
    let has = |bit: u32| set >> bit & 1 == 1 || bit == CAP_BPF && set >> CAP_SYS_ADMIN & 1 == 1;
    let missing: Vec<_> = CAPABILITIES.iter().filter(|(bit, _)| !has(*bit)).map(|(_, name)| *name).collect();
    if missing.is_empty() {
        Finding::fine("privileges", "this user may run the box")
    } else {
        Finding::wrong("privileges", format!("{} missing", missing.join(", ")), "run this and the box as root")
    }
}

/// With this setting the bridge's traffic also passes iptables with its connection tracking, which is slow and may drop
/// packets.
fn bridge_filter(setting: Option<&str>) -> Option<Finding> {
    (setting?.trim() == "1").then(|| {
        Finding::warning(
            "bridge filter",
            "net.bridge.bridge-nf-call-iptables is on: what the bridge carries goes through iptables",
            "run: sysctl -w net.bridge.bridge-nf-call-iptables=0",
        )
    })
}

fn processors(count: usize) -> Finding {
    match count {
        1 => Finding::warning(
            "processors",
            "there is one",
            "give the box two; with one it is late when anything else runs",
        ),
        count => Finding::fine("processors", count),
    }
}

/// Packet loops that share a processor gain nothing.
pub(super) fn shards(shards: usize) -> Option<Finding> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (shards > 1).then(|| shards_on(shards, processors))
}

fn shards_on(shards: usize, processors: usize) -> Finding {
    if shards <= processors {
        return Finding::fine("shards", format!("{shards} on {processors} processors"));
    }
    let found = format!("{shards} on {processors} processors: some would share one");
    Finding::warning("shards", found, format!("[shards] count = {processors} at most"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn shards_want_a_processor_each() {
        assert_eq!(shards_on(2, 2).verdict, Verdict::Fine);
        assert_eq!(shards_on(3, 2).verdict, Verdict::Warning);
        assert_eq!(shards(1), None);
    }

    #[test]
    fn kernels() {
        for (release, verdict) in [
            ("5.10.0-8-amd64", Verdict::Wrong),
            ("5.15.0-91-generic", Verdict::Warning),
            ("6.1.0-28-amd64", Verdict::Warning),
            ("6.6.0", Verdict::Fine),
            ("7.0-rc1", Verdict::Fine),
            ("plan9", Verdict::Unknown),
        ] {
            assert_eq!(kernel(release).verdict, verdict, "{release}");
        }
    }

    #[test]
    fn privileges_by_capability() {
        assert_eq!(privileges("Name:\tx\nCapEff:\t000001ffffffffff\n").verdict, Verdict::Fine);
        let some = privileges("CapEff:\t0000000000002000\n");
        assert_eq!((some.verdict, some.found.as_str()), (Verdict::Wrong, "CAP_NET_ADMIN, CAP_BPF missing"));
        assert_eq!(privileges("CapEff:\t0000000000203000\n").verdict, Verdict::Fine, "CAP_SYS_ADMIN includes CAP_BPF");
        assert_eq!(privileges("").verdict, Verdict::Unknown);
    }

    #[test]
    fn the_bridge_filter_is_reported_when_it_is_on() {
        assert_eq!(bridge_filter(Some("1\n")).map(|finding| finding.verdict), Some(Verdict::Warning));
        assert_eq!((bridge_filter(Some("0\n")), bridge_filter(None)), (None, None));
    }
}
