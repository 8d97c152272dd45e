//! Monitors whether the bridge could carry the traffic if the box did not.
//!
//! Fail-open relies on the bridge when the box dies, hangs or is bypassed: it must exist, be up and forward between both
//! ports. Other programs may change that while the box runs. A thread monitors the interfaces ([`FailOpen::watch`]), and
//! reports when fail-open is lost and when it is back. Until then the box does not hand the traffic to the bridge unless
//! forced to.
//!
//! It is a separate thread because the kernel may answer requests about an interface slowly while interfaces change: it
//! processes one such request after the other. The packet loop only reads the result.
//!
//! A bypassed box does not insert itself when the bridge loses a port: the operator may want to separate the networks, and
//! joining them behind the bridge's back would undo that. The box reports that nothing carries the traffic; `insert`
//! remains possible.
//!
//! This thread also notices a raised MTU of both ports: the rings and the packet memory fit the MTU at the time when the
//! box opened the ports, and it must reopen them for longer frames. It monitors the MTU without a configured bridge as
//! well.
//!
//! Once a second, and when an interface changes, it also looks after what else concerns the ports ([`Ports`]).
//!
//! Not detected: VLAN filters of the bridge, netfilter rules.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use evenair_api::FailOpenStatus;
use evenair_api::history::Event;
use evenair_sys::iface::{self, Interface, PortState};
use evenair_sys::links::LinkEvents;
use evenair_sys::rt::{Epoll, Waker};
use tracing::{error, info, warn};

use crate::control::{ControlHandle, ControlRequest};
use crate::events::EventSink;
use crate::other_programs::Ports;
use crate::port;

/// Pause after each check of the interfaces, so that a flood of changes elsewhere on the machine costs little.
const PAUSE: Duration = Duration::from_millis(20);
/// Interval of checks without a notification: not every change has one.
const EVERY: Duration = Duration::from_secs(1);

/// The bridge and the ports as opened, and their present state.
#[derive(Debug)]
pub struct FailOpen {
    bridge: Option<Interface>,
    ports: [Interface; 2],
    found: Mutex<Found>,
    /// Why the loop has to reopen the ports.
    replaced: Mutex<Option<String>>,
    /// The bridge's address, as a number: it changes with the ports of a bridge without a configured address.
    address: AtomicU64,
    /// Link-local groups that pass from the WLAN side, in the lower half, and from the wired side ([`port::group_mask`]).
    groups: AtomicU32,
    /// Whether only the bridge carries the traffic now.
    bypassed: AtomicBool,
    /// Wakes the thread, if it is running.
    waker: OnceLock<Arc<(AtomicBool, Waker)>>,
}

/// State of the bridge and the ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    /// Why the bridge cannot carry the traffic.
    why: Vec<String>,
    /// Other differences from the start.
    notes: Vec<String>,
    /// That frames are longer than the box can receive, and the remedy.
    too_long: Option<String>,
    /// That an interface in use was replaced, or has a larger MTU now.
    replaced: Option<String>,
    /// The bridge's address.
    address: Option<[u8; 6]>,
    /// Link-local groups that pass from each port.
    groups: Option<[u16; 2]>,
}

/// An interface by the index and by the name that it had at the start.
#[derive(Clone, Debug)]
struct Seen {
    by_number: Option<Interface>,
    by_name: Option<Interface>,
}

/// The monitoring thread; it ends when this is dropped.
pub(crate) struct Watching {
    end: Arc<(AtomicBool, Waker)>,
    thread: Option<JoinHandle<()>>,
}

impl FailOpen {
    /// A state in which all these interfaces are as they should be.
    pub(crate) fn new(bridge: Option<Interface>, ports: [Interface; 2]) -> Arc<Self> {
        let address = AtomicU64::new(bridge.as_ref().map_or(0, |bridge| number_of(bridge.address)));
        let groups = [&ports[0], &ports[1]].map(|port| port::group_mask(bridge.as_ref(), port));
        Arc::new(Self {
            bridge,
            ports,
            found: Mutex::default(),
            replaced: Mutex::default(),
            address,
            groups: AtomicU32::new(packed(groups)),
            bypassed: AtomicBool::new(true),
            waker: OnceLock::new(),
        })
    }

    /// Monitors in a separate thread until the returned value is dropped, and looks after `ports`. `reopens`: the loop to notify
    /// when everything is whole again, but a port or the bridge is a new one, so that it has to open them anew.
    ///
    /// # Errors
    /// A refused system call; no room for the thread.
    pub(crate) fn watch(
        self: &Arc<Self>,
        history: Option<EventSink>,
        reopens: Option<ControlHandle>,
        mut ports: Ports,
    ) -> Result<Watching> {
        let events = LinkEvents::subscribe()?;
        let end = Arc::new((AtomicBool::new(false), Waker::new()?));
        let mut epoll = Epoll::new(2)?;
        epoll.add(&events, 0)?;
        epoll.add(&end.1, 1)?;
        let (this, ended) = (Arc::clone(self), Arc::clone(&end));
        // An earlier one has ended.
        let _ = self.waker.set(Arc::clone(&end));
        let work = move || {
            loop {
                // Also at the start: the interfaces may have changed since the box looked them up.
                this.look_and_reopen(history.as_ref(), reopens.as_ref());
                ports.tend(!this.bypassed.load(Ordering::Acquire), this.bridge.is_some(), history.as_ref());
                if epoll.wait(Some(EVERY)).is_err() || ended.0.load(Ordering::Acquire) {
                    break;
                }
                ended.1.clear();
                if events.take() {
                    thread::sleep(PAUSE);
                }
            }
        };
        let thread = thread::Builder::new().name("fail-open".into()).spawn(work);
        Ok(Watching { end, thread: Some(thread.context("start the thread that watches the bridge")?) })
    }

    fn look_and_reopen(&self, history: Option<&EventSink>, reopens: Option<&ControlHandle>) {
        self.look(history, reopens.is_some());
        if let Some(control) = reopens
            && let Found { why, replaced: Some(new), .. } = self.found()
            && why.is_empty()
        {
            *self.replaced.lock().unwrap_or_else(PoisonError::into_inner) = Some(new);
            // It checks at every request.
            let _ = control.begin(ControlRequest::Nothing);
        }
    }

    fn found(&self) -> Found {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why the ports have to be reopened, once they can be and that is wanted.
    pub(crate) fn is_replaced(&self) -> Option<String> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Checks the interfaces and logs changes. Slow while the kernel is busy with interfaces.
    fn look(&self, history: Option<&EventSink>, reopens: bool) {
        let now = self.ask();
        let before = std::mem::replace(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner), now.clone());
        if let Some(address) = now.address {
            self.address.store(number_of(address), Ordering::Release);
        }
        if let Some(groups) = now.groups {
            self.groups.store(packed(groups), Ordering::Release);
        }
        for note in now.notes.iter().filter(|note| !before.notes.contains(note)) {
            warn!("{note}");
        }
        if let Some(text) = now.too_long.filter(|text| !reopens && before.too_long.as_ref() != Some(text)) {
            warn!("{text}");
            if let Some(history) = history {
                history.leave_own(Event::Ports { text });
            }
        }
        if now.why == before.why || self.bridge.is_none() {
            return;
        }
        let event = Event::FailOpen { available: now.why.is_empty(), why: now.why.clone() };
        if now.why.is_empty() {
            info!("{}", event.text());
        } else {
            error!("{}. {}", event.text(), self.consequence());
        }
        if let Some(history) = history {
            history.leave_own(event);
        }
    }

    fn consequence(&self) -> &'static str {
        match self.bypassed.load(Ordering::Acquire) {
            true => "NOTHING CARRIES THE TRAFFIC: mend the bridge, or run: evenair insert",
            false => "The box carries the traffic; if it dies, hangs or is bypassed, nothing does",
        }
    }

    /// Queries the kernel for the present state.
    fn ask(&self) -> Found {
        let see = |was: &Interface| Seen {
            by_number: iface::find_index(was.index).ok(),
            by_name: iface::find(&was.name).ok(),
        };
        let [wlan, wire] = &self.ports;
        let bridge = self.bridge.as_ref().map(|bridge| (bridge, see(bridge)));
        judge(bridge, [(wlan, see(wlan)), (wire, see(wire))])
    }

    /// Whether the bridge can carry the traffic, as far as is known.
    pub(crate) fn status(&self) -> FailOpenStatus {
        if self.bridge.is_none() {
            return FailOpenStatus { available: false, why: vec!["no bridge is configured: [ports] bridge".into()] };
        }
        let why = self.found().why;
        FailOpenStatus { available: why.is_empty(), why }
    }

    /// Why the traffic must not be handed to the bridge; `None`: it can carry the traffic, or no bridge is configured. Queries the kernel,
    /// so not for the packet loop.
    pub fn refusal(&self) -> Option<String> {
        self.bridge.as_ref()?;
        let why = self.ask().why;
        let what = "the bridge cannot carry the traffic";
        (!why.is_empty()).then(|| {
            format!(
                "{what}: {}; the box goes on carrying it. Mend that, or use --force to cut the network",
                why.join("; and ")
            )
        })
    }

    /// Logs that the bridge carries the traffic now, or that nothing does; `more`: further information on the box.
    pub(crate) fn say_bypassed(&self, more: &str) {
        match self.status() {
            FailOpenStatus { available: true, .. } => info!("{more}the bridge carries the traffic"),
            FailOpenStatus { why, .. } => error!("{more}NOTHING CARRIES THE TRAFFIC: {}", why.join("; and ")),
        }
    }

    /// Logs the consequence of the box's end, if there is one.
    pub(crate) fn warn_of_end(&self) {
        let FailOpenStatus { available, why } = self.status();
        if !available {
            error!("the box ends, and from then on NOTHING CARRIES THE TRAFFIC: {}", why.join("; and "));
        }
    }

    /// Notes a switchover of the traffic.
    pub(crate) fn set_bypassed(&self, bypassed: bool) {
        self.bypassed.store(bypassed, Ordering::Release);
        if let Some(waker) = self.waker.get() {
            waker.1.wake();
        }
    }

    /// Link-local groups that pass: from the WLAN side, from the wired side.
    pub(crate) fn groups(&self) -> [u16; 2] {
        let groups = self.groups.load(Ordering::Acquire);
        [groups as u16, (groups >> 16) as u16]
    }

    /// The bridge's address, as a number to compare with.
    pub(crate) fn address(&self) -> u64 {
        self.address.load(Ordering::Acquire)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.end.0.store(true, Ordering::Release);
        self.end.1.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn packed([wlan, wire]: [u16; 2]) -> u32 {
    u32::from(wlan) | u32::from(wire) << 16
}

/// The first six bytes are the address.
pub(crate) fn address_of(number: u64) -> [u8; 6] {
    let [a, b, c, d, e, f, ..] = number.to_ne_bytes();
    [a, b, c, d, e, f]
}

fn number_of([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_ne_bytes([a, b, c, d, e, f, 0, 0])
}

/// Compares the present state with that at the start.
fn judge(bridge: Option<(&Interface, Seen)>, ports: [(&Interface, Seen); 2]) -> Found {
    let mut found = Found::default();
    let bridge = bridge.and_then(|(was, seen)| found.judge_bridge(was, seen));
    found.address = bridge.as_ref().map(|bridge| bridge.address);
    let [wlan, wire] = ports.map(|(was, seen)| {
        let now = found.follow(was, seen);
        found.judge_port(&was.name, now.as_ref(), bridge.as_ref());
        now.map(|now| (was, now))
    });
    if let (Some(wlan), Some(wire)) = (wlan, wire) {
        found.groups = Some([&wlan.1, &wire.1].map(|port| port::group_mask(bridge.as_ref(), port)));
        let isolates = |bridge: &Interface| port::isolation(&bridge.name, &wlan.1, &wire.1);
        found.why.extend(bridge.as_ref().and_then(isolates));
        found.judge_lengths([wlan, wire]);
    }
    found
}

impl Found {
    /// The present interface: the same one under any name, or else another one under its name.
    fn follow(&mut self, was: &Interface, seen: Seen) -> Option<Interface> {
        let name = &was.name;
        match seen {
            Seen { by_number: Some(now), .. } => {
                if now.name != *name {
                    let (is, number) = (&now.name, now.index);
                    self.notes.push(format!(
                        "{name} (number {number}) is called {is} now: the box goes on, and would not find it when started \
                         again; run: ip link set {is} name {name}"
                    ));
                }
                Some(now)
            }
            Seen { by_name: Some(now), .. } => {
                let text = format!("{name} was removed, and there is a new {name}");
                self.notes.push(format!("{text}, which the box uses once it has begun again"));
                self.replaced.get_or_insert(text);
                Some(now)
            }
            _ => None,
        }
    }

    fn judge_bridge(&mut self, was: &Interface, seen: Seen) -> Option<Interface> {
        let name = &was.name;
        let now = self.follow(was, seen);
        match &now {
            None => self
                .why
                .push(format!("the bridge {name} does not exist any more; run: ip link add {name} up type bridge")),
            Some(now) if now.bridge_group_forward.is_none() => {
                self.why.push(format!("{} is not a bridge any more", now.name))
            }
            Some(now) if !now.up => self.why.push(format!("the bridge {0} is down; run: ip link set {0} up", now.name)),
            Some(_) => {}
        }
        now
    }

    /// Checks the MTUs: each port as it was opened, and as it is.
    fn judge_lengths(&mut self, [(wlan_was, wlan), (_, wire)]: [(&Interface, Interface); 2]) {
        if wlan.mtu != wire.mtu {
            return self.why.push(format!(
                "{} has MTU {} and {} has MTU {}, so that long packets cannot cross; run: ip link set NAME mtu N",
                wlan.name, wlan.mtu, wire.name, wire.mtu
            ));
        }
        // Both had the same MTU when they were opened. A new interface is reopened with any MTU.
        if wlan.mtu > wlan_was.mtu && self.replaced.is_none() {
            let (was, is) = (wlan_was.mtu, wlan.mtu);
            let text = format!("the MTU of {} and {} was raised from {was} to {is}", wlan.name, wire.name);
            self.too_long = Some(format!(
                "{text}: the box has opened them for {was} and drops longer frames while it carries the traffic; start it \
                 again (systemctl restart evenair)"
            ));
            self.replaced = Some(text);
        }
    }

    fn judge_port(&mut self, name: &str, port: Option<&Interface>, bridge: Option<&Interface>) {
        let Some(port) = port else { return self.why.push(format!("{name} does not exist any more")) };
        let is = &port.name;
        if !port.up {
            self.why.push(format!("{is} is down; run: ip link set {is} up"));
        }
        let Some(bridge) = bridge else { return };
        if port.master != Some(bridge.index) {
            let bridge = &bridge.name;
            return self.why.push(format!("{is} is not a port of {bridge}; run: ip link set {is} master {bridge}"));
        }
        let state = match port.port_state {
            Some(PortState::Blocking) => "blocks",
            Some(PortState::Listening) => "only listens at",
            Some(PortState::Learning) => "only learns at",
            // Disabled: down, which was reported above, or without a cable, where nothing could carry the traffic.
            Some(PortState::Disabled | PortState::Forwarding) | None => return,
        };
        self.why.push(format!("{} {state} its port {is} (spanning tree)", bridge.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, index: u32) -> Interface {
        Interface {
            name: name.into(),
            index,
            mtu: 1500,
            address: [2, 0, 0, 0, 0, index as u8],
            up: true,
            carrier: Some(true),
            master: (index > 1).then_some(1),
            bridge_group_forward: (index == 1).then_some(0),
            bridge_spanning_tree: None,
            xdp_program: None,
            port_state: (index > 1).then_some(PortState::Forwarding),
            port_isolated: false,
            port_group_forward: 0,
        }
    }

    /// The state found after `change` of the bridge and the ports.
    fn found(change: impl Fn(&mut [Interface; 3])) -> Found {
        let was = [interface("br0", 1), interface("wl0", 2), interface("wi0", 3)];
        let mut now = was.clone();
        change(&mut now);
        let see = |was: &Interface| Seen {
            by_number: now.iter().find(|now| now.index == was.index).cloned(),
            by_name: now.iter().find(|now| now.name == was.name).cloned(),
        };
        let [bridge, wlan, wire] = &was;
        judge(Some((bridge, see(bridge))), [(wlan, see(wlan)), (wire, see(wire))])
    }

    #[test]
    fn each_reason_against_the_bridge_is_reported_with_its_remedy() {
        assert_eq!(
            found(|_| ()),
            Found { address: Some([2, 0, 0, 0, 0, 1]), groups: Some([1; 2]), ..Found::default() }
        );
        let why = |change: fn(&mut [Interface; 3])| found(change).why.join("; and ");
        assert_eq!(why(|[_, wlan, _]| wlan.master = None), "wl0 is not a port of br0; run: ip link set wl0 master br0");
        assert_eq!(
            why(|[_, _, wire]| wire.master = Some(9)),
            "wi0 is not a port of br0; run: ip link set wi0 master br0"
        );
        assert_eq!(why(|[bridge, ..]| bridge.up = false), "the bridge br0 is down; run: ip link set br0 up");
        assert!(why(|[_, wlan, _]| wlan.mtu = 9000).starts_with("wl0 has MTU 9000 and wi0 has MTU 1500"));
        assert!(why(|[_, wlan, _]| wlan.up = false).starts_with("wl0 is down"));
        let state = why(|[_, wlan, _]| wlan.port_state = Some(PortState::Blocking));
        assert_eq!(state, "br0 blocks its port wl0 (spanning tree)");
        let isolated = why(|[_, wlan, wire]| (wlan.port_isolated, wire.port_isolated) = (true, true));
        let said =
            "br0 isolates its ports wl0 and wi0 from each other; run: ip link set wl0 type bridge_slave isolated off";
        assert_eq!(isolated, said);
        assert_eq!(why(|[_, wlan, _]| wlan.port_isolated = true), "", "one of them may be");
        assert_eq!(why(|[_, wlan, _]| (wlan.name, wlan.index) = ("x".into(), 9)), "wl0 does not exist any more");
        assert_eq!(why(|[_, wlan, _]| wlan.carrier = Some(false)), "", "without a cable nothing could carry anything");
    }

    #[test]
    fn groups_pass_as_the_bridge_forwards_them() {
        let groups = |change: fn(&mut [Interface; 3])| found(change).groups.expect("both are there");
        assert_eq!(groups(|[bridge, ..]| bridge.bridge_group_forward = Some(0xfff8)), [0xfff9; 2]);
        assert_eq!(groups(|[bridge, ..]| bridge.bridge_spanning_tree = Some(true)), [0; 2]);
        assert_eq!(groups(|[_, wlan, _]| wlan.port_group_forward = 0x4005), [0x4005, 1]);
        assert_eq!(
            groups(|[bridge, wlan, _]| (bridge.bridge_group_forward, wlan.port_group_forward) = (Some(7), 2)),
            [1; 2]
        );
        assert_eq!(port::group_mask(None, &interface("wl0", 2)), 0xfff9);
        let frame = |last: u8| [0x01, 0x80, 0xc2, 0, 0, last, 0x88, 0xcc];
        assert_eq!((port::link_local_group(&frame(0x0e)), port::link_local_group(&frame(0x10))), (Some(0x0e), None));
    }

    #[test]
    fn a_raised_mtu_of_both_ports_requires_reopening() {
        let at = |wlan_mtu, wire_mtu| found(|[_, wlan, wire]| (wlan.mtu, wire.mtu) = (wlan_mtu, wire_mtu));
        let raised = at(9000, 9000);
        assert_eq!(raised.replaced.as_deref(), Some("the MTU of wl0 and wi0 was raised from 1500 to 9000"));
        assert!(raised.why.is_empty() && raised.too_long.expect("said").contains("start it again"));
        for other in [at(1400, 1400), at(1500, 1500), at(9000, 1500)] {
            assert_eq!((other.replaced, other.too_long), (None, None), "what fits goes on");
        }
    }

    #[test]
    fn a_new_bridge_carries_the_traffic_and_a_new_name_changes_nothing() {
        let replaced = found(|[bridge, wlan, wire]| {
            bridge.index = 7;
            (wlan.master, wire.master) = (Some(7), Some(7));
        });
        assert_eq!((replaced.why.len(), replaced.notes.len()), (0, 1), "{replaced:?}");
        assert_eq!(replaced.replaced.as_deref(), Some("br0 was removed, and there is a new br0"));
        let renamed = found(|[_, wlan, _]| wlan.name = "lan9".into());
        assert_eq!(renamed.why, Vec::<String>::new());
        assert!(renamed.notes[0].contains("wl0 (number 2) is called lan9 now"), "{renamed:?}");
        let deleted = found(|[bridge, wlan, wire]| {
            (bridge.name, bridge.index) = ("gone".into(), 99);
            (wlan.master, wire.master) = (None, None);
        });
        assert_eq!(deleted.why.len(), 1, "what follows from it is not said: {deleted:?}");
    }
}
