//! Slots in which the medium was idle: how long a frame can have contended.
//!
//! A frame that is sent for the first time has drawn a back-off of at most the category's first window, and counts it down in
//! idle slots, each time after AIFS (IEEE Std 802.11-2016, 10.3.4.3 and 10.22.2.4). So it was not at the head of its queue
//! when more idle slots than that were still to come. Slots are counted with care, for one too many is a wrong answer, and
//! one too few a wider one: after a frame that could not be decoded silence of EIFS is taken off, a frame whose end is not known
//! hides the gap behind it, and so does the time that the last frame reserves.

use std::time::Duration;

use evenair_wifi::{AccessCategory, EdcaParameters, Phy, Standard};

use super::capture::{AirFrame, AirKind, NO_TID, Number};

/// Clocks of monitors count microseconds: by how much the ends of a gap may be off together.
const CLOCK: Duration = Duration::from_micros(2);

/// A silence on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    begin: Duration,
    end: Duration,
    /// What was before it could not be decoded.
    after_bad: bool,
}

/// A frame's first attempt to get the medium: when its transmission began, and with which parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contention {
    pub(super) begins: Duration,
    /// The most idle slots that it waits for.
    pub(super) window: u64,
    aifsn: u8,
}

/// The silences of a capture, in the order of time.
pub(super) struct Idle {
    gaps: Vec<Gap>,
    phy: Phy,
}

impl Idle {
    /// Of frames in the order of their records.
    pub(super) fn of(air: &[&AirFrame]) -> Self {
        let is_data = |frame: &&&AirFrame| matches!(frame.kind, AirKind::Data(_));
        // A BSS with stations of 802.11b has their slot and windows.
        let dsss = air.iter().filter(is_data).any(|frame| frame.dsss);
        let phy = Phy::default_for(if dsss { Standard::Dot11b } else { Standard::Dot11g });
        let mut gaps = Vec::new();
        let mut busy_until: Option<(Duration, bool)> = None;
        for frame in air {
            if let Some((begin, after_bad)) = busy_until
                && frame.begins > begin
            {
                gaps.push(Gap { begin, end: frame.begins, after_bad });
            }
            let is_bad = matches!(frame.kind, AirKind::Bad { .. });
            let until = frame.busy.map(|busy| (frame.begins + busy, is_bad));
            busy_until = match (busy_until, until) {
                (Some(before), Some(until)) => {
                    Some((before.0.max(until.0), before.0 > frame.begins && before.1 || is_bad))
                }
                (None, until) => until,
                (Some(_), None) => None,
            };
        }
        Self { gaps, phy }
    }

    /// How a frame contends that begins at an instant and is numbered like this; `None` where it goes on with a TXOP. Of a node
    /// that uses several categories, one may have drawn from a wider window after another went first (10.22.2.6).
    pub(super) fn contention(&self, begins: Duration, number: Number, several: bool) -> Option<Contention> {
        // In a TXOP only SIFS is between its frames.
        let gap = self.before(begins).next().filter(|gap| gap.end == begins)?;
        let half_slot = self.phy.slot() / 2;
        if gap.end - gap.begin < Duration::from_nanos((self.phy.sifs() + half_slot).as_nanos()) {
            return None;
        }
        let EdcaParameters { aifsn, cw_min, .. } = if number.tid == NO_TID {
            EdcaParameters { aifsn: 2, ..self.phy.default_edca()[AccessCategory::BestEffort.index()] }
        } else {
            self.phy.default_edca()[category(number.tid).index()]
        };
        let window = if several { 2 * u64::from(cw_min) + 1 } else { u64::from(cw_min) };
        Some(Contention { begins, window, aifsn })
    }

    /// The instant since which a frame has been at the head of its queue at the earliest: the beginning of the silence in which
    /// more idle slots were still to come than it can have waited for. `None` where that is before `after`.
    pub(super) fn earliest(&self, contention: &Contention, after: Duration) -> Option<Duration> {
        let mut slots = 0;
        for gap in self.before(contention.begins).take_while(|gap| gap.begin > after) {
            slots += self.slots(gap, contention.aifsn);
            // One more: the last silence ends whenever a frame comes to an idle medium.
            if slots > contention.window + 1 {
                return Some(gap.begin);
            }
        }
        None
    }

    /// Idle slots between an instant and the beginning of a frame.
    pub(super) fn slots_since(&self, after: Duration, contention: &Contention) -> u64 {
        let gaps = self.before(contention.begins).take_while(|gap| gap.end > after);
        gaps.map(|gap| self.slots(gap, contention.aifsn)).sum()
    }

    /// The gaps before an instant, latest first.
    fn before(&self, at: Duration) -> impl Iterator<Item = &Gap> {
        self.gaps[..self.gaps.partition_point(|gap| gap.end <= at)].iter().rev()
    }

    fn slots(&self, gap: &Gap, aifsn: u8) -> u64 {
        let space = self.phy.sifs() + self.phy.slot() * u64::from(aifsn);
        let space = if gap.after_bad { space.max(self.phy.eifs()) } else { space };
        let idle = (gap.end - gap.begin).saturating_sub(Duration::from_nanos(space.as_nanos()));
        // A clock that is a little short does not make a slot less.
        let idle = (idle + CLOCK).as_nanos() as u64;
        let slots = idle / self.phy.slot().as_nanos();
        if gap.after_bad { slots.saturating_sub(1) } else { slots }
    }
}

/// The access category of a traffic identifier (table 10-1).
pub(super) fn category(tid: u8) -> AccessCategory {
    match tid & 7 {
        1 | 2 => AccessCategory::Background,
        4 | 5 => AccessCategory::Video,
        6 | 7 => AccessCategory::Voice,
        _ => AccessCategory::BestEffort,
    }
}
