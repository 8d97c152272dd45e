//! Drops packets that are too old.
//!
//! A packet that was held for more than [`MAX_AGE`] is useless: its sender has retransmitted it (RFC 6298, 2.4: the
//! timeout of TCP is a second at least), or a call or a game has gone on without it; and it would take airtime from
//! useful packets. So the box never plays out a queue that built up while the medium, or the box, was blocked. The
//! packet is dropped when its turn comes, before it is charged, and so its age is checked once at most. The same
//! holds for the Internet link, where the age counts from the packet's arrival at the box: both waits together are at
//! most a second.
//!
//! A pure ACK leaves at any age. ACKs limit an upload to its share: each is charged for the DATA that it releases. If
//! old ACKs were dropped, the newest would release all of that at once at the price of one, and an upload with a long
//! wait would get more than its share; and without the newest ACK its sender would wait for its timeout.
//!
//! Exceptions: the published controller and a discipline in place of the tree, which behave as published; and
//! [`Config::aqm`](crate::Config) switched off, so that only the limits bound a queue.
//!
//! What is not here: ACKs that receiver control holds on purpose (`receiver`), for which it has a bound of its own.

use evenair_packet::TcpMeta;
use evenair_units::{Instant, Span};

use super::Manager;
use crate::DropReason;
use crate::held::Held;
use crate::ids::DomainId;
use crate::packet_cost::PacketCost;

/// Age beyond which a packet is dropped: the shortest timeout of TCP (RFC 6298, 2.4), and far more than any conversation
/// tolerates (ITU-T G.114: 400 ms).
const MAX_AGE: Span = Span::from_secs(1);

/// Whether a packet is to be dropped for its age.
fn is_too_old<P>(held: &Held<P>, now: Instant) -> bool {
    let is_ack = held.tcp.as_ref().is_some_and(TcpMeta::is_pure_ack);
    now.saturating_since(held.came) > MAX_AGE && !is_ack
}

impl<P: Send + 'static> Manager<P> {
    fn limits_age(&self) -> bool {
        self.config.aqm.is_some() && self.config.queue.is_none() && self.config.controller.drops_useless()
    }

    /// Drops too old packets until the next packet of the domain is not.
    pub(super) fn drop_old(&mut self, now: Instant, id: DomainId) {
        if !self.limits_age() {
            return;
        }
        loop {
            let queues = &mut self.domains.touch(id).queues;
            let Some(head) = queues.drop_next_if(|head| is_too_old(head, now)) else { return };
            self.flows.get_mut(head.flow).held -= 1;
            self.discard(head.packet, head.flow, DropReason::TooOld);
        }
    }

    pub(super) fn pop_young(&mut self, now: Instant, id: DomainId) -> Option<(Held<P>, PacketCost)> {
        self.drop_old(now, id);
        self.pop(now, id)
    }

    /// The same for a direction of the Internet link.
    pub(super) fn drop_old_on_link(&mut self, now: Instant, direction: usize) {
        if !self.limits_age() {
            return;
        }
        loop {
            let Some(wan) = &mut self.wan else { return };
            let queues = &mut wan.links[direction].queues;
            let Some(head) = queues.drop_next_if(|head| is_too_old(head, now)) else { return };
            self.flows.get_mut(head.flow).links[direction].held -= 1;
            self.discard(head.packet, head.flow, DropReason::TooOld);
        }
    }

    pub(super) fn pop_young_from_link(&mut self, now: Instant, direction: usize) -> Option<Held<P>> {
        self.drop_old_on_link(now, direction);
        self.pop_from_link(now, direction)
    }
}
