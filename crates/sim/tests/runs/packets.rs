//! Records of packets: they agree with the other results, and taking them changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use evenair_results::{DELIVERED, NodeResult, PacketRecord, RunResult};
use evenair_scenario::Scenario;
use evenair_sim::{SimError, SimOptions, run, run_recorded, run_with};
use evenair_workload::Direction;

/// Downloads and uploads of TCP over both versions of IP, datagrams, a sender that floods its buffer, and echo requests.
const MIXED: &str = r#"version = 1
name = "mixed"
duration = "3 s"
[radio]
standard = "802.11g"
ap_buffer = "30 packets"
station_buffer = "20 packets"
[[station]]
name = "sta"
count = 3
rate = "24 Mb/s"
loss = "50 %"
[[station]]
name = "loud"
rate = "6 Mb/s"
[[server]]
name = "server"
[[bulk]]
name = "up"
stations = ["sta1"]
server = "server"
direction = "up"
[[bulk]]
name = "down"
stations = ["sta1", "sta2"]
server = "server"
direction = "down"
ip = "v6"
[[udp]]
name = "datagrams"
stations = ["sta3"]
server = "server"
direction = "down"
rate = "2 Mb/s"
[[udp]]
name = "flood"
stations = ["loud"]
server = "server"
direction = "up"
rate = "8 Mb/s"
[[ping]]
name = "ping"
stations = ["sta1"]
server = "server"
[[phase]]
name = "all"
from = "0 s"
to = "3 s"
"#;

/// Two access points on two channels, a station that roams between them and is away for a while, and a box that probes.
const ROAMING: &str = r#"version = 1
name = "roaming"
duration = "3 s"
radio = { standard = "802.11g", ap_buffer = "60 packets" }
access_point = [{ name = "hall", channel = 1 }, { name = "yard", channel = 11 }]
manager.access_point = [{ name = "hall" }, { name = "yard" }]
station = [
    { name = "inside", rate = "54 Mb/s", access_point = "hall" },
    { name = "walker", rate = "54 Mb/s", access_point = "hall" },
]
server = [{ name = "server" }]
udp = [{ name = "datagrams", stations = ["walker"], server = "server", direction = "down", rate = "20 Mb/s" }]
bulk = [
    { name = "down", stations = ["inside", "walker"], server = "server", direction = "down" },
    { name = "up", stations = ["walker"], server = "server", direction = "up" },
]
event = [
    { at = "1 s", do = "roam", stations = ["walker"], access_point = "yard" },
    { at = "1500 ms", do = "insert" },
    { at = "2 s", do = "leave", stations = ["walker"] },
    { at = "2300 ms", do = "join", stations = ["walker"] },
]
phase = [{ name = "all", from = "0 s", to = "3 s" }]
"#;

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "packets.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn with(options: &SimOptions, scenario: &Scenario) -> (RunResult, Vec<PacketRecord>) {
    let mut packets = Vec::new();
    let add = |more| {
        packets.extend::<Vec<_>>(more);
        ControlFlow::Continue(())
    };
    let result = run_recorded(scenario, options, add, |_| ControlFlow::Continue(())).unwrap();
    (result, packets)
}

/// Records the packets of a run, and compares them with its result, and that with the result of a run without records.
fn check(text: &str) -> (RunResult, Vec<PacketRecord>) {
    let scenario = parse(text);
    let (result, packets) = with(&SimOptions::default(), &scenario);
    let without = run(&scenario, |_| ()).unwrap();
    assert_eq!(serde_json::to_string(&result).unwrap(), serde_json::to_string(&without).unwrap());

    let phase = &result.phases[0];
    let bytes: u64 = packets.iter().filter(|packet| packet.app.is_some()).map(delivered_bytes).sum();
    let mbps = bytes as f64 * 8e-6 / result.duration_s;
    assert!((mbps - phase.total_ip_mbps).abs() < 1e-6, "{mbps} Mb/s of {}", phase.total_ip_mbps);
    for station in &phase.stations {
        let of = |packet: &&PacketRecord| scenario.hosts[packet.station as usize].name == station.station;
        let bytes: u64 = packets.iter().filter(|packet| packet.app.is_some()).filter(of).map(delivered_bytes).sum();
        assert!((bytes as f64 * 8e-6 / result.duration_s - station.ip_mbps).abs() < 1e-6, "{}", station.station);
    }
    for node in &phase.nodes {
        let sent: Vec<_> = packets.iter().filter(|packet| sender(&scenario, packet) == node.node).copied().collect();
        check_sender(node, &sent);
    }
    check_order(&packets);
    (result, packets)
}

fn delivered_bytes(packet: &PacketRecord) -> u64 {
    if packet.outcome == DELIVERED { packet.ip.0 } else { 0 }
}

fn sender<'a>(scenario: &'a Scenario, packet: &PacketRecord) -> &'a str {
    match packet.direction {
        Direction::Up => &scenario.hosts[packet.station as usize].name,
        Direction::Down => &scenario.access_points[packet.access_point as usize].name,
    }
}

/// Checks the packets of a node against the node's counters.
fn check_sender(node: &NodeResult, sent: &[PacketRecord]) {
    let delivered: Vec<_> = sent.iter().filter(|packet| packet.outcome == DELIVERED).collect();
    assert_eq!(delivered.len() as u64, node.delivered_frames, "{}", node.node);
    let mut lost: BTreeMap<&str, u64> = BTreeMap::new();
    sent.iter()
        .filter(|packet| packet.outcome != DELIVERED)
        .for_each(|packet| *lost.entry(packet.outcome).or_default() += 1);
    let counted = node.lost_frames.iter().filter(|lost| lost.packets > 0);
    assert_eq!(lost, counted.map(|lost| (&*lost.reason, lost.packets)).collect(), "{}", node.node);
    // The others are in the buffer at the end.
    let left = node.offered_frames.checked_sub(sent.len() as u64).expect("no more than came");
    assert!(left <= node.queue_max_packets, "{}: {left} packets are left", node.node);

    let mut attempts = vec![0; node.access.frames_by_attempts.len()];
    delivered.iter().for_each(|packet| attempts[packet.attempts as usize - 1] += 1);
    assert_eq!(attempts, node.access.frames_by_attempts, "{}", node.node);
    let Some(sojourn) = &node.sojourn else { return };
    let delay = |packet: &&PacketRecord| (packet.done - packet.enqueued).as_secs_f64() * 1e3;
    let mean = delivered.iter().map(delay).sum::<f64>() / delivered.len() as f64;
    assert!((mean / sojourn.mean_ms - 1.0).abs() < 1e-3, "{}: {mean} ms of {}", node.node, sojourn.mean_ms);
}

/// Checks that times are in order, and that no two packets of a flow have the same number.
fn check_order(packets: &[PacketRecord]) {
    let mut numbers = BTreeSet::new();
    for packet in packets {
        let PacketRecord { enqueued, first_tx, done, attempts, rate, app, sequence, .. } = *packet;
        let is_sent = first_tx.is_some();
        assert!(enqueued <= first_tx.unwrap_or(enqueued) && first_tx.unwrap_or(enqueued) <= done, "{packet:?}");
        assert!(packet.outcome != DELIVERED || is_sent && rate.is_some() && attempts > 0, "{packet:?}");
        assert!(is_sent || attempts == 0 && rate.is_none(), "{packet:?}");
        assert_eq!(app.is_some(), sequence.is_some());
        if let (Some(app), Some(sequence)) = (app, sequence) {
            assert!(numbers.insert((app, packet.direction, sequence)), "{packet:?}");
        }
    }
}

fn count(packets: &[PacketRecord], outcome: &str) -> usize {
    packets.iter().filter(|packet| packet.outcome == outcome).count()
}

#[test]
fn packets_are_what_the_results_count() {
    let (_, packets) = check(MIXED);
    let [delivered, full, given_up] = [DELIVERED, "buffer full", "retry limit"].map(|outcome| count(&packets, outcome));
    assert!(delivered > 1_000 && full > 200 && given_up > 5, "{delivered} {full} {given_up}");
    // Packets at the retry limit have had all attempts (dot11ShortRetryLimit).
    assert!(packets.iter().filter(|packet| packet.outcome == "retry limit").all(|packet| packet.attempts == 7));
    let rates: BTreeSet<_> = packets.iter().filter_map(|packet| Some(packet.rate?.bit_rate().as_bps())).collect();
    assert_eq!(rates, [6_000_000, 24_000_000].into());
    // A datagram that finds the buffer full is lost when it is due, and takes a number of its flow.
    let flood = packets.iter().filter(|packet| packet.app == Some(4) && packet.outcome == "buffer full");
    assert!(flood.clone().count() > 100 && flood.clone().all(|packet| packet.enqueued == packet.done));
}

#[test]
fn packets_in_aggregates_behind_queues_are_what_the_results_count() {
    let radio = "standard = \"802.11n\"\nap_queue = { discipline = \"mac80211\" }\n\
                 [radio.aggregation]\n[manager]\n[[event]]\nat = \"1 s\"\ndo = \"insert\"\n";
    let text = MIXED.replace("standard = \"802.11g\"\n", "").replace("rate = \"24 Mb/s\"", "mcs = 4");
    let text = text.replace("rate = \"6 Mb/s\"", "mcs = 0").replace("rate = \"2 Mb/s\"", "rate = \"40 Mb/s\"");
    let text = text.replace(
        "[radio]\nap_buffer = \"30 packets\"\nstation_buffer = \"20 packets\"\n",
        &format!("[radio]\nap_buffer = \"200 packets\"\n{radio}"),
    );
    let (_, packets) = check(&text);
    assert!(packets.len() > 2_000 && packets.iter().any(|packet| packet.attempts > 1), "{}", packets.len());
    assert!(packets.iter().all(|packet| packet.rate.is_none_or(|rate| rate.mode().is_some())));
}

#[test]
fn packets_between_hidden_stations_with_rts_are_what_the_results_count() {
    let text = MIXED.replace("[radio]\n", "[radio]\nrts_threshold = \"500 bytes\"\nedca = true\n");
    let (_, packets) = check(&text.replace("name = \"loud\"\n", "name = \"loud\"\nhidden_from = [\"sta1\"]\n"));
    assert!(count(&packets, DELIVERED) > 500);
}

#[test]
fn packets_of_a_station_that_roams_are_what_the_results_count() {
    let (result, packets) = check(ROAMING);
    assert_eq!(result.events.iter().filter(|event| event.what == "roamed").count(), 1);
    let of_walker =
        |point: u32| packets.iter().filter(move |packet| packet.station == 1 && packet.access_point == point);
    assert!(of_walker(0).count() > 500 && of_walker(1).count() > 500);
    assert!(count(&packets, "station left") > 0 && count(&packets, "not associated") > 0);
}

#[test]
fn traces_and_records_do_not_hinder_each_other() {
    let scenario = parse(MIXED);
    let both = tempfile::tempdir().unwrap();
    let trace = tempfile::tempdir().unwrap();
    let into = |folder: &Path| SimOptions { trace: Some(folder.to_owned()), ..SimOptions::default() };
    let (result, packets) = with(&into(both.path()), &scenario);
    assert_eq!(run_with(&scenario, &into(trace.path()), |_| ControlFlow::Continue(())).unwrap(), result);
    assert!(packets == with(&SimOptions::default(), &scenario).1);
    for name in ["air.pcap", "ap-wire.pcap"] {
        let read = |folder: &Path| std::fs::read(folder.join(name)).unwrap();
        assert!(read(both.path()) == read(trace.path()), "{name} differs");
    }
}

#[test]
fn a_stopped_run_has_handed_over_all_earlier_packets() {
    let scenario = parse(MIXED);
    let (_, all) = with(&SimOptions::default(), &scenario);
    let mut some = Vec::new();
    let add = |more: Vec<_>| {
        some.extend(more);
        ControlFlow::Continue(())
    };
    let stop = |progress: Option<&evenair_results::Progress>| match progress {
        Some(progress) if progress.at_s >= 1.0 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    assert_eq!(run_recorded(&scenario, &SimOptions::default(), add, stop), Err(SimError::Stopped));
    assert!(some.len() > 500 && some.len() < all.len() && some[..] == all[..some.len()]);
}
