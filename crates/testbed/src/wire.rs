//! The wired side in event time: a LAN switch, and the Internet link with a switch behind it.
//!
//! Each port of the LAN switch has an output link with the scenario's rate, one-way delay and buffer, so that a frame crosses
//! exactly one such link in either direction, and all traffic from the wire shares the port toward the access point. That port
//! is a trunk of the access points' VLANs ([`crate::vlan`]). The input of the switch has no delay: hosts send as fast as they can.
//!
//! The Internet link joins the router to a switch of the hosts beyond it, with a link for each direction; between those
//! hosts frames have no delay. Frames of a host with an additional delay pass a delay line before that switch.
//!
//! Sizes are those on the link: on the LAN the frame and the 24 bytes of Ethernet overhead (preamble 8, FCS 4, inter-frame gap
//! 12), on the Internet link the IP packet alone.

use std::collections::{BTreeMap, VecDeque};

use evenair_link::{DelayLine, Link, LinkConfig};
use evenair_scenario::{LinkSpec, WanSpec};
use evenair_units::{Bytes, Instant};

use crate::switch::{Forward, HEADER_BYTES, Switch, addresses};
use crate::vlan::{Trunk, Vlan};

/// Ethernet overhead per frame in bytes: preamble and start delimiter (8), frame check sequence (4), gap (12): IEEE 802.3
/// clauses 3.1.1, 4.4.2.
const ETHERNET_OVERHEAD: u64 = 24;

/// A port of the wired side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Port {
    /// LAN: toward the box and the access point.
    Box,
    /// LAN: a host, by its number in the scenario.
    LanHost(usize),
    /// LAN: the router.
    RouterLan,
    /// The router's end of the Internet link.
    RouterWan,
    /// Beyond the Internet link: a host, by its number in the scenario.
    WanHost(usize),
}

/// The wired side.
#[derive(Debug)]
pub struct Wire {
    lan: Switch<Port>,
    /// VLANs at [`Port::Box`].
    trunk: Trunk,
    wan: WanSwitch,
    /// Output link of each LAN port, and the directions of the Internet link: down as that of [`Port::RouterWan`], up as
    /// that of all WAN hosts together.
    links: BTreeMap<Port, Link<(Port, Vec<u8>)>>,
    up: Option<Link<Vec<u8>>>,
    /// Delay lines from hosts beyond the Internet link to the switch there, by host.
    ways: BTreeMap<usize, DelayLine<Vec<u8>>>,
    direct: VecDeque<Delivery>,
    drops: BTreeMap<Port, u64>,
}

/// A frame that arrived at a port.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When its last bit arrived.
    pub at: Instant,
    /// The port.
    pub port: Port,
    /// Ethernet frame.
    pub frame: Vec<u8>,
}

impl Wire {
    /// A wired side with these hosts; `wan` adds the router and the hosts beyond it, some of which have a delay line.
    pub fn new(
        lan: &LinkSpec,
        lan_hosts: &[usize],
        wan: Option<&WanSpec>,
        wan_hosts: &[usize],
        ways: BTreeMap<usize, DelayLine<Vec<u8>>>,
    ) -> Self {
        let mut ports = vec![Port::Box];
        ports.extend(lan_hosts.iter().map(|&host| Port::LanHost(host)));
        ports.extend(wan.map(|_| Port::RouterLan));
        let mut links: BTreeMap<_, _> = ports.into_iter().map(|port| (port, Link::new(config(lan)))).collect();
        links.extend(wan.map(|wan| (Port::RouterWan, Link::new(config(&wan.down)))));
        Self {
            lan: Switch::default(),
            trunk: Trunk::new(&[None]),
            wan: WanSwitch { switch: Switch::default(), hosts: wan_hosts.to_vec() },
            links,
            up: wan.map(|wan| Link::new(config(&wan.up))),
            ways,
            direct: VecDeque::new(),
            drops: BTreeMap::new(),
        }
    }

    /// The wired side with these VLANs of the access points; [`Self::new`] has the native one.
    #[must_use]
    pub fn with_vlans(self, of_access_points: &[Vlan]) -> Self {
        Self { trunk: Trunk::new(of_access_points), ..self }
    }

    /// Handles a frame that the machine at `port` sends. One without an Ethernet header is dropped.
    pub fn handle_frame(&mut self, now: Instant, port: Port, frame: Vec<u8>) {
        match port {
            Port::Box | Port::LanHost(_) | Port::RouterLan => self.switch_lan(now, port, frame),
            Port::RouterWan => {
                let size = Bytes(frame.len().saturating_sub(HEADER_BYTES) as u64);
                let up = self.up.as_mut().expect("there is a router only with an Internet link");
                up.handle_frame(now, size, frame);
                while up.poll_drop().is_some() {
                    *self.drops.entry(Port::RouterWan).or_default() += 1;
                }
            }
            Port::WanHost(host) => match self.ways.get_mut(&host) {
                Some(way) => way.handle_frame(now, frame),
                None => self.switch_wan(now, port, frame),
            },
        }
    }

    /// The next frame that has arrived by `now`.
    pub fn poll_frame(&mut self, now: Instant) -> Option<Delivery> {
        if let Some(up) = &mut self.up {
            while let Some((at, frame)) = up.poll_frame(now) {
                self.wan.fan_out(at, Port::RouterWan, frame, &mut self.direct);
            }
        }
        while let Some((at, host, frame)) = self.poll_way(now) {
            self.switch_wan(at, Port::WanHost(host), frame);
        }
        if let Some(delivery) = self.direct.pop_front() {
            return Some(delivery);
        }
        self.links.values_mut().find_map(|link| {
            let (at, (port, frame)) = link.poll_frame(now)?;
            Some(Delivery { at, port, frame })
        })
    }

    /// The next frame at the end of a delay line, in the order of arrival: the link behind accepts no frame that is earlier
    /// than a previous one.
    fn poll_way(&mut self, now: Instant) -> Option<(Instant, usize, Vec<u8>)> {
        let due = |(_, way): &(&usize, &mut DelayLine<_>)| way.poll_deadline().unwrap_or(Instant::MAX);
        let (&host, way) = self.ways.iter_mut().min_by_key(due)?;
        let (at, frame) = way.poll_frame(now)?;
        Some((at, host, frame))
    }

    /// When the next frame arrives, or reaches the end of a delay line.
    pub fn poll_deadline(&self) -> Option<Instant> {
        let up = self.up.as_ref().and_then(Link::poll_deadline);
        let way = self.ways.values().filter_map(DelayLine::poll_deadline).min();
        let direct = self.direct.front().map(|delivery| delivery.at);
        self.links.values().filter_map(Link::poll_deadline).chain(up).chain(way).chain(direct).min()
    }

    /// Frames dropped by the output link of each port since the start; [`Port::WanHost`] never, and [`Port::RouterWan`] for
    /// both directions of the Internet link.
    pub fn drops(&self) -> &BTreeMap<Port, u64> {
        &self.drops
    }

    fn switch_lan(&mut self, now: Instant, port: Port, frame: Vec<u8>) {
        let frame = if port == Port::Box { self.trunk.accept(frame) } else { frame };
        let Some((destination, source)) = addresses(&frame) else {
            *self.drops.entry(port).or_default() += 1;
            return;
        };
        match self.lan.forward(source, destination, port) {
            Forward::Filter => {}
            Forward::To(out) => self.send(now, out, frame),
            Forward::Flood => {
                let others: Vec<_> =
                    self.links.keys().copied().filter(|&out| out != port && out != Port::RouterWan).collect();
                others.into_iter().for_each(|out| self.send(now, out, frame.clone()));
            }
        }
    }

    fn send(&mut self, now: Instant, out: Port, frame: Vec<u8>) {
        let copies = if out == Port::Box { self.trunk.copies(frame) } else { vec![frame] };
        copies.into_iter().for_each(|frame| self.enqueue(now, out, frame));
    }

    /// Passes a frame to the output link of a port.
    fn enqueue(&mut self, now: Instant, out: Port, frame: Vec<u8>) {
        let size = match out {
            Port::RouterWan => frame.len().saturating_sub(HEADER_BYTES) as u64,
            _ => frame.len() as u64 + ETHERNET_OVERHEAD,
        };
        let link = self.links.get_mut(&out).expect("the switch knows only ports that sent, which have links");
        link.handle_frame(now, Bytes(size), (out, frame));
        while link.poll_drop().is_some() {
            *self.drops.entry(out).or_default() += 1;
        }
    }

    fn switch_wan(&mut self, at: Instant, port: Port, frame: Vec<u8>) {
        let mut out = VecDeque::new();
        self.wan.fan_out(at, port, frame, &mut out);
        for delivery in out {
            match delivery.port {
                Port::RouterWan => self.send(at, Port::RouterWan, delivery.frame),
                _ => self.direct.push_back(delivery),
            }
        }
    }
}

/// The switch beyond the Internet link, with the router and the hosts there.
#[derive(Debug)]
struct WanSwitch {
    switch: Switch<Port>,
    hosts: Vec<usize>,
}

impl WanSwitch {
    /// Forwards a frame from a port.
    fn fan_out(&mut self, at: Instant, from: Port, frame: Vec<u8>, to: &mut VecDeque<Delivery>) {
        let Some((destination, source)) = addresses(&frame) else { return };
        match self.switch.forward(source, destination, from) {
            Forward::Filter => {}
            Forward::To(port) => to.push_back(Delivery { at, port, frame }),
            Forward::Flood => {
                let all = self.hosts.iter().map(|&host| Port::WanHost(host)).chain([Port::RouterWan]);
                to.extend(all.filter(|&port| port != from).map(|port| Delivery { at, port, frame: frame.clone() }));
            }
        }
    }
}

fn config(spec: &LinkSpec) -> LinkConfig {
    LinkConfig { rate: spec.rate, delay: spec.delay, buffer: spec.buffer }
}

#[cfg(test)]
mod tests {
    use evenair_link::DelayConfig;
    use evenair_units::{BitRate, Limit, Span, Streams};

    use super::*;
    use crate::vlan;

    const STATION: u8 = 1;
    const SERVER: u8 = 2;
    const ROUTER_LAN: u8 = 3;
    const ROUTER_WAN: u8 = 4;
    const FAR: u8 = 5;
    const ALL: u8 = 0xff;

    /// A frame of `len` bytes.
    fn frame(to: u8, from: u8, len: usize) -> Vec<u8> {
        let mut frame = vec![0; len];
        frame[..6].copy_from_slice(&if to == ALL { [0xff; 6] } else { [2, 0, 0, 0, 0, to] });
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
        frame
    }

    fn link(rate_mbps: u64, delay_ms: u64, packets: u32) -> LinkSpec {
        LinkSpec {
            rate: Some(BitRate::from_mbps(rate_mbps)),
            delay: Span::from_millis(delay_ms),
            buffer: Limit::Packets(packets),
        }
    }

    fn wire() -> Wire {
        let wan = WanSpec { down: link(8, 150, 2), up: link(1, 50, 2) };
        Wire::new(&link(100, 1, 10), &[7], Some(&wan), &[8], BTreeMap::new())
    }

    /// The same with another WAN host, number 9, with 30 ms of additional delay.
    fn wire_with_two_far() -> Wire {
        let wan = WanSpec { down: link(8, 150, 2), up: link(1, 50, 2) };
        let config = DelayConfig { delay: Span::from_millis(30), ..DelayConfig::default() };
        let way = DelayLine::new(config, Streams::new(1).stream("way"));
        Wire::new(&link(100, 1, 10), &[7], Some(&wan), &[8, 9], BTreeMap::from([(9, way)]))
    }

    /// All arrivals, in order, in nanoseconds.
    fn arrivals(wire: &mut Wire) -> Vec<(u64, Port)> {
        let mut all = Vec::new();
        while let Some(at) = wire.poll_deadline() {
            let delivery = wire.poll_frame(at).expect("what is due comes out");
            all.push((delivery.at.as_nanos(), delivery.port));
        }
        all
    }

    #[test]
    fn a_frame_crosses_one_link_in_either_direction() {
        let mut wire = wire();
        // 1500 bytes of packet, 14 of header and 24 of overhead at 100 Mb/s: 123.04 us, and 1 ms of delay.
        let one_way = 1_123_040;
        wire.handle_frame(Instant::ZERO, Port::Box, frame(ALL, STATION, 1514));
        assert_eq!(arrivals(&mut wire), [(one_way, Port::LanHost(7)), (one_way, Port::RouterLan)]);
        wire.handle_frame(Instant::ZERO + Span::from_secs(1), Port::LanHost(7), frame(STATION, SERVER, 1514));
        assert_eq!(arrivals(&mut wire), [(1_000_000_000 + one_way, Port::Box)]);
        // The address is known by now: no other port gets the frame.
        wire.handle_frame(Instant::ZERO + Span::from_secs(2), Port::Box, frame(SERVER, STATION, 1514));
        assert_eq!(arrivals(&mut wire), [(2_000_000_000 + one_way, Port::LanHost(7))]);
    }

    #[test]
    fn toward_the_box_a_frame_crosses_the_link_once_in_each_vlan_with_its_tag() {
        let mut wire = wire().with_vlans(&[Some(11), Some(12)]);
        wire.handle_frame(Instant::ZERO, Port::LanHost(7), frame(ALL, SERVER, 1514));
        // As without a tag: 123.04 us, and 1 ms of delay. With four more bytes: 123.36 us.
        let [untagged, first, second] = [1_123_040, 1_123_360, 1_246_720];
        assert_eq!(arrivals(&mut wire), [(untagged, Port::RouterLan), (first, Port::Box), (second, Port::Box)]);
        let at = |s| Instant::ZERO + Span::from_secs(s);
        wire.handle_frame(at(1), Port::Box, vlan::tag(Some(12), frame(SERVER, STATION, 1514)));
        let came = wire.poll_frame(at(2)).expect("to a known address");
        assert_eq!((came.port, came.frame), (Port::LanHost(7), frame(SERVER, STATION, 1514)));
        wire.handle_frame(at(2), Port::LanHost(7), frame(STATION, SERVER, 1514));
        let came = wire.poll_frame(at(3)).expect("to a known address");
        assert_eq!((came.port, came.frame), (Port::Box, vlan::tag(Some(12), frame(STATION, SERVER, 1514))));
        assert_eq!(wire.poll_frame(at(3)), None);
        // Nothing returns to the box: a station of the other VLAN is not reached.
        wire.handle_frame(at(3), Port::Box, vlan::tag(Some(11), frame(STATION, FAR, 60)));
        assert_eq!(wire.poll_frame(at(4)), None);
    }

    #[test]
    fn the_internet_link_counts_packets_only_and_has_separate_directions() {
        let mut wire = wire();
        // 1500 bytes at 1 Mb/s: 12 ms, and 50 ms of delay; at 8 Mb/s 1.5 ms, and 150 ms.
        wire.handle_frame(Instant::ZERO, Port::RouterWan, frame(FAR, ROUTER_WAN, 1514));
        assert_eq!(arrivals(&mut wire), [(62_000_000, Port::WanHost(8))]);
        let now = Instant::ZERO + Span::from_secs(1);
        wire.handle_frame(now, Port::WanHost(8), frame(ROUTER_WAN, FAR, 1514));
        assert_eq!(arrivals(&mut wire), [(1_151_500_000, Port::RouterWan)]);
        // The router's LAN side does not flood a frame for a known address to the hosts beyond.
        wire.handle_frame(now, Port::RouterLan, frame(STATION, ROUTER_LAN, 60));
        assert!(arrivals(&mut wire).iter().all(|(_, port)| matches!(port, Port::Box | Port::LanHost(7))));
    }

    #[test]
    fn an_additional_delay_of_a_host_applies_only_to_frames_that_it_sends() {
        let mut wire = wire_with_two_far();
        const FARTHER: u8 = 6;
        // 1500 bytes at 8 Mb/s: 1.5 ms, and 150 ms of delay. The other host's frames are ahead.
        wire.handle_frame(Instant::ZERO, Port::WanHost(9), frame(ROUTER_WAN, FARTHER, 1514));
        for ms in [0, 29] {
            let now = Instant::ZERO + Span::from_millis(ms);
            while wire.poll_deadline().is_some_and(|due| due <= now) {
                wire.poll_frame(now);
            }
            wire.handle_frame(now, Port::WanHost(8), frame(ROUTER_WAN, FAR, 1514));
        }
        let mut arrived = Vec::new();
        while let Some(due) = wire.poll_deadline() {
            let is_router = |delivery: &Delivery| delivery.port == Port::RouterWan;
            arrived.extend(wire.poll_frame(due).filter(is_router).map(|delivery| (due.as_nanos(), delivery.frame[11])));
        }
        // The frame of 29 ms is on the link until 30.5 ms.
        assert_eq!(arrived, [(151_500_000, FAR), (180_500_000, FAR), (182_000_000, FARTHER)]);
        let now = Instant::ZERO + Span::from_secs(1);
        wire.handle_frame(now, Port::RouterWan, frame(FARTHER, ROUTER_WAN, 1514));
        assert_eq!(arrivals(&mut wire), [(1_062_000_000, Port::WanHost(9))]);
    }

    #[test]
    fn drops_of_full_buffers_are_counted_by_port() {
        let mut wire = wire();
        for _ in 0..5 {
            wire.handle_frame(Instant::ZERO, Port::RouterWan, frame(FAR, ROUTER_WAN, 1514));
            wire.handle_frame(Instant::ZERO, Port::WanHost(8), frame(ROUTER_WAN, FAR, 1514));
        }
        wire.handle_frame(Instant::ZERO, Port::Box, vec![0; 10]);
        assert_eq!(arrivals(&mut wire).len(), 4);
        // Two of five fit in each direction.
        assert_eq!(wire.drops(), &BTreeMap::from([(Port::RouterWan, 6), (Port::Box, 1)]));
    }
}
