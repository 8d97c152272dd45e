//! Medium access where not everybody hears everybody: each node senses for itself.
//!
//! Where all hear all, the medium is busy or silent for all alike, and `contention` and `access` need to know one state
//! only. Here each node has its own: what it senses (`carrier`), its NAV, its back-off (`backoff`), and its part in an
//! exchange. Frames go out one by one, RTS, CTS, DATA and ACK, and begin and end at those who hear their sender
//! (`reach`); what overlaps at a receiver is lost there, and only there (`receive`). So hidden stations collide at the
//! access point whenever their frames overlap, not only when they start together, an ACK or a CTS can be lost, and RTS
//! and CTS help because those who hear either keep off.
//!
//! Rules are those of IEEE Std 802.11-2016, clause 10.3, cited where they are. The nodes, their queues, retry rules,
//! counters and events are those of the other engine; where all hear all and no frame is lost to noise, both give the
//! same run to the nanosecond.
//!
//! Cost: each beginning and end of a frame visits those who hear it, each logarithmic in the number of nodes. Idle slots
//! cost nothing.
//!
//! Simplified, as in the other engine: no propagation delay, so who starts at the same instant does not sense the other,
//! and anybody else does. A receiver that has begun to receive a frame does not turn to a stronger one that comes later. A
//! bystander decodes what its own signal would let through in more than half of the cases, without a draw.

mod backoff;
mod carrier;
mod exchange;
mod reach;
mod receive;
mod timers;

use alloc::vec::Vec;
use core::ops::Range;

use evenair_units::{Instant, Span};

use self::backoff::BackOff;
use self::carrier::Carrier;
use self::exchange::{Access, sender};
use self::reach::Reach;
use self::timers::Timers;
use crate::contention::Waiting;
use crate::function::Function;
use crate::medium::Stage;
use crate::reception::Sent;
use crate::{AfterCollision, Medium, MediumConfig, To};

/// The state of medium access at all nodes.
#[derive(Debug)]
pub(crate) struct Sensing {
    slot: Span,
    /// Frames can be received though others overlap them.
    captures: bool,
    /// By how much the wait after a frame that was not decoded is longer than after others.
    after_error: Span,
    reach: Reach,
    /// What is next due at each node.
    timers: Timers,
    nodes: Vec<Terminal>,
    /// Of each access function.
    back_offs: Vec<BackOff>,
    /// Exchanges under way: from the start of the first frame to the end of the last, gaps included.
    open: u32,
    /// Two of them met since the medium was last silent.
    met: bool,
    /// Kept for their memory.
    due: Vec<u32>,
    starting: Vec<u32>,
}

/// One node's part.
#[derive(Debug)]
struct Terminal {
    functions: Range<u32>,
    carrier: Carrier,
    phase: Phase,
    /// What it is sending, from its first frame to the answer to its last.
    access: Option<Access>,
    /// When it gives up the reservation of an RTS unless it is used, and when that RTS ended.
    give_up: Option<(Instant, Instant)>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Listening,
    /// Sends this frame until then.
    Sending(Frame, Instant),
    /// Begins to send this frame then: an answer, or what follows one.
    Turning(Frame, Instant),
    /// Waits for an answer: for its beginning until then, or for its end.
    Awaiting(Option<Instant>),
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: Kind,
    to: To,
    lasts: Span,
    /// Its Duration field: for how long after it others keep off.
    reserves: Span,
    /// RTS: for how long after it others keep off where they hear nothing more.
    unless_used: Span,
    sent: Sent,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Rts,
    Cts,
    Data,
    Ack,
}

impl Sensing {
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
            reach: Reach::default(),
            timers: Timers::default(),
            nodes: Vec::new(),
            back_offs: Vec::new(),
            open: 0,
            met: false,
            due: Vec::new(),
            starting: Vec::new(),
        }
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// What the medium as a whole is like.
    pub(crate) fn stage(&self) -> Stage {
        Stage::Sensed { busy: self.open > 0 }
    }

    /// An access function of the node that joins next.
    pub(crate) fn add_function(&mut self, now: Instant, waiting: Waiting) {
        self.back_offs.push(BackOff::new(waiting, now));
    }

    /// A node joins, with the functions that were added since the last one. It hears `present`, and senses what of theirs
    /// is on the air.
    pub(crate) fn add_node(&mut self, now: Instant, present: impl Iterator<Item = u32>) {
        let id = self.nodes.len() as u32;
        self.reach.add(present);
        self.timers.add();
        let mut carrier = Carrier::default();
        for &other in self.reach.of(id) {
            if matches!(self.nodes[other as usize].phase, Phase::Sending(..)) {
                carrier.join_late();
            }
        }
        let (senses, first) = (carrier.senses(), self.nodes.last().map_or(0, |last| last.functions.end));
        let functions = first..self.back_offs.len() as u32;
        self.nodes.push(Terminal { functions, carrier, phase: Phase::Listening, access: None, give_up: None });
        if senses {
            self.freeze(now, id);
        }
    }

    /// From now on two nodes do not hear each other.
    pub(crate) fn hide(&mut self, now: Instant, a: u32, b: u32) {
        if !self.reach.hears(a, b) {
            return;
        }
        self.reach.hide(a, b);
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

    /// A function sends no more.
    pub(crate) fn remove_function(&mut self, number: u32) {
        self.back_offs[number as usize].contends = false;
    }

    /// A node leaves. What it has on the air stays there. Says whose exchange that ends, if one does.
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

    /// A node that has left sends no more either.
    fn forget(&mut self, id: u32) {
        let terminal = &mut self.nodes[id as usize];
        terminal.phase = Phase::Listening;
        terminal.access = None;
        terminal.give_up = None;
        self.reach.remove(id);
        self.timers.set(id, None);
    }

    /// A frame has come to the head of a function's empty queue.
    pub(crate) fn enter<F>(&mut self, now: Instant, number: u32, function: &mut Function<F>) {
        let terminal = &self.nodes[function.node as usize];
        let back_off = &mut self.back_offs[number as usize];
        // It draws its back-off when its access ends.
        if terminal.access.is_some_and(|access| access.function == number) {
            return;
        }
        if terminal.carrier.is_busy(now) && back_off.has_run_out() {
            back_off.set(function.draw_back_off());
        }
        back_off.enter(now, self.slot);
        self.arm(function.node);
    }

    /// The medium has become busy for a node.
    fn freeze(&mut self, now: Instant, id: u32) {
        for function in self.nodes[id as usize].functions.clone() {
            self.back_offs[function as usize].freeze(now, self.slot);
        }
    }

    /// Back-off counts where the medium is idle for the node, after the inter-frame space.
    fn resume(&mut self, now: Instant, id: u32) {
        self.freeze(now, id);
        let terminal = &self.nodes[id as usize];
        if let Some(idle) = terminal.carrier.idle_from(self.after_error) {
            for function in terminal.functions.clone() {
                self.back_offs[function as usize].resume(idle);
            }
        }
        self.arm(id);
    }

    /// What is next due at a node may have changed.
    fn arm(&mut self, id: u32) {
        let terminal = &self.nodes[id as usize];
        let phase = match terminal.phase {
            Phase::Listening => None,
            Phase::Sending(_, at) | Phase::Turning(_, at) => Some(at),
            Phase::Awaiting(until) => until,
        };
        let give_up = terminal.give_up.map(|(at, _)| at);
        let back_offs = &self.back_offs[terminal.functions.start as usize..terminal.functions.end as usize];
        let sends = back_offs.iter().filter_map(|back_off| back_off.due(self.slot));
        let due = sends.chain(phase).chain(give_up).min();
        self.timers.set(id, due);
    }

    /// Everything that is due at `at`, which is [`Self::next`]: first what ends, then what is given up, then what
    /// begins, all at once.
    pub(crate) fn step<F>(&mut self, medium: &mut Medium<F>, at: Instant) {
        let mut due = core::mem::take(&mut self.due);
        self.timers.due(at, &mut due);
        for &id in &due {
            match self.nodes[id as usize].phase {
                Phase::Sending(frame, until) if until == at => self.end(medium, at, id, frame),
                _ => {}
            }
        }
        for &id in &due {
            if matches!(self.nodes[id as usize].phase, Phase::Awaiting(Some(until)) if until == at) {
                self.fail(medium, at, id);
            }
            self.give_up(at, id);
        }
        self.begin_all(medium, at, &due);
        due.clear();
        self.due = due;
    }

    /// Gives up a reservation that is not used.
    fn give_up(&mut self, at: Instant, id: u32) {
        let terminal = &mut self.nodes[id as usize];
        if let Some((_, rts)) = terminal.give_up.take_if(|&mut (due, _)| due == at) {
            if terminal.carrier.give_up(at, rts) {
                self.resume(at, id);
            } else {
                self.arm(id);
            }
        }
    }
}
