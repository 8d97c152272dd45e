//! A run's memory depends on the size of the simulated network, not on the run's length: this program runs every kind of
//! application, the box, queues in front of the MACs, and traces, and compares a run with one eight times as long and as
//! many reported intervals. The allocator counts the heap's peak, which is why this is a program of its own.

use std::ops::ControlFlow;

use evenair_scenario::Scenario;
use evenair_sim::{SimOptions, run_with};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Reported intervals of each run.
const INTERVALS: u32 = 60;
/// Additional memory that the longer run may use, for further histogram buckets. The long run has 10,000 pages, 30,000
/// transfers, 250,000 echoes and some millions of packets more than the short one, so that a few bytes kept for each would
/// exceed this.
const MARGIN_BYTES: usize = 300_000;

/// Tens of thousands of echoes.
const ECHOES: &str = r#"[[ping]]
name = "echo"
stations = ["sta", "lossy"]
server = "near"
interval = "20 ms"
"#;

/// All other kinds of applications.
const OTHERS: &str = r#"[[bulk]]
name = "endless"
stations = ["sta"]
server = "far"
direction = "down"
[[bulk]]
name = "sized"
stations = ["lossy"]
server = "near"
direction = "up"
size = "300 kB"
[[udp]]
name = "regular"
stations = ["sta"]
server = "near"
direction = "up"
rate = "200 kb/s"
[[udp]]
name = "random"
stations = ["lossy"]
server = "near"
direction = "down"
rate = "100 kb/s"
arrivals = "poisson"
[[voip]]
name = "call"
stations = ["sta"]
server = "near"
codec = "g711"
[[flows]]
name = "short"
stations = ["sta", "lossy"]
server = "near"
direction = "down"
rate = "20 /s"
[flows.size]
mean = "5 kB"
[[onoff]]
name = "files"
stations = ["sta"]
server = "near"
direction = "up"
[onoff.size]
mean = "20 kB"
[onoff.gap]
mean = "500 ms"
[[web]]
name = "pages"
stations = ["sta"]
server = "near"
objects_max = 2
size_mean = "3 kB"
size_cap = "5 kB"
think = "200 ms"
"#;

fn scenario(seconds: u32, applications: &str) -> Scenario {
    let interval_ms = seconds * 1_000 / INTERVALS;
    let text = format!(
        r#"version = 1
name = "memory"
duration = "{seconds} s"
[radio]
standard = "802.11g"
edca = true
ap_queue = {{ discipline = "fq-codel" }}
station_queue = {{ discipline = "las-ack" }}
[measure]
interval = "{interval_ms} ms"
[lan]
rate = "100 Mb/s"
[wan.down]
rate = "1 Mb/s"
delay = "5 ms"
buffer = "60 packets"
[wan.up]
rate = "5 Mb/s"
delay = "5 ms"
[[station]]
name = "sta"
count = 2
rate = "54 Mb/s"
[[station]]
name = "lossy"
rate = "24 Mb/s"
loss = "20 %"
[[server]]
name = "near"
[[server]]
name = "far"
at = "wan"
{applications}
[[event]]
at = "10 s"
do = "insert"
"#
    );
    Scenario::parse(&text, "memory.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// Peak memory of a run, beyond what was allocated before it.
fn peak_bytes(scenario: &Scenario, options: &SimOptions) -> usize {
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let result = run_with(scenario, options, |_| ControlFlow::Continue(())).expect("it can be simulated");
    assert_eq!(result.series.ap_queue_packets.len(), INTERVALS as usize);
    HEAP.peak_usage() - before
}

/// The runs are sequential, since the peak is that of the whole program.
#[test]
fn a_longer_run_takes_no_more_memory() {
    // Long enough for connections in TIME-WAIT and bounded lists to reach their maximum.
    const SHORT_S: u32 = 240;
    const LONG_S: u32 = 8 * SHORT_S;
    let all = format!("{OTHERS}{ECHOES}");
    let peak = |seconds: u32, listed: usize| {
        let options = SimOptions { listed: Some(listed), ..SimOptions::default() };
        peak_bytes(&scenario(seconds, &all), &options)
    };
    let [short, long, listing] = [(SHORT_S, 0), (LONG_S, 0), (LONG_S, usize::MAX)].map(|(s, listed)| peak(s, listed));
    eprintln!("{SHORT_S} s: {short} bytes; {LONG_S} s: {long} bytes, {listing} with everything listed");
    assert!(long <= short + MARGIN_BYTES, "{short} bytes for {SHORT_S} s, {long} for {LONG_S} s");
    // Canary: growth is detected, even beside the temporary memory of a growing table.
    assert!(listing > long + MARGIN_BYTES, "{long} bytes, and {listing} with everything listed");

    let traced = |seconds: u32| {
        let folder = tempfile::tempdir().expect("a place for traces");
        let options = SimOptions { trace: Some(folder.path().to_owned()), ..SimOptions::default() };
        peak_bytes(&scenario(seconds, ECHOES), &options)
    };
    let [short, long] = [210, 840].map(traced);
    eprintln!("traced, 210 s: {short} bytes, 840 s: {long} bytes");
    assert!(long <= short + MARGIN_BYTES, "{short} bytes for 210 s with traces, {long} for 840 s");
}
