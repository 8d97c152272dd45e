//! Every scenario that the format accepts can be started: it is refused with a reason, or a few milliseconds of it run
//! without a panic and within a time limit.

use std::sync::mpsc;
use std::time::Duration;

use evenair_results::{MediumAirtime, RunResult};
use evenair_scenario::Scenario;
use evenair_units::Span;

use crate::mutate::Mutator;
use crate::shortened;

/// Simulated time of each scenario.
const LENGTH: Span = Span::from_millis(30);
/// Time limit, far above what a run takes even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A scenario shortened to [`LENGTH`].
fn hurried(scenario: Scenario) -> Scenario {
    shortened::hurried(scenario, LENGTH, Span::from_millis(10))
}

/// Checks that the measured airtime of all stations and other lines adds up to the whole time, for the run and each phase.
fn airtime_adds_up(run: &RunResult) {
    let whole = run.medium.as_ref().and_then(|medium| medium.measured_airtime.as_ref());
    let media = run.phases.iter().map(|phase| phase.domains.len()).max().unwrap_or(1).max(1);
    // A run shorter than an interval has empty phases.
    let has_intervals = !run.series.ap_queue_packets.is_empty();
    let phases = run.phases.iter().filter(|_| has_intervals).map(|phase| phase.measured_airtime.as_ref());
    [whole].into_iter().chain(phases).for_each(|airtime| lines_add_up(airtime.expect("it was measured"), media));
}

fn lines_add_up(airtime: &MediumAirtime, media: usize) {
    let stations: f64 = airtime.stations.iter().map(|station| station.down_share + station.up_share).sum();
    let lines = [airtime.groups_share, airtime.neighbours_share, airtime.back_off_share, airtime.idle_share];
    assert!(lines.iter().all(|&line| line >= 0.0) && airtime.departed_share >= 0.0, "{airtime:?}");
    let sum = stations / media as f64 + lines.iter().sum::<f64>() + airtime.departed_share;
    assert!((sum - 1.0).abs() < 1e-9, "{sum}: {airtime:?}");
}

/// Runs a scenario on a thread named after it, which a panic shows.
fn starts(scenario: Scenario, text: &str) {
    let (done, waiting) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        match evenair_sim::run(&scenario, |_| ()) {
            Ok(run) => airtime_adds_up(&run),
            Err(error) => assert!(error.to_string().len() > 15, "no reason: {error}"),
        }
        let _ = done.send(());
    });
    if waiting.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("no end after {PATIENCE:?}:\n{text}");
    }
    assert!(thread.join().is_ok(), "a panic, see above; the scenario:\n{text}");
}

#[test]
fn every_accepted_scenario_starts() {
    let mut mutator = Mutator::new(4);
    let mut started = 0;
    for _ in 0..1500 {
        let text = mutator.scenario();
        if let Ok(scenario) = Scenario::parse(&text, "mutated.toml") {
            starts(hurried(scenario), &text);
            started += 1;
        }
    }
    assert!(started > 150, "{started} were started");
}

/// Each value at the limits of the format, many at once.
#[test]
fn values_at_the_limits_of_the_format_start() {
    let text = r#"version = 1
name = "edges"
duration = "24 h"
[radio]
standard = "802.11b"
rts_threshold = "0 bytes"
short_retry_limit = 255
long_retry_limit = 1
ap_buffer = "1500 bytes"
station_buffer = "unlimited"
[lan]
rate = "1 b/s"
delay = "10 s"
buffer = "1 packet"
[ap_path.down]
delay = "10 s"
jitter = "10 s"
batch = "1 s"
[ap_path.up]
batch = "1 ns"
[measure]
interval = "12 h"
[[server]]
name = "server"
[[station]]
name = "sta"
count = 250
rate = "1 Mb/s"
weight = 1000
[[udp]]
name = "flood"
stations = ["sta"]
server = "server"
direction = "up"
rate = "10 Gb/s"
payload = "1472 bytes"
[[udp]]
name = "down"
stations = ["sta"]
server = "server"
direction = "down"
rate = "10 Mb/s"
payload = "1472 bytes"
[[web]]
name = "web"
stations = ["sta1"]
server = "server"
objects_min = 0
objects_max = 0
size_alpha = 1.01
size_mean = "1 B"
size_cap = "1 B"
think = "0 s"
[[ping]]
name = "ping"
stations = ["sta2"]
server = "server"
interval = "1 ms"
[[event]]
at = "0 s"
do = "insert"
"#;
    let scenario = Scenario::parse(text, "edges.toml").unwrap_or_else(|error| panic!("{error}"));
    starts(Scenario { duration: Span::from_millis(2), ..hurried(scenario) }, text);
}
