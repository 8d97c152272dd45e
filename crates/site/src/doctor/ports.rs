//! Checks of the interfaces: whether they exist, whether packets can cross, and whether segments are merged.

use evenair_boxfile::BoxConfig;
use evenair_live::checks;
use evenair_sys::iface::{self, Interface};

use super::{Finding, Verdict};

pub(super) fn examine(config: &BoxConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    let bridge = match config.bridge.as_deref() {
        None => {
            findings.push(Finding::warning(
                "bridge",
                "none is configured: nothing passes while the box does not run",
                "join both ports in a bridge and name it: [ports] bridge = \"br0\"",
            ));
            None
        }
        Some(name) => match checks::look_up_bridge(name) {
            Ok(bridge) => {
                findings.push(bridge_settings(&bridge));
                Some(bridge)
            }
            Err(error) => {
                findings.push(from_error("bridge", &error));
                None
            }
        },
    };
    let mut look_up = |key: &str, name: &str| match checks::look_up(key, name, bridge.as_ref()) {
        Ok(found) => {
            findings.extend(interface(key, &found));
            Some(found)
        }
        Err(error) => {
            findings.push(from_error(key, &error));
            None
        }
    };
    let pair = (look_up("wlan", &config.wlan), look_up("wire", &config.wire));
    if let (Some(wlan), Some(wire)) = pair {
        findings.push(match checks::check_pair(&wlan, &wire) {
            Ok(()) => Finding::fine("MTU", format!("{} on both sides", wlan.mtu)),
            Err(error) => from_error("MTU", &error),
        });
        let isolation = bridge.as_ref().and_then(|bridge| checks::isolation(&bridge.name, &wlan, &wire));
        findings.extend(isolation.map(|why| from_error("bridge", &anyhow::Error::msg(why))));
    }
    findings
}

/// The box's own errors have their remedy after "run:".
fn from_error(subject: &str, error: &anyhow::Error) -> Finding {
    let text = format!("{error:#}");
    match text.split_once("; run: ") {
        Some((found, command)) => Finding::wrong(subject, found, format!("run: {command}")),
        None => Finding { verdict: Verdict::Wrong, ..Finding::unknown(subject, text) },
    }
}

fn bridge_settings(bridge: &Interface) -> Finding {
    match bridge.bridge_spanning_tree {
        Some(true) => Finding::warning(
            "bridge",
            format!("{} speaks the spanning tree protocol: a port that comes up is deaf for 30 s", bridge.name),
            format!("unless there are loops, run: ip link set {} type bridge stp_state 0", bridge.name),
        ),
        _ => Finding::fine("bridge", &bridge.name),
    }
}

fn interface(key: &str, port: &Interface) -> Vec<Finding> {
    let mut findings = vec![match port.carrier {
        Some(false) => Finding::wrong(
            key,
            format!("{} has no carrier", port.name),
            "plug the cable in, at both ends, and switch on what is behind it",
        ),
        _ => Finding::fine(key, format!("{} is up", port.name)),
    }];
    match iface::large_receive(&port.name) {
        Ok(true) => findings.push(Finding::wrong(
            key,
            format!("{}: large receive offload is on, which merges packets so that they cannot be sent on", port.name),
            format!("run: ethtool -K {} lro off", port.name),
        )),
        Ok(false) => {}
        Err(error) => findings.push(Finding::unknown(key, error)),
    }
    findings
}
