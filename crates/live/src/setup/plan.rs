//! Changes of the machine, and how each is reverted; those that join two interfaces in a bridge.

use std::time::Duration;

use serde_json::Value;
use tracing::warn;

use super::act::Act;
use super::guard::Guard;
use super::keeper::{Keeper, Machine};
use super::{Candidate, ifupdown, interfaces, lasting, networkd};
use crate::iproute;

/// What is to be done to the network, in order, and what makes it outlast a start of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    steps: Vec<Step>,
    lasting: Vec<Step>,
    notice: Option<String>,
}

/// A change: what to do, and what takes it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) make: Option<Act>,
    pub(super) undo: Option<Act>,
}

/// A plan that is in force. Dropped, it is taken back, unless it is kept.
#[derive(Debug)]
pub struct Applied {
    undo: Vec<Act>,
    lasting: Vec<Step>,
    guard: Option<Guard>,
}

/// For how long the network stays as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Whenever the machine starts, it is made so again, as far as the plan could say.
    Lastingly,
    /// Until the machine starts again: what failed, with what it said. What was written has been taken back.
    UntilStart(String),
}

impl Plan {
    /// The commands, for a person to read.
    pub fn commands(&self) -> impl Iterator<Item = String> {
        self.steps.iter().filter_map(|step| Some(step.make.as_ref()?.in_shell("")))
    }

    /// The commands that make it outlast a start of the machine, once it is confirmed. None where [`Self::notice`] says what is
    /// to be done instead.
    pub fn lasting_commands(&self) -> impl Iterator<Item = String> {
        self.lasting.iter().filter_map(|step| Some(step.make.as_ref()?.in_shell("")))
    }

    /// Kept, it outlasts a start of the machine.
    pub fn lasts(&self) -> bool {
        !self.lasting.is_empty()
    }

    /// What an operator has to do, where this machine's network is configured in a way that is not written from here.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The commands as a script that is to run when the machine starts, unless there is an interface `mark` already.
    pub fn script(&self, mark: &str) -> String {
        lasting::up(&self.steps, mark)
    }

    /// What takes back [`Self::script`], as a script.
    pub fn script_back(&self) -> String {
        lasting::down(self.steps.iter())
    }

    /// There is nothing to be done.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Changes the network.
    ///
    /// # Errors
    /// What failed, with what it said. Everything before it has been taken back.
    pub fn apply(&self) -> Result<Applied, String> {
        self.apply_under(None)
    }

    /// The same under a watchdog that takes all of it back if this process ends before it keeps it, however it ends, or has not
    /// after `within`.
    ///
    /// # Errors
    /// As [`Self::apply`], or the watchdog cannot be started; then nothing was changed.
    pub fn apply_guarded(&self, within: Duration) -> Result<Applied, String> {
        let undo = |steps: &[Step]| -> String {
            steps.iter().rev().filter_map(|step| Some(step.undo.as_ref()?.in_shell("") + "\n")).collect()
        };
        let guard = Guard::arm(&(undo(&self.lasting) + &undo(&self.steps)), within);
        self.apply_under(Some(guard.map_err(|error| format!("the watchdog cannot be started: {error}"))?))
    }

    fn apply_under(&self, guard: Option<Guard>) -> Result<Applied, String> {
        let mut applied = Applied { undo: Vec::new(), lasting: self.lasting.clone(), guard };
        for step in &self.steps {
            if let Some(make) = &step.make {
                make.make()?;
            }
            applied.undo.extend(step.undo.clone());
        }
        Ok(applied)
    }

    pub(super) fn step(&mut self, make: String, undo: Option<String>) {
        self.act(Some(Act::Run(make)), undo.map(Act::Run));
    }

    pub(super) fn act(&mut self, make: Option<Act>, undo: Option<Act>) {
        self.steps.push(Step { make, undo });
    }

    pub(super) fn lasting(&mut self, make: Option<Act>, undo: Option<Act>) {
        self.lasting.push(Step { make, undo });
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub(super) fn lasting_steps(&self) -> &[Step] {
        &self.lasting
    }

    pub(super) fn notify(&mut self, what: String) {
        self.notice = Some(what);
    }
}

impl Applied {
    /// Leaves the network as it is now, and has it made so whenever the machine starts.
    ///
    /// # Errors
    /// The watchdog was faster: it took too long, and the network is as it was.
    pub fn keep(mut self) -> Result<Kept, String> {
        let lasting = std::mem::take(&mut self.lasting);
        let of_now = std::mem::take(&mut self.undo);
        let made = lasting.iter().try_for_each(|step| {
            if let Some(make) = &step.make {
                make.make()?;
            }
            self.undo.extend(step.undo.clone());
            Ok(())
        });
        if self.guard.take().is_some_and(|guard| !guard.disarm()) {
            // What it found it has taken back; dropped, this takes back what came since.
            self.undo.splice(0..0, of_now);
            return Err("it took too long: the network is as it was".into());
        }
        match made {
            Ok(()) => {
                self.undo.clear();
                Ok(Kept::Lastingly)
            }
            Err(why) => Ok(Kept::UntilStart(why)),
        }
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        for act in self.undo.drain(..).rev() {
            if let Err(error) = act.make() {
                warn!("cannot be taken back: {error}");
            }
        }
        if let Some(guard) = self.guard.take() {
            guard.disarm();
        }
    }
}

/// What joins two interfaces in a bridge: nothing, if they are its ports already. The wired side's addresses and routes go
/// to the bridge, so that the machine stays reachable.
///
/// # Errors
/// One of them is not there, or belongs to something else.
pub fn plan(wlan: &str, wire: &str, bridge: &str) -> Result<Plan, String> {
    let ports = interfaces()?;
    let (wlan, wire) = (find(&ports, wlan)?, find(&ports, wire)?);
    if are_joined(wlan, wire, bridge)? {
        return Ok(Plan::default());
    }
    let machine = Machine::this();
    let keeper = machine.keeper(&wire.name);
    if let Keeper::Networkd(network) = &keeper {
        return networkd::join(&machine, wlan, wire, bridge, network);
    }
    let mut plan = join(wlan, wire, bridge, &routes_of(&wire.name)?);
    match keeper {
        Keeper::Ifupdown => ifupdown::join(&mut plan, &machine, wlan, wire, bridge)?,
        Keeper::Nobody if machine.has_systemd() && !wire.is_leased => {
            machine.release(&mut plan, &wlan.name)?;
            lasting::keep(&mut plan, &machine, bridge, &[&wlan.name, &wire.name]);
        }
        Keeper::NetworkManager => plan.notify(network_manager(wlan, wire, bridge)),
        Keeper::Nobody | Keeper::Networkd(_) => plan.notify(unknown(wlan, wire, bridge)),
    }
    Ok(plan)
}

/// The commands for NetworkManager, whose profiles are not written from here.
fn network_manager(wlan: &Candidate, wire: &Candidate, bridge: &str) -> String {
    let (wlan, mac, wire) = (&wlan.name, &wire.mac, &wire.name);
    format!(
        "NetworkManager configures {wire}. For the next start of the machine, tell it of the bridge (instead of ipv4.method auto, give \
         what the profile of {wire} has), and that the old profiles are not to come up:\n  \
         nmcli connection add type bridge con-name {bridge} ifname {bridge} bridge.stp no bridge.group-forward-mask 65528 \
         bridge.mac-address {mac} ipv4.method auto\n  \
         nmcli connection add type ethernet con-name {bridge}-{wire} ifname {wire} master {bridge}\n  \
         nmcli connection add type ethernet con-name {bridge}-{wlan} ifname {wlan} master {bridge}\n  \
         nmcli connection modify \"$(nmcli -g GENERAL.CONNECTION device show {wire})\" connection.autoconnect no"
    )
}

/// If no service is known that would do it.
fn unknown(wlan: &Candidate, wire: &Candidate, bridge: &str) -> String {
    format!(
        "What configures {} here is not known. Have it make the bridge {bridge} (group_fwd_mask 65528, MAC address {}) of {} and {} \
         at the next start of the machine, with the address and the routes on the bridge.",
        wire.name, wire.mac, wlan.name, wire.name
    )
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

/// Whether both are ports of the bridge, or free to be.
fn are_joined(wlan: &Candidate, wire: &Candidate, bridge: &str) -> Result<bool, String> {
    if wlan.name == wire.name {
        return Err(format!("{} cannot be both sides", wlan.name));
    }
    match (wlan.bridge.as_deref(), wire.bridge.as_deref()) {
        (Some(one), Some(other)) if one == bridge && other == bridge => Ok(true),
        (None, None) => Ok(false),
        (Some(other), _) => Err(format!("{} is a port of {other} already", wlan.name)),
        (_, Some(other)) => Err(format!("{} is a port of {other} already", wire.name)),
    }
}

fn join(wlan: &Candidate, wire: &Candidate, bridge: &str, routes: &[Value]) -> Plan {
    let mut plan = Plan::default();
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
    plan
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
            is_leased: false,
        }
    }

    #[test]
    fn addresses_and_routes_move_to_the_bridge_and_come_back() {
        let routes = [
            json!({"dst": "default", "gateway": "10.0.0.1", "protocol": "dhcp", "metric": 100}),
            json!({"dst": "10.0.0.0/24", "protocol": "kernel", "scope": "link"}),
        ];
        let (wlan, wire) = (port("eth1", None, &[]), port("eth0", None, &["10.0.0.7/24"]));
        let plan = join(&wlan, &wire, "br0", &routes);
        let commands: Vec<_> = plan.commands().collect();
        let position =
            |text: &str| commands.iter().position(|command| command == text).unwrap_or_else(|| panic!("{text}"));
        assert!(position("ip addr del 10.0.0.7/24 dev eth0") < position("ip addr add 10.0.0.7/24 dev br0"));
        let last = "ip route add default via 10.0.0.1 proto dhcp metric 100 dev br0";
        assert_eq!(commands.last().map(String::as_str), Some(last));
        assert!(!commands.iter().any(|command| command.contains("10.0.0.0/24")), "it comes with the address");
        let undo: Vec<_> = plan.steps.iter().rev().filter_map(|step| Some(step.undo.as_ref()?.in_shell(""))).collect();
        let way = "default via 10.0.0.1 proto dhcp metric 100";
        assert_eq!(undo[..2], [format!("ip route del {way} dev br0"), "ip addr del 10.0.0.7/24 dev br0".into()]);
        let back = ["ip link set eth0 nomaster", "ip link set eth1 nomaster", "ip addr add 10.0.0.7/24 dev eth0"];
        assert_eq!(undo[2..5], back);
        assert_eq!(undo[5..], [format!("ip route add {way} dev eth0"), "ip link del br0".into()]);
    }

    #[test]
    fn what_is_joined_already_stays_and_what_belongs_to_others_too() {
        let join = |a: Candidate, b: Candidate| are_joined(&a, &b, "br0");
        assert_eq!(join(port("a", Some("br0"), &[]), port("b", Some("br0"), &[])), Ok(true));
        assert_eq!(join(port("a", None, &[]), port("b", None, &[])), Ok(false));
        let refused = |a, b| join(a, b).expect_err("refused");
        assert!(refused(port("a", Some("br7"), &[]), port("b", None, &[])).contains("a is a port of br7 already"));
        assert!(refused(port("a", None, &[]), port("a", None, &[])).contains("cannot be both sides"));
    }
}
