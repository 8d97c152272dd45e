//! TCP over a shared access point without any control, compared with the literature: Blefari-Melazzi, Detti, Habib, Ordine,
//! Salsano, "Detailed Analysis of TCP Fairness Issues in IEEE 802.11 Networks and their Solution using a Rate Control
//! Approach".
//!
//! 802.11b at 11 Mb/s, 1500-byte packets, windows of 43 packets, Reno without delayed acknowledgments, N uploads and N
//! downloads. The paper has curves, not tables, so that the bounds are those of its text.

use std::ops::ControlFlow;

use evenair_results::{PhaseResult, RunResult};
use evenair_sim::tcp::{Config, LossRecovery};
use evenair_sim::{SimOptions, run_with};
use evenair_units::Bytes;

use crate::site::Site;

fn simulate(n: u32, ap_buffer: &str) -> RunResult {
    let scenario = Site::new("n-up-n-down", 300)
        .radio("802.11b", &format!("after_collision = 'difs'\nap_buffer = '{ap_buffer}'"))
        .with("[lan]\nrate = '100 Mb/s'")
        .stations("u", n, "rate = '11 Mb/s'")
        .stations("d", n, "rate = '11 Mb/s'")
        .bulk("up", "u", "up")
        .and("stagger = '0.1 s'")
        .bulk("down", "d", "down")
        .and("start = '50 ms'\nstagger = '0.1 s'")
        .phase("all", 100, 300)
        .scenario();
    let config = Config { recovery: LossRecovery::NewReno, ..Config::ns3() };
    let tcp = config.with_window(Bytes(43 * 1460)).without_delayed_ack();
    run_with(&scenario, &SimOptions { tcp: Some(tcp), ..SimOptions::default() }, |_| ControlFlow::Continue(()))
        .expect("it can be simulated")
}

fn phase(result: &RunResult) -> &PhaseResult {
    &result.phases[0]
}

/// R1: one transfer each way is fair, four each way starve the downloads, and lost ACKs raise the total.
#[test]
fn downloads_starve_as_uploads_grow_in_number() {
    let (one, four) = (simulate(1, "100 packets"), simulate(4, "100 packets"));
    let (one, four) = (phase(&one), phase(&four));
    assert!((one.directions.up_ip_mbps / one.directions.down_ip_mbps - 1.0).abs() < 0.05, "{:?}", one.directions);
    assert!((4.3..4.9).contains(&one.total_ip_mbps), "published about 4.5, got {}", one.total_ip_mbps);
    assert!(four.directions.down_ip_mbps < 0.05 * four.total_ip_mbps, "{:?}", four.directions);
    assert!((5.0..5.6).contains(&four.total_ip_mbps), "published up to 5.3, got {}", four.total_ip_mbps);
}

/// R4: with a buffer that loses nothing all flows are equal, most of 16 x 43 packets are queued at the access point, and
/// the total is that of one flow each way.
#[test]
fn without_loss_all_flows_are_equal() {
    let result = simulate(8, "unlimited");
    let all = phase(&result);
    all.flows.iter().for_each(|flow| assert!((flow.share * 16.0 - 1.0).abs() < 0.05, "{flow:?}"));
    assert!((4.3..4.9).contains(&all.total_ip_mbps), "published about 4.5, got {}", all.total_ip_mbps);
    assert!(
        (550.0..688.0).contains(&all.ap_queue_mean_packets),
        "published about 600, got {}",
        all.ap_queue_mean_packets
    );
    // Little's law: windows are full, so that each flow's round trip is 43 packets at its rate; DATA is 1500 of 1540 bytes.
    for flow in &all.flows {
        let packets_per_s = flow.ip_mbps * 1e6 / 8.0 / 1540.0;
        let window = flow.rtt_ms.expect("it has samples") / 1e3 * packets_per_s;
        assert!((window / 43.0 - 1.0).abs() < 0.05, "{window} packets in a round trip of {flow:?}");
    }
}
