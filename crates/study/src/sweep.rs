//! Results of a sweep: one row per point; for each measure its mean and the half-width of its 95 % confidence
//! interval over the replications.

use std::collections::{HashMap, HashSet};

use evenair_results::estimate::{CONFIDENCE, Estimate};
use evenair_results::{Table, Values};
use evenair_scenario::Axis;

use crate::{Plan, PlannedRun, Store};

/// One point of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct PointResult {
    /// The varied keys with their values.
    pub varied: Vec<(String, String)>,
    /// Number of successful runs.
    pub runs: u64,
    /// Measures that at least one run has a value of, in order.
    pub estimates: Vec<Estimate>,
    /// The error of the point, or of the first of its runs that failed.
    pub failed: Option<String>,
}

/// Results of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepResult {
    /// The varied keys with their values.
    pub axes: Vec<Axis>,
    /// The points, in the plan's order.
    pub points: Vec<PointResult>,
}

impl SweepResult {
    /// Collects the results of a plan so far, with 95 % intervals.
    pub fn collect(plan: &Plan, store: &Store) -> Self {
        Self::collect_with(plan, store, CONFIDENCE)
    }

    /// As [`SweepResult::collect`], with intervals of this confidence.
    ///
    /// # Panics
    /// If the confidence is not between 0 and 1.
    pub fn collect_with(plan: &Plan, store: &Store, confidence: f64) -> Self {
        let mut jobs: Vec<Vec<PlannedRun>> = vec![Vec::new(); plan.points.len()];
        for job in plan.runs() {
            jobs[job.point].push(job);
        }
        let points = plan.points.iter().zip(&jobs).map(|(point, jobs)| {
            let records: Vec<_> = jobs.iter().map(|job| store.get(&job.key)).collect();
            let lists: Vec<_> = records.iter().map(|record| record.map_or(&[][..], |record| &record.scalars)).collect();
            let failed = || jobs.iter().find_map(|job| store.failure(&job.key).map(str::to_owned));
            PointResult {
                varied: point.varied.clone(),
                runs: records.iter().flatten().count() as u64,
                estimates: estimates(&lists, confidence),
                failed: point.wrong.clone().or_else(failed),
            }
        });
        Self { axes: plan.axes.clone(), points: points.collect() }
    }

    /// Names of all measures that a point has, in order.
    pub fn measures(&self) -> Vec<&str> {
        union(self.points.iter().flat_map(|point| &point.estimates).map(|estimate| estimate.name.as_str()))
    }

    /// One row per point: the varied keys, the number of runs, and for each measure `NAME` and `NAME_ci95`, the
    /// half-width of its 95 % confidence interval. A key whose values are numbers with one unit makes a column of
    /// numbers with the unit in its name.
    pub fn table(&self) -> Table {
        let mut table = Table::default();
        for (axis, Axis { key, .. }) in self.axes.iter().enumerate() {
            let values: Vec<&str> = self.points.iter().map(|point| point.varied[axis].1.as_str()).collect();
            let (name, values) = key_column(key, &values);
            table.push(name, values);
        }
        table.push("runs", Values::Count(self.points.iter().map(|point| Some(point.runs)).collect()));
        let known: Vec<HashMap<&str, &Estimate>> = self
            .points
            .iter()
            .map(|point| point.estimates.iter().map(|estimate| (estimate.name.as_str(), estimate)).collect())
            .collect();
        for name in self.measures() {
            let of = |value: &dyn Fn(&Estimate) -> Option<f64>| {
                Values::Number(known.iter().map(|known| known.get(name).and_then(|estimate| value(estimate))).collect())
            };
            table.push(name, of(&|estimate| Some(estimate.mean)));
            table.push(format!("{name}_ci95"), of(&|estimate| estimate.half_width));
        }
        if self.points.iter().any(|point| point.failed.is_some()) {
            table.push("failed", Values::Text(self.points.iter().map(|point| point.failed.clone()).collect()));
        }
        table
    }
}

impl SweepResult {
    /// As [`SweepResult::table`], without the measures of single flows, stations and loss sites.
    pub fn overview(&self) -> Table {
        let mut table = self.table();
        let single = [".flow.", ".station.", ".airtime.", ".loss.", ".echo."];
        table.columns.retain(|column| !single.iter().any(|part| column.name.contains(part)));
        table
    }
}

impl PointResult {
    /// The estimate of a measure.
    pub fn estimate(&self, name: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|estimate| estimate.name == name)
    }
}

/// The estimate of each measure that a run has; one list per run, empty for a failed one.
fn estimates(runs: &[&[(String, f64)]], confidence: f64) -> Vec<Estimate> {
    let known: Vec<HashMap<&str, f64>> =
        runs.iter().map(|run| run.iter().map(|(name, value)| (name.as_str(), *value)).collect()).collect();
    union(runs.iter().copied().flatten().map(|(name, _)| name.as_str()))
        .into_iter()
        .filter_map(|name| {
            let values = known.iter().map(|run| run.get(name).copied()).collect();
            Estimate::of(name, values, confidence)
        })
        .collect()
}

/// All distinct names, in the order of their first appearance.
pub(crate) fn union<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// The column of a key: its name, with the unit if all values share one, and its values.
pub fn key_column(key: &str, values: &[&str]) -> (String, Values) {
    let plain = key.replace('.', "_");
    let read: Option<Vec<(f64, &str)>> = values.iter().map(|value| number_and_unit(value)).collect();
    match read {
        Some(read) if read.iter().all(|(_, unit)| *unit == read[0].1) && unit_word(read[0].1).is_some() => {
            let unit = unit_word(read[0].1).unwrap_or("");
            // Integers, such as numbers of stations, are shown without a decimal point.
            let whole: Option<Vec<_>> = values.iter().map(|value| value.trim().parse().ok().map(Some)).collect();
            if let Some(whole) = whole {
                return (plain, Values::Count(whole));
            }
            let joint = if unit.is_empty() { "" } else { "_" };
            (format!("{plain}{joint}{unit}"), Values::Number(read.iter().map(|(x, _)| Some(*x)).collect()))
        }
        _ => (plain, Values::Text(values.iter().map(|value| Some(value.trim_matches('"').to_owned())).collect())),
    }
}

/// Splits a value such as `5`, `5.5 Mb/s` or `"100 packets"` into number and unit.
fn number_and_unit(value: &str) -> Option<(f64, &str)> {
    let value = value.trim_matches('"').trim();
    let split = value.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(value.len());
    Some((value[..split].parse().ok()?, value[split..].trim()))
}

/// A unit as part of a column name: empty without a unit, `None` for an unknown one.
fn unit_word(unit: &str) -> Option<&'static str> {
    const WORDS: [(&str, &str); 23] = [
        ("", ""),
        ("ns", "ns"),
        ("us", "us"),
        ("ms", "ms"),
        ("s", "s"),
        ("min", "min"),
        ("h", "h"),
        ("b/s", "bps"),
        ("kb/s", "kbps"),
        ("Mb/s", "mbps"),
        ("Gb/s", "gbps"),
        ("B", "bytes"),
        ("bytes", "bytes"),
        ("kB", "kB"),
        ("MB", "MB"),
        ("GB", "GB"),
        ("KiB", "KiB"),
        ("MiB", "MiB"),
        ("GiB", "GiB"),
        ("packets", "packets"),
        ("%", "percent"),
        ("dB", "dB"),
        ("dBm", "dBm"),
    ];
    WORDS.iter().find(|(written, _)| *written == unit).map(|(_, word)| *word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_numbers_makes_a_column_of_numbers() {
        let column = |key, values: &[&str]| key_column(key, values);
        assert_eq!(column("lan.delay", &["5 ms", "\"10 ms\""]).0, "lan_delay_ms");
        assert_eq!(column("lan.delay", &["5 ms"]).1, Values::Number(vec![Some(5.0)]));
        assert_eq!(column("station.sta.count", &["2", "4"]).1, Values::Count(vec![Some(2), Some(4)]));
        let mixed = column("radio.ap_buffer", &["50 packets", "unlimited"]);
        assert_eq!(mixed.0, "radio_ap_buffer");
        assert_eq!(mixed.1, Values::Text(vec![Some("50 packets".into()), Some("unlimited".into())]));
        assert_eq!(column("radio.standard", &["\"802.11b\""]).1, Values::Text(vec![Some("802.11b".into())]));
    }
}
