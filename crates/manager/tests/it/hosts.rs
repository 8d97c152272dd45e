//! Many hosts behind one MAC address: that of a router or a mesh node.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use evenair_manager::{Command, Config, Controller, Level, Manager, Output, Policy};
use evenair_packet::{PacketMeta, Port, TcpFlags};
use evenair_units::{BitRate, Instant, Span};

use crate::world::{Segment, close, config, packet, rate};

/// Packets of each connection that wait.
const WAITING: u64 = 8;
const SPAN: Span = Span::from_secs(20);

/// A connection: its station, and the address on that side.
#[derive(Clone, Copy)]
struct Connection {
    station: usize,
    address: IpAddr,
}

fn v4(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 1, 0, last).into()
}

/// A full packet of a download.
fn data(number: usize, connection: Connection, sequence: u64) -> PacketMeta {
    let seq = (sequence * 1448) as u32;
    let mut meta = packet(Port::Wire, connection.station, number as u16, Segment::new(TcpFlags::ACK, seq, 1, 1448));
    meta.ip.as_mut().expect("it is of IP").dst = connection.address;
    meta
}

/// Packets released of each connection, while all of them always have some waiting.
fn shares(levels: Vec<Level>, connections: &[Connection]) -> Vec<f64> {
    let rates = [rate(11_000), rate(11_000)];
    let controller = Controller::Fixed(BitRate::from_mbps(4));
    let config = Config { policy: Policy::of(levels), controller, sparse_first: false, ..config(&rates) };
    let mut manager = Manager::new(config, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    let (mut sent, mut got) = (vec![0; connections.len()], vec![0; connections.len()]);
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + SPAN {
        for (number, &connection) in connections.iter().enumerate() {
            while sent[number] - got[number] < WAITING {
                manager.handle_packet(now, number, &data(number, connection, sent[number]));
                sent[number] += 1;
            }
        }
        manager.handle_timeout(now);
        while let Some(output) = manager.poll_output() {
            match output {
                Output::Release { packet, .. } => got[packet] += 1,
                Output::Drop { .. } => panic!("nothing is lost here"),
                Output::Probe { .. } | Output::Consume { .. } | Output::Event(_) => {}
            }
        }
        now = manager.poll_deadline().map_or(Instant::MAX, |(at, _)| at).max(now + Span::from_micros(100));
    }
    got.into_iter().map(|packets| packets as f64).collect()
}

#[test]
fn hosts_of_a_station_share_alike_whatever_connections_they_have() {
    let far = IpAddr::from(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 3));
    // Behind the first station's address: a host with one connection, one with four, one with eight, by IPv6. And another station.
    let groups = [(0, v4(1), 1), (0, v4(2), 4), (0, far, 8), (1, v4(9), 1)];
    let of_group = |&(station, address, count): &(usize, IpAddr, usize)| vec![Connection { station, address }; count];
    let connections: Vec<Connection> = groups.iter().flat_map(of_group).collect();
    let sums = |levels: Vec<Level>| {
        let mut got = shares(levels, &connections).into_iter();
        let sums = groups.map(|(_, _, count)| got.by_ref().take(count).sum::<f64>());
        let all: f64 = sums.iter().sum();
        sums.map(|sum| sum / all)
    };
    let station = Level::Station { time_fair: true };
    let fair = sums(vec![station.clone(), Level::Host, Level::Flow]);
    for (got, expected) in fair.into_iter().zip([1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 0.5]) {
        assert!(close(got, expected, 20.0), "{fair:?}");
    }
    // Without that level, a host with more connections gets more of its station's share.
    let by_connection = sums(vec![station, Level::Flow]);
    for (got, expected) in by_connection.into_iter().zip([0.5 / 13.0, 2.0 / 13.0, 4.0 / 13.0, 0.5]) {
        assert!(close(got, expected, 20.0), "{by_connection:?}");
    }
}
