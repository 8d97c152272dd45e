//! The wired side: a LAN switch, and the Internet link behind a router.
//!
//! Each port of the switch has an output link with the scenario's rate, delay and buffer, so that a packet crosses one such
//! link in either direction, and all traffic to the access point shares one; inputs have no delay. The Internet link has one
//! link per direction. Sizes are those on the link: on the LAN the Ethernet frame with its 24 bytes of preamble, FCS and gap,
//! on the Internet link the IP packet alone. The testbed's wired side is built in the same way.
//!
//! Not here: learning of addresses (the simulator knows all hosts), traffic among servers.

use evenair_link::{Link, LinkConfig};
use evenair_scenario::{AppKind, Host, LinkSpec, Place, Scenario};
use evenair_units::{Bytes, Instant, Limit, Rng, Span, Streams};
use evenair_workload::Direction;

use crate::packet::PacketId;

/// Ethernet overhead: MAC addresses and EtherType (14), preamble and start delimiter (8), frame check sequence (4), gap
/// (12): IEEE 802.3, clauses 3.1.1 and 4.4.2.
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
    /// From a server with an additional delay, by its number among the hosts, to the Internet link.
    FromServer(usize),
    /// Down the Internet link to the router and then over the LAN to the box.
    DownInternet,
}

#[derive(Debug)]
struct Port {
    leads: Leads,
    link: Link<PacketId>,
    /// Overhead of each IP packet.
    overhead: Bytes,
    offered: u64,
    drops: u64,
    /// Packets on the link and in its buffer.
    held: usize,
    jitter: Option<Jitter>,
    /// The server only counts arrivals, so they may be processed late.
    is_sink: bool,
}

/// Random time that a host takes to send a packet. Without it, packets of different senders always meet at a buffer in the
/// same order (Floyd, Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", Internetworking 3(3), 1992).
#[derive(Debug)]
struct Jitter {
    most: Span,
    rng: Rng,
    /// When the last packet is sent.
    last: Instant,
}

#[derive(Debug)]
pub(crate) struct Wire {
    ports: Vec<Port>,
    /// Next arrival behind each port; [`Instant::MAX`] if the link is empty. Every packet changes one of these; ports are
    /// few, so that a linear search is faster than a heap.
    arrivals: Vec<Instant>,
    /// The minimum of `arrivals`, and the first port that has it.
    next: Instant,
    next_port: usize,
    /// Packets sent to sinks since their arrivals were last processed.
    to_sinks: usize,
    /// Ports of the sinks.
    sinks: Vec<u32>,
}

/// Index of the port to the access point.
pub(crate) const TO_ACCESS_POINT: u32 = 0;

/// Number of packets to sinks after which their arrivals are processed: their records still fit into the cache.
const MANY: usize = 64;

impl Wire {
    pub(crate) fn new(scenario: &Scenario, streams: &Streams) -> Self {
        let lan = |leads| Port::new(leads, &scenario.lan, ETHERNET);
        let mut ports = vec![lan(Leads::ToAccessPoint)];
        let servers = (0..scenario.hosts.len()).filter(|&host| scenario.hosts[host].place == Place::Lan);
        ports.extend(servers.map(|host| Port { is_sink: is_sink(scenario, host), ..lan(Leads::ToServer(host)) }));
        if let Some(wan) = &scenario.wan {
            ports.push(lan(Leads::ToRouter));
            ports.push(Port::new(Leads::UpInternet, &wan.up, Bytes::ZERO));
            ports.push(Port::new(Leads::DownInternet, &wan.down, Bytes::ZERO));
            let far = scenario.hosts.iter().enumerate().filter(|(_, host)| has_own_way(host));
            ports.extend(far.map(|(number, host)| {
                let way = LinkSpec { rate: None, delay: host.delay, buffer: Limit::Unlimited };
                let rng = || streams.stream(&format!("server jitter {}", host.name));
                let jitter =
                    (host.jitter > Span::ZERO).then(|| Jitter { most: host.jitter, rng: rng(), last: Instant::ZERO });
                Port { jitter, ..Port::new(Leads::FromServer(number), &way, Bytes::ZERO) }
            }));
        }
        let sinks = (0..).zip(&ports).filter(|(_, port)| port.is_sink).map(|(number, _)| number).collect();
        let arrivals = vec![Instant::MAX; ports.len()];
        Self { arrivals, ports, next: Instant::MAX, next_port: 0, to_sinks: 0, sinks }
    }

    /// The first port on the path between the stations and the server that is host `server`.
    ///
    /// # Panics
    /// If there is no such server.
    pub(crate) fn first_port(&self, scenario: &Scenario, server: usize, way: Direction) -> u32 {
        let leads = match (scenario.hosts[server].place, way) {
            (Place::Wan, Direction::Up) => Leads::ToRouter,
            (Place::Wan, Direction::Down) if has_own_way(&scenario.hosts[server]) => Leads::FromServer(server),
            (Place::Wan, Direction::Down) => Leads::DownInternet,
            (_, Direction::Up) => Leads::ToServer(server),
            (_, Direction::Down) => Leads::ToAccessPoint,
        };
        self.port(leads)
    }

    /// The next port after one that does not lead to a packet's end.
    pub(crate) fn next_port(&self, leads: Leads) -> Option<u32> {
        match leads {
            Leads::ToRouter => Some(self.port(Leads::UpInternet)),
            Leads::FromServer(_) => Some(self.port(Leads::DownInternet)),
            Leads::DownInternet => Some(TO_ACCESS_POINT),
            Leads::ToAccessPoint | Leads::ToServer(_) | Leads::UpInternet => None,
        }
    }

    fn port(&self, leads: Leads) -> u32 {
        self.ports.iter().position(|port| port.leads == leads).expect("a checked scenario has every place") as u32
    }

    /// Sends a packet of `len` bytes of IP to a port. Gives it back if the buffer is full.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Instant, port: u32, len: Bytes, packet: PacketId) -> Option<PacketId> {
        let Port { link, overhead, offered, drops, held, jitter, is_sink, .. } = &mut self.ports[port as usize];
        *offered += 1;
        let at = jitter.as_mut().map_or(now, |jitter| jitter.next(now));
        link.handle_frame(at, len + *overhead, packet);
        let dropped = link.poll_drop();
        if dropped.is_some() {
            *drops += 1;
            return dropped;
        }
        *held += 1;
        if *is_sink {
            self.to_sinks += 1;
        } else if *held == 1 {
            let at = link.poll_deadline().expect("there is a packet on it");
            let port = port as usize;
            self.arrivals[port] = at;
            if (at, port) < (self.next, self.next_port) {
                (self.next, self.next_port) = (at, port);
            }
        }
        None
    }

    /// The next packet that has arrived by `now`, and the port that it left; at equal times the lowest port first.
    pub(crate) fn arrival(&mut self, now: Instant) -> Option<(Leads, PacketId)> {
        if self.next > now {
            return None;
        }
        let port = self.next_port;
        let Port { leads, link, held, .. } = &mut self.ports[port];
        let (_, packet) = link.poll_frame(now).expect("it is due");
        *held -= 1;
        self.arrivals[port] = link.poll_deadline().unwrap_or(Instant::MAX);
        self.next = Instant::MAX;
        for (port, &at) in self.arrivals.iter().enumerate() {
            if at < self.next {
                (self.next, self.next_port) = (at, port);
            }
        }
        Some((*leads, packet))
    }

    /// Whether enough packets were sent to sinks to process their arrivals.
    #[inline]
    pub(crate) fn has_many_to_sinks(&self) -> bool {
        self.to_sinks >= MANY
    }

    /// The next packet that has arrived at a sink by `now`, with its time of arrival; in order for each sink.
    pub(crate) fn arrival_at_sink(&mut self, now: Instant) -> Option<(Instant, PacketId)> {
        let ports = &mut self.ports;
        let arrival = self.sinks.iter().find_map(|&sink| {
            let Port { link, held, .. } = &mut ports[sink as usize];
            link.poll_frame(now).inspect(|_| *held -= 1)
        });
        if arrival.is_none() {
            self.to_sinks = 0;
        }
        arrival
    }

    /// Next arrival anywhere but at a sink; [`Instant::MAX`] without one.
    pub(crate) fn deadline(&self) -> Instant {
        self.next
    }

    /// Packets on all links and in their buffers.
    pub(crate) fn held(&self) -> usize {
        self.ports.iter().map(|port| port.held).sum()
    }

    /// Packets that came to each port and those dropped there.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Leads, u64, u64)> + '_ {
        self.ports.iter().map(|port| (port.leads, port.offered, port.drops))
    }

    /// Packets dropped at each port, by where it leads.
    pub(crate) fn drops(&self) -> impl Iterator<Item = (Leads, u64)> + '_ {
        self.ports.iter().map(|port| (port.leads, port.drops))
    }
}

impl Port {
    fn new(leads: Leads, spec: &LinkSpec, overhead: Bytes) -> Self {
        let link = Link::new(LinkConfig { rate: spec.rate, delay: spec.delay, buffer: spec.buffer });
        Self { leads, link, overhead, offered: 0, drops: 0, held: 0, jitter: None, is_sink: false }
    }
}

impl Jitter {
    /// When a packet that is made now is sent.
    fn next(&mut self, now: Instant) -> Instant {
        let wait = Span::from_nanos(self.rng.below(self.most.as_nanos() + 1));
        self.last = self.last.max(now + wait);
        self.last
    }
}

/// Whether a server receives only datagrams, which it does not answer.
fn is_sink(scenario: &Scenario, server: usize) -> bool {
    scenario.apps.iter().filter(|app| app.peer == server).all(|app| matches!(app.kind, AppKind::Udp(_)))
}

/// Whether a server has an additional link to the Internet link.
fn has_own_way(host: &Host) -> bool {
    host.delay > Span::ZERO || host.jitter > Span::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_time_to_send_keeps_the_order_and_its_bound() {
        let most = Span::from_micros(100);
        let mut jitter = Jitter { most, rng: Streams::new(1).numbered("server jitter", 0), last: Instant::ZERO };
        let made: Vec<_> = (0..1000).map(|us| Instant::ZERO + Span::from_micros(us)).collect();
        let sent: Vec<_> = made.iter().map(|&now| jitter.next(now)).collect();
        assert!(sent.is_sorted());
        assert!(made.iter().zip(&sent).all(|(&made, &sent)| (made..=made + most).contains(&sent)));
        // Close to the bound at times, but not always: packets that are far apart do not delay one another.
        let waits = (1..=1000).map(|ms| {
            let now = Instant::ZERO + Span::from_millis(ms);
            jitter.next(now).saturating_since(now)
        });
        let sum: Span = waits.fold(Span::ZERO, |sum, wait| sum + wait);
        assert!((45..=55).contains(&(sum / 1000).as_micros()), "{sum:?}");
    }
}
