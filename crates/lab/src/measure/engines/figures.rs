//! What both engines report of a run, and how far apart they are.

use std::collections::BTreeMap;

use evenair_results::{ApplicationKind, Distribution, NodeResult, PhaseResult};

/// What is delayed, by [`Figures::delays_ms`]: the first that both engines report is compared.
const DELAYS: [&str; 3] = ["echoes", "access point", "stations"];

/// Figures of a phase, or means of those of several runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Goodput of all stations, Mb/s.
    pub mbps: f64,
    /// Each station's part of it.
    pub shares: BTreeMap<String, f64>,
    /// Mean round trip of echoes, and mean time from a frame's arrival at access points, and at stations, to its delivery, ms; not a
    /// number without any.
    pub delays_ms: [f64; DELAYS.len()],
}

impl Figures {
    /// The figures of a phase.
    pub fn of(phase: &PhaseResult) -> Self {
        let mbps = phase.stations.iter().map(|station| station.goodput_mbps).sum::<f64>();
        let share = |goodput: f64| if mbps > 0.0 { goodput / mbps } else { f64::NAN };
        let shares =
            phase.stations.iter().map(|station| (station.station.clone(), share(station.goodput_mbps))).collect();
        let echoes = phase.applications.iter().filter(|app| app.kind == ApplicationKind::Echoes);
        let sojourns = |at_access_points: bool| {
            let nodes = phase.nodes.iter().filter(move |node: &&NodeResult| node.is_access_point() == at_access_points);
            mean_ms(nodes.filter_map(|node| node.sojourn.as_ref()))
        };
        let delays_ms = [mean_ms(echoes.filter_map(|app| app.rtt.as_ref())), sojourns(true), sojourns(false)];
        Self { mbps, shares, delays_ms }
    }

    /// Means over runs; a station that a run does not report had nothing in it.
    pub fn mean(runs: &[Self]) -> Self {
        let count = runs.len() as f64;
        let mean = |of: &dyn Fn(&Self) -> f64| runs.iter().map(of).sum::<f64>() / count;
        let names = runs.iter().flat_map(|run| run.shares.keys());
        let shares = names.map(|name| (name.clone(), mean(&|run| run.shares.get(name).copied().unwrap_or(0.0))));
        let delays_ms = std::array::from_fn(|which| mean(&|run| run.delays_ms[which]));
        Self { mbps: mean(&|run| run.mbps), shares: shares.collect(), delays_ms }
    }
}

/// Mean of all values of some distributions, ms; not a number without any.
fn mean_ms<'a>(distributions: impl Iterator<Item = &'a Distribution>) -> f64 {
    let (sum, count) = distributions
        .fold((0.0, 0.0), |(sum, count), one| (sum + one.mean_ms * one.count as f64, count + one.count as f64));
    sum / count
}

/// An experiment in both engines.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its number, and whether the box manages.
    pub name: String,
    pub simulator: Figures,
    pub testbed: Figures,
    /// Runs in which the testbed was late, which were made again.
    pub late: u32,
}

/// Heads of the columns.
const HEADS: [&str; 11] = [
    "experiment",
    "simulator, Mb/s",
    "testbed, Mb/s",
    "testbed / simulator",
    "largest difference of a share, points",
    "of",
    "delay of",
    "simulator, ms",
    "testbed, ms",
    "testbed / simulator",
    "late runs",
];

/// A bar.
struct Bar {
    words: &'static str,
    /// The distance from equality in a row; not a number if the row has none.
    distance: fn(&Row) -> f64,
    /// The largest distance that meets it.
    most: f64,
}

const BARS: [Bar; 3] = [
    Bar { words: "goodput within 5 %", distance: |row| (row.goodput_ratio() - 1.0).abs(), most: 0.05 },
    Bar { words: "shares within 5 points", distance: |row| row.share_points().1, most: 5.0 },
    Bar { words: "delay within 20 %", distance: |row| (row.delay_ratio() - 1.0).abs(), most: 0.20 },
];

impl Row {
    fn goodput_ratio(&self) -> f64 {
        self.testbed.mbps / self.simulator.mbps
    }

    /// The station whose share differs most, and by how many points; not a number without stations.
    fn share_points(&self) -> (&str, f64) {
        let names = self.simulator.shares.keys().chain(self.testbed.shares.keys());
        let share = |figures: &Figures, name: &str| figures.shares.get(name).copied().unwrap_or(0.0);
        let difference = |name: &str| 100.0 * (share(&self.testbed, name) - share(&self.simulator, name)).abs();
        let each = names.map(|name| (&**name, difference(name)));
        each.max_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or(("-", f64::NAN))
    }

    /// What is delayed, and its delay in the simulator and on the testbed, ms.
    fn delay_ms(&self) -> (&'static str, f64, f64) {
        let pairs = self.simulator.delays_ms.iter().zip(&self.testbed.delays_ms);
        let mut known = DELAYS.iter().zip(pairs).filter(|(_, (a, b))| a.is_finite() && b.is_finite());
        known.next().map_or(("-", f64::NAN, f64::NAN), |(what, (&simulator, &testbed))| (what, simulator, testbed))
    }

    fn delay_ratio(&self) -> f64 {
        let (_, simulator, testbed) = self.delay_ms();
        testbed / simulator
    }

    /// Whether the row has the bar's value and misses it.
    fn misses(&self, bar: &Bar) -> bool {
        (bar.distance)(self) > bar.most
    }

    /// Its line of the table.
    pub fn line(&self) -> String {
        let marked = |value: f64, decimals: usize, bar: usize| {
            if value.is_nan() {
                return "-".to_owned();
            }
            format!("{value:.decimals$}{}", if self.misses(&BARS[bar]) { " MISSED" } else { "" })
        };
        let (station, points) = self.share_points();
        let (what, simulator_ms, testbed_ms) = self.delay_ms();
        let cells = [
            self.name.clone(),
            format!("{:.3}", self.simulator.mbps),
            format!("{:.3}", self.testbed.mbps),
            marked(self.goodput_ratio(), 3, 0),
            marked(points, 1, 1),
            station.to_owned(),
            what.to_owned(),
            format!("{simulator_ms:.2}"),
            format!("{testbed_ms:.2}"),
            marked(self.delay_ratio(), 3, 2),
            self.late.to_string(),
        ];
        format!("| {} |\n", cells.join(" | "))
    }
}

/// The table with a line for each bar, and whether all rows meet all bars.
pub fn table(rows: &[Row]) -> (String, bool) {
    let mut text = format!("| {} |\n|{}\n", HEADS.join(" | "), "---|".repeat(HEADS.len()));
    text += &rows.iter().map(Row::line).collect::<String>();
    text.push('\n');
    let mut is_met = true;
    for bar in &BARS {
        let missed = rows.iter().filter(|row| row.misses(bar)).count();
        let of = rows.iter().filter(|row| !(bar.distance)(row).is_nan()).count();
        text += &format!("missed {missed} of {of}: {}\n", bar.words);
        is_met &= missed == 0;
    }
    (text, is_met)
}

#[cfg(test)]
mod tests {
    use super::super::tests::scenario;
    use super::*;

    fn figures(mbps: f64, shares: &[(&str, f64)], delays_ms: [f64; 3]) -> Figures {
        let shares = shares.iter().map(|&(name, share)| (name.to_owned(), share)).collect();
        Figures { mbps, shares, delays_ms }
    }

    fn row(simulator: Figures, testbed: Figures) -> Row {
        Row { name: "x01".to_owned(), simulator, testbed, late: 0 }
    }

    #[test]
    fn figures_of_a_run_are_of_its_stations_and_of_the_access_point() {
        let mut scenario = super::super::cut::runs_in_both(&scenario("a11"), 10.0).expect("both have it");
        scenario.seed = 7;
        let run = evenair_sim::run(&scenario, |_| ()).expect("it runs");
        let figures = Figures::of(&run.phases[0]);
        assert!((figures.mbps - run.phases[0].total_goodput_mbps).abs() < 1e-9, "{figures:?}");
        assert_eq!(figures.shares.len(), 10, "{figures:?}");
        assert!((figures.shares.values().sum::<f64>() - 1.0).abs() < 1e-9, "{figures:?}");
        let [echoes, access_point, stations] = figures.delays_ms;
        assert!(echoes.is_nan() && access_point > 0.0 && stations > 0.0, "{figures:?}");
    }

    #[test]
    fn means_are_by_station_and_a_station_without_goodput_counts() {
        let runs = [figures(4.0, &[("a", 1.0)], [f64::NAN, 10.0, 2.0]), figures(6.0, &[("b", 1.0)], [5.0, 20.0, 4.0])];
        let mean = Figures::mean(&runs);
        assert_eq!((mean.mbps, mean.shares["a"], mean.shares["b"]), (5.0, 0.5, 0.5));
        assert!(mean.delays_ms[0].is_nan() && mean.delays_ms[1..] == [15.0, 3.0], "{mean:?}");
    }

    #[test]
    fn the_delay_is_of_what_both_engines_report() {
        let of = |simulator, testbed| row(figures(1.0, &[], simulator), figures(1.0, &[], testbed)).delay_ms();
        assert_eq!(of([1.0, 2.0, 3.0], [1.5, 2.5, 3.5]), ("echoes", 1.0, 1.5));
        assert_eq!(of([1.0, 2.0, 3.0], [f64::NAN, 2.5, 3.5]), ("access point", 2.0, 2.5));
        assert_eq!(of([f64::NAN; 3], [f64::NAN; 3]).0, "-");
    }

    #[test]
    fn bars_are_marked_and_counted_where_there_is_a_value() {
        let none = [f64::NAN; 3];
        let same = figures(5.0, &[("a", 0.5), ("b", 0.5)], [f64::NAN, 10.0, 1.0]);
        let near = row(same.clone(), figures(5.2, &[("a", 0.54), ("b", 0.46)], [f64::NAN, 8.5, 9.0]));
        let far = row(same.clone(), figures(4.7, &[("a", 0.44), ("b", 0.56)], [f64::NAN, 12.5, 1.0]));
        let unknown = row(same, figures(5.0, &[("a", 0.5), ("b", 0.5)], none));
        assert!(!near.line().contains("MISSED"), "{}", near.line());
        assert_eq!(far.line().matches(" MISSED").count(), 3, "{}", far.line());
        let (text, is_met) = table(&[near.clone(), far, unknown]);
        assert!(!is_met && text.contains("\nmissed 1 of 3: goodput within 5 %\n"), "{text}");
        assert!(text.contains("\nmissed 1 of 3: shares within 5 points\nmissed 1 of 2: delay within 20 %\n"), "{text}");
        assert!(table(&[near]).1);
    }
}
