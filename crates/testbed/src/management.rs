//! A separate management network, for tools with a control connection: iperf3.
//!
//! A bridge in a separate namespace, with a veth pair to each host that runs iperf3. It carries only the packets of the rules
//! below, and has no addresses: both connections of iperf3 use the same two addresses, those of the hosts' ordinary interfaces,
//! and the ports determine the path.
//!
//! | on | packets | go |
//! |---|---|---|
//! | client | to the server port, from the data port | over the radio (table main) |
//! | client | to the server port, from any other port | over this network |
//! | server | from the server port, to the data port | over the radio |
//! | server | from the server port, to any other port | over this network |
//!
//! iperf3 numbers its data connections from the client port that it is given (`--cport`).

use std::os::fd::{AsFd, AsRawFd};

use evenair_scenario::{IpVersion, Scenario};
use evenair_sys::netns::{self, Netns};

use crate::error::TestbedError;
use crate::machine::{Machine, run_ip};
use crate::plan;
use crate::preflight::uses_iperf3;
use crate::topology::Topology;

/// Interface of a host into this network.
const INTERFACE: &str = "mgmt0";
/// Routing table of the management network.
const TABLE: u32 = 77;

/// The network, for as long as this lives.
#[derive(Debug)]
pub struct Management {
    _netns: Netns,
}

/// Builds the network where the scenario needs it.
///
/// # Errors
/// If the kernel or `ip` refuses.
pub fn build(scenario: &Scenario, topology: &Topology) -> Result<Option<Management>, TestbedError> {
    let apps: Vec<_> = (0..scenario.apps.len()).filter(|&index| uses_iperf3(&scenario.apps[index])).collect();
    if apps.is_empty() {
        return Ok(None);
    }
    let mut hosts: Vec<_> =
        apps.iter().flat_map(|&index| [scenario.apps[index].station, scenario.apps[index].peer]).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let netns = Netns::new().map_err(TestbedError::from_namespace)?;
    netns.run(|| run_ip("the management network", None, &bridge(topology, &hosts)))??;
    for &host in &hosts {
        let machine = &topology.hosts[host];
        machine.netns.run(|| set_up_host(scenario, machine, &apps, host))??;
    }
    Ok(Some(Management { _netns: netns }))
}

fn bridge(topology: &Topology, hosts: &[usize]) -> Vec<String> {
    let mut commands = vec!["link add mgmt type bridge stp_state 0 forward_delay 0 mcast_snooping 0".to_owned()];
    for &host in hosts {
        let fd = topology.hosts[host].netns.as_fd().as_raw_fd();
        let theirs = format!("/proc/{}/fd/{fd}", std::process::id());
        let mac = plan::management_mac(host);
        commands.push(format!("link add port{host} type veth peer name {INTERFACE} address {mac} netns {theirs}"));
        commands.push(format!("link set port{host} master mgmt up"));
    }
    commands.push("link set mgmt up".to_owned());
    commands
}

fn set_up_host(scenario: &Scenario, machine: &Machine, apps: &[usize], host: usize) -> Result<(), TestbedError> {
    // Packets may arrive at a different interface than that of the route back.
    for scope in ["all", INTERFACE] {
        netns::set_sysctl(&format!("net/ipv4/conf/{scope}/rp_filter"), "0")?;
    }
    run_ip(&machine.name, None, &[format!("link set {INTERFACE} up")])?;
    for (family, version) in [("-4", IpVersion::V4), ("-6", IpVersion::V6)] {
        let of_version = apps.iter().filter(|&&index| scenario.apps[index].ip == version);
        let commands: Vec<_> = of_version.flat_map(|&index| app_commands(scenario, index, host)).collect();
        if !commands.is_empty() {
            run_ip(&machine.name, Some(family), &commands)?;
        }
    }
    Ok(())
}

/// The rules and routes of one application on one of its hosts; none on others.
fn app_commands(scenario: &Scenario, index: usize, host: usize) -> Vec<String> {
    let app = &scenario.apps[index];
    let (server, data) = (plan::server_port(index), plan::client_port(index));
    let (peer, control, over_radio) = if app.station == host {
        (app.peer, format!("dport {server}"), format!("sport {data} dport {server}"))
    } else if app.peer == host {
        (app.station, format!("sport {server}"), format!("sport {server} dport {data}"))
    } else {
        return Vec::new();
    };
    let peer_mac = plan::management_mac(peer);
    let [own, peer] = [host, peer].map(|host| plan::app_address(scenario, app, host));
    let prefix = if peer.is_ipv4() { 32 } else { 128 };
    vec![
        format!("route replace {peer}/{prefix} dev {INTERFACE} src {own} table {TABLE}"),
        // Neighbour discovery answers only for addresses of the interface itself, and this one has none.
        format!("neigh replace {peer} lladdr {peer_mac} dev {INTERFACE} nud permanent"),
        format!("rule add pref 100 ipproto tcp {over_radio} lookup main"),
        format!("rule add pref 200 ipproto tcp {control} lookup {TABLE}"),
    ]
}
