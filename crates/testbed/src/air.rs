//! The access point and its stations on the simulated medium, in event time: Ethernet frames in, Ethernet frames out.
//!
//! What crosses the air is the IP packet; the medium adds what 802.11 adds. The access point bridges: a frame from a
//! station goes to the wired side, to another station through the access point's own queue, or, to a group address, to
//! both (a group frame is sent once at the lowest basic rate to all). A frame toward a station that is not associated
//! is dropped and counted, as an access point does.
//!
//! Not here: power save, association frames, encryption overhead.

use std::collections::{BTreeMap, VecDeque};

use evenair_medium::{AccessCategory, Counters, DropReason, Event, Medium, Mpdu, NodeId, QueueState, To, Totals};
use evenair_packet::{MacAddr, dscp};
use evenair_scenario::AirPlan;
use evenair_units::{Airtime, Bytes, Instant, Streams};
use evenair_wifi::PhyRate;

use crate::switch::{HEADER_BYTES, addresses};

/// The air of one access point.
#[derive(Debug)]
pub struct Air {
    medium: Medium<Vec<u8>>,
    access_point: NodeId,
    plan: AirPlan,
    stations: Vec<Station>,
    by_mac: BTreeMap<MacAddr, usize>,
    by_node: BTreeMap<NodeId, usize>,
    outputs: VecDeque<Output>,
}

#[derive(Debug)]
struct Station {
    rate: PhyRate,
    /// Present while associated.
    node: Option<NodeId>,
    /// Airtime of its earlier associations.
    earlier_airtime: Airtime,
}

/// What comes out of the air.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// A frame reached a station.
    ToStation {
        /// When its last bit arrived.
        at: Instant,
        /// The station's number.
        station: usize,
        /// Ethernet frame.
        frame: Vec<u8>,
    },
    /// A group frame reached all stations.
    ToAllStations {
        /// When its last bit arrived.
        at: Instant,
        /// The station from which it came, which ignores it.
        except: Option<usize>,
        /// Ethernet frame.
        frame: Vec<u8>,
    },
    /// A frame reached the access point and goes on to the wired side.
    ToWire {
        /// When its last bit arrived.
        at: Instant,
        /// The station that sent it.
        station: usize,
        /// Ethernet frame.
        frame: Vec<u8>,
    },
    /// A frame was lost.
    Lost {
        /// Where.
        place: Place,
        /// Why.
        reason: Reason,
    },
}

/// Where a frame was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// At the access point.
    AccessPoint,
    /// At a station, by its number.
    Station(usize),
}

/// Why a frame was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// By the medium.
    Medium(DropReason),
    /// Its destination is no station here, or one that is not associated, or its sender is not associated.
    NotAssociated,
    /// Shorter than an Ethernet header.
    Malformed,
}

impl Air {
    /// The access point and the stations of a plan, which have these addresses, all associated.
    pub fn new(plan: AirPlan, macs: &[MacAddr], streams: &Streams) -> Self {
        assert_eq!(plan.stations.len(), macs.len(), "each station has an address");
        let (medium, access_points) = plan.build(streams);
        let station = |rate| Station { rate, node: None, earlier_airtime: Airtime::ZERO };
        let mut air = Self {
            medium,
            access_point: access_points[0],
            stations: plan.stations.iter().map(|spec| station(spec.rate)).collect(),
            by_mac: macs.iter().enumerate().map(|(index, &mac)| (mac, index)).collect(),
            plan,
            by_node: BTreeMap::new(),
            outputs: VecDeque::new(),
        };
        (0..air.stations.len()).for_each(|station| air.join(station));
        air
    }

    /// Associates a station; nothing happens if it is.
    pub fn join(&mut self, station: usize) {
        if self.stations[station].node.is_none() {
            let node = self.plan.join(&mut self.medium, self.access_point, station);
            self.stations[station].node = Some(node);
            let others = self.plan.stations[station].hidden_from.iter();
            others.filter_map(|&other| self.stations[other].node).for_each(|other| self.medium.hide(node, other));
            self.by_node.insert(node, station);
        }
    }

    /// A station goes away with what it holds; nothing happens if it is away.
    pub fn leave(&mut self, now: Instant, station: usize) {
        if let Some(node) = self.stations[station].node.take() {
            self.stations[station].earlier_airtime += self.medium.counters(node).airtime;
            self.medium.remove_node(now, node);
            self.drain(now);
            self.by_node.remove(&node);
        }
    }

    /// The frames to and from a station that are queued from now on are sent at this rate.
    pub fn set_rate(&mut self, station: usize, rate: PhyRate) {
        self.stations[station].rate = rate;
    }

    /// A station sends a frame.
    pub fn handle_station_frame(&mut self, now: Instant, station: usize, frame: Vec<u8>) {
        let Station { rate, node, .. } = self.stations[station];
        match node {
            None => self.lose(Place::Station(station), Reason::NotAssociated),
            Some(_) if frame.len() < HEADER_BYTES => self.lose(Place::Station(station), Reason::Malformed),
            Some(node) => self.enqueue(now, node, To::Node(self.access_point), rate, frame),
        }
    }

    /// A frame comes to the access point from the wired side.
    pub fn handle_wired_frame(&mut self, now: Instant, frame: Vec<u8>) {
        match addresses(&frame) {
            None => self.lose(Place::AccessPoint, Reason::Malformed),
            Some((destination, _)) => self.send_down(now, destination, frame),
        }
    }

    /// Lets the medium do all that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.medium.handle_timeout(now);
        self.drain(now);
    }

    /// The next thing that came out.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When the medium wants [`Self::handle_timeout`].
    pub fn poll_deadline(&self) -> Option<Instant> {
        self.medium.poll_deadline()
    }

    /// What the access point's queue holds.
    pub fn access_point_queue(&self) -> QueueState {
        self.medium.queue(self.access_point)
    }

    /// What the medium was used for.
    pub fn totals(&self, now: Instant) -> Totals {
        self.medium.totals(now)
    }

    /// What happened to all senders' attempts so far.
    pub fn senders(&self) -> Counters {
        self.medium.all_counters()
    }

    /// What happened to the access point's attempts so far.
    pub fn access_point_counters(&self) -> Counters {
        self.medium.counters(self.access_point)
    }

    /// The rate that is now the best toward a station, where senders choose their rates and one has sent.
    pub fn chosen_rate(&self, station: usize) -> Option<PhyRate> {
        let node = self.stations[station].node?;
        let toward = |from, to| self.medium.rate_toward(from, to);
        toward(self.access_point, node).or_else(|| toward(node, self.access_point))
    }

    /// Airtime of the access point's accesses so far.
    pub fn access_point_airtime(&self) -> Airtime {
        self.medium.counters(self.access_point).airtime
    }

    /// Airtime of a station's accesses so far.
    pub fn station_airtime(&self, station: usize) -> Airtime {
        let Station { node, earlier_airtime, .. } = self.stations[station];
        earlier_airtime + node.map_or(Airtime::ZERO, |node| self.medium.counters(node).airtime)
    }

    fn send_down(&mut self, now: Instant, destination: MacAddr, frame: Vec<u8>) {
        if destination.is_multicast() {
            // The medium sends broadcasts at the lowest basic rate whatever rate is given.
            let Some(rate) = self.stations.first().map(|station| station.rate) else { return };
            return self.enqueue(now, self.access_point, To::Broadcast, rate, frame);
        }
        let station = self.by_mac.get(&destination).map(|&index| &self.stations[index]);
        match station.and_then(|station| Some((station.node?, station.rate))) {
            Some((node, rate)) => self.enqueue(now, self.access_point, To::Node(node), rate, frame),
            None => self.lose(Place::AccessPoint, Reason::NotAssociated),
        }
    }

    fn enqueue(&mut self, now: Instant, from: NodeId, to: To, rate: PhyRate, frame: Vec<u8>) {
        let msdu = Bytes((frame.len() - HEADER_BYTES) as u64);
        let category = dscp(&frame).map_or(AccessCategory::BestEffort, AccessCategory::of_dscp);
        self.medium.handle_frame(now, from, Mpdu { to, msdu, rate, category, frame });
        self.drain(now);
    }

    /// Turns the medium's events into outputs. The access point's forwarding between stations puts new frames into the
    /// medium, whose events (a full buffer) come out in the same loop.
    fn drain(&mut self, now: Instant) {
        while let Some(event) = self.medium.poll_event() {
            match event {
                Event::Delivered { at, from, to, frame, .. } => self.deliver(now, at, from, to, frame),
                Event::Dropped { from, reason, .. } => {
                    let place = self.by_node.get(&from).map_or(Place::AccessPoint, |&index| Place::Station(index));
                    self.lose(place, Reason::Medium(reason));
                }
            }
        }
    }

    fn deliver(&mut self, now: Instant, at: Instant, from: NodeId, to: To, frame: Vec<u8>) {
        let sender = self.by_node.get(&from).copied();
        match (sender, to) {
            (Some(station), _) => self.forward_from(now, at, station, frame),
            (None, To::Node(node)) => match self.by_node.get(&node) {
                Some(&station) => self.outputs.push_back(Output::ToStation { at, station, frame }),
                None => self.lose(Place::AccessPoint, Reason::NotAssociated),
            },
            (None, To::Broadcast) => {
                let source = addresses(&frame).map(|(_, source)| source);
                let except = source.and_then(|source| self.by_mac.get(&source).copied());
                self.outputs.push_back(Output::ToAllStations { at, except, frame });
            }
        }
    }

    fn forward_from(&mut self, now: Instant, at: Instant, station: usize, frame: Vec<u8>) {
        let (destination, _) = addresses(&frame).expect("short frames were refused at the station");
        if destination.is_multicast() {
            self.send_down(now, destination, frame.clone());
        } else if self.by_mac.contains_key(&destination) {
            return self.send_down(now, destination, frame);
        }
        self.outputs.push_back(Output::ToWire { at, station, frame });
    }

    fn lose(&mut self, place: Place, reason: Reason) {
        self.outputs.push_back(Output::Lost { place, reason });
    }

    /// How many stations there are, associated or not.
    pub fn stations(&self) -> usize {
        self.stations.len()
    }
}

#[cfg(test)]
mod tests {
    use evenair_scenario::Scenario;
    use evenair_units::Span;

    use super::*;

    const WIRED: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    fn mac(station: usize) -> MacAddr {
        MacAddr([2, 0, 0, 0, 0, station as u8])
    }

    fn frame(to: MacAddr, from: MacAddr) -> Vec<u8> {
        [&to.0[..], &from.0[..], &[8, 0], &[0; 100]].concat()
    }

    fn air(stations: usize) -> Air {
        air_with(stations, "")
    }

    /// With more keys of the radio.
    fn air_with(stations: usize, radio: &str) -> Air {
        let text = format!(
            r#"
            version = 1
            name = "air"
            duration = "5 s"
            [radio]
            standard = "802.11b"
            ap_buffer = "2 packets"
            {radio}
            [[station]]
            name = "sta"
            count = {stations}
            rate = "11 Mb/s"
            [[server]]
            name = "server"
            [[ping]]
            name = "ping"
            stations = ["sta"]
            server = "server"
        "#
        );
        let scenario = Scenario::parse(&text, "air.toml").unwrap_or_else(|error| panic!("{error}"));
        let macs: Vec<_> = (0..stations).map(mac).collect();
        Air::new(AirPlan::new(&scenario), &macs, &Streams::new(1))
    }

    /// Everything that comes out until the medium is quiet.
    fn outputs(air: &mut Air) -> Vec<Output> {
        let mut all = Vec::new();
        loop {
            while let Some(output) = air.poll_output() {
                all.push(output);
            }
            let Some(at) = air.poll_deadline() else { return all };
            air.handle_timeout(at);
        }
    }

    #[test]
    fn frames_cross_the_air_both_ways_in_their_time() {
        let mut air = air(2);
        let up = frame(WIRED, mac(0));
        air.handle_station_frame(Instant::ZERO, 0, up.clone());
        let [Output::ToWire { at, station: 0, frame: got }] = &outputs(&mut air)[..] else { panic!("one frame up") };
        // Long preamble 192 us, 136 bytes at 11 Mb/s 99 us, at least DIFS 50 us before them.
        assert!(*got == up && *at >= Instant::ZERO + Span::from_micros(192 + 98), "{at:?}");
        let down = frame(mac(1), WIRED);
        let later = *at + Span::from_secs(1);
        air.handle_timeout(later);
        air.handle_wired_frame(later, down.clone());
        let [Output::ToStation { station: 1, frame: got, .. }] = &outputs(&mut air)[..] else { panic!("one down") };
        assert_eq!(*got, down);
        assert!(air.station_airtime(0) > Airtime::ZERO && air.access_point_airtime() > Airtime::ZERO);
        assert_eq!(air.station_airtime(1), Airtime::ZERO);
    }

    #[test]
    fn stations_talk_through_the_access_point_and_groups_hear_all_but_the_sender() {
        let mut air = air(3);
        air.handle_station_frame(Instant::ZERO, 0, frame(mac(2), mac(0)));
        assert!(matches!(outputs(&mut air)[..], [Output::ToStation { station: 2, .. }]));
        let later = Instant::ZERO + Span::from_secs(1);
        air.handle_timeout(later);
        air.handle_station_frame(later, 0, frame(MacAddr::BROADCAST, mac(0)));
        let heard = outputs(&mut air);
        let [Output::ToWire { station: 0, .. }, Output::ToAllStations { except: Some(0), .. }] = &heard[..] else {
            panic!("{heard:?}")
        };
    }

    #[test]
    fn what_cannot_be_delivered_is_lost_with_place_and_reason() {
        let lost = |place, reason| Output::Lost { place, reason };
        let mut air = air(2);
        air.leave(Instant::ZERO, 1);
        air.leave(Instant::ZERO, 1);
        air.handle_wired_frame(Instant::ZERO, frame(mac(1), WIRED));
        air.handle_wired_frame(Instant::ZERO, frame(WIRED, mac(0)));
        air.handle_wired_frame(Instant::ZERO, vec![0; 5]);
        air.handle_station_frame(Instant::ZERO, 1, frame(WIRED, mac(1)));
        air.handle_station_frame(Instant::ZERO, 0, vec![0; 5]);
        let expected = [
            lost(Place::AccessPoint, Reason::NotAssociated),
            lost(Place::AccessPoint, Reason::NotAssociated),
            lost(Place::AccessPoint, Reason::Malformed),
            lost(Place::Station(1), Reason::NotAssociated),
            lost(Place::Station(0), Reason::Malformed),
        ];
        assert_eq!(outputs(&mut air), expected);
        // Two fit into the access point's buffer.
        (0..3).for_each(|_| air.handle_wired_frame(Instant::ZERO, frame(mac(0), WIRED)));
        let all = outputs(&mut air);
        assert!(all.contains(&lost(Place::AccessPoint, Reason::Medium(DropReason::BufferFull))));
        assert_eq!(all.iter().filter(|output| matches!(output, Output::ToStation { station: 0, .. })).count(), 2);
    }

    #[test]
    fn a_station_that_comes_back_is_reached_again_and_keeps_its_account() {
        let mut air = air(2);
        air.handle_station_frame(Instant::ZERO, 1, frame(WIRED, mac(1)));
        outputs(&mut air);
        let spent = air.station_airtime(1);
        let later = Instant::ZERO + Span::from_secs(1);
        air.handle_timeout(later);
        air.leave(later, 1);
        assert_eq!(air.station_airtime(1), spent);
        air.join(1);
        air.join(1);
        air.handle_wired_frame(later, frame(mac(1), WIRED));
        assert!(matches!(outputs(&mut air)[..], [Output::ToStation { station: 1, .. }]));
        assert_eq!(air.station_airtime(1), spent);
    }

    #[test]
    fn the_dscp_of_a_packet_decides_its_category() {
        // IPv4 with DSCP EF, and of the same size without.
        let ip = |octet: u8| {
            let mut frame = frame(WIRED, mac(0));
            frame[14..16].copy_from_slice(&[0x45, octet]);
            frame
        };
        let mut air = air(2);
        let order = |air: &mut Air| -> Vec<u8> {
            let of = |output: &Output| match output {
                Output::ToWire { frame, .. } => frame[15],
                other => panic!("{other:?}"),
            };
            outputs(air).iter().map(of).collect()
        };
        for octet in [0, 0, 184] {
            air.handle_station_frame(Instant::ZERO, 0, ip(octet));
        }
        assert_eq!(order(&mut air), [0, 0, 184], "one queue with DCF");
        let mut air = air_with(2, "edca = true");
        for octet in [0, 0, 0, 0, 184] {
            air.handle_station_frame(Instant::ZERO, 0, ip(octet));
        }
        assert_eq!(order(&mut air), [184, 0, 0, 0, 0]);
    }
}
