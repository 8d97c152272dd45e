//! `evenair measure aggregation`: the default controller before access points that aggregate frames: its cost in throughput, the access
//! points' queues and its fairness, on several kinds of access point, PHYs and populations, each compared with the same network without
//! a box.
//!
//! Below a table is the number of cells that miss each bar. Figures are of the time from 6 s on, means over the seeds; rates are of IP
//! packets, DATA and ACKs together, without multicast. The box is inserted under load, 2 s after the start of traffic, so that figures
//! of many uploads include queues that stations filled before: `--insert 0` omits them.

mod commands;
mod constants;
mod live;
mod options;
mod populations;
mod published;
mod report;
mod runs;
mod site;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::page::Measured;
use options::Options;

/// Arguments of `evenair measure aggregation`.
#[derive(Args)]
pub struct AggregationArgs {
    /// The experiment
    #[arg(value_enum)]
    experiment: Experiment,
    #[command(flatten)]
    options: Options,
}

#[derive(Clone, Copy, ValueEnum)]
enum Experiment {
    /// All stations at one mode: throughput and queue time
    Uniform,
    /// The default beside the best constants in flight, in runs and without
    Constants,
    /// MCS 11 beside MCS 0: fairness and throughput, with unreported and with reported rates
    Mixed,
    /// A station with pings beside ten downloads
    Quiet,
    /// A path with delay, jitter or batches between box and access point
    Lag,
    /// Random populations
    Populations,
    /// An insertion under load, and traffic that begins behind the box
    Insertion,
    /// A10, A11 and A13 inserted at 300 s, as published: the transient, by seed
    Published,
    /// The airtime that the box charges beside the measured one
    Charged,
    /// Downloads beside multicast video
    Multicast,
    /// 3 s windows of a run that are far from the median of all
    SecondState,
    /// Kernel TCP on the testbed in real time; as root, and with evenaird beside this program
    Live,
}

/// Makes the experiment.
pub fn measure(args: &AggregationArgs) -> Result<Measured> {
    let experiment = match args.experiment {
        Experiment::Uniform => commands::uniform,
        Experiment::Constants => constants::constants,
        Experiment::Mixed => commands::mixed,
        Experiment::Quiet => commands::quiet,
        Experiment::Lag => commands::lag,
        Experiment::Populations => populations::populations,
        Experiment::Insertion => commands::insertion,
        Experiment::Published => published::published,
        Experiment::Charged => commands::charged,
        Experiment::Multicast => commands::multicast,
        Experiment::SecondState => commands::second_state,
        Experiment::Live => live::live,
    };
    Ok(experiment(&args.options)?.into())
}
