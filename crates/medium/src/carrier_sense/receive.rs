//! The receiver's side: what a node hears, overlaps, and how it responds to a frame that it decodes.

use evenair_units::{Airtime, Instant};

use super::carrier::Receiving;
use super::state::CarrierSense;
use super::terminal::{Access, Frame, Kind, Phase, to};
use crate::frame::To;
use crate::mac::Mac;
use crate::watch::TxStatus;

/// A frame that a node was receiving, and its reception.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedFrame {
    pub(super) frame: Frame,
    pub(super) receiving: Receiving,
}

impl CarrierSense {
    /// A frame of `from` begins at a node that hears it.
    pub(super) fn hear<F>(&mut self, mac: &mut Mac<F>, at: Instant, from: u32, hearer: u32) {
        self.freeze(at, hearer);
        let carrier = &self.nodes[hearer as usize].carrier;
        let overlaps = self.captures && (carrier.senses() || carrier.receives().is_some());
        let (gets_through, keeps) = match carrier.receives() {
            _ if !overlaps => (false, false),
            None => (self.captures(mac, hearer, from), false),
            Some(first) => (self.captures(mac, hearer, from), self.captures(mac, hearer, first)),
        };
        let receives = self.nodes[hearer as usize].carrier.begin(at, from, gets_through, keeps);
        if receives && self.answers(from, hearer) {
            self.nodes[hearer as usize].phase = Phase::Awaiting(None);
        }
        self.arm(hearer);
    }

    /// Whether `hearer` captures the frame of `from` against all others that it hears.
    fn captures<F>(&self, mac: &mut Mac<F>, hearer: u32, from: u32) -> bool {
        let sends = |other: u32| matches!(self.nodes[other as usize].phase, Phase::Sending(..));
        let others = self.audibility.of(hearer).iter().copied().filter(|&other| other != from && sends(other));
        mac.receivers.captures(hearer, from, others)
    }

    /// Whether the frame that `from` sends is the response for which `id` waits.
    fn answers(&self, from: u32, id: u32) -> bool {
        let (Phase::Awaiting(_), Phase::Sending(frame, _)) =
            (self.nodes[id as usize].phase, self.nodes[from as usize].phase)
        else {
            return false;
        };
        let fits = |access: &Access| {
            access.attempt.to == to(from) && frame.kind == if access.cleared { Kind::Ack } else { Kind::Cts }
        };
        frame.to == to(id) && self.nodes[id as usize].access.as_ref().is_some_and(fits)
    }

    /// A frame that `id` was receiving ends. Returns whether the exchange goes on after it.
    pub(super) fn receive<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32, received: ReceivedFrame) -> bool {
        let ReceivedFrame { frame, receiving: Receiving { from, intact } } = received;
        let answers = matches!(self.nodes[id as usize].phase, Phase::Awaiting(None)) && frame.to == to(id);
        let is_gone = frame.to == to(id) && mac.nodes.has_left(from);
        let is_lost = !intact || !is_gone && self.spoils(mac, id, from, frame);
        if is_lost {
            self.nodes[id as usize].carrier.set_erred();
            if frame.to == to(id) {
                let status = if intact { TxStatus::Lost } else { TxStatus::Overlapped };
                note_status(mac, status);
                let concerned = if answers { id } else { from };
                self.set_status(concerned, status);
            }
        } else {
            self.nodes[id as usize].carrier.set_decoded();
            if frame.to == to(id) || frame.to == To::Broadcast {
                note_status(mac, TxStatus::Received);
            }
        }
        // The response was lost, or another frame came instead (10.3.2.7, 10.3.2.9).
        let waits = matches!(self.nodes[id as usize].phase, Phase::Awaiting(_));
        if answers && (is_lost || is_gone) || waits && !answers && !is_lost {
            self.fail(mac, at, id);
        }
        if is_lost || is_gone {
            return false;
        }
        if frame.to != to(id) {
            self.overhear(at, id, from, frame);
            return false;
        }
        match frame.kind {
            Kind::Rts => self.answer_rts(mac, at, id, from),
            Kind::Data => self.answer_data(mac, at, id, from),
            Kind::Cts => answers && self.send_data(mac, at, id),
            Kind::Ack => {
                let access = self.nodes[id as usize].access.filter(|_| answers);
                access.is_some_and(|access| self.succeed(mac, at, id, &access))
            }
        }
    }

    /// A frame for others, or for all.
    fn overhear(&mut self, at: Instant, id: u32, from: u32, frame: Frame) {
        if frame.to == To::Broadcast {
            return self.set_status(from, TxStatus::Received);
        }
        let terminal = &mut self.nodes[id as usize];
        let by_rts = frame.kind == Kind::Rts;
        if terminal.carrier.reserve(at, at + frame.reserves, by_rts) {
            terminal.give_up = by_rts.then(|| (at + frame.unless_used, at));
        }
    }

    /// Responds with CTS after SIFS, unless the NAV forbids it (10.3.2.7).
    fn answer_rts<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32, from: u32) -> bool {
        if !self.nodes[id as usize].carrier.may_answer(at) {
            self.set_status(from, TxStatus::Lost);
            return false;
        }
        self.set_status(from, TxStatus::Received);
        let Some(access) = self.nodes[from as usize].access else { return false };
        let phy = &mac.config.phy;
        let (cts, sifs) = (Frame { to: to(from), ..access.cts(phy) }, phy.sifs());
        mac.nodes.edcafs[access.edcaf as usize].charge(Airtime(sifs + cts.lasts));
        self.turn(at, id, at + sifs, cts);
        true
    }

    /// Responds with ACK after SIFS, whatever the state of the medium (10.3.2.9), also to a duplicate (10.3.2.11).
    fn answer_data<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32, from: u32) -> bool {
        self.set_status(from, TxStatus::Received);
        let Some(access) = self.nodes[from as usize].access else { return false };
        let phy = &mac.config.phy;
        let (ack, sifs) = (Frame { to: to(from), ..access.ack(&mac.config) }, phy.sifs());
        mac.nodes.edcafs[access.edcaf as usize].charge(Airtime(sifs + ack.lasts));
        mac.deliver(at, access.edcaf, false);
        self.turn(at, id, at + sifs, ack);
        true
    }

    /// Sends DATA after CTS.
    fn send_data<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32) -> bool {
        let Some(access) = &mut self.nodes[id as usize].access else { return false };
        access.cleared = true;
        let (data, edcaf, sifs) = (access.data(), access.edcaf, mac.config.phy.sifs());
        mac.nodes.edcafs[edcaf as usize].charge(Airtime(sifs + data.lasts));
        self.turn(at, id, at + sifs, data);
        true
    }

    /// Whether noise spoils a frame at a receiver. For a bystander its own signal decides alone.
    fn spoils<F>(&self, mac: &mut Mac<F>, id: u32, from: u32, frame: Frame) -> bool {
        match (frame.kind, &self.nodes[from as usize].access) {
            _ if frame.to != to(id) => !mac.decodes(from, id, frame.sent),
            (Kind::Data, Some(access)) => mac.draw_loss_of_data(access.edcaf, id, &access.attempt),
            _ => mac.draw_loss(from, id, frame.sent),
        }
    }
}

/// TX status of the frame that is ending, for the watch.
fn note_status<F>(mac: &mut Mac<F>, status: TxStatus) {
    if let Some(watch) = &mut mac.watch {
        watch.status = Some(status);
    }
}
