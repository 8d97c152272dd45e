//! Changes of the machine with their undo, and the plan that joins two interfaces in a bridge.

use std::time::Duration;

use evenair_sys::iface;
use tracing::warn;

use super::act::{self, Act};
use super::guard::Guard;
use super::keeper::{Keeper, Machine};
use super::state::{Saved, State};
use super::{Candidate, ifupdown, interfaces, lasting, networkd};

/// Changes of the network, in order, and those that make them permanent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    steps: Vec<Step>,
    /// The previous state, to be restored after the undo of the steps.
    saved: Option<Saved>,
    lasting: Vec<Step>,
    notice: Option<String>,
}

/// A change with its undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) make: Option<Act>,
    pub(super) undo: Option<Act>,
}

/// An applied plan. Reverted when dropped, unless it is kept.
#[derive(Debug)]
pub struct Applied {
    undo: Vec<Act>,
    saved: Option<Saved>,
    lasting: Vec<Step>,
    guard: Option<Guard>,
}

/// Lifetime of a kept change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Permanent: restored at every boot, as far as the plan could arrange.
    Lastingly,
    /// Until the next boot, with the error that prevented more. Files written for it were reverted.
    UntilStart(String),
}

impl Plan {
    /// The commands, for display.
    pub fn commands(&self) -> impl Iterator<Item = String> {
        self.steps.iter().filter_map(|step| Some(step.make.as_ref()?.in_shell("")))
    }

    /// The commands that make the change permanent, once it is confirmed. None if [`Self::notice`] has instructions instead.
    pub fn lasting_commands(&self) -> impl Iterator<Item = String> {
        self.lasting.iter().filter_map(|step| Some(step.make.as_ref()?.in_shell("")))
    }

    /// Whether it becomes permanent when kept.
    pub fn lasts(&self) -> bool {
        !self.lasting.is_empty()
    }

    /// Instructions for the operator, if the service that configures the network cannot be changed automatically.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The commands as a script for the boot, to be run unless the interface `mark` exists.
    pub fn script(&self, mark: &str) -> String {
        lasting::up(&self.steps, mark)
    }

    /// The undo of [`Self::script`], as a script.
    pub fn script_back(&self) -> String {
        lasting::down(self.steps.iter(), self.restoration())
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Changes the network.
    ///
    /// # Errors
    /// The failed command with its error, or entries that did not arrive; and whether the network was restored. Or the network
    /// has changed since the plan was made; then nothing was changed.
    pub fn apply(&self) -> Result<Applied, String> {
        self.check_unchanged()?;
        self.apply_under(None)
    }

    /// The same under a watchdog, which reverts the change if this process ends in any way, or `within` is over, before the
    /// change is kept.
    ///
    /// # Errors
    /// As [`Self::apply`], or the watchdog cannot be started; then nothing was changed.
    pub fn apply_guarded(&self, within: Duration) -> Result<Applied, String> {
        self.check_unchanged()?;
        let undo = |steps: &[Step]| -> String {
            steps.iter().rev().filter_map(|step| Some(step.undo.as_ref()?.in_shell("") + "\n")).collect()
        };
        let restore: String = self.restoration().iter().map(|act| act.in_shell("") + "\n").collect();
        let guard = Guard::arm(&(undo(&self.lasting) + &undo(&self.steps) + &restore), within);
        let guard = guard.map_err(|error| format!("the watchdog cannot be started: {error}; nothing was changed"))?;
        self.apply_under(Some(guard))
    }

    /// Checks that the network is as when the plan was made: otherwise the undo would restore another state.
    fn check_unchanged(&self) -> Result<(), String> {
        self.saved.as_ref().map_or(Ok(()), Saved::check_unchanged)
    }

    fn apply_under(&self, guard: Option<Guard>) -> Result<Applied, String> {
        let (saved, lasting) = (self.saved.clone(), self.lasting.clone());
        let mut applied = Applied { undo: Vec::new(), saved, lasting, guard };
        let made = self.steps.iter().try_for_each(|step| {
            if let Some(make) = &step.make {
                make.make()?;
            }
            applied.undo.extend(step.undo.clone());
            Ok(())
        });
        match made.and_then(|()| applied.check_arrived()) {
            Ok(()) => Ok(applied),
            Err(why) => Err(format!("{why}; {}", applied.revert())),
        }
    }

    /// The changes that restore the previous state, after the undo of the steps.
    pub(super) fn restoration(&self) -> &[Act] {
        self.saved.as_ref().map_or(&[], Saved::restoration)
    }

    pub(super) fn save(&mut self, saved: Saved) {
        self.saved = Some(saved);
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
    /// Keeps the network as it is, and makes it permanent.
    ///
    /// # Errors
    /// A moved entry is missing, or the watchdog was faster; and whether the network was restored.
    pub fn keep(mut self) -> Result<Kept, String> {
        if let Err(missing) = self.check_arrived() {
            return Err(format!("{missing}; {}", self.revert()));
        }
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
            // The watchdog has reverted `of_now`.
            return Err(format!("it took too long: {}", self.revert()));
        }
        drop(of_now);
        self.saved = None;
        match made {
            Ok(()) => {
                self.undo.clear();
                Ok(Kept::Lastingly)
            }
            Err(why) => Ok(Kept::UntilStart(why)),
        }
    }

    /// Reverts the change, compares the network with the previous state, and returns the result as text.
    pub fn revert(mut self) -> String {
        match self.take_back() {
            failed if failed.is_empty() => "the network is as it was".into(),
            failed => format!("the network is NOT as it was: {}", failed.join("; ")),
        }
    }

    /// Reverts the change. Returns failures and differences.
    fn take_back(&mut self) -> Vec<String> {
        let mut failed: Vec<_> = self.undo.drain(..).rev().filter_map(|act| act.make().err()).collect();
        failed.extend(self.saved.take().map(|saved| saved.restore()).unwrap_or_default());
        if let Some(guard) = self.guard.take() {
            guard.disarm();
        }
        failed
    }

    fn check_arrived(&self) -> Result<(), String> {
        self.saved.as_ref().map_or(Ok(()), Saved::check_arrived)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        for failed in self.take_back() {
            warn!("not as before: {failed}");
        }
    }
}

/// The plan that joins two interfaces in a bridge: empty, if they already are its ports. The wired side's addresses and routes
/// move to the bridge, so that the machine stays reachable.
///
/// # Errors
/// One of them does not exist, or belongs to another bridge.
pub fn plan(wlan: &str, wire: &str, bridge: &str) -> Result<Plan, String> {
    let ports = interfaces()?;
    let (wlan, wire) = (find(&ports, wlan)?, find(&ports, wire)?);
    if are_joined(wlan, wire, bridge)? {
        return Ok(Plan::default());
    }
    let machine = Machine::this();
    let keeper = machine.keeper(&wire.name);
    check_absent(&[bridge])?;
    let devices = [wlan.name.as_str(), &wire.name];
    let before = State::read(&devices)?;
    if let Keeper::Networkd(network) = &keeper {
        before.check_made_of()?;
        let mut plan = networkd::join(&machine, wlan, wire, bridge, network)?;
        plan.save(Saved::new(&before, &devices, [&wire.name, bridge], Some(act::PATIENCE)));
        return Ok(plan);
    }
    before.check(&wire.name, bridge)?;
    let mut plan = join(wlan, wire, bridge, &before);
    plan.save(Saved::new(&before, &devices, [&wire.name, bridge], None));
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

/// Instructions for NetworkManager, whose profiles are not changed automatically.
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

/// Instructions if the responsible service is unknown.
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

/// Checks that interfaces to be made do not exist yet.
pub(super) fn check_absent(names: &[&str]) -> Result<(), String> {
    match names.iter().find(|name| iface::find(name).is_ok()) {
        Some(name) => Err(format!("{name}: there is such an interface already; choose another name")),
        None => Ok(()),
    }
}

/// Whether both are ports of the bridge, rather than free.
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

fn join(wlan: &Candidate, wire: &Candidate, bridge: &str, before: &State) -> Plan {
    let mut plan = Plan::default();
    // 0xfff8: forwards 802.1X, LLDP and the like, as a cable does.
    plan.step(format!("ip link add {bridge} type bridge group_fwd_mask 0xfff8"), Some(format!("ip link del {bridge}")));
    // The wired side's MAC address keeps the machine's DHCP lease.
    plan.step(format!("ip link set {bridge} address {}", wire.mac), None);
    before.removals(&wire.name).into_iter().for_each(|command| plan.step(command, None));
    for port in [wlan, wire] {
        plan.step(format!("ip link set {} up", port.name), None);
        plan.step(
            format!("ip link set {} master {bridge}", port.name),
            Some(format!("ip link set {} nomaster", port.name)),
        );
    }
    plan.step(format!("ip link set {bridge} up"), None);
    // Reverted with the bridge.
    before.additions(&wire.name, bridge).into_iter().for_each(|command| plan.step(command, None));
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "unicast default via 10.0.0.1 dev eth0 table main proto dhcp scope global metric 100",
            "unicast 10.0.0.0/24 dev eth0 table main proto kernel scope link src 10.0.0.7",
        ];
        let (wlan, wire) = (port("eth1", None, &[]), port("eth0", None, &["10.0.0.7/24"]));
        let before = State::of("eth0", &wire.addresses, &routes);
        let mut plan = join(&wlan, &wire, "br0", &before);
        let commands: Vec<_> = plan.commands().collect();
        let position =
            |text: &str| commands.iter().position(|command| command == text).unwrap_or_else(|| panic!("{text}"));
        assert!(position("ip -4 addr del 10.0.0.7/24 dev eth0") < position("ip -4 addr add 10.0.0.7/24 dev br0"));
        let last = "ip -4 route add default via 10.0.0.1 dev br0 proto dhcp metric 100";
        assert_eq!(commands.last().map(String::as_str), Some(last));
        assert!(!commands.iter().any(|command| command.contains("10.0.0.0/24")), "it comes with the address");
        plan.save(Saved::new(&before, &["eth1", "eth0"], ["eth0", "br0"], None));
        let undo = plan.script_back();
        let undo: Vec<_> = undo.lines().skip(2).collect();
        assert_eq!(undo[..3], ["ip link set eth0 nomaster", "ip link set eth1 nomaster", "ip link del br0"]);
        let restored = [
            "ip -4 addr flush dev eth0",
            "ip -4 addr add 10.0.0.7/24 dev eth0",
            "ip -4 route add default via 10.0.0.1 dev eth0 proto dhcp metric 100",
        ];
        assert_eq!(undo[3..], restored);
    }

    #[test]
    fn joined_interfaces_and_those_of_others_are_left_alone() {
        let join = |a: Candidate, b: Candidate| are_joined(&a, &b, "br0");
        assert_eq!(join(port("a", Some("br0"), &[]), port("b", Some("br0"), &[])), Ok(true));
        assert_eq!(join(port("a", None, &[]), port("b", None, &[])), Ok(false));
        let refused = |a, b| join(a, b).expect_err("refused");
        assert!(refused(port("a", Some("br7"), &[]), port("b", None, &[])).contains("a is a port of br7 already"));
        assert!(refused(port("a", None, &[]), port("a", None, &[])).contains("cannot be both sides"));
    }
}
