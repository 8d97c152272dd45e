//! Stepped runs: how a run is stepped, observed or interrupted changes no byte of its result; commands change it only as events do.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenair_api::Mode;
use evenair_results::RunResult;
use evenair_scenario::{Action, Scenario};
use evenair_sim::{CommandError, Observation, SimError, SimOptions, Simulation, run, run_with};
use evenair_units::Span;

use crate::shortened;

/// Simulated time of each committed scenario.
const LENGTH: Span = Span::from_millis(1_500);

/// Traffic of every kind, several domains, joins, roams, calls, EDCA, aggregates, hidden nodes, neighbours, delaying paths.
const COMMITTED: [&str; 14] = [
    "smoke",
    "demo-room",
    "adwiser/a05-pages-beside-download",
    "adwiser/a07-calls",
    "adwiser/a09-adaptation",
    "box/b07-two-channels",
    "box/b09-roaming",
    "box/b11-changing-population",
    "box/b12-power-save",
    "box/b14-neighbour",
    "box/b18-answers-in-batches",
    "las-ack/las01-short-and-long-transfers",
    "uplink-rate-control/r19-datagrams",
    "venues/office-11n",
];

const COMMANDED: &str = r#"version = 1
name = "commanded"
duration = "4 s"
radio = { standard = "802.11g" }
access_point = [{ name = "east", channel = 1 }, { name = "west", channel = 6 }]
station = [
    { name = "near", rate = "54 Mb/s", access_point = "east" },
    { name = "far", rate = "6 Mb/s", access_point = "east", count = 2 },
]
server = [{ name = "server" }]
bulk = [{ name = "bulk", stations = ["near", "far"], server = "server", direction = "down" }]
udp = [{ name = "udp", stations = ["near"], server = "server", direction = "up", rate = "1 Mb/s" }]
measure = { interval = "500 ms" }
"#;

/// Events of the command test: time and keys.
const EVENTS: [(&str, &str); 6] = [
    ("500.123457 ms", "do = \"insert\""),
    ("812.000001 ms", "do = \"rate\"\nstations = [\"far\"]\nrate = \"12 Mb/s\""),
    ("1.2345678 s", "do = \"roam\"\nstations = [\"near\"]\naccess_point = \"west\"\ngap = \"20 ms\""),
    ("1.7000003 s", "do = \"leave\"\nstations = [\"far1\"]"),
    ("2.3456789 s", "do = \"join\"\nstations = [\"far1\"]"),
    ("3.1000007 s", "do = \"bypass\""),
];

/// A scenario of the repository shortened to [`LENGTH`].
fn hurried(name: &str) -> Scenario {
    let path = Path::new("../../scenarios").join(name).with_extension("toml");
    let scenario = Scenario::load(path).unwrap_or_else(|error| panic!("{error}"));
    shortened::hurried(scenario, LENGTH, Span::from_millis(100))
}

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn simulation(scenario: &Scenario, has_box: bool) -> Simulation {
    let options = SimOptions { has_box, ..SimOptions::default() };
    Simulation::new(Arc::new(scenario.clone()), &options).expect("it can be simulated")
}

fn bytes(result: &RunResult) -> String {
    serde_json::to_string(result).expect("a result is plain data")
}

/// Runs to the end in odd steps, and calls `look` after each.
fn stepped(scenario: &Scenario, mut look: impl FnMut(&Simulation)) -> RunResult {
    let mut simulation = simulation(scenario, false);
    let (mut at, mut step) = (0, 7);
    while !simulation.is_over() {
        at += step;
        step = (step * 31 + 7_919) % 41_000_003;
        simulation.step_until(Span::from_nanos(at));
        look(&simulation);
    }
    simulation.result().expect("it can be simulated")
}

fn commanded(scenario: &Scenario, events: &[(&str, &str)]) -> RunResult {
    let mut simulation = simulation(scenario, true);
    for (at, text) in events {
        let at = evenair_reader::Written::<Span>::new(*at).get(&mut evenair_reader::Problems::default());
        simulation.step_until(at.expect("a time"));
        simulation.command(text).unwrap_or_else(|error| panic!("{error}"));
    }
    simulation.result().expect("it can be simulated")
}

#[test]
fn a_simulation_can_go_to_another_thread() {
    fn is_free<T: Send + 'static>() {}
    is_free::<Simulation>();
    is_free::<Observation>();
}

#[test]
fn neither_odd_steps_nor_observations_change_a_byte() {
    for name in COMMITTED {
        let scenario = hurried(name);
        let whole = run(&scenario, |_| {}).expect("it can be simulated");
        let mut looks = 0;
        let in_steps = stepped(&scenario, |simulation| {
            looks += usize::from(simulation.observe().at_s > 0.0);
        });
        assert!(looks > 50, "{name}: {looks} looks");
        assert!(bytes(&in_steps) == bytes(&whole), "{name}: steps change the result");
    }
}

#[test]
fn a_command_has_the_effect_of_an_event_in_the_file() {
    let events = EVENTS.map(|(at, keys)| format!("{{ at = \"{at}\", {} }}", keys.replace('\n', ", ")));
    let file = parse(&format!("{COMMANDED}event = [{}]\n", events.join(", ")));
    let of_file = run(&file, |_| {}).expect("it can be simulated");
    assert!(of_file.events.iter().any(|event| event.what == "roamed"));
    assert_eq!(bytes(&commanded(&parse(COMMANDED), &EVENTS)), bytes(&of_file));
    // Some events in the file, the others as commands.
    let some = parse(&format!("{COMMANDED}event = [{}, {}, {}]\n", events[0], events[1], events[5]));
    let others = [EVENTS[2], EVENTS[3], EVENTS[4]];
    assert_eq!(bytes(&commanded(&some, &others)), bytes(&of_file));
    // Canary: commands have an effect.
    assert_ne!(bytes(&commanded(&parse(COMMANDED), &EVENTS[..5])), bytes(&of_file));
}

#[test]
fn a_command_that_is_refused_changes_nothing() {
    let scenario = parse(COMMANDED);
    let mut simulation = simulation(&scenario, false);
    simulation.step_until(Span::from_millis(700));
    let wrong =
        |simulation: &mut Simulation, text: &str| simulation.command(text).expect_err("it is wrong").to_string();
    assert!(wrong(&mut simulation, "do = \"join\"\nstations = [\"near\"]").contains("is there already"));
    assert!(wrong(&mut simulation, "do = \"leave\"\nstations = [\"nearr\"]").contains("near"));
    assert!(matches!(simulation.command("do = \"insert\""), Err(CommandError::NoBox)));
    simulation.step_until(Span::from_secs(9));
    assert!(simulation.is_over() && simulation.now() == scenario.duration);
    assert!(matches!(simulation.command("do = \"leave\"\nstations = [\"near\"]"), Err(CommandError::Over)));
    let result = simulation.result().expect("it can be simulated");
    assert_eq!(bytes(&result), bytes(&run(&scenario, |_| {}).expect("it can be simulated")));
}

#[test]
fn a_command_to_roam_that_would_hide_nodes_is_refused() {
    let near = "near\", rate = \"54 Mb/s\", access_point = \"west\", hidden_from = [\"far\"]";
    let text = COMMANDED.replace("near\", rate = \"54 Mb/s\", access_point = \"east\"", near);
    let scenario = parse(&text);
    let mut simulation = simulation(&scenario, false);
    let error =
        simulation.command("do = \"roam\"\nstations = [\"near\"]\naccess_point = \"east\"").expect_err("hidden");
    assert!(matches!(error, CommandError::Hidden), "{error}");
}

#[test]
fn an_observation_is_the_state_now() {
    let scenario = parse(COMMANDED);
    let mut simulation = simulation(&scenario, true);
    assert_eq!(simulation.observe().at_s, 0.0);
    simulation.step_until(Span::from_millis(1_234));
    simulation.command("do = \"insert\"").unwrap_or_else(|error| panic!("{error}"));
    simulation.step_until(Span::from_millis(2_000));
    simulation.command("do = \"leave\"\nstations = [\"far2\"]").unwrap_or_else(|error| panic!("{error}"));
    let now = simulation.observe();
    assert_eq!((now.at_s, now.mode), (2.0, Mode::Inserted));
    assert_eq!(
        now.stations.iter().map(|station| station.station.as_str()).collect::<Vec<_>>(),
        ["near", "far1", "far2"]
    );
    assert_eq!(now.stations[0].rate_mbps, Some(54.0));
    assert_eq!((now.stations[2].rate_mbps, &now.stations[2].access_point), (None, &None));
    assert_eq!(now.stations[0].access_point.as_deref(), Some("east"));
    assert!(now.held_packets > 0, "{now:?}");
    assert_eq!(now.stations.iter().map(|station| station.held_packets).sum::<u64>(), now.held_packets);
    assert!(now.flows[0].cwnd_segments.is_some_and(|cwnd| cwnd > 1.0) && now.flows[0].rtt_ms.is_some(), "{now:?}");
    let udp = now.flows.iter().find(|flow| flow.app.starts_with("udp")).expect("a flow");
    assert!(udp.delivered_bytes > 200_000 && udp.rtt_ms.is_none(), "{udp:?}");
    let json = serde_json::to_value(&now).expect("an observation is plain data");
    assert_eq!(json["stations"][0]["station"], "near");
    // The traffic delivered so far is the sum of the series.
    simulation.step_until(scenario.duration);
    let end = simulation.observe();
    let result = simulation.result().expect("it can be simulated");
    for (flow, series) in end.flows.iter().zip(&result.series.flows) {
        let sum: f64 = series.goodput_mbps.iter().map(|mbps| mbps * 0.5e6 / 8.0).sum();
        assert!((sum - flow.delivered_bytes as f64).abs() < 1.0, "{sum}: {flow:?}");
    }
    let ip: f64 = result.series.flows.iter().flat_map(|flow| &flow.ip_mbps).map(|mbps| mbps * 0.5e6 / 8.0).sum();
    let delivered = end.stations.iter().map(|station| station.delivered_up_bytes + station.delivered_down_bytes);
    assert!((ip - delivered.sum::<u64>() as f64).abs() < 1.0);
}

#[test]
fn a_stopped_run_can_be_resumed() {
    let scenario = parse(COMMANDED);
    let whole = run(&scenario, |_| {}).expect("it can be simulated");
    let mut simulation = simulation(&scenario, false);
    let (mut breaks, mut before) = (0, Span::ZERO);
    while simulation.step_while(scenario.duration, |_| ControlFlow::Break(())).is_break() && !simulation.is_over() {
        assert!(simulation.now() >= before);
        (breaks, before) = (breaks + 1, simulation.now());
    }
    assert!(breaks > 30, "it was stopped only {breaks} times");
    assert_eq!(bytes(&simulation.result().expect("it can be simulated")), bytes(&whole));
}

#[test]
fn a_stopped_run_has_no_result() {
    let scenario = parse(COMMANDED);
    let stop = |_: Option<&evenair_results::Progress>| ControlFlow::Break(());
    assert_eq!(run_with(&scenario, &SimOptions::default(), stop), Err(SimError::Stopped));
}

/// Even if an interval is as long as the run, and if only other networks are on the air.
#[test]
fn progress_is_called_often_enough_to_stop() {
    let base = "version = 1\nname = \"long\"\nradio = { standard = \"802.11g\" }\nserver = [{ name = \"server\" }]\n\
        station = [{ name = \"sta\", rate = \"54 Mb/s\", count = 200 }]\nduration = \"2 h\"\nmeasure = { interval = \"2 h\" }\n";
    let busy = "bulk = [{ name = \"bulk\", stations = [\"sta\"], server = \"server\", direction = \"down\" }]\n";
    let others = "ping = [{ name = \"p\", stations = [\"sta1\"], server = \"server\", interval = \"60 s\" }]\n\
        neighbour = [{ name = \"n\", load = \"90 %\", rate = \"54 Mb/s\" }]\n";
    for text in [busy, others] {
        let scenario = parse(&format!("{base}{text}"));
        let (begin, mut last, mut longest) = (Instant::now(), Instant::now(), Duration::ZERO);
        let result = run_with(&scenario, &SimOptions::default(), |progress| {
            assert!(progress.is_none(), "the interval has no end so soon");
            longest = longest.max(last.elapsed());
            last = Instant::now();
            if begin.elapsed() > Duration::from_millis(1_500) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!(result, Err(SimError::Stopped));
        // A thread at idle priority may wait for longer than it runs.
        assert!(longest < Duration::from_secs(1), "{longest:?}");
        println!("the longest time between two questions: {longest:?}");
    }
}

#[test]
fn the_scenario_of_a_run_contains_its_commands() {
    let mut simulation = simulation(&parse(COMMANDED), false);
    simulation.step_until(Span::from_millis(100));
    simulation.command("do = \"leave\"\nstations = [\"near\"]").unwrap_or_else(|error| panic!("{error}"));
    let events = &simulation.scenario().events;
    assert_eq!((events.len(), events[0].at, &events[0].action), (1, Span::from_millis(100), &Action::Leave(0)));
}
