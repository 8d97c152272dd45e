//! Receiver control: the box changes windows and timing of the ACKs that a TCP sender receives.
//!
//! A sender never has more in flight than the window that the receiver advertises, and sends no faster than ACKs
//! return. A box that lowers the window or delays the ACKs limits the access point's backlog, without support of
//! either end. It drops no packet, other traffic does not wait for it, and it works alone
//! ([`Controller::None`](crate::Controller::None)) or beside the queues.
//!
//! - [`window`]: lowers windows; an offer once made is never withdrawn, and a window is zero only if the receiver set
//!   it to zero.
//! - [`mod@line`]: holds ACKs for a set time, in their order, with all packets behind them.
//! - [`steering`]: adjusts window or delay so that the access point's backlog stays at a target, for each contention
//!   domain.
//!
//! What is not here: other protocols than TCP. A connection of which one SYN was not seen keeps its windows, since
//! their scale is unknown.
//!
//! Sources: Choi, Park, Kim, "Performance Impact of Inter-Layer Dependence in Infrastructure WLANs" (advertised
//! window, virtual delay; the closed loop is left open there and is ours); Pilosof et al., "Understanding TCP
//! Fairness over Wireless LAN", INFOCOM 2003 (the access point's buffer shared by the flows).

mod config;
pub(crate) mod line;
pub(crate) mod steering;
pub(crate) mod window;

use evenair_packet::{Port, TcpFlags, TcpMeta};
use evenair_units::{Instant, Limit, Span};

use line::{InLine, Line};
use steering::{Aim, Steering, Timed};
use window::{Most, Windows};

pub use config::{DelayLaw, ReceiverConfig, ReceiverError, WindowLaw};

/// Segment size for the conversion of a window from segments to bytes.
const USUAL_SEGMENT: u64 = 1_460;

/// State of receiver control for a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowReceiver {
    pub(crate) windows: Windows,
    pub(crate) line: InLine,
    pub(crate) timed: Timed,
    /// Whether its latest window left lowered.
    pub(crate) lowered: bool,
    /// Whether one of its ends has sent FIN or RST.
    closed: bool,
}

impl FlowReceiver {
    /// Notes a packet that has come in.
    pub(crate) fn note_arrival(&mut self, ingress: Port, tcp: &TcpMeta) {
        if tcp.begins() {
            (self.closed, self.lowered) = (false, false);
            self.timed.restart();
        }
        self.closed |= tcp.flags.intersects(TcpFlags::FIN.with(TcpFlags::RST));
        self.windows.note_arrival(ingress, tcp);
    }

    /// Whether it shares the access point's buffer.
    pub(crate) const fn is_open(&self) -> bool {
        !self.closed
    }
}

/// State of receiver control common to all domains.
#[derive(Clone, Debug)]
pub(crate) struct Receiver<P> {
    pub(crate) line: Line<P>,
    /// Number of the session: a period in which every packet passed receiver control.
    pub(crate) session: u32,
}

impl<P> Default for Receiver<P> {
    fn default() -> Self {
        Self { line: Line::default(), session: 0 }
    }
}

/// State of receiver control in one domain.
#[derive(Clone, Debug)]
pub(crate) struct Steered {
    pub(crate) steering: Steering,
    /// Flows that share the access points' buffers; those whose windows are lowered.
    pub(crate) flows: u32,
    pub(crate) clamped_flows: u32,
}

impl Steered {
    pub(crate) fn new(now: Instant) -> Self {
        Self { steering: Steering::new(now), flows: 0, clamped_flows: 0 }
    }

    /// Notes a new flow, which shares the access point's buffer at once if it is of TCP.
    pub(crate) const fn note_new(&mut self, is_tcp: bool) {
        self.flows = self.flows.saturating_add(is_tcp as u32);
    }

    /// The largest window by a law, for segments of this many bytes.
    pub(crate) fn most(&self, law: WindowLaw, segment: u64) -> Most {
        let flows = u64::from(self.flows.max(1));
        match law {
            WindowLaw::Fixed(Limit::Packets(segments)) => Most::Segments(segments.into()),
            WindowLaw::Fixed(Limit::Bytes(bytes)) => Most::Bytes(bytes.0),
            WindowLaw::ShareOf(Limit::Packets(packets)) => Most::Segments(u64::from(packets) / flows),
            // The buffer counts packets with headers; a segment is a little smaller.
            WindowLaw::ShareOf(Limit::Bytes(bytes)) => Most::Bytes(bytes.0 / flows),
            WindowLaw::Target(_) => Most::Bytes(self.steering.window()),
            WindowLaw::Fixed(Limit::Unlimited) | WindowLaw::ShareOf(Limit::Unlimited) => {
                Most::Segments(u64::MAX / segment)
            }
        }
    }

    /// The largest window by a law in bytes, for segments of usual size.
    pub(crate) fn most_bytes(&self, law: WindowLaw) -> u64 {
        match self.most(law, USUAL_SEGMENT) {
            Most::Bytes(bytes) => bytes,
            Most::Segments(segments) => segments * USUAL_SEGMENT,
        }
    }

    /// The time by a law for which ACKs are held.
    pub(crate) const fn delay(&self, law: DelayLaw) -> Span {
        match law {
            DelayLaw::Fixed(time) => time,
            DelayLaw::Target(_) => self.steering.delay(),
        }
    }
}

impl ReceiverConfig {
    /// The target of its closed loop.
    pub(crate) const fn aim(&self) -> Aim {
        match (self.window, self.delay) {
            (Some(WindowLaw::Target(target)), _) => Aim::Window(target),
            (_, Some(DelayLaw::Target(target))) => Aim::Delay(target),
            _ => Aim::Nothing,
        }
    }
}
