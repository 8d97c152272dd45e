//! A contention domain: its medium, and the queues in front of the MACs, which are those of the simulator.

use std::collections::BTreeMap;

use evenair_ap::{AirQueues, Fate, Received, TaggedMpdu, TxStatus, Unsent};
use evenair_medium::{AccessCategory, DropReason, Event, Medium, NodeId, QueueState, To};
use evenair_packet::dscp;
use evenair_scenario::AirPlan;
use evenair_sched::Cause;
use evenair_units::{Bytes, Instant, Streams};

use crate::senders::Loss;

#[derive(Debug)]
pub(super) struct Domain {
    pub(super) medium: Medium<Vec<u8>>,
    /// Of nodes whose buffer is more than the MAC's own.
    queues: AirQueues<Vec<u8>>,
    plan: AirPlan,
    /// Of each node, the number of its access point among the scenario's; those included that have left. Networks of others
    /// have none.
    point_of: Vec<Option<usize>>,
    by_node: BTreeMap<NodeId, usize>,
}

/// What became of a frame.
#[derive(Debug)]
pub(super) enum Happened {
    Delivered {
        at: Instant,
        /// When it came to its sender's buffer.
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
    /// One with its access points, and their numbers among the scenario's with the nodes that they are.
    pub(super) fn new(plan: AirPlan, streams: &Streams) -> (Self, Vec<(usize, NodeId)>) {
        let (medium, nodes) = plan.build(streams);
        let mut queues = AirQueues::new(&plan.streams(streams));
        for (spec, &node) in plan.ap_queue.iter().flat_map(|spec| nodes.iter().map(move |node| (spec, node))) {
            queues.add(&medium, node, spec);
        }
        let numbers = plan.access_points.iter().map(|point| point.number);
        let mut point_of: Vec<_> = numbers.clone().map(Some).collect();
        point_of.resize(plan.nodes_before_stations(), None);
        let points = numbers.zip(nodes).collect();
        (Self { medium, queues, plan, point_of, by_node: BTreeMap::new() }, points)
    }

    /// A station comes to an access point, the `number`th of the scenario; `others` gives the node that another one is here.
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

    /// A station goes away with what it holds. What is polled next is still of that station, until it is forgotten.
    pub(super) fn remove(&mut self, now: Instant, node: NodeId) {
        self.queues.remove(node);
        self.medium.remove_node(now, node);
    }

    /// What comes from this node is no station's.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.by_node.remove(&node);
    }

    /// An access point gives up what it has for a station that has gone: all that its MAC does not have yet, or of a queue
    /// above the MAC what comes to its turn.
    pub(super) fn give_up(&mut self, now: Instant, point: NodeId, station: NodeId) {
        if self.queues.has(point) {
            self.queues.flush(station);
        } else {
            self.medium.flush(now, point, station);
        }
    }

    /// A node is to send a frame.
    pub(super) fn send(&mut self, now: Instant, from: NodeId, packet: TaggedMpdu<Vec<u8>>) {
        if self.queues.has(from) {
            self.queues.handle_frame(now, &mut self.medium, from, packet);
        } else {
            self.medium.handle_frame(now, from, packet.mpdu);
        }
    }

    /// Whether a queue wants to know what a node's packets are.
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

    /// What a node holds, in its queue and in its MAC.
    pub(super) fn held(&self, node: NodeId) -> QueueState {
        [self.medium.queue(node), self.queues.queue(node)].into_iter().sum()
    }

    /// What became of the next frame. The queue that it came from has another one for the MAC.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Happened> {
        match self.medium.poll_event() {
            Some(Event::Delivered { at, enqueued, from, to, msdu, attempts, airtime, frame }) => {
                let category = category(&frame);
                self.receive(now, from, to, |station| Received { station, category, attempts, airtime });
                let status = TxStatus { category, fate: Fate::Delivered { attempts, airtime } };
                let since = self.complete(now, from, status).unwrap_or(enqueued);
                Some(Happened::Delivered { at, since, from, to, msdu, attempts, frame })
            }
            Some(Event::Dropped { at, from, reason, frame, .. }) => {
                let fate = if reason == DropReason::RetryLimit { Fate::GivenUp } else { Fate::Unsent };
                self.complete(now, from, TxStatus { category: category(&frame), fate });
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

    /// A MAC has done with a packet: when that came to the queue above it, where there is one.
    fn complete(&mut self, now: Instant, from: NodeId, status: TxStatus) -> Option<Instant> {
        let since = self.queues.leave(now, &mut self.medium, from, status);
        self.queues.refill(now, &mut self.medium, from);
        since
    }

    /// A queue may count what its node receives.
    fn receive(&mut self, now: Instant, from: NodeId, to: To, packet: impl FnOnce(u32) -> Received) {
        let To::Node(to) = to else { return };
        // One of the two is the station.
        if let Some(&station) = self.by_node.get(&from).or_else(|| self.by_node.get(&to)) {
            self.queues.receive(now, &self.medium, to, &packet(station as u32));
        }
    }

    /// The station that a node is, or is not any more and has not been forgotten as.
    pub(super) fn station(&self, node: NodeId) -> Option<usize> {
        self.by_node.get(&node).copied()
    }

    /// The access point that sends packets, or whose station does.
    pub(super) fn point_of(&self, node: NodeId) -> usize {
        self.point_of[node.0 as usize].expect("other networks send no packets")
    }

    /// The nodes of access points and stations, with the access point of each.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (NodeId, usize)> + '_ {
        (0..).zip(&self.point_of).filter_map(|(node, point)| Some((NodeId(node), (*point)?)))
    }
}

/// The access category of a frame's DSCP.
pub(super) fn category(frame: &[u8]) -> AccessCategory {
    dscp(frame).map_or(AccessCategory::BestEffort, AccessCategory::of_dscp)
}
