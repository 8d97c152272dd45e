//! Writing a documented default into a file changes nothing.

use std::collections::BTreeSet;
use std::fs;

use evenair_scenario::{Scenario, Source};

use crate::keys::keys;

/// A file in which every table can be added.
const BASE: &str = r#"
version = 1
name = "x"
duration = "60 s"
radio = { standard = "802.11g" }
wan = { down = { rate = "8 Mb/s" }, up = { rate = "1 Mb/s" } }
station = [{ name = "sta", rate = "54 Mb/s" }]
server = [{ name = "server" }, { name = "far", at = "wan" }]
bulk = [{ name = "bulk", stations = ["sta"], server = "server", direction = "down" }]
udp = [{ name = "udp", stations = ["sta"], server = "server", direction = "down", rate = "1 Mb/s" }]
voip = [{ name = "voip", stations = ["sta"], server = "server" }]
flows = [{ name = "flows", stations = ["sta"], server = "server", direction = "down", load = "1 Mb/s", size = { mean = "9 kB" } }]
onoff = [{ name = "onoff", stations = ["sta"], server = "server", direction = "down", size = { mean = "9 kB" }, gap = { mean = "1 s" } }]
web = [{ name = "web", stations = ["sta"], server = "server" }]
ping = [{ name = "ping", stations = ["sta"], server = "server" }]
neighbour = [{ name = "beside", load = "1 %", rate = "54 Mb/s" }]
event = [{ at = "1 s", do = "insert" }]
phase = [{ name = "all", from = "0 s", to = "60 s" }]
sweep = [{ key = "seed", values = "1, 2" }]
"#;

/// Settings with which a key has an effect; a default is right if it changes nothing in one of these contexts.
const BESIDE: &[&[(&str, &str)]] = &[
    &[],
    &[("radio.standard", "\"802.11b\""), ("station.1.rate", "\"11 Mb/s\""), ("neighbour", "[]")],
    &[("radio.standard", "\"802.11ax\"")],
    &[("radio.standard", "\"802.11ax\""), ("station", "[{ name = \"sta\", mcs = 7 }]")],
    &[("radio.layout", "{ shape = \"circle\" }")],
    &[("radio.layout", "{ shape = \"line\" }")],
    &[("radio.layout", "{ shape = \"far-random\" }")],
    &[("radio.edca", "true")],
    &[("radio.access", "\"asymmetric\"")],
    &[("radio.beacon_interval", "\"102.4 ms\"")],
    &[("radio.beacon_interval", "\"102.4 ms\""), ("station.1.listen_interval", "1")],
    &[("voip.1.codec", "\"opus\"")],
    &[(
        "udp",
        "[{ name = \"g\", stations = [\"sta\"], server = \"server\", direction = \"down\", frame_interval = \"40 ms\", \
          frame = { mean = \"5 kB\" }, on = { mean = \"1 s\" }, off = { mean = \"1 s\" } }]",
    )],
    &[
        ("access_point", "[{ name = \"a\", channel = 1 }, { name = \"b\", channel = 6 }]"),
        ("station.1.access_point", "\"a\""),
        ("neighbour", "[]"),
        ("event", "[{ at = \"1 s\", do = \"roam\", stations = [\"sta\"], access_point = \"b\" }]"),
    ],
    &[("server.1.at", "\"wan\"")],
    &[("tcp.sack", "false")],
    &[(
        "replay",
        "[{ name = \"r\", stations = [\"sta\"], server = \"server\", direction = \"down\", file = \"trace.txt\" }]",
    )],
    &[("manager.controller.kind", "\"published\"")],
    &[("manager.controller.kind", "\"pi\"")],
    &[("manager.controller.kind", "\"fixed\""), ("manager.controller.rate", "\"9 Mb/s\"")],
    &[("manager.wan", "{}")],
    &[("manager.voice", "{}")],
    &[("manager.voice", "{ combinations = [{ g711 = 1 }] }")],
    &[("manager.voice", "{ combinations = [{ g729 = 1 }] }")],
    &[("manager.rssi", "{ classes = [{ above = \"-70 dBm\", rate = \"54 Mb/s\" }, { rate = \"6 Mb/s\" }] }")],
    &[("manager.receiver", "{ window = \"20 packets\" }")],
    &[("manager.uplink_limit", "{}")],
    &[("manager.class", "[{ name = \"gold\", match = { dscp = [46] } }]")],
    &[("manager.application", "[{ name = \"calls\", match = { dscp = [46] } }]")],
    &[("manager.access_point", "[{ name = \"ap\" }]")],
];

/// Disciplines of a queue, each in every place where a queue is possible.
const QUEUES: &[&str] = &[
    "{ discipline = \"codel\" }",
    "{ discipline = \"drr\" }",
    "{ discipline = \"fq-codel\" }",
    "{ discipline = \"las-ack\" }",
    "{ discipline = \"mac80211\" }",
    "{ discipline = \"htb\", class = [{ name = \"all\", rate = \"1 Mb/s\" }] }",
    "{ discipline = \"whtb\", class = [{ name = \"all\", rate = \"1 Mb/s\" }] }",
    "{ discipline = \"cbq\", class = [{ name = \"all\", rate = \"1 Mb/s\" }] }",
    "{ discipline = \"whtb\", estimator = \"signal\", channel = [{ snr = \"4 dB\", goodput = \"1 Mb/s\" }], \
     class = [{ name = \"all\", rate = \"1 Mb/s\" }] }",
];

/// The checked scenario without its source text.
fn meaning(sets: &[(&str, &str)]) -> Result<Scenario, String> {
    // Beside a trace.
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/x.toml");
    let scenario = Scenario::parse_with(BASE, file, sets).map_err(|error| error.to_string())?;
    Ok(Scenario { source: Source::default(), ..scenario })
}

/// A context in which a default is tried.
struct Place<'a> {
    /// Keys set in addition to the default.
    beside: &'a [(&'a str, &'a str)],
    /// Meaning of the file with these keys alone, or why it is refused.
    without: Result<Scenario, String>,
}

impl<'a> Place<'a> {
    fn new(beside: &'a [(&'a str, &'a str)]) -> Self {
        Self { beside, without: meaning(beside) }
    }

    /// The change that a key set to a value causes here; `None`: no change.
    fn what_changes(&self, key: &str, value: &str) -> Option<String> {
        let without = match &self.without {
            Ok(meaning) => meaning,
            Err(error) => return Some(error.clone()),
        };
        let mut sets = self.beside.to_vec();
        sets.push((key, value));
        match meaning(&sets) {
            Ok(with) if with == *without => None,
            Ok(_) => Some("another meaning".into()),
            Err(error) => Some(error),
        }
    }
}

#[test]
fn every_documented_default_is_accepted_and_changes_nothing() {
    let queues: Vec<_> = ["radio.ap_queue", "radio.station_queue", "manager.queue"]
        .iter()
        .flat_map(|&place| QUEUES.iter().map(move |&queue| [(place, queue)]))
        .collect();
    fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/trace.txt"), "0.1, 500\n0.2, 500\n").expect("writable");
    let places: Vec<_> = BESIDE.iter().copied().chain(queues.iter().map(|sets| &sets[..])).map(Place::new).collect();
    let (mut tried, mut wrong) = (0, vec![]);
    for key in keys(&evenair_scenario::schema()).into_iter().filter(|key| !key.is_table) {
        let Some((_, default)) = key.description.split_once("Default: ") else { continue };
        let default = default.trim_end_matches('.');
        // A default described in words (the lowest basic rate) is no value.
        if format!("v = {default}").parse::<toml::Table>().is_err() {
            continue;
        }
        tried += 1;
        let path = format!("{}.{}", key.table, key.name);
        let path = path.trim_start_matches('.');
        if path.starts_with("manager.") && key.description.contains("not in the manager") {
            continue;
        }
        let changed: Vec<_> = places.iter().map_while(|place| place.what_changes(path, default)).collect();
        if changed.len() == places.len() {
            let why: BTreeSet<_> = changed.into_iter().collect();
            wrong.push(format!(
                "{path} = {default}: {}",
                why.into_iter().collect::<Vec<_>>().join(
                    "
"
                )
            ));
        }
    }
    assert!(tried > 100, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried}: {}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn a_wrong_default_is_detected() {
    let place = Place::new(&[]);
    assert!(place.what_changes("manager.controller.target", "\"4 ms\"").is_some());
    assert!(place.what_changes("tcp.window", "\"9 packets\"").is_some());
    assert!(place.what_changes("manager.flow_limit", "0").is_some());
}
