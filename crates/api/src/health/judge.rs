//! Judges the seconds of a box one after the other.

use super::facts::{Facts, Recent};
use super::limits::Limits;
use super::memory::Memory;
use super::reason::{Code, Reason};
use super::{machine, wifi};
use crate::Mode;
use crate::watch::Line;

/// Judges second by second.
#[derive(Debug, Default)]
pub struct Health {
    memory: Memory,
    recent: Recent,
    timed: machine::Timed,
    mode: Option<Mode>,
}

impl Health {
    /// The reasons after one more second, that which matters most first. The line has all its parts.
    pub fn observe(&mut self, line: &Line, facts: &Facts, limits: &Limits) -> Vec<Reason> {
        let mode = line.totals.as_ref().map(|totals| totals.mode).unwrap_or_default();
        if self.mode.replace(mode).is_some_and(|before| before != mode) {
            self.memory.forget(Code::is_about_wifi);
        }
        let minute = self.recent.add(facts.counters);
        let timed = self.timed.add(line);
        let mut findings = machine::findings(line, facts, &machine::Lately { minute, timed }, limits);
        findings.extend(wifi::findings(line, limits, |mac| self.memory.is_raised(Code::Starving, mac)));
        self.memory.take(line.at, findings)
    }
}
