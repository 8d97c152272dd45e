//! A contention domain: its medium, and the queues in front of the MACs, which are those of the simulator.

use std::collections::BTreeMap;

use evenair_ap::{AirQueues, Received, TaggedMpdu, TxResult, TxStatus, Unsent};
use evenair_medium::{AccessCategory, DropReason, Event, Medium, NodeId, QueueState, To};
use evenair_packet::dscp;
use evenair_scenario::AirPlan;
use evenair_sched::Cause;
use evenair_units::{Bytes, Instant, Streams};

use crate::senders::Loss;

#[derive(Debug)]
pub(super) struct Domain {
    pub(super) medium: Medium<Vec<u8>>,
    /// Queues in front of the MACs of nodes that have one.
    queues: AirQueues<Vec<u8>>,
    plan: AirPlan,
    /// Index in the scenario of each node's access point, also of nodes that have left; `None` for nodes of other networks.
    point_of: Vec<Option<usize>>,
    by_node: BTreeMap<NodeId, usize>,
}

/// A report about a frame.
#[derive(Debug)]
pub(super) enum Happened {
    Delivered {
        at: Instant,
        /// When it entered its sender's buffer.
        since: Instant,
        from: NodeId,
        to: To,
        msdu: Bytes,
        attempts: u32,
        frame: Vec<u8>,
    },
    Lost {
        at: Instant,
        from: NodeId,
        why: Loss,
    },
}

impl Domain {
    /// A domain with its access points, and their indices in the scenario with their nodes.
    pub(super) fn new(plan: AirPlan, streams: &Streams) -> (Self, Vec<(usize, NodeId)>) {
        let (medium, nodes) = plan.build(streams);
        let mut queues = AirQueues::default();
        for (spec, &node) in plan.ap_queue.iter().flat_map(|spec| nodes.iter().map(move |node| (spec, node))) {
            queues.add(&medium, node, spec);
        }
        let numbers = plan.access_points.iter().map(|point| point.number);
        let mut point_of: Vec<_> = numbers.clone().map(Some).collect();
        point_of.resize(plan.nodes_before_stations(), None);
        let points = numbers.zip(nodes).collect();
        (Self { medium, queues, plan, point_of, by_node: BTreeMap::new() }, points)
    }

    /// Associates a station with access point `number` of the scenario; `others` gives the node of another access point here.
    pub(super) fn join(
        &mut self,
        station: usize,
        point: NodeId,
        number: usize,
        others: impl Fn(usize) -> Option<NodeId>,
    ) -> NodeId {
        let Self { medium, queues, plan, point_of, by_node } = self;
        let node = plan.join(medium, point, station);
        if let Some(spec) = &plan.station_queue {
            queues.add(medium, node, spec);
        }
        let spec = &plan.stations[station];
        spec.hidden_from.iter().filter_map(|&other| others(other)).for_each(|other| medium.hide(node, other));
        let points = spec.hidden_from_points.iter().map(|&other| NodeId(other as u32));
        points.filter(|&other| other != point).for_each(|other| medium.hide(node, other));
        point_of.push(Some(number));
        by_node.insert(node, station);
        node
    }

    /// Removes a station with its queued frames. Reports polled next still belong to the station, until it is forgotten.
    pub(super) fn remove(&mut self, now: Instant, node: NodeId) {
        self.queues.remove(node);
        self.medium.remove_node(now, node);
    }

    /// Removes the assignment of the node to a station.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.by_node.remove(&node);
    }

    /// An access point drops its packets for a station that has gone: all that its MAC does not have yet, or in a queue
    /// above the MAC those whose turn comes.
    pub(super) fn give_up(&mut self, now: Instant, point: NodeId, station: NodeId) {
        if self.queues.has(point) {
            self.queues.flush(station);
        } else {
            self.medium.flush(now, point, station);
        }
    }

    /// Queues a frame of a node.
    pub(super) fn send(&mut self, now: Instant, from: NodeId, packet: TaggedMpdu<Vec<u8>>) {
        if self.queues.has(from) {
            self.queues.handle_frame(now, &mut self.medium, from, packet);
        } else {
            self.medium.handle_frame(now, from, packet.mpdu);
        }
    }

    /// Whether the node has a queue that reads the tags of its packets.
    pub(super) fn has_queue(&self, node: NodeId) -> bool {
        self.queues.has(node)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.medium.handle_timeout(now);
        self.queues.handle_timeout(now, &mut self.medium);
    }

    pub(super) fn poll_deadline(&self) -> Option<Instant> {
        self.medium.poll_deadline().into_iter().chain(self.queues.poll_deadline()).min()
    }

    /// Frames and bytes in a node's queue and MAC.
    pub(super) fn held(&self, node: NodeId) -> QueueState {
        [self.medium.queue(node), self.queues.queue(node)].into_iter().sum()
    }

    /// The next report about a frame. The queue that the frame came from may give another one to the MAC.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Happened> {
        match self.medium.poll_event() {
            Some(Event::Delivered { at, enqueued, from, to, msdu, attempts, airtime, frame }) => {
                let category = category(&frame);
                self.receive(now, from, to, |station| Received { station, category, attempts, airtime });
                let status = TxStatus { to, category, result: TxResult::Delivered { attempts, airtime } };
                let since = self.complete(now, from, status).unwrap_or(enqueued);
                Some(Happened::Delivered { at, since, from, to, msdu, attempts, frame })
            }
            Some(Event::Dropped { at, from, to, reason, frame, .. }) => {
                let result = if reason == DropReason::RetryLimit { TxResult::GivenUp } else { TxResult::Unsent };
                self.complete(now, from, TxStatus { to, category: category(&frame), result });
                Some(Happened::Lost { at, from, why: Loss::Medium(reason) })
            }
            None => {
                let Unsent { from, cause, .. } = self.queues.poll_unsent()?;
                let why = match cause {
                    Some(Cause::Overflow) => Loss::Medium(DropReason::BufferFull),
                    Some(Cause::Delay) => Loss::QueueDelay,
                    None => Loss::Medium(DropReason::Left),
                };
                Some(Happened::Lost { at: now, from, why })
            }
        }
    }

    /// Reports a TX status to the queue above the MAC. Returns when the frame entered that queue, if there is one.
    fn complete(&mut self, now: Instant, from: NodeId, status: TxStatus) -> Option<Instant> {
        let since = self.queues.leave(now, &mut self.medium, from, status);
        self.queues.refill(now, &mut self.medium, from);
        since
    }

    /// Reports a received frame to the receiving node's queue.
    fn receive(&mut self, now: Instant, from: NodeId, to: To, packet: impl FnOnce(u32) -> Received) {
        let To::Node(to) = to else { return };
        // Either sender or receiver is the station.
        if let Some(&station) = self.by_node.get(&from).or_else(|| self.by_node.get(&to)) {
            self.queues.receive(now, &self.medium, to, &packet(station as u32));
        }
    }

    /// The station of a node, also of one that was removed but not forgotten.
    pub(super) fn station(&self, node: NodeId) -> Option<usize> {
        self.by_node.get(&node).copied()
    }

    /// The access point of a node.
    pub(super) fn point_of(&self, node: NodeId) -> usize {
        self.point_of[node.0 as usize].expect("other networks send no packets")
    }

    /// Nodes of access points and stations, with the access point of each.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (NodeId, usize)> + '_ {
        (0..).zip(&self.point_of).filter_map(|(node, point)| Some((NodeId(node), (*point)?)))
    }
}

/// The access category of a frame's DSCP.
pub(super) fn category(frame: &[u8]) -> AccessCategory {
    dscp(frame).map_or(AccessCategory::BestEffort, AccessCategory::of_dscp)
}

#[cfg(test)]
mod tests {
    use evenair_scenario::Scenario;
    use evenair_units::Span;

    use super::*;
    use crate::air::tests::{WIRED, frame, mac, outputs, owners};
    use crate::air::{Air, Output, Place, Reason};

    /// 802.11g, a station at 54 Mb/s and one at 6 Mb/s, with further keys of the radio.
    fn fast_and_slow(radio: &str) -> Air {
        let text = format!(
            "version = 1\nname = \"queues\"\nduration = \"5 s\"\n[radio]\nstandard = \"802.11g\"\n{radio}\n\
             [[station]]\nname = \"fast\"\nrate = \"54 Mb/s\"\n[[station]]\nname = \"slow\"\nrate = \"6 Mb/s\"\n\
             [[server]]\nname = \"server\"\n\
             [[udp]]\nname = \"flood\"\nstations = [\"fast\", \"slow\"]\nserver = \"server\"\ndirection = \"down\"\n\
             rate = \"25 Mb/s\"\n"
        );
        let scenario = Scenario::parse(&text, "queues.toml").unwrap_or_else(|error| panic!("{error}"));
        Air::new(AirPlan::all(&scenario), &[mac(0), mac(1)], owners(&scenario), &Streams::new(1))
    }

    /// A datagram of 1500 bytes to a station.
    fn datagram(station: usize) -> Vec<u8> {
        let [high, low] = crate::plan::server_port(station).to_be_bytes();
        let ip =
            [&[0x45, 0, 5, 220, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 9, 10, 0, 0, station as u8][..], &[high, low]];
        let udp = [&[0x9c, 0x40, 5, 200, 0, 0][..], &[0; 1472]].concat();
        [&mac(station).0[..], &WIRED.0, &[8, 0], &ip.concat(), &udp].concat()
    }

    /// Floods both stations for four seconds with more than the medium carries, three packets to the fast one for each to the
    /// slow one, in random order; returns the outputs after the first second.
    fn flood(air: &mut Air) -> Vec<Output> {
        let mut heard = Vec::new();
        let mut rng = Streams::new(1).stream("flood");
        for millisecond in 0..4000 {
            let now = Instant::ZERO + Span::from_millis(millisecond);
            while let Some(due) = air.poll_deadline().filter(|&due| due <= now) {
                air.handle_timeout(due);
            }
            air.handle_timeout(now);
            (0..4).for_each(|_| air.handle_wired_frame(now, None, datagram(usize::from(rng.below(4) == 0))));
            let out = std::iter::from_fn(|| air.poll_output());
            heard.extend(out.filter(|_| millisecond >= 1000));
        }
        heard
    }

    /// Ratio of packets received by the fast and by the slow station.
    fn ratio(heard: &[Output]) -> f64 {
        let count = |wanted: usize| {
            let is = |output: &&Output| matches!(output, Output::ToStation { station, .. } if *station == wanted);
            heard.iter().filter(is).count() as f64
        };
        count(0) / count(1)
    }

    #[test]
    fn the_discipline_of_the_access_points_queue_decides_the_shares() {
        // For 1500 bytes: DIFS 28 us, 20 us of preamble and (with MAC header and LLC) 57 or 513 symbols of DATA, SIFS, ACK.
        let times_as_long = 2144.0 / 326.0;
        let cases = [
            ("", 3.0, "in the order of their coming"),
            ("ap_queue = { discipline = \"fifo\" }", 3.0, "the same above the MAC"),
            ("ap_queue = { discipline = \"station-fifo\" }", 1.0, "one packet each in turn"),
            ("ap_queue = { discipline = \"mac80211\" }", times_as_long, "the same airtime"),
        ];
        for (radio, expected, what) in cases {
            let got = ratio(&flood(&mut fast_and_slow(radio)));
            assert!((got / expected - 1.0).abs() < 0.12, "{radio}: {got:.2} instead of {expected:.2}, {what}");
        }
    }

    /// Packets in each A-MPDU of an 802.11ac access point that gets runs of `run` packets for two stations in turn.
    fn aggregates(order: &str, run: usize) -> Vec<(usize, usize)> {
        let text = format!(
            "version = 1\nname = \"orders\"\nduration = \"5 s\"\n\
             [radio]\nstandard = \"802.11ac\"\nwidth = \"80 MHz\"\nap_buffer = \"1000 packets\"\n\
             ac.be.txop = \"0 us\"\naggregation.order = \"{order}\"\n\
             [[station]]\nname = \"s\"\ncount = 2\nmcs = 8\nstreams = 2\n[[server]]\nname = \"server\"\n\
             [[ping]]\nname = \"ping\"\nstations = [\"s\"]\nserver = \"server\"\n"
        );
        let scenario = Scenario::parse(&text, "orders.toml").unwrap_or_else(|error| panic!("{error}"));
        let mut air = Air::new(AirPlan::all(&scenario), &[mac(0), mac(1)], owners(&scenario), &Streams::new(1));
        (0..640).for_each(|packet| air.handle_wired_frame(Instant::ZERO, None, datagram(packet / run % 2)));
        let mut ends: Vec<(Instant, usize)> = Vec::new();
        for output in outputs(&mut air) {
            let Output::ToStation { at, station, .. } = output else { panic!("{output:?}") };
            ends.push((at, station));
        }
        ends.chunk_by(|a, b| a == b).map(|aggregate| (aggregate[0].1, aggregate.len())).collect()
    }

    #[test]
    fn an_access_takes_frames_in_the_order_of_the_scenario() {
        let each = |packets, count: usize| (0..count).map(|number| (number % 2, packets)).collect::<Vec<_>>();
        assert_eq!(aggregates("arrival", 1), each(64, 10));
        let mut in_turn = aggregates("stations", 1);
        in_turn.sort_unstable();
        assert_eq!(in_turn, [[(0, 64); 5], [(1, 64); 5]].concat());
        assert_eq!(aggregates("neighbours", 1), each(1, 640));
        assert_eq!(aggregates("neighbours", 20), each(20, 32));
    }

    #[test]
    fn classes_of_a_queue_are_those_of_its_packets_applications() {
        let classes = "[radio.ap_queue]\ndiscipline = \"htb\"\ndefault = \"rest\"\n\
                       [[radio.ap_queue.class]]\nname = \"all\"\nrate = \"5 Mb/s\"\n\
                       [[radio.ap_queue.class]]\nname = \"gold\"\nparent = \"all\"\nrate = \"4 Mb/s\"\nceil = \"5 Mb/s\"\n\
                       stations = [\"slow\"]\n\
                       [[radio.ap_queue.class]]\nname = \"rest\"\nparent = \"all\"\nrate = \"1 Mb/s\"\nceil = \"5 Mb/s\"\n";
        let mut air = fast_and_slow(classes);
        // A packet of no application is in the default class, and not lost.
        air.handle_wired_frame(Instant::ZERO, None, frame(mac(0), WIRED));
        let heard = outputs(&mut air);
        assert!(matches!(heard[..], [Output::ToStation { station: 0, .. }]), "{heard:?}");
        let got = ratio(&flood(&mut fast_and_slow(classes)));
        assert!((got / 0.25 - 1.0).abs() < 0.12, "{got:.2} instead of 1 to 4");
    }

    #[test]
    fn drops_of_a_queue_are_counted_by_reason() {
        let lost = |heard: &[Output], why| {
            let is =
                |output: &&Output| **output == Output::Lost { place: Place::AccessPoint(0), reason: Reason::Air(why) };
            heard.iter().filter(is).count()
        };
        let full = Loss::Medium(DropReason::BufferFull);
        let mut air = fast_and_slow("ap_buffer = \"1000 packets\"\nap_queue = { discipline = \"codel\" }");
        let heard = flood(&mut air);
        assert!(lost(&heard, Loss::QueueDelay) > 10, "{}", lost(&heard, Loss::QueueDelay));
        let point = &air.take_senders(Instant::ZERO + Span::from_secs(4))[0];
        let gone = point.delivered + point.lost.values().sum::<u64>();
        let held = air.access_point_queue().packets as u64;
        assert!(point.lost[&Loss::QueueDelay] > 10 && held > 1, "{point:?}, {held} held");
        assert_eq!((point.offered, point.most >= held), (gone + held, true), "{point:?}, {held} held");
        let heard = flood(&mut fast_and_slow("ap_buffer = \"20 packets\"\nap_queue = { discipline = \"fifo\" }"));
        assert!(lost(&heard, full) > 10 && lost(&heard, Loss::QueueDelay) == 0, "{}", lost(&heard, full));
    }

    #[test]
    fn queued_packets_for_a_station_that_left_are_lost() {
        let queues = "ap_queue = { discipline = \"station-fifo\" }\nstation_queue = { discipline = \"fifo\" }";
        let mut air = fast_and_slow(queues);
        (0..3).for_each(|_| air.handle_station_frame(Instant::ZERO, 0, frame(WIRED, mac(0))));
        (0..4).for_each(|_| air.handle_wired_frame(Instant::ZERO, None, datagram(0)));
        air.handle_wired_frame(Instant::ZERO, None, datagram(1));
        air.go(Instant::ZERO, 0);
        air.come(Instant::ZERO, 0, 0);
        let heard = outputs(&mut air);
        let lost = |place, reason| {
            let lost = Output::Lost { place, reason: Reason::Air(Loss::Medium(reason)) };
            heard.iter().filter(|&output| *output == lost).count()
        };
        assert_eq!(lost(Place::Station(0), DropReason::Left), 3, "{heard:?}");
        // One is in the access point's MAC, which cannot deliver it.
        let point = Place::AccessPoint(0);
        assert_eq!([DropReason::Left, DropReason::RetryLimit].map(|why| lost(point, why)), [3, 1], "{heard:?}");
        assert_eq!((ratio(&heard), air.access_point_queue().packets), (0.0, 0));
    }
}
