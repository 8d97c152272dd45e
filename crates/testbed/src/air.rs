//! Access points and their stations in simulated contention domains, in event time: Ethernet frames in, Ethernet frames out.
//!
//! The air carries IP packets; the medium adds the 802.11 overhead. An access point bridges: a frame from a station goes to the
//! wired side, to another station of the same access point through that one's queue, or, to a group address, to both (a group
//! frame is sent once at the lowest basic rate to all). A switch in front of the box joins several access points: it forwards a
//! frame for a station at another access point, and a group frame to all, each within its VLAN ([`crate::vlan`]). A frame toward a
//! station that is not associated is dropped and counted, as in an access point.
//!
//! Access points on one channel are nodes of one medium. A roaming station leaves its access point at once; the old access
//! point learns this when the station has associated with the next one, and then flushes the station's packets.
//!
//! Frames that wait for the medium are in the MAC's buffer or, if the scenario has one, in a queue above it: the simulator's,
//! with the same disciplines. An access point's queue drops packets for a station that has left when their turn comes.
//!
//! Not here: association frames, encryption overhead.

mod domain;
mod output;

use std::collections::{BTreeMap, VecDeque};

use evenair_ap::{Tag, TaggedMpdu};
use evenair_medium::{Counters, MeasuredAirtime, Mpdu, NodeId, QueueState, To, Totals};
use evenair_packet::MacAddr;
use evenair_scenario::AirPlan;
use evenair_units::{Airtime, Bytes, Instant, Span, Streams};
use evenair_wifi::PhyRate;
use evenair_workload::Direction;

use self::domain::{Domain, Happened, category};
pub use self::output::{Output, Place, Reason};
use crate::owners::Owners;
use crate::senders::{Counted, Senders};
use crate::switch::{HEADER_BYTES, addresses};
use crate::vlan::{Vlan, layer_2_update};

/// The air of all access points.
#[derive(Debug)]
pub struct Air {
    domains: Vec<Domain>,
    points: Vec<Node>,
    /// VLAN of each access point.
    vlans: Vec<Vlan>,
    /// Bytes delivered between each access point and its stations, IP level.
    bytes: Vec<u64>,
    stations: Vec<Station>,
    by_mac: BTreeMap<MacAddr, usize>,
    /// Counters of access points, then of stations.
    senders: Senders,
    owners: Owners,
    outputs: VecDeque<Output>,
}

/// An access point or an associated station.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Index of its contention domain.
    domain: usize,
    /// Its node on that medium.
    id: NodeId,
}

#[derive(Debug)]
struct Station {
    rate: PhyRate,
    /// Its present or last access point.
    access_point: usize,
    /// `None` while not associated.
    node: Option<NodeId>,
    /// Its former node, until its old access point knows that it has roamed.
    gone: Option<NodeId>,
    /// Counters of its earlier associations.
    earlier: Counters,
}

/// Totals of an access point with its stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BssTotals {
    /// Bytes delivered between them, IP level.
    pub bytes: u64,
    /// Airtime of all their accesses.
    pub airtime: Airtime,
}

impl BssTotals {
    /// The difference from the earlier totals `base`.
    pub fn since(&self, base: &Self) -> Self {
        Self { bytes: self.bytes - base.bytes, airtime: Airtime(self.airtime.0.saturating_sub(base.airtime.0)) }
    }
}

impl Air {
    /// The access points and stations of a scenario's plans, with these addresses and all associated. `owners` are the
    /// scenario's applications.
    pub fn new(plans: Vec<AirPlan>, macs: &[MacAddr], owners: Owners, streams: &Streams) -> Self {
        let stations: Vec<_> = plans.first().map_or(&[][..], |plan| &plan.stations).to_vec();
        assert_eq!(stations.len(), macs.len(), "each station has an address");
        let mut points = BTreeMap::new();
        let build = |(domain, plan): (usize, AirPlan)| {
            let (built, nodes) = Domain::new(plan, streams);
            points.extend(nodes.into_iter().map(|(point, id)| (point, Node { domain, id })));
            built
        };
        let domains = plans.into_iter().enumerate().map(build).collect();
        let station = |spec: &evenair_scenario::StationPlan| Station {
            rate: spec.rate,
            access_point: spec.access_point,
            node: None,
            gone: None,
            earlier: Counters::default(),
        };
        let mut air = Self {
            domains,
            bytes: vec![0; points.len()],
            vlans: vec![None; points.len()],
            owners,
            senders: Senders::new(points.len() + stations.len()),
            points: points.into_values().collect(),
            stations: stations.iter().map(station).collect(),
            by_mac: macs.iter().enumerate().map(|(index, &mac)| (mac, index)).collect(),
            outputs: VecDeque::new(),
        };
        (0..air.stations.len()).for_each(|station| air.join(station));
        air
    }

    /// The air with these VLANs of its access points; [`Self::new`] has the native one.
    #[must_use]
    pub fn with_vlans(self, vlans: Vec<Vlan>) -> Self {
        assert_eq!(vlans.len(), self.points.len(), "each access point has a VLAN");
        Self { vlans, ..self }
    }

    /// VLAN of each access point.
    pub fn vlans(&self) -> &[Vlan] {
        &self.vlans
    }

    /// Associates a station with its last access point; does nothing if it is associated.
    pub fn join(&mut self, station: usize) {
        if self.stations[station].node.is_some() {
            return;
        }
        let number = self.stations[station].access_point;
        let Node { domain, id: point } = self.points[number];
        let others = |other: usize| {
            let Station { access_point, node, .. } = self.stations[other];
            node.filter(|_| self.points[access_point].domain == domain)
        };
        let node = self.domains[domain].join(station, point, number, others);
        self.stations[station].node = Some(node);
    }

    /// Removes a station with its queued frames; does nothing if it is not associated.
    pub fn leave(&mut self, now: Instant, station: usize) {
        if let Some(node) = self.stations[station].node.take() {
            let Node { domain, .. } = self.points[self.stations[station].access_point];
            let earlier = &mut self.stations[station].earlier;
            *earlier = [*earlier, self.domains[domain].medium.counters(node)].into_iter().sum();
            self.domains[domain].remove(now, node);
            self.drain(now, domain);
            self.domains[domain].forget(node);
        }
    }

    /// A station roams to another access point; its old access point does not know it yet.
    pub fn go(&mut self, now: Instant, station: usize) {
        let node = self.stations[station].node;
        self.leave(now, station);
        self.stations[station].gone = node;
    }

    /// A roaming station associates with its new access point, and the old one drops its packets.
    pub fn come(&mut self, now: Instant, station: usize, access_point: usize) {
        let old = self.points[self.stations[station].access_point];
        if let Some(node) = self.stations[station].gone.take() {
            self.domains[old.domain].give_up(now, old.id, node);
            self.drain(now, old.domain);
        }
        let vlan_before = self.vlan_of(station);
        self.stations[station].access_point = access_point;
        self.join(station);
        let mac = self.by_mac.iter().find_map(|(&mac, &number)| (number == station).then_some(mac));
        if let Some(mac) = mac.filter(|_| self.vlan_of(station) != vlan_before) {
            self.outputs.push_back(Output::Update { at: now, access_point, frame: layer_2_update(mac) });
        }
    }

    /// Sets the PHY rate of frames to and from a station that are queued from now on.
    pub fn set_rate(&mut self, station: usize, rate: PhyRate) {
        self.stations[station].rate = rate;
    }

    /// Handles a frame that a station sends.
    pub fn handle_station_frame(&mut self, now: Instant, station: usize, frame: Vec<u8>) {
        let Station { rate, node, access_point, .. } = self.stations[station];
        let Node { domain, id: point } = self.points[access_point];
        match node {
            None => self.lose(Place::Station(station), Reason::NotAssociated),
            Some(_) if frame.len() < HEADER_BYTES => self.lose(Place::Station(station), Reason::Malformed),
            Some(id) => {
                let from = Node { domain, id };
                let tag = self.tag(from, Some(station), Direction::Up, &frame);
                self.enqueue(now, from, mpdu(To::Node(point), rate, frame), tag);
            }
        }
    }

    /// Handles a frame from the wired side in a VLAN, without its tag.
    pub fn handle_wired_frame(&mut self, now: Instant, vlan: Vlan, frame: Vec<u8>) {
        for access_point in self.access_points_toward(vlan, &frame) {
            self.handle_frame_at(now, access_point, &frame);
        }
    }

    /// The access points to which the switch in front of them forwards a frame from the wired side in a VLAN.
    pub fn access_points_toward(&self, vlan: Vlan, frame: &[u8]) -> Vec<usize> {
        let mut members = (0..self.points.len()).filter(|&point| self.vlans[point] == vlan);
        let destination = addresses(frame).map(|(destination, _)| destination);
        if destination.is_some_and(MacAddr::is_multicast) {
            return members.collect();
        }
        let station = destination.and_then(|destination| self.by_mac.get(&destination));
        let its_own = station.map(|&station| self.access_point_of(station)).filter(|&point| self.vlans[point] == vlan);
        // All access points drop frames for an unknown station.
        its_own.or_else(|| members.next()).into_iter().collect()
    }

    /// Handles a frame from the wired side at one access point.
    pub fn handle_frame_at(&mut self, now: Instant, access_point: usize, frame: &[u8]) {
        match addresses(frame) {
            None => self.lose(Place::AccessPoint(access_point), Reason::Malformed),
            Some((destination, _)) => self.send_down_at(now, access_point, destination, frame),
        }
    }

    /// Processes everything that is due on the media.
    pub fn handle_timeout(&mut self, now: Instant) {
        for domain in 0..self.domains.len() {
            self.domains[domain].handle_timeout(now);
            self.drain(now, domain);
        }
    }

    /// The next output.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Next deadline of a medium, for [`Self::handle_timeout`].
    pub fn poll_deadline(&self) -> Option<Instant> {
        self.domains.iter().filter_map(Domain::poll_deadline).min()
    }

    /// Contents of the access points' queues.
    pub fn access_point_queue(&self) -> QueueState {
        self.points.iter().map(|&Node { domain, id: point }| self.domains[domain].held(point)).sum()
    }

    /// Use of each medium.
    pub fn totals(&self, now: Instant) -> Vec<Totals> {
        self.domains.iter().map(|domain| domain.medium.totals(now)).collect()
    }

    /// Time for which a medium has been idle with nothing to send, averaged over media.
    pub fn idle(&self, now: Instant) -> Span {
        let all = self.domains.iter().map(|domain| domain.medium.totals(now).idle);
        all.fold(Span::ZERO, |sum, idle| sum + idle) / self.domains.len() as u64
    }

    /// Counters of all senders' attempts so far.
    pub fn senders(&self) -> Counters {
        self.domains.iter().map(|domain| domain.medium.all_counters()).sum()
    }

    /// Counters of the access points' attempts so far.
    pub fn access_point_counters(&self) -> Counters {
        self.points.iter().map(|&Node { domain, id: point }| self.domains[domain].medium.counters(point)).sum()
    }

    /// The present best rate toward a station, if senders choose their rates and one has sent.
    pub fn chosen_rate(&self, station: usize) -> Option<PhyRate> {
        let node = self.stations[station].node?;
        let Node { domain, id: point } = self.points[self.stations[station].access_point];
        let toward = |from, to| self.domains[domain].medium.rate_toward(from, to);
        toward(point, node).or_else(|| toward(node, point))
    }

    /// Airtime of each access point's own accesses so far.
    pub fn access_point_airtime(&self) -> Vec<Airtime> {
        self.points
            .iter()
            .map(|&Node { domain, id: point }| self.domains[domain].medium.counters(point).airtime)
            .collect()
    }

    /// Airtime of a station's accesses so far.
    pub fn station_airtime(&self, station: usize) -> Airtime {
        self.station_counters(station).airtime
    }

    /// Measured airtime of a station so far.
    pub fn measured_airtime(&self, station: usize) -> MeasuredAirtime {
        self.station_counters(station).measured
    }

    /// Splits the airtime of exchanges in progress at `now`, so that the measured airtime is complete.
    pub fn split_airtime(&mut self, now: Instant) {
        self.domains.iter_mut().for_each(|domain| domain.medium.split_airtime(now));
    }

    /// Counters of a station's attempts so far.
    fn station_counters(&self, station: usize) -> Counters {
        let Station { node, earlier, access_point, .. } = self.stations[station];
        let medium = &self.domains[self.points[access_point].domain].medium;
        node.map(|node| medium.counters(node)).into_iter().chain([earlier]).sum()
    }

    /// Counters of each access point, then of each station, since the last call.
    pub fn take_senders(&mut self, now: Instant) -> Vec<Counted> {
        let points = self.points.iter().map(|&Node { domain, id: point }| self.domains[domain].medium.counters(point));
        let stations = (0..self.stations.len()).map(|station| self.station_counters(station));
        let counters: Vec<_> = points.chain(stations).collect();
        self.senders.take(now, |sender| counters[sender])
    }

    /// Index of a node among the senders.
    fn sender(&self, domain: usize, node: NodeId) -> usize {
        let domain = &self.domains[domain];
        domain.station(node).map_or_else(|| domain.point_of(node), |station| self.points.len() + station)
    }

    /// Totals of each access point with its stations.
    pub fn bss_totals(&self) -> Vec<BssTotals> {
        let mut bss_totals: Vec<_> =
            self.bytes.iter().map(|&bytes| BssTotals { bytes, airtime: Airtime::ZERO }).collect();
        for domain in &self.domains {
            for (node, point) in domain.nodes() {
                bss_totals[point].airtime += domain.medium.counters(node).airtime;
            }
        }
        bss_totals
    }

    /// Whether this is a station's present or last access point.
    pub fn is_at(&self, station: usize, access_point: usize) -> bool {
        self.stations[station].access_point == access_point
    }

    /// Index of a station's present or last access point.
    pub fn access_point_of(&self, station: usize) -> usize {
        self.stations[station].access_point
    }

    /// VLAN of a station's present or last access point.
    fn vlan_of(&self, station: usize) -> Vlan {
        self.vlans[self.access_point_of(station)]
    }

    /// Sends a frame from an access point to its stations.
    fn send_down_at(&mut self, now: Instant, access_point: usize, destination: MacAddr, frame: &[u8]) {
        let point = self.points[access_point];
        if destination.is_multicast() {
            // The medium sends broadcasts at the lowest basic rate, whatever rate is given.
            let Some(rate) = self.stations.first().map(|station| station.rate) else { return };
            let tag = self.tag(point, None, Direction::Down, frame);
            return self.enqueue(now, point, mpdu(To::Broadcast, rate, frame.to_vec()), tag);
        }
        let number = self.by_mac.get(&destination).copied();
        let station =
            number.map(|number| &self.stations[number]).filter(|station| station.access_point == access_point);
        match station.and_then(|station| Some((station.node.or(station.gone)?, station.rate))) {
            Some((node, rate)) => {
                let tag = self.tag(point, number, Direction::Down, frame);
                self.enqueue(now, point, mpdu(To::Node(node), rate, frame.to_vec()), tag);
            }
            None => self.lose(Place::AccessPoint(access_point), Reason::NotAssociated),
        }
    }

    /// What a sender's queue may read of a frame; not needed without a queue.
    fn tag(&self, from: Node, station: Option<usize>, way: Direction, frame: &[u8]) -> Tag {
        if self.domains[from.domain].has_queue(from.id) {
            self.owners.tag(station, way, frame)
        } else {
            Owners::UNKNOWN
        }
    }

    /// Queues a frame of a node.
    fn enqueue(&mut self, now: Instant, from: Node, mpdu: Mpdu<Vec<u8>>, tag: Tag) {
        self.senders.arrive(self.sender(from.domain, from.id), now);
        self.domains[from.domain].send(now, from.id, TaggedMpdu { mpdu, tag });
        self.drain(now, from.domain);
    }

    /// Turns TX status reports into outputs. Forwarding between stations queues new frames in a domain, whose immediate
    /// losses (a full buffer) are handled in the same loop.
    fn drain(&mut self, now: Instant, domain: usize) {
        while let Some(happened) = self.domains[domain].poll(now) {
            match happened {
                Happened::Delivered { at, since, from, to, msdu, attempts, frame } => {
                    self.senders.deliver(self.sender(domain, from), at, since, attempts);
                    let (sender, access_point) =
                        (self.domains[domain].station(from), self.domains[domain].point_of(from));
                    self.bytes[access_point] += msdu.0;
                    match (sender, to) {
                        (Some(station), _) => self.forward_from(now, at, station, frame),
                        (None, To::Node(node)) => match self.domains[domain].station(node) {
                            Some(station) => self.outputs.push_back(Output::ToStation { at, station, frame }),
                            None => self.lose(Place::AccessPoint(access_point), Reason::NotAssociated),
                        },
                        (None, To::Broadcast) => self.deliver_to_all(at, access_point, frame),
                    }
                }
                Happened::Lost { at, from, why } => {
                    self.senders.lose(self.sender(domain, from), at, why);
                    let point = || Place::AccessPoint(self.domains[domain].point_of(from));
                    let place = self.domains[domain].station(from).map_or_else(point, Place::Station);
                    self.lose(place, Reason::Air(why));
                }
            }
        }
    }

    fn deliver_to_all(&mut self, at: Instant, access_point: usize, frame: Vec<u8>) {
        let source = addresses(&frame).map(|(_, source)| source);
        let except = source.and_then(|source| self.by_mac.get(&source).copied());
        self.outputs.push_back(Output::ToAllStations { at, access_point, except, frame });
    }

    fn forward_from(&mut self, now: Instant, at: Instant, station: usize, frame: Vec<u8>) {
        let (destination, _) = addresses(&frame).expect("short frames were refused at the station");
        let vlan = self.vlan_of(station);
        let is_member = |&station: &usize| self.vlan_of(station) == vlan;
        if destination.is_multicast() {
            self.handle_wired_frame(now, vlan, frame.clone());
        } else if self.by_mac.get(&destination).is_some_and(is_member) {
            return self.handle_wired_frame(now, vlan, frame);
        }
        self.outputs.push_back(Output::ToWire { at, station, frame });
    }

    fn lose(&mut self, place: Place, reason: Reason) {
        self.outputs.push_back(Output::Lost { place, reason });
    }

    /// Number of stations, associated or not.
    pub fn stations(&self) -> usize {
        self.stations.len()
    }
}

/// A frame for the medium, with the access category of its DSCP.
fn mpdu(to: To, rate: PhyRate, frame: Vec<u8>) -> Mpdu<Vec<u8>> {
    let msdu = Bytes((frame.len() - HEADER_BYTES) as u64);
    Mpdu { to, msdu, rate, category: category(&frame), frame }
}

#[cfg(test)]
mod tests {
    use evenair_medium::DropReason;
    use evenair_scenario::Scenario;
    use evenair_units::Span;

    use super::*;
    use crate::senders::Loss;

    pub(super) const WIRED: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    pub(super) fn mac(station: usize) -> MacAddr {
        MacAddr([2, 0, 0, 0, 0, station as u8])
    }

    /// The applications of a scenario whose stations are its first hosts.
    pub(super) fn owners(scenario: &Scenario) -> Owners {
        Owners::new(scenario, |host| host)
    }

    pub(super) fn frame(to: MacAddr, from: MacAddr) -> Vec<u8> {
        [&to.0[..], &from.0[..], &[8, 0], &[0; 100]].concat()
    }

    fn air(stations: usize) -> Air {
        air_with(stations, "")
    }

    /// An air with further keys of the radio.
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
        Air::new(AirPlan::all(&scenario), &macs, owners(&scenario), &Streams::new(1))
    }

    /// All outputs until the medium is quiet.
    pub(super) fn outputs(air: &mut Air) -> Vec<Output> {
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
        // Long preamble 192 us, 136 bytes at 11 Mb/s 99 us, preceded by at least a DIFS of 50 us.
        assert!(*got == up && *at >= Instant::ZERO + Span::from_micros(192 + 98), "{at:?}");
        let down = frame(mac(1), WIRED);
        let later = *at + Span::from_secs(1);
        air.handle_timeout(later);
        air.handle_wired_frame(later, None, down.clone());
        let [Output::ToStation { station: 1, frame: got, .. }] = &outputs(&mut air)[..] else { panic!("one down") };
        assert_eq!(*got, down);
        assert!(air.station_airtime(0) > Airtime::ZERO && air.access_point_airtime()[0] > Airtime::ZERO);
        assert_eq!(air.station_airtime(1), Airtime::ZERO);
    }

    #[test]
    fn stations_communicate_through_the_access_point_and_group_frames_reach_all_others() {
        let mut air = air(3);
        air.handle_station_frame(Instant::ZERO, 0, frame(mac(2), mac(0)));
        assert!(matches!(outputs(&mut air)[..], [Output::ToStation { station: 2, .. }]));
        let later = Instant::ZERO + Span::from_secs(1);
        air.handle_timeout(later);
        air.handle_station_frame(later, 0, frame(MacAddr::BROADCAST, mac(0)));
        let heard = outputs(&mut air);
        let [Output::ToWire { station: 0, .. }, Output::ToAllStations { except: Some(0), access_point: 0, .. }] =
            &heard[..]
        else {
            panic!("{heard:?}")
        };
    }

    #[test]
    fn undeliverable_frames_are_lost_with_site_and_reason() {
        let lost = |place, reason| Output::Lost { place, reason };
        let mut air = air(2);
        air.leave(Instant::ZERO, 1);
        air.leave(Instant::ZERO, 1);
        air.handle_wired_frame(Instant::ZERO, None, frame(mac(1), WIRED));
        air.handle_wired_frame(Instant::ZERO, None, frame(WIRED, mac(0)));
        air.handle_wired_frame(Instant::ZERO, None, vec![0; 5]);
        air.handle_station_frame(Instant::ZERO, 1, frame(WIRED, mac(1)));
        air.handle_station_frame(Instant::ZERO, 0, vec![0; 5]);
        let expected = [
            lost(Place::AccessPoint(0), Reason::NotAssociated),
            lost(Place::AccessPoint(0), Reason::NotAssociated),
            lost(Place::AccessPoint(0), Reason::Malformed),
            lost(Place::Station(1), Reason::NotAssociated),
            lost(Place::Station(0), Reason::Malformed),
        ];
        assert_eq!(outputs(&mut air), expected);
        // The access point's buffer has room for two frames.
        (0..3).for_each(|_| air.handle_wired_frame(Instant::ZERO, None, frame(mac(0), WIRED)));
        let all = outputs(&mut air);
        assert!(all.contains(&lost(Place::AccessPoint(0), Reason::Air(Loss::Medium(DropReason::BufferFull)))));
        assert_eq!(all.iter().filter(|output| matches!(output, Output::ToStation { station: 0, .. })).count(), 2);
    }

    #[test]
    fn a_station_that_returns_is_reached_again_and_keeps_its_counters() {
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
        air.handle_wired_frame(later, None, frame(mac(1), WIRED));
        assert!(matches!(outputs(&mut air)[..], [Output::ToStation { station: 1, .. }]));
        assert_eq!(air.station_airtime(1), spent);
    }

    #[test]
    fn the_dscp_of_a_packet_decides_its_category() {
        // IPv4 with DSCP EF, and a packet of the same size without.
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

    /// Three stations at access point `a`, which shares its channel with `b`, and none at `c` on another channel.
    fn three_points() -> Air {
        let points = "[[access_point]]\nname = \"a\"\nchannel = 1\n[[access_point]]\nname = \"b\"\nchannel = 1\n\
                      [[access_point]]\nname = \"c\"\nchannel = 6\n";
        let text = format!(
            "version = 1\nname = \"points\"\nduration = \"5 s\"\n[radio]\nstandard = \"802.11b\"\n{points}\
             [[station]]\nname = \"sta\"\ncount = 3\nrate = \"11 Mb/s\"\naccess_point = \"a\"\n\
             [[server]]\nname = \"server\"\n\
             [[ping]]\nname = \"ping\"\nstations = [\"sta\"]\nserver = \"server\"\n"
        );
        let scenario = Scenario::parse(&text, "points.toml").unwrap_or_else(|error| panic!("{error}"));
        let macs: Vec<_> = (0..3).map(mac).collect();
        Air::new(AirPlan::all(&scenario), &macs, owners(&scenario), &Streams::new(1))
    }

    #[test]
    fn a_roaming_station_is_reached_at_its_new_access_point() {
        let mut air = three_points();
        let mut now = Instant::ZERO;
        let mut reach = |air: &mut Air| {
            now += Span::from_secs(1);
            air.handle_timeout(now);
            air.handle_wired_frame(now, None, frame(mac(1), WIRED));
            let before = air.bss_totals();
            let outputs = outputs(air);
            let bss_totals = air.bss_totals();
            let carried: Vec<_> = (0..3).filter(|&point| bss_totals[point].bytes > before[point].bytes).collect();
            (outputs, carried, now)
        };
        let (heard, carried, at) = reach(&mut air);
        assert!(matches!(heard[..], [Output::ToStation { station: 1, .. }]) && carried == [0], "{heard:?} {carried:?}");
        let mut at = at;
        for to in [1, 2, 0] {
            air.go(at + Span::from_millis(500), 1);
            let (lost, ..) = reach(&mut air);
            let retried = |output: &Output| {
                matches!(
                    output,
                    Output::Lost {
                        place: Place::AccessPoint(_),
                        reason: Reason::Air(Loss::Medium(DropReason::RetryLimit))
                    }
                )
            };
            assert!(lost.len() == 1 && lost.iter().all(retried), "{lost:?}");
            air.handle_station_frame(at + Span::from_secs(2), 1, frame(WIRED, mac(1)));
            let lost = outputs(&mut air);
            assert_eq!(lost, [Output::Lost { place: Place::Station(1), reason: Reason::NotAssociated }]);
            air.come(at + Span::from_secs(2), 1, to);
            let (heard, carried, now) = reach(&mut air);
            at = now;
            assert!(
                matches!(heard[..], [Output::ToStation { station: 1, .. }]) && carried == [to],
                "{heard:?} {carried:?}"
            );
        }
    }

    #[test]
    fn a_frame_at_an_access_point_that_its_station_has_left_is_lost() {
        let mut air = three_points();
        assert_eq!(air.access_points_toward(None, &frame(mac(1), WIRED)), [0]);
        air.go(Instant::ZERO, 1);
        air.come(Instant::ZERO, 1, 2);
        assert_eq!(air.access_points_toward(None, &frame(mac(1), WIRED)), [2]);
        assert_eq!(air.access_points_toward(None, &frame(MacAddr::BROADCAST, WIRED)), [0, 1, 2]);
        air.handle_frame_at(Instant::ZERO, 0, &frame(mac(1), WIRED));
        let lost = Output::Lost { place: Place::AccessPoint(0), reason: Reason::NotAssociated };
        assert_eq!(outputs(&mut air), [lost]);
    }

    #[test]
    fn the_old_access_point_drops_its_frames() {
        let mut air = three_points();
        (0..4).for_each(|_| air.handle_wired_frame(Instant::ZERO, None, frame(mac(1), WIRED)));
        air.handle_wired_frame(Instant::ZERO, None, frame(mac(0), WIRED));
        air.go(Instant::ZERO, 1);
        air.come(Instant::ZERO, 1, 2);
        let all = outputs(&mut air);
        let lost = |reason| Output::Lost { place: Place::AccessPoint(0), reason: Reason::Air(Loss::Medium(reason)) };
        assert_eq!(all.iter().filter(|output| **output == lost(DropReason::Left)).count(), 3);
        assert_eq!(all.iter().filter(|output| **output == lost(DropReason::RetryLimit)).count(), 1, "that in service");
        assert!(matches!(all.last(), Some(Output::ToStation { station: 0, .. })), "{all:?}");
    }

    #[test]
    fn a_switch_joins_the_access_points() {
        let mut air = three_points();
        for (station, to) in [(1, 1), (2, 2)] {
            air.go(Instant::ZERO, station);
            air.come(Instant::ZERO, station, to);
        }
        air.handle_station_frame(Instant::ZERO, 0, frame(mac(2), mac(0)));
        assert!(matches!(outputs(&mut air)[..], [Output::ToStation { station: 2, .. }]), "over two media");
        let later = Instant::ZERO + Span::from_secs(1);
        air.handle_timeout(later);
        air.handle_station_frame(later, 0, frame(MacAddr::BROADCAST, mac(0)));
        let heard = outputs(&mut air);
        let mut points: Vec<_> = heard
            .iter()
            .filter_map(|output| match output {
                Output::ToAllStations { access_point, except: Some(0), .. } => Some(*access_point),
                _ => None,
            })
            .collect();
        points.sort_unstable();
        assert_eq!((points, heard.len()), (vec![0, 1, 2], 4), "and once to the wire");
        assert!(air.is_at(2, 2) && !air.is_at(2, 0) && air.totals(later).len() == 2);
    }

    #[test]
    fn frames_stay_in_their_vlan_and_a_roam_to_another_one_is_announced() {
        let [hall, yard] = [Some(11), Some(12)];
        let mut air = three_points().with_vlans(vec![hall, hall, yard]);
        air.come(Instant::ZERO, 0, 1);
        assert_eq!(air.poll_output(), None, "the VLAN is the same");
        assert_eq!(air.access_points_toward(hall, &frame(MacAddr::BROADCAST, WIRED)), [0, 1]);
        assert_eq!(air.access_points_toward(hall, &frame(mac(0), WIRED)), [1]);
        assert_eq!(air.access_points_toward(yard, &frame(mac(0), WIRED)), [2], "where the station is not");
        assert_eq!(air.access_points_toward(None, &frame(mac(0), WIRED)), [0; 0]);
        air.go(Instant::ZERO, 0);
        air.come(Instant::ZERO, 0, 2);
        let update = Output::Update { at: Instant::ZERO, access_point: 2, frame: layer_2_update(mac(0)) };
        assert_eq!(outputs(&mut air), [update]);
        air.handle_station_frame(Instant::ZERO, 1, frame(mac(0), mac(1)));
        let sent = outputs(&mut air);
        assert!(matches!(sent[..], [Output::ToWire { station: 1, .. }]), "to another VLAN by the wire alone: {sent:?}");
    }
}
