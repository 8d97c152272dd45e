//! The default controller behind a path that delays: as much is carried as without the box.

use evenair_results::RunResult;
use evenair_scenario::Scenario;
use evenair_sim::run;

/// Transfers of four stations; the box is bypassed for ten seconds, and then inserted.
fn site(direction: &str, path: &str) -> RunResult {
    let text = format!(
        r#"version = 1
name = "lag"
duration = "70 s"
seed = 7
[radio]
standard = "802.11g"
[[station]]
name = "s"
count = 4
rate = "54 Mb/s"
[[server]]
name = "server"
[[bulk]]
name = "transfer"
stations = ["s"]
server = "server"
direction = "{direction}"
[[event]]
at = "10 s"
do = "insert"
[[phase]]
name = "bypassed"
from = "3 s"
to = "10 s"
[[phase]]
name = "inserted"
from = "20 s"
to = "70 s"
{path}"#
    );
    run(&Scenario::parse(&text, "lag.toml").expect("a sound scenario"), |_| ()).expect("it can be simulated")
}

/// Goodput of all, in Mb/s: bypassed, and inserted.
fn goodputs(result: &RunResult) -> (f64, f64) {
    let of = |phase: usize| result.phases[phase].flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>();
    (of(0), of(result.phases.len() - 1))
}

const DELAYS: [&str; 4] = [
    "",
    "[ap_path.up]\ndelay = \"2 ms\"\n",
    "[ap_path.up]\ndelay = \"5 ms\"\n",
    "[ap_path.down]\ndelay = \"5 ms\"\n[ap_path.up]\ndelay = \"5 ms\"\n",
];

/// The guard against harm has done nothing. Until the lag of a long path has been measured, it may have let more be in flight.
fn assert_no_alarm(result: &RunResult, path: &str) {
    let events = guard_events(result);
    let is_long = path.contains("down");
    assert!(events.iter().all(|(_, what)| is_long && *what == "guard: larger target"), "{path:?}: {events:?}");
}

#[test]
fn late_answers_cost_downloads_no_more_than_a_tenth() {
    for path in DELAYS {
        let result = site("down", path);
        let (bypassed, inserted) = goodputs(&result);
        assert_no_alarm(&result, path);
        assert!(inserted > 0.9 * bypassed, "{path:?}: {bypassed:.2} Mb/s bypassed, {inserted:.2} inserted");
        println!("{path:?}: {bypassed:.2} Mb/s bypassed, {inserted:.2} inserted");
    }
}

#[test]
fn late_answers_cost_uploads_nothing() {
    // Uploads that nobody holds use the medium a little better: four stations contend for it then.
    let (_, usual) = goodputs(&site("up", ""));
    for path in DELAYS {
        let result = site("up", path);
        let (bypassed, inserted) = goodputs(&result);
        assert_no_alarm(&result, path);
        assert!(inserted > 0.97 * usual, "{path:?}: {bypassed:.2} Mb/s bypassed, {inserted:.2} inserted");
    }
}

/// The controller that seeks the knee, on paths of up to 20 ms, with jitter, and with answers in batches.
#[test]
fn the_knee_is_found_whatever_delays() {
    let paths = [
        "",
        "[ap_path.up]\ndelay = \"5 ms\"\n",
        "[ap_path.down]\ndelay = \"10 ms\"\n[ap_path.up]\ndelay = \"10 ms\"\n",
        "[ap_path.up]\nbatch = \"5 ms\"\n",
        "[ap_path.down]\ndelay = \"5 ms\"\njitter = \"10 ms\"\n",
    ];
    for direction in ["down", "up"] {
        let knee = |path: &str| site(direction, &format!("{path}[manager.controller]\nkind = \"knee\"\n"));
        // Uploads that nobody holds use the medium better, since four stations contend for it then.
        let (_, usual) = goodputs(&site(direction, ""));
        for path in paths {
            let (_, inserted) = goodputs(&knee(path));
            println!("{direction} {path:?}: {inserted:.2} Mb/s of {usual:.2}");
            assert!(inserted > 0.965 * usual, "{direction} {path:?}: {inserted:.2} Mb/s of {usual:.2}");
        }
    }
}

/// A part of what is held up is held up by chance, and the least says too little of it: the guard takes care of the rest.
#[test]
fn answers_in_batches_and_with_jitter_cost_no_more_than_a_third() {
    for direction in ["down", "up"] {
        for path in ["[ap_path.up]\nbatch = \"5 ms\"\n", "[ap_path.up]\ndelay = \"3 ms\"\njitter = \"4 ms\"\n"] {
            let (bypassed, inserted) = goodputs(&site(direction, path));
            assert!(
                inserted > 0.67 * bypassed,
                "{direction} {path:?}: {bypassed:.2} Mb/s bypassed, {inserted:.2} inserted"
            );
        }
    }
}

/// What the guard against harm did, and when.
fn guard_events(result: &RunResult) -> Vec<(f64, &str)> {
    let events = result.events.iter().filter(|event| event.what.starts_with("guard"));
    events.map(|event| (event.at_s, event.what.as_str())).collect()
}

/// What holds up the answers is no queue, and looks like one. The simulated box has seen nothing before it is inserted, as a real
/// one: what was carried before, the bridge's counters say.
#[test]
fn a_box_that_does_harm_lets_more_be_in_flight_or_bypasses_itself() {
    for direction in ["down", "up"] {
        for path in ["[ap_path.up]\nbatch = \"20 ms\"\n", "[ap_path.up]\ndelay = \"3 ms\"\njitter = \"20 ms\"\n"] {
            let result = site(direction, path);
            let events = guard_events(&result);
            let bypassed_at = events.iter().find(|(_, what)| *what == "guard: bypass").map(|(at, _)| *at);
            println!("{direction} {path:?}: {:?}, {events:?}", goodputs(&result));
            // Downloads in batches carry enough with more in flight.
            let is_enough = direction == "down" && path.contains("batch") && !events.is_empty();
            assert!(is_enough || bypassed_at.is_some_and(|at| at <= 30.0), "{direction} {path:?}: {events:?}");
            let (bypassed, after) = goodputs(&result);
            assert!(after > 0.9 * bypassed, "{direction} {path:?}: {bypassed:.2} Mb/s before, {after:.2} after");
        }
    }
}
