//! Parsers of `evenair init` for the output of other programs, exported for tests with mutated inputs and for fuzz targets.
//! Not a stable interface of the crate.

use std::path::Path;

use serde_json::Value;

use super::entry::Entry;
use super::keeper::Machine;
use super::plan::Plan;
use super::{Candidate, ifupdown, networkd};

/// A bridge's name.
pub const BRIDGE: &str = "br0";

/// The candidate ports, from the output of `ip -j addr` and `ip -j route`.
pub fn interfaces(links: &[Value], routes: &[Value]) -> Vec<Candidate> {
    super::candidates(links, routes)
}

/// Commands that restore, on another interface, the addresses of `ip -j addr` and the routes and neighbours of `ip -o -d route`
/// and `ip -o neigh`.
pub fn entries(links: &[Value], lines: &str) -> Vec<String> {
    let address = |link: &Value| -> Vec<Entry> {
        let list = link["addr_info"].as_array().into_iter().flatten();
        list.filter_map(|info| Entry::address("eth0", "02:00:00:00:00:01", info)).collect()
    };
    let of_line = |line: &str| [Entry::route(line, false), Entry::route(line, true), Entry::neighbour(line)];
    let entries = links.iter().flat_map(address).chain(lines.lines().flat_map(of_line).flatten());
    entries.flat_map(|entry| [entry.renamed("eth0", BRIDGE).command("add"), entry.removal()]).collect()
}

/// The files with which systemd-networkd configures the link with this state.
pub fn networkd_text(root: &Path, state: &str) -> Option<String> {
    networkd::text_of(root, state)
}

/// The configuration of the bridge by systemd-networkd, made from that of the wired side.
pub fn networkd_bridge(network: &str, lease: Option<&str>) -> String {
    networkd::of_bridge(BRIDGE, network, lease)
}

/// A machine below a folder, with interfaces configured by ifupdown.
#[derive(Debug)]
pub struct Ifupdown {
    machine: Machine,
    plan: Plan,
}

impl Ifupdown {
    /// Plans to join two of its interfaces.
    ///
    /// # Errors
    /// Its files configure them in an unsupported form.
    pub fn join(root: &Path, wlan: &str, wire: &str) -> Result<Self, String> {
        let machine = Machine::at(root);
        let mut plan = Plan::default();
        let port = |name: &str| Candidate {
            name: name.into(),
            mac: "02:00:00:00:00:01".into(),
            carrier: true,
            bridge: None,
            addresses: Vec::new(),
            to_router: false,
            is_leased: false,
        };
        ifupdown::join(&mut plan, &machine, &port(wlan), &port(wire), BRIDGE)?;
        Ok(Self { machine, plan })
    }

    /// Changes its files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn make(&self) -> Result<(), String> {
        self.plan.lasting_steps().iter().filter_map(|step| step.make.as_ref()).try_for_each(super::act::Act::make)
    }

    /// Reverts the changes.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn take_back(&self) -> Result<(), String> {
        self.plan.lasting_steps().iter().rev().filter_map(|step| step.undo.as_ref()).try_for_each(super::act::Act::make)
    }

    /// Whether it brings this interface up.
    pub fn names(&self, interface: &str) -> bool {
        ifupdown::names(&self.machine, interface)
    }

    /// The same changes as shell code.
    pub fn commands(&self) -> Vec<String> {
        self.plan.lasting_commands().collect()
    }
}
