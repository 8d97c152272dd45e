//! One attempt to send the frame at the head of a queue.

use evenair_units::{Bytes, Span};
use evenair_wifi::{Phy, PhyRate};

use crate::frame::To;

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
    /// SIFS and ACK, where there is one.
    pub(crate) answer: Span,
}

impl Attempt {
    /// A broadcast is sent once at the lowest basic rate, and not answered.
    #[cold]
    pub(crate) fn broadcast(phy: &Phy, psdu: Bytes) -> Self {
        let rate = phy.lowest_basic();
        Self { to: To::Broadcast, rate, rts: false, psdu, data: phy.ppdu(psdu, rate), answer: Span::ZERO }
    }
}
