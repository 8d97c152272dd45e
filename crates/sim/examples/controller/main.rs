//! The default controller before access points that aggregate frames: its cost in throughput, the access points' queues and its
//! fairness, on several kinds of access point, PHYs and populations, each compared with the same network without a box.
//!
//! `cargo run --profile quick -p evenair-sim --example controller -- uniform --quick` prints a Markdown table and the number of
//! cells that miss each bar. Figures are of the time from 6 s on, means over the seeds; rates are of IP packets, DATA and ACKs
//! together, without multicast. The box is inserted under load, 2 s after the start of traffic, so that figures of many uploads
//! include queues that stations filled before: `--insert 0` omits them.

mod commands;
mod constants;
mod populations;
mod published;
mod report;
mod runs;
mod site;

use std::error::Error;
use std::process::ExitCode;

/// A command: its name, what it measures, and its function.
type Command = (&'static str, &'static str, fn(&Options) -> Result<(), Failure>);

const COMMANDS: [Command; 11] = [
    ("uniform", "all stations at one mode: throughput and queue time", commands::uniform),
    ("constants", "the default beside the best constants in flight, in runs and without", constants::constants),
    ("mixed", "MCS 11 beside MCS 0: fairness and throughput, with unreported and with reported rates", commands::mixed),
    ("quiet", "a station with pings beside ten downloads", commands::quiet),
    ("lag", "a path with delay, jitter or batches between box and access point", commands::lag),
    ("populations", "random populations", populations::populations),
    ("insertion", "an insertion under load, and traffic that begins behind the box", commands::insertion),
    ("published", "A10, A11 and A13 inserted at 300 s, as published: the transient, by seed", published::published),
    ("charged", "the airtime that the box charges beside the measured one", commands::charged),
    ("multicast", "downloads beside multicast video", commands::multicast),
    ("second-state", "3 s windows of a run that are far from the median of all", commands::second_state),
];

const USAGE: &str = "usage: controller COMMAND [OPTION]...
  --seeds N        seeds of each cell (5; quick: 2)
  --duration S     length of a run, s (20; quick: 12; published: 200 after the insertion); not of insertion and charged
  --insert S       when the box is inserted, s (2; of populations 0 or 2); not of insertion
  --quick          fewer cells
  --reported       the box gets the stations' PHY rates by telemetry
  --only PART      only cells with this in their names
  --set KEY=VALUE  a key of the scenario in runs with the box, such as manager.infer_rates=true; repeatable";

/// An error of any thread.
type Failure = Box<dyn Error + Send + Sync>;

/// Options of the command line.
#[derive(Clone, Debug, Default)]
struct Options {
    command: String,
    seeds: Option<u32>,
    duration_s: Option<u32>,
    insert_s: Option<u32>,
    quick: bool,
    reported: bool,
    only: String,
    /// Keys of the scenario and their values, for runs with the box.
    sets: Vec<(String, String)>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--seeds" => options.seeds = Some(value()?.parse::<u32>()?.max(1)),
                "--duration" => options.duration_s = Some(value()?.parse()?),
                "--insert" => options.insert_s = Some(value()?.parse()?),
                "--quick" => options.quick = true,
                "--reported" => options.reported = true,
                "--only" => options.only = value()?,
                "--set" => {
                    let set = value()?;
                    let (key, value) = set.split_once('=').ok_or("--set KEY=VALUE")?;
                    options.sets.push((key.to_owned(), value.to_owned()));
                }
                other if other.starts_with('-') || !options.command.is_empty() => {
                    return Err(format!("no {other}").into());
                }
                _ => options.command = word,
            }
        }
        Ok(options)
    }

    fn seeds(&self) -> u32 {
        self.seeds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    /// Length of a run, s.
    fn duration_s(&self) -> u32 {
        self.duration_s.unwrap_or(if self.quick { 12 } else { 20 })
    }

    /// Levels of a factor: all, or the quick ones in a quick run.
    fn pick<T: Clone>(&self, all: &[T], quick: &[T]) -> Vec<T> {
        if self.quick { quick.to_vec() } else { all.to_vec() }
    }
}

fn perform() -> Result<(), Failure> {
    let options = Options::parse(std::env::args().skip(1))?;
    if let Some((.., run)) = COMMANDS.iter().find(|(name, ..)| *name == options.command) {
        return run(&options);
    }
    let commands: String = COMMANDS.iter().map(|(name, what, _)| format!("\n  {name:15}  {what}")).collect();
    Err(format!("{USAGE}\n{commands}").into())
}

fn main() -> ExitCode {
    if let Err(error) = perform() {
        eprintln!("controller: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
