//! One attempt to send the frame at the head of a queue.

use evenair_units::{Bytes, Span};
use evenair_wifi::{ACK_CTS, Phy, PhyRate, block_ack_size};

use crate::config::MediumConfig;
use crate::frame::To;
use crate::watch::Kind;

/// How the frame at the head of a queue is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) to: To,
    pub(crate) rate: PhyRate,
    /// Starts with RTS.
    pub(crate) rts: bool,
    /// Size of DATA with its header and FCS.
    pub(crate) psdu: Bytes,
    /// Airtime of DATA.
    pub(crate) data: Span,
    /// Airtime of SIFS and ACK or BlockAck; zero without a response.
    pub(crate) answer: Span,
    pub(crate) sending: Sending,
}

/// Content of a DATA frame, or the frame sent in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sending {
    /// One MPDU; the response is an ACK.
    Single,
    /// An A-MPDU; the response is a BlockAck.
    Aggregate,
    /// A BlockAckReq; the response is a BlockAck.
    Request,
}

impl Attempt {
    /// Kind of the response, for the watch.
    pub(crate) fn answer_kind(&self) -> Kind {
        if self.sending == Sending::Single { Kind::Ack } else { Kind::BlockAck }
    }

    /// Size of the response's MAC frame.
    pub(crate) fn answer_size(&self, config: &MediumConfig) -> Bytes {
        match (self.sending, &config.aggregation) {
            (Sending::Single, _) | (_, None) => ACK_CTS,
            (_, Some(rules)) => block_ack_size(rules.window_at(self.rate)),
        }
    }

    /// A broadcast is sent once at the lowest basic rate, without response.
    #[cold]
    pub(crate) fn broadcast(phy: &Phy, psdu: Bytes) -> Self {
        let rate = phy.lowest_basic();
        let (data, answer) = (phy.ppdu(psdu, rate), Span::ZERO);
        Self { to: To::Broadcast, rate, rts: false, psdu, data, answer, sending: Sending::Single }
    }
}
