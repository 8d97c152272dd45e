//! The default controller before access points that aggregate frames: what it costs, how short it keeps their queues and how fair
//! it is, on several kinds of access point, PHYs and populations, each beside the same network without a box.
//!
//! `cargo run --profile quick -p evenair-sim --example controller -- uniform --quick` prints a Markdown table and how many cells
//! miss each bar. Unless a command says otherwise, the box is inserted under load, 2 s after traffic began, and figures are of the
//! time from 6 s on, means over the seeds. Rates are of IP packets, DATA and ACKs together, without multicast.

mod commands;
mod populations;
mod report;
mod runs;
mod site;

use std::error::Error;
use std::process::ExitCode;

const USAGE: &str = "usage: controller COMMAND [OPTION]...
  uniform       all stations at one mode: throughput and queue time
  mixed         MCS 11 beside MCS 0: fairness and throughput, with unreported and with reported rates
  quiet         a station with pings beside ten downloads
  lag           a path with delay, jitter or batches between box and access point
  populations   random populations
  insertion     an insertion under load, and traffic that begins behind the box
  charged       the airtime that the box charges beside the measured one
  multicast     downloads beside multicast video
  second-state  3 s windows of a run that are far from the median of all

  --seeds N        seeds of each cell (5; quick: 2)
  --duration S     length of a run, s (20; quick: 12); not of insertion and charged
  --quick          fewer cells
  --reported       the box gets the stations' PHY rates by telemetry
  --only PART      only cells with this in their names
  --set KEY=VALUE  a key of the scenario in runs with the box, such as manager.infer_rates=true; repeatable";

/// What fails, from any thread.
type Failure = Box<dyn Error + Send + Sync>;

/// What the command line asks for.
#[derive(Clone, Debug, Default)]
struct Options {
    command: String,
    seeds: Option<u32>,
    duration_s: Option<u32>,
    quick: bool,
    reported: bool,
    only: String,
    /// Keys of the scenario and their values, in runs with the box.
    sets: Vec<(String, String)>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            let number =
                |text: String| text.parse().ok().filter(|n| *n > 0).ok_or(format!("{text}: no number above 0"));
            match word.as_str() {
                "--seeds" => options.seeds = Some(number(value()?)?),
                "--duration" => options.duration_s = Some(number(value()?)?),
                "--quick" => options.quick = true,
                "--reported" => options.reported = true,
                "--only" => options.only = value()?,
                "--set" => {
                    let set = value()?;
                    let (key, value) = set.split_once('=').ok_or("--set KEY=VALUE")?;
                    options.sets.push((key.to_owned(), value.to_owned()));
                }
                other if other.starts_with('-') || !options.command.is_empty() => return Err(format!("no {other}")),
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

    /// Levels of a factor: all, or those of a quick run.
    fn pick<T: Clone>(&self, all: &[T], quick: &[T]) -> Vec<T> {
        if self.quick { quick.to_vec() } else { all.to_vec() }
    }
}

fn perform(options: &Options) -> Result<(), Failure> {
    match options.command.as_str() {
        "uniform" => commands::uniform(options),
        "mixed" => commands::mixed(options),
        "quiet" => commands::quiet(options),
        "lag" => commands::lag(options),
        "populations" => populations::populations(options),
        "insertion" => commands::insertion(options),
        "charged" => commands::charged(options),
        "multicast" => commands::multicast(options),
        "second-state" => commands::second_state(options),
        _ => Err(USAGE.into()),
    }
}

fn main() -> ExitCode {
    let options = Options::parse(std::env::args().skip(1)).map_err(Failure::from);
    if let Err(error) = options.and_then(|options| perform(&options)) {
        eprintln!("controller: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
