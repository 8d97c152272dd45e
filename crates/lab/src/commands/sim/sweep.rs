//! `evenair sim sweep`: one scenario at many points.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use evenair_reader::did_you_mean;
use evenair_report::{Page, Picture, draw_curves};
use evenair_results::replicate::{LEAST, MOST};
use evenair_scenario::Axis;
use evenair_study::{
    Experiment, Lock, Made, Part, Plan, PointResult, RUNS, Source, Status, Store, SweepResult, Until, is_measure,
    near_measure, open_folder, sweep_description,
};

use super::super::compare::policy;
use super::super::library::scenario_file;
use super::super::scenario_run::note_left_out;
use super::many::{Many, document, interrupted, print_status};
use super::replications::{one_width, until_width};
use super::series::{KeptSeries, note_without_series, write_series};
use super::store;
use crate::output;

/// Largest number of failed points that are listed individually.
const FAILURES_SHOWN: usize = 5;

/// Arguments of `evenair sim sweep`.
#[derive(Args)]
pub struct SweepArgs {
    /// The scenario: a file, or the name of one in `evenair scenario list`
    file: PathBuf,
    /// Vary a key, for example `--vary station.sta.count=2,5,10` or `--vary lan.delay="5 ms..50 ms step 5 ms"`; several make a
    /// grid [default: the file's [[sweep]]]
    #[arg(long, value_name = "KEY=VALUES", value_parser = Axis::parse)]
    vary: Vec<Axis>,
    /// Let the varied keys advance together instead of making a grid
    #[arg(long, requires = "vary")]
    zip: bool,
    /// Run each point under these policies, by name as `evenair compare --list` has them, or as .toml files
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    policies: Vec<String>,
    /// Runs of each point, with successive seeds, the same for all points [default: 1, or at first 10 with --until-width]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    replications: Option<u32>,
    /// Repeat each point until half the width of the measure's interval is at most this part of its mean: "2 %", or "2
    /// %:ap.loss_rate" (default measure: total IP-level throughput). A measure without a phase means every phase
    #[arg(long, value_name = "PERCENT[:MEASURE]", value_parser = until_width)]
    until_width: Vec<(f64, Option<String>)>,
    /// With --until-width: largest number of runs of a point
    #[arg(long, default_value_t = MOST, value_name = "N", requires = "until_width")]
    max_replications: u32,
    /// Measures to plot, by their names in docs/measures.md; the phase may be left out
    #[arg(long, value_name = "MEASURES", value_delimiter = ',', value_parser = measure,
        default_value = "total_ip_mbps,up_ip_mbps,down_ip_mbps,jain_flows")]
    plot: Vec<String>,
    #[command(flatten)]
    series: KeptSeries,
    /// Keep runs and results in this folder, in place of a new one in --out
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    store: Option<PathBuf>,
    /// Make part K of N of the runs alone, in a file of its own in --store: parts may run at the same time, on several machines.
    /// `evenair sim merge` joins them
    #[arg(long, value_name = "K/N", requires = "store", conflicts_with_all = ["until_width", "json"])]
    part: Option<Part>,
    #[command(flatten)]
    many: Many,
}

impl SweepArgs {
    /// The stopping rule of a point, unless the number of runs is fixed.
    fn until(&self) -> Result<Option<Until>> {
        let Some(relative_half_width) = one_width(&self.until_width)? else { return Ok(None) };
        let name = |(_, name): &(f64, Option<String>)| name.clone().unwrap_or_else(|| "total_ip_mbps".into());
        let measures = self.until_width.iter().map(name).collect();
        Ok(Some(Until { relative_half_width, measures, most: self.max_replications }))
    }

    /// The folder of runs and results, its existing runs, and its lock if it is that of `--store`.
    fn open(&self, plan: &Plan, experiment: &Experiment) -> Result<(PathBuf, Store, Option<Lock>)> {
        let about = sweep_description(plan, experiment, output::VERSION);
        if let Some(folder) = &self.store {
            let (store, lock) = open_folder(folder, None, &about)?;
            Made::now(output::VERSION).write_once(folder)?;
            return Ok((folder.clone(), store, Some(lock)));
        }
        let directory = self.many.directory(plan, "sweep", &about)?;
        let store = Store::open(&directory.join(RUNS))?;
        Ok((directory, store, None))
    }
}

/// Runs a sweep.
pub fn sweep(args: &SweepArgs) -> Result<ExitCode> {
    let mut axes = args.vary.clone();
    for axis in axes.iter_mut().skip(1) {
        axis.together = args.zip;
    }
    let program = evenair_study::program();
    let until = args.until()?;
    let replications = args.replications.unwrap_or(if until.is_some() { LEAST } else { 1 });
    let file = scenario_file(&args.file)?;
    let experiment = Experiment {
        source: Source::read(&file)?,
        sets: args.many.settings(),
        axes: (!axes.is_empty()).then_some(axes),
        policies: args.policies.iter().map(|name| policy(name)).collect::<Result<_>>()?,
    };
    let mut plan = Plan::of(&experiment, replications, program)?;
    plan.series = args.series.kinds();
    if plan.axes.is_empty() {
        bail!("nothing varies: say --vary KEY=VALUES or --policies, or put a [[sweep]] into {}", file.display());
    }
    if args.store.is_some() {
        note_left_out(&plan.name, &plan.left_out);
    }
    if let (Some(part), Some(folder)) = (args.part, &args.store) {
        let about = sweep_description(&plan, &experiment, output::VERSION);
        return store::run_part(&args.many, &plan, part, folder, &about);
    }
    let (directory, mut store, lock) = args.open(&plan, &experiment)?;
    plan.series = args.series.kinds_in(&directory);
    note_without_series(&plan, &store);
    let is_held = || lock.as_ref().is_none_or(Lock::is_held);
    let (status, result) = loop {
        let status = args.many.run_while(&plan, plan.runs(), &mut store, is_held)?;
        let result = SweepResult::collect(&plan, &store);
        let Some(until) = until.as_ref().filter(|_| status.is_complete()) else { break (status, result) };
        let raised = until.raise(&mut plan, &result);
        let raised = raised.map_err(|name| anyhow!("--until-width: no point has a measure {name:?}"))?;
        if raised == 0 {
            break (status, result);
        }
    };
    lock.iter().try_for_each(|lock| store::check_held(lock, &directory))?;
    let text = write(&directory, &plan, &status, &result, &args.plot)?;
    output::write_rows(&directory, &plan, &store, &result)?;
    let series = write_series(&directory, &plan, &store)?;
    if args.many.json {
        print!("{text}");
    } else {
        print_status(&status);
        println!(
            "results: {} (points.csv, points.parquet, points_long.parquet, runs.parquet{series}, sweep.json, report.html)",
            directory.display()
        );
    }
    let failed = failures(&result);
    failed.iter().take(FAILURES_SHOWN).for_each(|failure| eprintln!("failed at {failure}"));
    if !status.is_complete() {
        return Ok(interrupted(&directory));
    }
    if !failed.is_empty() {
        bail!("{} of {} points failed", failed.len(), result.points.len());
    }
    Ok(ExitCode::SUCCESS)
}

/// The failed points and their errors.
fn failures(result: &SweepResult) -> Vec<String> {
    let failure = |point: &PointResult| {
        let settings: Vec<_> = point.varied.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Some(format!("{}: {}", settings.join(" "), point.failed.as_ref()?))
    };
    result.points.iter().filter_map(failure).collect()
}

/// Writes the results so far; returns the JSON document.
fn write(directory: &Path, plan: &Plan, status: &Status, result: &SweepResult, plot: &[String]) -> Result<String> {
    let table = result.table();
    let text = document(plan, status, "points", &table)?;
    output::write_file(directory, "sweep.json", text.as_bytes())?;
    output::write_table(directory, "points", &table)?;
    // A measure that is zero everywhere, such as downloads in a scenario without any, needs no plot.
    let is_zero = |name: &String| {
        let means = result.points.iter().filter_map(|point| point.estimate(name));
        means.into_iter().all(|estimate| estimate.mean == 0.0)
    };
    let names = plot.iter().flat_map(|name| result.named(name)).filter(|name| !is_zero(name));
    let pictures: Vec<Picture> = names.filter_map(|name| draw_curves(&result.curves(&name)?)).collect();
    output::write_pictures(directory, &pictures)?;

    let varied: Vec<_> = plan.axes.iter().map(|axis| axis.key.as_str()).collect();
    let facts = format!(
        "{}, {} over {} points, {} runs, version {}",
        plan.name,
        varied.join(", "),
        result.points.len(),
        status.known + status.ended,
        output::VERSION
    );
    let mut page = Page::new(&plan.title, &facts);
    let mut reasons = failures(result);
    if !status.is_complete() {
        reasons.insert(0, "it was interrupted".into());
    }
    page.verdict("All runs ended well.", "Not all is here:", &reasons);
    pictures.iter().for_each(|picture| page.picture(picture));
    page.table("Points", &result.overview());
    output::write_file(directory, "report.html", page.finish().as_bytes())?;
    Ok(text)
}

/// Parses the name of a measure to plot.
fn measure(name: &str) -> Result<String, String> {
    let name = name.trim();
    if is_measure(name) {
        return Ok(name.to_owned());
    }
    let hint = did_you_mean(near_measure(name));
    Err(format!("no such measure{hint}; docs/measures.md lists them"))
}
