//! `evenair sim run --replications`: one scenario with several seeds, and confidence intervals of its measures.

use std::io::{IsTerminal, Write};
use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_results::replicate::{Advance, MOST, Plan, Replications, Until, replicate};
use evenair_results::{Table, Values};
use evenair_scenario::Scenario;
use evenair_scenario::measures::{full_name, measure_named};

use super::super::scenario_run::ScenarioRun;
use crate::output;

/// The measures of each phase that are printed, in addition to the named ones; the files have all.
const PRINTED: &[&str] = &[
    "total_ip_mbps",
    "total_goodput_mbps",
    "up_ip_mbps",
    "down_ip_mbps",
    "jain_flows",
    "flows_not_started",
    "fairness.up.sigma_over_mean",
    "fairness.down.sigma_over_mean",
    "fairness.stations.min_over_max",
    "ap.loss_rate",
    "ap.queue_mean_packets",
    "ap.sojourn_mean_ms",
    "collision_rate",
    "retry_drops",
    "active_stations",
    "backlog.mean",
    "page.mean_s",
];

/// Number of runs of a scenario.
#[derive(Args)]
pub struct ReplicationArgs {
    /// Number of runs, with successive seeds; prints means with confidence intervals. With --until-width: least number of runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    replications: Option<u32>,
    /// Repeat until half the width of the measure's interval is at most this part of its mean: "2 %", or "2 %:ap.loss_rate"
    /// (default measure: total IP-level throughput of each phase)
    #[arg(long, value_name = "PERCENT[:MEASURE]", value_parser = until_width)]
    until_width: Vec<(f64, Option<String>)>,
    /// With --until-width: largest number of runs
    #[arg(long, default_value_t = MOST, value_name = "N", requires = "until_width")]
    max_replications: u32,
    /// Confidence of the intervals
    #[arg(long, default_value = "95 %", value_name = "PERCENT", value_parser = confidence)]
    confidence: f64,
    /// Parallel runs [default: the number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl ReplicationArgs {
    /// Whether more than one run is requested.
    pub fn is_asked_for(&self) -> bool {
        self.replications.is_some() || !self.until_width.is_empty()
    }

    fn plan(&self, scenario: &Scenario) -> Result<Plan> {
        let mut plan = match one_width(&self.until_width)? {
            None => Plan::fixed(scenario.seed, self.replications.unwrap_or(2)),
            Some(relative_half_width) => {
                Plan::sequential(scenario.seed, Until { relative_half_width, measures: self.measures(scenario) })
            }
        };
        if plan.until.is_some() {
            plan.least = self.replications.unwrap_or(plan.least);
            plan.most = self.max_replications.max(plan.least);
        }
        plan.confidence = self.confidence;
        plan.threads = self.threads.map_or(plan.threads, NonZeroUsize::get);
        Ok(plan)
    }

    /// Full names of the measures with a required width.
    fn measures(&self, scenario: &Scenario) -> Vec<String> {
        let phases = &scenario.measure.phases;
        let last = phases.last().map_or("all", |phase| &phase.name);
        let names = self.until_width.iter().flat_map(|(_, name)| match name {
            Some(name) => vec![full_name(name, last)],
            None => phases.iter().map(|phase| full_name("total_ip_mbps", &phase.name)).collect(),
        });
        names.collect()
    }
}

/// Runs the scenario the requested number of times.
pub fn run(run: &ScenarioRun, args: &ReplicationArgs) -> Result<ExitCode> {
    let scenario = run.scenario()?;
    let plan = args.plan(&scenario)?;
    let shows = !run.quiet && std::io::stderr().is_terminal();
    let simulate = |seed| evenair_sim::run(&Scenario { seed, ..scenario.clone() }, |_| ());
    let all = replicate(&plan, simulate, |advance| {
        if shows {
            show(advance);
        }
    });
    if shows {
        eprintln!();
    }
    // No directory is created if a run failed or a name was wrong.
    let all = match all {
        Ok(all) => all,
        Err(error) => bail!("{error}"),
    };
    let directory = output::new_directory(&run.out, &format!("{}-replications", scenario.name))?;
    let json = format!("{}\n", serde_json::to_string_pretty(&all)?);
    output::write_file(&directory, "replications.json", json.as_bytes())?;
    output::write_table(&directory, "replications", &table(&all))?;
    if run.json {
        print!("{json}");
    } else {
        print(&all, plan.until.as_ref());
        println!("\nresults: {} (replications.json, .csv, .parquet)", directory.display());
    }
    if all.reached == Some(false) {
        bail!("after {} replications the intervals are still too wide", all.seeds.len());
    }
    Ok(ExitCode::SUCCESS)
}

fn show(Advance { done, most, widest }: Advance) {
    let widest = widest.map_or_else(String::new, |widest| format!(", widest interval ± {:.2} %", 100.0 * widest));
    eprint!("\r{done} of at most {most} runs{widest}   ");
    let _ = std::io::stderr().flush();
}

/// A table with one measure per row.
fn table(all: &Replications) -> Table {
    let number = |of: &dyn Fn(&evenair_results::estimate::Estimate) -> Option<f64>| {
        Values::Number(all.estimates.iter().map(of).collect())
    };
    let unit = |name: &str| measure_named(name).map_or("", |measure| measure.unit).to_owned();
    let mut table = Table::default();
    table.push("measure", Values::Text(all.estimates.iter().map(|e| Some(e.name.clone())).collect()));
    table.push("unit", Values::Text(all.estimates.iter().map(|e| Some(unit(&e.name))).collect()));
    table.push("mean", number(&|e| Some(e.mean)));
    table.push("half_width", number(&|e| e.half_width));
    table.push("deviation", number(&|e| e.deviation));
    table.push("min", number(&|e| Some(e.min)));
    table.push("max", number(&|e| Some(e.max)));
    table.push("replications", Values::Count(all.estimates.iter().map(|e| Some(e.count)).collect()));
    table
}

fn print(all: &Replications, until: Option<&Until>) {
    let (first, last) = (all.seeds.first().copied().unwrap_or(0), all.seeds.last().copied().unwrap_or(0));
    println!("{}", all.title);
    let count = all.seeds.len();
    let percent = 100.0 * all.confidence;
    println!("{}, {count} replications (seeds {first} to {last}), means and {percent} % intervals\n", all.engine);
    let named = |name: &str| until.is_some_and(|until| until.measures.iter().any(|measure| measure == name));
    let usual = |name: &str| {
        let inside = name.strip_prefix("phase.").and_then(|name| name.split_once('.'));
        inside.is_some_and(|(_, name)| PRINTED.contains(&name))
    };
    let width = all.estimates.iter().filter(|e| usual(&e.name) || named(&e.name)).map(|e| e.name.len()).max();
    for estimate in all.estimates.iter().filter(|e| usual(&e.name) || named(&e.name)) {
        let half_width = estimate.half_width.unwrap_or(f64::NAN);
        let relative = estimate.relative_half_width().filter(|relative| relative.is_finite());
        let relative = relative.map_or_else(String::new, |relative| format!("  ({:.1} %)", 100.0 * relative));
        let width = width.unwrap_or(0);
        println!("  {:<width$}  {:>10.4} ± {:.4}{relative}", estimate.name, estimate.mean, half_width);
    }
    println!("\n{} measures in all", all.estimates.len());
}

/// Parses "2 %" or "2 %:measure".
pub(super) fn until_width(text: &str) -> Result<(f64, Option<String>), String> {
    let (width, measure) = text.split_once(':').map_or((text, None), |(width, measure)| (width, Some(measure)));
    Ok((percent(width, 0.0..100.0)?, measure.map(|measure| measure.trim().to_owned())))
}

/// The common width, if there is one.
pub(super) fn one_width(widths: &[(f64, Option<String>)]) -> Result<Option<f64>> {
    let first = widths.first().map(|&(width, _)| width);
    if widths.iter().any(|&(width, _)| Some(width) != first) {
        bail!("all --until-width must have the same width");
    }
    Ok(first)
}

fn confidence(text: &str) -> Result<f64, String> {
    percent(text, 0.0..100.0)
}

/// Parses a proportion in a range of percentages.
fn percent(text: &str, within: std::ops::Range<f64>) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').ok_or("expected a percentage such as \"2 %\"")?.trim();
    let value: f64 = number.parse().map_err(|_| format!("\"{number}\" is no number"))?;
    if value > within.start && value < within.end {
        Ok(value / 100.0)
    } else {
        Err(format!("{value} % is not above {} % and below {} %", within.start, within.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_percentages_with_or_without_a_measure() {
        assert_eq!(until_width("2 %"), Ok((0.02, None)));
        assert_eq!(until_width("0.5%: ap.loss_rate"), Ok((0.005, Some("ap.loss_rate".into()))));
        for wrong in ["2", "0 %", "100 %", "two %", "NaN %"] {
            assert!(until_width(wrong).is_err(), "{wrong}");
        }
    }
}
