//! The networks in which mechanisms are switched off: committed scenarios, before several kinds of access point.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use evenair_scenario::{Policy, Scenario};

use super::super::kinds::{self, Keys, Kind};
use crate::commands::library::scenario_file;

/// The queue that the scenario has.
static FIFO: Kind = Kind { name: "FIFO", keys: &[] };
/// Before 802.11n: a FIFO for each station.
static STATION_FIFOS: Kind =
    Kind { name: "FIFO by station", keys: &[("radio.ap_queue", "{ discipline = \"station-fifo\" }")] };
/// Aggregates of any station's packets, not only of those at the head.
static STATIONS: Kind = Kind { name: "FIFO by station", keys: kinds::STATIONS };
static MAC80211: Kind = Kind { name: "mac80211", keys: kinds::MAC80211 };
static SINGLE: Kind = Kind { name: "mac80211, single frames", keys: kinds::MAC80211_SINGLE_FRAMES };

/// A scenario before a kind of access point.
#[derive(Debug)]
pub struct Network {
    /// Its traffic, and how it differs from the scenario.
    what: &'static str,
    /// The name of the scenario.
    scenario: &'static str,
    kind: &'static Kind,
    /// What is set beside the kind.
    keys: Keys,
    /// The short form has it.
    pub in_short: bool,
}

const fn network(what: &'static str, scenario: &'static str, kind: &'static Kind) -> Network {
    Network { what, scenario, kind, keys: &[], in_short: true }
}

impl Network {
    const fn with(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }

    const fn long(self) -> Self {
        Self { in_short: false, ..self }
    }
}

const CAFE: &str = "802.11g, both ways, pages, call";
const OFFICE: &str = "802.11n, both ways, pages, call";
const SCHOOL: &str = "802.11ac, both ways, pages";
const STADIUM: &str = "802.11ax, uploads above all, pages";
const LEGACY: &str = "802.11n beside g, both ways, pages";

/// All networks.
pub static NETWORKS: [Network; 24] = [
    network(CAFE, "cafe-11g", &FIFO),
    network(CAFE, "cafe-11g", &STATION_FIFOS),
    network(CAFE, "cafe-11g", &MAC80211),
    network("802.11g, pages of stations that download", "cafe-11g", &FIFO)
        .with(&[("web.pages.stations", "[\"near1\", \"middle1\"]")]),
    network("802.11g, uploads above all, pages, calls", "hostel-11g", &FIFO),
    network("802.11g, uploads above all, pages, calls", "hostel-11g", &MAC80211).long(),
    network("802.11g, downloads, ACKs in batches of 5 ms", "b18-answers-in-batches", &FIFO),
    network("802.11g, downloads over QUIC", "b18-answers-in-batches", &FIFO)
        .with(&[("ap_path.up.batch", "0 ms"), ("bulk.down.tool", "quic")]),
    network("802.11g, uploads 300 ms from the box", "b18-answers-in-batches", &FIFO).with(&[
        ("ap_path.up.batch", "0 ms"),
        ("ap_path.up.delay", "300 ms"),
        ("bulk.down.direction", "up"),
        ("duration", "40 s"),
        ("event.1.at", "10 s"),
        ("phase.inserted.from", "15 s"),
        ("phase.inserted.to", "40 s"),
    ]),
    network(OFFICE, "office-11n", &FIFO),
    network(OFFICE, "office-11n", &STATIONS),
    network(OFFICE, "office-11n", &MAC80211),
    network(OFFICE, "office-11n", &SINGLE).long(),
    network("802.11n, both ways, 10 ms from the box", "office-11n", &FIFO).with(&[("ap_path.up.delay", "10 ms")]),
    network("802.11n, pages of stations that download", "office-11n", &FIFO)
        .with(&[("web.pages.stations", "[\"near1\", \"middle1\", \"far1\", \"edge\"]")]),
    network("802.11n, three floods of datagrams", "e01-three-stations-datagrams", &FIFO),
    network(LEGACY, "mixed-legacy", &FIFO),
    network(LEGACY, "mixed-legacy", &MAC80211).long(),
    network(SCHOOL, "school-11ac", &FIFO),
    network(SCHOOL, "school-11ac", &STATIONS).long(),
    network(SCHOOL, "school-11ac", &MAC80211).long(),
    network(STADIUM, "stadium-11ax", &FIFO),
    network(STADIUM, "stadium-11ax", &MAC80211).long(),
    network("802.11n, no station is known by telemetry", "office-11n", &FIFO)
        .with(&[("telemetry.stations", "false"), ("telemetry.rates", "false")]),
];

impl Network {
    /// Its name in tables and for `--networks`.
    pub fn name(&self) -> String {
        format!("{}, {}: {}", self.scenario, self.kind.name, self.what)
    }

    /// The scenario with the default controller.
    ///
    /// # Errors
    /// The scenario is not there, or is wrong.
    pub fn scenario(&self, seed: u64) -> Result<Scenario> {
        let file = scenario_file(Path::new(self.scenario))?;
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let policy = Policy::named("evenair")?;
        let sets: Vec<_> = self.keys.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let (text, sets) = policy.apply_with(self.scenario, &text, &sets)?;
        let sets = sets.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let seed = seed.to_string();
        let sets: Vec<_> = self.kind.keys.iter().copied().chain(sets).chain([("seed", seed.as_str())]).collect();
        Scenario::parse_with(&text, self.scenario, &sets).with_context(|| self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_is_a_sound_scenario_with_a_name_of_its_own() {
        let mut names: Vec<_> = NETWORKS.iter().map(Network::name).collect();
        for network in &NETWORKS {
            let scenario = network.scenario(3).unwrap();
            assert_eq!(scenario.seed, 3);
            assert!(evenair_sim::refusals(&scenario).is_empty(), "{}", network.name());
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), NETWORKS.len());
        assert!(NETWORKS.iter().any(|network| network.in_short));
    }
}
