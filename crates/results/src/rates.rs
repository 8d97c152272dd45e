//! The table of PHY rates used: by rate up to 802.11g, by modulation and coding scheme and streams from 802.11n on.

use std::collections::BTreeMap;
use std::fmt;

use super::stats::share;
use super::tables::{heading, percent};
use super::{PhaseResult, RateUse, RunResult, Scheme};

/// Maximum number of columns; less used rates share one of them, because more do not fit.
const COLUMNS: usize = 10;

/// A column of the table: rates first, then schemes by streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    /// A rate without a mode, in kb/s.
    Rate(u64),
    /// All modes with this scheme.
    Scheme(Scheme),
    /// All others.
    Other,
}

impl Column {
    fn of(used: &RateUse) -> Self {
        used.scheme.map_or_else(|| Self::Rate((used.rate_mbps * 1e3).round() as u64), Self::Scheme)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(kbps) => write!(f, "{} Mb/s", *kbps as f64 / 1e3),
            Self::Scheme(scheme) => scheme.fmt(f),
            Self::Other => f.write_str("other"),
        }
    }
}

/// PHY rates used, by phase, if senders choose them: all senders together, and the first `senders` of them, beginning with
/// the access point.
pub fn rate_rows(run: &RunResult, senders: usize) -> Vec<Vec<String>> {
    let mut rows = heading(["phase", "sender"]);
    let media = || run.phases.iter().filter_map(|phase| Some((phase, &phase.medium.as_ref()?.access.by_rate)));
    let columns = columns(media().flat_map(|(_, used)| used));
    if columns.is_empty() {
        return rows;
    }
    rows[0].extend(columns.iter().map(Column::to_string));
    for (phase, used) in media() {
        rows.push(row(&columns, phase, "all", used));
        let chose = phase.nodes.iter().filter(|node| !node.access.by_rate.is_empty());
        rows.extend(chose.take(senders).map(|node| row(&columns, phase, &node.node, &node.access.by_rate)));
    }
    rows
}

/// The columns for these attempts: one for each rate or scheme, or the most used ones and one for the others.
fn columns<'a>(used: impl Iterator<Item = &'a RateUse>) -> Vec<Column> {
    let mut attempts: BTreeMap<Column, u64> = BTreeMap::new();
    used.for_each(|used| *attempts.entry(Column::of(used)).or_default() += used.attempts);
    let mut columns: Vec<_> = attempts.keys().copied().collect();
    if columns.len() > COLUMNS {
        columns.sort_by_key(|column| std::cmp::Reverse(attempts[column]));
        columns.truncate(COLUMNS - 1);
        columns.push(Column::Other);
        columns.sort();
    }
    columns
}

/// Proportion of a sender's attempts in each column.
fn row(columns: &[Column], phase: &PhaseResult, sender: &str, used: &[RateUse]) -> Vec<String> {
    let mut attempts = vec![0; columns.len()];
    for used in used {
        // Rates without a column belong to the last one.
        let column = columns.iter().position(|&column| column == Column::of(used)).unwrap_or(columns.len() - 1);
        attempts[column] += used.attempts;
    }
    let all: u64 = attempts.iter().sum();
    let parts = attempts.iter().map(|&attempts| percent(share(attempts as f64, all as f64)));
    [phase.name.clone(), sender.to_owned()].into_iter().chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{MediumResult, NodeResult, sample};
    use super::*;

    /// A run whose first phase has these attempts of all senders, and these of the access point.
    fn run(all: Vec<RateUse>, of_ap: Vec<RateUse>) -> RunResult {
        let (_, mut run) = sample::two_flows();
        let mut medium = MediumResult::default();
        medium.access.by_rate = all;
        let mut node = NodeResult { node: "ap".into(), ..NodeResult::default() };
        node.access.by_rate = of_ap;
        (run.phases[0].medium, run.phases[0].nodes) = (Some(medium), vec![node]);
        run
    }

    fn rate(rate_mbps: f64, attempts: u64) -> RateUse {
        RateUse { rate_mbps, attempts, scheme: None }
    }

    fn mode(streams: u8, mcs: u8, attempts: u64) -> RateUse {
        let rate_mbps = 6.5 * f64::from(streams) * f64::from(mcs + 1);
        RateUse { rate_mbps, attempts, scheme: Some(Scheme { streams, mcs }) }
    }

    #[test]
    fn each_rate_has_a_column() {
        let rows = rate_rows(&run(vec![rate(5.5, 30), rate(11.0, 70)], vec![rate(11.0, 10)]), 1);
        assert_eq!(rows[0], ["phase", "sender", "5.5 Mb/s", "11 Mb/s"]);
        assert_eq!(rows[1], ["bypassed", "all", "30.0 %", "70.0 %"]);
        assert_eq!(rows[2], ["bypassed", "ap", "0.0 %", "100.0 %"]);
        assert_eq!(rows.len(), 3);
        assert_eq!(rate_rows(&run(Vec::new(), Vec::new()), 1).len(), 1);
    }

    #[test]
    fn modes_are_named_by_scheme_and_streams_whatever_their_rates() {
        let wide = RateUse { rate_mbps: 270.0, ..mode(2, 7, 20) };
        let rows = rate_rows(&run(vec![rate(6.0, 10), mode(1, 7, 30), mode(2, 7, 40), wide], Vec::new()), 1);
        assert_eq!(rows[0], ["phase", "sender", "6 Mb/s", "MCS 7 x1", "MCS 7 x2"]);
        assert_eq!(rows[1][2..], ["10.0 %", "30.0 %", "60.0 %"]);
    }

    #[test]
    fn of_many_rates_the_most_used_have_columns_and_the_others_share_the_last() {
        // Of sixteen modes, those of two streams are used less the higher they are, all of them less than those of one.
        let used = |streams: u8, mcs: u8| mode(streams, mcs, if streams == 1 { 100 } else { 25 - u64::from(mcs) });
        let all: Vec<_> = [1, 2].into_iter().flat_map(|streams| (0..8).map(move |mcs| used(streams, mcs))).collect();
        let rows = rate_rows(&run(all, vec![mode(2, 0, 1), mode(2, 6, 1), mode(2, 7, 2)]), 1);
        assert_eq!(rows[0].len(), 2 + COLUMNS);
        assert_eq!(rows[0][9..], ["MCS 7 x1", "MCS 0 x2", "other"]);
        // 24 + 23 + ... + 18 of 800 + 25 + 24 + ... + 18.
        assert_eq!(rows[1][11], "15.1 %");
        assert_eq!(rows[2][9..], ["0.0 %", "25.0 %", "75.0 %"]);
        let exactly: Vec<_> = (0..10).map(|mcs| mode(1, mcs, 1)).collect();
        assert!(rate_rows(&run(exactly, Vec::new()), 1)[0].iter().all(|heading| heading != "other"));
    }
}
