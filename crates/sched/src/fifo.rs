//! Drop-tail FIFO: arrivals at a full queue are dropped.
//!
//! Delay is bounded only by the limit over the server's rate; shares are those of arrivals.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Limit};

use crate::line::Line;
use crate::{Discipline, Dropped, Packet};

/// A drop-tail queue.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    limit: Limit,
    line: Line<P>,
    drops: VecDeque<Dropped<P>>,
}

impl<P> Fifo<P> {
    /// An empty queue with this limit.
    pub fn new(limit: Limit) -> Self {
        Self { limit, line: Line::default(), drops: VecDeque::new() }
    }
}

impl<P: Packet> Discipline<P> for Fifo<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        self.line.push_within(self.limit, now, packet, &mut self.drops);
    }

    fn poll_packet(&mut self, _now: Instant) -> Option<P> {
        self.line.pop().map(|(_, packet)| packet)
    }

    fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.drops.pop_front()
    }

    fn take_all(&mut self) -> Vec<P> {
        self.line.take_all()
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn bytes(&self) -> Bytes {
        self.line.bytes()
    }
}
