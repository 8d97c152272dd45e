//! The default controller on a grid of networks that differ in all relevant factors, each without a box, with the default
//! controller, and with the best constant service rate.
//!
//! `grid` prints a line for each case and how many cases meet each bar; `grid cmax` searches the best constant service rates anew
//! and writes them to `cmax.csv` beside this file, which `grid` reads.

mod cases;
mod cmax;
mod figures;
mod table;

use std::error::Error;
use std::process::ExitCode;

use cases::Case;
use rayon::prelude::*;
use table::Row;

const USAGE: &str = "usage: grid [--md] [--seeds N] [PART]
       grid cmax [PART]

  --md     a Markdown table
  --seeds  seeds of each case, whose figures are averaged (3)
  cmax     search the best constant service rates, and write them to cmax.csv
  PART     only cases with this in their names";

/// Seeds of each case, and of the search of its best constant service rate.
const SEEDS: u32 = 3;

/// An error of any thread.
type Failure = Box<dyn Error + Send + Sync>;

/// Options of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Args {
    cmax: bool,
    markdown: bool,
    seeds: u32,
    part: String,
}

impl Args {
    fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut args = Self { cmax: false, markdown: false, seeds: SEEDS, part: String::new() };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "cmax" => args.cmax = true,
                "--md" => args.markdown = true,
                "--seeds" => {
                    let seeds = words.next().and_then(|seeds| seeds.parse().ok()).filter(|seeds| *seeds > 0);
                    args.seeds = seeds.ok_or("--seeds needs a number above 0")?;
                }
                other if other.starts_with('-') => return Err(format!("no option {other}")),
                _ => args.part = word,
            }
        }
        Ok(args)
    }
}

/// Runs `work` for all cases, on all cores, and returns the results in the order of the cases.
fn for_each<T: Send>(cases: &[Case], work: impl Fn(&Case) -> Result<T, Failure> + Sync) -> Result<Vec<T>, Failure> {
    cases.par_iter().map(|case| work(case).map_err(|error| format!("{case}: {error}").into())).collect()
}

fn perform(args: &Args) -> Result<(), Failure> {
    let cases: Vec<Case> = cases::all().into_iter().filter(|case| case.to_string().contains(&args.part)).collect();
    let mut known = cmax::read(&std::fs::read_to_string(cmax::PATH)?)?;
    if args.cmax {
        let found = for_each(&cases, |case| {
            let best = cmax::search(case, SEEDS)?;
            eprintln!("{case}: {}", if best.is_some() { "found" } else { "no setting within the bounds" });
            Ok((case.to_string(), best))
        })?;
        known.extend(found);
        std::fs::write(cmax::PATH, cmax::csv(&known))?;
        return Ok(());
    }
    let rows = for_each(&cases, |case| {
        let best = known.get(&case.to_string()).copied().ok_or("not in cmax.csv: call grid cmax")?;
        Row::measure(case, best, args.seeds)
    })?;
    print!("{}", if args.markdown { table::markdown(&rows) } else { table::text(&rows) });
    Ok(())
}

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match perform(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("grid: {error}");
            ExitCode::from(2)
        }
    }
}
