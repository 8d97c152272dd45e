//! Receiver-side control with whole TCPs: the access point's queue follows the law, and the total stays.

use evenair_results::{PhaseResult, RunResult};
use evenair_workload::Direction;

use crate::site::Site;

/// Downloads of ten stations of 802.11b.
fn ten() -> Site {
    Site::new("receiver", 60)
        .radio("802.11b", "ap_buffer = '200 packets'")
        .lan("100 Mb/s", "11 ms")
        .stations("sta", 10, "rate = '11 Mb/s'")
        .phase("settled", 30, 60)
        .bulk("down", "sta", "down")
}

/// The box with these keys in `[manager.receiver]`, and no queue toward the WLAN.
fn alone(site: Site, keys: &str) -> Site {
    site.with("[manager]\ncontroller.kind = 'none'\n[manager.receiver]").and(keys)
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
    let free = ten().run();
    let total = settled(&free).total_ip_mbps;
    assert!(queueing(&free) > 300.0, "without control the buffer is full: {} ms", queueing(&free));
    for (keys, target) in [
        ("window_target = '50 ms'", 50.0),
        ("window_target = '200 ms'", 200.0),
        ("window_target = '100 ms'\ndelay = '100 ms'", 100.0),
        ("window = '10 packets'", 215.0),
    ] {
        let result = alone(ten().insert(0), keys).run();
        let (queueing, ours) = (queueing(&result), settled(&result).total_ip_mbps);
        assert!((queueing / target - 1.0).abs() < 0.15, "{keys}: {queueing} ms");
        assert!(ours > 0.98 * total, "{keys}: {ours} of {total} Mb/s");
    }
    // Delayed ACKs keep packets out of the access point only if windows are limited.
    let limited = ten().with("[tcp]\nwindow = '30 packets'").insert(0);
    let result = alone(limited, "delay_target = '150 ms'").run();
    let (queueing, ours) = (queueing(&result), settled(&result).total_ip_mbps);
    assert!((queueing / 150.0 - 1.0).abs() < 0.15 && ours > 0.98 * total, "{queueing} ms, {ours} Mb/s");
}

#[test]
fn a_shared_buffer_loses_nothing_and_makes_all_flows_equal() {
    let both = ten().bulk("up", "sta", "up");
    let free = both.run();
    let result = alone(both.insert(0), "ap_buffer = '200 packets'").run();
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
    let queues = ten().insert(0);
    let both = queues.clone().with("[manager.receiver]\nwindow = '10 packets'\ndelay = '20 ms'").run();
    let queues = queues.run();
    let (alone, both) = (settled(&queues), settled(&both));
    assert!((both.total_ip_mbps / alone.total_ip_mbps - 1.0).abs() < 0.02);
    assert!(both.jain_flows.is_some_and(|jain| jain > 0.99));
}

#[test]
fn a_connection_from_before_the_insertion_keeps_its_windows() {
    let result = alone(ten().insert(5), "window = '2 packets'").run();
    assert!(queueing(&result) > 300.0, "{} ms", queueing(&result));
}
