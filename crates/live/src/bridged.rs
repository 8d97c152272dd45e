//! Throughput of the bridge while the box is bypassed, from the kernel's counters of the access points' port.
//!
//! The manager's guard compares it with the throughput of the inserted box.
//!
//! Limitation: traffic between the access points' side and this machine itself is included; it is assumed to be small.

use evenair_manager::Observation;
use evenair_sys::traffic::{self, Traffic};
use evenair_units::{Bytes, Instant, Span};

/// Time between two looks at the counters.
const INTERVAL: Span = Span::from_millis(500);
/// What the counters have of a frame beside the IP packet.
const ETHERNET_HEADER: u64 = 14;

/// The counters, as they were last read.
#[derive(Debug)]
pub(crate) struct Bridged {
    port: String,
    last: Option<(Instant, Traffic)>,
}

impl Bridged {
    /// Of the port of the access points.
    pub(crate) fn new(port: &str) -> Self {
        Self { port: port.into(), last: None }
    }

    /// The bridge does not carry the traffic, or the box sees it.
    pub(crate) fn pause(&mut self) {
        self.last = None;
    }

    /// The bridge carries the traffic and the box sees none of it: what it has carried since the last look, where it is time for
    /// another one. An interface whose counters cannot be read says nothing.
    pub(crate) fn look(&mut self, now: Instant) -> Option<Observation> {
        if self.deadline().is_some_and(|at| now < at) {
            return None;
        }
        let traffic = traffic::of(&self.port).unwrap_or_default();
        let (since, before) = self.last.replace((now, traffic))?;
        let bytes = traffic.bytes.checked_sub(before.bytes)?;
        let headers = traffic.packets.checked_sub(before.packets)?.saturating_mul(ETHERNET_HEADER);
        let carried = Bytes(bytes.saturating_sub(headers));
        Some(Observation::Bridged { carried, elapsed: now.saturating_since(since) })
    }

    /// When the next look is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.last.map(|(at, _)| at + INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_crosses_between_two_looks_is_reported() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut bridged = Bridged::new("lo");
        assert_eq!((bridged.look(at(0)), bridged.deadline()), (None, Some(at(500))));
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback is up");
        socket.send_to(&[0; 1000], socket.local_addr().expect("bound")).expect("sent");
        assert_eq!(bridged.look(at(400)), None, "too early");
        let Some(Observation::Bridged { carried, elapsed }) = bridged.look(at(600)) else { panic!("it is time") };
        assert!(carried.0 >= 2 * 1000 && elapsed == Span::from_millis(600), "{carried:?}");
        bridged.pause();
        assert_eq!(bridged.look(at(700)), None, "what crossed meanwhile is not the bridge's");
        // A port that has gone, and one that was made again, have less than before.
        let mut gone = Bridged { port: "no-such-dev0".into(), last: Some((at(0), Traffic { packets: 9, bytes: 900 })) };
        assert_eq!(gone.look(at(500)), None);
    }
}
