//! The changes of the network that make this machine the stations' gateway, with the box in the path.
//!
//! The stations' gateway is one end of a veth pair; a bridge joins the other end and the access points' port. So the box has
//! two ports as usual, and sees the stations' own addresses: before translation of uploads, and after translation of downloads.
//! The kernel routes and translates, also when the box does not run.
//!
//! ```text
//! Internet --- uplink  (kernel: routes, nftables)  gateway === gateway's port --- [ box ] --- WLAN port --- access points
//! ```
//!
//! From the uplink only replies reach stations, with IPv4 and IPv6: IPv6 is not translated, so nothing else would block
//! unsolicited traffic.
//!
//! Not here: address assignment to stations (DHCP, router advertisements).

use std::net::IpAddr;
use std::path::Path;

use evenair_sys::iface;

use super::entry::network;
use super::keeper::Machine;
use super::plan::{Plan, check_absent, find};
use super::state::{Saved, State};
use super::{Candidate, interfaces, lasting};

/// The interfaces of a gateway.
#[derive(Clone, Copy, Debug)]
pub struct Gateway<'a> {
    /// Interface toward the access points.
    pub wlan: &'a str,
    /// Interface toward the Internet.
    pub uplink: &'a str,
    /// Name of the new bridge between the access points' port and the gateway's port.
    pub bridge: &'a str,
    /// Name of the new interface with the gateway's addresses.
    pub gateway: &'a str,
}

impl Gateway<'_> {
    /// The gateway's port at the bridge: the wired side of the box.
    pub fn port(&self) -> String {
        format!("{}p", self.gateway)
    }
}

/// The plan that makes this machine the gateway of the stations behind an interface, with `addresses` (with prefix lengths) and
/// the interface's own: empty, if it already is.
///
/// # Errors
/// An interface does not exist or belongs to another bridge; an address is missing, malformed or in the uplink's network.
pub fn plan(names: Gateway<'_>, addresses: &[String]) -> Result<Plan, String> {
    let ports = interfaces()?;
    let (wlan, uplink) = (find(&ports, names.wlan)?, find(&ports, names.uplink)?);
    let joined =
        |name: &str| ports.iter().any(|port| port.name == name && port.bridge.as_deref() == Some(names.bridge));
    if joined(names.wlan) && joined(&names.port()) {
        return Ok(Plan::default());
    }
    let mtu = iface::find(names.wlan).map_err(|error| error.to_string())?.mtu;
    let devices = [names.wlan, names.uplink];
    let before = State::read(&devices)?;
    let site = Site { wlan, uplink, before, mtu, settings: Settings::now(names.uplink) };
    let mut plan = site.plan(names, addresses)?;
    check_absent(&[names.bridge, names.gateway, &names.port()])?;
    State::read(&[names.wlan])?.check(names.wlan, names.gateway)?;
    plan.save(Saved::new(&site.before, &devices, [names.wlan, names.gateway], None));
    let machine = Machine::this();
    if machine.has_systemd() {
        // The WAN interface keeps its configuration. The gateway gets that of the other port.
        machine.release(&mut plan, names.wlan)?;
        lasting::keep(&mut plan, &machine, names.gateway, &[names.wlan, names.uplink]);
    } else {
        plan.notify(
            "Have these commands carried out at each start of the machine: it has no systemd that would do it.".into(),
        );
    }
    Ok(plan)
}

/// The current state.
struct Site<'a> {
    wlan: &'a Candidate,
    uplink: &'a Candidate,
    before: State,
    mtu: u32,
    settings: Settings,
}

/// Current kernel settings; `None`: unsupported.
#[derive(Clone, Debug, Default)]
struct Settings {
    forward_v4: Option<String>,
    forward_v6: Option<String>,
    /// Whether the uplink accepts router advertisements.
    accept_ra: Option<String>,
    /// Whether bridged traffic passes the IPv4 and IPv6 filters.
    filter_bridges: [Option<String>; 2],
}

const FORWARD_V4: &str = "net/ipv4/ip_forward";
const FORWARD_V6: &str = "net/ipv6/conf/all/forwarding";
const FILTER_BRIDGES: [&str; 2] = ["net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables"];

fn accept_ra(uplink: &str) -> String {
    format!("net/ipv6/conf/{uplink}/accept_ra")
}

impl Settings {
    fn now(uplink: &str) -> Self {
        let read = |name: &str| std::fs::read_to_string(Path::new("/proc/sys").join(name)).ok();
        let read = |name: &str| read(name).map(|text| text.trim().to_owned());
        Self {
            forward_v4: read(FORWARD_V4),
            forward_v6: read(FORWARD_V6),
            accept_ra: read(&accept_ra(uplink)),
            filter_bridges: FILTER_BRIDGES.map(read),
        }
    }
}

impl Site<'_> {
    fn plan(&self, names: Gateway<'_>, addresses: &[String]) -> Result<Plan, String> {
        for (port, other) in [(self.wlan, self.uplink), (self.uplink, self.wlan)] {
            if port.name == other.name {
                return Err(format!("{} cannot be both sides", port.name));
            }
            if let Some(bridge) = &port.bridge {
                return Err(format!("{} is a port of {bridge} already", port.name));
            }
        }
        let mut all = self.wlan.addresses.clone();
        all.extend(addresses.iter().filter(|address| !self.wlan.addresses.contains(address)).cloned());
        let networks = self.networks(&all)?;
        let mut plan = Plan::default();
        self.join(&mut plan, names);
        self.give_addresses(&mut plan, names, &all);
        self.forward(&mut plan, names);
        translate(&mut plan, names, &networks);
        Ok(plan)
    }

    /// The networks of these addresses.
    fn networks(&self, addresses: &[String]) -> Result<Vec<(IpAddr, u8)>, String> {
        if addresses.is_empty() {
            return Err("no address for the stations' gateway; say it, as in --address 192.168.77.1/24".into());
        }
        let of = |text: &String| network(text).ok_or_else(|| format!("{text}: not an address such as 192.168.77.1/24"));
        let networks: Vec<_> = addresses.iter().map(of).collect::<Result<_, _>>()?;
        let outside: Vec<_> = self.uplink.addresses.iter().filter_map(|text| network(text)).collect();
        match networks.iter().position(|inside| outside.contains(inside)) {
            Some(at) => Err(format!("{}: {} is in this network already", addresses[at], self.uplink.name)),
            None => Ok(networks),
        }
    }

    /// Adds the veth pair, and the bridge between its peer and the access points' port.
    fn join(&self, plan: &mut Plan, names: Gateway<'_>) {
        let Gateway { bridge, gateway, .. } = names;
        let (port, mtu, wlan) = (names.port(), self.mtu, &self.wlan.name);
        plan.step(
            format!("ip link add {gateway} mtu {mtu} type veth peer name {port} mtu {mtu}"),
            Some(format!("ip link del {gateway}")),
        );
        // The same address after each boot, so that stations recognize their gateway.
        if let Some(mac) = local_mac(&self.wlan.mac) {
            plan.step(format!("ip link set {gateway} address {mac}"), None);
        }
        // Packets merged on reception are segmented again before the box, which schedules packets.
        plan.step(format!("ip link set {gateway} gso_max_segs 1"), None);
        plan.step(
            format!("ip link add {bridge} type bridge group_fwd_mask 0xfff8"),
            Some(format!("ip link del {bridge}")),
        );
        plan.step(format!("ip link set {bridge} address {}", self.wlan.mac), None);
        // The kernel replies for all its addresses on any interface, and this one is in front of the box.
        plan.step(format!("sysctl net/ipv4/conf/{bridge}/arp_ignore=8"), None);
        if self.settings.forward_v6.is_some() {
            // It has no address; the gateway does.
            plan.step(format!("sysctl net/ipv6/conf/{bridge}/disable_ipv6=1"), None);
        }
        self.before.removals(wlan).into_iter().for_each(|command| plan.step(command, None));
        for port in [wlan, &port] {
            plan.step(format!("ip link set {port} up"), None);
            plan.step(format!("ip link set {port} master {bridge}"), Some(format!("ip link set {port} nomaster")));
        }
        plan.step(format!("ip link set {bridge} up"), None);
    }

    fn give_addresses(&self, plan: &mut Plan, names: Gateway<'_>, addresses: &[String]) {
        let gateway = names.gateway;
        // Announces the gateway's new MAC address to stations that knew another.
        plan.step(format!("sysctl net/ipv4/conf/{gateway}/arp_notify=1"), None);
        if self.settings.forward_v6.is_some() {
            plan.step(format!("sysctl net/ipv6/conf/{gateway}/ndisc_notify=1"), None);
        }
        plan.step(format!("ip link set {gateway} up"), None);
        // Reverted with the interface.
        let moved = self.before.additions(&self.wlan.name, gateway);
        let is_new = |address: &&String| !self.wlan.addresses.contains(address);
        let new = addresses.iter().filter(is_new).map(|address| format!("ip addr add {address} dev {gateway}"));
        moved.into_iter().chain(new).for_each(|command| plan.step(command, None));
    }

    fn forward(&self, plan: &mut Plan, names: Gateway<'_>) {
        let Settings { forward_v4, forward_v6, accept_ra: ra, filter_bridges } = &self.settings;
        let mut set = |name: &str, now: &Option<String>, to: &str| {
            if let Some(now) = now.as_ref().filter(|now| *now != to) {
                plan.step(format!("sysctl {name}={to}"), Some(format!("sysctl {name}={now}")));
            }
        };
        // A connection that the bridge's filter has tracked is not translated when it is routed later.
        for (name, now) in FILTER_BRIDGES.into_iter().zip(filter_bridges) {
            set(name, now, "0");
        }
        set(FORWARD_V4, forward_v4, "1");
        // A forwarding machine accepts no router advertisements without this setting.
        if ra.as_deref() == Some("1") {
            set(&accept_ra(names.uplink), ra, "2");
        }
        set(FORWARD_V6, forward_v6, "1");
    }
}

/// Adds IPv4 translation and the firewall, in a separate table.
fn translate(plan: &mut Plan, names: Gateway<'_>, networks: &[(IpAddr, u8)]) {
    let Gateway { uplink, gateway, .. } = names;
    plan.step("nft create table inet evenair".into(), Some("nft delete table inet evenair".into()));
    plan.step("nft add chain inet evenair translate { type nat hook postrouting priority srcnat ; }".into(), None);
    for (address, prefix) in networks.iter().filter(|(address, _)| address.is_ipv4()) {
        plan.step(
            format!("nft add rule inet evenair translate ip saddr {address}/{prefix} oifname \"{uplink}\" masquerade"),
            None,
        );
    }
    plan.step("nft add chain inet evenair forward { type filter hook forward priority filter ; }".into(), None);
    let inward = format!("nft add rule inet evenair forward iifname \"{uplink}\" oifname \"{gateway}\"");
    plan.step(format!("{inward} ct state established,related accept"), None);
    plan.step(format!("{inward} drop"), None);
}

/// A locally administered MAC address (IEEE 802, 8.2), derived from a global one and never equal to it.
fn local_mac(mac: &str) -> Option<String> {
    let (first, rest) = mac.split_once(':')?;
    let first = u8::from_str_radix(first, 16).ok()?;
    Some(format!("{:02x}:{rest}", (first | 0x02) ^ 0x40))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Gateway<'_> = Gateway { wlan: "eth1", uplink: "eth0", bridge: "br0", gateway: "gw0" };

    fn port(name: &str, bridge: Option<&str>, addresses: &[&str]) -> Candidate {
        Candidate {
            name: name.into(),
            mac: "00:16:3e:00:00:01".into(),
            carrier: true,
            bridge: bridge.map(str::to_owned),
            addresses: addresses.iter().map(|&address| address.into()).collect(),
            to_router: name == "eth0",
            is_leased: false,
        }
    }

    fn commands(wlan: &Candidate, routes: &[&str], addresses: &[&str]) -> Result<Vec<String>, String> {
        let uplink = port("eth0", None, &["10.9.0.254/24"]);
        let settings = |value: &str| Some(value.to_owned());
        let settings = Settings {
            forward_v4: settings("0"),
            forward_v6: settings("0"),
            accept_ra: settings("1"),
            filter_bridges: [settings("1"), None],
        };
        let before = State::of(&wlan.name, &wlan.addresses, routes);
        let site = Site { wlan, uplink: &uplink, before, mtu: 1500, settings };
        let addresses: Vec<_> = addresses.iter().map(|&address| address.to_owned()).collect();
        site.plan(NAMES, &addresses).map(|plan| plan.commands().collect())
    }

    #[test]
    fn a_gateway_gets_addresses_and_translates_their_networks() {
        let plan = commands(&port("eth1", None, &[]), &[], &["192.168.77.1/24", "fd00:77::1/64"]).expect("a plan");
        let position =
            |text: &str| plan.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}"));
        assert!(position("gso_max_segs 1") < position("ip link set gw0 up"));
        assert!(
            position("ip link set gw0 address 42:16:3e:00:00:01") < position("ip addr add 192.168.77.1/24 dev gw0")
        );
        assert!(position("accept_ra=2") < position("conf/all/forwarding=1"), "so that no way out is lost meanwhile");
        assert!(position("sysctl -w net/bridge/bridge-nf-call-iptables=0") < position("ipv4/ip_forward=1"));
        assert!(!plan.iter().any(|line| line.contains("ip6tables")), "the kernel knows nothing of it");
        position("'add rule inet evenair translate ip saddr 192.168.77.0/24 oifname \"eth0\" masquerade'");
        assert!(!plan.iter().any(|line| line.contains("saddr fd00")), "IPv6 is routed as it is: {plan:?}");
    }

    #[test]
    fn addresses_of_the_port_move_to_the_gateway() {
        let routes = ["unicast 10.5.0.0/16 via 192.168.1.9 dev eth1 table main proto static scope global onlink"];
        let plan = commands(&port("eth1", None, &["192.168.1.1/24"]), &routes, &[]).expect("a plan");
        for text in [
            "ip -4 addr del 192.168.1.1/24 dev eth1",
            "ip -4 addr add 192.168.1.1/24 dev gw0",
            "ip -4 route del 10.5.0.0/16 via 192.168.1.9 dev eth1 proto static onlink",
            "ip -4 route add 10.5.0.0/16 via 192.168.1.9 dev gw0 proto static onlink",
        ] {
            assert!(plan.iter().any(|line| line == text), "{text}: {plan:#?}");
        }
    }

    #[test]
    fn impossible_plans_are_refused() {
        let refused = |wlan: Candidate, addresses: &[&str]| commands(&wlan, &[], addresses).expect_err("refused");
        assert!(refused(port("eth1", None, &[]), &[]).contains("--address"));
        assert!(refused(port("eth1", None, &[]), &["192.168.77.1"]).contains("not an address"));
        assert!(refused(port("eth1", None, &[]), &["10.9.0.1/24"]).contains("eth0 is in this network already"));
        assert!(refused(port("eth1", Some("br7"), &[]), &["192.168.77.1/24"]).contains("port of br7"));
        assert!(refused(port("eth0", None, &[]), &["192.168.77.1/24"]).contains("both sides"));
    }

    #[test]
    fn the_gateways_address_is_local() {
        assert_eq!(local_mac("02:16:3e:00:00:01").as_deref(), Some("42:16:3e:00:00:01"));
    }
}
