//! `evenair compare`: one experiment under several policies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use evenair_report::{Page, Picture, draw_curves};
use evenair_results::{Table, Values};
use evenair_scenario::Policy;
use evenair_study::{
    Comparison, Experiment, Plan, Point, PointResult, Source, Store, SweepResult, against_first, sweep_description,
};

use super::library::scenario_file;
use super::sim::many::{Many, document, interrupted, print_status};
use super::sim::series::{KeptSeries, note_without_series, write_series};
use crate::output;

/// A measure of the comparison.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// Its full name.
    name: String,
    /// Its heading in tables.
    heading: String,
    decimals: usize,
    /// Factor for display: 100 for percent.
    scale: f64,
}

/// Compared measures, as far as a scenario has them: measure, heading, decimals.
const SHOWN: &[(&str, &str, usize)] = &[
    ("total_goodput_mbps", "goodput Mb/s", 3),
    ("up_ip_mbps", "up Mb/s", 3),
    ("down_ip_mbps", "down Mb/s", 3),
    ("jain_flows", "Jain flows", 3),
    ("fairness.stations.jain", "Jain stations", 3),
    ("fairness.backlogged.jain", "Jain backlogged stations", 3),
    ("measured_airtime.jain", "Jain measured airtime", 3),
    ("measured_airtime.jain_backlogged", "Jain airtime of backlogged", 3),
    ("backlogged_stations", "backlogged stations", 1),
    ("ap.airtime_share", "airtime of AP", 3),
    ("medium.busy_share", "medium busy", 3),
    ("ap.sojourn_p50_ms", "AP delay ms", 1),
    ("ap.sojourn_p99_ms", "AP delay 99 % ms", 1),
    ("direction.down.delay_p90_ms", "delay down 90 % ms", 1),
    ("direction.up.rtt_p90_ms", "RTT up 90 % ms", 1),
    ("ap.loss_rate", "loss at AP", 4),
    ("page.p50_s", "page s", 2),
    ("page.p90_s", "page 90 % s", 2),
];

/// Compared measures of each application with calls, datagrams or echoes: end of the measure's name, heading after the
/// application's name, decimals, scale.
const OF_APPLICATIONS: &[(&str, &str, usize, f64)] = &[
    ("delay_mean_ms", "delay ms", 1, 1.0),
    ("delay_p95_ms", "delay 95 % ms", 1, 1.0),
    ("rtt_p50_ms", "RTT median ms", 1, 1.0),
    ("rtt_p95_ms", "RTT 95 % ms", 1, 1.0),
    ("loss_rate", "lost %", 2, 100.0),
    ("r_factor_mean", "mean R", 1, 1.0),
    ("r_factor_min", "worst R", 1, 1.0),
];

/// Arguments of `evenair compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// The scenario: a file, or the name of one in `evenair scenario list`
    #[arg(required_unless_present = "list")]
    file: Option<PathBuf>,
    /// The policies, by name, or as .toml files with `[manager]` or `[radio]` as in a scenario. The first one is the baseline
    #[arg(
        long,
        value_name = "POLICIES",
        value_delimiter = ',',
        default_value = "fifo,ap-mac80211,fq-codel,las-ack,adwiser,evenair"
    )]
    policies: Vec<String>,
    /// Print the names and descriptions of the policies
    #[arg(long)]
    list: bool,
    /// Runs of each policy, with the same seeds
    #[arg(long, default_value = "10", value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    replications: u32,
    /// Further measures to show and plot, by their names in docs/measures.md; the phase may be left out
    #[arg(long, value_name = "MEASURES", value_delimiter = ',')]
    also: Vec<String>,
    #[command(flatten)]
    series: KeptSeries,
    #[command(flatten)]
    many: Many,
}

/// Compares policies.
pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    if args.list {
        Policy::known().for_each(|policy| println!("{:<18} {}", policy.name, policy.meaning));
        return Ok(ExitCode::SUCCESS);
    }
    let file = scenario_file(args.file.as_deref().context("a scenario is needed")?)?;
    let policies = args.policies.iter().map(|name| policy(name)).collect::<Result<Vec<_>>>()?;
    let program = evenair_study::program();
    let experiment = Experiment {
        source: Source::read(&file)?,
        sets: args.many.settings(),
        axes: Some(Vec::new()),
        policies: policies.clone(),
    };
    let mut plan = Plan::of(&experiment, args.replications, program)?;
    warn_of_broken_aggregates(&plan);
    let about = sweep_description(&plan, &experiment, output::VERSION);
    let directory = args.many.directory(&plan, "policies", &about)?;
    let mut store = Store::open(&directory.join("runs.jsonl"))?;
    plan.series = args.series.kinds_in(&directory);
    note_without_series(&plan, &store);
    let status = args.many.run(&plan, &mut store)?;
    let comparison = PolicyComparison::collect(policies, &plan, &store);
    let result = &comparison.result;

    let text = document(&plan, &status, "policies", &result.table())?;
    comparison.write(args, &plan, &directory, &text)?;
    output::write_rows(&directory, &plan, &store, result)?;
    let series = write_series(&directory, &plan, &store)?;
    if args.many.json {
        print!("{text}");
    } else {
        print_status(&status);
        comparison.print(args);
        println!(
            "results: {} (policies.csv, policies.parquet, runs.parquet, points_long.parquet{series}, policies.json, report.html)",
            directory.display()
        );
    }
    if !status.is_complete() {
        return Ok(interrupted(&directory));
    }
    comparison.refuse_failures()?;
    Ok(ExitCode::SUCCESS)
}

/// The table of a comparison of policies by their names, without a folder of results.
///
/// # Errors
/// There is no such scenario or policy, or a run failed.
pub fn table_of(scenario: &Path, policies: &[&str], replications: u32) -> Result<Table> {
    let policies = policies.iter().map(|name| policy(name)).collect::<Result<Vec<_>>>()?;
    let source = Source::read(&scenario_file(scenario)?)?;
    let experiment = Experiment { source, sets: Vec::new(), axes: Some(Vec::new()), policies: policies.clone() };
    let plan = Plan::of(&experiment, replications, evenair_study::program())?;
    let folder = tempfile::tempdir()?;
    let mut store = Store::open(&folder.path().join("runs.jsonl"))?;
    let many = Many { sets: Vec::new(), seed: None, out: PathBuf::new(), threads: None, json: false, quiet: false };
    let status = many.run(&plan, &mut store)?;
    ensure!(status.is_complete(), "interrupted");
    let comparison = PolicyComparison::collect(policies, &plan, &store);
    comparison.refuse_failures()?;
    Ok(comparison.summary(&shown(&[], &comparison.result)))
}

/// Prints a one-line warning about policies that do not fit access points that aggregate.
fn warn_of_broken_aggregates(plan: &Plan) {
    let broken = |point: &Point| {
        let warning = plan.scenario(point, None).ok()?.broken_aggregates()?;
        Some((point.varied[0].1.clone(), warning))
    };
    let (names, warnings): (Vec<_>, Vec<_>) = plan.points.iter().filter_map(broken).unzip();
    if let Some(warning) = warnings.first() {
        eprintln!("warning: {}: {warning} (policy evenair)", names.join(", "));
    }
}

/// A policy by its name, or from a file.
pub fn policy(name: &str) -> Result<Policy> {
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Ok(Policy::named(name)?);
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    Ok(Policy::written(name, &text)?)
}

/// The measures to show, with their phases in the headings if there are several.
fn shown(also: &[String], result: &SweepResult) -> Vec<Row> {
    let row = |&(name, heading, decimals): &(&str, &str, usize)| {
        let row = Row { name: name.to_owned(), heading: heading.to_owned(), decimals, scale: 1.0 };
        by_phase(result, &row)
    };
    let of_users = also.iter().map(|name| (name.as_str(), name.as_str(), 3)).collect::<Vec<_>>();
    let mut found: Vec<Row> = SHOWN.iter().flat_map(row).collect();
    found.extend(applications(result).iter().flat_map(|name| application_rows(result, name)));
    found.extend(of_users.iter().flat_map(row));
    found.retain(|row| differs(result, &row.name));
    found
}

/// The applications with measures of their own, in order.
fn applications(result: &SweepResult) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for measure in result.measures() {
        if let ["phase", _, "application", name, _] = measure.split('.').collect::<Vec<_>>()[..]
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// The measures of one application.
fn application_rows(result: &SweepResult, application: &str) -> Vec<Row> {
    let row = |&(end, heading, decimals, scale): &(&str, &str, usize, f64)| {
        let (name, heading) = (format!("application.{application}.{end}"), format!("{application}: {heading}"));
        by_phase(result, &Row { name, heading, decimals, scale })
    };
    OF_APPLICATIONS.iter().flat_map(row).collect()
}

/// A row for each full name that the short name of `row` matches.
fn by_phase(result: &SweepResult, row: &Row) -> Vec<Row> {
    let mut names = result.named(&row.name);
    names.retain(|full| full.starts_with("phase.") || *full == row.name);
    let many = names.len() > 1;
    let of_name = |full: String| {
        let phase = full.strip_prefix("phase.").and_then(|rest| rest.split('.').next()).unwrap_or_default();
        let heading = if many { format!("{} ({phase})", row.heading) } else { row.heading.clone() };
        Row { name: full, heading, ..row.clone() }
    };
    names.into_iter().map(of_name).collect()
}

/// Whether a measure differs between policies, or only some have it. Equal values, such as those of a phase before the box is
/// inserted, are no result of the policies.
fn differs(result: &SweepResult, name: &str) -> bool {
    let mut means = result.points.iter().map(|point| point.estimate(name).map(|estimate| estimate.mean));
    let first = means.next();
    result.points.len() == 1 || means.any(|mean| Some(mean) != first)
}

/// The results of all policies over the same seeds.
struct PolicyComparison {
    /// The first one is the baseline.
    policies: Vec<Policy>,
    /// One point per policy.
    result: SweepResult,
    /// Differences of each further policy from the first.
    differences: Vec<Vec<Comparison>>,
}

impl PolicyComparison {
    fn collect(policies: Vec<Policy>, plan: &Plan, store: &Store) -> Self {
        Self { policies, result: SweepResult::collect(plan, store), differences: against_first(plan, store) }
    }

    fn refuse_failures(&self) -> Result<()> {
        let failed = self.result.points.iter().find_map(|point| Some((point, point.failed.as_ref()?)));
        failed.map_or(Ok(()), |(point, failed)| bail!("policy {}: {failed}", point.varied[0].1))
    }

    /// Writes the report; `text` is its JSON.
    fn write(&self, args: &CompareArgs, plan: &Plan, directory: &Path, text: &str) -> Result<()> {
        let result = &self.result;
        output::write_file(directory, "policies.json", text.as_bytes())?;
        output::write_table(directory, "policies", &result.table())?;
        let measures = shown(&args.also, result);
        let pictures: Vec<Picture> =
            measures.iter().filter_map(|row| draw_curves(&result.curves(&row.name)?)).collect();
        output::write_pictures(directory, &pictures)?;
        let facts = format!(
            "{} under {} policies, {} runs of each with the same seeds; means with 95 % confidence intervals; version {}",
            plan.name,
            self.policies.len(),
            plan.replications,
            output::VERSION
        );
        let mut page = Page::new(&format!("{}: policies", plan.title), &facts);
        let failure = |point: &PointResult| Some(format!("{}: {}", point.varied[0].1, point.failed.as_ref()?));
        let failed: Vec<_> = result.points.iter().filter_map(failure).collect();
        page.verdict("All runs ended well.", "Some runs failed and are left out:", &failed);
        page.table("Policies", &meanings(&self.policies));
        page.table("What they give", &self.summary(&measures));
        page.paragraph(&format!("A star: differs from {} (paired t test, 95 %).", self.policies[0].name));
        pictures.iter().for_each(|picture| page.picture(picture));
        page.table("All measures but those of single flows and stations", &result.overview());
        output::write_file(directory, "report.html", page.finish().as_bytes())?;
        Ok(())
    }

    /// One row per measure, one column per policy: mean and half-width, with a star if it differs from the first.
    fn summary(&self, measures: &[Row]) -> Table {
        let mut table = Table::default();
        table.push("measure", Values::Text(measures.iter().map(|row| Some(row.heading.clone())).collect()));
        for (at, point) in self.result.points.iter().enumerate() {
            let cells = measures.iter().map(|row| Some(self.cell(at, row).unwrap_or_else(|| "-".to_owned())));
            table.push(point.varied[0].1.as_str(), Values::Text(cells.collect()));
        }
        table
    }

    /// Mean and half-width of a measure under a policy; `None` if no run has it.
    fn cell(&self, policy: usize, row: &Row) -> Option<String> {
        let Row { name, decimals, scale, .. } = row;
        let estimate = self.result.points[policy].estimate(name)?;
        let number = |value: f64| format!("{:.decimals$}", value * scale);
        let half_width = estimate.half_width.map_or_else(String::new, |half| format!(" ± {}", number(half)));
        let other = policy.checked_sub(1).and_then(|other| self.differences.get(other));
        let found = other.and_then(|differences| differences.iter().find(|comparison| comparison.name == *name));
        let star = if found.is_some_and(Comparison::is_significant) { " *" } else { "" };
        Some(format!("{}{half_width}{star}", number(estimate.mean)))
    }

    /// Prints the summary, one row per measure.
    fn print(&self, args: &CompareArgs) {
        let table = self.summary(&shown(&args.also, &self.result));
        let columns: Vec<Vec<String>> = table
            .columns
            .iter()
            .map(|column| {
                let cells = (0..table.rows()).map(|row| column.values.text(row));
                core::iter::once(column.name.clone()).chain(cells).collect()
            })
            .collect();
        let widths: Vec<usize> =
            columns.iter().map(|cells| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
        println!();
        for row in 0..=table.rows() {
            let cells = columns.iter().zip(&widths).enumerate();
            let line: Vec<String> = cells
                .map(|(at, (cells, &width))| match at {
                    0 => format!("  {:<width$}", cells[row]),
                    _ => format!("  {:>width$}", cells[row]),
                })
                .collect();
            println!("{}", line.concat().trim_end());
        }
        println!("\n  means and 95 % intervals; *: differs from {}\n", self.result.points[0].varied[0].1);
    }
}

fn meanings(policies: &[Policy]) -> Table {
    let text = |of: fn(&Policy) -> &str| Values::Text(policies.iter().map(|p| Some(of(p).to_owned())).collect());
    let mut table = Table::default();
    table.push("policy", text(|policy| &policy.name));
    table.push("what it is", text(|policy| &policy.meaning));
    table
}

#[cfg(test)]
mod tests {
    use evenair_results::estimate::Estimate;

    use super::*;

    /// The measures of one policy, as of a few equal runs.
    fn point(policy: &str, measures: &[(&str, f64)]) -> PointResult {
        let estimate = |&(name, mean): &(&str, f64)| Estimate {
            name: name.into(),
            count: 3,
            mean,
            half_width: None,
            deviation: None,
            min: mean,
            max: mean,
            values: vec![Some(mean); 3],
        };
        PointResult {
            varied: vec![("policy".into(), policy.into())],
            runs: 3,
            estimates: measures.iter().map(estimate).collect(),
            failed: None,
        }
    }

    #[test]
    fn jains_index_is_shown_for_phases_in_which_it_differs() {
        // One of four flows has all, then two of four, then all are equal; before the box is inserted policies are equal.
        let fifo = [
            ("phase.before.jain_flows", 0.25),
            ("phase.busy.jain_flows", 0.25),
            ("phase.calm.jain_flows", 0.5),
            ("phase.busy.fairness.stations.jain", 0.5),
        ];
        let evenair = [
            ("phase.before.jain_flows", 0.25),
            ("phase.busy.jain_flows", 1.0),
            ("phase.calm.jain_flows", 1.0),
            ("phase.busy.fairness.stations.jain", 1.0),
        ];
        let result = SweepResult { axes: Vec::new(), points: vec![point("fifo", &fifo), point("evenair", &evenair)] };
        let measures = shown(&[], &result);
        let headings: Vec<&str> = measures.iter().map(|row| row.heading.as_str()).collect();
        assert_eq!(headings, ["Jain flows (busy)", "Jain flows (calm)", "Jain stations"]);
        let table = PolicyComparison { policies: Vec::new(), result, differences: vec![Vec::new()] }.summary(&measures);
        let column = |at: usize| (0..table.rows()).map(|row| table.columns[at].values.text(row)).collect::<Vec<_>>();
        assert_eq!(
            (column(1), column(2)),
            (["0.250", "0.500", "0.500"].map(String::from).into(), ["1.000"; 3].map(String::from).into())
        );
    }

    #[test]
    fn applications_have_rows_in_percent_and_a_dash_where_nothing_came_back() {
        // Under the first policy no echo comes back, so that there is no round-trip time.
        let fifo = [("phase.all.application.ping.loss_rate", 1.0), ("phase.all.application.call.r_factor_min", 20.0)];
        let evenair = [
            ("phase.all.application.ping.rtt_p95_ms", 12.25),
            ("phase.all.application.ping.loss_rate", 0.0125),
            ("phase.all.application.call.r_factor_min", 80.0),
        ];
        let result = SweepResult { axes: Vec::new(), points: vec![point("fifo", &fifo), point("evenair", &evenair)] };
        let measures = shown(&[], &result);
        let headings: Vec<&str> = measures.iter().map(|row| row.heading.as_str()).collect();
        assert_eq!(headings, ["ping: RTT 95 % ms", "ping: lost %", "call: worst R"]);
        let table = PolicyComparison { policies: Vec::new(), result, differences: vec![Vec::new()] }.summary(&measures);
        let column = |at: usize| (0..table.rows()).map(|row| table.columns[at].values.text(row)).collect::<Vec<_>>();
        assert_eq!(column(1), ["-", "100.00", "20.0"]);
        assert_eq!(column(2), ["12.2", "1.25", "80.0"]);
    }
}
