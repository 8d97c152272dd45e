//! Changes of the network, and how each is taken back; those that join two interfaces in a bridge.

use evenair_sys::netns;
use serde_json::Value;
use tracing::warn;

use super::{Candidate, interfaces};
use crate::iproute;

/// What is to be done to the network, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    steps: Vec<Step>,
}

/// A change: what to do, and what takes it back. Commands of `ip`, `nft` and `sysctl`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    make: String,
    undo: Option<String>,
}

/// A plan that is in force. Dropped, it is taken back, unless it is kept.
#[derive(Debug)]
pub struct Applied {
    undo: Vec<String>,
}

impl Plan {
    /// The commands, for a person to read.
    pub fn commands(&self) -> impl Iterator<Item = String> {
        self.steps.iter().map(|step| match step.make.split_once(' ') {
            // The shell is to leave its braces and semicolons alone.
            Some(("nft", words)) => format!("nft '{words}'"),
            Some(("sysctl", setting)) => format!("sysctl -w {setting}"),
            _ => step.make.clone(),
        })
    }

    /// There is nothing to be done.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Changes the network.
    ///
    /// # Errors
    /// The command that failed, with what it said. Everything before it has been taken back.
    pub fn apply(&self) -> Result<Applied, String> {
        let mut applied = Applied { undo: Vec::new() };
        for step in &self.steps {
            run(&step.make)?;
            applied.undo.extend(step.undo.clone());
        }
        Ok(applied)
    }

    pub(super) fn step(&mut self, make: String, undo: Option<String>) {
        self.steps.push(Step { make, undo });
    }
}

impl Applied {
    /// Leaves the network as it is now.
    pub fn keep(mut self) {
        self.undo.clear();
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        for command in self.undo.drain(..).rev() {
            if let Err(error) = run(&command) {
                warn!("cannot be taken back: {error}");
            }
        }
    }
}

fn run(command: &str) -> Result<(), String> {
    match command.split_once(' ') {
        // It has a language of its own, and takes all of it as one word.
        Some(("nft", words)) => iproute::run(&["nft", words]).map(drop),
        Some(("sysctl", setting)) => {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            netns::set_sysctl(name, value).map_err(|error| error.to_string())
        }
        _ => iproute::run(&command.split(' ').collect::<Vec<_>>()).map(drop),
    }
}

/// What joins two interfaces in a bridge: nothing, if they are its ports already. The wired side's addresses and routes go
/// to the bridge, so that the machine stays reachable.
///
/// # Errors
/// One of them is not there, or belongs to something else.
pub fn plan(wlan: &str, wire: &str, bridge: &str) -> Result<Plan, String> {
    let ports = interfaces()?;
    join(find(&ports, wlan)?, find(&ports, wire)?, bridge, &routes_of(wire)?)
}

/// The port of this name.
pub(super) fn find<'p>(ports: &'p [Candidate], name: &str) -> Result<&'p Candidate, String> {
    let names = || ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = ports.iter().find(|port| port.name == name);
    found.ok_or_else(|| format!("{name}: there is no such Ethernet interface; there are: {}", names()))
}

/// The routes over an interface.
pub(super) fn routes_of(name: &str) -> Result<Vec<Value>, String> {
    let routes = |family: &str| iproute::list(&["ip", family, "-j", "route", "show", "dev", name]);
    Ok([routes("-4")?, routes("-6")?].concat())
}

fn join(wlan: &Candidate, wire: &Candidate, bridge: &str, routes: &[Value]) -> Result<Plan, String> {
    if wlan.name == wire.name {
        return Err(format!("{} cannot be both sides", wlan.name));
    }
    let mut plan = Plan::default();
    match (wlan.bridge.as_deref(), wire.bridge.as_deref()) {
        (Some(one), Some(other)) if one == bridge && other == bridge => return Ok(plan),
        (None, None) => {}
        (Some(other), _) => return Err(format!("{} is a port of {other} already", wlan.name)),
        (_, Some(other)) => return Err(format!("{} is a port of {other} already", wire.name)),
    }
    // 0xfff8: 802.1X, LLDP and the like go on, as they did over a cable.
    plan.step(format!("ip link add {bridge} type bridge group_fwd_mask 0xfff8"), Some(format!("ip link del {bridge}")));
    // With the wired side's address the machine keeps its lease.
    plan.step(format!("ip link set {bridge} address {}", wire.mac), None);
    let routes: Vec<_> = routes.iter().filter_map(in_words).collect();
    for (target, way) in &routes {
        let there = format!("{} {way} dev {}", target, wire.name);
        plan.step(format!("ip route del {there}"), Some(format!("ip route add {there}")));
    }
    for address in &wire.addresses {
        let there = format!("{address} dev {}", wire.name);
        plan.step(format!("ip addr del {there}"), Some(format!("ip addr add {there}")));
    }
    for port in [wlan, wire] {
        plan.step(format!("ip link set {} up", port.name), None);
        plan.step(
            format!("ip link set {} master {bridge}", port.name),
            Some(format!("ip link set {} nomaster", port.name)),
        );
    }
    plan.step(format!("ip link set {bridge} up"), None);
    // Taken back before the wired side gets its own again: there can be only one of each.
    let moved = wire.addresses.iter().map(|address| ("addr", format!("{address} dev {bridge}")));
    let moved = moved.chain(routes.iter().map(|(target, way)| ("route", format!("{target} {way} dev {bridge}"))));
    moved.for_each(|(what, there)| plan.step(format!("ip {what} add {there}"), Some(format!("ip {what} del {there}"))));
    Ok(plan)
}

/// A route as `ip` takes it: where to, and which way. `None` for those that come with addresses, by themselves.
pub(super) fn in_words(route: &Value) -> Option<(String, String)> {
    let by_itself = matches!(route["protocol"].as_str(), Some("kernel" | "ra"));
    let target = route["dst"].as_str().filter(|_| !by_itself)?;
    let mut way = vec![];
    for (word, key) in [("via", "gateway"), ("src", "prefsrc"), ("proto", "protocol")] {
        way.extend(route[key].as_str().map(|value| format!("{word} {value}")));
    }
    way.extend(route["metric"].as_u64().map(|metric| format!("metric {metric}")));
    // Without a gateway the route ends at the link.
    if route["gateway"].is_null() {
        way.push("scope link".into());
    }
    Some((target.to_owned(), way.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn port(name: &str, bridge: Option<&str>, addresses: &[&str]) -> Candidate {
        Candidate {
            name: name.into(),
            mac: "02:00:00:00:00:01".into(),
            carrier: true,
            bridge: bridge.map(str::to_owned),
            addresses: addresses.iter().map(|&address| address.into()).collect(),
            to_router: false,
        }
    }

    #[test]
    fn addresses_and_routes_move_to_the_bridge_and_come_back() {
        let routes = [
            json!({"dst": "default", "gateway": "10.0.0.1", "protocol": "dhcp", "metric": 100}),
            json!({"dst": "10.0.0.0/24", "protocol": "kernel", "scope": "link"}),
        ];
        let (wlan, wire) = (port("eth1", None, &[]), port("eth0", None, &["10.0.0.7/24"]));
        let plan = join(&wlan, &wire, "br0", &routes).expect("a plan");
        let commands: Vec<_> = plan.commands().collect();
        let position =
            |text: &str| commands.iter().position(|command| command == text).unwrap_or_else(|| panic!("{text}"));
        assert!(position("ip addr del 10.0.0.7/24 dev eth0") < position("ip addr add 10.0.0.7/24 dev br0"));
        let last = "ip route add default via 10.0.0.1 proto dhcp metric 100 dev br0";
        assert_eq!(commands.last().map(String::as_str), Some(last));
        assert!(!commands.iter().any(|command| command.contains("10.0.0.0/24")), "it comes with the address");
        let undo: Vec<_> = plan.steps.iter().rev().filter_map(|step| step.undo.as_deref()).collect();
        let way = "default via 10.0.0.1 proto dhcp metric 100";
        assert_eq!(undo[..2], [format!("ip route del {way} dev br0"), "ip addr del 10.0.0.7/24 dev br0".into()]);
        let back = ["ip link set eth0 nomaster", "ip link set eth1 nomaster", "ip addr add 10.0.0.7/24 dev eth0"];
        assert_eq!(undo[2..5], back);
        assert_eq!(undo[5..], [format!("ip route add {way} dev eth0"), "ip link del br0".into()]);
    }

    #[test]
    fn what_is_joined_already_stays_and_what_belongs_to_others_too() {
        let join = |a: Candidate, b: Candidate| join(&a, &b, "br0", &[]);
        assert!(join(port("a", Some("br0"), &[]), port("b", Some("br0"), &[])).expect("a plan").is_empty());
        let refused = |a, b| join(a, b).expect_err("refused");
        assert!(refused(port("a", Some("br7"), &[]), port("b", None, &[])).contains("a is a port of br7 already"));
        assert!(refused(port("a", None, &[]), port("a", None, &[])).contains("cannot be both sides"));
    }
}
