//! Invariants of every run. The simulator itself checks conservation of packets at the end of each run.

use std::ops::ControlFlow;

use evenair_results::{FlowResult, RunResult};
use evenair_sim::{SimError, SimOptions, run, run_with, tcp};
use evenair_units::Bytes;

use crate::site::Site;

/// Two stations beside a LAN server and one on the Internet, with the radio's keys `radio`.
fn quiet(radio: &str) -> Site {
    Site::new("lively", 30)
        .radio("802.11g", "ap_buffer = '60 kB'")
        .and(radio)
        .with("[lan]\nrate = '100 Mb/s'")
        .with("[wan]\ndown = { rate = '8 Mb/s', delay = '50 ms', buffer = '60 packets' }")
        .and("up = { rate = '2 Mb/s', delay = '50 ms' }")
        .station("a", "rate = '54 Mb/s'")
        .station("b", "rate = '24 Mb/s'")
        .server("near", "")
        .bulk("up", "a", "up")
        .server("far", "at = 'wan'")
        .bulk("down", "b", "down")
        .and("ip = 'v6'\nstop = '25 s'")
        .app("web", "pages", "a", "size_cap = '200 kB'")
        .ping("echo", "b")
        .to("near")
        .bulk("file", "b", "down")
        .and("size = '3 MB'\nstart = '2 s'")
        .udp("flood", "a", "up", "30 Mb/s")
        .and("start = '3 s'\nstop = '6 s'")
        .phase("all", 0, 30)
}

/// The same with all kinds of events.
fn lively(radio: &str) -> Site {
    quiet(radio)
        .insert(5)
        .event(8, "rate")
        .and("stations = ['a']\nrate = '6 Mb/s'")
        .event(12, "leave")
        .and("stations = ['b']")
        .event(14, "join")
        .and("stations = ['b']")
        .event(20, "bypass")
}

fn flow<'a>(result: &'a RunResult, app: &str) -> &'a FlowResult {
    result.phases[0].flows.iter().find(|flow| flow.app == app).expect("the scenario has the application")
}

/// Conservation of packets is checked at the end of each run.
#[test]
fn all_events_work_with_every_queue() {
    let htb = "htb', class = [{ name = 'all', rate = '5 Mb/s', ceil = '30 Mb/s' }], default = 'all";
    let cbq = "cbq', class = [{ name = 'all', rate = '30 Mb/s' }], default = 'all";
    let whtb = &htb.replacen("htb", "whtb", 1);
    let plain = ["fifo", "codel", "drr", "fq-codel", "cake", "las-ack", "station-fifo", "mac80211"];
    for discipline in plain.into_iter().chain([htb, whtb, cbq]) {
        for (edca, driver) in [(false, 1), (true, 3)] {
            let queue = format!("{{ discipline = '{discipline}', driver = {driver} }}");
            let result = lively(&format!("edca = {edca}\nap_queue = {queue}\nstation_queue = {queue}")).run();
            let goodput = flow(&result, "file").goodput_mbps;
            assert!((goodput * 30.0 / 8.0 - 3.0).abs() < 1e-6, "{discipline}: {goodput} Mb/s over 30 s is not 3 MB");
        }
    }
}

#[test]
fn the_same_scenario_gives_the_same_bytes_and_another_seed_others() {
    let bytes = |site: Site| serde_json::to_string(&site.run()).expect("plain data");
    let once = bytes(lively(""));
    assert!(once == bytes(lively("")), "two runs of one scenario differ");
    assert!(once != bytes(lively("").seed(2)), "the seed changes nothing");
}

#[test]
fn all_events_happen() {
    let result = lively("").run();
    let events: Vec<_> = result.events.iter().map(|event| event.what.as_str()).collect();
    for what in ["insert", "inserted", "rate", "leave", "join", "bypass", "bypassed"] {
        assert!(events.contains(&what), "no {what} in {events:?}");
    }
    let counters = result.box_counters.as_ref().expect("there is a box");
    assert!(counters.received > 1_000 && counters.held == 0, "{counters:?}");
    assert!(result.pages.len() > 3, "{} pages", result.pages.len());
    let lost = |place: &str, reason: &str| {
        result.losses.iter().any(|loss| loss.place == place && loss.reason == reason && loss.frames > 0)
    };
    assert!(lost("a", "buffer full") && lost("b", "not associated"), "{:?}", result.losses);
    // 3 MB exactly: TCP delivers everything once.
    let goodput = flow(&result, "file").goodput_mbps;
    assert!((goodput * 30.0 / 8.0 - 3.0).abs() < 1e-6, "{goodput} Mb/s over 30 s is not 3 MB");
    let medium = result.medium.as_ref().expect("the medium was watched");
    let sum = medium.busy_share + medium.contending_share + medium.idle_share;
    assert!((sum - 1.0).abs() < 1e-9, "the medium was used for {sum} of the time");
    assert_eq!(result.series.flows[0].ip_mbps.len(), 30);
}

/// Without the box, which takes every reported station into account, and without the rejoining station.
#[test]
fn an_additional_silent_station_changes_nothing_for_the_others() {
    let silent = quiet("").station("c", "rate = '54 Mb/s'");
    let (without, idle, talking) = (quiet("").run(), silent.run(), silent.app("web", "more", "c", "").run());
    let mut series = idle.series.clone();
    assert_eq!(series.nodes.pop().map(|node| (node.node, node.attempts)), Some(("c".to_owned(), vec![])));
    assert_eq!(without.series, series);
    // An additional station with traffic delays the pages of another one, but does not change which pages are loaded.
    let pages = |result: &RunResult| -> Vec<_> {
        let own = result.pages.iter().filter(|page| page.app == "pages");
        own.map(|page| (page.objects, page.bytes)).collect()
    };
    let (a, b) = (pages(&without), pages(&talking));
    let both = a.len().min(b.len());
    assert!(both > 5, "{both} pages");
    assert_eq!(a[..both], b[..both]);
}

/// Arrivals at a server that only gets datagrams are processed in batches; at a server that may have to answer, at once.
#[test]
fn batched_arrivals_at_sinks_change_no_result() {
    let site = |interval: &str| {
        Site::new("sink", 10)
            .radio("802.11g", "")
            .lan("20 Mb/s", "7 ms")
            .and("buffer = '5 packets'")
            .with(&format!("[measure]\ninterval = '{interval}'"))
            .stations("sta", 3, "rate = '54 Mb/s'")
            .station("other", "rate = '54 Mb/s'")
            .server("near", "")
            .udp("flood", "sta", "up", "9 Mb/s")
            .phase("early", 1, 9)
    };
    for interval in ["20 ms", "500 ms"] {
        let (without, with) = (site(interval).run(), site(interval).ping("echo", "other").and("start = '9.5 s'").run());
        let floods = |result: &RunResult| -> Vec<_> {
            let flows = &result.phases[0].flows;
            flows.iter().filter(|flow| flow.app.starts_with("flood")).cloned().collect()
        };
        let (a, b) = (floods(&without), floods(&with));
        assert!(a.len() == 3 && a.iter().all(|flow| flow.goodput_mbps > 1.0), "{a:?}");
        assert_eq!(a, b);
    }
}

/// One station, and servers at a known distance; the tables end with the radio's.
fn alone(seconds: u32) -> Site {
    Site::new("alone", seconds)
        .lan("10 Mb/s", "3 ms")
        .with("[wan]\ndown = { rate = '8 Mb/s', delay = '150 ms' }\nup = { rate = '1 Mb/s', delay = '100 ms' }")
        .station("sta", "rate = '11 Mb/s'")
        .phase("all", 0, seconds)
        .server("near", "")
        .server("far", "at = 'wan'")
        .radio("802.11b", "")
}

#[test]
fn an_echo_takes_the_sum_of_its_delays() {
    let result = alone(20).ping("echo", "sta").run();
    let echo = &result.echoes[0];
    assert_eq!(echo.answers, 99, "one is under way at the end");
    // 64 bytes of IP. LAN, both ways: 102 bytes at 10 Mb/s and 3 ms. Internet: at 1 and 8 Mb/s, 100 and 150 ms.
    let wires = 2.0 * (0.0816 + 3.0) + (0.512 + 100.0) + (0.064 + 150.0);
    // Air, both ways: 192 us of preamble and 100 bytes at 11 Mb/s; up to a slot, or DIFS, before each.
    let air = 2.0 * (0.192 + 800.0 / 11e3);
    let waited = echo.p50_ms - wires - air;
    assert!((0.0..=0.14).contains(&waited), "{waited} ms");
}

#[test]
fn datagrams_below_the_capacity_all_arrive() {
    for direction in ["up", "down"] {
        let result = alone(20).to("near").udp("u", "sta", direction, "2 Mb/s").run();
        let flow = &result.phases[0].flows[0];
        // 250 datagrams per second of 1000 bytes, the last few of which are in transit at the end.
        assert!((flow.goodput_mbps - 2.0).abs() < 0.01, "{} Mb/s", flow.goodput_mbps);
        assert!((flow.ip_mbps / flow.goodput_mbps - 1.028).abs() < 2e-3, "{} Mb/s", flow.ip_mbps);
        assert_eq!(result.losses, []);
    }
}

/// A flood through a short buffer: losses counted for sleeping senders are those of senders that do not sleep.
#[test]
fn a_flood_is_delivered_or_counted_as_lost() {
    let result = alone(20).to("near").udp("u", "sta", "up", "40 Mb/s").run();
    let delivered: u64 = result.series.flows[0].data_packets.iter().sum();
    let lost: u64 = result.losses.iter().map(|loss| loss.frames).sum();
    let sent = 20 * 5_000;
    let buffered = sent - delivered - lost;
    // The last datagram may be due at the very end.
    assert!((1_000 - 1..1_000 + 20).contains(&buffered), "{delivered} delivered, {lost} lost, {buffered} missing");
}

/// A sender that has the buffer for itself sleeps, one that shares it does not: the frames on the air are the same.
#[test]
fn sleeping_senders_change_nothing() {
    // The ping makes the buffer a shared one, and never sends.
    let flood = |rate: &str, shared: bool| {
        let result = alone(20)
            .and("station_buffer = '5 packets'")
            .to("near")
            .udp("u", "sta", "up", rate)
            .and("stop = '18 s'")
            .udp("v", "other", "up", "1 Mb/s")
            .station("other", "rate = '2 Mb/s'")
            .when(shared, |site| site.ping("p", "sta").and("start = '19999 ms'"))
            .event(5, "leave")
            .and("stations = ['sta']")
            .event(6, "join")
            .and("stations = ['sta']")
            .run();
        (result.series.flows[0].data_packets.clone(), result.series.flows[1].data_packets.clone())
    };
    for rate in ["20 Mb/s", "3 Mb/s", "1 Mb/s"] {
        let (sleeping, awake) = (flood(rate, false), flood(rate, true));
        assert_eq!(sleeping, awake, "at {rate}");
        assert!(sleeping.0[10] > 100 && sleeping.0[5] == 0, "at {rate}: {:?}", sleeping.0);
    }
}

#[test]
fn a_bulk_transfer_fills_the_internet_link() {
    let site = alone(20).bulk("b", "sta", "up").and("start = '1 s'");
    let result = site.with("[tcp]\nreceive_buffer = '100 kB'").run();
    let steady: f64 = result.series.flows[0].ip_mbps[10..].iter().sum::<f64>() / 10.0;
    // 1 Mb/s of DATA at IP level, and an ACK of 52 bytes for every two segments of 1500.
    assert!((steady - (1.0 + 52.0 / 3000.0)).abs() < 0.02, "{steady} Mb/s");
}

/// The file's connection is gone after TIME-WAIT, and the endless transfer that begins then reuses its index. The end of
/// the file's application must not close it.
#[test]
fn an_application_cuts_its_own_connections_only() {
    let result = alone(90)
        .to("near")
        .bulk("file", "sta", "down")
        .and("size = '1 MB'\nstop = '75 s'")
        .bulk("endless", "sta", "down")
        .and("start = '70 s'\nstop = '85 s'")
        .run();
    let goodput = |app: usize, second: usize| result.series.flows[app].goodput_mbps[second];
    let file: f64 = result.series.flows[0].goodput_mbps.iter().sum::<f64>() / 8.0;
    assert!((file - 1.0).abs() < 1e-6, "{file} MB");
    assert!(goodput(1, 74) > 4.0 && goodput(1, 80) > 4.0, "the transfer was cut");
    assert!(goodput(1, 87) == 0.0, "the transfer was not cut");
    assert!(result.events.iter().all(|event| event.what != "note"), "{:?}", result.events);
}

#[test]
fn what_is_not_simulated_is_refused() {
    let site = alone(20).ping("echo", "sta");
    let bbr = site.clone().with("[tcp]\ncongestion_control = 'bbr'").scenario();
    let error = run(&bbr, |_| ()).unwrap_err();
    assert_eq!(error, SimError::CongestionControl("bbr".to_owned()));
    assert_eq!(error.to_string(), "congestion control \"bbr\" is not simulated; \"cubic\" and \"reno\" are");
    let options = SimOptions { tcp: Some(tcp::Config::rfc().with_window(Bytes(100))), ..SimOptions::default() };
    assert!(matches!(run_with(&site.scenario(), &options, |_| ControlFlow::Continue(())), Err(SimError::Tcp(_))));
}
