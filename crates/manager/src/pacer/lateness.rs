//! Whether a station answers late: what it receives has left the access point long before its acknowledgment comes, since it sleeps,
//! is slow to answer or delays its answers.
//!
//! An access point that has something to send sends it, in whichever order. So a release has left after a small multiple of the
//! medium time of all that was in flight with it. Where a station acknowledges still later, is overtaken by others meanwhile, and
//! does so time after time, it is the station that is late. One release at a time is timed, as TCP does (Karn, Partridge, "Improving
//! round-trip time estimates in reliable transport protocols", SIGCOMM 1987).
//!
//! Only releases that ask for an acknowledgment alone are timed. DATA that a station sends for an ACK waits in its own queue.
//!
//! Of a late station what is overtaken has left ([`super::in_flight`]), and what it completes says nothing of the medium or the path.
//!
//! Not here: a station that is late and alone. Nothing overtakes it, and its releases are waited for. Nor the cost of a late station:
//! it is taken to be that of all on average, unless its rate is reported.

use evenair_units::{Instant, Span};

/// A completion is late that comes so much after the time in which the medium serves all that is in flight.
const MARGIN: Span = Span::from_millis(8);
/// So many times that is how long it takes until the station's turn comes: queues by station serve in another order.
const TURNS: u64 = 2;
/// So many completions in a row decide.
const IN_A_ROW: u32 = 6;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    is_late: bool,
    /// How many completions in a row contradict it.
    contradicted: u32,
    timed: Option<Timed>,
}

/// A release that is timed: its number, and from when on its completion is late.
#[derive(Clone, Copy, Debug)]
struct Timed {
    number: u64,
    late_from: Instant,
}

impl Lateness {
    /// It answers late.
    pub(crate) const fn is_late(&self) -> bool {
        self.is_late
    }

    /// A release that an acknowledgment is due to; `stands`: medium time of all in flight with it, and the path's lag.
    pub(crate) fn note_release(&mut self, now: Instant, number: u64, stands: Span) {
        // A later number is of another domain, from which the station has roamed.
        if self.timed.is_none_or(|timed| timed.number >= number) {
            // A late station is held so until it is clearly prompt.
            let turns = if self.is_late { 1 } else { TURNS };
            self.timed = Some(Timed { number, late_from: now.saturating_add(stands * turns + MARGIN) });
        }
    }

    /// The release that is timed, if the completion of this one completes it.
    pub(crate) fn timed(&self, number: u64) -> Option<u64> {
        self.timed.map(|timed| timed.number).filter(|&timed| timed <= number)
    }

    /// The release that is timed is complete. True if it has shown that the station answers late, or does so no more.
    pub(crate) fn note_completion(&mut self, now: Instant, was_overtaken: bool) -> bool {
        let Some(timed) = self.timed.take() else { return false };
        let was_late = now > timed.late_from;
        // A release that was not overtaken may wait in the access point.
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

    /// Releases that are completed after so long, one after the other. How many of the completions found it late.
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
    fn one_that_is_in_time_begins_anew() {
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
