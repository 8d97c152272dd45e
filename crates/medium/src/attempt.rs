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
    /// DATA with its header and FCS.
    pub(crate) psdu: Bytes,
    /// Time on air of DATA.
    pub(crate) data: Span,
    /// SIFS and ACK or BlockAck, where there is one.
    pub(crate) answer: Span,
    pub(crate) sending: Sending,
}

/// What a DATA frame, or what is sent in place of one, is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sending {
    /// One MPDU, answered by an ACK.
    Single,
    /// An A-MPDU, answered by a BlockAck.
    Aggregate,
    /// A BlockAckReq, answered by a BlockAck.
    Request,
}

impl Attempt {
    /// What answers it, as the watch shows it.
    pub(crate) fn answer_kind(&self) -> Kind {
        if self.sending == Sending::Single { Kind::Ack } else { Kind::BlockAck }
    }

    /// The MAC frame that answers it.
    pub(crate) fn answer_size(&self, config: &MediumConfig) -> Bytes {
        match (self.sending, &config.aggregation) {
            (Sending::Single, _) | (_, None) => ACK_CTS,
            (_, Some(rules)) => block_ack_size(rules.window_at(self.rate)),
        }
    }

    /// A broadcast is sent once at the lowest basic rate, and not answered.
    #[cold]
    pub(crate) fn broadcast(phy: &Phy, psdu: Bytes) -> Self {
        let rate = phy.lowest_basic();
        let (data, answer) = (phy.ppdu(psdu, rate), Span::ZERO);
        Self { to: To::Broadcast, rate, rts: false, psdu, data, answer, sending: Sending::Single }
    }
}
