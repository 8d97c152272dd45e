//! Which application a packet on the air is of, and what a queue in front of a MAC may know of it.
//!
//! A packet is of the application with its server port, if that one's station sends or receives it. Frames of none (ARP,
//! neighbour discovery, a telephone's signalling) are of nobody.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use evenair_ap::Tag;
use evenair_packet::{FlowKey, IpMeta, Port, TcpFlags, Transport};
use evenair_scenario::Scenario;
use evenair_sched::Progress;
use evenair_workload::Direction;

use crate::plan::{app_of_port, telephones};

/// In a [`Tag`]: of no application, or to no station alone.
const NONE: u32 = u32::MAX;

/// The applications of a scenario.
#[derive(Clone, Debug)]
pub struct Owners {
    apps: Vec<Owner>,
    /// Those of telephone programs by the port of their RTP, from the station and to it.
    telephones: BTreeMap<u16, [usize; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct Owner {
    /// Number of its station among the stations.
    station: usize,
    /// Its packets go to a group.
    group: bool,
}

impl Owners {
    /// The tag of what nobody has looked at.
    pub const UNKNOWN: Tag = Tag { connection: 0, forth: false, station: NONE, app: NONE, progress: None };

    /// Those of a scenario; `station_number` gives the number of the station that is host `i`.
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

    /// What a queue may know of a frame from a station (up) or to it (down); `None`: to all stations.
    pub fn tag(&self, station: Option<usize>, way: Direction, frame: &[u8]) -> Tag {
        let meta = evenair_packet::parse(side(way), frame);
        let Some(ip) = &meta.ip else {
            let station = station.map_or(NONE, |station| station as u32);
            return Tag { connection: station.into(), forth: way == Direction::Down, station, app: NONE, progress: None };
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

/// The side of the box from which a packet would come to it.
pub const fn side(way: Direction) -> Port {
    match way {
        Direction::Up => Port::Wlan,
        Direction::Down => Port::Wire,
    }
}

/// A number for a connection that hardly another one has. Queues make two numbers of it, one for each way.
fn number_of(key: &FlowKey) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() >> 2
}
