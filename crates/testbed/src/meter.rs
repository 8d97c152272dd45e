//! Counting what crosses the WLAN hop, by application.
//!
//! A frame belongs to the application whose server port it carries and whose station sent or received it. Counted are
//! IP-level bytes of all its frames at the moment of delivery over the air, in both directions; whatever belongs to no
//! application (ARP, neighbour discovery) is counted apart.

use std::collections::BTreeMap;

use evenair_packet::{IpMeta, Port, TcpFlags, TcpMeta, Transport};
use evenair_scenario::{AppKind, Direction, Scenario};

use crate::plan::app_of_port;

/// What one application has moved over the WLAN hop since the start of the run.
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

/// What all applications together have moved.
#[derive(Clone, Debug)]
pub struct Meter {
    apps: Vec<MeteredApp>,
    other_bytes: u64,
}

#[derive(Clone, Debug)]
struct MeteredApp {
    /// Number of its station among the stations.
    station: usize,
    data: Direction,
    count: AppCount,
    /// Highest acknowledgment of each of its connections, by client port: the web opens many.
    acknowledged: BTreeMap<u16, u32>,
}

impl Meter {
    /// For a scenario's applications; `station_number` gives the number of the station that is host `i`.
    pub fn new(scenario: &Scenario, station_number: impl Fn(usize) -> usize) -> Self {
        let apps = scenario.apps.iter().map(|app| MeteredApp {
            station: station_number(app.station),
            data: match app.kind {
                AppKind::Web { .. } => Direction::Down,
                AppKind::Ping { .. } => Direction::Up,
                AppKind::Bulk { .. } | AppKind::Udp { .. } => app.direction,
            },
            count: AppCount::default(),
            acknowledged: BTreeMap::new(),
        });
        Self { apps: apps.collect(), other_bytes: 0 }
    }

    /// A frame was delivered over the air, to (`Down`) or from (`Up`) a station.
    pub fn count(&mut self, station: usize, way: Direction, frame: &[u8]) {
        let ingress = match way {
            Direction::Up => Port::Wlan,
            Direction::Down => Port::Wire,
        };
        let meta = evenair_packet::parse(ingress, frame);
        let app = meta.ip.as_ref().and_then(|ip| self.app_of(station, way, ip));
        match (app, meta.ip.as_ref()) {
            (Some(app), Some(ip)) => self.apps[app].count_packet(way, ip),
            _ => self.other_bytes += meta.ip_len().0,
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

    fn app_of(&self, station: usize, way: Direction, ip: &IpMeta) -> Option<usize> {
        let (source, destination) = match &ip.transport {
            Transport::Tcp(tcp) => (tcp.src_port, tcp.dst_port),
            Transport::Udp { src_port, dst_port } => (*src_port, *dst_port),
            Transport::Other => return None,
        };
        let server = if way == Direction::Up { destination } else { source };
        app_of_port(server).filter(|&app| self.apps.get(app).is_some_and(|app| app.station == station))
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
            Transport::Udp { .. } | Transport::Other => {}
        }
    }

    fn count_acknowledgment(&mut self, way: Direction, tcp: &TcpMeta) {
        self.count.ack_packets += u64::from(tcp.is_pure_ack());
        // Acknowledgments go against the data: from the client for a download, from the server for an upload.
        let client = if way == Direction::Up { tcp.src_port } else { tcp.dst_port };
        if tcp.flags.contains(TcpFlags::SYN) {
            // A new connection on a port that was used before.
            self.acknowledged.remove(&client);
        }
        if !tcp.flags.contains(TcpFlags::ACK) || tcp.flags.contains(TcpFlags::RST) {
            return;
        }
        // The first one completes the handshake and so is the base.
        let highest = self.acknowledged.entry(client).or_insert(tcp.ack);
        let advance = tcp.ack.wrapping_sub(*highest);
        // Half of the sequence space and more is "behind" (RFC 9293, 3.4).
        if advance < 1 << 31 {
            self.count.goodput_bytes += u64::from(advance);
            *highest = tcp.ack;
        }
    }
}
