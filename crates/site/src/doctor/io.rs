//! Check whether AF_XDP is available where it is configured, and what is missing.

use evenair_boxfile::{BoxConfig, Io};
use evenair_live::checks::{self, Lockable, Needs, comes_incomplete, lockable, read};
use evenair_sys::{iface, iproute};

use super::{Finding, Verdict};

const SUBJECT: &str = "AF_XDP";
/// Locked memory that `packaging/af-xdp.conf` allows the service, in megabytes, and how an operator enables it.
const PACKAGED_LIMIT_MB: u64 = 512;
const ALLOW: &str = "install -D -m 644 /usr/share/evenair/af-xdp.conf /etc/systemd/system/evenair.service.d/af-xdp.conf && \
                     systemctl daemon-reload && systemctl restart evenair";

pub(super) fn examine(config: &BoxConfig) -> Vec<Finding> {
    if config.io == Io::AfPacket {
        return Vec::new();
    }
    // Missing interfaces have already been reported.
    let (Ok(wlan), Ok(wire)) = (iface::find(&config.wlan), iface::find(&config.wire)) else { return Vec::new() };
    let ports = [&wlan, &wire];
    if config.io == Io::Auto
        && let Some(why) = checks::objection_to(config, ports)
    {
        return vec![Finding::fine(SUBJECT, format!("not chosen, packet rings are: {why}"))];
    }
    let most_bytes = ports.map(checks::most_bytes).into_iter().max().unwrap_or_default();
    let needs = match Needs::of(ports, most_bytes, config.ring_frames) {
        Ok(needs) => needs,
        Err(error) => return vec![instead(format!("{error:#}"))],
    };
    let bytes = needs.locked_bytes(config.pool_frames);
    let mut findings = vec![memory(bytes, &read("/proc/self/limits"), &read("/proc/self/status"))];
    findings.extend(service(bytes));
    if config.io == Io::Auto {
        return vec![summary(findings)];
    }
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

/// One finding for automatic selection: that AF_XDP is chosen, or what prevents it, with the remedy.
fn summary(findings: Vec<Finding>) -> Finding {
    match findings.into_iter().find(|finding| finding.verdict != Verdict::Fine) {
        // Packet rings are sufficient: no remedy is needed.
        Some(Finding { found, mend, .. }) => {
            let allowed = mend.map_or_else(String::new, |mend| format!("; what would allow it: {mend}"));
            Finding::fine(SUBJECT, format!("not chosen, packet rings are: {found}{allowed}"))
        }
        None => Finding::fine(SUBJECT, "chosen, if both drivers have it, which is seen at the start"),
    }
}

/// The finding that the box uses packet rings.
fn instead(found: String) -> Finding {
    Finding::warning(SUBJECT, found, format!("the box would run with [ports] io = \"{}\"; or mend that", Io::AfPacket))
}

/// VLAN tags that the card strips are lost with AF_XDP. The box turns stripping off where possible.
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

/// Whether a process of this user may lock `bytes` of memory, to which cards write.
fn memory(bytes: u64, limits: &str, status: &str) -> Finding {
    let needed = bytes.div_ceil(1 << 20);
    match lockable(bytes, limits, status) {
        Lockable::Yes => Finding::fine(SUBJECT, format!("it may lock the {needed} MiB that it needs")),
        Lockable::Limited(limit) => {
            let mend = format!("LimitMEMLOCK={needed}M in the service, or ulimit -l {}", needed * 1024);
            Finding::warning(SUBJECT, checks::too_little(bytes, &limit), mend)
        }
        Lockable::Unknown => Finding::unknown(SUBJECT, "/proc/self/limits does not say how much memory may be locked"),
    }
}

/// The privileges of the packaged service, if installed, which may be fewer than those of the caller.
fn service(bytes: u64) -> Option<Finding> {
    const PROPERTIES: &str = "--property=LoadState,RestrictAddressFamilies,LimitMEMLOCK";
    let shown = iproute::run(&["systemctl", "show", "evenair.service", PROPERTIES]).ok()?;
    judge_service(bytes, &String::from_utf8_lossy(&shown.stdout))
}

fn judge_service(bytes: u64, shown: &str) -> Option<Finding> {
    let value = |key: &str| shown.lines().find_map(|line| line.strip_prefix(key));
    if value("LoadState=") != Some("loaded") {
        return None;
    }
    // A deny list begins with a tilde (systemd.exec(5)); an empty one denies nothing.
    let families = value("RestrictAddressFamilies=").unwrap_or_default();
    let is_listed = families.trim_start_matches('~').split_whitespace().any(|family| family == "AF_XDP");
    let may = families.is_empty() || families == "~" || is_listed != families.starts_with('~');
    let limit = value("LimitMEMLOCK=").unwrap_or("infinity");
    let locks = limit == "infinity" || limit.parse().is_ok_and(|limit: u64| limit >= bytes);
    let needed = bytes.div_ceil(1 << 20);
    let (found, mend) = match (may, locks) {
        (true, true) => return Some(Finding::fine(SUBJECT, "the service may have its sockets and lock their memory")),
        (true, false) | (false, _) if needed > PACKAGED_LIMIT_MB => {
            let found = format!("the service may not have its sockets, or lock {needed} MiB for them");
            (
                found,
                format!("systemctl edit evenair: [Service] RestrictAddressFamilies=AF_XDP and LimitMEMLOCK={needed}M"),
            )
        }
        (true, false) => (format!("the service may not lock the {needed} MiB that it needs"), ALLOW.to_owned()),
        (false, _) => ("the service may not have its sockets".to_owned(), ALLOW.to_owned()),
    };
    Some(Finding::warning(SUBJECT, found, format!("run: {mend}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_privileges_of_the_service_are_reported_with_their_remedy() {
        let shown = |families: &str, limit: &str| {
            format!("LoadState=loaded\nRestrictAddressFamilies={families}\nLimitMEMLOCK={limit}\n")
        };
        let judge = |families: &str, limit: &str| judge_service(48 << 20, &shown(families, limit)).expect("installed");
        let packaged = judge("AF_UNIX AF_PACKET", "8388608");
        assert_eq!(packaged.verdict, Verdict::Warning);
        assert!(packaged.mend.is_some_and(|mend| mend.contains("/usr/share/evenair/af-xdp.conf")));
        assert_eq!(judge("AF_UNIX AF_XDP", "8388608").verdict, Verdict::Warning, "memory");
        assert_eq!(judge("~AF_XDP", "infinity").verdict, Verdict::Warning);
        for families in ["AF_UNIX AF_XDP", "", "~", "~AF_INET"] {
            assert_eq!(judge(families, "536870912").verdict, Verdict::Fine, "{families}");
        }
        let much = judge_service(600 << 20, &shown("AF_UNIX", "8388608")).expect("installed");
        assert!(much.mend.is_some_and(|mend| mend.contains("LimitMEMLOCK=600M")));
        assert_eq!(judge_service(1, "LoadState=not-found\n"), None);
    }

    #[test]
    fn with_automatic_selection_missing_privileges_are_no_warning() {
        let fine = Finding::fine(SUBJECT, "it may");
        let refused = Finding::warning(SUBJECT, "the service may not", "run: this");
        let found = summary(vec![fine.clone(), refused]);
        assert_eq!((found.verdict, found.mend), (Verdict::Fine, None));
        assert!(found.found.contains("packet rings are: the service may not; what would allow it: run: this"));
        assert!(summary(vec![fine]).found.starts_with("chosen"));
    }

    #[test]
    fn the_packaged_drop_in_allows_what_the_remedy_promises() {
        let text = include_str!("../../../../packaging/af-xdp.conf");
        assert!(text.contains("RestrictAddressFamilies=AF_XDP\n"));
        assert!(text.contains(&format!("LimitMEMLOCK={PACKAGED_LIMIT_MB}M\n")));
    }

    #[test]
    fn memory_that_may_not_be_locked_is_reported() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max locked memory         8388608              8388608              bytes     \n";
        let ordinary = "CapEff:\t0000000000000000\n";
        assert_eq!(memory(8 << 20, limits, ordinary).verdict, Verdict::Fine);
        let finding = memory(50 << 20, limits, ordinary);
        assert_eq!(finding.verdict, Verdict::Warning);
        assert!(finding.mend.is_some_and(|mend| mend.starts_with("LimitMEMLOCK=50M")));
        assert_eq!(memory(50 << 20, limits, "CapEff:\t0000000000004000\n").verdict, Verdict::Fine);
        let without = limits.replacen("8388608  ", "unlimited", 1);
        assert_eq!(memory(50 << 20, &without, ordinary).verdict, Verdict::Fine);
        assert_eq!(memory(1, "", ordinary).verdict, Verdict::Unknown);
    }
}
