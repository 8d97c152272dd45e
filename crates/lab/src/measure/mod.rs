//! `evenair measure`: what simulated networks say of the box. The tables of a release are in docs/measured.

mod ablate;
mod aggregation;
mod backlog;
mod engines;
mod grid;
mod health;
mod jobs;
mod kinds;
mod page;
mod sites;
mod venues;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use evenair_study::Made;

use crate::output::VERSION;

/// Arguments of `evenair measure`.
#[derive(Args)]
pub struct MeasureArgs {
    #[command(subcommand)]
    what: What,
    /// Also write the tables into this file, in Markdown, with date, version, machine and command
    #[arg(long, global = true, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Measurements. Each makes its runs on all cores, and prints Markdown.
#[derive(Subcommand)]
enum What {
    /// Switch each mechanism of the default controller off in turn, and compare with the full one
    Ablate(ablate::AblateArgs),
    /// Measure throughput, queues and fairness with the default controller before access points that aggregate
    Aggregation(aggregation::AggregationArgs),
    /// Run the published experiments in the simulator and on the testbed, and compare; as root, and with evenaird beside this program
    Engines(engines::EnginesArgs),
    /// Compare the default controller on 30 networks of 802.11b and g with no box and with the best constant service rates
    Grid(grid::GridArgs),
    /// Plant faults in sites: which are the first reason of health, and what is raised where nothing is wrong
    Health(health::HealthArgs),
    /// Compare the default controller with six other policies at six sites
    Sites(sites::SitesArgs),
    /// Infer the number of backlogged nodes from captures of 16 mixes of traffic, and compare with the runs' own count
    Backlog(backlog::BacklogArgs),
    /// Compare five policies at venues of 802.11n, ac and ax, on five kinds of access point
    Venues(venues::VenuesArgs),
}

/// Measures, prints the tables, and writes the page that is asked for; the exit status says whether all bounds are met.
pub fn run(args: &MeasureArgs) -> Result<ExitCode> {
    // The day on which it begins: some take hours.
    let made = Made::now(VERSION);
    let measured = match &args.what {
        What::Ablate(args) => ablate::measure(args)?,
        What::Aggregation(args) => aggregation::measure(args)?,
        What::Engines(args) => engines::measure(args)?,
        What::Grid(args) => grid::measure(args)?,
        What::Health(args) => health::measure(args)?,
        What::Sites(args) => sites::measure(args)?,
        What::Backlog(args) => backlog::measure(args)?,
        What::Venues(args) => venues::measure(args)?,
    };
    print!("{}", measured.text);
    if let Some(file) = &args.out {
        measured.write(file, made)?;
        eprintln!("written: {}", file.display());
    }
    Ok(if measured.is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
