//! The receiver's side: what a node hears, what overlaps, and what it makes of a frame that it could decode.

use evenair_units::{Airtime, Instant};

use super::exchange::{Access, to};
use super::{Frame, Kind, Phase, Sensing};
use crate::watch::Fate;
use crate::{Medium, To};

impl Sensing {
    /// A frame of `from` begins at one who hears it.
    pub(super) fn hear<F>(&mut self, medium: &mut Medium<F>, at: Instant, from: u32, hearer: u32) {
        self.freeze(at, hearer);
        let carrier = &self.nodes[hearer as usize].carrier;
        let overlaps = self.captures && (carrier.senses() || carrier.receives().is_some());
        let (gets_through, keeps) = match carrier.receives() {
            _ if !overlaps => (false, false),
            None => (self.captures(medium, hearer, from), false),
            Some(first) => (self.captures(medium, hearer, from), self.captures(medium, hearer, first)),
        };
        let receives = self.nodes[hearer as usize].carrier.begin(at, from, gets_through, keeps);
        if receives && self.answers(from, hearer) {
            self.nodes[hearer as usize].phase = Phase::Awaiting(None);
        }
        self.arm(hearer);
    }

    /// Whether the frame of `from` is received at `hearer` against all others that it hears.
    fn captures<F>(&self, medium: &mut Medium<F>, hearer: u32, from: u32) -> bool {
        let sends = |other: u32| matches!(self.nodes[other as usize].phase, Phase::Sending(..));
        let others = self.reach.of(hearer).iter().copied().filter(|&other| other != from && sends(other));
        medium.receivers.captures(hearer, from, others)
    }

    /// Whether what `from` sends is the answer for which `id` waits.
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

    /// A frame of `from` that `id` was receiving ends; `intact`: nothing overlapped it. Says whether the exchange goes
    /// on after it.
    pub(super) fn receive<F>(
        &mut self,
        medium: &mut Medium<F>,
        at: Instant,
        id: u32,
        from: u32,
        frame: Frame,
        intact: bool,
    ) -> bool {
        let answers = matches!(self.nodes[id as usize].phase, Phase::Awaiting(None)) && frame.to == to(id);
        let is_gone = frame.to == to(id) && medium.nodes[from as usize].has_left;
        let is_lost = !intact || !is_gone && spoils(medium, id, from, frame);
        if is_lost {
            self.nodes[id as usize].carrier.set_erred();
            if frame.to == to(id) {
                let fate = if intact { Fate::Lost } else { Fate::Overlapped };
                told(medium, fate);
                let concerned = if answers { id } else { from };
                self.settle(concerned, fate);
            }
        } else {
            self.nodes[id as usize].carrier.set_decoded();
            if frame.to == to(id) || frame.to == To::Broadcast {
                told(medium, Fate::Received);
            }
        }
        // Its answer was lost, or another frame came instead (10.3.2.7, 10.3.2.9).
        let waits = matches!(self.nodes[id as usize].phase, Phase::Awaiting(_));
        if answers && (is_lost || is_gone) || waits && !answers && !is_lost {
            self.fail(medium, at, id);
        }
        if is_lost || is_gone {
            return false;
        }
        if frame.to != to(id) {
            self.overhear(at, id, from, frame);
            return false;
        }
        match frame.kind {
            Kind::Rts => self.answer_rts(medium, at, id, from),
            Kind::Data => self.answer_data(medium, at, id, from),
            Kind::Cts => answers && self.send_data(medium, at, id),
            Kind::Ack => {
                let access = self.nodes[id as usize].access.filter(|_| answers);
                access.is_some_and(|access| self.succeed(medium, at, id, &access))
            }
        }
    }

    /// A frame for others, or for all.
    fn overhear(&mut self, at: Instant, id: u32, from: u32, frame: Frame) {
        if frame.to == To::Broadcast {
            return self.settle(from, Fate::Received);
        }
        let terminal = &mut self.nodes[id as usize];
        let by_rts = frame.kind == Kind::Rts;
        if terminal.carrier.reserve(at, at + frame.reserves, by_rts) {
            terminal.give_up = by_rts.then(|| (at + frame.unless_used, at));
        }
    }

    /// CTS after SIFS, unless the NAV forbids it (10.3.2.7).
    fn answer_rts<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32, from: u32) -> bool {
        if !self.nodes[id as usize].carrier.may_answer(at) {
            self.settle(from, Fate::Lost);
            return false;
        }
        self.settle(from, Fate::Received);
        let Some(access) = self.nodes[from as usize].access else { return false };
        let phy = &medium.config.phy;
        let (cts, sifs) = (Frame { to: to(from), ..access.cts(phy) }, phy.sifs());
        medium.functions[access.function as usize].charge(Airtime(sifs + cts.lasts));
        self.turn(at, id, at + sifs, cts);
        true
    }

    /// ACK after SIFS, whatever the medium is like (10.3.2.9), also for a frame that was received before (10.3.2.11).
    fn answer_data<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32, from: u32) -> bool {
        self.settle(from, Fate::Received);
        let Some(access) = self.nodes[from as usize].access else { return false };
        let phy = &medium.config.phy;
        let (ack, sifs) = (Frame { to: to(from), ..access.ack(phy) }, phy.sifs());
        medium.functions[access.function as usize].charge(Airtime(sifs + ack.lasts));
        medium.deliver(at, access.function, false);
        self.turn(at, id, at + sifs, ack);
        true
    }

    /// DATA after CTS.
    fn send_data<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32) -> bool {
        let Some(access) = &mut self.nodes[id as usize].access else { return false };
        access.cleared = true;
        let (data, function, sifs) = (access.data(), access.function, medium.config.phy.sifs());
        medium.functions[function as usize].charge(Airtime(sifs + data.lasts));
        self.turn(at, id, at + sifs, data);
        true
    }

    /// What has become of the frame that `from` has sent.
    fn settle(&mut self, from: u32, fate: Fate) {
        if let Some(access) = &mut self.nodes[from as usize].access {
            access.fate = fate;
        }
    }
}

/// What has become of the frame that is ending, for those who watch.
fn told<F>(medium: &mut Medium<F>, fate: Fate) {
    if let Some(watch) = &mut medium.watch {
        watch.fate = Some(fate);
    }
}

/// Whether noise spoils a frame at one who receives it. A bystander's own signal decides alone.
fn spoils<F>(medium: &mut Medium<F>, id: u32, from: u32, frame: Frame) -> bool {
    let (receivers, phy) = (&mut medium.receivers, &medium.config.phy);
    if frame.to == to(id) {
        receivers.draw_loss(phy, from, id, frame.sent)
    } else {
        !receivers.decodes(phy, from, id, frame.sent)
    }
}
