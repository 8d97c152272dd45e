//! Rules of aggregation among nodes of 802.11n and later.

use evenair_units::{Bytes, Span};
use evenair_wifi::{AggregateLimits, Phy, PhyRate, RateLimits};

/// Rules of a medium whose nodes aggregate. Only nodes with EDCA aggregate, toward other nodes with EDCA, at rates of HT, VHT
/// or HE. The limits of the PHY format (bytes, frames) apply, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aggregation {
    /// Maximum size of an A-MPDU.
    pub bytes: Bytes,
    /// Block-ack window, in MPDUs: the maximum of an A-MPDU, and of the distance from the oldest unacknowledged MPDU.
    pub window: u16,
    /// Maximum duration of a PPDU with an A-MPDU.
    pub max_ppdu: Span,
    /// Minimum distance between the starts of MPDUs in an A-MPDU (the receiver's Minimum MPDU Start Spacing).
    pub min_spacing: Span,
    /// Maximum size of an A-MSDU; zero disables A-MSDUs.
    pub a_msdu: Bytes,
    /// Bytes that encryption adds to each MPDU: 16 with CCMP or GCMP.
    pub crypto: Bytes,
    /// What a sender does after an A-MPDU without a response.
    pub recover: Recover,
    /// Transmissions of an MPDU before it is dropped.
    pub attempts: u32,
    /// After dropping an MPDU the sender moves the receiver's window with a BlockAckReq (IEEE Std 802.11-2020, 10.25.6.5).
    /// Otherwise the receiver waits for its reorder timeout.
    pub request_after_drop: bool,
    /// How long a receiver holds MPDUs while an earlier one is missing; `None`: until a BlockAckReq moves the window.
    pub reorder_timeout: Option<Span>,
    /// Which frames the next access takes.
    pub order: Order,
    /// A receiver delivers an MPDU when its last bit arrives, as ns-3 does; otherwise at the end of the PPDU. Only with the
    /// shared-channel engine.
    pub deliver_each: bool,
    /// Frames of a TXOP reserve the medium to its end (multiple protection, IEEE Std 802.11-2020, 9.2.5.2), and the holder ends
    /// an unused rest with a CF-End frame if that fits (10.23.2.9). If not, the bystanders' inter-frame space begins at the end of
    /// the TXOP. That of the holder and of the responder, which have no NAV, begins at once, as in ns-3; by the standard the
    /// holder backs off only when its TXNAV timer has expired (10.23.2.2). Otherwise frames reserve no more than their own
    /// exchange (single protection). Only with the shared-channel engine.
    pub cf_end: bool,
    /// Frames that follow a BlockAckReq in its TXOP use a channel of 20 MHz, as the BlockAckReq does, at the same MCS, as in
    /// ns-3; a mode that does not exist at 20 MHz keeps its width.
    pub narrow_after_request: bool,
}

/// What a sender does after an A-MPDU without a response.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Recover {
    /// Repeat the MPDUs, as most devices do.
    #[default]
    Data,
    /// First send a BlockAckReq, whose BlockAck says which MPDUs are missing, as ns-3 does.
    Request,
}

/// Which frames a sender's next access takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Order {
    /// Frames for the receiver of the oldest frame: one queue, of which an access takes all that fit for that receiver.
    #[default]
    Arrival,
    /// Frames for each receiver in turn: a queue for each.
    RoundRobin,
    /// Frames for the receiver of the oldest frame, up to the first frame for another receiver: one FIFO for each access
    /// category, as with a driver that fills a hardware queue in order of arrival, and hardware that aggregates only adjacent
    /// frames.
    Neighbours,
}

impl Aggregation {
    /// The limits of the standard, with the retry limit, failure handling and timeout of Linux: seven attempts, 100 ms
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

    /// The behaviour of ns-3 3.44: MPDUs delivered one by one, a BlockAckReq after an A-MPDU without a response, no reorder
    /// timeout, reserved TXOPs with CF-End, and a TXOP that stays at the width of the BlockAckReq that began it.
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

    /// Block-ack window at this rate; one if the rate has no aggregation.
    pub fn window_at(&self, rate: PhyRate) -> u16 {
        rate.mode().map_or(1, |mode| AggregateLimits::of(mode.format()).frames.min(self.window))
    }

    /// [`Aggregation::limits_of`] at this rate, precomputed for many aggregates.
    pub(crate) fn limits_at(&self, phy: &Phy, rate: PhyRate, left: Option<Span>) -> Option<RateLimits> {
        self.limits_of(rate, left).map(|limits| limits.at(phy, rate))
    }

    /// Limits of an A-MPDU at this rate that fits into the `left` part of a TXOP; `None` if the rate has no aggregation.
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
