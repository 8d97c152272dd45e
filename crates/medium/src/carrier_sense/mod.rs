//! Medium access with hidden nodes: each node senses for itself.
//!
//! Where all nodes hear each other, the medium is busy or silent for all alike, and `shared_channel` keeps one state. Here
//! each node has its own: what it senses (`carrier`), its NAV, its back-off (`backoff`), and its part in an exchange. Frames
//! go out one by one, RTS, CTS, DATA and ACK, and begin and end at the nodes that hear their sender (`audibility`); a frame
//! overlapped at a receiver is lost there, and only there (`receive`). So hidden stations collide at the access point
//! whenever their frames overlap, not only when they start together; an ACK or a CTS can be lost; and RTS and CTS help
//! because nodes that hear either defer.
//!
//! Rules are those of IEEE Std 802.11-2016, clause 10.3, cited at each. Nodes, queues, retry rules, counters and events are
//! shared with the other engine; if all nodes hear each other and noise loses no frame, both give the same run to the
//! nanosecond.
//!
//! Cost: each start and end of a frame visits the nodes that hear it, each in time logarithmic in the number of nodes. Idle
//! slots cost nothing.
//!
//! Simplified, as in the other engine: no propagation delay, so nodes that start at the same instant do not sense each other,
//! and all others sense them. A receiver that has begun to receive a frame does not switch to a stronger one that comes
//! later. A bystander decodes a frame, without a draw, if its own signal lets it decode more than half of such frames.

mod audibility;
mod backoff;
mod carrier;
mod receive;
mod send;
mod state;
mod terminal;
mod timers;

use evenair_units::Instant;

use self::receive::ReceivedFrame;
use self::terminal::{Frame, Kind, Phase, sender};
use crate::frame::To;
use crate::mac::Mac;

pub(crate) use self::state::CarrierSense;

impl CarrierSense {
    /// Handles all events at `at`, which is [`Self::next`]: first ends of frames, then expired reservations, then starts of
    /// frames, all at once.
    pub(crate) fn step<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        let mut due = core::mem::take(&mut self.due);
        self.timers.due(at, &mut due);
        for &id in &due {
            match self.nodes[id as usize].phase {
                Phase::Sending(frame, until) if until == at => self.end(mac, at, id, frame),
                _ => {}
            }
        }
        for &id in &due {
            if matches!(self.nodes[id as usize].phase, Phase::Awaiting(Some(until)) if until == at) {
                self.fail(mac, at, id);
            }
            self.give_up(at, id);
        }
        self.begin_all(mac, at, &due);
        due.clear();
        self.due = due;
    }

    /// Starts the frames due at `at` at the nodes `due`: none of them senses any of the others.
    fn begin_all<F>(&mut self, mac: &mut Mac<F>, at: Instant, due: &[u32]) {
        let mut starting = core::mem::take(&mut self.starting);
        let before = self.open;
        for &id in due {
            let frame = match self.nodes[id as usize].phase {
                Phase::Turning(frame, when) if when == at => Some(frame),
                Phase::Listening => self.win(mac, at, id),
                _ => None,
            };
            if let Some(frame) = frame {
                self.freeze(at, id);
                let terminal = &mut self.nodes[id as usize];
                terminal.phase = Phase::Sending(frame, at + frame.lasts);
                terminal.carrier.begin_own();
                starting.push(id);
                self.watch_begin(mac, at, id, frame);
            }
            self.arm(id);
        }
        self.count_accesses(mac, before);
        for &id in &starting {
            for place in 0..self.audibility.of(id).len() {
                self.hear(mac, at, id, self.audibility.of(id)[place]);
            }
        }
        starting.clear();
        self.starting = starting;
    }

    /// Counts the accesses that began on top of `before` exchanges in progress.
    fn count_accesses<F>(&mut self, mac: &mut Mac<F>, before: u32) {
        debug_assert_eq!(self.open as usize, mac.accounts.exchanges());
        if self.open == before {
            return;
        }
        if before == 0 {
            mac.accounts.charge_spaces(&mut mac.nodes);
            mac.accounts.totals.transmissions += 1;
            self.met = false;
        }
        if self.open > 1 && !self.met {
            self.met = true;
            mac.accounts.totals.collisions += 1;
        }
    }

    /// A frame of `id` ends, at the nodes that hear it and at the sender.
    fn end<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32, frame: Frame) {
        self.nodes[id as usize].carrier.end_own();
        self.presume(mac, id, frame);
        let presumed = self.presumed(mac, id, frame);
        if let Some(watch) = &mut mac.watch {
            watch.status = Some(presumed);
        }
        let mut goes_on = false;
        for place in 0..self.audibility.of(id).len() {
            let hearer = self.audibility.of(id)[place];
            if let Some(receiving) = self.nodes[hearer as usize].carrier.end(at, id) {
                goes_on |= self.receive(mac, at, hearer, ReceivedFrame { frame, receiving });
            }
            self.resume(at, hearer);
        }
        if let Some(status) = mac.watch.as_mut().and_then(|watch| watch.status.take()) {
            mac.watch_end(at, id, status);
        }
        if !goes_on {
            self.open -= 1;
            mac.accounts.close(at, sender(id, frame), &mut mac.nodes);
        }
        if mac.nodes.has_left(id) {
            return self.forget(id);
        }
        match (frame.kind, frame.to) {
            (Kind::Rts, _) | (Kind::Data, To::Node(_)) => self.wait(mac, at, id),
            (Kind::Data, To::Broadcast) => self.conclude_broadcast(mac, at, id),
            // DATA follows.
            (Kind::Cts, _) => self.listen(at, id, at + mac.config.phy.sifs()),
            (Kind::Ack, _) => self.listen(at, id, at + frame.reserves),
        }
    }
}
