//! Collects the list of measures.

use evenair_scenario::measures::{Key, Kind};

use super::super::Distribution;
use super::measure::{Measure, unit_of};

/// Measures so far, and the keys of the next ones.
pub(super) struct Rows {
    pub list: Vec<Measure>,
    pub phase: Option<String>,
    kind: Kind,
    name: Option<String>,
    /// Prefix of measure names.
    prefix: String,
}

impl Default for Rows {
    fn default() -> Self {
        Self { list: Vec::new(), phase: None, kind: Kind::Run, name: None, prefix: String::new() }
    }
}

impl Rows {
    /// Adds measures of one object of a kind.
    pub fn of(&mut self, kind: Kind, name: Option<&str>, fill: impl FnOnce(&mut Self)) {
        let prefix = std::mem::take(&mut self.prefix);
        let before = (self.kind, std::mem::replace(&mut self.name, name.map(str::to_owned)));
        self.kind = kind;
        fill(self);
        (self.kind, self.name) = before;
        self.prefix = prefix;
    }

    /// Adds measures that begin with `part.`.
    pub fn inside(&mut self, part: &str, fill: impl FnOnce(&mut Self)) {
        let length = self.prefix.len();
        self.prefix.push_str(part);
        self.prefix.push('.');
        fill(self);
        self.prefix.truncate(length);
    }

    pub fn add(&mut self, measure: &str, value: f64) {
        let measure = format!("{}{measure}", self.prefix);
        let (phase, name) = (self.phase.clone(), self.name.clone());
        let key =
            Key { phase: phase.as_deref(), kind: self.kind, name: name.as_deref(), measure: measure.as_str().into() };
        let unit = unit_of(&key);
        self.list.push(Measure { phase, kind: self.kind, name, measure, unit, value });
    }

    pub fn add_known(&mut self, measure: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.add(measure, value);
        }
    }

    /// Adds the statistics of times under the name `of`.
    pub fn distribution(&mut self, of: &str, times: Option<&Distribution>) {
        let Some(times) = times else { return };
        for (what, ms) in spread(times) {
            self.add(&format!("{of}_{what}_ms"), ms);
        }
    }
}

/// Statistics of times, in milliseconds.
pub(super) fn spread(times: &Distribution) -> [(&'static str, f64); 6] {
    [
        ("mean", times.mean_ms),
        ("p10", times.p10_ms),
        ("p50", times.p50_ms),
        ("p90", times.p90_ms),
        ("p99", times.p99_ms),
        ("max", times.max_ms),
    ]
}

/// Words of the results as a part of a name: "internet link" becomes `internet_link`.
pub(super) fn as_part(words: &str) -> String {
    words.replace([' ', '.'], "_")
}
