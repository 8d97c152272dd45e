//! The machines of a scenario: hosts, router, and the box between the access point and the wire.

use evenair_packet::MacAddr;
use evenair_scenario::{Place, Scenario, TcpSpec};
use evenair_sys::tap::Tap;
use evenair_units::{Bytes, Span};

use crate::error::TestbedError;
use crate::machine::{Machine, Plan, has_ipv6};
use crate::plan::{self, Addresses, Segment};
use crate::wire;

/// Queue of a TAP device in packets. Frames wait there only until the radio's loop reads them, which is immediate; it is
/// long so that a burst of one system call (64 kB of TCP, 45 frames) or of the box never overflows it.
const DEVICE_QUEUE: u32 = 4096;
/// The largest IP packet.
const MTU: u32 = 1500;

/// Linux's defaults of the settings that a route may change: segments of full-size packets, RFC 6928, TCP_RTO_MIN.
const USUAL_MSS: Bytes = Bytes(1460);
const USUAL_INITIAL_WINDOW: u32 = 10;
const USUAL_MIN_RTO: Span = Span::from_millis(200);

/// Name of the machine with the box.
pub const BOX: &str = "box";
/// Name of the machine between LAN and WAN.
pub const ROUTER: &str = "router";
/// Interface of a station toward the access point.
pub const STATION_INTERFACE: &str = "wlan0";
/// Interface of a wired host.
pub const WIRED_INTERFACE: &str = "eth0";
/// The box's port toward the access point.
pub const BOX_WLAN_PORT: &str = "ap0";
/// The box's port toward the wire.
pub const BOX_WIRE_PORT: &str = "wire0";
/// The bridge that joins the box's ports while no box program does.
pub const BOX_BRIDGE: &str = "br0";

/// Where a TAP device is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Port {
    /// A station, by its index.
    Station(usize),
    /// The box's port toward the access point.
    AccessPoint,
    /// The wired side.
    Wire(wire::Port),
}

/// All machines of a scenario, up.
#[derive(Debug)]
pub struct Topology {
    /// Hosts of the scenario, in its order.
    pub hosts: Vec<Machine>,
    /// The namespace of the box.
    pub middle: Machine,
    /// The router between LAN and WAN, if there is a WAN.
    pub router: Option<Machine>,
    /// Hosts of the stations, in order.
    pub stations: Vec<usize>,
}

impl Topology {
    /// Brings up all machines of `scenario`.
    ///
    /// # Errors
    /// As [`Machine::build`].
    pub fn build(scenario: &Scenario) -> Result<Self, TestbedError> {
        let ipv6 = has_ipv6();
        let mut plans: Vec<_> = (0..scenario.hosts.len()).map(|index| host(scenario, index, ipv6)).collect();
        plans.push(middle());
        if scenario.wan.is_some() {
            plans.push(router(scenario, ipv6));
        }
        let mut machines = Machine::build_all(&plans)?;
        let rest = machines.split_off(scenario.hosts.len());
        let mut rest = rest.into_iter();
        let middle = rest.next().expect("one for each plan");
        Ok(Self { hosts: machines, middle, router: rest.next(), stations: stations(scenario) })
    }

    /// Hands over the TAP devices with their ports.
    pub fn take_taps(&mut self, scenario: &Scenario) -> Vec<(Port, Tap)> {
        let mut taps = Vec::new();
        let mut station = 0..;
        for (index, machine) in self.hosts.iter_mut().enumerate() {
            let port = match scenario.hosts[index].place {
                Place::Station { .. } => Port::Station(station.next().expect("endless")),
                Place::Lan => Port::Wire(wire::Port::LanHost(index)),
                Place::Wan => Port::Wire(wire::Port::WanHost(index)),
            };
            taps.extend(machine.taps.drain(..).map(|tap| (port, tap)));
        }
        taps.extend([Port::AccessPoint, Port::Wire(wire::Port::Box)].into_iter().zip(self.middle.taps.drain(..)));
        if let Some(router) = &mut self.router {
            let ports = [Port::Wire(wire::Port::RouterLan), Port::Wire(wire::Port::RouterWan)];
            taps.extend(ports.into_iter().zip(router.taps.drain(..)));
        }
        taps
    }
}

/// Hosts of the scenario's stations, in order.
pub fn stations(scenario: &Scenario) -> Vec<usize> {
    let is_station = |index: &usize| matches!(scenario.hosts[*index].place, Place::Station { .. });
    (0..scenario.hosts.len()).filter(is_station).collect()
}

fn host(scenario: &Scenario, index: usize, ipv6: bool) -> Plan {
    let host = &scenario.hosts[index];
    let own = plan::host(scenario, index);
    let segment = plan::segment(&host.place);
    let interface = if matches!(host.place, Place::Station { .. }) { STATION_INTERFACE } else { WIRED_INTERFACE };
    let mut sysctls = tcp_variables(&scenario.tcp);
    sysctls.extend(quiet_variables(ipv6));
    let mut commands = vec!["link set lo up".to_owned()];
    commands.extend(interface_commands(interface, own, ipv6));
    let metrics = route_metrics(&scenario.tcp);
    if !metrics.is_empty() {
        commands.extend(on_link_routes(interface, segment, own, ipv6).map(|route| format!("{route}{metrics}")));
    }
    if scenario.wan.is_some() {
        let gateway = segment.router();
        commands.push(format!("route add default via {}{metrics}", gateway.v4));
        if ipv6 {
            commands.push(format!("route add ::/0 via {}{metrics}", gateway.v6));
        }
        if segment == Segment::Wan {
            commands.extend(neighbour(interface, gateway, ipv6));
        }
    }
    let congestion_control = Some(scenario.tcp.congestion_control.clone());
    Plan { name: host.name.clone(), taps: vec![interface.to_owned()], sysctls, congestion_control, commands }
}

fn router(scenario: &Scenario, ipv6: bool) -> Plan {
    let mut sysctls = quiet_variables(ipv6);
    sysctls.push(variable("net/ipv4/ip_forward", "1"));
    if ipv6 {
        sysctls.push(variable("net/ipv6/conf/all/forwarding", "1"));
    }
    let mut commands = vec!["link set lo up".to_owned()];
    for (interface, segment) in [("lan0", Segment::Lan), ("wan0", Segment::Wan)] {
        commands.extend(interface_commands(interface, segment.router(), ipv6));
    }
    // Address resolution must not cross the Internet link: a first packet must not pay the link's delay twice.
    for (index, host) in scenario.hosts.iter().enumerate() {
        if plan::segment(&host.place) == Segment::Wan {
            commands.extend(neighbour("wan0", plan::host(scenario, index), ipv6));
        }
    }
    let taps = vec!["lan0".to_owned(), "wan0".to_owned()];
    Plan { name: ROUTER.to_owned(), taps, sysctls, commands, ..Plan::default() }
}

fn middle() -> Plan {
    let (wlan, wire) = plan::box_ports();
    let port = |name: &str, mac: MacAddr| {
        format!("link set {name} address {mac} txqueuelen {DEVICE_QUEUE} mtu {MTU} master {BOX_BRIDGE} up")
    };
    let commands = vec![
        "link set lo up".to_owned(),
        format!("link add {BOX_BRIDGE} type bridge stp_state 0 forward_delay 0 mcast_snooping 0"),
        port(BOX_WLAN_PORT, wlan),
        port(BOX_WIRE_PORT, wire),
        format!("link set {BOX_BRIDGE} up"),
    ];
    // The box's namespace only forwards frames: with IPv6 its interfaces would announce themselves over the air.
    let sysctls = if has_ipv6() { vec![variable("net/ipv6/conf/default/disable_ipv6", "1")] } else { Vec::new() };
    let taps = vec![BOX_WLAN_PORT.to_owned(), BOX_WIRE_PORT.to_owned()];
    Plan { name: BOX.to_owned(), taps, sysctls, commands, ..Plan::default() }
}

fn interface_commands(name: &str, own: Addresses, ipv6: bool) -> Vec<String> {
    let (v4_prefix, v6_prefix) = Segment::PREFIXES;
    let mut commands = vec![
        format!("link set {name} address {} txqueuelen {DEVICE_QUEUE} mtu {MTU} up", own.mac),
        format!("addr add {}/{v4_prefix} dev {name}", own.v4),
    ];
    if ipv6 {
        commands.push(format!("addr add {}/{v6_prefix} dev {name} nodad", own.v6));
    }
    commands
}

fn neighbour(interface: &str, of: Addresses, ipv6: bool) -> Vec<String> {
    let mut commands = vec![format!("neigh replace {} lladdr {} dev {interface} nud permanent", of.v4, of.mac)];
    if ipv6 {
        commands.push(format!("neigh replace {} lladdr {} dev {interface} nud permanent", of.v6, of.mac));
    }
    commands
}

/// Replacements of the kernel's on-link routes of an interface's addresses, so that they can have metrics.
fn on_link_routes(interface: &str, segment: Segment, own: Addresses, ipv6: bool) -> impl Iterator<Item = String> {
    let (v4_prefix, v6_prefix) = Segment::PREFIXES;
    let (v4, v6) = segment.network();
    let v4 = format!("route change {v4}/{v4_prefix} dev {interface} proto kernel scope link src {}", own.v4);
    let v6 = ipv6.then(|| format!("route replace {v6}/{v6_prefix} dev {interface} proto kernel metric 256"));
    std::iter::once(v4).chain(v6)
}

/// TCP settings that the kernel supports as route metrics (ip-route(8)), if they differ from its defaults.
fn route_metrics(tcp: &TcpSpec) -> String {
    let mut metrics = String::new();
    let mut add = |metric: &str, value: String| metrics.extend([" ", metric, " ", &value]);
    if tcp.mss != USUAL_MSS {
        add("advmss", tcp.mss.0.to_string());
    }
    if let Some(window) = tcp.window {
        add("window", window.0.to_string());
    }
    if tcp.initial_window != USUAL_INITIAL_WINDOW {
        add("initcwnd", tcp.initial_window.to_string());
    }
    if !tcp.delayed_ack {
        add("quickack", "1".to_owned());
    }
    if tcp.min_rto != USUAL_MIN_RTO {
        add("rto_min lock", format!("{}ms", tcp.min_rto.as_nanos().div_ceil(1_000_000)));
    }
    metrics
}

fn tcp_variables(tcp: &TcpSpec) -> Vec<(String, String)> {
    let flag = |on: bool| if on { "1" } else { "0" };
    // Minimum and initial size are the kernel's defaults.
    let buffers = |initial: u64, max: u64| format!("4096 {} {max}", initial.min(max));
    [
        ("rmem", buffers(131_072, tcp.rmem_max.0)),
        ("wmem", buffers(16_384, tcp.wmem_max.0)),
        ("timestamps", flag(tcp.timestamps).to_owned()),
        ("sack", flag(tcp.sack).to_owned()),
        ("window_scaling", flag(tcp.window_scaling).to_owned()),
        ("ecn", flag(tcp.ecn).to_owned()),
        // Each connection starts without metrics of earlier ones.
        ("no_metrics_save", "1".to_owned()),
    ]
    .map(|(name, value)| (format!("net/ipv4/tcp_{name}"), value))
    .into()
}

/// Variables that suppress duplicate address detection, router solicitations and redirects, which the scenario does not ask for.
fn quiet_variables(ipv6: bool) -> Vec<(String, String)> {
    let mut variables = vec![variable("net/ipv4/conf/all/send_redirects", "0")];
    if ipv6 {
        for name in ["accept_dad", "dad_transmits", "accept_ra", "autoconf", "router_solicitations"] {
            variables.push(variable(&format!("net/ipv6/conf/default/{name}"), "0"));
        }
    }
    variables
}

fn variable(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_differ_from_the_kernels_become_metrics() {
        let metrics = |settings: &str| {
            let text = "version = 1\nname = \"x\"\nduration = \"1 s\"\nradio = { standard = \"802.11g\" }\n\
                        station = [{ name = \"s\", rate = \"54 Mb/s\" }]\nserver = [{ name = \"t\" }]\n\
                        ping = [{ name = \"p\", stations = [\"s\"], server = \"t\" }]\n[tcp]\n";
            let scenario = Scenario::parse(&format!("{text}{settings}"), "test").expect("a sound scenario");
            route_metrics(&scenario.tcp)
        };
        assert_eq!(metrics(""), "");
        assert_eq!(metrics("window = \"43 packets\"\ndelayed_ack = false\n"), " window 62780 quickack 1");
        let all = "mss = \"1000 bytes\"\ninitial_window = 2\nmin_rto = \"1 s\"\n";
        assert_eq!(metrics(all), " advmss 1000 initcwnd 2 rto_min lock 1000ms");
    }
}
