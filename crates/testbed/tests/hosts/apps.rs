//! Every kind of application does what it says, over the radio and nowhere else.

use crate::common;

use evenair_scenario::results::{FlowResult, RunResult};

fn run(stations: usize, rest: &str) -> RunResult {
    let scenario = common::scenario(stations, rest);
    let result = evenair_testbed::run(&scenario, &common::options(), |_| {}).expect("runs");
    eprintln!("{:?}\n{:#?}\n{:?}\n{:?}", result.lateness, result.phases[0].flows, result.echoes, result.events);
    result
}

fn flow<'a>(result: &'a RunResult, app: &str) -> &'a FlowResult {
    result.phases[0].flows.iter().find(|flow| flow.app == app).expect("every application is reported")
}

#[test]
fn one_download_fills_the_medium() {
    let Some(_turn) = common::turn() else { return };
    let rest = r#"
        [[bulk]]
        name = "download"
        stations = ["sta"]
        server = "server"
        direction = "down"
        [[phase]]
        name = "all"
        from = "2 s"
        to = "5 s"
    "#;
    let result = run(1, rest);
    let phase = &result.phases[0];
    let capacity = phase.capacity_cstar_mbps.expect("one TCP flow");
    // The formula counts no collisions and no simultaneous count-down.
    assert!((phase.total_ip_mbps / capacity - 1.0).abs() < 0.1, "{} of {capacity}", phase.total_ip_mbps);
    let download = flow(&result, "download");
    // 1448 of 1500 bytes, and half an ACK of 52 for each.
    let expected = 1448.0 / (1500.0 + 52.0 / download.d.expect("ACKs were counted"));
    assert!((download.goodput_mbps / download.ip_mbps / expected - 1.0).abs() < 0.02);
    assert!(download.d.is_some_and(|d| (1.0..2.6).contains(&d)), "{:?}", download.d);
    assert!(download.cwnd_segments.is_some_and(|cwnd| cwnd > 5.0));
    // The access point's buffer stands full: 100 packets at 4.9 Mb/s are a quarter of a second.
    assert!(download.rtt_ms.is_some_and(|rtt| rtt > 50.0 && rtt < 1000.0), "{:?}", download.rtt_ms);
    assert!(phase.ap_queue_mean_packets > 30.0);
}

#[test]
fn datagrams_pages_and_echoes_are_counted() {
    let Some(_turn) = common::turn() else { return };
    let rest = r#"
        [[udp]]
        name = "voice"
        stations = ["sta1"]
        server = "server"
        direction = "down"
        rate = "200 kb/s"
        payload = "200 bytes"
        [[web]]
        name = "reader"
        stations = ["sta2"]
        server = "server"
        think = "100 ms"
        [[ping]]
        name = "ping"
        stations = ["sta3"]
        server = "server"
        interval = "50 ms"
        ip = "v6"
        [[phase]]
        name = "all"
        from = "1 s"
        to = "5 s"
    "#;
    let result = run(3, rest);
    let voice = flow(&result, "voice");
    assert!((voice.goodput_mbps - 0.2).abs() < 0.02, "{voice:?}");
    assert!((voice.ip_mbps - 0.2 * 228.0 / 200.0).abs() < 0.02, "{voice:?}");
    assert!(result.pages.len() > 5, "{} pages", result.pages.len());
    for page in &result.pages {
        assert!(page.took_s > 0.002 && page.objects >= 2 && page.bytes > 0, "{page:?}");
        // Not faster than the medium allows.
        assert!(page.bytes as f64 * 8.0 / page.took_s < 7e6, "{page:?}");
    }
    let echo = &result.echoes[0];
    assert!(echo.answers >= 95 && echo.p50_ms > 0.5 && echo.p50_ms < 30.0, "{echo:?}");
}

#[test]
fn iperf3_fills_the_medium_both_ways() {
    let Some(_turn) = common::turn() else { return };
    let rest = r#"
        [[bulk]]
        name = "up"
        stations = ["sta1"]
        server = "server"
        direction = "up"
        tool = "iperf3"
        [[bulk]]
        name = "down"
        stations = ["sta2"]
        server = "server"
        direction = "down"
        tool = "iperf3"
        ip = "v6"
        [[phase]]
        name = "all"
        from = "2 s"
        to = "5 s"
    "#;
    let scenario = common::scenario(2, rest);
    let result = match evenair_testbed::run(&scenario, &common::options(), |_| {}) {
        Err(error @ evenair_testbed::TestbedError::MissingProgram { .. }) => {
            eprintln!("skipped: {error}");
            return;
        }
        result => result.expect("runs"),
    };
    eprintln!("{:#?} {:?}", result.phases[0].flows, result.events);
    assert!(result.phases[0].total_ip_mbps > 4.0, "{}", result.phases[0].total_ip_mbps);
    for name in ["up", "down"] {
        let flow = flow(&result, name);
        assert!(flow.ip_mbps > 0.05 && flow.goodput_mbps > 0.8 * flow.ip_mbps, "{flow:?}");
    }
}
