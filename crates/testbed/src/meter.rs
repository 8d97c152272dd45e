//! Counters of traffic over the WLAN hop, by application.
//!
//! A frame belongs to the application with its server port, if the application's station sent or received the frame.
//! IP-level bytes of all its frames are counted at the moment of delivery over the air, in both directions; frames of no
//! application (ARP, neighbour discovery) are counted separately.

use std::collections::BTreeMap;

use evenair_packet::{IpMeta, Port, TcpFlags, TcpMeta, Transport};
use evenair_scenario::{AppKind, Scenario};
use evenair_workload::Direction;

use crate::owners::{Owners, side};

/// Traffic of one application over the WLAN hop since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppCount {
    /// IP-level bytes, both directions.
    pub ip_bytes: u64,
    /// Packets with payload in the direction of the data.
    pub data_packets: u64,
    /// TCP segments that only acknowledge, against the direction of the data.
    pub ack_packets: u64,
    /// Bytes of TCP payload that the receiver has acknowledged; for UDP, bytes of payload delivered in the direction of
    /// the data.
    pub goodput_bytes: u64,
}

/// Traffic of all applications.
#[derive(Clone, Debug)]
pub struct Meter {
    apps: Vec<MeteredApp>,
    owners: Owners,
    other_bytes: u64,
}

#[derive(Clone, Debug)]
struct MeteredApp {
    data: Direction,
    count: AppCount,
    /// Highest acknowledgment of each of its connections, by client port: web pages open many.
    acknowledged: BTreeMap<u16, u32>,
}

impl Meter {
    /// A meter for a scenario's applications, which are these owners.
    pub fn new(scenario: &Scenario, owners: Owners) -> Self {
        let apps = scenario.apps.iter().map(|app| MeteredApp {
            data: match app.kind {
                AppKind::Web { .. } => Direction::Down,
                AppKind::Ping { .. } => Direction::Up,
                AppKind::Bulk { .. } | AppKind::Udp(_) | AppKind::Voip(_) | AppKind::Flows(_) | AppKind::OnOff(_) => {
                    app.direction
                }
            },
            count: AppCount::default(),
            acknowledged: BTreeMap::new(),
        });
        Self { apps: apps.collect(), owners, other_bytes: 0 }
    }

    /// Counts a frame delivered over the air, to (`Down`) or from (`Up`) a station.
    pub fn count(&mut self, station: usize, way: Direction, frame: &[u8]) {
        let meta = evenair_packet::parse(side(way), frame);
        let app = meta.ip.as_ref().and_then(|ip| self.owners.app_of(station, way, ip));
        match (app, meta.ip.as_ref()) {
            (Some(app), Some(ip)) => self.apps[app].count_packet(way, ip),
            _ => self.other_bytes += meta.ip_len().0,
        }
    }

    /// Counts a group frame delivered over the air. Those of no application are not counted: they cross the air for many,
    /// or are not IP.
    pub fn count_group(&mut self, frame: &[u8]) {
        let Some(ip) = evenair_packet::parse(Port::Wire, frame).ip else { return };
        if let Some(app) = self.owners.app_of_group(&ip) {
            self.apps[app].count_packet(Direction::Down, &ip);
        }
    }

    /// One entry per application, in the scenario's order.
    pub fn counts(&self) -> Vec<AppCount> {
        self.apps.iter().map(|app| app.count).collect()
    }

    /// IP-level bytes that belong to no application.
    pub fn other_bytes(&self) -> u64 {
        self.other_bytes
    }
}

impl MeteredApp {
    fn count_packet(&mut self, way: Direction, ip: &IpMeta) {
        self.count.ip_bytes += ip.total_len.0;
        match &ip.transport {
            Transport::Tcp(tcp) if way == self.data => self.count.data_packets += u64::from(tcp.payload.0 > 0),
            Transport::Tcp(tcp) => self.count_acknowledgment(way, tcp),
            Transport::Udp { .. } if way == self.data => {
                self.count.data_packets += 1;
                let headers = if ip.src.is_ipv4() { 28 } else { 48 };
                self.count.goodput_bytes += ip.total_len.0.saturating_sub(headers);
            }
            Transport::Udp { .. } | Transport::Icmp { .. } | Transport::Other => {}
        }
    }

    fn count_acknowledgment(&mut self, way: Direction, tcp: &TcpMeta) {
        self.count.ack_packets += u64::from(tcp.is_pure_ack());
        // ACKs flow against the data: from the client for a download, from the server for an upload.
        let client = if way == Direction::Up { tcp.src_port } else { tcp.dst_port };
        if tcp.flags.contains(TcpFlags::SYN) {
            // A new connection on a port that was used before.
            self.acknowledged.remove(&client);
        }
        if !tcp.flags.contains(TcpFlags::ACK) || tcp.flags.contains(TcpFlags::RST) {
            return;
        }
        // The first ACK completes the handshake and so is the base.
        let highest = self.acknowledged.entry(client).or_insert(tcp.ack);
        let advance = tcp.ack.wrapping_sub(*highest);
        // An advance of half of the sequence space or more is a step back (RFC 9293, 3.4).
        if advance < 1 << 31 {
            self.count.goodput_bytes += u64::from(advance);
            *highest = tcp.ack;
        }
    }
}

#[cfg(test)]
mod tests {
    use evenair_scenario::Scenario;

    use super::*;
    use crate::plan;

    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;

    fn scenario() -> Scenario {
        let text = r#"
            version = 1
            name = "meter"
            duration = "5 s"
            [radio]
            standard = "802.11b"
            [[station]]
            name = "sta"
            count = 2
            rate = "11 Mb/s"
            [[server]]
            name = "server"
            [[bulk]]
            name = "up"
            stations = ["sta1"]
            server = "server"
            direction = "up"
            [[bulk]]
            name = "down"
            stations = ["sta2"]
            server = "server"
            direction = "down"
            [[udp]]
            name = "voice"
            stations = ["sta1"]
            server = "server"
            direction = "down"
            rate = "64 kb/s"
        "#;
        Scenario::parse(text, "meter.toml").unwrap_or_else(|error| panic!("{error}"))
    }

    /// An Ethernet frame with an IPv4 packet of this protocol; checksums are not used here.
    fn ipv4(protocol: u8, transport: &[u8]) -> Vec<u8> {
        let length = (20 + transport.len() as u16).to_be_bytes();
        let header = [0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let ethernet = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        [&ethernet[..], &header, transport].concat()
    }

    fn tcp(ports: (u16, u16), ack: u32, flags: u8, payload: usize) -> Vec<u8> {
        let mut segment = Vec::new();
        segment.extend(ports.0.to_be_bytes());
        segment.extend(ports.1.to_be_bytes());
        segment.extend(1000u32.to_be_bytes());
        segment.extend(ack.to_be_bytes());
        segment.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        segment.extend(vec![0; payload]);
        ipv4(6, &segment)
    }

    fn meter(scenario: &Scenario) -> Meter {
        Meter::new(scenario, Owners::new(scenario, |host| host))
    }

    #[test]
    fn an_upload_counts_its_data_and_the_progress_of_its_acknowledgments() {
        let (scenario, client) = (scenario(), 40_000);
        let mut meter = meter(&scenario);
        let server = plan::server_port(0);
        let (up, down) = ((client, server), (server, client));
        meter.count(0, Direction::Up, &tcp(up, 0, SYN, 0));
        meter.count(0, Direction::Down, &tcp(down, 500, SYN | ACK, 0));
        meter.count(0, Direction::Up, &tcp(up, 1, ACK, 1448));
        meter.count(0, Direction::Up, &tcp(up, 1, ACK, 1448));
        meter.count(0, Direction::Down, &tcp(down, 500 + 2896, ACK, 0));
        // An old and a repeated ACK acknowledge nothing new.
        meter.count(0, Direction::Down, &tcp(down, 500 + 1448, ACK, 0));
        meter.count(0, Direction::Down, &tcp(down, 500 + 2896, ACK, 0));
        let expected = AppCount { ip_bytes: 2 * 1488 + 5 * 40, data_packets: 2, ack_packets: 3, goodput_bytes: 2896 };
        assert_eq!(meter.counts()[0], expected);
        assert_eq!(meter.counts()[1..], [AppCount::default(); 2]);
    }

    #[test]
    fn sequence_numbers_wrap_and_a_new_connection_starts_at_its_own_base() {
        let scenario = scenario();
        let mut meter = meter(&scenario);
        let (server, client) = (plan::server_port(1), 40_000);
        let ack = |ack, flags| tcp((client, server), ack, flags, 0);
        meter.count(1, Direction::Up, &ack(u32::MAX - 9, ACK));
        meter.count(1, Direction::Up, &ack(90, ACK));
        assert_eq!(meter.counts()[1].goodput_bytes, 100);
        meter.count(1, Direction::Up, &ack(0, SYN));
        meter.count(1, Direction::Up, &ack(7_000_000, ACK));
        meter.count(1, Direction::Up, &ack(7_000_050, ACK));
        assert_eq!(meter.counts()[1].goodput_bytes, 150);
    }

    #[test]
    fn datagrams_count_by_payload_and_other_frames_separately() {
        let scenario = scenario();
        let mut meter = meter(&scenario);
        let [high, low] = plan::server_port(2).to_be_bytes();
        let datagram = [&[high, low, 0x30, 0, 0, 108, 0, 0][..], &[0; 100]].concat();
        meter.count(0, Direction::Down, &ipv4(17, &datagram));
        assert_eq!(meter.counts()[2], AppCount { ip_bytes: 128, data_packets: 1, ack_packets: 0, goodput_bytes: 100 });
        // Another station, another port, and no IP at all.
        meter.count(1, Direction::Down, &ipv4(17, &datagram));
        meter.count(0, Direction::Down, &tcp((80, 40_000), 0, ACK, 10));
        meter.count(0, Direction::Up, &[&[0xff; 12][..], &[8, 6], &[0; 28]].concat());
        assert_eq!(meter.counts()[2].ip_bytes, 128);
        assert_eq!(meter.other_bytes(), 128 + 50 + 28);
    }
}
