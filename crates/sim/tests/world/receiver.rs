//! Receiver-side control with whole TCPs: the access point's queue follows the law, and the total stays.

use evenair_results::{PhaseResult, RunResult};
use evenair_scenario::Scenario;
use evenair_sim::run;
use evenair_workload::Direction;

/// Ten stations of 802.11b; `rest` has the traffic and the control.
fn ten(rest: &str) -> RunResult {
    let text = format!(
        r#"version = 1
name = "receiver"
duration = "60 s"
[radio]
standard = "802.11b"
ap_buffer = "200 packets"
[lan]
rate = "100 Mb/s"
delay = "11 ms"
[[station]]
name = "sta"
count = 10
rate = "11 Mb/s"
[[server]]
name = "server"
[[phase]]
name = "settled"
from = "30 s"
to = "60 s"
{rest}
"#
    );
    run(&Scenario::parse(&text, "receiver.toml").expect("a sound scenario"), |_| ()).expect("it can be simulated")
}

const DOWN: &str = "[[bulk]]\nname = \"down\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"down\"\n";

/// The box from the start with these keys in `[manager.receiver]`, and no queue toward the WLAN.
fn alone(keys: &str) -> String {
    format!(
        "[[event]]\nat = \"0 s\"\ndo = \"insert\"\n[manager]\ncontroller.kind = \"none\"\n[manager.receiver]\n{keys}\n"
    )
}

fn settled(result: &RunResult) -> &PhaseResult {
    &result.phases[0]
}

/// Mean time from arrival at the access point to delivery, ms.
fn queueing(result: &RunResult) -> f64 {
    let nodes = &settled(result).nodes;
    let access_point = nodes.iter().max_by_key(|node| node.offered_frames).expect("there are nodes");
    access_point.sojourn.as_ref().expect("frames were delivered").mean_ms
}

#[test]
fn controlled_windows_and_delays_keep_the_access_points_queue_at_the_target() {
    let free = ten(DOWN);
    let total = settled(&free).total_ip_mbps;
    assert!(queueing(&free) > 300.0, "without control the buffer is full: {} ms", queueing(&free));
    for (keys, target) in [
        ("window_target = \"50 ms\"", 50.0),
        ("window_target = \"200 ms\"", 200.0),
        ("window_target = \"100 ms\"\ndelay = \"100 ms\"", 100.0),
        ("window = \"10 packets\"", 215.0),
    ] {
        let result = ten(&format!("{DOWN}{}", alone(keys)));
        let (queueing, ours) = (queueing(&result), settled(&result).total_ip_mbps);
        assert!((queueing / target - 1.0).abs() < 0.15, "{keys}: {queueing} ms");
        assert!(ours > 0.98 * total, "{keys}: {ours} of {total} Mb/s");
    }
    // Delayed ACKs keep packets out of the access point only if windows are limited.
    let limited = "[tcp]\nwindow = \"30 packets\"\n";
    let result = ten(&format!("{DOWN}{limited}{}", alone("delay_target = \"150 ms\"")));
    let (queueing, ours) = (queueing(&result), settled(&result).total_ip_mbps);
    assert!((queueing / 150.0 - 1.0).abs() < 0.15 && ours > 0.98 * total, "{queueing} ms, {ours} Mb/s");
}

#[test]
fn a_shared_buffer_loses_nothing_and_makes_all_flows_equal() {
    let both = format!("{DOWN}{}", DOWN.replace("\"down\"", "\"up\""));
    let free = ten(&both);
    let result = ten(&format!("{both}{}", alone("ap_buffer = \"200 packets\"")));
    // While the flows open one after the other, the first ones get larger windows than later.
    let lost = |result: &RunResult| {
        let lost = settled(result).nodes.iter().flat_map(|node| &node.lost_frames);
        lost.filter(|lost| lost.reason == "buffer full").map(|lost| lost.packets).sum::<u64>()
    };
    assert!(lost(&free) > 100, "{}", lost(&free));
    assert_eq!(lost(&result), 0);
    let rates = |way| settled(&result).flows.iter().filter(move |flow| flow.direction == way).map(|flow| flow.ip_mbps);
    let sums = [Direction::Up, Direction::Down].map(|way| rates(way).sum::<f64>());
    assert!((sums[0] / sums[1] - 1.0).abs() < 0.1, "{sums:?}");
    assert!(settled(&result).jain_flows.is_some_and(|jain| jain > 0.99), "{:?}", settled(&result).jain_flows);
}

#[test]
fn with_the_queues_it_does_not_reduce_the_total() {
    let insert = "[[event]]\nat = \"0 s\"\ndo = \"insert\"\n";
    let queues = ten(&format!("{DOWN}{insert}"));
    let both = ten(&format!("{DOWN}{insert}[manager.receiver]\nwindow = \"10 packets\"\ndelay = \"20 ms\"\n"));
    let (alone, both) = (settled(&queues), settled(&both));
    assert!((both.total_ip_mbps / alone.total_ip_mbps - 1.0).abs() < 0.02);
    assert!(both.jain_flows.is_some_and(|jain| jain > 0.99));
}

#[test]
fn a_connection_from_before_the_insertion_keeps_its_windows() {
    let late = alone("window = \"2 packets\"").replace("0 s", "5 s");
    let result = ten(&format!("{DOWN}{late}"));
    assert!(queueing(&result) > 300.0, "{} ms", queueing(&result));
}
