//! Events of an endpoint for its application, the purposes of its deadlines, and its counters.
//!
//! Events of one kind merge until they are polled: their number is bounded, so nothing is allocated.

use evenair_units::Bytes;

/// An event of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is over.
    Established,
    /// This much more data arrived in order.
    Received(Bytes),
    /// Everything written so far is acknowledged.
    Drained,
    /// The other end sends no more.
    PeerFinished,
    /// The connection is gone.
    Closed(CloseReason),
}

/// Why a connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both directions were closed.
    Normal,
    /// Retransmissions without an answer.
    TimedOut,
    /// The other end aborted.
    Reset,
}

/// Purpose of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Data, a SYN or a FIN may have to be sent again.
    Retransmit,
    /// The other end's closed window is to be probed.
    Probe,
    /// The last segment outstanding may be lost, since no acknowledgment came for long (RFC 8985, section 7).
    Tail,
    /// The reordering window of the holes below SACKed data has passed (RFC 8985, section 6.3).
    Reordering,
    /// A delayed acknowledgment is due.
    DelayedAck,
    /// The end of TIME-WAIT.
    TimeWait,
}

/// Events not yet polled.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    pub(super) established: bool,
    pub(super) received: u64,
    pub(super) drained: bool,
    pub(super) peer_finished: bool,
    pub(super) closed: Option<CloseReason>,
}

impl Events {
    pub(super) fn take(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.established) {
            Some(Event::Established)
        } else if self.received > 0 {
            Some(Event::Received(Bytes(std::mem::take(&mut self.received))))
        } else if std::mem::take(&mut self.drained) {
            Some(Event::Drained)
        } else if std::mem::take(&mut self.peer_finished) {
            Some(Event::PeerFinished)
        } else {
            self.closed.take().map(Event::Closed)
        }
    }
}

/// Counters of one endpoint since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments with data sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments sent again: data, FIN, SYN.
    pub retransmissions: u64,
    /// Segments without data, SYN or FIN sent: acknowledgments and window probes.
    pub acks_sent: u64,
    /// Fast recoveries begun.
    pub fast_recoveries: u64,
    /// Retransmission timeouts, those of a SYN included.
    pub timeouts: u64,
    /// Segments with data received.
    pub data_segments_received: u64,
    /// Bytes received in order.
    pub bytes_received: u64,
}
