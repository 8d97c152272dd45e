//! Priority within a station's share, and the delay of a stream that exceeds it.

use evenair_results::{FlowResult, PhaseResult, RunResult};

use crate::site::Site;

/// A radio, whose access point's buffer has 150 kB, with the box.
fn site(standard: &str) -> Site {
    Site::new("share", 60)
        .radio(standard, "ap_buffer = '150 kB'")
        .when(standard == "802.11b", |site| site.and("preamble = 'short'"))
        .lan("1 Gb/s", "5 ms")
        .insert(2)
        .phase("managed", 10, 60)
}

/// Size of the datagrams of a stream.
const PAYLOAD: &str = "payload = '1172 bytes'";

fn managed(result: &RunResult) -> &PhaseResult {
    result.phases.iter().find(|phase| phase.name == "managed").expect("the scenario has the phase")
}

fn flow<'r>(result: &'r RunResult, app: &str) -> &'r FlowResult {
    managed(result).flows.iter().find(|flow| flow.app == app).unwrap_or_else(|| panic!("there is no {app}"))
}

fn p99(flow: &FlowResult) -> f64 {
    flow.delay.as_ref().expect("datagrams have delays").p99_ms
}

#[test]
fn a_video_call_within_its_share_loses_nothing_beside_a_download_of_its_station() {
    for (standard, mbps, call) in [("802.11g", 54, "1.5 Mb/s"), ("802.11b", 11, "0.35 Mb/s")] {
        let rate = format!("rate = '{mbps} Mb/s'");
        let result = site(standard)
            .stations("d", 4, &rate)
            .stations("c", 1, &rate)
            .bulk("down", "d", "down")
            .bulk("own", "c", "down")
            .each(["down", "up"], |site, way| site.udp(&format!("call-{way}"), "c", way, call).and(PAYLOAD))
            .run();
        for way in ["call-down", "call-up"] {
            let flow = flow(&result, way);
            println!("{mbps} Mb/s {way}: lost {:.4}, p99 {:.1} ms", flow.loss_rate(), p99(flow));
            assert!(flow.loss_rate() < 0.005 && p99(flow) < 25.0, "{way}");
        }
    }
}

#[test]
fn an_unresponsive_stream_gets_its_share_of_fresh_packets() {
    for (standard, mbps, sent) in [("802.11g", 54, "20 Mb/s"), ("802.11g", 54, "6 Mb/s"), ("802.11b", 11, "5 Mb/s")] {
        let rate = format!("rate = '{mbps} Mb/s'");
        let result = site(standard)
            .stations("d", 4, &rate)
            .stations("x", 1, &rate)
            .bulk("down", "d", "down")
            .udp("stream", "x", "down", sent)
            .and(PAYLOAD)
            .run();
        let stream = flow(&result, "stream");
        let downs: Vec<f64> = (1..=4).map(|n| flow(&result, &format!("down{n}")).goodput_mbps).collect();
        let mean = downs.iter().sum::<f64>() / 4.0;
        println!(
            "{sent} at {mbps} Mb/s: {:.3} Mb/s, p99 {:.1} ms, downloads {downs:.3?}",
            stream.goodput_mbps,
            p99(stream)
        );
        assert!(p99(stream) < 150.0, "{} ms", p99(stream));
        // The stream has no ACKs, which cost airtime.
        assert!((0.95..1.25).contains(&(stream.goodput_mbps / mean)), "{} beside {mean}", stream.goodput_mbps);
    }
}

/// Times of short transfers to a station with four downloads of its own, beside others with one, sorted; and the rates of
/// the four. `manager` is the box's configuration.
fn beside_downloads(others: u32, manager: &str) -> (Vec<f64>, Vec<f64>) {
    let result = site("802.11g")
        .with(manager)
        .stations("d", others, "rate = '54 Mb/s'")
        .stations("x", 1, "rate = '54 Mb/s'")
        .bulk("down", "d", "down")
        .bulk("own", "x", "down")
        .and("per_station = 4")
        .app("flows", "short", "x", "direction = 'down'\nrate = '1 /s'\nsize = { mean = '100 kB' }")
        .run();
    let mut took: Vec<f64> = result.transfers.records.iter().filter_map(|transfer| transfer.took_s).collect();
    assert!(took.len() > 40, "{} transfers", took.len());
    took.sort_by(f64::total_cmp);
    (took, (1..=4).map(|n| flow(&result, &format!("own{n}")).goodput_mbps).collect())
}

#[test]
fn short_transfers_have_priority_over_long_ones_of_their_station() {
    for others in [1, 3] {
        let (first, own) = beside_downloads(others, "");
        let (in_turn, own_in_turn) = beside_downloads(others, "[manager]\nsparse_first = false");
        let [median, before] = [&first, &in_turn].map(|took| took[took.len() / 2]);
        println!("beside {others}: {median:.3} s, {before:.3} s in turn; downloads {own:.3?}, {own_in_turn:.3?}");
        assert!(median < 0.45 * before, "{median} s, {before} s in turn");
        let (mean, mean_in_turn) = (own.iter().sum::<f64>() / 4.0, own_in_turn.iter().sum::<f64>() / 4.0);
        assert!(own.iter().all(|rate| (rate / mean - 1.0).abs() < 0.03), "the long ones share equally: {own:?}");
        assert!(mean > 0.97 * mean_in_turn, "and get what is left: {own:?}, {own_in_turn:?} in turn");
    }
}

#[test]
fn a_download_is_not_starved_by_short_transfers() {
    let result = site("802.11g")
        .stations("d", 1, "rate = '54 Mb/s'")
        .stations("x", 1, "rate = '54 Mb/s'")
        .bulk("down", "d", "down")
        .bulk("own", "x", "down")
        .app("flows", "short", "x", "direction = 'down'\nrate = '60 /s'\nlimit = 40\nsize = { mean = '100 kB' }")
        .run();
    let [down, own, short] = ["down", "own", "short"].map(|app| flow(&result, app).goodput_mbps);
    println!("the other station {down:.3} Mb/s, short {short:.3} Mb/s, the download beside them {own:.3} Mb/s");
    assert!(own > (own + short) / 60.0, "an equal part of forty, but for timeouts: {own} of {short} Mb/s");
    assert!(((own + short) / down - 1.0).abs() < 0.2, "the station has its share and no more: {own} {short} {down}");
}
