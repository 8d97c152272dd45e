//! HTB and WHTB beside the two published tables of the source of WHTB, over all that it leaves open of its Linux: packets in
//! the card, the clock of the buckets, bursts, quanta and hysteresis.
//!
//! `whtb` runs each setting for a short time, the nearest ones and today's as long as the source with several seeds, and says
//! beside them how near any scheduler can come.

mod law;
mod published;
mod report;
mod settings;
mod sweep;

use std::error::Error;
use std::process::ExitCode;

const USAGE: &str = "usage: whtb [--seconds S] [--seeds N]

  --seconds  how long each setting is run (10); the nearest ones 81.92 s
  --seeds    seeds of the nearest ones (5)";

/// What fails, from any thread.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What the command line asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Args {
    /// Of each run of the sweep.
    pub seconds: f64,
    /// Of the runs at length.
    pub seeds: u64,
}

impl Args {
    fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut args = Self { seconds: 10.0, seeds: 5 };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let value = words.next();
            let value = || value.as_deref().ok_or(format!("{word} needs a number"));
            match word.as_str() {
                "--seconds" => args.seconds = value()?.parse().map_err(|_| "--seconds needs a number")?,
                "--seeds" => args.seeds = value()?.parse().map_err(|_| "--seeds needs a number")?,
                other => return Err(format!("no option {other}")),
            }
        }
        if args.seconds >= 1.0 && args.seeds > 0 { Ok(args) } else { Err("too short, or without seeds".to_owned()) }
    }
}

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match report::markdown(args) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("whtb: {error}");
            ExitCode::from(2)
        }
    }
}
