//! When what crosses contradicts a rate that was told.
//!
//! The airtime that a rate gives to a packet is a lower bound of the time that the medium takes for it: collisions,
//! retries and other networks only add to it. So nobody can use more airtime, by the rates that are told, than time has
//! passed. Where it seems so, a rate is told that is too low:
//! - of one station, if it alone seems to use more than all of the time;
//! - of somebody, if all that are told of together do. Who of them is not known, and so all are set aside.
//!
//! What is set aside is tried again after a while, each time after a longer one.
//!
//! Rates that are wrong beside each other, one too high or one too low among several busy stations, are found by what each
//! station really costs (`observed`, `verdict`). Such a rate is set aside as long as it is contradicted, and that goes on
//! being measured: nothing has to be tried again.
//!
//! What is not seen: rates of stations that use nearly nothing, where a wrong one does nearly no harm.

use evenair_units::{Instant, Span};

use super::verdict::Verdict;

/// Airtime by the rates told for each unit of time, in hundredths, that is still believed: rates in force lag behind the
/// true ones for some samples, and what is released waits for a moment.
const BELIEVED_PERCENT: u64 = 125;
/// In so many intervals in a row, and it is no accident.
const INTERVALS: u8 = 3;
/// For how long a rate is set aside, at first and at most.
const FIRST_ASIDE: Span = Span::from_secs(30);
const LONGEST_ASIDE: Span = Span::from_secs(480);
/// In so many intervals in a row nothing is observed of a station, and what was does not count any more.
const INTERVALS_UNSEEN: u8 = 60;

/// How far what is told of a station is in doubt.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubt {
    /// Intervals in a row with evidence against it.
    against: u8,
    aside_until: Instant,
    /// How often it was set aside.
    times: u8,
    /// What it really costs says so, and for how many intervals it has said the opposite, or nothing.
    contradicted: bool,
    opposed: u8,
    unseen: u8,
}

/// The airtime, by the rates told, that all stations used together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shares {
    against: u8,
}

impl Doubt {
    pub(crate) fn is_set_aside(&self, now: Instant) -> bool {
        self.contradicted || now < self.aside_until
    }

    /// An interval has ended in which its cost was this beside what is told (`None`: not known). True: with this one there
    /// is enough against it.
    pub(crate) fn weigh(&mut self, verdict: Option<Verdict>) -> bool {
        self.unseen = if verdict.is_none() { self.unseen.saturating_add(1) } else { 0 };
        if self.unseen >= INTERVALS_UNSEEN {
            self.contradicted = false;
        }
        let opposes = match verdict {
            Some(Verdict::Contradicts) => !self.contradicted,
            Some(Verdict::Agrees) => self.contradicted,
            Some(Verdict::Unclear) | None => false,
        };
        let turned = count(&mut self.opposed, opposes);
        self.contradicted ^= turned;
        turned && self.contradicted
    }

    /// In an interval of this length the station used so much airtime by the rate told. True: with this one there is enough
    /// against it.
    pub(crate) fn judge(&mut self, used: Span, interval: Span) -> bool {
        count(&mut self.against, is_too_much(used, interval))
    }

    pub(crate) fn set_aside(&mut self, now: Instant) {
        let aside = FIRST_ASIDE * (1 << self.times.min(4));
        self.times = self.times.saturating_add(1);
        self.aside_until = now.saturating_add(aside.min(LONGEST_ASIDE));
        self.against = 0;
    }
}

impl Shares {
    /// In an interval of this length all stations that are told of used so much airtime by these rates together.
    pub(crate) fn judge(&mut self, used: Span, interval: Span) -> bool {
        count(&mut self.against, is_too_much(used, interval))
    }
}

/// More airtime than there was time.
fn is_too_much(used: Span, interval: Span) -> bool {
    used.as_nanos().saturating_mul(100) > interval.as_nanos().saturating_mul(BELIEVED_PERCENT)
}

/// Counts intervals with evidence in a row; true: these are enough.
fn count(against: &mut u8, is_evidence: bool) -> bool {
    *against = if is_evidence { *against + 1 } else { 0 };
    let enough = *against >= INTERVALS;
    if enough {
        *against = 0;
    }
    enough
}
