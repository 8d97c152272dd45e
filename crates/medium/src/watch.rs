//! What goes on the air, frame by frame, for those who write it down. Nothing of it is kept unless it is watched.
//!
//! Where all hear all, an access is decided when it begins: its frames are told at once, with the instants at which they
//! will begin and end, RTS, CTS, DATA and ACK. (Of an RTS without CTS it is said that the RTS was lost. A receiver
//! that leaves in the middle of a frame still seems to have answered.) Where some are hidden, each beginning and each
//! end is told when it happens.

use alloc::collections::VecDeque;

use evenair_units::{Instant, Span};
use evenair_wifi::{AccessCategory, PhyRate};

use crate::access::{Access, Attempt, Outcome};
use crate::{Medium, NodeId, To};

/// Something that happens on the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnAir {
    /// A node begins to send a frame.
    Begins(Transmission),
    /// The frame that a node is sending ends.
    Ends {
        /// When.
        at: Instant,
        /// Its sender.
        from: NodeId,
        /// Whether it was received.
        fate: Fate,
    },
}

/// A frame on the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// Its beginning.
    pub at: Instant,
    /// Its time on air.
    pub lasts: Span,
    /// Who sends it.
    pub from: NodeId,
    /// For whom.
    pub to: To,
    /// What it is.
    pub kind: Kind,
    /// Its PHY rate.
    pub rate: PhyRate,
    /// What its Duration field says: for how long after it others are to keep off.
    pub reserves: Span,
}

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// RTS for the frame in service of a category.
    Rts {
        /// The category.
        category: AccessCategory,
        /// The how-manieth attempt at that frame, from 1.
        attempt: u32,
    },
    /// CTS.
    Cts,
    /// The frame in service of a category.
    Data {
        /// The category.
        category: AccessCategory,
        /// The how-manieth attempt at it, from 1.
        attempt: u32,
        /// It follows RTS and CTS of the same attempt.
        reserved: bool,
        /// It has the header of EDCA.
        qos: bool,
    },
    /// ACK.
    Ack,
}

/// What has become of a frame on the air, at the one for whom it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It was received. A broadcast: by someone.
    Received,
    /// Other frames spoiled it, or its receiver was sending.
    Overlapped,
    /// It could not be heard there, or noise spoiled it.
    Lost,
}

/// What was seen and not told yet.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    news: VecDeque<OnAir>,
    /// Of the frame that is ending.
    pub(crate) fate: Option<Fate>,
}

impl<F> Medium<F> {
    /// From now on tells what goes on the air; see [`Self::poll_on_air`].
    pub fn watch(&mut self) {
        self.watch.get_or_insert_default();
    }

    /// What has happened, or is certain to happen, on the air; `None` where there is nothing more, or nobody watches.
    pub fn poll_on_air(&mut self) -> Option<OnAir> {
        self.watch.as_mut()?.news.pop_front()
    }

    /// What the frame carries that a node's category has in service. `None` where there is none, or where the receiver has
    /// it and only its sender does not know.
    pub fn in_service(&self, id: NodeId, category: AccessCategory) -> Option<&F> {
        self.functions[self.nodes[id.0 as usize].function(category) as usize].in_service()
    }

    /// Whether what a node's category has in service is no packet of the driver's: a beacon, a null frame, a frame of another
    /// network.
    pub fn is_own(&self, id: NodeId, category: AccessCategory) -> bool {
        self.functions[self.nodes[id.0 as usize].function(category) as usize].serves_own()
    }

    /// Tells of a frame that begins.
    pub(crate) fn tell_begin(&mut self, transmission: Transmission) {
        if let Some(watch) = &mut self.watch {
            watch.news.push_back(OnAir::Begins(transmission));
        }
    }

    /// Tells of a frame that ends.
    pub(crate) fn tell_end(&mut self, at: Instant, from: u32, fate: Fate) {
        if let Some(watch) = &mut self.watch {
            watch.news.push_back(OnAir::Ends { at, from: NodeId(from), fate });
        }
    }

    /// RTS or DATA of an attempt, as it is told.
    pub(crate) fn kind_of(&self, function: u32, attempt: &Attempt, is_rts: bool) -> Kind {
        let this = &self.functions[function as usize];
        let node = &self.nodes[this.node as usize];
        let (category, number) = (node.category(function), this.head.attempts);
        if is_rts {
            return Kind::Rts { category, attempt: number };
        }
        let qos = match attempt.to {
            To::Node(receiver) => node.edca && self.nodes[receiver.0 as usize].edca,
            To::Broadcast => false,
        };
        Kind::Data { category, attempt: number, reserved: attempt.rts, qos }
    }

    /// Tells of the accesses that begin at `at`, with all frames that belong to them.
    pub(crate) fn tell_accesses(&mut self, at: Instant) {
        if self.watch.is_none() {
            return;
        }
        for index in 0..self.on_air.len() {
            let access = self.on_air[index];
            self.tell_access(at, &access);
        }
    }

    fn tell_access(&mut self, at: Instant, access: &Access) {
        let Access { node, function, attempt, outcome, .. } = *access;
        let Attempt { to, rate, data, answer, .. } = attempt;
        let (sifs, control) = (self.config.phy.sifs(), self.config.phy.control_rate(rate));
        let (rts, cts, ack) = (self.config.phy.rts(rate), self.config.phy.cts(rate), self.config.phy.ack(rate));
        let from = NodeId(node);
        let mut at = at;
        let spoiled = match outcome {
            Outcome::Collided => Fate::Overlapped,
            Outcome::Received | Outcome::Unconfirmed => Fate::Received,
            Outcome::Lost | Outcome::Unanswered => Fate::Lost,
        };
        if attempt.rts {
            let kind = self.kind_of(function, &attempt, true);
            let reserves = sifs + cts + sifs + data + answer;
            let through = !matches!(outcome, Outcome::Collided | Outcome::Unanswered);
            self.tell(
                Transmission { at, lasts: rts, from, to, kind, rate: control, reserves },
                match through {
                    true => Fate::Received,
                    false => spoiled,
                },
            );
            let To::Node(receiver) = to else { return };
            if !through {
                return;
            }
            at = at + rts + sifs;
            let reserves = sifs + data + answer;
            let cts_frame = Transmission {
                at,
                lasts: cts,
                from: receiver,
                to: To::Node(from),
                kind: Kind::Cts,
                rate: control,
                reserves,
            };
            self.tell(cts_frame, Fate::Received);
            at = at + cts + sifs;
        }
        let kind = self.kind_of(function, &attempt, false);
        self.tell(Transmission { at, lasts: data, from, to, kind, rate, reserves: answer }, spoiled);
        if let (To::Node(receiver), true) = (to, outcome.delivers()) {
            at = at + data + sifs;
            let fate = if outcome == Outcome::Received { Fate::Received } else { Fate::Lost };
            let (to, reserves) = (To::Node(from), Span::ZERO);
            self.tell(
                Transmission { at, lasts: ack, from: receiver, to, kind: Kind::Ack, rate: control, reserves },
                fate,
            );
        }
    }

    fn tell(&mut self, transmission: Transmission, fate: Fate) {
        self.tell_begin(transmission);
        self.tell_end(transmission.at + transmission.lasts, transmission.from.0, fate);
    }
}
