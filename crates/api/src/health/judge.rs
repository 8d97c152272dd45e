//! Evaluates the seconds of a box one by one.

use super::facts::{Facts, Recent};
use super::limits::Limits;
use super::means::Means;
use super::memory::Memory;
use super::reason::{Code, Reason};
use super::{machine, wifi};
use crate::Mode;
use crate::watch::Line;

/// Evaluates the health of a box second by second.
#[derive(Debug, Default)]
pub struct Health {
    memory: Memory,
    means: Means,
    recent: Recent,
    timed: machine::Timed,
    mode: Option<Mode>,
}

impl Health {
    /// The reasons after one more second, the most important first. The line must have all parts.
    pub fn observe(&mut self, line: &Line, facts: &Facts, limits: &Limits) -> Vec<Reason> {
        let mode = line.totals.as_ref().map(|totals| totals.mode).unwrap_or_default();
        if self.mode.replace(mode).is_some_and(|before| before != mode) {
            self.memory.forget(Code::is_about_wifi);
            self.means = Means::default();
        }
        self.means.add(line);
        let minute = self.recent.add(facts.counters);
        let timed = self.timed.add(line);
        let mut findings = machine::findings(line, facts, &machine::Lately { minute, timed }, limits);
        let known =
            wifi::Known { limits, means: &self.means, is_raised: &|code, mac| self.memory.is_raised(code, mac) };
        findings.extend(wifi::findings(line, &known));
        once(self.memory.take(line.at, findings))
    }
}

/// Removes stations that another one's reason names as holding the air with it: of two such stations the one that began first stays.
fn once(reasons: Vec<Reason>) -> Vec<Reason> {
    let is_named = |reason: &Reason| {
        let mut others = reasons.iter().filter(|other| other.code == Code::HoldsTheAir);
        reason.code == Code::HoldsTheAir
            && others.any(|other| {
                let is_first = (other.since_s, &other.subject.id) < (reason.since_s, &reason.subject.id);
                is_first && other.with.contains(&reason.subject)
            })
    };
    reasons.iter().filter(|reason| !is_named(reason)).cloned().collect()
}
