//! Medium access if all nodes hear each other: one state of the medium for all nodes, and one access at a
//! time.
//!
//! `contention` decides which node sends next, `start` begins an access, `end` ends it.

mod access;
mod channel;
mod contention;
mod end;
mod frames;
mod start;
mod wheel;

use evenair_units::Instant;

use self::access::{Access, Outcome};
use self::channel::Stage;
use crate::attempt::Attempt;
use crate::frame::To;
use crate::mac::Mac;

pub(crate) use self::channel::SharedChannel;

impl SharedChannel {
    /// Handles the event at `at`, which is [`Self::due`].
    #[inline(always)]
    pub(crate) fn step<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        match self.stage {
            Stage::Silent => self.start(mac, at),
            Stage::Receiving => self.receive(mac, at),
            Stage::Ending => self.end(mac, at),
        }
    }

    /// The end of a received DATA frame, unless sender or receiver has left meanwhile.
    #[inline(always)]
    pub(super) fn receive<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        let is_due = |access: &Access| access.outcome.delivers() && !access.delivered && access.arrives == at;
        let alone = self.on_air.len() == 1;
        let place = if alone { 0 } else { self.on_air.iter().position(is_due).expect("the stage says so") };
        if self.on_air[place].arrives < self.on_air[place].sent {
            return self.receive_part(mac, at, place);
        }
        let access = &mut self.on_air[place];
        access.delivered = true;
        let Access { node, edcaf, attempt: Attempt { to, .. }, outcome, .. } = *access;
        let receiver_left = matches!(to, To::Node(receiver) if mac.nodes.has_left(receiver.0));
        if receiver_left || mac.nodes.has_left(node) {
            (access.outcome, access.answered) = (Outcome::Lost, access.sent);
        } else {
            // A burst counts as queued until its response has come.
            let counts_on = mac.config.aggregation.is_some() && mac.nodes.edcafs[edcaf as usize].tx_queues().is_some();
            let confirmed = outcome == Outcome::Received && !counts_on;
            mac.deliver(at, edcaf, confirmed);
        }
        (self.stage, self.due) =
            if alone { (Stage::Ending, self.on_air[0].answered) } else { self.stage_of_transmission() };
        if self.stage == Stage::Ending && self.due <= at {
            self.end_broadcast(mac, at);
        }
    }

    /// An MPDU of a burst has been received, and others follow.
    #[inline(never)]
    fn receive_part<F>(&mut self, mac: &mut Mac<F>, at: Instant, place: usize) {
        let access = &mut self.on_air[place];
        let receiver_left = matches!(access.attempt.to, To::Node(receiver) if mac.nodes.has_left(receiver.0));
        if receiver_left || mac.nodes.has_left(access.node) {
            access.arrives = access.sent;
        } else {
            mac.deliver_next(at, access.edcaf);
            access.arrives = access.next_arrival(mac);
        }
        (self.stage, self.due) = match self.on_air[..] {
            // Its last MPDU is received with it.
            [Access { arrives, .. }] => (Stage::Receiving, arrives),
            _ => self.stage_of_transmission(),
        };
    }
}
