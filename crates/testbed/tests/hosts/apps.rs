//! Every kind of application works over the radio, and over nothing else.

use anyhow::ensure;
use evenair_results::{CallResult, FlowResult, RunResult, TransferCount, TransferEnd};

use crate::common;
use crate::common::STALL_S;

fn run(stations: usize, rest: &str) -> RunResult {
    run_text(&common::text(stations, rest))
}

fn run_text(text: &str) -> RunResult {
    let scenario = common::parse(text);
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
    let result = common::judged(&common::scenario(1, rest), |result| {
        let phase = &result.phases[0];
        let capacity = phase.capacity_cstar_mbps.unwrap_or_default();
        let total = phase.total_ip_mbps;
        // The formula has no collisions and no simultaneous count-down.
        ensure!((total / capacity - 1.0).abs() < 0.1, "{total} of {capacity} Mb/s");
        let queue = phase.ap_queue_mean_packets;
        ensure!(queue > 30.0, "{queue} packets in the access point's buffer");
        Ok(())
    });
    let download = flow(&result, "download");
    // 1448 of 1500 bytes, and half an ACK of 52 bytes for each.
    let expected = 1448.0 / (1500.0 + 52.0 / download.d.expect("ACKs were counted"));
    assert!((download.goodput_mbps / download.ip_mbps / expected - 1.0).abs() < 0.02, "{expected}: {download:?}");
    assert!(download.d.is_some_and(|d| (1.0..2.6).contains(&d)), "{:?}", download.d);
    assert!(download.cwnd_segments.is_some_and(|cwnd| cwnd > 5.0), "{:?}", download.cwnd_segments);
    // The access point's buffer is full: 100 packets at 4.9 Mb/s are a quarter of a second.
    assert!(download.rtt_ms.is_some_and(|rtt| rtt > 50.0 && rtt < 1000.0), "{:?}", download.rtt_ms);
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
        from = "2 s"
        to = "5 s"
    "#;
    // A first datagram waits for address resolution, and for a second if the request collided on the air, as broadcasts
    // may: the phase begins after that.
    let result = run(3, rest);
    let voice = flow(&result, "voice");
    assert!(is_rate(voice.goodput_mbps, 0.2, 3.0), "{voice:?}");
    assert!((voice.ip_mbps / voice.goodput_mbps - 228.0 / 200.0).abs() < 0.02, "{voice:?}");
    assert!(result.pages.len() > 5, "{} pages", result.pages.len());
    for page in &result.pages {
        assert!(page.took_s > 0.002 && page.objects >= 2 && page.bytes > 0, "{page:?}");
        // Not faster than the medium allows.
        assert!(page.bytes as f64 * 8.0 / page.took_s < 7e6, "{page:?}");
    }
    let echo = &result.echoes[0];
    // A hundred echoes are sent.
    assert!(echo.answers >= 90 && echo.p50_ms > 0.5 && echo.p50_ms < 30.0, "{echo:?}");
}

#[test]
fn a_telephone_program_is_heard_both_ways() {
    let Some(_turn) = common::turn() else { return };
    let rest = r#"
        [[voip]]
        name = "call"
        stations = ["sta"]
        server = "server"
        tool = "baresip"
        dscp = 0
        [[phase]]
        name = "all"
        from = "2 s"
        to = "5 s"
    "#;
    let result = match evenair_testbed::run(&common::scenario(1, rest), &common::options(), |_| {}) {
        Err(error @ evenair_testbed::TestbedError::MissingProgram { .. }) => {
            eprintln!("skipped: {error}");
            return;
        }
        result => result.expect("runs"),
    };
    eprintln!("{:#?} {:?}", result.calls, result.events);
    assert_eq!(result.calls.len(), 2, "both directions");
    for call in &result.calls {
        // Two seconds of the phase are evaluated, with 50 packets each; the call takes a moment to be set up.
        assert!(call.heard.sent >= 50 && call.heard.sent <= 110, "{call:?}");
        assert!(call.heard.lost <= 2 && call.heard.r_factor > 80.0 && call.heard.delay_p50_ms < 20.0, "{call:?}");
    }
    for name in ["call-up", "call-down"] {
        // 200 bytes at IP level, 50 times per second.
        let flow = flow(&result, name);
        assert!(flow.ip_mbps > 0.04 && flow.ip_mbps < 0.1, "{flow:?}");
    }
}

/// A station in power save receives group frames, and its own frames when it wakes.
#[test]
fn groups_and_stations_in_power_save_are_reached() {
    let Some(_turn) = common::turn() else { return };
    let rest = r#"
        [[udp]]
        name = "group"
        stations = ["sta1"]
        server = "server"
        direction = "down"
        group = true
        payload = "100 bytes"
        packet_rate = "20 /s"
        [[udp]]
        name = "own"
        stations = ["sta2"]
        server = "server"
        direction = "down"
        payload = "100 bytes"
        packet_rate = "10 /s"
        [[neighbour]]
        name = "others"
        load = "20 %"
        rate = "5.5 Mb/s"
        [[phase]]
        name = "all"
        from = "2 s"
        to = "5 s"
    "#;
    let text = common::text(2, rest)
        .replace("count = 2", "count = 2\n            listen_interval = 2\n            stays_awake = \"50 ms\"");
    let result = run_text(&text);
    let medium = result.medium.as_ref().expect("it was counted");
    assert!(medium.group_share > 0.01 && medium.management_share > 0.005, "{medium:?}");
    assert!((medium.foreign_share - 0.2).abs() < 0.05, "{medium:?}");
    let (group, own) = (flow(&result, "group"), flow(&result, "own"));
    assert!(is_rate(group.goodput_mbps, 0.016, 3.0), "{group:?}");
    assert!(is_rate(own.goodput_mbps, 0.008, 3.0), "{own:?}");
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

#[test]
fn transfers_arrive_and_files_follow_one_another() {
    let Some(_turn) = common::turn() else { return };
    let rest = r#"
        [[flows]]
        name = "up"
        stations = ["sta"]
        server = "server"
        direction = "up"
        arrivals = "regular"
        spread = "round-robin"
        interval = "250 ms"
        until = "4 s"
        size = { mean = "20 kB" }
        [[flows]]
        name = "down"
        stations = ["sta1", "sta2"]
        server = "server"
        direction = "down"
        rate = "4 /s"
        until = "4 s"
        size = { distribution = "exponential", mean = "20 kB" }
        [[flows]]
        name = "crowd"
        stations = ["sta3"]
        server = "server"
        direction = "up"
        arrivals = "regular"
        interval = "100 ms"
        start = "4.55 s"
        limit = 1
        size = { mean = "10 MB" }
        [[onoff]]
        name = "one"
        stations = ["sta1"]
        server = "server"
        direction = "up"
        size = { distribution = "uniform", min = "1 kB", max = "5 kB" }
        gap = { distribution = "exponential", mean = "100 ms" }
        [[onoff]]
        name = "each"
        stations = ["sta2"]
        server = "server"
        direction = "down"
        connection = "each"
        ip = "v6"
        size = { mean = "5 kB" }
        gap = { mean = "100 ms" }
        [[phase]]
        name = "all"
        from = "0 s"
        to = "5 s"
    "#;
    let result = run(3, rest);
    eprintln!("{:#?}", result.transfers.counts);
    let sum = |name: &str, of: &dyn Fn(&TransferCount) -> u64| -> u64 {
        result.transfers.counts.iter().filter(|count| count.app.starts_with(name)).map(of).sum()
    };
    for count in &result.transfers.counts {
        assert_eq!(count.started, count.complete + count.failed + count.cut, "{count:?}");
        assert_eq!(count.failed, 0, "{count:?}");
    }
    // Sixteen transfers at intervals of a quarter of a second, 20 kB each.
    assert_eq!((sum("up", &|c| c.complete), sum("up", &|c| c.complete_bytes)), (16, 320_000));
    let mut starts: Vec<_> = result.transfers.records.iter().filter(|record| record.app.starts_with("up")).collect();
    starts.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    for (record, due) in starts.iter().zip((0..).map(|k| f64::from(k) * 0.25)) {
        assert!((0.0..STALL_S).contains(&(record.at_s - due)), "{record:?}");
        assert!(record.took_s.is_some_and(|took| (0.02..3.0).contains(&took)), "{record:?}");
    }
    // The same arrivals as in the simulator, drawn from the same streams.
    let scenario = common::scenario(3, rest);
    let simulated = evenair_workload::FlowArrivals::new(
        match &scenario.apps[3].kind {
            evenair_scenario::AppKind::Flows(spec) => spec,
            other => panic!("{other:?}"),
        },
        &evenair_units::Streams::new(scenario.seed).of(&scenario.apps[3].streams),
    );
    let expected: u64 = simulated.map(|arrival| arrival.bytes.0).sum();
    assert_eq!(sum("down", &|c| c.complete_bytes), expected);
    // One of 10 MB does not end within half a second, and no other one may begin.
    assert_eq!((sum("crowd", &|c| c.cut), sum("crowd", &|c| c.started)), (1, 1));
    let refused = sum("crowd", &|c| c.refused);
    assert!((2..=4).contains(&refused), "{refused} refused: four are due, the last two within a stall of the end");
    for app in ["one", "each"] {
        let complete = sum(app, &|c| c.complete);
        assert!((20..60).contains(&complete), "{app}: {complete}");
        assert!(flow(&result, app).goodput_mbps > 0.0, "{:?}", flow(&result, app));
    }
}

#[test]
fn a_bulk_transfer_of_known_size_is_recorded_and_closes_normally() {
    let Some(_turn) = common::turn() else { return };
    let rest = r#"
        [[bulk]]
        name = "up"
        stations = ["sta1"]
        server = "server"
        direction = "up"
        size = "300 kB"
        [[bulk]]
        name = "down"
        stations = ["sta2"]
        server = "server"
        direction = "down"
        start = "500 ms"
        size = "300 kB"
        [[bulk]]
        name = "large"
        stations = ["sta3"]
        server = "server"
        direction = "down"
        start = "4 s"
        size = "10 MB"
    "#;
    let result = run(3, rest);
    eprintln!("{:#?}", result.transfers);
    let of = |app: &str| result.transfers.records.iter().find(|record| record.app == app).expect("it is recorded");
    for (app, at_s) in [("up", 0.0), ("down", 0.5)] {
        let record = of(app);
        assert!((record.bytes, record.end) == (300_000, TransferEnd::Complete), "{record:?}");
        assert!((0.0..STALL_S).contains(&(record.at_s - at_s)), "{record:?}");
        // At most 4.9 Mb/s.
        assert!(record.took_s.is_some_and(|took| (0.4..4.0).contains(&took)), "{record:?}");
    }
    assert_eq!((of("large").end, of("large").took_s), (TransferEnd::Cut, None));
    assert!(result.events.is_empty(), "nothing ended in disorder: {:?}", result.events);
}

#[test]
fn calls_have_good_quality_and_datagrams_have_the_configured_rates() {
    let Some(_turn) = common::turn() else { return };
    let rest = r#"
        [[voip]]
        name = "call"
        stations = ["sta1"]
        server = "server"
        [[udp]]
        name = "noisy"
        stations = ["sta2"]
        server = "server"
        direction = "up"
        rate = "200 kb/s"
        noise = "10 %"
        [[udp]]
        name = "video"
        stations = ["sta3"]
        server = "server"
        direction = "down"
        frame_interval = "40 ms"
        frame = { mean = "2500 bytes" }
        [[phase]]
        name = "early"
        from = "2 s"
        to = "4 s"
        [[phase]]
        name = "late"
        from = "4 s"
        to = "7 s"
    "#;
    // As above, the first two seconds are not representative of the calls.
    let text = common::text(3, rest).replace(r#"duration = "5 s""#, r#"duration = "7 s""#);
    let result = run_text(&text);
    eprintln!("{:#?}", result.calls);
    assert_eq!(result.calls.len(), 4);
    for call in &result.calls {
        // 50 packets per second for two seconds each: the last second is not evaluated.
        assert!((0.9..=1.02).contains(&(call.heard.sent as f64 / 100.0)), "{call:?}");
        assert_is_heard_as_measured(call);
    }
    for (app, mbps) in [("call-up", 0.0688), ("call-down", 0.0688), ("noisy", 0.2), ("video", 0.5)] {
        let late = result.phases[1].flows.iter().find(|flow| flow.app == app).expect("it is reported");
        assert!(is_rate(late.goodput_mbps, mbps, 3.0), "{mbps}: {late:?}");
    }
}

/// Checks that few packets are lost, most have a short delay, and the quality follows from that, even if the machine
/// delayed some of them.
fn assert_is_heard_as_measured(call: &CallResult) {
    let heard = &call.heard;
    let unheard = heard.lost + heard.late;
    let in_a_stall = (STALL_S / 0.02) as u64;
    assert!(unheard <= 2 + 2 * in_a_stall, "{call:?}");
    // A packet is on the air for 0.27 ms, after DIFS.
    assert!((0.3..30.0).contains(&heard.delay_p50_ms) && heard.delay_mean_ms < 30.0 + 1e3 * STALL_S, "{call:?}");
    assert!(heard.delay_p50_ms <= heard.delay_p95_ms && heard.delay_mean_ms <= heard.delay_max_ms, "{call:?}");
    // A stall adds to the delay once, and twice as much to the sum of RFC 3550's jitter.
    assert!(heard.jitter_ms < 10.0 + 2e3 * STALL_S / heard.sent as f64, "{call:?}");
    if unheard <= 2 && heard.delay_max_ms < 100.0 {
        assert!(heard.r_factor > 80.0 && heard.mos > 4.0, "{call:?}");
    }
}

/// Whether the rate of a source of `mbps` was received over `seconds`, if either end may have stalled once.
fn is_rate(heard: f64, mbps: f64, seconds: f64) -> bool {
    (heard / mbps - 1.0).abs() < 0.05 + STALL_S / seconds
}
