//! Setup of a box at a site: detection of the interfaces, the bridge that joins two of them, the configuration.
//!
//! [`interfaces`], [`plan`] and [`plan_router`] only read. [`Plan::apply`] changes the network, one command after the
//! other, and returns an [`Applied`], which reverts all changes when it is dropped. So if the change disconnects the
//! operator's session, the network is restored; under a watchdog ([`Plan::apply_guarded`]) also if the process is killed.
//! Both restore the state of the interfaces that was saved before (`state`), and [`Applied::revert`] compares with it.
//!
//! [`Applied::keep`] makes the setup permanent, through the service that configures the network: systemd-networkd
//! (`networkd`), ifupdown (`ifupdown`), or a unit of its own (`lasting`). For NetworkManager, [`Plan::notice`] gives the
//! commands.

mod act;
mod entry;
mod file;
mod guard;
mod ifupdown;
mod keeper;
mod lasting;
mod networkd;
#[doc(hidden)]
pub mod parsers;
mod plan;
mod router;
mod state;

use evenair_sys::iproute;
use serde_json::Value;

pub use file::{Choices, InternetLink, configuration, router_configuration};
pub use plan::{Applied, Kept, Plan, plan};
pub use router::{Gateway, plan as plan_router};

/// The script that reverts a permanent setup.
pub const WAY_BACK: &str = "/etc/evenair/network/down";

/// An interface that could be a port of the box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its MAC address.
    pub mac: String,
    /// Whether something is connected to it.
    pub carrier: bool,
    /// The bridge that it belongs to.
    pub bridge: Option<String>,
    /// Its addresses with prefix lengths, without link-local ones.
    pub addresses: Vec<String>,
    /// Whether the default route uses it: it is the wired side.
    pub to_router: bool,
    /// Whether it has an IPv4 address with a lease (DHCP).
    pub is_leased: bool,
}

/// Interfaces that could be ports: Ethernet, and neither a bridge nor made from others.
///
/// # Errors
/// The error of `ip`, or that it is missing.
pub fn interfaces() -> Result<Vec<Candidate>, String> {
    let links = iproute::list(&["ip", "-j", "-d", "addr", "show"])?;
    let routes = iproute::list(&["ip", "-j", "route", "show", "default"])?;
    Ok(candidates(&links, &routes))
}

fn candidates(links: &[Value], routes: &[Value]) -> Vec<Candidate> {
    const MADE_OF_OTHERS: [&str; 8] = ["bridge", "vlan", "bond", "macvlan", "dummy", "ifb", "vxlan", "wireguard"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let way_out = routes.iter().find_map(|route| route["dev"].as_str());
    let is_port = |link: &&Value| {
        let kind = link["linkinfo"]["info_kind"].as_str().unwrap_or_default();
        link["link_type"] == "ether" && !MADE_OF_OTHERS.contains(&kind)
    };
    let candidate = |link: &Value| {
        let bridge = link["master"].as_str().map(str::to_owned);
        let leads = |name: Option<&str>| name.is_some() && name == way_out;
        let flags = link["flags"].as_array().into_iter().flatten();
        Candidate {
            name: text(&link["ifname"]),
            mac: text(&link["address"]),
            carrier: flags.into_iter().any(|flag| flag == "LOWER_UP"),
            // If the default route uses a bridge, its port toward the router is unknown.
            to_router: leads(link["ifname"].as_str()),
            bridge,
            addresses: addresses(link),
            is_leased: is_leased(link),
        }
    };
    links.iter().filter(is_port).map(candidate).collect()
}

/// The service that configures an interface at boot, as text. `None`: unknown.
pub(crate) fn kept_by(interface: &str) -> Option<&'static str> {
    keeper::Machine::this().kept_by(interface)
}

/// The addresses of an interface, except link-local ones, as `address/length`.
pub(crate) fn addresses(link: &Value) -> Vec<String> {
    let list = link["addr_info"].as_array().into_iter().flatten();
    let global = list.filter(|address| address["scope"] == "global");
    global.filter_map(|a| Some(format!("{}/{}", a["local"].as_str()?, a["prefixlen"].as_u64()?))).collect()
}

fn is_leased(link: &Value) -> bool {
    let mut list = link["addr_info"].as_array().into_iter().flatten();
    list.any(|address| address["family"] == "inet" && address["dynamic"] == true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ports_are_distinguished_from_what_is_made_of_them() {
        let links = json!([
            {"ifname": "lo", "link_type": "loopback", "flags": ["UP"]},
            {"ifname": "eth0", "link_type": "ether", "address": "02:00:00:00:00:01", "flags": ["UP", "LOWER_UP"],
             "addr_info": [{"family": "inet", "local": "10.0.0.7", "prefixlen": 24, "scope": "global", "dynamic": true},
                           {"local": "fe80::1", "prefixlen": 64, "scope": "link"}]},
            {"ifname": "eth1", "link_type": "ether", "address": "02:00:00:00:00:02", "flags": ["UP"], "addr_info": []},
            {"ifname": "br0", "link_type": "ether", "linkinfo": {"info_kind": "bridge"}, "flags": []},
        ]);
        let routes = json!([{"dst": "default", "gateway": "10.0.0.1", "dev": "eth0"}]);
        let found = candidates(links.as_array().expect("a list"), routes.as_array().expect("a list"));
        assert_eq!(found.iter().map(|port| port.name.as_str()).collect::<Vec<_>>(), ["eth0", "eth1"]);
        assert_eq!((found[0].carrier, found[0].to_router), (true, true));
        assert_eq!((found[0].addresses.as_slice(), found[0].is_leased), (["10.0.0.7/24".to_owned()].as_slice(), true));
        assert_eq!((found[1].carrier, found[1].to_router), (false, false));
    }
}
