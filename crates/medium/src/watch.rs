//! What goes on the air, frame by frame, for those who write it down. Nothing of it is kept unless it is watched.
//!
//! Where all hear all, an access is decided when it begins: its frames are reported at once, with the instants at which they
//! will begin and end, RTS, CTS, DATA and ACK. (Of an RTS without CTS it is said that the RTS was lost. A receiver
//! that leaves in the middle of a frame still seems to have answered.) Where some are hidden, each beginning and each
//! end is reported when it happens.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{Instant, Span};
use evenair_wifi::{AccessCategory, PhyRate};

use crate::frame::{NodeId, To};

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
        status: TxStatus,
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
        /// The number of the attempt at that frame, from 1.
        attempt: u32,
    },
    /// CTS.
    Cts,
    /// The frame in service of a category.
    Data {
        /// The category.
        category: AccessCategory,
        /// The number of the attempt at it, from 1.
        attempt: u32,
        /// It follows RTS and CTS of the same attempt.
        reserved: bool,
        /// It has the header of EDCA.
        qos: bool,
    },
    /// ACK.
    Ack,
    /// An A-MPDU of a category.
    Aggregate {
        /// The category.
        category: AccessCategory,
        /// The number of the attempt at its first MPDU, from 1.
        attempt: u32,
        /// It follows RTS and CTS of the same attempt.
        reserved: bool,
        /// How many MPDUs it has.
        mpdus: usize,
    },
    /// BlockAckReq.
    BlockAckRequest {
        /// The category whose MPDUs it asks for.
        category: AccessCategory,
    },
    /// BlockAck.
    BlockAck,
    /// CF-End, by which a node gives back the rest of a TXOP.
    CfEnd,
}

/// What an access of a node that aggregates sends: an A-MPDU, a single MPDU, or a BlockAckReq.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BurstOnAir<'a, F> {
    /// The number of the sender's oldest MPDU that is neither acknowledged nor given up. MPDUs of a category are numbered
    /// from 0 for each receiver.
    pub start: u64,
    /// The block-ack window.
    pub window: u16,
    /// Its MPDUs; none: it is a BlockAckReq.
    pub mpdus: Vec<MpduOnAir<'a, F>>,
}

/// An MPDU of a burst.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MpduOnAir<'a, F> {
    /// Its number, by which it is known again when it is repeated.
    pub number: u64,
    /// Its packets; more than one: it is an A-MSDU. None where its receiver has it and only its sender does not know, or where
    /// it is a frame of the node's own.
    pub packets: Vec<&'a F>,
}

/// What has become of a frame on the air, at the one for whom it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TxStatus {
    /// It was received. A broadcast: by someone.
    Received,
    /// Other frames spoiled it, or its receiver was sending.
    Overlapped,
    /// It could not be heard there, or noise spoiled it.
    Lost,
}

/// What has not been polled yet.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pending: VecDeque<OnAir>,
    /// Of the frame that is ending.
    pub(crate) status: Option<TxStatus>,
}

impl Watch {
    /// A frame begins.
    pub(crate) fn begin(&mut self, transmission: Transmission) {
        self.pending.push_back(OnAir::Begins(transmission));
    }

    /// A frame ends.
    pub(crate) fn end(&mut self, at: Instant, from: u32, status: TxStatus) {
        self.pending.push_back(OnAir::Ends { at, from: NodeId(from), status });
    }

    /// A frame begins, and what becomes of it is known.
    pub(crate) fn frame(&mut self, transmission: Transmission, status: TxStatus) {
        self.begin(transmission);
        self.end(transmission.at + transmission.lasts, transmission.from.0, status);
    }

    pub(crate) fn poll(&mut self) -> Option<OnAir> {
        self.pending.pop_front()
    }
}
