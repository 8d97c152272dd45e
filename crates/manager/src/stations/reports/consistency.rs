//! Detects reported rates that the observed traffic contradicts.
//!
//! The airtime of a packet at its reported rate is a lower bound of the time that the medium takes: collisions,
//! retries and other networks only add to it. So the airtimes computed from reported rates cannot add up to more than
//! the elapsed time. If they do, a reported rate is too low:
//! - the rate of one station, if that station alone exceeds the elapsed time;
//! - the rate of an unknown one, if all reported stations together exceed it; then none of their rates is used.
//!
//! A rejected rate is tried again after a while, and after a longer one each time.
//!
//! Rates that are wrong relative to each other, one too high or too low among several busy stations, are detected by
//! the measured cost of each station (`observed`, `outliers`). Such a rate is not used as long as it is contradicted;
//! the measurement goes on, so nothing has to be tried again.
//!
//! Not detected: wrong rates of stations that use almost no airtime, where they do almost no harm.

use evenair_units::{Instant, Span};

use super::outliers::OutlierCheck;

/// Airtime at the reported rates per elapsed time, in hundredths, up to which the rates are accepted: rates in force lag
/// behind the true ones for some samples, and released packets wait for a moment.
const ACCEPTED_PERCENT: u64 = 125;
/// Intervals in a row with a contradiction until a rate is rejected.
const INTERVALS: u8 = 3;
/// Time for which a rate is rejected: at first, at most.
const FIRST_ASIDE: Span = Span::from_secs(30);
const LONGEST_ASIDE: Span = Span::from_secs(480);
/// Intervals in a row without a measured cost after which an earlier outlier check of the station no longer counts.
const INTERVALS_UNSEEN: u8 = 60;

/// The evidence against the reports about a station, and whether they are rejected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConsistencyCheck {
    /// Intervals in a row with evidence against the rate.
    against: u8,
    aside_until: Instant,
    /// How often the rate was rejected.
    times: u8,
    /// Whether the outlier check contradicts the rate; number of intervals in which it has disagreed with that, or had
    /// no result.
    contradicted: bool,
    opposed: u8,
    unseen: u8,
}

/// Airtime of all stations together, by the reported rates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shares {
    against: u8,
}

impl ConsistencyCheck {
    pub(crate) fn is_set_aside(&self, now: Instant) -> bool {
        self.contradicted || now < self.aside_until
    }

    /// Handles the outlier check of an interval (`None`: the cost is not measured). True: the rate is contradicted from
    /// now on.
    pub(crate) fn on_outlier_check(&mut self, outlier: Option<OutlierCheck>) -> bool {
        self.unseen = if outlier.is_none() { self.unseen.saturating_add(1) } else { 0 };
        if self.unseen >= INTERVALS_UNSEEN {
            self.contradicted = false;
        }
        let opposes = match outlier {
            Some(OutlierCheck::Contradicts) => !self.contradicted,
            Some(OutlierCheck::Agrees) => self.contradicted,
            Some(OutlierCheck::Unclear) | None => false,
        };
        let turned = count(&mut self.opposed, opposes);
        self.contradicted ^= turned;
        turned && self.contradicted
    }

    /// Handles an interval in which the station used this airtime at the reported rate. True: the rate is contradicted.
    pub(crate) fn on_airtime(&mut self, used: Span, interval: Span) -> bool {
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
    /// Handles an interval in which all reported stations together used this airtime. True: their rates are
    /// contradicted.
    pub(crate) fn on_airtime(&mut self, used: Span, interval: Span) -> bool {
        count(&mut self.against, is_too_much(used, interval))
    }
}

/// Whether more airtime was used than time has passed.
fn is_too_much(used: Span, interval: Span) -> bool {
    used.as_nanos().saturating_mul(100) > interval.as_nanos().saturating_mul(ACCEPTED_PERCENT)
}

/// Counts consecutive intervals with evidence. True: there are enough.
fn count(against: &mut u8, is_evidence: bool) -> bool {
    *against = if is_evidence { *against + 1 } else { 0 };
    let enough = *against >= INTERVALS;
    if enough {
        *against = 0;
    }
    enough
}
