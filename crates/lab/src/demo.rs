//! `evenair demo`: the effect of the box in under a minute, on a page and in the terminal.
//!
//! An 802.11ax room with the kernel's TCP: one slow laptop, two uploads, one call. At first the box is bypassed; then it manages.
//! `--long` runs the published case instead: ten stations at 11 Mb/s, three of which upload.

mod page;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_results::{PhaseResult, RunResult};
use evenair_scenario::Scenario;

use self::page::Page;
use crate::commands::scenario_run::{Shown, run_into};
use crate::commands::testbed::{options, run_scenario};

/// A scenario of the demo, compiled into the program so that the demo needs no file.
struct Case {
    file: &'static str,
    text: &'static str,
    introduction: &'static str,
}

const ROOM: Case = Case {
    file: "scenarios/demo-room.toml",
    text: include_str!("../../../scenarios/demo-room.toml"),
    introduction: "\
Eight Linux hosts, each with a TCP stack of its own, share a simulated room of 802.11ax in real time: three
laptops download, a fourth does so from far away, two stations upload, one reads pages and one telephones. Between
the access point and the wire stands the box. For 20 seconds it lets everything pass; then it shares the air.",
};

const PUBLISHED: Case = Case {
    file: "scenarios/demo.toml",
    text: include_str!("../../../scenarios/demo.toml"),
    introduction: "\
Ten Linux hosts, each with a TCP stack of its own, share a simulated 11 Mb/s Wi-Fi in real time:
three upload to a server on the LAN, seven download from it. Between the access point and the wire stands
the box. For the first 20 seconds it lets everything pass, as if it were not there; then it manages, and
gives every station a tenth of the medium's time.",
};

/// Arguments of `evenair demo`.
#[derive(Args)]
pub struct DemoArgs {
    /// Parent directory of the results
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
    /// Ten stations at 11 Mb/s, two minutes
    #[arg(long)]
    long: bool,
    /// Only the terminal, no page for the browser
    #[arg(long)]
    no_page: bool,
}

/// Runs the demo and prints its results.
pub fn demo(args: &DemoArgs) -> Result<ExitCode> {
    let shown = if args.long { &PUBLISHED } else { &ROOM };
    let scenario = Scenario::parse(shown.text, shown.file)?;
    let lasts = scenario.duration.as_secs_f64();
    println!(
        "{}\nThis takes {lasts:.0} seconds. Ctrl-C ends it early and leaves nothing behind.\n",
        shown.introduction
    );
    let mut options = options()?;
    let page = if args.no_page { None } else { Page::open() };
    options.watch = page.as_ref().map(Page::socket);
    let run = |scenario: &Scenario| run_scenario(scenario, &options, false);
    let result = run_into(&args.out, &scenario.name, &scenario, Shown::Summary, run)?;
    if let [without, with] = &result.phases[..] {
        in_three_numbers(&result, without, with).iter().for_each(|line| println!("{line}"));
    }
    println!("The same run again, or changed: evenair testbed run {} --set seed=2", shown.file);
    ended_well(&result)?;
    Ok(ExitCode::SUCCESS)
}

/// Changes by the box, as far as they were measured: the least throughput of the equal downloads, the largest airtime share of a
/// station, and the mean load time of a page.
fn in_three_numbers(result: &RunResult, without: &PhaseResult, with: &PhaseResult) -> Vec<String> {
    let line = |what: &str, pair: [Option<f64>; 2], unit: &str| {
        let [before, after] = pair;
        Some(format!("{what:<34}{:>9.1} -> {:.1} {unit}", before?, after?))
    };
    let both = |value: &dyn Fn(&PhaseResult) -> Option<f64>| [value(without), value(with)];
    let most_air = |phase: &PhaseResult| {
        let stations = phase.measured_airtime.iter().flat_map(|measured| &measured.stations);
        stations.map(|at| (at.down_share + at.up_share) * 100.0).reduce(f64::max)
    };
    let least = |phase: &PhaseResult| {
        let downloads = || phase.flows.iter().filter(|flow| flow.app.starts_with("download"));
        let best = downloads().map(|flow| flow.rate_mbps).reduce(f64::max)?;
        downloads().filter(|flow| flow.rate_mbps >= best).map(|flow| flow.ip_mbps).reduce(f64::min)
    };
    let page = |phase: &PhaseResult| result.pages_of(phase).mean_s;
    let lines = [
        line("The least of the near downloads", both(&least), "Mb/s"),
        line("One station holds of the air at most", both(&most_air), "%"),
        line("A page takes, mean", both(&page), "s"),
    ];
    lines.into_iter().flatten().collect()
}

/// Accepts a run that is invalid only because the machine was busy; any other reason is an error.
fn ended_well(result: &RunResult) -> Result<()> {
    if result.was_only_late() {
        println!(
            "This machine was busy: not fit for publication. Close what else runs here, and the numbers will hold."
        );
    } else if !result.valid {
        bail!("this run is not valid: see above");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use evenair_results::Lateness;

    use super::*;

    fn simulated(shown: &Case) -> RunResult {
        let scenario = Scenario::parse(shown.text, shown.file).expect("sound");
        evenair_sim::run(&scenario, |_| ()).expect("it can be simulated")
    }

    #[test]
    fn a_demo_on_a_busy_machine_ends_well_and_one_with_a_fault_does_not() {
        let mut result = simulated(&PUBLISHED);
        assert!(ended_well(&result).is_ok());
        result.valid = false;
        result.invalid_because = vec!["late".into()];
        assert!(ended_well(&result).is_err());
        result.lateness = Some(Lateness { bounds_exceeded: 1, ..Lateness::default() });
        assert!(ended_well(&result).is_ok());
        result.box_faults = vec!["lost a packet".into()];
        assert!(ended_well(&result).is_err());
    }

    #[test]
    fn the_room_shows_starvation_and_its_end_in_three_numbers() {
        let result = simulated(&ROOM);
        let [without, with] = &result.phases[..] else { panic!("two phases") };
        let lines = in_three_numbers(&result, without, with);
        println!("{lines:#?}");
        assert_eq!(lines.len(), 3);
        let air = |phase: &PhaseResult| {
            let stations = &phase.measured_airtime.as_ref().expect("measured").stations;
            let of = |name: &str| stations.iter().find(|at| at.station == name).map(|at| at.down_share + at.up_share);
            (of("far-laptop").expect("there"), of("laptop1").expect("there"))
        };
        let ((far, near), (far_then, near_then)) = (air(without), air(with));
        assert!(far > 4.0 * near, "the far laptop holds {far:.2}, a near one {near:.2}");
        assert!(far_then < 1.5 * near_then, "then {far_then:.2} and {near_then:.2}");
    }
}
