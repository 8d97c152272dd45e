//! Check whether this machine is the gateway that the configuration describes.

use std::fs;

use evenair_boxfile::{BoxConfig, RouterConfig};
use evenair_sys::iproute;
use serde_json::Value;

use super::Finding;

const SUBJECT: &str = "gateway";

pub(super) fn examine(config: &BoxConfig, router: &RouterConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    let addresses = match iproute::list(&["ip", "-j", "-d", "addr", "show", "dev", &router.gateway]) {
        Err(why) => {
            let mend = "evenair init --router --apply makes it, or correct [router] gateway";
            return vec![Finding::wrong(SUBJECT, why, mend)];
        }
        Ok(links) => {
            let link = links.into_iter().find(|link| link["ifname"] == *router.gateway).unwrap_or_default();
            findings.extend(judge_gateway(config, router, &link));
            super::super::setup::addresses(&link)
        }
    };
    let setting = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).ok();
    let name = "net/bridge/bridge-nf-call-iptables";
    findings.extend(bridge_filter(name, setting(name).as_deref()));
    if let Some(bridge) = &config.bridge {
        let name = format!("net/ipv4/conf/{bridge}/arp_ignore");
        findings.extend(answers(bridge, &name, setting(&name).as_deref()));
    }
    findings.push(forwarding("IPv4", "net/ipv4/ip_forward", setting("net/ipv4/ip_forward").as_deref()));
    if addresses.iter().any(|address| address.contains(':')) {
        let name = "net/ipv6/conf/all/forwarding";
        findings.push(forwarding("IPv6", name, setting(name).as_deref()));
        let name = format!("net/ipv6/conf/{}/accept_ra", router.uplink);
        findings.extend(advertisements(&name, setting(&name).as_deref()));
    }
    findings.push(match iproute::run(&["nft", "-j", "list", "ruleset"]) {
        Err(why) => Finding::unknown("translation", why),
        Ok(output) => judge_rules(router, &serde_json::from_slice(&output.stdout).unwrap_or_default()),
    });
    findings
}

/// Checks that the gateway is up, has an address, does not merge packets, and that its peer is the box's wired side.
fn judge_gateway(config: &BoxConfig, router: &RouterConfig, link: &Value) -> Vec<Finding> {
    let gateway = &router.gateway;
    let mut findings = Vec::new();
    if link["link"] != *config.wire {
        findings.push(Finding::wrong(
            SUBJECT,
            format!("{} is not the other end of {gateway}: the box does not stand before the gateway", config.wire),
            format!("[ports] wire is to be the port of the bridge whose other end is {gateway}"),
        ));
    }
    let is_up = link["flags"].as_array().is_some_and(|flags| flags.iter().any(|flag| flag == "UP"));
    if !is_up {
        findings.push(Finding::wrong(SUBJECT, format!("{gateway} is down"), format!("run: ip link set {gateway} up")));
    }
    let addresses = super::super::setup::addresses(link);
    if addresses.is_empty() {
        findings.push(Finding::wrong(
            SUBJECT,
            format!("{gateway} has no address, so that stations have no gateway"),
            format!("run: ip addr add ADDRESS/LENGTH dev {gateway}"),
        ));
    }
    if config.io.asks_for_xdp() && link["gso_max_segs"].as_u64() != Some(1) {
        findings.push(Finding::wrong(
            SUBJECT,
            format!("{gateway} hands over super-packets, which AF_XDP sockets cannot receive"),
            format!("run: ip link set {gateway} gso_max_segs 1"),
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::fine(SUBJECT, format!("{gateway} has {}", addresses.join(", "))));
    }
    findings
}

/// Packets that the bridge's filter has tracked before routing are not translated.
fn bridge_filter(name: &str, setting: Option<&str>) -> Option<Finding> {
    (setting?.trim() == "1").then(|| {
        Finding::wrong(
            "translation",
            "what the bridge carries goes through iptables, and connections that were seen there are not translated",
            format!("run: sysctl -w {name}=0"),
        )
    })
}

/// Stations that use the bridge's MAC address for the gateway's bypass the box (arp_ignore in the kernel's ip-sysctl).
fn answers(bridge: &str, name: &str, setting: Option<&str>) -> Option<Finding> {
    (setting?.trim() != "8").then(|| {
        Finding::wrong(
            SUBJECT,
            format!("{bridge} answers for the gateway's address, and who believes it goes around the box"),
            format!("run: sysctl -w {name}=8"),
        )
    })
}

fn forwarding(version: &str, name: &str, setting: Option<&str>) -> Finding {
    match setting.map(str::trim) {
        None => Finding::unknown("forwarding", format!("the kernel does not say whether it forwards {version}")),
        Some("0") => Finding::wrong(
            "forwarding",
            format!("the kernel does not forward {version}: stations reach nobody beyond this machine"),
            format!("run: sysctl -w {name}=1"),
        ),
        Some(_) => Finding::fine("forwarding", format!("the kernel forwards {version}")),
    }
}

/// A forwarding machine accepts router advertisements only if explicitly configured.
fn advertisements(name: &str, setting: Option<&str>) -> Option<Finding> {
    (setting?.trim() == "1").then(|| {
        Finding::warning(
            "forwarding",
            "the uplink does not take router advertisements any more, now that the kernel forwards IPv6",
            format!("if it has its address or its way out from them, run: sysctl -w {name}=2"),
        )
    })
}

/// Whether a rule translates traffic that leaves by the uplink. If the next router knows the stations' network, none is
/// needed.
fn judge_rules(router: &RouterConfig, rules: &Value) -> Finding {
    let rules = rules["nftables"].as_array().into_iter().flatten().filter_map(|entry| entry["rule"]["expr"].as_array());
    let translates = |expressions: &&Vec<Value>| {
        expressions.iter().any(|e| e.get("masquerade").is_some() || e.get("snat").is_some())
            && expressions.iter().all(|e| match &e["match"] {
                rule if rule["left"]["meta"]["key"] == "oifname" => rule["right"] == *router.uplink,
                _ => true,
            })
    };
    match rules.into_iter().any(|rule| translates(&rule)) {
        true => Finding::fine("translation", format!("what leaves by {} gets its address", router.uplink)),
        false => Finding::warning(
            "translation",
            format!("no rule of nftables translates what leaves by {}", router.uplink),
            "unless the next router knows the way to the stations' network, add one: docs/box.md has it",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use evenair_boxfile::Io;
    use evenair_manager::Config;
    use evenair_wifi::{Phy, Standard};
    use serde_json::json;

    fn router() -> RouterConfig {
        RouterConfig { gateway: "gw0".into(), uplink: "eth0".into() }
    }

    #[test]
    fn a_gateway_is_up_has_an_address_and_ends_at_the_box() {
        let mut config = BoxConfig::new("eth1", "gw0p", Config::new(Phy::default_for(Standard::Dot11g)));
        config.io = Io::AfXdp;
        let good = json!({"ifname": "gw0", "link": "gw0p", "flags": ["UP"], "gso_max_segs": 1,
            "addr_info": [{"local": "192.168.77.1", "prefixlen": 24, "scope": "global"}]});
        let judge = |config: &BoxConfig, link: &Value| judge_gateway(config, &router(), link);
        assert_eq!(judge(&config, &good)[0].verdict, Verdict::Fine);
        for (key, value, found) in [
            ("link", json!("other0"), "not the other end"),
            ("flags", json!([]), "is down"),
            ("gso_max_segs", json!(65535), "super-packets"),
            ("addr_info", json!([]), "no address"),
        ] {
            let mut bad = good.clone();
            bad[key] = value;
            let findings = judge(&config, &bad);
            assert!(findings.len() == 1 && findings[0].found.contains(found), "{key}: {findings:?}");
            assert_eq!(findings[0].verdict, Verdict::Wrong);
        }
        // Packet rings accept super-packets, and "auto" then chooses them.
        let mut offloading = good;
        offloading["gso_max_segs"] = json!(65535);
        for io in [Io::AfPacket, Io::Auto] {
            config.io = io;
            assert_eq!(judge(&config, &offloading)[0].verdict, Verdict::Fine);
        }
    }

    #[test]
    fn translation_is_for_the_uplink() {
        let rules = |port: &str, act: Value| {
            let of_port = json!({"match": {"op": "==", "left": {"meta": {"key": "oifname"}}, "right": port}});
            json!({"nftables": [{"metainfo": {}}, {"rule": {"expr": [of_port, act]}}]})
        };
        let judge = |rules: &Value| judge_rules(&router(), rules).verdict;
        assert_eq!(judge(&rules("eth0", json!({"masquerade": null}))), Verdict::Fine);
        assert_eq!(judge(&rules("eth9", json!({"masquerade": null}))), Verdict::Warning);
        assert_eq!(judge(&rules("eth0", json!({"accept": null}))), Verdict::Warning);
        assert_eq!(judge(&Value::Null), Verdict::Warning);
    }

    #[test]
    fn forwarding_is_off_on_or_unknown() {
        for (setting, verdict) in
            [(Some("0\n"), Verdict::Wrong), (Some("1\n"), Verdict::Fine), (None, Verdict::Unknown)]
        {
            assert_eq!(forwarding("IPv4", "net/ipv4/ip_forward", setting).verdict, verdict);
        }
        assert_eq!(bridge_filter("x", Some("1\n")).map(|finding| finding.verdict), Some(Verdict::Wrong));
        assert_eq!((bridge_filter("x", Some("0")), bridge_filter("x", None)), (None, None));
        assert_eq!(answers("br0", "x", Some("0\n")).map(|finding| finding.verdict), Some(Verdict::Wrong));
        assert_eq!((answers("br0", "x", Some("8\n")), answers("br0", "x", None)), (None, None));
        assert_eq!(advertisements("x", Some("1")).map(|finding| finding.verdict), Some(Verdict::Warning));
        assert_eq!((advertisements("x", Some("2")), advertisements("x", None)), (None, None));
    }
}
