//! The frames on the air, for traces. Nothing is recorded unless it is watched.
//!
//! The shared-channel engine decides an access when it begins: it reports the frames at once, RTS, CTS, DATA and ACK, with
//! the instants at which they will begin and end. (An exchange without CTS is reported as a lost RTS. A receiver that leaves
//! in the middle of a frame still seems to have answered.) The per-node engine reports each start and end of a frame when it
//! happens.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{Instant, Span};
use evenair_wifi::{AccessCategory, PhyRate};

use crate::frame::{NodeId, To};

/// An event on the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnAir {
    /// A node begins to send a frame.
    Begins(Transmission),
    /// The frame that a node is sending ends.
    Ends {
        /// End of the frame.
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
    /// Start of the frame.
    pub at: Instant,
    /// Airtime.
    pub lasts: Span,
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: To,
    /// Kind of frame.
    pub kind: Kind,
    /// PHY rate.
    pub rate: PhyRate,
    /// Duration field: how long after it others defer.
    pub reserves: Span,
}

/// Kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// RTS for the frame in service of a category.
    Rts {
        /// The category.
        category: AccessCategory,
        /// Number of the attempt at that frame, from 1.
        attempt: u32,
    },
    /// CTS.
    Cts,
    /// The frame in service of a category.
    Data {
        /// The category.
        category: AccessCategory,
        /// Number of the attempt at that frame, from 1.
        attempt: u32,
        /// Whether it follows RTS and CTS of the same attempt.
        reserved: bool,
        /// Whether it has a QoS header.
        qos: bool,
    },
    /// ACK.
    Ack,
    /// An A-MPDU of a category.
    Aggregate {
        /// The category.
        category: AccessCategory,
        /// Number of the attempt at its first MPDU, from 1.
        attempt: u32,
        /// Whether it follows RTS and CTS of the same attempt.
        reserved: bool,
        /// Number of MPDUs.
        mpdus: usize,
    },
    /// BlockAckReq.
    BlockAckRequest {
        /// Category of the MPDUs that it asks about.
        category: AccessCategory,
    },
    /// BlockAck.
    BlockAck,
    /// CF-End, which ends a TXOP early.
    CfEnd,
}

/// The frame of an access of a node that aggregates: an A-MPDU, a single MPDU, or a BlockAckReq.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BurstOnAir<'a, F> {
    /// Number of the sender's oldest MPDU that is neither acknowledged nor dropped. MPDUs of a category are numbered from 0
    /// for each receiver.
    pub start: u64,
    /// The block-ack window.
    pub window: u16,
    /// MPDUs; empty for a BlockAckReq.
    pub mpdus: Vec<MpduOnAir<'a, F>>,
}

/// An MPDU of a burst.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MpduOnAir<'a, F> {
    /// Number, which a repetition keeps.
    pub number: u64,
    /// Packets; several in an A-MSDU. None if the receiver has the MPDU and only its sender does not know, or for a
    /// management frame.
    pub packets: Vec<&'a F>,
}

/// Status of a frame on the air at its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TxStatus {
    /// It was received. A broadcast: by someone.
    Received,
    /// Other frames spoiled it, or its receiver was sending.
    Overlapped,
    /// It was inaudible at the receiver, or noise spoiled it.
    Lost,
}

/// Events that have not been polled.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pending: VecDeque<OnAir>,
    /// Status of the frame that is ending.
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

    /// Records a frame with a known outcome.
    pub(crate) fn frame(&mut self, transmission: Transmission, status: TxStatus) {
        self.begin(transmission);
        self.end(transmission.at + transmission.lasts, transmission.from.0, status);
    }

    pub(crate) fn poll(&mut self) -> Option<OnAir> {
        self.pending.pop_front()
    }
}
