//! The state of the tree of queues, for reports: C* of the traffic that it serves, and the packets that it holds.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use evenair_sched::NodeId;
use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::mixed_capacity;

use super::attained::count;
use super::{Queues, Share};
use crate::flows::Flows;
use crate::ids::ClassId;
use crate::stations::Stations;
use crate::{Hop, Level, QueueReport};

/// Time since it last held a packet for which a queue counts as active: longer than a connection waits for its window,
/// shorter than a user's pauses.
const ACTIVE: Span = Span::from_secs(1);

impl<P> Queues<P> {
    /// Halves the weight of earlier service.
    pub(crate) fn age(&mut self, now: Instant) {
        self.forget_idle(now);
        for &leaf in &self.recent {
            let node = self.nodes[leaf.index()].as_mut().expect("queues that go are taken out");
            (node.served_bits, node.served_time) = (node.served_bits / 2, node.served_time / 2);
        }
    }

    /// Removes queues that have not been active recently from the list.
    fn forget_idle(&mut self, now: Instant) {
        let (nodes, hsfq) = (&mut self.nodes, &self.hsfq);
        let mut kept = 0;
        self.recent.retain(|&leaf| {
            let node = nodes[leaf.index()].as_mut().expect("queues that go are taken out");
            let active = !hsfq.queue(leaf).is_empty() || now.saturating_since(node.last_held) < ACTIVE;
            node.recent_at = active.then_some(kept);
            kept += usize::from(active);
            if !active {
                count(nodes, hsfq.parent(leaf), leaf, None);
            }
            active
        });
    }

    /// Removes a queue from the list, in constant time.
    pub(super) fn forget_recent(&mut self, leaf: NodeId) {
        let Some(at) = self.node(leaf).recent_at.take() else { return };
        self.recent.swap_remove(at);
        if let Some(&moved) = self.recent.get(at) {
            self.node(moved).recent_at = Some(at);
        }
    }

    /// C* of the recently active queues (equation 1, applied to each node of the tree); `None`: there are none.
    pub(crate) fn capacity(&mut self, stations: &Stations, now: Instant) -> Option<BitRate> {
        // Everything below a station is its own: the station's node represents it.
        let is_station = |level: &Level| matches!(level, Level::Station { .. });
        let depth = self.levels.iter().position(is_station).map_or(self.levels.len(), |index| index + 1);
        let of_one_station = self.levels.iter().any(|level| is_station(level) || *level == Level::Flow);
        self.forget_idle(now);
        let mut layers: BTreeMap<usize, BTreeMap<NodeId, BitRate>> = BTreeMap::new();
        for &leaf in &self.recent {
            let node = self.nodes[leaf.index()].as_ref().expect("queues that go are taken out");
            // A queue of one station has that station's C_i at once when its rate changes; others have that of their
            // traffic.
            let capacity = if of_one_station { stations.get(node.station).capacity } else { node.mixture };
            let is_own =
                |id: NodeId| matches!(self.nodes[id.index()], Some(super::Node { share: Share::Station(_), .. }));
            // The queue of unheard stations has no node below it.
            let up = |id, _| if is_own(id) { id } else { self.hsfq.parent(id).unwrap_or(id) };
            let top = (depth..self.levels.len()).fold(leaf, up);
            let above = core::iter::successors(self.hsfq.parent(top), |&id| self.hsfq.parent(id)).count();
            layers.entry(above).or_default().insert(top, capacity);
        }
        // From the deepest nodes up: children of a class may be at several depths.
        while let Some((depth, layer)) = layers.pop_last() {
            if depth == 0 {
                return layer.get(&NodeId::ROOT).copied();
            }
            let mut above: BTreeMap<NodeId, Vec<(u64, BitRate)>> = BTreeMap::new();
            for (id, capacity) in layer {
                let parent = self.hsfq.parent(id).expect("the root is above all layers");
                // Shares of medium time, in bits, are proportional to the bits carried in them.
                let per_weight = if self.by_time { (capacity.as_bps() / 1_000).max(1) } else { 1 };
                above.entry(parent).or_default().push((self.hsfq.weight(id) * per_weight, capacity));
            }
            let mixed = above.into_iter().map(|(id, parts)| (id, mixed_capacity(&parts)));
            layers.entry(depth - 1).or_default().extend(mixed);
        }
        None
    }

    /// Reports of the queues, which wait for `hop`.
    pub(crate) fn report(&self, hop: Hop, stations: &Stations, flows: &Flows) -> Vec<QueueReport> {
        let held = |&&id: &&NodeId| !self.hsfq.queue(id).is_empty();
        self.children.values().filter(held).map(|&id| self.report_queue(hop, id, stations, flows)).collect()
    }

    fn report_queue(&self, hop: Hop, id: NodeId, stations: &Stations, flows: &Flows) -> QueueReport {
        let node = |id: NodeId| self.nodes.get(id.index()).and_then(Option::as_ref);
        let packets = u32::try_from(self.hsfq.queue(id).len()).unwrap_or(u32::MAX);
        let bytes = node(id).map_or(Bytes::ZERO, |node| node.bytes);
        let mut report = QueueReport { hop, direction: None, class: None, station: None, flow: None, packets, bytes };
        let mut at = Some(id);
        while let Some(id) = at {
            match node(id).map(|node| node.share) {
                Some(Share::Direction(direction)) => report.direction = Some(direction),
                Some(Share::Class(class)) => report.class = report.class.or(class),
                Some(Share::Station(station)) => {
                    let station = stations.get(station);
                    report.station = (!station.is_shared).then_some(station.mac);
                }
                Some(Share::Flow(flow)) => report.flow = Some(flows.get(flow).key.flow),
                Some(Share::Origin(_) | Share::Application(_) | Share::Host(_) | Share::Unanswered) | None => {}
            }
            at = self.hsfq.parent(id);
        }
        report
    }

    /// Packets and bytes held in a class, or in none.
    pub(crate) fn held_in(&self, class: Option<ClassId>) -> (u32, Bytes) {
        let Some(classes) = &self.classes else { return (0, Bytes::ZERO) };
        let held = |class| {
            let (packets, bytes, _) = classes.held(class);
            (packets, bytes)
        };
        let all = (u32::try_from(self.len()).unwrap_or(u32::MAX), self.bytes);
        let less = |(packets, bytes): (u32, Bytes), (fewer, less): (u32, Bytes)| (packets - fewer, bytes - less);
        class.map_or_else(|| classes.tree.children(None).map(held).fold(all, less), held)
    }

    /// Whether a class has used what its ceiling allows.
    pub(crate) fn is_at_ceiling(&self, class: ClassId) -> bool {
        self.classes.as_ref().is_some_and(|classes| classes.held(class).2)
    }
}
