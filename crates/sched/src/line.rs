//! A FIFO of packets with their times of arrival: the building block of disciplines.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Limit};

use crate::{Cause, Dropped, Packet};

/// Whether the occupancy exceeds the limit.
pub(crate) fn exceeds(limit: Limit, packets: usize, bytes: Bytes) -> bool {
    match limit {
        Limit::Packets(most) => packets > most as usize,
        Limit::Bytes(most) => bytes > most,
        Limit::Unlimited => false,
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Line<P> {
    packets: VecDeque<(Instant, P)>,
    bytes: Bytes,
}

impl<P> Default for Line<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: Bytes::ZERO }
    }
}

impl<P> Line<P> {
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(crate) fn take_all(&mut self) -> Vec<P> {
        self.bytes = Bytes::ZERO;
        self.packets.drain(..).map(|(_, packet)| packet).collect()
    }

    pub(crate) fn front(&self) -> Option<&P> {
        self.packets.front().map(|(_, packet)| packet)
    }
}

impl<P: Packet> Line<P> {
    pub(crate) fn push(&mut self, now: Instant, packet: P) {
        self.bytes += packet.size();
        self.packets.push_back((now, packet));
    }

    /// Appends a packet if the limit allows it; otherwise the packet goes to `drops` (drop-tail).
    pub(crate) fn push_within(&mut self, limit: Limit, now: Instant, packet: P, drops: &mut VecDeque<Dropped<P>>) {
        if limit.admits(self.len(), self.bytes, packet.size()) {
            self.push(now, packet);
        } else {
            drops.push_back(Dropped { packet, cause: Cause::Overflow });
        }
    }

    /// The first packet, and its time of arrival.
    pub(crate) fn pop(&mut self) -> Option<(Instant, P)> {
        let (since, packet) = self.packets.pop_front()?;
        self.bytes = self.bytes - packet.size();
        Some((since, packet))
    }

    pub(crate) fn pop_back(&mut self) -> Option<P> {
        let (_, packet) = self.packets.pop_back()?;
        self.bytes = self.bytes - packet.size();
        Some(packet)
    }
}
