//! The application of a packet on the air, and what a queue in front of a MAC may read of it.
//!
//! A packet belongs to the application with its server port, if the application's station sends or receives it. Other
//! frames (ARP, neighbour discovery, a telephone's signalling) belong to none.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use evenair_ap::Tag;
use evenair_packet::{FlowKey, IpMeta, Port, TcpFlags, Transport};
use evenair_scenario::Scenario;
use evenair_sched::Progress;
use evenair_workload::Direction;

use crate::plan::{app_of_port, telephones};

/// In a [`Tag`]: no application, or no single station.
const NONE: u32 = u32::MAX;

/// The applications of a scenario.
#[derive(Clone, Debug)]
pub struct Owners {
    apps: Vec<Owner>,
    /// Applications of telephone programs, from the station and to it, by RTP port.
    telephones: BTreeMap<u16, [usize; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct Owner {
    /// Index of its station.
    station: usize,
    /// Its packets go to a multicast group.
    group: bool,
}

impl Owners {
    /// The tag of a frame that was not parsed.
    pub const UNKNOWN: Tag = Tag { connection: 0, forth: false, station: NONE, app: NONE, progress: None };

    /// The applications of a scenario; `station_number` gives the index of the station that is host `i`.
    pub fn new(scenario: &Scenario, station_number: impl Fn(usize) -> usize) -> Self {
        let apps = scenario.apps.iter().map(|app| Owner { station: station_number(app.station), group: app.group });
        Self { apps: apps.collect(), telephones: telephones(scenario).into_iter().collect() }
    }

    /// The application of a packet from a station (up) or to it (down).
    pub fn app_of(&self, station: usize, way: Direction, ip: &IpMeta) -> Option<usize> {
        let (source, destination) = match &ip.transport {
            Transport::Tcp(tcp) => (tcp.src_port, tcp.dst_port),
            Transport::Udp { src_port, dst_port } => (*src_port, *dst_port),
            Transport::Icmp { .. } | Transport::Other => return None,
        };
        let server = if way == Direction::Up { destination } else { source };
        if let Some(&[up, down]) = self.telephones.get(&server).filter(|_| source == destination) {
            return Some(if way == Direction::Up { up } else { down });
        }
        app_of_port(server).filter(|&app| self.apps.get(app).is_some_and(|app| app.station == station))
    }

    /// The application of a packet to a group.
    pub fn app_of_group(&self, ip: &IpMeta) -> Option<usize> {
        let Transport::Udp { src_port, .. } = ip.transport else { return None };
        app_of_port(src_port).filter(|&app| self.apps.get(app).is_some_and(|app| app.group))
    }

    /// Tag of a frame from a station (up) or to it (down); `None`: to all stations.
    pub fn tag(&self, station: Option<usize>, way: Direction, frame: &[u8]) -> Tag {
        let meta = evenair_packet::parse(side(way), frame);
        let Some(ip) = &meta.ip else {
            let station = station.map_or(NONE, |station| station as u32);
            return Tag {
                connection: station.into(),
                forth: way == Direction::Down,
                station,
                app: NONE,
                progress: None,
            };
        };
        let app = station.map_or_else(|| self.app_of_group(ip), |station| self.app_of(station, way, ip));
        let station = station.or_else(|| Some(self.apps[app?].station));
        let number = |of: Option<usize>| of.map_or(NONE, |of| of as u32);
        let (key, forth) = FlowKey::of(ip);
        let progress = meta.tcp().map(|tcp| Progress {
            forth,
            opens: tcp.begins(),
            has_data: tcp.payload.0 > 0,
            ack: tcp.flags.contains(TcpFlags::ACK).then_some(tcp.ack),
        });
        Tag { connection: number_of(&key), forth, station: number(station), app: number(app), progress }
    }
}

/// The port of the box at which such a packet would arrive.
pub const fn side(way: Direction) -> Port {
    match way {
        Direction::Up => Port::Wlan,
        Direction::Down => Port::Wire,
    }
}

/// A number for a connection that is almost certainly unique. Queues derive two numbers from it, one per direction.
fn number_of(key: &FlowKey) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() >> 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::server_port;

    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;

    /// An upload of each of two stations, which are the first hosts.
    fn owners() -> Owners {
        let text = r#"
            version = 1
            name = "owners"
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
            stations = ["sta"]
            server = "server"
            direction = "up"
        "#;
        let scenario = Scenario::parse(text, "owners.toml").unwrap_or_else(|error| panic!("{error}"));
        Owners::new(&scenario, |host| host)
    }

    /// A frame with a TCP segment between a station, 10.0.0.1 with port 40000, and the server of the second upload.
    fn segment(way: Direction, ack: u32, flags: u8, payload: usize) -> Vec<u8> {
        let (station, server) = (([10, 0, 0, 1], 40_000_u16), ([10, 0, 0, 2], server_port(1)));
        let (from, to) = if way == Direction::Up { (station, server) } else { (server, station) };
        let ip = [&[0x45, 0, 0, 40 + payload as u8, 0, 0, 0x40, 0, 64, 6, 0, 0][..], &from.0, &to.0].concat();
        let ports = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
        let numbers = [1000_u32.to_be_bytes(), ack.to_be_bytes()].concat();
        let rest = [0x50, flags, 0xff, 0xff, 0, 0, 0, 0];
        [&[2; 12][..], &[8, 0], &ip, &ports, &numbers, &rest, &vec![0; payload]].concat()
    }

    #[test]
    fn both_directions_of_a_connection_have_one_number_and_application() {
        let owners = owners();
        let up = owners.tag(Some(1), Direction::Up, &segment(Direction::Up, 7, ACK, 10));
        let down = owners.tag(Some(1), Direction::Down, &segment(Direction::Down, 9, ACK, 0));
        assert_eq!((up.connection, up.station, up.app), (down.connection, 1, 1));
        assert_eq!((down.station, down.app, down.forth), (1, 1, !up.forth));
        let progress = |tag: &Tag| tag.progress.map(|progress| (progress.opens, progress.has_data, progress.ack));
        assert_eq!((progress(&up), progress(&down)), (Some((false, true, Some(7))), Some((false, false, Some(9)))));
        let opens = owners.tag(Some(1), Direction::Up, &segment(Direction::Up, 7, SYN, 0));
        assert_eq!((progress(&opens), opens.connection), (Some((true, false, None)), up.connection));
    }

    #[test]
    fn other_packets_belong_to_no_application() {
        let owners = owners();
        // The port of another station's application, and no IP at all.
        let of_other = owners.tag(Some(0), Direction::Up, &segment(Direction::Up, 7, ACK, 10));
        assert_eq!((of_other.station, of_other.app), (0, NONE));
        let arp = [&[2; 12][..], &[8, 6], &[0; 28]].concat();
        let arp = |station| owners.tag(station, Direction::Down, &arp);
        assert_eq!((arp(Some(1)).station, arp(Some(1)).app, arp(None).station), (1, NONE, NONE));
        assert!(arp(Some(0)).connection != arp(Some(1)).connection && arp(Some(1)).progress.is_none());
    }
}
