//! `evenair measure health`: reasons of health that the simulated box raises, compared with the planted faults of sites: a planted fault
//! must be the first reason, in time and with its subject, and a site without a fault must have no reason.
//!
//! Without a part it measures all of docs/measured/health.md. Limits and generator were chosen on the sites [`CHOSEN_ON`]; the others
//! were held out. Column "medium time": median and largest `air_cost`, if rates are reported.

mod sites;
mod watched;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};
use evenair_api::health::Code;
use evenair_scenario::Scenario;
use evenair_sim::Watching;

use super::jobs::in_parallel;
use super::page::Measured;
use crate::commands::library::{scenario_file, scenarios_in};
use sites::{Fault, Site, site};
use watched::{FAULTY_S, First, Raised, Run, first, watch};

/// Arguments of `evenair measure health`.
#[derive(Args)]
pub struct HealthArgs {
    #[command(subcommand)]
    part: Option<Part>,
}

/// A part of the tables.
#[derive(Subcommand)]
enum Part {
    /// Generated sites with the numbers from FIRST to LAST, each with a fault
    Faults { first: u64, last: u64 },
    /// Generated sites with the numbers from FIRST to LAST without a fault, for so many seconds
    Healthy {
        first: u64,
        last: u64,
        #[arg(default_value_t = HEALTHY_S)]
        seconds: u64,
    },
    /// Scenarios, by file or name, to their ends
    Scenarios { files: Vec<PathBuf> },
    /// The feed of a site with a fault, by its number, or of a scenario, second by second
    Seconds { site: String },
}

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

/// The reasons of sites with a fault, and how many faults are named.
fn faults(numbers: RangeInclusive<u64>) -> Result<(String, usize)> {
    let numbers: Vec<u64> = numbers.collect();
    let found = in_parallel(&numbers, |&number| Ok(first(number, Fault::of(number))))?;
    let mut text =
        "| site | fault | network | named | first reasons | medium time |\n|---|---|---|---|---|---|\n".to_owned();
    for (number, First { site, run, is_named }) in numbers.iter().zip(&found) {
        let (fault, answer) = (Fault::of(*number), if *is_named { "yes" } else { "**no**" });
        let reasons = in_short(&run.raised, 3);
        text += &format!("| {number} | {fault:?} | {site} | {answer} | {reasons} | {} |\n", run.costs());
    }
    let named = found.iter().filter(|first| first.is_named).count();
    text += &format!("\n{named} of {} sites named\n\n", found.len());
    Ok((text, named))
}

fn in_short(raised: &[Raised], most: usize) -> String {
    let text = |raised: &Raised| {
        format!("{:.0} s {} {} ({:.0} {})", raised.at_s, raised.code, raised.subject, raised.value, raised.unit)
    };
    let shown: Vec<_> = raised.iter().take(most).map(text).collect();
    if shown.is_empty() { "none".into() } else { shown.join(", ") }
}

/// The reasons of sites without a fault, and how many there are.
fn healthy(numbers: RangeInclusive<u64>, seconds: u64) -> Result<(String, usize)> {
    let numbers: Vec<u64> = numbers.collect();
    let found = in_parallel(&numbers, |&number| {
        let Site { scenario, watching, name } = site(number, None, seconds);
        Ok((name, watch(&scenario, watching)))
    })?;
    let mut text = "| site | network | seconds | reasons | medium time |\n|---|---|---|---|---|\n".to_owned();
    for (number, (name, run)) in numbers.iter().zip(&found) {
        let reasons = in_short(&run.raised, 8);
        text += &format!("| {number} | {name} | {seconds} | {reasons} | {} |\n", run.costs());
    }
    let count = found.iter().map(|(_, run)| run.raised.len()).sum();
    text += &format!("\n{count} reasons\n\n");
    Ok((text, count))
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

/// The reasons of scenarios, and how many have no cause in their scenario.
fn committed(files: &[PathBuf]) -> Result<(String, usize)> {
    let found = in_parallel(files, |file| {
        let scenario = Scenario::load(file)?;
        let Run { raised, .. } = watch(&scenario, Watching::default());
        Ok((scenario.name, scenario.duration.as_secs_f64(), raised))
    })?;
    let mut text = "| scenario | seconds | reasons | what is wrong |\n|---|---|---|---|\n".to_owned();
    let mut count = 0;
    for (name, seconds, raised) in &found {
        let causes: BTreeSet<_> = raised.iter().filter_map(|raised| is_wrong(name, &raised.code)).collect();
        let causes: Vec<_> = causes.into_iter().collect();
        text += &format!("| {name} | {seconds:.0} | {} | {} |\n", in_short(raised, 8), causes.join("; "));
        count += raised.iter().filter(|raised| is_wrong(name, &raised.code).is_none()).count();
    }
    text += &format!("\n{count} reasons without a cause\n\n");
    Ok((text, count))
}

/// The feed of a generated site with its fault, or of a scenario.
fn seconds(which: &str) -> Result<String> {
    let Ok(number) = which.parse() else {
        let watching = Watching { observing: true, ..Watching::default() };
        return Ok(watched::seconds(&Scenario::load(scenario_file(Path::new(which))?)?, watching));
    };
    let fault = Fault::of(number);
    let Site { scenario, watching, name } = site(number, Some(fault), FAULTY_S);
    Ok(format!("{number} {fault:?}: {name}\n{}", watched::seconds(&scenario, watching)))
}

/// All tables; scenarios are those of boxes and venues.
fn all() -> Result<Measured> {
    let (chosen, named_of_chosen) = faults(CHOSEN_ON)?;
    let (held_out, named) = faults(HELD_OUT)?;
    let (healthy, false_alarms) = healthy(HEALTHY, HEALTHY_S)?;
    let (scenarios, without_cause) = committed(&[scenarios_in("box")?, scenarios_in("venues")?].concat())?;
    let are_named = named_of_chosen >= 3 * NAMED_OF_20 && named >= NAMED_OF_20;
    let text = format!(
        "## Sites on which limits and generator were chosen\n\n{chosen}## Sites held out\n\n{held_out}\
         ## Sites without a fault\n\n{healthy}## Scenarios\n\n{scenarios}"
    );
    Ok(Measured { text, is_met: are_named && false_alarms + without_cause <= FALSE_ALARMS })
}

/// Measures a part, or all; only all of it has bounds.
pub fn measure(args: &HealthArgs) -> Result<Measured> {
    let text = match &args.part {
        None => return all(),
        Some(Part::Faults { first, last }) => faults(*first..=*last)?.0,
        Some(Part::Healthy { first, last, seconds }) => healthy(*first..=*last, *seconds)?.0,
        Some(Part::Scenarios { files }) => {
            let files = files.iter().map(|file| scenario_file(file)).collect::<Result<Vec<_>>>()?;
            committed(&files)?.0
        }
        Some(Part::Seconds { site }) => seconds(site)?,
    };
    Ok(text.into())
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
