//! `evenair measure ablate`: what each mechanism of the default controller is good for.
//!
//! Each mechanism is switched off in turn, in each network, with the seeds of the full controller, and what changes is shown beside what
//! the full controller has. A mechanism *earns* something where a measure is worse without it by more than a bound, and the whole
//! interval of the difference in pairs is ([`judge`]). Of hundreds of differences some are beyond an interval by chance: what only one of
//! them shows is to be measured with more seeds.
//!
//! Not here: what a simulator does not have; two mechanisms that stand in for one another, each of which earns nothing alone.

mod figures;
mod judge;
mod networks;
mod table;

use std::ops::ControlFlow;
use std::sync::LazyLock;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use evenair_sim::{Mechanism, SimOptions, Without, run_with};

use figures::Figures;
use networks::{NETWORKS, Network};
use table::{OfNetwork, Variant};

use super::jobs::in_parallel;
use super::page::Measured;

/// Arguments of `evenair measure ablate`.
#[derive(Args)]
pub struct AblateArgs {
    /// The mechanisms to switch off; all where absent
    #[arg(value_name = "MECHANISM")]
    mechanisms: Vec<Switch>,
    /// Only networks with this in their names
    #[arg(long, value_name = "PART", default_value = "")]
    networks: String,
    /// Seeds of each network [default: 10, with --short 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// Some of the networks and three seeds, in minutes
    #[arg(long)]
    short: bool,
}

/// A mechanism to switch off, with its word on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Switch(Mechanism);

/// In the order of [`Mechanism::ALL`].
static SWITCHES: LazyLock<[Switch; Mechanism::ALL.len()]> = LazyLock::new(|| Mechanism::ALL.map(Switch));

impl ValueEnum for Switch {
    fn value_variants<'a>() -> &'a [Self] {
        &*SWITCHES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (word, help) = match self.0 {
            Mechanism::Runs => {
                ("runs", "Runs of one station before access points that aggregate; without: runs of one packet")
            }
            Mechanism::Cost => {
                ("cost", "The cost of each station by completions; without: its rate, and the domain's mean cost")
            }
            Mechanism::Lag => ("lag", "The allowance for the lag of the path; without: none"),
            Mechanism::Age => {
                ("age", "The age of the last completion; without: none leaves by time for a second while one is due")
            }
            Mechanism::Probes => ("probes", "Probes; without: none"),
            Mechanism::Rounds => ("rounds", "CoDel's target by rounds; without: a fixed one"),
            Mechanism::Attained => ("attained", "Weights by attained service; without: equal ones"),
            Mechanism::Sparse => ("sparse", "Sparse-flow priority; without: turns alone"),
            Mechanism::Guard => ("guard", "The guard against harm; without: none"),
        };
        Some(PossibleValue::new(word).help(help))
    }
}

impl Switch {
    /// Its word on the command line, and what it says there.
    fn words(self) -> (String, String) {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help()).map(ToString::to_string);
        (value.map(|value| value.get_name().to_owned()).unwrap_or_default(), help.unwrap_or_default())
    }
}

/// Measures without each mechanism.
pub fn measure(args: &AblateArgs) -> Result<Measured> {
    let seeds = args.seeds.unwrap_or(if args.short { 3 } else { 10 });
    let wanted = |network: &&Network| (network.in_short || !args.short) && network.name().contains(&args.networks);
    let networks: Vec<&Network> = NETWORKS.iter().filter(wanted).collect();
    if networks.is_empty() {
        bail!("no network has \"{}\" in its name", args.networks);
    }
    let all = Switch::value_variants();
    let switches = if args.mechanisms.is_empty() { all } else { &args.mechanisms };
    Ok(table::text(&runs(&networks, switches, seeds)?, seeds).into())
}

/// All runs, on all cores.
fn runs(networks: &[&Network], switches: &[Switch], seeds: u64) -> Result<Vec<OfNetwork>> {
    let variants: Vec<Option<Switch>> = [None].into_iter().chain(switches.iter().copied().map(Some)).collect();
    let of_network = |&network| variants.iter().map(move |&off| (network, off));
    let jobs: Vec<(&Network, Option<Switch>, u64)> = networks
        .iter()
        .flat_map(of_network)
        .flat_map(|(network, off)| (1..=seeds).map(move |seed| (network, off, seed)))
        .collect();
    let runs = in_parallel(&jobs, |&(network, off, seed)| figures(network, off, seed))?;
    let mut runs = runs.chunks(seeds as usize).map(<[Figures]>::to_vec);
    let mut next = || runs.next().unwrap_or_default();
    let measured = networks.iter().map(|network| {
        let full = next();
        let variant = |&switch: &Switch| {
            let (word, meaning) = switch.words();
            Variant { word, meaning, runs: next() }
        };
        OfNetwork { network: network.name(), full, variants: switches.iter().map(variant).collect() }
    });
    Ok(measured.collect())
}

/// One run, without a mechanism or with all.
fn figures(network: &Network, off: Option<Switch>, seed: u64) -> Result<Figures> {
    let scenario = network.scenario(seed)?;
    let without = off.map_or(Without::NOTHING, |switch| Without::NOTHING.and(switch.0));
    let options = SimOptions { without, ..SimOptions::default() };
    let run = run_with(&scenario, &options, |_| ControlFlow::Continue(())).with_context(|| network.name())?;
    Figures::of(&run, &scenario).with_context(|| format!("{}: the scenario has no phase", network.name()))
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    /// Networks that are simulated in little time.
    fn quick() -> Vec<&'static Network> {
        let names = [
            "cafe-11g, FIFO:",
            "cafe-11g, FIFO: 802.11g, pages of stations that download",
            "802.11g, downloads over QUIC",
            "uploads 300 ms from the box",
            "mixed-legacy, FIFO:",
        ];
        let named = |part: &str| NETWORKS.iter().find(|network| network.name().contains(part)).expect("it is there");
        names.map(named).to_vec()
    }

    #[test]
    fn each_switch_changes_something_in_some_network_and_none_changes_nothing() {
        let networks = quick();
        let full = |&network: &&Network| figures(network, None, 1).expect("it can be simulated");
        let full: Vec<Figures> = networks.par_iter().map(full).collect();
        let scenario = networks[0].scenario(1).expect("a sound scenario");
        let plain = evenair_sim::run(&scenario, |_| ()).expect("it can be simulated");
        assert_eq!(Figures::of(&plain, &scenario), Some(full[0]), "nothing is left out");
        let changes = |&switch: &Switch| {
            let differs = |(&network, full): (&&Network, &Figures)| {
                figures(network, Some(switch), 1).expect("it can be simulated") != *full
            };
            let somewhere = networks.iter().zip(&full).any(differs);
            (!somewhere).then_some(switch)
        };
        let idle: Vec<Switch> = Switch::value_variants().par_iter().filter_map(changes).collect();
        assert_eq!(idle, [], "these switch nothing off");
    }
}
