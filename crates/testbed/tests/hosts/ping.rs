//! Real sockets of real hosts through the simulated radio.

use crate::common;

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use evenair_testbed::plan;
use evenair_testbed::radio::Radio;
use evenair_testbed::topology::Topology;
use evenair_units::Span;

/// A scenario has at least one application; these tests send their own packets.
const PING: &str = r#"
    [[ping]]
    name = "ping"
    stations = ["sta"]
    server = "server"
"#;

/// Round trips of `n` datagrams of 36 bytes from host `from` to host `to`, in microseconds.
fn round_trips(topology: &Topology, from: usize, to: &str, server_at: usize, n: usize) -> Vec<u64> {
    let address = format!("{to}:7");
    let server = topology.hosts[server_at].netns.run(|| UdpSocket::bind(&address).expect("binds")).expect("entered");
    let any = if address.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
    let client = topology.hosts[from].netns.run(|| UdpSocket::bind(any).expect("binds")).expect("entered");
    for socket in [&server, &client] {
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("set");
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..n {
                let mut buffer = [0; 100];
                let (size, from) = server.recv_from(&mut buffer).expect("the request arrives");
                server.send_to(&buffer[..size], from).expect("sent");
            }
        });
        let mut rtts = Vec::new();
        for _ in 0..n {
            let start = Instant::now();
            client.send_to(&[0; 36], &address).expect("sent");
            client.recv_from(&mut [0; 100]).expect("the answer arrives");
            rtts.push(start.elapsed().as_micros() as u64);
            std::thread::sleep(Duration::from_millis(2));
        }
        rtts
    })
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

#[test]
fn ping_crosses_the_radio_in_the_time_that_frames_take() {
    let Some(_turn) = common::turn() else { return };
    let scenario = common::scenario(2, PING);
    let start = Instant::now();
    let mut topology = Topology::build(&scenario).expect("comes up");
    eprintln!("{} machines up in {:?}", scenario.hosts.len() + 1, start.elapsed());
    let radio = Radio::start(&scenario, topology.take_taps(&scenario)).expect("starts");
    eprintln!("granted: {:?}", radio.granted());
    let server = plan::host(&scenario, 2);
    for address in [server.v4.to_string(), format!("[{}]", server.v6)] {
        let rtts = round_trips(&topology, 0, &address, 2, 100);
        // The first round trip includes address resolution: the broadcast request goes over the air.
        let (first, rest) = (rtts[0], median(rtts[1..].to_vec()));
        eprintln!("{address}: first {first} us, median of the others {rest} us");
        // Two frames of 72 bytes (payload 36, UDP 8, IPv4 20, LLC 8) and MAC header at 11 Mb/s, each with DIFS 50 and
        // preamble 96, without and with 15.5 slots of back-off on average: from 0.35 ms to 1.3 ms, and the hosts'
        // processing.
        assert!(rest > 350 && rest < 3_000, "{rest} us");
    }
    // From station to station, through the access point: four frames.
    let other = plan::host(&scenario, 1).v4.to_string();
    let through = median(round_trips(&topology, 0, &other, 1, 50));
    eprintln!("station to station: {through} us");
    assert!(through > 700 && through < 5_000, "{through} us");
    radio.stop().expect("no error");
}

#[test]
fn the_internet_link_adds_its_delay_and_is_routed() {
    let Some(_turn) = common::turn() else { return };
    let far = r#"
        [[server]]
        name = "far"
        at = "wan"
        [wan]
        down = { rate = "8 Mb/s", delay = "20 ms", buffer = "150 kB" }
        up = { rate = "8 Mb/s", delay = "20 ms", buffer = "150 kB" }
    "#;
    let scenario = common::scenario(1, &format!("{far}{PING}"));
    let mut topology = Topology::build(&scenario).expect("comes up");
    let radio = Radio::start(&scenario, topology.take_taps(&scenario)).expect("starts");
    let far = plan::host(&scenario, 2);
    for address in [far.v4.to_string(), format!("[{}]", far.v6)] {
        let rtt = median(round_trips(&topology, 0, &address, 2, 20));
        eprintln!("{address}: {rtt} us");
        assert!((40_350..50_000).contains(&rtt), "{rtt} us");
    }
    radio.stop().expect("no error");
}

#[test]
fn the_answers_of_a_server_with_an_additional_delay_are_later() {
    let Some(_turn) = common::turn() else { return };
    let far = r#"
        [[server]]
        name = "far"
        at = "wan"
        [[server]]
        name = "farther"
        at = "wan"
        delay = "60 ms"
        [wan]
        down = { rate = "8 Mb/s", delay = "10 ms", buffer = "150 kB" }
        up = { rate = "8 Mb/s", delay = "10 ms", buffer = "150 kB" }
    "#;
    let scenario = common::scenario(1, &format!("{far}{PING}"));
    let mut topology = Topology::build(&scenario).expect("comes up");
    let radio = Radio::start(&scenario, topology.take_taps(&scenario)).expect("starts");
    for (server, expected) in [(2, 20_350..40_000), (3, 80_350..100_000)] {
        let address = plan::host(&scenario, server).v4.to_string();
        let rtt = median(round_trips(&topology, 0, &address, server, 20));
        eprintln!("{address}: {rtt} us");
        assert!(expected.contains(&rtt), "{rtt} us");
    }
    radio.stop().expect("no error");
}

/// The bounds are wide above, since a busy machine delays every round trip.
#[test]
fn a_path_before_the_access_point_adds_the_delay_of_each_direction() {
    let Some(_turn) = common::turn() else { return };
    let path = "[ap_path]\ndown = { delay = \"5 ms\" }\nup = { delay = \"15 ms\" }\n";
    let scenario = common::scenario(2, &format!("{PING}{path}"));
    let mut topology = Topology::build(&scenario).expect("comes up");
    let radio = Radio::start(&scenario, topology.take_taps(&scenario)).expect("starts");
    let server = plan::host(&scenario, 2);
    for address in [server.v4.to_string(), format!("[{}]", server.v6)] {
        let rtt = median(round_trips(&topology, 0, &address, 2, 20));
        eprintln!("{address}: {rtt} us");
        assert!((20_350..30_000).contains(&rtt), "{rtt} us");
    }
    // Frames between stations do not reach the box.
    let other = plan::host(&scenario, 1).v4.to_string();
    let least = round_trips(&topology, 0, &other, 1, 20).into_iter().min().expect("20 of them");
    assert!(least < 20_000, "{least} us");
    radio.stop().expect("no error");
}

#[test]
fn an_idle_testbed_does_not_use_the_processor() {
    let Some(_turn) = common::turn() else { return };
    let scenario = common::scenario(12, PING);
    let mut topology = Topology::build(&scenario).expect("comes up");
    let radio = Radio::start(&scenario, topology.take_taps(&scenario)).expect("starts");
    radio.measure(radio.clock().now(), Span::from_millis(500));
    std::thread::sleep(Duration::from_millis(2600));
    let last = radio.snapshots().last().expect("one each half second");
    eprintln!("processor time in {} intervals of 0.5 s: {}", last.index + 1, last.cpu);
    assert!(last.cpu < Span::from_millis(125), "{} in 2.5 s is more than 5 %", last.cpu);
    radio.stop().expect("no error");
}
