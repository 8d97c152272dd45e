//! Checks of the path: other programs on it, and the orientation of the box.

use evenair_api::Status;
use evenair_boxfile::BoxConfig;
use evenair_live::checks;
use evenair_sys::{attached, iface, iproute};
use serde_json::Value;

use super::Finding;

/// Queueing disciplines that only queue. Any other one at a port shapes or schedules a second time.
const PLAIN_QUEUES: [&str; 7] = ["noqueue", "pfifo_fast", "pfifo", "fq_codel", "mq", "fq", "clsact"];

pub(super) fn examine(config: &BoxConfig, status: Option<&Status>) -> Vec<Finding> {
    let mut findings: Vec<_> = [&config.wlan, &config.wire].into_iter().map(|name| second_manager(name)).collect();
    findings.extend([&config.wlan, &config.wire].into_iter().filter_map(|name| others(name)));
    // The wired side of a gateway is a veth pair to itself, which `router` examines.
    if let Some(bridge) = config.bridge.as_ref().filter(|_| config.router.is_none()) {
        findings.push(sides(config, bridge, status));
    }
    findings
}

/// Programs of others that intercept packets at a port. That of a running box is expected.
fn others(port: &str) -> Option<Finding> {
    const SUBJECT: &str = "other programs";
    // A missing port is reported elsewhere.
    let programs = match attached::at_ingress(&iface::find(port).ok()?) {
        Ok(programs) => programs,
        Err(error) => return Some(Finding::unknown(SUBJECT, error)),
    };
    let foreign: Vec<_> = programs.into_iter().filter(|program| program.process().is_none()).collect();
    if !foreign.is_empty() {
        let found = checks::describe(port, &foreign);
        return Some(Finding::wrong(SUBJECT, found, "detach it: the box does not start beside it"));
    }
    match checks::filters(port) {
        Ok(filters) if filters.is_empty() => None,
        Ok(filters) => Some(Finding::warning(
            SUBJECT,
            format!("{port} has filters, which see packets only while the bridge carries them: {}", filters.join(", ")),
            format!("unless that is intended, run: tc filter del dev {port} ingress"),
        )),
        Err(why) => Some(Finding::unknown(SUBJECT, why)),
    }
}

fn second_manager(interface: &str) -> Finding {
    match iproute::list(&["tc", "-j", "qdisc", "show", "dev", interface]) {
        Err(why) => Finding::unknown("other shapers", why),
        Ok(disciplines) => judge_disciplines(interface, &disciplines),
    }
}

fn judge_disciplines(interface: &str, disciplines: &[Value]) -> Finding {
    let kinds = disciplines.iter().filter_map(|discipline| discipline["kind"].as_str());
    let other: Vec<_> = kinds.filter(|kind| !PLAIN_QUEUES.contains(kind)).collect();
    if other.is_empty() {
        return Finding::fine("other shapers", format!("none at {interface}"));
    }
    Finding::warning(
        "other shapers",
        format!("{interface} has {}: two schedulers in a row undo each other's work", other.join(", ")),
        format!("if nothing else needs it, run: tc qdisc del dev {interface} root"),
    )
}

/// The router belongs to the wired side. If the bridge learned its address on the side of the access points, the ports are
/// swapped. While a box is inserted the bridge learns nothing, but the box knows the stations.
fn sides(config: &BoxConfig, bridge: &str, status: Option<&Status>) -> Finding {
    let heard = iproute::list(&["bridge", "-j", "fdb", "show", "br", bridge]);
    let routes = iproute::list(&["ip", "-j", "route", "show", "default"]);
    let neighbours = iproute::list(&["ip", "-j", "neigh", "show"]);
    match (heard, routes, neighbours) {
        (Ok(heard), Ok(routes), Ok(neighbours)) => {
            let stations = status.iter().flat_map(|status| &status.stations).map(|station| station.mac.as_str());
            judge_sides(config, &heard, &stations.collect::<Vec<_>>(), router(&routes, &neighbours).as_deref())
        }
        (Err(why), _, _) | (_, Err(why), _) | (_, _, Err(why)) => Finding::unknown("sides", why),
    }
}

/// The MAC address of the default router, if this machine knows it.
fn router(routes: &[Value], neighbours: &[Value]) -> Option<String> {
    let gateway = routes.iter().find_map(|route| route["gateway"].as_str())?;
    let neighbour = neighbours.iter().find(|neighbour| neighbour["dst"].as_str() == Some(gateway))?;
    neighbour["lladdr"].as_str().map(str::to_owned)
}

/// `stations`: addresses that a running box has seen on the side of the access points.
fn judge_sides(config: &BoxConfig, heard: &[Value], stations: &[&str], router: Option<&str>) -> Finding {
    let (mut wlan, wire) = (learned(heard, &config.wlan), learned(heard, &config.wire));
    let more: Vec<_> = stations.iter().filter(|station| !wlan.contains(station)).copied().collect();
    wlan.extend(more);
    let with_router = |addresses: &[&str]| router.is_some_and(|router| addresses.contains(&router));
    if with_router(&wlan) {
        return Finding::wrong(
            "sides",
            format!("the router answers on {}, which is to be the side of the access points", config.wlan),
            "swap wlan and wire in the configuration, or the cables",
        );
    }
    let count = format!("{} addresses heard on {}, {} on {}", wlan.len(), config.wlan, wire.len(), config.wire);
    if with_router(&wire) {
        return Finding::fine("sides", format!("the router is on {}; {count}", config.wire));
    }
    Finding::unknown("sides", format!("this machine knows no router to tell them by; {count}"))
}

/// The addresses that the bridge has learned at a port, without the port's own.
fn learned<'a>(heard: &'a [Value], port: &str) -> Vec<&'a str> {
    let at_port = heard.iter().filter(|entry| entry["ifname"].as_str() == Some(port));
    at_port
        .filter(|entry| entry["state"].as_str() != Some("permanent"))
        .filter_map(|entry| entry["mac"].as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use evenair_manager::Config;
    use evenair_wifi::{Phy, Standard};
    use serde_json::json;

    fn list(value: Value) -> Vec<Value> {
        value.as_array().cloned().expect("a list")
    }

    #[test]
    fn a_second_scheduler_is_reported() {
        let plain = list(json!([{"kind": "mq", "root": true}, {"kind": "fq_codel", "parent": ":1"}]));
        assert_eq!(judge_disciplines("eth0", &plain).verdict, Verdict::Fine);
        let shaper = list(json!([{"kind": "htb", "handle": "1:", "root": true}, {"kind": "cake"}]));
        let finding = judge_disciplines("eth0", &shaper);
        assert_eq!(finding.verdict, Verdict::Warning);
        assert!(finding.found.contains("htb, cake"), "{}", finding.found);
    }

    #[test]
    fn swapped_sides_are_seen_by_the_router() {
        let config = BoxConfig::new("wl0", "wi0", Config::new(Phy::default_for(Standard::Dot11g)));
        let heard = |port: &str| {
            list(json!([
                {"mac": "02:00:00:00:00:01", "ifname": port, "state": ""},
                {"mac": "02:00:00:00:00:02", "ifname": "wl0", "state": "permanent"},
            ]))
        };
        let routes = list(json!([{"dst": "default", "gateway": "10.0.0.1", "dev": "br0"}]));
        let neighbours = list(json!([{"dst": "10.0.0.1", "lladdr": "02:00:00:00:00:01"}]));
        let router = router(&routes, &neighbours);
        assert_eq!(router.as_deref(), Some("02:00:00:00:00:01"));
        let judge = |heard: &[Value], stations: &[&str], router| judge_sides(&config, heard, stations, router).verdict;
        assert_eq!(judge(&heard("wi0"), &[], router.as_deref()), Verdict::Fine);
        assert_eq!(judge(&heard("wl0"), &[], router.as_deref()), Verdict::Wrong);
        assert_eq!(judge(&heard("wl0"), &[], None), Verdict::Unknown);
        // Inserted: the bridge has learned nothing, and the box has seen stations.
        let stations = ["02:00:00:00:00:07", "02:00:00:00:00:01"];
        assert_eq!(judge(&[], &stations, router.as_deref()), Verdict::Wrong);
        assert_eq!(judge(&[], &stations[..1], router.as_deref()), Verdict::Unknown);
    }
}
