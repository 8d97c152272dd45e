//! The wired side: a LAN switch, and the Internet link behind a router.
//!
//! Each port of the switch has a link of the scenario's rate, delay and buffer on its way out, so that a packet crosses
//! one such link whichever way it goes, and what goes to the access point shares one; the way in is immediate. The
//! Internet link has one link for each direction. Sizes are what a link really carries: on the LAN the Ethernet frame
//! with its 24 bytes of preamble, FCS and gap, on the Internet link the IP packet alone. The testbed's wired side is
//! built in the same way.
//!
//! Not here: learning of addresses (the simulator knows where everybody is), traffic among servers.

use evenair_link::{Link, LinkConfig};
use evenair_scenario::{Direction, LinkSpec, Place, Scenario};
use evenair_units::{Bytes, Instant};

use crate::packet::PacketId;

/// MAC addresses and EtherType (14), preamble and start delimiter (8), frame check sequence (4), gap (12): IEEE 802.3,
/// clauses 3.1.1 and 4.4.2.
const ETHERNET: Bytes = Bytes(14 + 8 + 4 + 12);

/// Where a port leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    /// To the box and the access point.
    ToAccessPoint,
    /// To a server, by its number among the hosts.
    ToServer(usize),
    /// Over the LAN to the router and then up the Internet link.
    ToRouter,
    /// Up the Internet link, to the servers there.
    UpInternet,
    /// Down the Internet link to the router and then over the LAN to the box.
    DownInternet,
}

#[derive(Debug)]
struct Port {
    leads: Leads,
    link: Link<PacketId>,
    /// Added to each IP packet.
    overhead: Bytes,
    drops: u64,
    /// Packets on the link and in front of it.
    held: usize,
}

#[derive(Debug)]
pub(crate) struct Wire {
    ports: Vec<Port>,
    /// When the next packet arrives behind each port; [`Instant::MAX`] where none is under way. Every packet changes
    /// one of these and ports are few, so that looking at all of them is quicker than a heap.
    arrivals: Vec<Instant>,
    /// The least of `arrivals`.
    next: Instant,
}

/// Number of a port.
pub(crate) const TO_ACCESS_POINT: u32 = 0;

impl Wire {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let lan = |leads| Port::new(leads, &scenario.lan, ETHERNET);
        let mut ports = vec![lan(Leads::ToAccessPoint)];
        let servers = (0..scenario.hosts.len()).filter(|&host| scenario.hosts[host].place == Place::Lan);
        ports.extend(servers.map(|host| lan(Leads::ToServer(host))));
        if let Some(wan) = &scenario.wan {
            ports.push(lan(Leads::ToRouter));
            ports.push(Port::new(Leads::UpInternet, &wan.up, Bytes::ZERO));
            ports.push(Port::new(Leads::DownInternet, &wan.down, Bytes::ZERO));
        }
        Self { arrivals: vec![Instant::MAX; ports.len()], ports, next: Instant::MAX }
    }

    /// The first port on the way between the stations and the server that is host `server`.
    ///
    /// # Panics
    /// If there is no such server.
    pub(crate) fn first_port(&self, scenario: &Scenario, server: usize, way: Direction) -> u32 {
        let leads = match (scenario.hosts[server].place, way) {
            (Place::Wan, Direction::Up) => Leads::ToRouter,
            (Place::Wan, Direction::Down) => Leads::DownInternet,
            (_, Direction::Up) => Leads::ToServer(server),
            (_, Direction::Down) => Leads::ToAccessPoint,
        };
        self.port(leads)
    }

    /// The port that comes after one that does not lead to its end.
    pub(crate) fn next_port(&self, leads: Leads) -> Option<u32> {
        match leads {
            Leads::ToRouter => Some(self.port(Leads::UpInternet)),
            Leads::DownInternet => Some(TO_ACCESS_POINT),
            Leads::ToAccessPoint | Leads::ToServer(_) | Leads::UpInternet => None,
        }
    }

    fn port(&self, leads: Leads) -> u32 {
        self.ports.iter().position(|port| port.leads == leads).expect("a checked scenario has every place") as u32
    }

    /// A packet of `len` bytes of IP comes to a port. Gives it back where the buffer is full.
    pub(crate) fn send(&mut self, now: Instant, port: u32, len: Bytes, packet: PacketId) -> Option<PacketId> {
        let Port { link, overhead, drops, held, .. } = &mut self.ports[port as usize];
        link.handle_frame(now, len + *overhead, packet);
        let dropped = link.poll_drop();
        if dropped.is_some() {
            *drops += 1;
            return dropped;
        }
        *held += 1;
        if *held == 1 {
            let at = link.poll_deadline().expect("there is a packet on it");
            self.arrivals[port as usize] = at;
            self.next = self.next.min(at);
        }
        None
    }

    /// The next packet that has arrived by `now`, and where the port led that it went through; those behind the port
    /// of the lowest number first.
    pub(crate) fn arrival(&mut self, now: Instant) -> Option<(Leads, PacketId)> {
        if self.next > now {
            return None;
        }
        let place = self.arrivals.iter().position(|&at| at <= now).expect("`next` is the least of them");
        let Port { leads, link, held, .. } = &mut self.ports[place];
        let (_, packet) = link.poll_frame(now).expect("it is due");
        *held -= 1;
        self.arrivals[place] = link.poll_deadline().unwrap_or(Instant::MAX);
        self.next = self.arrivals.iter().copied().min().unwrap_or(Instant::MAX);
        Some((*leads, packet))
    }

    /// When the next packet arrives anywhere; [`Instant::MAX`] where none is under way.
    pub(crate) fn deadline(&self) -> Instant {
        self.next
    }

    /// Packets on all links and in front of them.
    pub(crate) fn held(&self) -> usize {
        self.ports.iter().map(|port| port.held).sum()
    }

    /// Packets dropped at each port, by where it leads.
    pub(crate) fn drops(&self) -> impl Iterator<Item = (Leads, u64)> + '_ {
        self.ports.iter().map(|port| (port.leads, port.drops))
    }
}

impl Port {
    fn new(leads: Leads, spec: &LinkSpec, overhead: Bytes) -> Self {
        let link = Link::new(LinkConfig { rate: spec.rate, delay: spec.delay, buffer: spec.buffer });
        Self { leads, link, overhead, drops: 0, held: 0 }
    }
}
