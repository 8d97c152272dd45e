//! How nodes of 802.11n and later aggregate: the rules of a medium.

use evenair_units::{Bytes, Span};
use evenair_wifi::{AggregateLimits, Phy, PhyRate, RateLimits};

/// The rules of a medium whose nodes aggregate. Only nodes with EDCA do, toward others that have it, with frames at a rate
/// of HT, VHT or HE. What a format does not allow (bytes, frames) is not sent, whatever is said here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aggregation {
    /// An A-MPDU has at most this many bytes.
    pub bytes: Bytes,
    /// The block-ack window: an A-MPDU has at most this many MPDUs, and none goes that lies further behind the oldest one
    /// that is not acknowledged.
    pub window: u16,
    /// A PPDU with an A-MPDU lasts at most this long.
    pub max_ppdu: Span,
    /// MPDUs of an A-MPDU begin at least this far apart (the receiver's Minimum MPDU Start Spacing).
    pub min_spacing: Span,
    /// An A-MSDU has at most this many bytes; zero: there are none.
    pub a_msdu: Bytes,
    /// What encryption adds to each MPDU: 16 with CCMP or GCMP.
    pub crypto: Bytes,
    /// What follows an A-MPDU that nothing answered.
    pub recover: Recover,
    /// Transmissions of an MPDU before it is given up.
    pub attempts: u32,
    /// Where an MPDU is given up, a BlockAckReq tells its receiver not to wait for it (IEEE Std 802.11-2020, 10.25.6.5).
    /// Otherwise that learns it by its timeout.
    pub request_after_drop: bool,
    /// How long a receiver holds what has come for the sake of what is missing before it; `None`: until a BlockAckReq says
    /// that it will not come.
    pub reorder_timeout: Option<Span>,
    /// Whose frames the next access takes.
    pub order: Order,
    /// A receiver hands an MPDU up as soon as its last bit has come, as ns-3 does; otherwise with the end of the PPDU. Only
    /// where all hear all.
    pub deliver_each: bool,
    /// The rest of a TXOP is given back by a CF-End frame, as ns-3 does (IEEE Std 802.11-2020, 10.23.2.9). Only where all
    /// hear all.
    pub cf_end: bool,
    /// What follows a BlockAckReq in its TXOP goes in a channel of 20 MHz, as that did, at the same MCS, as ns-3 does; a mode
    /// that there is not at 20 MHz stays as wide as it is.
    pub narrow_after_request: bool,
}

/// What a sender does when nothing answered its A-MPDU.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Recover {
    /// It repeats the MPDUs, as most devices do.
    #[default]
    Data,
    /// It first sends a BlockAckReq, whose answer says what is missing, as ns-3 does.
    Request,
}

/// Whose frames a sender's next access takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Order {
    /// Those for the receiver of the oldest frame: one queue, of which an access takes all that it can for one receiver.
    #[default]
    Arrival,
    /// Those for one receiver after the other: a queue for each.
    RoundRobin,
    /// Those for the receiver of the oldest frame, up to the first frame for another receiver: one FIFO, of which an access
    /// takes the head, as with a driver that hands frames in their order to a hardware queue which aggregates neighbours
    /// alone. Each access category has its own.
    Neighbours,
}

impl Aggregation {
    /// What the standard allows, with attempts, answers and timeouts as in Linux: seven attempts, 100 ms
    /// (`HT_RX_REORDER_BUF_TIMEOUT`).
    pub const fn new() -> Self {
        Self {
            bytes: Bytes(u64::MAX),
            window: u16::MAX,
            max_ppdu: Span::from_micros(5_484),
            min_spacing: Span::ZERO,
            a_msdu: Bytes::ZERO,
            crypto: Bytes::ZERO,
            recover: Recover::Data,
            attempts: 7,
            request_after_drop: true,
            reorder_timeout: Some(Span::from_millis(100)),
            order: Order::Arrival,
            deliver_each: false,
            cf_end: false,
            narrow_after_request: false,
        }
    }

    /// As ns-3 3.44 does it: MPDUs handed up one by one, a BlockAckReq after an A-MPDU that nothing answered, receivers
    /// without a reorder timeout, CF-End, and the rest of a TXOP as wide as the BlockAckReq that began it.
    pub const fn ns3() -> Self {
        Self {
            recover: Recover::Request,
            reorder_timeout: None,
            deliver_each: true,
            cf_end: true,
            narrow_after_request: true,
            ..Self::new()
        }
    }

    /// The block-ack window between nodes that send at this rate; one where it has no aggregation.
    pub fn window_at(&self, rate: PhyRate) -> u16 {
        rate.mode().map_or(1, |mode| AggregateLimits::of(mode.format()).frames.min(self.window))
    }

    /// [`Aggregation::limits_of`] at this rate, worked out once for many aggregates.
    pub(crate) fn limits_at(&self, phy: &Phy, rate: PhyRate, left: Option<Span>) -> Option<RateLimits> {
        self.limits_of(rate, left).map(|limits| limits.at(phy, rate))
    }

    /// What an A-MPDU may have at this rate that lasts no longer than what is `left` of a TXOP; `None`: the rate has no
    /// aggregation.
    pub fn limits_of(&self, rate: PhyRate, left: Option<Span>) -> Option<AggregateLimits> {
        let of_format = AggregateLimits::of(rate.mode()?.format());
        Some(AggregateLimits {
            bytes: of_format.bytes.min(u32::try_from(self.bytes.0).unwrap_or(u32::MAX)),
            frames: of_format.frames.min(self.window),
            max_ppdu: left.map_or(self.max_ppdu, |left| left.min(self.max_ppdu)),
            min_spacing: self.min_spacing,
        })
    }
}

impl Default for Aggregation {
    fn default() -> Self {
        Self::new()
    }
}
