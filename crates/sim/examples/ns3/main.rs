//! This simulator beside ns-3 3.44, an independent one, on the same set-ups.
//!
//! `ns3 validate` runs every case in both over many seeds and compares them; `ns3 vary` changes the settings of one of our cases one by
//! one; `ns3 bench` measures the cost of a simulated second in each. `scripts/ns3` fetches ns-3 and builds the program that drives it
//! (`checks/ns3/wlan.cc`); `make measure NAME=validate-ns3` and `make bench` call all of it.

mod bench;
mod case;
mod cases;
mod judge;
mod ns3;
mod ours;
mod table;
mod vary;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: ns3 validate [--short] [--seeds N] [--jobs N] [--json FILE] [CASE...]
       ns3 vary [--seeds N] CASE...
       ns3 bench [--times N] [PART...]
       ns3 list

  validate  compare the results, and exit with 1 unless all cases agree; CASE: names that begin so
  vary      run ours of a case with one setting after the other changed, and show what each group gets
  bench     compare the speed; PART: networks that have it in their names
  list      the cases";

/// Options of the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Args {
    command: String,
    short: bool,
    seeds: Option<u32>,
    jobs: Option<usize>,
    times: Option<usize>,
    json: Option<PathBuf>,
    cases: Vec<String>,
}

impl Args {
    fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut args = Self::default();
        let mut words = words.into_iter();
        args.command = words.next().ok_or("no command")?;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--short" => args.short = true,
                "--seeds" => args.seeds = Some(number(&value()?)?),
                "--jobs" => args.jobs = Some(number(&value()?)?),
                "--times" => args.times = Some(number(&value()?)?),
                "--json" => args.json = Some(value()?.into()),
                other if other.starts_with('-') => return Err(format!("no option {other}")),
                _ => args.cases.push(word),
            }
        }
        Ok(args)
    }
}

fn number<T: std::str::FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    text.parse().ok().filter(|value| *value >= T::from(1)).ok_or(format!("{text} is not a number above 0"))
}

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let done = match args.command.as_str() {
        "validate" => judge::validate(&args),
        "bench" => bench::bench(&args).map(|()| true),
        "vary" => vary::vary(&args).map(|()| true),
        "list" => {
            cases::all().iter().for_each(|case| println!("{}", case.name));
            Ok(true)
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("ns3: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_command_line() {
        let args = parse("validate --short --seeds 30 A B").unwrap();
        assert!(args.short);
        assert_eq!((args.seeds, args.cases.len()), (Some(30), 2));
        for wrong in ["", "validate --seeds", "validate --seeds 0", "validate --jobs x", "bench --shrt"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
