//! One queue under CoDel, with a limit at which arrivals are dropped.
//!
//! The control law is in `codel`. This queue executes its signals by dropping the head, or, if the packet is ECN-capable
//! and marking is enabled, by marking it (RFC 3168): a marked packet is sent, and counts like a dropped one, as in Linux
//! `codel_impl.h`.
//!
//! Source: RFC 8289. Bound: the standing delay converges to the target for responsive senders, at any service rate. Not
//! here: isolation of flows (`fq_codel`), a threshold for shallow marks.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Limit};
use minicbor::{Decode, Encode};

use crate::codel::{Codel, CodelConfig, Verdict};
use crate::line::Line;
use crate::{Cause, Discipline, Dropped, Packet};

/// Parameters of a queue under CoDel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct CodelQueueConfig {
    /// Parameters of the control law.
    #[n(0)]
    pub codel: CodelConfig,
    /// A queue of at most this size gets no signal: one packet of full size (RFC 8289, 4.4).
    #[n(1)]
    pub mtu: Bytes,
    /// Mark ECN-capable packets instead of dropping them.
    #[n(2)]
    pub ecn: bool,
}

impl Default for CodelQueueConfig {
    /// The values of the RFC, Ethernet frames, no marks.
    fn default() -> Self {
        Self { codel: CodelConfig::RFC, mtu: Bytes(1514), ecn: false }
    }
}

/// Takes the next packet to send; dropped ones go to `drops`.
pub(crate) fn pop<P: Packet>(
    law: &mut Codel,
    config: &CodelQueueConfig,
    now: Instant,
    line: &mut Line<P>,
    drops: &mut VecDeque<Dropped<P>>,
) -> Option<P> {
    loop {
        let (since, mut packet) = line.pop()?;
        let is_short = line.bytes() <= config.mtu;
        match law.judge(now, now.saturating_since(since), is_short, &config.codel) {
            Verdict::Serve => return Some(packet),
            Verdict::Signal if config.ecn && packet.mark() => return Some(packet),
            Verdict::Signal => drops.push_back(Dropped { packet, cause: Cause::Delay }),
        }
    }
}

/// One queue under CoDel.
#[derive(Clone, Debug)]
pub struct CodelQueue<P> {
    config: CodelQueueConfig,
    limit: Limit,
    law: Codel,
    line: Line<P>,
    drops: VecDeque<Dropped<P>>,
}

impl<P> CodelQueue<P> {
    /// An empty queue.
    pub fn new(config: CodelQueueConfig, limit: Limit) -> Self {
        Self { config, limit, law: Codel::default(), line: Line::default(), drops: VecDeque::new() }
    }
}

impl<P: Packet> Discipline<P> for CodelQueue<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        self.line.push_within(self.limit, now, packet, &mut self.drops);
    }

    fn poll_packet(&mut self, now: Instant) -> Option<P> {
        pop(&mut self.law, &self.config, now, &mut self.line, &mut self.drops)
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
