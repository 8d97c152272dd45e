//! The guard against harm: a box that holds the medium back is bypassed within seconds, and tried again later.

use evenair_results::RunResult;
use evenair_scenario::Scenario;
use evenair_sim::run;

/// When the box is inserted.
const INSERTED: f64 = 10.0;

/// Unacknowledged streams to stations for which the box is configured with a wrong rate: it paces by that rate, and the medium is
/// idle for most of the time. There is a phase for each second up to the fortieth, and one after it.
fn harm(standard: &str, [rate, assumed, stream]: [&str; 3], duration: u32) -> RunResult {
    let phase = |(name, from, to): (String, u32, u32)| {
        format!("[[phase]]\nname = \"{name}\"\nfrom = \"{from} s\"\nto = \"{to} s\"\n")
    };
    let seconds = (4..40).map(|at| phase((format!("at-{at}"), at, at + 1))).collect::<String>();
    let text = format!(
        r#"version = 1
name = "harm"
duration = "{duration} s"
seed = 7
[radio]
standard = "{standard}"
[[station]]
name = "s"
count = 4
rate = "{rate} Mb/s"
[[server]]
name = "server"
[[udp]]
name = "stream"
stations = ["s"]
server = "server"
direction = "down"
rate = "{stream} Mb/s"
payload = "1400 bytes"
[manager]
default_rate = "{assumed} Mb/s"
[telemetry]
rates = false
[[event]]
at = "10 s"
do = "insert"
{seconds}"#
    );
    run(&Scenario::parse(&text, "harm.toml").expect("a sound scenario"), |_| ()).expect("it can be simulated")
}

/// Goodput of all, in Mb/s, in each second from the fourth on.
fn goodputs(result: &RunResult) -> Vec<f64> {
    result.phases.iter().map(|phase| phase.flows.iter().map(|flow| flow.goodput_mbps).sum()).collect()
}

/// What became of the box, and when.
fn events(result: &RunResult) -> Vec<(f64, &str)> {
    result.events.iter().map(|event| (event.at_s, event.what.as_str())).collect()
}

fn at(events: &[(f64, &str)], what: &str) -> Vec<f64> {
    events.iter().filter(|(_, event)| *event == what).map(|(at, _)| *at).collect()
}

/// A sixth of what the medium carries: holding nothing restores it within five seconds, and then the bridge.
#[test]
fn severe_harm_lasts_for_no_more_than_five_seconds() {
    for (standard, rates) in [("802.11b", ["11", "1", "2"]), ("802.11b", ["11", "1", "8"])] {
        let result = harm(standard, rates, 40);
        let (goodputs, events) = (goodputs(&result), events(&result));
        let (before, after) = goodputs.split_at(6);
        let before = before.iter().sum::<f64>() / 6.0;
        println!("{standard} {rates:?}: {before:.1} Mb/s bypassed, then {after:.1?}: {events:?}");
        assert!(after[1] < 0.3 * before, "the box does harm");
        assert!(after[5..].iter().all(|goodput| *goodput > 0.9 * before), "{after:?}");
        let [opened, bypassed] = ["guard: nothing held", "guard: bypass"].map(|what| at(&events, what)[0] - INSERTED);
        assert!(opened <= 4.0 && bypassed <= 6.0, "{events:?}");
    }
}

/// Where nothing has changed, the box is bypassed again, for longer each time.
#[test]
fn it_is_tried_again_after_one_minute_and_after_ten() {
    let result = harm("802.11b", ["11", "1", "2"], 720);
    let events = events(&result);
    let (bypasses, trials) = (at(&events, "guard: bypass"), at(&events, "guard: trial"));
    println!("{events:?}");
    assert_eq!((bypasses.len(), trials.len()), (3, 2), "{events:?}");
    for (n, pause) in [60.0, 600.0].into_iter().enumerate() {
        assert!((trials[n] - bypasses[n] - pause).abs() <= 1.5, "{trials:?} {bypasses:?}");
        assert!(bypasses[n + 1] - trials[n] <= 6.0, "{trials:?} {bypasses:?}");
    }
    assert_eq!(at(&events, "inserted").len(), 3);
    let bypassed = at(&events, "bypassed");
    assert!(bypassed.iter().zip(&bypasses).all(|(done, decided)| done - decided <= 1.5), "{bypassed:?} {bypasses:?}");
}

/// Transfers with Reno over 50 ms at 11 Mb/s, and a box that is inserted after five seconds, when access points with queues of so
/// many packets are full.
fn filled(buffer: u32, direction: &str, stations: u32, points: u32) -> RunResult {
    let cell = |at: u32| {
        format!(
            "[[access_point]]\nname = \"ap{at}\"\nchannel = 1\n[[station]]\nname = \"s{at}\"\ncount = {stations}\n\
             rate = \"11 Mb/s\"\naccess_point = \"ap{at}\"\n"
        )
    };
    let cells: String = (0..points).map(cell).collect();
    let groups: Vec<String> = (0..points).map(|at| format!("\"s{at}\"")).collect();
    let text = format!(
        r#"version = 1
name = "filled"
duration = "40 s"
seed = 1
[telemetry]
stations = false
rates = false
[radio]
standard = "802.11b"
ap_buffer = "{buffer} packets"
{cells}[tcp]
congestion_control = "reno"
[[server]]
name = "server"
at = "wan"
[[bulk]]
name = "transfer"
stations = [{}]
server = "server"
direction = "{direction}"
[wan.down]
rate = "1 Gb/s"
delay = "25 ms"
[wan.up]
rate = "1 Gb/s"
delay = "25 ms"
[[event]]
at = "5 s"
do = "insert"
[[phase]]
name = "drained"
from = "20 s"
to = "40 s"
[manager.controller]
kind = "queue"
"#,
        groups.join(", ")
    );
    run(&Scenario::parse(&text, "filled.toml").expect("a sound scenario"), |_| ()).expect("it can be simulated")
}

/// The backlog in the access points at the insertion takes seconds to drain, and the bridge has counted it as carried. The guard must
/// not let the queues fill again because of that.
#[test]
fn it_does_not_act_on_a_queue_from_before_the_insertion() {
    for (buffer, direction, stations, points) in [(1_000, "down", 1, 3), (20, "up", 4, 1)] {
        let result = filled(buffer, direction, stations, points);
        let events = events(&result);
        println!("{buffer} {direction}: {events:?}");
        assert!(!events.iter().any(|(_, event)| event.starts_with("guard")), "{buffer} {direction}: {events:?}");
        let sojourns = result.phases[0].nodes.iter().filter(|node| node.is_access_point());
        let p95 = sojourns.filter_map(|node| node.sojourn.as_ref()).map(|sojourn| sojourn.p95_ms).fold(0.0, f64::max);
        println!("{buffer} {direction}: 95 % of the packets are in the access point for {p95:.1} ms at most");
        assert!(p95 < 100.0, "{buffer} {direction}: {p95} ms");
    }
}
