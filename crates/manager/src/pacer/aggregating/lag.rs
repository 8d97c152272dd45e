//! The lag of the path: the time between a release and its completion that is neither a queue nor the medium.
//!
//! A driver, a mesh hop, a tunnel, answers in batches, a random delay: as much medium time has to be in flight beyond what the access
//! point needs, or the medium waits for the box. In a single packet a queue of the access point looks the same, and so the lag is measured
//! without one. Periodically the box releases nothing until nothing is in flight, and then two packets with an acknowledgment due, with
//! packets between that the acknowledgment covers: the time of the first completion, less the medium time of these packets, is the lag. A
//! packet of a call, or one whose acknowledgment is delayed until the next one has come, would measure a receiver's timer.
//!
//! A driver or a station may be late by chance, and answers in batches are late by up to a batch. So the lag is one of the largest of the
//! last samples, but not the largest, which may have met collisions and long backoffs of other stations' acknowledgments. A station may be
//! much later than all others, since it sleeps or is slow; that is no lag of the path. So samples that are much later than the least do not
//! count.
//!
//! Acknowledgments of a station that uploads wait in its own queue behind its DATA, for tens of milliseconds. If that counted as lag, the
//! access point would have a queue as long, and ever longer. So samples of such stations do not count beside others, and without others
//! the least of them is the lag. So are samples while all senders repeat what they have lost: no acknowledgment is due for sure then, and
//! the first one that comes is the sample.

use evenair_units::{Instant, Span};

/// Time to the first measurement, and longest time between two.
const WAIT: (Span, Span) = (Span::from_millis(300), Span::from_secs(5));
/// Longest time without releases to let everything in flight complete; then, longest wait for the probes' completion.
const DRAIN: Span = Span::from_millis(100);
const PROBE: Span = Span::from_millis(200);
/// Longest time from draining to the next release.
const READY: Span = Span::from_millis(20);
/// Probes of a measurement: releases with an acknowledgment due, and the medium time of all of them at most.
const PROBES: u32 = 2;
const MOST: Span = Span::from_millis(8);
/// Samples of which the second largest is the lag.
const SAMPLES: usize = 6;
/// Lags up to `NEAR` are mostly waits for the medium. On a longer path up to `UNSEEN` of a run may complete before the box notices. On a
/// shorter one the box hears of each completion at once, and up to `SPARE` less than the target is enough.
const NEAR: Span = Span::from_millis(1);
const UNSEEN: Span = Span::from_millis(2);
const SPARE: Span = Span::from_millis(1);
/// Allowance in flight before the first sample, in medium time.
const UNKNOWN: Span = Span::from_millis(10);
/// A sample is of a late station if it exceeds the least one by this, and is more than twice as long.
const LATE: Span = Span::from_millis(8);
/// Lag from which on less than twice as much is in flight, at the target of 3 ms. If the wait for the box then counted as medium time, it
/// would go on: less would be in flight, for a longer wait.
const LONG: Span = Span::from_millis(7);
/// Most lag by a sample without an acknowledgment due, so that what is then allowed in flight drains within [`DRAIN`].
const REPEATED: Span = Span::from_millis(30);
/// Largest part of a sample, in quarters, that is subtracted as the probes' own medium time.
const OWN_QUARTERS: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    /// Nothing is released until nothing is in flight.
    Draining {
        since: Instant,
    },
    /// Nothing was in flight; `first`: the first release since then, without an acknowledgment due, with its instant in `since`; `own`:
    /// medium time of these.
    Ready {
        since: Instant,
        first: Option<u64>,
        own: Span,
    },
    /// Probes are in flight: the first one's number and instant, how many have an acknowledgment due, and medium time of all. None is due
    /// where a sender repeats what it has lost: then releases go on, and any completion tells.
    Probing {
        first: u64,
        since: Instant,
        due: u32,
        own: Span,
    },
}

/// Measurement of the lag; see the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lag {
    stage: Stage,
    next: Instant,
    wait: Span,
    /// Recent samples, newest first.
    samples: [Option<Sample>; SAMPLES],
    /// Allowed before the first of them.
    unknown: Span,
}

/// Result of one measurement.
#[derive(Clone, Copy, Debug)]
struct Sample {
    lag: Span,
    /// Whether its station uploads, or no acknowledgment was due.
    may_be_late: bool,
}

impl Lag {
    /// It is never measured, and nothing is allowed for it.
    pub(crate) const NONE: Self =
        Self { stage: Stage::Idle, next: Instant::MAX, wait: WAIT.0, samples: [None; SAMPLES], unknown: Span::ZERO };

    /// The box begins to hold packets.
    pub(crate) const fn new(now: Instant) -> Self {
        Self { next: now.saturating_add(WAIT.0), unknown: UNKNOWN, ..Self::NONE }
    }

    /// The lag, at least: the least of the recent samples that are not late; zero if it is shorter than [`LONG`].
    pub(crate) fn least_if_long(&self) -> Span {
        let samples = self.samples.iter().flatten().filter(|sample| !sample.may_be_late);
        samples.map(|sample| sample.lag).min().filter(|&least| least >= LONG).unwrap_or(Span::ZERO)
    }

    /// The lag; `None`: no sample yet.
    pub(crate) fn get(&self) -> Option<Span> {
        let of = |may_be_late| {
            let samples = self.samples.iter().flatten();
            samples.filter(move |sample| sample.may_be_late == may_be_late).map(|sample| sample.lag)
        };
        let Some(least) = of(false).min() else { return of(true).min() };
        let prompt = (least * 2).max(least + LATE);
        second_of(of(false).filter(|&lag| lag <= prompt))
    }

    /// Medium time allowed in flight because of the lag: a quarter more than the lag, since a medium that waits looks slow, and the part
    /// of a run that completes unnoticed.
    pub(crate) fn allowed(&self) -> Span {
        self.get().map_or(self.unknown, |lag| lag * 5 / 4 + lag.saturating_sub(NEAR).min(UNSEEN))
    }

    /// Medium time by which the target is longer than needed, since no recent sample, late or not, has more than hardly a lag: a path
    /// with jitter needs all of it. Zero before the second sample.
    pub(crate) fn spare(&self) -> Span {
        let longest = self.samples.iter().flatten().map(|sample| sample.lag).max();
        let longest = longest.filter(|_| self.samples[1].is_some()).unwrap_or(NEAR);
        (NEAR.saturating_sub(longest) * 2).min(SPARE)
    }

    /// Until when nothing is released, unless a completion comes before; `in_flight`: something is in flight.
    pub(crate) fn holds_until(&self, in_flight: bool) -> Option<Instant> {
        match self.stage {
            Stage::Draining { since } if in_flight => Some(since.saturating_add(DRAIN)),
            Stage::Probing { since, due, own, .. } if due >= PROBES || due > 0 && own >= MOST => {
                Some(since.saturating_add(PROBE))
            }
            Stage::Idle | Stage::Draining { .. } | Stage::Ready { .. } | Stage::Probing { .. } => None,
        }
    }

    /// Whether packets are to be released at once, regardless of what is in flight.
    pub(crate) const fn is_probing(&self) -> bool {
        matches!(self.stage, Stage::Ready { .. } | Stage::Probing { due: 1.., .. })
    }

    /// Advances to now; `waits`: packets wait in the box, and completions are due; `in_flight`: something is in flight.
    pub(crate) fn expire(&mut self, now: Instant, waits: bool, in_flight: bool) {
        match self.stage {
            Stage::Idle if waits && now >= self.next => self.stage = Stage::Draining { since: now },
            Stage::Draining { .. } if !in_flight => {
                self.stage = Stage::Ready { since: now, first: None, own: Span::ZERO }
            }
            Stage::Draining { since } if now.saturating_since(since) >= DRAIN => self.end(now, None),
            Stage::Ready { since, .. } if now.saturating_since(since) >= READY => self.end(now, None),
            Stage::Probing { since, .. } if now.saturating_since(since) >= PROBE => self.end(now, None),
            _ => {}
        }
    }

    /// Notes a release with its number and medium time; `is_due`: an acknowledgment is due.
    pub(crate) fn note_release(&mut self, now: Instant, number: u64, medium: Span, is_due: bool) {
        match &mut self.stage {
            Stage::Ready { own, .. } if is_due => {
                self.stage = Stage::Probing { first: number, since: now, due: 1, own: *own + medium };
            }
            Stage::Ready { since, first, own } => {
                if first.is_none() {
                    (*first, *since) = (Some(number), now);
                }
                *own += medium;
                if let Some(first) = first.filter(|_| *own >= MOST) {
                    self.stage = Stage::Probing { first, since: *since, due: 0, own: *own };
                }
            }
            Stage::Probing { due: due @ 1..PROBES, own, .. } => {
                *due += u32::from(is_due);
                *own += medium;
            }
            Stage::Probing { .. } | Stage::Idle | Stage::Draining { .. } => {}
        }
    }

    /// Notes a completion; `behind_upload`: its station sends DATA.
    pub(crate) fn note_completion(&mut self, now: Instant, number: u64, behind_upload: bool) {
        if let Stage::Probing { first, since, due, own } = self.stage
            && number >= first
        {
            let took = now.saturating_since(since);
            let lag = took - own.min(took * OWN_QUARTERS / 4);
            let sample = match due {
                0 => Sample { lag: lag.min(REPEATED), may_be_late: true },
                _ => Sample { lag, may_be_late: behind_upload },
            };
            self.end(now, Some(sample));
        }
    }

    fn end(&mut self, now: Instant, sample: Option<Sample>) {
        if sample.is_some() {
            self.samples.rotate_right(1);
            self.samples[0] = sample;
        }
        (self.stage, self.next) = (Stage::Idle, now + self.wait);
        self.wait = (self.wait * 2).min(WAIT.1);
    }
}

/// The second largest of three lags or more, else the largest: of two it cannot be told whether the larger one is late by chance.
fn second_of(lags: impl Iterator<Item = Span>) -> Option<Span> {
    let (mut count, mut largest, mut second) = (0, None, None);
    for lag in lags.map(Some) {
        count += 1;
        second = second.max(lag.min(largest));
        largest = largest.max(lag);
    }
    if count < 3 { largest } else { second }
}

#[cfg(test)]
mod tests;
