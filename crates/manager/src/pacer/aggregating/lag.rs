//! The lag of the path: the time between a release and its completion that is neither a queue nor the medium.
//!
//! A driver, a mesh hop, a tunnel, answers in batches, a random delay: so much medium time has to be in flight beside what the
//! access point needs, or the medium waits for the box. A queue in the access point looks the same in a single packet, and so
//! the lag is measured without one. From time to time the box releases nothing until nothing is in flight, and then two packets
//! that an acknowledgment is due to, with those between that it covers: the first completion, less what they take themselves, is the lag.
//! A packet of a call, or one whose acknowledgment is delayed until the next one has come, would measure a receiver's timer.
//!
//! A driver or a station may be late by chance, and answers in batches are late by a batch at most. So the lag is the largest of the
//! last samples. A station may be later than all others, since it sleeps or is slow; that is no lag of the path. So samples of
//! stations that are much later than another one do not count.
//!
//! What a station acknowledges waits in its own queue behind the DATA that it uploads, by tens of milliseconds. With that taken for
//! lag the access point would have a queue as long, and ever longer. So samples of such stations do not count beside others, and where
//! there are no others the least of them is the lag.

use evenair_units::{Instant, Span};

/// Between two measurements, at first and at most.
const WAIT: (Span, Span) = (Span::from_millis(300), Span::from_secs(5));
/// Nothing is released for so long at most so that nothing is in flight; then, so that a completion comes.
const DRAIN: Span = Span::from_millis(100);
const PROBE: Span = Span::from_millis(200);
/// After draining something has to be released within this time.
const READY: Span = Span::from_millis(20);
/// So many releases with an acknowledgment due go then, and no more than this medium time.
const PROBES: u32 = 2;
const MOST: Span = Span::from_millis(8);
/// The lag is the largest of so many samples.
const SAMPLES: usize = 6;
/// A path with less lag than this is as good as none. What of a run may be complete before the box hears of it, on a longer one.
const NEAR: Span = Span::from_millis(1);
const UNSEEN: Span = Span::from_millis(2);
/// Before the first sample.
const UNKNOWN: Span = Span::from_millis(10);
/// A sample is that of a late station that is so much later than the least, and twice as late.
const LATE: Span = Span::from_millis(8);
/// What the probes take themselves is believed as far as this part of a sample, in quarters.
const OWN_QUARTERS: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    /// Nothing is released until nothing is in flight.
    Draining {
        since: Instant,
    },
    /// Nothing was in flight; the medium time of what was released since, without an acknowledgment due.
    Ready {
        since: Instant,
        own: Span,
    },
    /// The first of so many releases with an acknowledgment due went then, with this number; medium time of all.
    Probing {
        first: u64,
        since: Instant,
        due: u32,
        own: Span,
    },
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lag {
    stage: Stage,
    next: Instant,
    wait: Span,
    /// The newest one first.
    samples: [Option<Sample>; SAMPLES],
    /// Allowed before the first of them.
    unknown: Span,
}

/// What one measurement has shown.
#[derive(Clone, Copy, Debug)]
struct Sample {
    lag: Span,
    /// The acknowledgment came from a station that uploads.
    behind_upload: bool,
}

impl Lag {
    /// It is never measured, and nothing is allowed for it.
    pub(crate) const NONE: Self =
        Self { stage: Stage::Idle, next: Instant::MAX, wait: WAIT.0, samples: [None; SAMPLES], unknown: Span::ZERO };

    /// The box begins to hold packets.
    pub(crate) const fn new(now: Instant) -> Self {
        Self { next: now.saturating_add(WAIT.0), unknown: UNKNOWN, ..Self::NONE }
    }

    /// As far as it is known.
    pub(crate) fn get(&self) -> Option<Span> {
        let of = |behind_upload| {
            let samples = self.samples.iter().flatten();
            samples.filter(move |sample| sample.behind_upload == behind_upload).map(|sample| sample.lag)
        };
        let Some(least) = of(false).min() else { return of(true).min() };
        let prompt = (least * 2).max(least + LATE);
        of(false).filter(|&lag| lag <= prompt).max()
    }

    /// As much medium time as may be in flight because of it: a quarter more, since a medium that waits looks slow, and as much of
    /// a run as completes unseen.
    pub(crate) fn allowed(&self) -> Span {
        self.get().map_or(self.unknown, |lag| lag * 5 / 4 + lag.saturating_sub(NEAR).min(UNSEEN))
    }

    /// Until when nothing is to be released, if nothing is completed before; `in_flight`: something is.
    pub(crate) fn holds_until(&self, in_flight: bool) -> Option<Instant> {
        match self.stage {
            Stage::Draining { since } if in_flight => Some(since.saturating_add(DRAIN)),
            Stage::Probing { since, due, own, .. } if due >= PROBES || own >= MOST => Some(since.saturating_add(PROBE)),
            Stage::Idle | Stage::Draining { .. } | Stage::Ready { .. } | Stage::Probing { .. } => None,
        }
    }

    /// Something is to be released at once, whatever is in flight.
    pub(crate) const fn is_probing(&self) -> bool {
        matches!(self.stage, Stage::Ready { .. } | Stage::Probing { .. })
    }

    /// Time has passed; `waits`: packets wait in the box, and completions are due; `in_flight`: something is.
    pub(crate) fn expire(&mut self, now: Instant, waits: bool, in_flight: bool) {
        match self.stage {
            Stage::Idle if waits && now >= self.next => self.stage = Stage::Draining { since: now },
            Stage::Draining { .. } if !in_flight => self.stage = Stage::Ready { since: now, own: Span::ZERO },
            Stage::Draining { since } if now.saturating_since(since) >= DRAIN => self.end(now, None),
            Stage::Ready { since, .. } if now.saturating_since(since) >= READY => self.end(now, None),
            Stage::Probing { since, .. } if now.saturating_since(since) >= PROBE => self.end(now, None),
            _ => {}
        }
    }

    /// A release of this number goes, which takes so much medium time; `is_due`: an acknowledgment is due to it.
    pub(crate) fn note_release(&mut self, now: Instant, number: u64, medium: Span, is_due: bool) {
        match &mut self.stage {
            Stage::Ready { own, .. } if is_due => {
                self.stage = Stage::Probing { first: number, since: now, due: 1, own: *own + medium };
            }
            Stage::Ready { own, .. } => {
                *own += medium;
                if *own >= MOST {
                    self.end(now, None);
                }
            }
            Stage::Probing { due, own, .. } if *due < PROBES => {
                *due += u32::from(is_due);
                *own += medium;
            }
            Stage::Probing { .. } | Stage::Idle | Stage::Draining { .. } => {}
        }
    }

    /// This release is complete; `behind_upload`: its station sends DATA.
    pub(crate) fn note_completion(&mut self, now: Instant, number: u64, behind_upload: bool) {
        if let Stage::Probing { first, since, own, .. } = self.stage
            && number >= first
        {
            let took = now.saturating_since(since);
            let lag = took - own.min(took * OWN_QUARTERS / 4);
            self.end(now, Some(Sample { lag, behind_upload }));
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

#[cfg(test)]
mod tests;
