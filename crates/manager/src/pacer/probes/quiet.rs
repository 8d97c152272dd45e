//! Measures the time of a probe and its reply without a queue, which is the lag of the path: a driver, a mesh hop, a
//! tunnel.
//!
//! Periodically the box releases nothing until a probe is answered behind all that is in flight, and then sends a second
//! one at once, with no packet of the box before it. The least of the last results counts, because contention and sleep
//! only add to it. Two round trips without releases are a few milliseconds on most paths.
//!
//! Principle: as BBR's ProbeRTT (Cardwell et al., 2016).

use evenair_packet::MacAddr;
use evenair_units::{Instant, Span};

/// Longest time without releases for one probe. A path with a longer lag is not measured.
const MOST: Span = Span::from_millis(150);
/// Time between two measurements: at first, at most.
const INTERVAL: (Span, Span) = (Span::from_millis(500), Span::from_secs(10));
/// Results remembered.
const RESULTS: usize = 4;

/// The measurement of the lag; see the module.
#[derive(Clone, Debug)]
pub(super) struct Quiet {
    state: State,
    interval: Span,
    results: [Option<Span>; RESULTS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next measurement begins at this instant.
    Idle(Instant),
    /// The first probe is under way since this instant, to this station.
    Draining(MacAddr, Instant),
    /// The first probe was answered at this instant; the second one is to be sent to the same station now.
    Drained(MacAddr, Instant),
    /// The second probe is under way since this instant.
    Measuring(Instant),
}

impl Quiet {
    pub(super) fn new(now: Instant) -> Self {
        Self { state: State::Idle(now), interval: INTERVAL.0, results: [None; RESULTS] }
    }

    /// The lag of the path, once it is known.
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

    /// The station to be probed now, whatever the interval between probes.
    pub(super) fn second(&self) -> Option<MacAddr> {
        match self.state {
            State::Drained(station, _) => Some(station),
            _ => None,
        }
    }

    /// Notes a probe to a station; `answers`: it is known to reply.
    pub(super) fn note_sent(&mut self, now: Instant, station: MacAddr, answers: bool) {
        self.expire(now);
        self.state = match self.state {
            State::Idle(next) if now >= next && answers => State::Draining(station, now),
            State::Drained(asked, _) if asked == station => State::Measuring(now),
            other => other,
        };
    }

    /// Handles the reply to the probe of this instant.
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

    /// Ends an overdue measurement, with or without a result.
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
    fn the_second_probe_counts_and_the_least_of_a_few() {
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
    fn a_measurement_without_a_reply_times_out() {
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
