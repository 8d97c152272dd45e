//! How many packets of one station are released one after the other.
//!
//! An access point that aggregates sends its backlog for one station in one access, and a station is served best by as many
//! packets as an access can take. So a turn of a station is a *run* of packets (see `queues`), up to a medium time and a
//! number of frames.
//!
//! Where the access point does not aggregate, a longer run only makes others wait, and a run is two packets. Completions show whether it
//! does: those of packets in one access come together. A path that delivers acknowledgments in batches makes packets of several accesses
//! look like one, but its batches do not end where runs end: then nothing is concluded.
//!
//! Runs of two packets can never show that the access point aggregates. So longer ones are tried again from time to time.

use evenair_units::{Instant, Span};

/// The limit of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunLimit {
    /// Medium time, at most.
    pub(crate) time: Span,
    pub(crate) frames: u32,
    /// Whether a run has DATA alone, and only begins where many queues take turns.
    pub(crate) of_data: bool,
}

impl RunLimit {
    /// Runs of one packet.
    pub(crate) const SINGLE: Self = Self { time: Span::ZERO, frames: 1, of_data: false };

    /// Runs of two packets at most, before access points that send single frames: two ACKs of an upload that come together let it send more
    /// in a row.
    pub(crate) fn pair(self) -> Self {
        Self { frames: self.frames.min(2), ..self }
    }

    /// The same of DATA alone, and only where many queues take turns. A receiver acknowledges each second segment at once, and one that
    /// comes alone only when its timer of 40 to 200 ms ends: where many stations take turns packet by packet, every completion would be as
    /// late, and the medium would wait for it.
    pub(crate) fn pair_of_data(self) -> Self {
        Self { of_data: true, ..self.pair() }
    }
}

/// Completions at most this far apart came in one access.
const ACCESS: Span = Span::from_micros(300);
/// Shortest run, in packets, that counts.
const PACKETS: u32 = 6;
/// Runs by which the access point is judged: at first, and when longer runs are tried again.
const RUNS: (u32, u32) = (50, 10);
/// Mean packets in an access, in tenths, from which on the access point aggregates. A delayed acknowledgment completes two packets, so
/// that two do not show it.
const AGGREGATES: u32 = 25;
/// The path delivers in batches if more than 1/`JOINED` of the runs begin together with the end of the one before.
const JOINED: u32 = 5;
/// Time until longer runs are tried again.
const AGAIN: Span = Span::from_secs(60);

/// Conclusion about the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Aggregates,
    /// Longer runs are being tried.
    Trying,
    /// It sends single frames; longer runs are tried again at this instant.
    Single(Instant),
}

/// Evidence from completions whether the access point aggregates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    state: State,
    /// The run that is being completed, and its last completion.
    train: Option<u64>,
    at: Instant,
    packets: u32,
    accesses: u32,
    /// Whether it began together with the end of the run before.
    is_joined: bool,
    /// Of the runs that count: their number, packets, accesses, and how many were joined to the one before.
    runs: u32,
    all_packets: u32,
    all_accesses: u32,
    joined: u32,
}

impl Evidence {
    /// A standard with aggregation: assumes aggregates until completions show otherwise.
    pub(crate) const fn new() -> Self {
        Self::of(State::Aggregates)
    }

    const fn of(state: State) -> Self {
        Self {
            state,
            train: None,
            at: Instant::ZERO,
            packets: 0,
            accesses: 0,
            is_joined: false,
            runs: 0,
            all_packets: 0,
            all_accesses: 0,
            joined: 0,
        }
    }

    /// The present limit of a run; `full`: the configured limit.
    pub(crate) fn limit(&self, now: Instant, full: RunLimit) -> RunLimit {
        match self.state {
            State::Single(until) if now < until => full.pair(),
            State::Aggregates | State::Trying | State::Single(_) => full,
        }
    }

    /// Whether the access point aggregates, as long as completions do not show otherwise.
    pub(crate) fn aggregates(&self) -> bool {
        self.state == State::Aggregates
    }

    /// A new station may be at an access point that aggregates.
    pub(crate) const fn note_new_station(&mut self) {
        if let State::Single(_) = self.state {
            *self = Self::of(State::Trying);
        }
    }

    /// Notes that this many packets of a run were completed.
    pub(crate) fn note_completion(&mut self, now: Instant, train: u64, packets: u32) {
        let is_together = now.saturating_since(self.at) <= ACCESS;
        if self.train != Some(train) {
            self.end_run(now);
            (self.train, self.packets, self.accesses, self.is_joined) = (Some(train), 0, 1, is_together);
        } else if !is_together {
            self.accesses += 1;
        }
        self.packets += packets;
        self.at = now;
    }

    fn end_run(&mut self, now: Instant) {
        if self.packets < PACKETS {
            return;
        }
        self.runs += 1;
        self.all_packets += self.packets;
        self.all_accesses += self.accesses;
        self.joined += u32::from(self.is_joined);
        let known = self.state == State::Aggregates;
        if self.runs < if known { RUNS.0 } else { RUNS.1 } {
            return;
        }
        let is_batched = self.joined * JOINED > self.runs;
        let is_single = self.all_packets * 10 < self.all_accesses * AGGREGATES;
        *self = Self::of(match (known, is_batched, is_single) {
            (true, true, _) | (_, false, false) => State::Aggregates,
            (false, true, _) | (_, false, true) => State::Single(now + AGAIN),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: RunLimit = RunLimit { time: Span::from_millis(4), frames: 64, of_data: false };

    /// Runs of twelve packets, `per_access` of them in one access, on a path that delivers in batches of `batch` microseconds. Returns
    /// whether runs are then pairs.
    fn is_single(per_access: u32, batch: u64) -> bool {
        let (mut evidence, mut air) = (Evidence::new(), 0);
        for train in 0..60 {
            for _ in 0..12 / per_access {
                air += 250 + 250 * u64::from(per_access);
                let seen = if batch == 0 { air } else { air.div_ceil(batch) * batch };
                evidence.note_completion(Instant::ZERO + Span::from_micros(seen), train, per_access);
            }
        }
        evidence.limit(Instant::ZERO + Span::from_micros(air), FULL) == FULL.pair()
    }

    #[test]
    fn completions_show_whether_the_access_point_aggregates() {
        assert!(is_single(1, 0) && is_single(2, 0), "single frames, with and without delayed acknowledgments");
        assert!(!is_single(6, 0) && !is_single(12, 0));
    }

    #[test]
    fn from_batches_of_the_path_nothing_is_concluded() {
        assert!(!is_single(1, 5_000), "not known");
        assert!(!is_single(6, 5_000));
    }

    #[test]
    fn longer_runs_are_tried_again() {
        let mut evidence = Evidence::new();
        let at = |ms: u64| Instant::ZERO + Span::from_millis(ms);
        let mut now = 0;
        let mut run = |evidence: &mut Evidence, per_access: u32, runs: u64| {
            for train in 0..=runs {
                (0..12 / per_access).for_each(|_| {
                    now += 1;
                    evidence.note_completion(at(now), now / 100 * 1_000 + train, per_access);
                });
            }
            now
        };
        let now = run(&mut evidence, 1, 60);
        assert_eq!(evidence.limit(at(now), FULL), FULL.pair());
        assert_eq!(evidence.limit(at(now + 61_000), FULL), FULL);
        evidence.note_new_station();
        assert_eq!(evidence.limit(at(now), FULL), FULL);
    }
}
