//! `evenair demo`: the effect of the box in under three minutes.
//!
//! Ten stations of an 11 Mb/s WLAN, three uploading and seven downloading over the kernel's real TCP. At first the box is
//! bypassed; then it manages, and each station gets a tenth.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_results::RunResult;
use evenair_scenario::Scenario;

use crate::commands::scenario_run::{Shown, run_into};
use crate::commands::testbed::{options, run_scenario};

/// The scenario that is shown, part of the program so that the demo needs no file.
const SCENARIO: &str = include_str!("../../../scenarios/demo.toml");
const FILE: &str = "scenarios/demo.toml";

/// Arguments of `evenair demo`.
#[derive(Args)]
pub struct DemoArgs {
    /// Parent directory of the results
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
}

/// Runs the demo and prints what it showed.
pub fn demo(args: &DemoArgs) -> Result<ExitCode> {
    let scenario = Scenario::parse(SCENARIO, FILE)?;
    introduce(&scenario);
    let options = options()?;
    let run = |scenario: &Scenario| run_scenario(scenario, &options, false);
    let result = run_into(&args.out, "demo", &scenario, Shown::Summary, run)?;
    println!("The same run again, or changed: evenair testbed run {FILE} --set seed=2");
    ended_well(&result)?;
    Ok(ExitCode::SUCCESS)
}

/// A machine that was busy has shown what there is to see; all else that makes a run invalid is an error.
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

fn introduce(scenario: &Scenario) {
    println!(
        "\
Ten Linux hosts, each with a TCP stack of its own, share a simulated 11 Mb/s Wi-Fi in real time:
three upload to a server on the LAN, seven download from it. Between the access point and the wire stands
the box. For the first 20 seconds it lets everything pass, as if it were not there; then it manages, and
gives every station a tenth of the medium's time.
This takes {:.0} seconds. Ctrl-C ends it early and leaves nothing behind.
",
        scenario.duration.as_secs_f64()
    );
}

#[cfg(test)]
mod tests {
    use evenair_results::Lateness;

    use super::*;

    #[test]
    fn a_demo_on_a_busy_machine_ends_well_and_one_with_a_fault_does_not() {
        let scenario = Scenario::parse_with(SCENARIO, FILE, &[]).expect("sound");
        let mut result = evenair_sim::run(&scenario, |_| ()).expect("it can be simulated");
        assert!(ended_well(&result).is_ok());
        result.valid = false;
        result.invalid_because = vec!["late".into()];
        assert!(ended_well(&result).is_err());
        result.lateness = Some(Lateness { bounds_exceeded: 1, ..Lateness::default() });
        assert!(ended_well(&result).is_ok());
        result.box_faults = vec!["lost a packet".into()];
        assert!(ended_well(&result).is_err());
    }
}
