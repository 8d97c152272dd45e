//! The state of the medium where all hear all, and how an access goes on the air.

use alloc::boxed::Box;
use alloc::vec::Vec;

use evenair_units::{Instant, Span};
use evenair_wifi::{ACK_CTS, RTS};

use super::access::{Access, Outcome};
use super::contention::Contention;
use super::frames;
use crate::attempt::Attempt;
use crate::edcaf::Waiting;
use crate::frame::{NodeId, To};
use crate::idle_sense::{IdleSense, IdleSenseConfig};
use crate::mac::Mac;
use crate::reception::Sent;

/// The medium where all hear all.
#[derive(Debug)]
pub(crate) struct SharedChannel {
    pub(super) contention: Contention,
    /// The accesses that began together; empty while the medium is silent.
    pub(super) on_air: Vec<Access>,
    /// What happens next.
    pub(super) stage: Stage,
    /// When it does; [`Instant::MAX`] where nothing will.
    pub(super) due: Instant,
    /// Where nodes draw their back-off from a window of this.
    pub(super) idle_sense: Option<Box<IdleSense>>,
    /// Kept for its memory.
    pub(super) senders: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The medium is silent until the next EDCAF sends.
    Silent,
    /// A DATA frame will have been received.
    Receiving,
    /// The medium falls silent.
    Ending,
}

impl SharedChannel {
    /// A silent medium without nodes.
    pub(crate) fn new(slot: Span) -> Self {
        Self {
            contention: Contention::new(slot),
            on_air: Vec::new(),
            stage: Stage::Silent,
            due: Instant::MAX,
            idle_sense: None,
            senders: Vec::new(),
        }
    }

    /// When something happens next; [`Instant::MAX`] where nothing will.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Whether anything is on the air.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.stage != Stage::Silent
    }

    /// Some node has Idle Sense.
    pub(crate) fn use_idle_sense(&mut self, config: IdleSenseConfig) {
        self.idle_sense.get_or_insert_with(|| Box::new(IdleSense::new(config)));
    }

    /// The next EDCAF joins, whose back-off is never one of more than `cw_max` slots.
    pub(crate) fn add_edcaf(&mut self, waiting: Waiting, cw_max: u32) {
        self.contention.add(waiting, cw_max);
    }

    /// These EDCAFs send no more.
    pub(crate) fn remove_edcafs(&mut self, ids: impl Iterator<Item = usize>) {
        ids.for_each(|id| self.contention.remove(id as u32));
        if self.stage == Stage::Silent {
            self.due = self.contention.next();
        }
    }

    /// An EDCAF that sends next as things stand, where one is known.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        self.contention.first()
    }

    /// Has fetched what is known of an EDCAF.
    #[inline]
    pub(crate) fn prefetch(&self, id: u32, prefetch: impl Fn(*const ())) {
        self.contention.prefetch(id, prefetch);
    }

    /// A frame has come to the head of the EDCAF's empty queue.
    #[inline]
    pub(crate) fn begin_contention<F>(&mut self, mac: &mut Mac<F>, now: Instant, id: u32) {
        let answers = mac.config.idle_before_ack && self.is_to_answer(mac, now, id);
        match self.stage {
            // It draws its back-off when its transmission ends.
            _ if mac.nodes.edcafs[id as usize].on_air => {}
            Stage::Silent => {
                self.contention.enter_at(id, now);
                self.due = self.contention.next();
            }
            Stage::Receiving | Stage::Ending => {
                if self.contention.has_run_out(id) {
                    let slots = if answers { 0 } else { self.draw_back_off(mac, id) };
                    self.contention.set(id, slots);
                }
                self.contention.enter(id);
            }
        }
    }

    /// A new back-off of an EDCAF, from its own window or from that which Idle Sense has come to.
    #[inline(always)]
    fn draw_back_off<F>(&self, mac: &mut Mac<F>, id: u32) -> u64 {
        let edcaf = &mut mac.nodes.edcafs[id as usize];
        if let Some(sense) = &self.idle_sense
            && edcaf.has_idle_sense()
        {
            edcaf.set_window(sense.window());
        }
        edcaf.draw_back_off()
    }

    /// A new back-off begins, with or without a frame.
    #[inline(always)]
    pub(super) fn back_off<F>(&mut self, mac: &mut Mac<F>, id: u32) {
        let slots = self.draw_back_off(mac, id);
        self.contention.begin(id, slots, mac.nodes.edcafs[id as usize].has_work());
    }

    /// What becomes of a frame that nothing overlaps.
    #[inline(always)]
    pub(super) fn outcome_alone<F>(&self, mac: &mut Mac<F>, id: u32, attempt: Attempt) -> Outcome {
        let To::Node(NodeId(to)) = attempt.to else { return Outcome::Received };
        if mac.nodes.has_left(to) {
            return if attempt.rts { Outcome::Unanswered } else { Outcome::Lost };
        }
        if mac.receivers.is_lossy() { outcome_in_noise(mac, id, to, attempt) } else { Outcome::Received }
    }

    #[inline(never)]
    pub(super) fn stage_of_transmission(&self) -> (Stage, Instant) {
        let next = self.on_air.iter().filter(|access| access.outcome.delivers() && !access.delivered);
        match next.map(|access| access.arrives).min() {
            Some(received) => (Stage::Receiving, received),
            None => (Stage::Ending, self.on_air.iter().map(|access| access.answered).max().expect("someone sends")),
        }
    }

    /// The EDCAF's node has received a frame at `now`, and has not sent its ACK yet.
    fn is_to_answer<F>(&self, mac: &Mac<F>, now: Instant, id: u32) -> bool {
        let node = To::Node(NodeId(mac.nodes.edcafs[id as usize].node));
        self.on_air.iter().any(|access| access.delivered && access.sent == now && access.attempt.to == node)
    }

    /// Accesses begin together: those on the air.
    #[inline]
    pub(super) fn begin_airtime<F>(&self, mac: &mut Mac<F>, at: Instant) {
        if let [Access { edcaf, attempt, .. }] = self.on_air[..] {
            return mac.accounts.begin_alone(at, edcaf, attempt.to, &mut mac.nodes);
        }
        mac.accounts.begin_together(at, self.on_air.iter().map(Access::exchange), &mut mac.nodes);
    }

    /// Charges the time up to `until` to the accesses on the air.
    #[inline]
    pub(crate) fn split_airtime<F>(&self, mac: &mut Mac<F>, until: Instant) {
        match self.on_air[..] {
            [] => mac.accounts.skip(until),
            [Access { edcaf, attempt, .. }] => mac.accounts.split_alone(until, edcaf, attempt.to, &mut mac.nodes),
            _ => mac.accounts.split_together(until, self.on_air.iter().map(Access::exchange), &mut mac.nodes),
        }
    }

    /// Records the accesses that begin at `at` in the watch, with all frames that belong to them.
    pub(super) fn watch_accesses<F>(&self, mac: &mut Mac<F>, at: Instant) {
        if let Some(watch) = &mut mac.watch {
            self.on_air.iter().for_each(|access| frames::watch(watch, at, access, &mac.config.phy, &mac.nodes));
        }
    }
}

#[inline(never)]
fn outcome_in_noise<F>(mac: &mut Mac<F>, id: u32, to: u32, attempt: Attempt) -> Outcome {
    let from = mac.nodes.edcafs[id as usize].node;
    let control = |psdu| Sent { rate: mac.config.phy.control_rate(attempt.rate), psdu, is_data: false };
    let (rts, cts, answer) = (control(RTS), control(ACK_CTS), control(attempt.answer_size(&mac.config)));
    if attempt.rts && (mac.draw_loss(from, to, rts) || mac.draw_loss(to, from, cts)) {
        Outcome::Unanswered
    } else if mac.draw_loss_of_data(id, to, &attempt) {
        Outcome::Lost
    } else if mac.draw_loss(to, from, answer) {
        Outcome::Unconfirmed
    } else {
        Outcome::Received
    }
}
