//! What a probe and its answer take without a queue, which is the lag of the path: a driver, a mesh hop, a tunnel.
//!
//! From time to time the box releases nothing until a probe is answered behind all that is in flight, and then sends a
//! second one at once, which no packet of the box is in front of. The smallest of the last few counts, because contention
//! and sleep only add to it. Two round trips without releases are a few milliseconds on most paths.
//!
//! Principle: as BBR's ProbeRTT (Cardwell et al., 2016).

use evenair_packet::MacAddr;
use evenair_units::{Instant, Span};

/// The box holds its packets for no longer than this for one probe. A path whose lag is longer is not measured.
const MOST: Span = Span::from_millis(150);
/// Between two measurements: at first, and at most.
const INTERVAL: (Span, Span) = (Span::from_millis(500), Span::from_secs(10));
/// So many results are remembered.
const RESULTS: usize = 4;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Quiet {
    state: State,
    interval: Span,
    results: [Option<Span>; RESULTS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next measurement begins then.
    Idle(Instant),
    /// The first probe is under way since then, to this station.
    Draining(MacAddr, Instant),
    /// It was answered then, and the second one is to be sent now, to the same station.
    Drained(MacAddr, Instant),
    /// That is under way since then.
    Measuring(Instant),
}

impl Quiet {
    pub(super) fn new(now: Instant) -> Self {
        Self { state: State::Idle(now), interval: INTERVAL.0, results: [None; RESULTS] }
    }

    /// What the path takes, once that is known.
    pub(super) fn lag(&self) -> Option<Span> {
        self.results.iter().flatten().min().copied()
    }

    /// Until when the box releases nothing.
    pub(super) fn holds_until(&self) -> Option<Instant> {
        match self.state {
            State::Idle(_) => None,
            State::Draining(_, since) | State::Drained(_, since) | State::Measuring(since) => Some(since + MOST),
        }
    }

    /// The station to be asked now, whatever the interval between probes.
    pub(super) fn second(&self) -> Option<MacAddr> {
        match self.state {
            State::Drained(station, _) => Some(station),
            _ => None,
        }
    }

    /// A probe is sent to a station, which is known to answer or not.
    pub(super) fn note_sent(&mut self, now: Instant, station: MacAddr, answers: bool) {
        self.expire(now);
        self.state = match self.state {
            State::Idle(next) if now >= next && answers => State::Draining(station, now),
            State::Drained(asked, _) if asked == station => State::Measuring(now),
            other => other,
        };
    }

    /// The probe that was sent at this instant was answered, after this time.
    pub(super) fn note_answer(&mut self, now: Instant, sent: Instant, took: Span) {
        self.expire(now);
        match self.state {
            State::Draining(station, since) if since == sent => self.state = State::Drained(station, now),
            State::Measuring(since) if since == sent => {
                self.results.rotate_right(1);
                self.results[0] = Some(took);
                self.end(now);
            }
            _ => {}
        }
    }

    fn end(&mut self, now: Instant) {
        self.state = State::Idle(now + self.interval);
        self.interval = (self.interval * 2).min(INTERVAL.1);
    }

    /// Time has passed: a measurement ends, whatever came of it.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.holds_until().is_some_and(|until| now >= until) {
            self.end(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_second_probe_is_the_one_that_counts_and_the_smallest_of_a_few() {
        let mut quiet = Quiet::new(at(0));
        quiet.note_sent(at(0), STATION, false);
        assert_eq!(quiet.holds_until(), None, "who is not known to answer holds nothing up");
        let mut begin = 1_000;
        for took in [7, 4, 9, 8, 6, 7, 9] {
            quiet.note_sent(at(begin), STATION, true);
            assert_eq!(quiet.holds_until(), Some(at(begin) + MOST));
            quiet.note_answer(at(begin + 20), at(begin), Span::from_millis(20));
            assert_eq!(quiet.second(), Some(STATION));
            quiet.note_sent(at(begin + 20), STATION, true);
            assert_eq!(quiet.second(), None);
            quiet.note_answer(at(begin + 20), at(begin - 500), Span::from_millis(520));
            assert_eq!(quiet.second(), None, "an answer to an earlier one");
            quiet.note_answer(at(begin + 20 + took), at(begin + 20), Span::from_millis(took));
            assert_eq!(quiet.holds_until(), None);
            quiet.note_sent(at(begin + 40), STATION, true);
            assert_eq!(quiet.holds_until(), None, "not so soon again");
            begin += 20_000;
        }
        assert_eq!(quiet.lag(), Some(Span::from_millis(6)), "4 ms is long ago");
    }

    #[test]
    fn it_ends_without_an_answer() {
        let mut quiet = Quiet::new(at(0));
        quiet.note_sent(at(0), STATION, true);
        quiet.expire(at(149));
        assert!(quiet.holds_until().is_some());
        quiet.expire(at(150));
        assert_eq!((quiet.holds_until(), quiet.lag()), (None, None));
        quiet.note_answer(at(151), at(0), Span::from_millis(151));
        assert_eq!((quiet.second(), quiet.lag()), (None, None));
    }
}
