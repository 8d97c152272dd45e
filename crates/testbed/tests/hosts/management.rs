//! The management network carries control connections, and nothing else.

use crate::common;

use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use evenair_testbed::topology::Topology;
use evenair_testbed::{management, plan};

/// Whether a TCP connection from a client port, chosen by the kernel or given, is established within a second.
fn connects(topology: &Topology, from_port: Option<u16>, server: SocketAddr) -> bool {
    let (host, port) = (server.ip().to_string(), server.port().to_string());
    let bind = from_port.map_or_else(String::new, |port| format!("s.bind(('', {port}));"));
    let family = if server.is_ipv4() { "AF_INET" } else { "AF_INET6" };
    let script = format!(
        "import socket; s = socket.socket(socket.{family}); s.settimeout(1); {bind} s.connect(('{host}', {port}))"
    );
    let mut python = Command::new("python3");
    python.args(["-c", &script]).stderr(Stdio::null());
    let namespace = Some(topology.hosts[0].netns.as_fd());
    evenair_sys::process::tie(&mut python, namespace).status().expect("python3 is there").success()
}

#[test]
fn the_port_decides_whether_a_connection_crosses_the_radio() {
    let Some(_turn) = common::turn() else { return };
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: no python3, which binds the client's port here");
        return;
    }
    let iperf3 = |name: &str, ip: &str| {
        format!(
            r#"
                [[bulk]]
                name = "{name}"
                stations = ["sta"]
                server = "server"
                direction = "up"
                tool = "iperf3"
                ip = "{ip}"
            "#
        )
    };
    let scenario = common::scenario(1, &(iperf3("four", "v4") + &iperf3("six", "v6")));
    let topology = Topology::build(&scenario).expect("comes up");
    let _network = management::build(&scenario, &topology).expect("comes up").expect("is needed");
    // No radio is running: packets over it do not arrive.
    for (index, app) in scenario.apps.iter().enumerate() {
        let server = SocketAddr::new(plan::app_address(&scenario, app, 1), plan::server_port(index));
        let listen = || TcpListener::bind(server).expect("listens");
        let _listener = topology.hosts[1].netns.run(listen).expect("entered");
        assert!(connects(&topology, None, server), "control connection to {server}");
        assert!(!connects(&topology, Some(plan::client_port(index)), server), "data connection to {server}");
        // The management network does not carry other applications' ports.
        let other = SocketAddr::new(server.ip(), 9);
        let listen_other = || TcpListener::bind(other).expect("listens");
        let _other = topology.hosts[1].netns.run(listen_other).expect("entered");
        assert!(!connects(&topology, None, other), "another connection to {other}");
    }
}
