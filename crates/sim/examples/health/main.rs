//! Reasons of health that the simulated box raises, compared with the planted faults of sites: a planted fault must be the first reason,
//! in time and with its subject, and a site without a fault must have no reason.
//!
//! `health` prints the tables of docs/measured/health.md, and exits with 1 if a bound is missed. Limits and generator were chosen on
//! the sites [`CHOSEN_ON`]; the others were held out. Column "medium time": median and largest `air_cost`, if rates are reported.

mod sites;
mod watched;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ExitCode;

use evenair_api::health::Code;
use evenair_scenario::Scenario;
use evenair_sim::Watching;
use sites::{Fault, Site, site};
use watched::{FAULTY_S, First, Raised, Run, first, watch};

const USAGE: &str =
    "usage: health [faults FIRST LAST | healthy FIRST LAST SECONDS | committed FILE... | seconds NUMBER|FILE]

  without words  all tables
  faults         generated sites with these numbers, each with a fault
  healthy        generated sites without a fault, for so long
  committed      scenarios, to their ends
  seconds        the feed of a site with a fault or of a scenario, second by second";

/// Numbers of the sites on which limits, rules and generator were chosen, and of those that were held out.
const CHOSEN_ON: RangeInclusive<u64> = 1..=60;
const HELD_OUT: RangeInclusive<u64> = 61..=80;
/// Numbers of the sites without a fault.
const HEALTHY: RangeInclusive<u64> = 101..=120;
/// Observation time of a site without a fault, in seconds.
const HEALTHY_S: u64 = 120;
/// Bound: named faults of 20 sites with a fault.
const NAMED_OF_20: usize = 18;
/// Bound: reasons of all sites and scenarios without a fault together.
const FALSE_ALARMS: usize = 1;

type Failure = Box<dyn Error>;

/// Prints the reasons of sites with a fault; returns how many faults are named.
fn faults(numbers: RangeInclusive<u64>) -> usize {
    println!("| site | fault | network | named | first reasons | medium time |\n|---|---|---|---|---|---|");
    let mut named = 0;
    for number in numbers.clone() {
        let fault = Fault::of(number);
        let First { site, run, is_named } = first(number, fault);
        named += usize::from(is_named);
        let answer = if is_named { "yes" } else { "**no**" };
        println!("| {number} | {fault:?} | {site} | {answer} | {} | {} |", in_short(&run.raised, 3), run.costs());
    }
    println!("\n{named} of {} sites named\n", numbers.count());
    named
}

fn in_short(raised: &[Raised], most: usize) -> String {
    let text = |raised: &Raised| {
        format!("{:.0} s {} {} ({:.0} {})", raised.at_s, raised.code, raised.subject, raised.value, raised.unit)
    };
    let shown: Vec<_> = raised.iter().take(most).map(text).collect();
    if shown.is_empty() { "none".into() } else { shown.join(", ") }
}

/// Prints the reasons of sites without a fault; returns how many there are.
fn healthy(numbers: RangeInclusive<u64>, seconds: u64) -> usize {
    println!("| site | network | seconds | reasons | medium time |\n|---|---|---|---|---|");
    let mut count = 0;
    for number in numbers {
        let Site { scenario, watching, name } = site(number, None, seconds);
        let run = watch(&scenario, watching);
        println!("| {number} | {name} | {seconds} | {} | {} |", in_short(&run.raised, 8), run.costs());
        count += run.raised.len();
    }
    println!("\n{count} reasons\n");
    count
}

/// Scenarios with an expected reason: file, code, and cause.
const WRONG: [(&str, Code, &str); 6] = [
    ("b01-beside-a-download", Code::WifiLatency, "queues of stations from before the insertion, of seconds"),
    ("b03-pages-beside-down", Code::InternetLatency, "an Internet path of 300 ms, beyond the limit of 250 ms"),
    ("b04-pages-beside-up", Code::InternetLatency, "an Internet path of 300 ms, beyond the limit of 250 ms"),
    ("b05-calls", Code::CallsRefused, "more calls than are allowed"),
    ("b05-many-connections", Code::WifiLatency, "no controller"),
    ("b15-telephone", Code::CallQuality, "the call began while the box was bypassed"),
];

fn is_wrong(scenario: &str, code: &str) -> Option<&'static str> {
    let is_it = |(of, wrong, _): &&(&str, Code, &str)| *of == scenario && wrong.to_string() == code;
    WRONG.iter().find(is_it).map(|(.., why)| *why)
}

/// Prints the reasons of scenarios; returns how many have no cause in their scenario.
fn committed(files: &[String]) -> Result<usize, Failure> {
    println!("| scenario | seconds | reasons | what is wrong |\n|---|---|---|---|");
    let mut count = 0;
    for file in files {
        let scenario = Scenario::load(Path::new(file))?;
        let Run { raised, .. } = watch(&scenario, Watching::default());
        let (name, seconds) = (&scenario.name, scenario.duration.as_secs_f64());
        let causes: BTreeSet<_> = raised.iter().filter_map(|raised| is_wrong(name, &raised.code)).collect();
        let causes: Vec<_> = causes.into_iter().collect();
        println!("| {name} | {seconds:.0} | {} | {} |", in_short(&raised, 8), causes.join("; "));
        count += raised.iter().filter(|raised| is_wrong(name, &raised.code).is_none()).count();
    }
    println!("\n{count} reasons without a cause\n");
    Ok(count)
}

/// Prints the feed of a generated site with its fault, or of a scenario.
fn seconds(which: &str) -> Result<(), Failure> {
    let Ok(number) = which.parse() else {
        let watching = Watching { observing: true, ..Watching::default() };
        watched::seconds(&Scenario::load(Path::new(which))?, watching);
        return Ok(());
    };
    let fault = Fault::of(number);
    let Site { scenario, watching, name } = site(number, Some(fault), FAULTY_S);
    println!("{number} {fault:?}: {name}");
    watched::seconds(&scenario, watching);
    Ok(())
}

/// The scenarios of boxes and venues, in order.
fn scenarios() -> Result<Vec<String>, Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files = Vec::new();
    for folder in ["box", "venues"] {
        for entry in fs::read_dir(root.join(folder))? {
            let file = entry?.path();
            if file.extension().is_some_and(|extension| extension == "toml") {
                files.push(file.to_string_lossy().into_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Prints all tables; returns whether every bound is met.
fn all() -> Result<bool, Failure> {
    println!("## Sites on which limits and generator were chosen\n");
    let mut is_met = faults(CHOSEN_ON) >= 3 * NAMED_OF_20;
    println!("## Sites held out\n");
    is_met &= faults(HELD_OUT) >= NAMED_OF_20;
    println!("## Sites without a fault\n");
    let false_alarms = healthy(HEALTHY, HEALTHY_S);
    println!("## Scenarios\n");
    let false_alarms = false_alarms + committed(&scenarios()?)?;
    Ok(is_met && false_alarms <= FALSE_ALARMS)
}

/// Runs the command; returns whether every bound is met.
fn perform(words: &[String]) -> Result<bool, Failure> {
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).ok_or(USAGE);
    match words.first().map(String::as_str) {
        None => return all(),
        Some("faults") => _ = faults(number(1)?..=number(2)?),
        Some("healthy") => _ = healthy(number(1)?..=number(2)?, number(3)?),
        Some("committed") => _ = committed(&words[1..])?,
        Some("seconds") => seconds(words.get(1).ok_or(USAGE)?)?,
        Some(_) => return Err(USAGE.into()),
    }
    Ok(true)
}

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    match perform(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fault_of_each_kind_is_the_first_reason() {
        for (number, fault) in Fault::ALL.into_iter().enumerate() {
            let First { site, run, is_named } = first(number as u64 + 1, fault);
            assert!(is_named, "{fault:?} of {site}: {}", in_short(&run.raised, 8));
        }
    }
}
