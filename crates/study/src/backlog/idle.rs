//! Idle slots of the medium: an upper bound of how long a frame has contended.
//!
//! A frame that is sent for the first time has drawn a back-off of at most CWmin of its access category, and counts it down in
//! idle slots, each time after AIFS (IEEE Std 802.11-2016, 10.3.4.3 and 10.22.2.4). So it was not yet at the head of its queue
//! when more idle slots than that were still to come. Slots are counted conservatively, because one too many makes the bound
//! wrong, and one too few only makes it wider: after an undecodable frame EIFS is subtracted; a frame whose end is unknown hides
//! the gap behind it, and so does the time that the last frame reserves.

use std::time::Duration;

use evenair_wifi::{AccessCategory, EdcaParameters, Phy, Standard};

use super::capture::{AirFrame, AirKind, NO_TID, Number};

/// Tolerance for both ends of a gap together: monitors' clocks count microseconds.
const CLOCK: Duration = Duration::from_micros(2);

/// A gap in which the medium was silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    begin: Duration,
    end: Duration,
    /// Whether the frame before it could not be decoded.
    after_bad: bool,
}

/// First contention of a frame: the start of its transmission, and its EDCA parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contention {
    pub(super) begins: Duration,
    /// Contention window: the most idle slots that it waits for.
    pub(super) window: u64,
    aifsn: u8,
}

/// The gaps of a capture, in the order of time.
pub(super) struct Idle {
    gaps: Vec<Gap>,
    phy: Phy,
}

impl Idle {
    /// The gaps between frames, which are in the order of their records.
    pub(super) fn of(air: &[&AirFrame]) -> Self {
        let is_data = |frame: &&&AirFrame| matches!(frame.kind, AirKind::Data(_));
        // A BSS with 802.11b stations uses their slot and contention window.
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

    /// The contention of a frame with this start and number; `None` if it continues a TXOP. With `several` access categories in
    /// a node, the window is doubled: an internal collision may have done so (10.22.2.6).
    pub(super) fn contention(&self, begins: Duration, number: Number, several: bool) -> Option<Contention> {
        // Within a TXOP frames are only SIFS apart.
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

    /// Earliest instant at which the frame can have been at the head of its queue: the beginning of the gap before which more
    /// idle slots would remain than it can have waited for. `None` if that is before `after`.
    pub(super) fn earliest(&self, contention: &Contention, after: Duration) -> Option<Duration> {
        let mut slots = 0;
        for gap in self.before(contention.begins).take_while(|gap| gap.begin > after) {
            slots += self.slots(gap, contention.aifsn);
            // One more: the last gap ends whenever a frame meets an idle medium.
            if slots > contention.window + 1 {
                return Some(gap.begin);
            }
        }
        None
    }

    /// Number of idle slots between an instant and the beginning of a frame.
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
        // A clock that is slightly short must not cost a slot.
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
