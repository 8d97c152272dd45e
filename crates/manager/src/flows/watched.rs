//! Passive statistics of a flow: round-trip time to the station, retransmissions, and charged airtime of its releases.
//!
//! The round trip is that of the WLAN alone: from a segment's release to the ACK that covers it, measured on the
//! segments that `receiver::steering` times (one at a time; retransmitted segments are not timed, after Karn and
//! Partridge, 1987). It includes the segment's wait in the access point and the receiver's ACK delay.

use alloc::boxed::Box;

use evenair_units::{Instant, Span};

use crate::latency::{FORGOTTEN, Stopwatch};
use crate::loss::Passed;

/// Weight of a new sample of the round-trip time, as a shift: 1/8 (RFC 6298, 2.3).
const SHIFT: u32 = 3;

/// Statistics of one flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    /// Retransmitted DATA segments: from the wire, from the WLAN.
    pub(crate) again: [u64; 2],
    /// Charged medium time of its releases and of the packets that they cause.
    pub(crate) charged: Span,
    /// When its first packet left by the wire, until it is answered or sent again.
    pub(crate) asked: Option<Instant>,
    /// Statistics of its DATA; `None`: no DATA yet.
    seen: Option<Box<Seen>>,
}

/// Statistics of a flow's DATA.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Round trips over the WLAN: smoothed and shortest.
    trips: Option<(Span, Span)>,
    /// DATA that have passed: from the wire, from the WLAN.
    pub(crate) passed: [Passed; 2],
    /// Packets of each direction that were dropped here and have not come again.
    pub(crate) dropped: [u32; 2],
    /// Packets that are being timed.
    pub(crate) stopwatch: Stopwatch,
}

impl Watched {
    pub(crate) fn note_trip(&mut self, took: Span) {
        let trips = &mut self.seen().trips;
        *trips = Some(match *trips {
            None => (took, took),
            Some((mean, least)) => {
                let mean = mean.as_nanos();
                (Span::from_nanos(mean - (mean >> SHIFT) + (took.as_nanos() >> SHIFT)), least.min(took))
            }
        });
    }

    /// Statistics of its DATA, created if there are none.
    pub(crate) fn seen(&mut self) -> &mut Seen {
        self.seen.get_or_insert_default()
    }

    /// Statistics of its DATA, if there are any.
    pub(crate) fn seen_so_far(&mut self) -> Option<&mut Seen> {
        self.seen.as_deref_mut()
    }

    /// Its first packet, a SYN or a datagram, leaves by the wire. If it was sent before, it is not timed. Earlier statistics belong to
    /// another connection.
    pub(crate) fn ask(&mut self, now: Instant) {
        self.asked = if self.asked.is_some() { None } else { Some(now) };
        self.seen = None;
    }

    /// A packet comes from the wire: returns the round trip of the first packet if this answers it.
    pub(crate) fn answer(&mut self, now: Instant) -> Option<Span> {
        self.asked.take().map(|asked| now.saturating_since(asked)).filter(|&took| took < FORGOTTEN)
    }

    /// The smoothed round trip.
    pub(crate) fn trip(&self) -> Option<Span> {
        self.seen.as_ref()?.trips.map(|(mean, _)| mean)
    }

    /// The shortest round trip.
    pub(crate) fn shortest_trip(&self) -> Option<Span> {
        self.seen.as_ref()?.trips.map(|(_, least)| least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_is_timed_to_its_answer_unless_sent_again() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut watched = Watched::default();
        watched.ask(at(1));
        assert_eq!((watched.answer(at(13)), watched.answer(at(14))), (Some(Span::from_millis(12)), None));
        watched.ask(at(20));
        watched.ask(at(1_020));
        assert_eq!(watched.answer(at(1_030)), None, "it may be the answer to either");
    }

    #[test]
    fn trips_are_smoothed_and_the_shortest_is_kept() {
        let mut watched = Watched::default();
        assert_eq!((watched.trip(), watched.shortest_trip()), (None, None));
        watched.note_trip(Span::from_millis(8));
        watched.note_trip(Span::from_millis(16));
        assert_eq!(watched.trip(), Some(Span::from_millis(9)));
        assert_eq!(watched.shortest_trip(), Some(Span::from_millis(8)));
        (0..200).for_each(|_| watched.note_trip(Span::from_millis(20)));
        let trip = watched.trip().expect("seen").as_micros();
        assert!((19_900..=20_000).contains(&trip), "{trip} us");
    }
}
