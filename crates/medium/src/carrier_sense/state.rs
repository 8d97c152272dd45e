//! State of medium access at all nodes, and the next event of each.

use alloc::vec::Vec;

use evenair_units::{Instant, Span};

use super::audibility::Audibility;
use super::backoff::BackOff;
use super::carrier::Carrier;
use super::terminal::{Frame, Phase, Terminal, sender};
use super::timers::Timers;
use crate::config::{AfterCollision, MediumConfig};
use crate::edcaf::{Edcaf, Waiting};
use crate::watch::TxStatus;

/// The state of medium access at all nodes.
#[derive(Debug)]
pub(crate) struct CarrierSense {
    pub(super) slot: Span,
    /// Whether a receiver can capture a frame that others overlap.
    pub(super) captures: bool,
    /// EIFS minus DIFS: the additional wait after a frame that was not decoded.
    pub(super) after_error: Span,
    pub(super) audibility: Audibility,
    /// Next event of each node.
    pub(super) timers: Timers,
    pub(super) nodes: Vec<Terminal>,
    /// Back-off of each EDCAF.
    pub(super) back_offs: Vec<BackOff>,
    /// Exchanges in progress, from the start of the first frame to the end of the last, gaps included.
    pub(super) open: u32,
    /// Whether two of them overlapped since the medium was last silent.
    pub(super) met: bool,
    /// Scratch buffers, kept to reuse their memory.
    pub(super) due: Vec<u32>,
    pub(super) starting: Vec<u32>,
}

impl CarrierSense {
    pub(crate) fn new(config: &MediumConfig) -> Self {
        let phy = &config.phy;
        let after_error = match config.after_collision {
            AfterCollision::Eifs => phy.eifs() - phy.difs(),
            AfterCollision::Difs | AfterCollision::DifsForAll => Span::ZERO,
            AfterCollision::EifsThenDifs => phy.eifs(),
        };
        Self {
            slot: phy.slot(),
            captures: config.reception.capture.is_some(),
            after_error,
            audibility: Audibility::default(),
            timers: Timers::default(),
            nodes: Vec::new(),
            back_offs: Vec::new(),
            open: 0,
            met: false,
            due: Vec::new(),
            starting: Vec::new(),
        }
    }

    /// Next event; [`Instant::MAX`] if there is none.
    pub(crate) fn due(&self) -> Instant {
        self.timers.next().unwrap_or(Instant::MAX)
    }

    /// Whether an exchange is in progress anywhere.
    pub(crate) fn is_busy(&self) -> bool {
        self.open > 0
    }

    /// Adds an EDCAF of the node that joins next.
    pub(crate) fn add_edcaf(&mut self, now: Instant, waiting: Waiting) {
        self.back_offs.push(BackOff::new(waiting, now));
    }

    /// A node joins, with the EDCAFs added since the last one. It hears `present`, and senses their frames on the air.
    pub(crate) fn add_node(&mut self, now: Instant, present: impl Iterator<Item = u32>) {
        let id = self.nodes.len() as u32;
        self.audibility.add(present);
        self.timers.add();
        let mut carrier = Carrier::default();
        for &other in self.audibility.of(id) {
            if matches!(self.nodes[other as usize].phase, Phase::Sending(..)) {
                carrier.join_late();
            }
        }
        let (senses, first) = (carrier.senses(), self.nodes.last().map_or(0, |last| last.edcafs.end));
        let edcafs = first..self.back_offs.len() as u32;
        self.nodes.push(Terminal { edcafs, carrier, phase: Phase::Listening, access: None, give_up: None });
        if senses {
            self.freeze(now, id);
        }
    }

    /// Makes two nodes hidden from each other.
    pub(crate) fn hide(&mut self, now: Instant, a: u32, b: u32) {
        if !self.audibility.hears(a, b) {
            return;
        }
        self.audibility.hide(a, b);
        for (from, at) in [(a, b), (b, a)] {
            if matches!(self.nodes[from as usize].phase, Phase::Sending(..)) {
                let terminal = &mut self.nodes[at as usize];
                let received = terminal.carrier.end(now, from).is_some();
                if let Phase::Awaiting(until @ None) = &mut terminal.phase
                    && received
                {
                    *until = Some(now);
                }
                self.resume(now, at);
            }
        }
    }

    /// An EDCAF stops sending.
    pub(crate) fn remove_edcaf(&mut self, number: u32) {
        self.back_offs[number as usize].contends = false;
    }

    /// A node leaves. Its frame on the air stays there. Returns the sender whose exchange that ends, if any.
    pub(crate) fn remove_node(&mut self, id: u32) -> Option<u32> {
        let over = match self.nodes[id as usize].phase {
            Phase::Sending(..) => return None,
            Phase::Turning(frame, _) => {
                self.open -= 1;
                Some(sender(id, frame))
            }
            Phase::Listening | Phase::Awaiting(_) => None,
        };
        self.forget(id);
        over
    }

    /// Clears the part that a node which has left has in an exchange.
    pub(super) fn forget(&mut self, id: u32) {
        let terminal = &mut self.nodes[id as usize];
        terminal.phase = Phase::Listening;
        terminal.access = None;
        terminal.give_up = None;
        self.audibility.remove(id);
        self.timers.set(id, None);
    }

    /// A frame has come to the head of an EDCAF's empty queue.
    pub(crate) fn enter<F>(&mut self, now: Instant, number: u32, edcaf: &mut Edcaf<F>) {
        let terminal = &self.nodes[edcaf.node as usize];
        let back_off = &mut self.back_offs[number as usize];
        // It draws its back-off at the end of its access.
        if terminal.access.is_some_and(|access| access.edcaf == number) {
            return;
        }
        if terminal.carrier.is_busy(now) && back_off.has_run_out() {
            back_off.set(edcaf.draw_back_off());
        }
        back_off.enter(now, self.slot);
        self.arm(edcaf.node);
    }

    /// Freezes the node's back-off, because the medium is now busy for it.
    pub(super) fn freeze(&mut self, now: Instant, id: u32) {
        for edcaf in self.nodes[id as usize].edcafs.clone() {
            self.back_offs[edcaf as usize].freeze(now, self.slot);
        }
    }

    /// Resumes the node's back-off after the inter-frame space, if the medium is idle for it.
    pub(super) fn resume(&mut self, now: Instant, id: u32) {
        self.freeze(now, id);
        let terminal = &self.nodes[id as usize];
        if let Some(idle) = terminal.carrier.idle_from(self.after_error) {
            for edcaf in terminal.edcafs.clone() {
                self.back_offs[edcaf as usize].resume(idle);
            }
        }
        self.arm(id);
    }

    /// Updates the node's timer.
    pub(super) fn arm(&mut self, id: u32) {
        let terminal = &self.nodes[id as usize];
        let phase = match terminal.phase {
            Phase::Listening => None,
            Phase::Sending(_, at) | Phase::Turning(_, at) => Some(at),
            Phase::Awaiting(until) => until,
        };
        let give_up = terminal.give_up.map(|(at, _)| at);
        let back_offs = &self.back_offs[terminal.edcafs.start as usize..terminal.edcafs.end as usize];
        let sends = back_offs.iter().filter_map(|back_off| back_off.due(self.slot));
        let due = sends.chain(phase).chain(give_up).min();
        self.timers.set(id, due);
    }

    /// Resets the NAV after an RTS whose reservation is not used.
    pub(super) fn give_up(&mut self, at: Instant, id: u32) {
        let terminal = &mut self.nodes[id as usize];
        if let Some((_, rts)) = terminal.give_up.take_if(|&mut (due, _)| due == at) {
            if terminal.carrier.give_up(at, rts) {
                self.resume(at, id);
            } else {
                self.arm(id);
            }
        }
    }

    /// The node will send a frame at `next`, and occupies the medium until then.
    pub(super) fn turn(&mut self, at: Instant, id: u32, next: Instant, frame: Frame) {
        self.freeze(at, id);
        let terminal = &mut self.nodes[id as usize];
        terminal.phase = Phase::Turning(frame, next);
        terminal.carrier.engage();
        self.arm(id);
    }

    /// The node has no further part in an exchange, except to receive until `end`.
    pub(super) fn listen(&mut self, at: Instant, id: u32, end: Instant) {
        let terminal = &mut self.nodes[id as usize];
        terminal.phase = Phase::Listening;
        terminal.carrier.disengage(end);
        self.resume(at, id);
    }

    /// Sets the TX status of the frame that `from` has sent.
    pub(super) fn set_status(&mut self, from: u32, status: TxStatus) {
        if let Some(access) = &mut self.nodes[from as usize].access {
            access.status = status;
        }
    }
}
