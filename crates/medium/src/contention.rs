//! Back-off in slots: who sends next, and when.
//!
//! Nobody counts idle slots one by one. Back-off counts down for all nodes together, so one counter of slots passed is
//! kept, and each node's back-off is the value of that counter at which it may send. While the medium is busy the
//! counter stands; when it falls silent, the first slot begins one inter-frame space later, at the period's `origin`,
//! and the next transmission is where the least expiry lies on the grid of slots from there.
//!
//! Some nodes begin later or earlier than the rest in one period: those whose frame collided or was lost wait for an
//! answer first. They are kept apart for that period, each with an origin of its own, and join the rest when the medium
//! becomes busy again. All this holds for nodes with the same inter-frame space; nodes with another (EDCA's access
//! categories) would be a second `Contention` beside this one.
//!
//! A transmission is sensed by all others at once: two nodes collide only if they start at the same instant. Since all
//! that resume together share a grid, that is whenever they start in the same slot.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use evenair_units::{Instant, Span};

#[derive(Debug)]
pub(crate) struct Contention {
    slot: Span,
    /// Idle slots that had passed when this period began.
    count: u64,
    /// When this idle period's first slot begins.
    origin: Instant,
    /// Value of the counter at which each node may send; one that is past does not keep a node from sending.
    expiry: Vec<u64>,
    /// Nodes with a frame to send, by expiry, except those in `apart`.
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
    /// Nodes with an origin of their own in this period. In it, their expiry is relative to that origin.
    apart: Vec<Apart>,
}

#[derive(Debug)]
struct Apart {
    node: u32,
    origin: Instant,
    waiting: bool,
}

impl Contention {
    pub(crate) fn new(slot: Span) -> Self {
        Self {
            slot,
            count: 0,
            origin: Instant::ZERO,
            expiry: Vec::new(),
            waiting: BinaryHeap::new(),
            apart: Vec::new(),
        }
    }

    /// A node with no back-off to count.
    pub(crate) fn add(&mut self) {
        self.expiry.push(0);
    }

    /// The node sends no more.
    pub(crate) fn remove(&mut self, node: u32) {
        self.waiting.retain(|&Reverse((_, other))| other != node);
        self.apart.retain(|apart| apart.node != node);
    }

    /// The medium fell silent, and slots pass from `origin` on.
    pub(crate) fn resume(&mut self, origin: Instant) {
        self.origin = origin;
    }

    /// In the period that begins, slots pass for `node` from an origin of its own. Before it enters.
    pub(crate) fn set_apart(&mut self, node: u32, origin: Instant) {
        self.apart.push(Apart { node, origin, waiting: false });
    }

    /// The node waits `slots` slots before it sends. Only while no slots pass: when the medium is busy or just fell
    /// silent.
    pub(crate) fn set(&mut self, node: u32, slots: u64) {
        self.expiry[node as usize] = self.count + slots;
    }

    /// Whether the node's back-off had run out when the medium became busy.
    pub(crate) fn has_run_out(&self, node: u32) -> bool {
        self.expiry[node as usize] <= self.count
    }

    /// The node has a frame to send once its back-off has run out. Only while no slots pass.
    pub(crate) fn enter(&mut self, node: u32) {
        match self.apart.iter_mut().find(|apart| apart.node == node) {
            Some(apart) => apart.waiting = true,
            None => self.waiting.push(Reverse((self.expiry[node as usize], node))),
        }
    }

    /// The same while the medium is silent: at the first boundary of slots after `now` where back-off has run out
    /// already, so that nodes whose frames come within the same slot collide.
    pub(crate) fn enter_at(&mut self, node: u32, now: Instant) {
        let apart = self.apart.iter().find(|apart| apart.node == node);
        let origin = apart.map_or(self.origin, |apart| apart.origin);
        let next = now.checked_since(origin).map_or(0, |passed| passed / self.slot + 1);
        let expiry = &mut self.expiry[node as usize];
        *expiry = (*expiry).max(self.count + next);
        self.enter(node);
    }

    /// When the next node sends if the medium stays silent.
    pub(crate) fn next(&self) -> Option<Instant> {
        let waiting = self.waiting.peek().map(|&Reverse((expiry, _))| self.on_grid(self.origin, expiry));
        let apart = self.apart.iter().filter(|apart| apart.waiting);
        let apart = apart.map(|apart| self.on_grid(apart.origin, self.expiry[apart.node as usize])).min();
        match (waiting, apart) {
            (Some(waiting), Some(apart)) => Some(waiting.min(apart)),
            (waiting, apart) => waiting.or(apart),
        }
    }

    /// The medium becomes busy at `at`, as [`Self::next`] said. Those who send are put into `senders`, and wait no more.
    pub(crate) fn start(&mut self, at: Instant, senders: &mut Vec<u32>) {
        while let Some(&Reverse((expiry, node))) = self.waiting.peek() {
            if self.on_grid(self.origin, expiry) != at {
                break;
            }
            self.waiting.pop();
            senders.push(node);
        }
        let before = self.count;
        self.count += self.slots_since(self.origin, at);
        while let Some(Apart { node, origin, waiting }) = self.apart.pop() {
            let left = self.expiry[node as usize].saturating_sub(before);
            if waiting && origin + self.slot * left == at {
                senders.push(node);
                continue;
            }
            self.expiry[node as usize] = self.count + left.saturating_sub(self.slots_since(origin, at));
            if waiting {
                self.waiting.push(Reverse((self.expiry[node as usize], node)));
            }
        }
    }

    fn on_grid(&self, origin: Instant, expiry: u64) -> Instant {
        origin + self.slot * expiry.saturating_sub(self.count)
    }

    fn slots_since(&self, origin: Instant, at: Instant) -> u64 {
        at.saturating_since(origin) / self.slot
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    fn contention(nodes: u32) -> Contention {
        let mut contention = Contention::new(Span::from_micros(10));
        (0..nodes).for_each(|_| contention.add());
        contention
    }

    fn start(contention: &mut Contention) -> (Instant, Vec<u32>) {
        let at = contention.next().unwrap();
        let mut senders = vec![];
        contention.start(at, &mut senders);
        (at, senders)
    }

    #[test]
    fn back_off_stands_while_the_medium_is_busy() {
        let mut c = contention(2);
        c.set(0, 3);
        c.set(1, 5);
        c.enter(0);
        c.enter(1);
        c.resume(at_us(100));
        assert_eq!(start(&mut c), (at_us(130), vec![0]));
        c.resume(at_us(1_000));
        assert_eq!(start(&mut c), (at_us(1_020), vec![1]));
    }

    #[test]
    fn back_off_runs_out_without_a_frame_and_frames_then_wait_for_the_next_slot() {
        let mut c = contention(2);
        c.set(0, 2);
        c.resume(at_us(100));
        c.enter_at(0, at_us(109));
        assert_eq!(c.next(), Some(at_us(120)), "one slot of two was left");
        c.enter_at(1, at_us(110));
        assert_eq!(start(&mut c), (at_us(120), vec![0, 1]));
    }

    #[test]
    fn a_frame_that_comes_in_the_inter_frame_space_goes_at_its_end() {
        let mut c = contention(1);
        c.resume(at_us(100));
        c.enter_at(0, at_us(60));
        assert_eq!(c.next(), Some(at_us(100)));
    }

    #[test]
    fn nodes_apart_count_from_their_own_origin_for_one_period() {
        let mut c = contention(3);
        c.resume(at_us(100));
        c.set_apart(0, at_us(127));
        c.set_apart(1, at_us(80));
        [(0, 4), (1, 9), (2, 5)].into_iter().for_each(|(node, slots)| c.set(node, slots));
        (0..3).for_each(|node| c.enter(node));
        // Node 2 at 150; by then node 0 has counted 2 of 4 slots, node 1 has counted 7 of 9.
        assert_eq!(start(&mut c), (at_us(150), vec![2]));
        c.resume(at_us(500));
        assert_eq!(start(&mut c), (at_us(520), vec![0, 1]));
    }

    #[test]
    fn a_node_apart_with_a_head_start_can_send_before_the_rest_count() {
        let mut c = contention(2);
        c.set(1, 1);
        c.enter(1);
        c.resume(at_us(300));
        c.set_apart(0, at_us(100));
        c.set(0, 2);
        c.enter(0);
        assert_eq!(start(&mut c), (at_us(120), vec![0]));
        c.resume(at_us(500));
        assert_eq!(start(&mut c), (at_us(510), vec![1]));
    }

    #[test]
    fn removed_nodes_do_not_send() {
        let mut c = contention(2);
        c.resume(at_us(100));
        c.set_apart(1, at_us(200));
        c.enter(0);
        c.enter(1);
        c.remove(0);
        assert_eq!(c.next(), Some(at_us(200)));
        c.remove(1);
        assert_eq!(c.next(), None);
    }
}
