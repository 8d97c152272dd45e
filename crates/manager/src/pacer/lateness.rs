//! Detects stations that acknowledge late: their releases have left the access point long before the acknowledgment comes, since the
//! station sleeps, is slow or delays its ACKs.
//!
//! An access point that has something to send sends it, in some order. So a release has left after a small multiple of the medium time of
//! all that was in flight with it. If a station repeatedly acknowledges still later, and is overtaken by others meanwhile, the station is
//! late. One release at a time is timed, as TCP does (Karn, Partridge, "Improving round-trip time estimates in reliable transport
//! protocols", SIGCOMM 1987).
//!
//! Only releases that elicit an acknowledgment alone are timed. DATA that a station sends for an ACK wait in its own queue.
//!
//! Overtaken releases to a late station have left ([`super::in_flight`]), and its completions say nothing of the medium or the path.
//!
//! Not here: a station that is late and alone. Nothing overtakes it, and its releases are waited for. Nor the cost of a late station,
//! which is taken to be the mean unless its rate is reported.

use evenair_units::{Instant, Span};

/// Time beyond the expected completion from which on a completion is late.
const MARGIN: Span = Span::from_millis(8);
/// Expected completion, in multiples of the medium time of all in flight: queues by station serve in another order.
const TURNS: u64 = 2;
/// Completions in a row that change the conclusion.
const IN_A_ROW: u32 = 6;

/// Whether a station acknowledges late; see the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    is_late: bool,
    /// Completions in a row that contradict `is_late`.
    contradicted: u32,
    timed: Option<Timed>,
}

/// The release being timed: its number, and the instant from which on its completion is late.
#[derive(Clone, Copy, Debug)]
struct Timed {
    number: u64,
    late_from: Instant,
}

impl Lateness {
    /// Whether the station acknowledges late.
    pub(crate) const fn is_late(&self) -> bool {
        self.is_late
    }

    /// Notes a release with an acknowledgment due; `stands`: medium time of all in flight with it, and the path's lag.
    pub(crate) fn note_release(&mut self, now: Instant, number: u64, stands: Span) {
        // A later number is of another domain, from which the station has roamed.
        if self.timed.is_none_or(|timed| timed.number >= number) {
            // A station that was late has to be clearly prompt to change that.
            let turns = if self.is_late { 1 } else { TURNS };
            self.timed = Some(Timed { number, late_from: now.saturating_add(stands * turns + MARGIN) });
        }
    }

    /// The timed release, if this completion covers it.
    pub(crate) fn timed(&self, number: u64) -> Option<u64> {
        self.timed.map(|timed| timed.number).filter(|&timed| timed <= number)
    }

    /// Completes the timed release. True: the conclusion about the station has changed.
    pub(crate) fn note_completion(&mut self, now: Instant, was_overtaken: bool) -> bool {
        let Some(timed) = self.timed.take() else { return false };
        let was_late = now > timed.late_from;
        // A release that was not overtaken may still have waited in the access point.
        if was_late && !was_overtaken {
            return false;
        }
        self.contradicted = if was_late == self.is_late { 0 } else { self.contradicted + 1 };
        let turns = self.contradicted >= IN_A_ROW;
        if turns {
            (self.is_late, self.contradicted) = (was_late, 0);
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDS: Span = Span::from_millis(10);

    /// Completes releases one after the other, each after this time. Returns how many completions found the station late.
    fn after(lateness: &mut Lateness, took_ms: u64, overtaken: bool, times: u64) -> u64 {
        let mut late = 0;
        for number in 0..times {
            let released = Instant::ZERO + Span::from_secs(number);
            lateness.note_release(released, number, STANDS);
            lateness.note_completion(released + Span::from_millis(took_ms), overtaken);
            late += u64::from(lateness.is_late());
        }
        late
    }

    #[test]
    fn a_station_is_late_after_some_late_completions_in_a_row() {
        let late = |took_ms, overtaken| after(&mut Lateness::default(), took_ms, overtaken, 20);
        assert_eq!(late(29, true), 15);
        assert_eq!(late(28, true), 0, "its turn may come as late");
        assert_eq!(late(200, false), 0, "no other station is served before it");
    }

    #[test]
    fn a_prompt_completion_restarts_the_count() {
        let mut lateness = Lateness::default();
        assert_eq!(after(&mut lateness, 100, true, 5) + after(&mut lateness, 10, true, 1), 0);
        assert_eq!(after(&mut lateness, 100, true, 6), 1);
    }

    #[test]
    fn a_late_station_is_late_until_it_is_prompt() {
        let mut lateness = Lateness::default();
        after(&mut lateness, 100, true, 6);
        assert_eq!(after(&mut lateness, 19, true, 20), 20);
        assert_eq!(after(&mut lateness, 18, true, 20), 5);
    }

    #[test]
    fn one_release_at_a_time_is_timed_and_another_domain_begins_anew() {
        let (mut lateness, at) = (Lateness::default(), |ms| Instant::ZERO + Span::from_millis(ms));
        lateness.note_release(at(0), 7, STANDS);
        lateness.note_release(at(1), 8, STANDS);
        assert_eq!((lateness.timed(6), lateness.timed(8)), (None, Some(7)));
        lateness.note_release(at(2), 3, STANDS);
        assert_eq!(lateness.timed(6), Some(3));
    }
}
