//! Raises and clears reasons: with delays and hysteresis, so that a condition near its limit does not flicker.

use std::collections::BTreeMap;

use super::reason::{Code, Finding, Level, Reason, SubjectKind};

/// Seconds beyond the limit until a reason is raised: longer than a burst of TCP slow start or a scan of channels.
pub const RAISED_AFTER: u32 = 5;
/// The same for `wifi-latency` while a reason that would explain it is also beyond its limit, so that the cause is raised first.
const RAISED_WITH_CAUSE_AFTER: u32 = 9;
/// Seconds well within the limit until a reason is cleared.
pub const CLEARED_AFTER: u32 = 15;
/// The same for a reason that has returned.
pub const CLEARED_AFTER_RETURN: u32 = 60;
/// Seconds within which a reason that is raised again has returned.
pub const RETURNS_WITHIN: u64 = 600;
/// Part of the limit below which a condition is well within it.
const WELL_WITHIN: f64 = 0.8;

/// Identity of a reason: there is at most one with each key.
type Key = (Code, SubjectKind, String);

#[derive(Debug, Default)]
struct Track {
    /// Seconds beyond the limit, without one well within it.
    beyond: u32,
    /// Consecutive seconds that were well within the limit or did not show the condition.
    within: u32,
    /// Clock time of the first second beyond the limit.
    since_s: f64,
    raised: Option<Reason>,
    /// Whether it was raised again soon after it had been cleared.
    came_back: bool,
    /// Second in which it was cleared.
    cleared: Option<u64>,
}

/// Conditions that are or recently were beyond their limits.
#[derive(Debug, Default)]
pub(super) struct Memory {
    tracks: BTreeMap<Key, Track>,
    /// Number of seconds so far.
    second: u64,
}

impl Memory {
    /// Handles the findings of a second. Conditions without a finding are well within their limits.
    pub(super) fn take(&mut self, at_s: f64, findings: Vec<Finding>) -> Vec<Reason> {
        self.second += 1;
        let second = self.second;
        let mut seen: BTreeMap<Key, Finding> = BTreeMap::new();
        for finding in findings {
            let key = (finding.code, finding.subject.kind, finding.subject.id.clone());
            if finding.degree.is_none_or(|degree| degree >= WELL_WITHIN) {
                self.tracks.entry(key.clone()).or_default();
                seen.insert(key, finding);
            }
        }
        let mut has_cause = false;
        for (key, track) in self.tracks.iter_mut().filter(|((code, ..), _)| *code != Code::WifiLatency) {
            track.step(second, at_s, seen.remove(key), RAISED_AFTER);
            has_cause |= key.0.explains_latency() && track.raised.is_none() && track.beyond > 0;
        }
        let raised_after = if has_cause { RAISED_WITH_CAUSE_AFTER } else { RAISED_AFTER };
        for (key, track) in self.tracks.iter_mut().filter(|((code, ..), _)| *code == Code::WifiLatency) {
            track.step(second, at_s, seen.remove(key), raised_after);
        }
        self.tracks.retain(|_, track| track.is_of_use(second));
        let mut reasons: Vec<_> = self.tracks.values().filter_map(|track| track.raised.clone()).collect();
        // The map is in the order of codes, and so of importance.
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.level));
        reasons
    }

    pub(super) fn is_raised(&self, code: Code, station: &str) -> bool {
        let key = (code, SubjectKind::Station, station.to_owned());
        self.tracks.get(&key).is_some_and(|track| track.raised.is_some())
    }

    /// Forgets the reasons with these codes.
    pub(super) fn forget(&mut self, which: impl Fn(Code) -> bool) {
        self.tracks.retain(|(code, ..), _| !which(*code));
    }
}

impl Track {
    fn step(&mut self, second: u64, at_s: f64, finding: Option<Finding>, raised_after: u32) {
        match finding {
            Some(finding) if finding.degree.is_some() => self.near(second, at_s, finding, raised_after),
            unknown => {
                self.within += 1;
                // A second without information neither adds to the time beyond the limit nor ends it.
                if unknown.is_none() || self.within >= CLEARED_AFTER {
                    self.beyond = 0;
                }
            }
        }
        let cleared_after = if self.came_back { CLEARED_AFTER_RETURN } else { CLEARED_AFTER };
        if self.within >= cleared_after && self.raised.take().is_some() {
            self.cleared = Some(second);
        }
    }

    /// Handles a second near the limit or beyond it.
    fn near(&mut self, second: u64, at_s: f64, finding: Finding, raised_after: u32) {
        self.within = 0;
        let is_beyond = finding.degree.is_some_and(|degree| degree > 1.0);
        if is_beyond {
            if self.beyond == 0 {
                self.since_s = at_s;
            }
            self.beyond = self.beyond.saturating_add(1);
        }
        if self.raised.is_none() && is_beyond && self.beyond >= raised_after {
            self.came_back = self.cleared.is_some_and(|cleared| second - cleared <= RETURNS_WITHIN);
        } else if self.raised.is_none() {
            return;
        }
        let since_s = self.raised.as_ref().map_or(self.since_s, |reason| reason.since_s);
        let Finding { code, subject, value, limit, unit, sentence, remedy, with, suffering, starves, .. } = finding;
        let round = |value: f64| (value * 100.0).round() / 100.0;
        self.raised = Some(Reason {
            code,
            level: if starves { Level::Bad } else { code.level() },
            subject,
            since_s,
            sentence,
            value: round(value),
            limit: round(limit),
            unit: unit.into(),
            remedy,
            with,
            suffering,
        });
    }

    /// Whether it may still be raised, or return.
    fn is_of_use(&self, second: u64) -> bool {
        let may_return = self.cleared.is_some_and(|cleared| second - cleared <= RETURNS_WITHIN);
        self.raised.is_some() || may_return || self.within < CLEARED_AFTER
    }
}
