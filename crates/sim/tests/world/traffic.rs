//! Applications with random traffic: agreement with closed forms, and completeness of the counters.

use evenair_results::{RunResult, TransferCount, TransferEnd};
use evenair_scenario::Scenario;
use evenair_sim::run;
use evenair_workload::Direction;

use crate::site::Site;

/// Stations on a fast medium, a server nearby, `near`, and one behind an Internet link of 5 Mb/s.
fn site(seconds: u32) -> Site {
    Site::new("traffic", seconds)
        .radio("802.11g", "ap_buffer = '1000 packets'")
        .wan("5 Mb/s", "1 ms")
        .stations("sta", 3, "rate = '54 Mb/s'")
        .server("near", "")
        .server("far", "at = 'wan'")
}

fn counts(result: &RunResult) -> TransferCount {
    let mut sum = TransferCount::default();
    for count in &result.transfers.counts {
        assert_eq!(count.started, count.complete + count.failed + count.cut, "{count:?}");
        sum.started += count.started;
        sum.complete += count.complete;
        sum.failed += count.failed;
        sum.cut += count.cut;
        sum.refused += count.refused;
        sum.complete_bytes += count.complete_bytes;
    }
    sum
}

fn goodput(result: &RunResult, app: &str) -> f64 {
    let flows = result.phases[0].flows.iter().filter(|flow| flow.app.starts_with(app));
    flows.map(|flow| flow.goodput_mbps).sum()
}

#[test]
fn response_times_are_those_of_a_shared_link() {
    // With small windows the link serves the transfers packet by packet in turns: processor sharing. The mean response time
    // of M/M/1 with processor sharing is E[S] / (1 - load). The service time is that of 1500 bytes per 1448 bytes of data.
    let result = site(4000)
        .with("[tcp]\nwindow = '4 packets'")
        .app("flows", "files", "sta1", "direction = 'down'\nrate = '1.5 /s'")
        .and("size = { distribution = 'exponential', mean = '200 kB' }")
        .run();
    let count = counts(&result);
    // 6000 arrivals of a Poisson process: 77 is a standard deviation.
    assert!((5700..6300).contains(&count.started), "{count:?}");
    assert!(count.failed == 0 && count.cut < 10 && result.transfers.left_out == 0, "{count:?}");
    let complete: Vec<_> = result.transfers.records.iter().filter_map(|record| record.took_s).collect();
    let mean = complete.iter().sum::<f64>() / complete.len() as f64;
    let seconds = |bytes: f64| bytes * 1500.0 / 1448.0 * 8.0 / 5e6;
    // The offered load, not the expected one: it is known more exactly than from the rate.
    let bytes = count.complete_bytes as f64;
    let (service, load) = (seconds(bytes / count.complete as f64), seconds(bytes) / 4000.0);
    let expected = service / (1.0 - load);
    assert!((mean / expected - 1.0).abs() < 0.06, "{mean} s, not {expected} s at a load of {load}");
}

#[test]
fn two_hundred_and_forty_short_transfers_all_arrive() {
    // Uploads and downloads of 100 kB in turns, one each 125 ms from 20 s on.
    let flows = |site: Site, (direction, start)| {
        site.app("flows", direction, "sta", &format!("direction = '{direction}'\nstart = '{start} s'"))
            .and("arrivals = 'regular'\ninterval = '250 ms'\ncount = 120\nspread = 'round-robin'\nsize = { mean = '100 kB' }")
    };
    let result = site(60).to("near").each([("up", "20"), ("down", "20.125")], flows).run();
    let count = counts(&result);
    assert_eq!((count.started, count.complete, count.complete_bytes), (240, 240, 24_000_000));
    let records = &result.transfers.records;
    let mut starts: Vec<_> = records.iter().map(|record| (record.at_s * 1000.0).round() as u64).collect();
    starts.sort_unstable();
    assert_eq!(starts, (0..240).map(|k| 20_000 + 125 * k).collect::<Vec<_>>());
    for (station, direction) in
        ["sta1", "sta2", "sta3"].into_iter().zip([Direction::Up, Direction::Down].into_iter().cycle())
    {
        let own = records.iter().filter(|record| record.station == station && record.direction == direction);
        assert_eq!(own.count(), 40);
    }
    // 800 kbit at 54 Mb/s on a medium that is almost idle.
    assert!(records.iter().all(|record| record.took_s.is_some_and(|took| (0.02..0.4).contains(&took))));
}

#[test]
fn transfers_are_cut_at_the_end_and_refused_above_the_limit() {
    let result = site(20)
        .app("flows", "files", "sta1, sta2", "direction = 'up'\nload = '20 Mb/s'\nlimit = 30\nstop = '15 s'")
        .and("size = { distribution = 'pareto', alpha = 1.5, min = '30 kB' }")
        .bulk("file", "sta3", "down")
        .and("size = '1 GB'")
        .run();
    let count = counts(&result);
    assert!(count.refused > 100 && count.complete > 50, "{count:?}");
    // 30 concurrent transfers at each of two stations, minus one or two that had just ended when no more arrived, and the file.
    assert!((59..=61).contains(&count.cut), "{count:?}");
    let cut = result.transfers.records.iter().filter(|record| record.end == TransferEnd::Cut);
    assert!(cut.into_iter().all(|record| record.took_s.is_none()));
    assert!(result.transfers.records.iter().all(|record| record.at_s < 15.0));
}

#[test]
fn transfers_of_a_station_that_left_fail() {
    // A station leaves for good: TCP retries for a long time, then gives up.
    let result = site(3000)
        .to("near")
        .app(
            "flows",
            "files",
            "sta1",
            "direction = 'up'\ninterval = '100 ms'\nuntil = '20 s'\nsize = { mean = '20 kB' }",
        )
        .event(10, "leave")
        .and("stations = ['sta1']")
        .run();
    let count = counts(&result);
    assert!((70..130).contains(&count.complete) && count.failed > 70 && count.cut == 0, "{count:?}");
}

#[test]
fn files_and_pauses_alternate() {
    let source = |site: Site, (name, connection, direction)| {
        site.app("onoff", name, "sta1", &format!("direction = '{direction}'\nconnection = '{connection}'"))
            .and("size = { distribution = 'pareto', alpha = 2.5, min = '6 kB' }")
            .and("gap = { distribution = 'exponential', mean = '200 ms' }")
    };
    // The sender detects the arrival of a file by the ACK of the last segment: here without delay.
    let site = site(400).to("near").with("[tcp]\ndelayed_ack = false");
    let result = site.each([("one", "persistent", "up"), ("many", "each", "down")], source).run();
    for count in &result.transfers.counts {
        let records: Vec<_> = result.transfers.records.iter().filter(|record| record.app == count.app).collect();
        // Files of 10 kB take some milliseconds: almost all of the time is pauses.
        let busy: f64 = records.iter().filter_map(|record| record.took_s).sum();
        let expected = (400.0 - busy) / 0.2;
        assert!((count.complete as f64 / expected - 1.0).abs() < 0.08, "{count:?}, not {expected}");
        let mean = count.complete_bytes as f64 / count.complete as f64;
        assert!((mean / 10e3 - 1.0).abs() < 0.1, "{mean}");
        // One file ends before the next begins.
        assert!(records.windows(2).all(|pair| pair[0].at_s + pair[0].took_s.unwrap_or(0.0) <= pair[1].at_s));
        let bits = count.complete_bytes as f64 * 8.0;
        assert!((goodput(&result, &count.app) * 400e6 / bits - 1.0).abs() < 0.01);
    }
    let mean = |app: &str| {
        let own = result.transfers.records.iter().filter(|record| record.app == app);
        let took: Vec<_> = own.filter_map(|record| record.took_s).collect();
        took.iter().sum::<f64>() / took.len() as f64
    };
    // A new connection costs a handshake, and a new slow start.
    assert!(mean("many") > mean("one"), "{} {}", mean("many"), mean("one"));
}

#[test]
fn every_pattern_of_datagrams_carries_its_rate() {
    let patterns = [
        "rate = '1 Mb/s'\nnoise = '10 %'",
        "packet_rate = '125 /s'\narrivals = 'poisson'",
        "frame_interval = '40 ms'\nframe = { distribution = 'lognormal', mean = '5 kB', deviation = '2 kB' }",
        "rate = '2 Mb/s'\non = { distribution = 'exponential', mean = '100 ms' }\n\
         off = { distribution = 'exponential', mean = '100 ms' }",
    ];
    for (k, direction) in ["up", "down"].into_iter().cycle().take(patterns.len() * 2).enumerate() {
        let pattern = patterns[k / 2];
        let site = site(200).to("near").app("udp", "udp", "sta1", &format!("direction = '{direction}'"));
        let result = site.and(pattern).run();
        let mbps = goodput(&result, "udp");
        assert!((mbps - 1.0).abs() < 0.07, "{direction}, {pattern}: {mbps}");
    }
}

#[test]
fn a_saturated_sender_with_noise_fills_the_medium_like_one_without() {
    let flood = |noise: &str| {
        let site = site(20).to("near").udp("udp", "sta", "up", "40 Mb/s");
        let result = site.and(&format!("payload = '1472 bytes'\nnoise = '{noise}'")).run();
        let lost: u64 = result.losses.iter().map(|loss| loss.frames).sum();
        let sent = lost as f64 + goodput(&result, "udp") * 20e6 / 8.0 / 1472.0;
        // Every datagram is delivered, lost, or (up to 1000 at each station) still queued.
        let made = 3.0 * 20.0 * 40e6 / 8.0 / 1472.0;
        assert!((0.0..3100.0).contains(&(made - sent)), "{made} {sent}");
        goodput(&result, "udp")
    };
    let (plain, noisy) = (flood("0 %"), flood("10 %"));
    assert!((noisy / plain - 1.0).abs() < 0.01, "{plain} {noisy}");
}

#[test]
fn a_lone_call_has_the_best_quality_of_its_codec() {
    let result = site(60).app("voip", "call", "sta1", "").run();
    assert_eq!(result.calls.len(), 2);
    for call in &result.calls {
        let heard = &call.heard;
        // 50 packets per second; those of the last second are not evaluated.
        assert!((2949..=2951).contains(&heard.sent), "{call:?}");
        assert_eq!((heard.lost, heard.late), (0, 0));
        // One millisecond of wire each way, 0.32 ms of transmission on it, and some on the air.
        assert!((1.3..1.9).contains(&heard.delay_mean_ms) && heard.jitter_ms < 0.2, "{call:?}");
        let expected = 93.2 - 0.024 * heard.mouth_to_ear_ms;
        assert!((heard.r_factor - expected).abs() < 1e-9 && heard.mos > 4.3, "{call:?}");
        // 200-byte packets at 50 per second.
        let flow = result.phases[0].flows.iter().find(|flow| flow.app == call.app).expect("it is a flow");
        assert!((flow.ip_mbps - 0.08).abs() < 0.001 && (flow.goodput_mbps - 0.0688).abs() < 0.001, "{flow:?}");
    }
}

#[test]
fn a_download_through_a_long_queue_degrades_calls_in_its_direction() {
    let result = site(60)
        .app("voip", "call", "sta1", "codec = 'g729'")
        .bulk("download", "sta2", "down")
        .and("start = '20 s'")
        .phase("alone", 0, 20)
        .phase("beside", 30, 60)
        .run();
    let heard = |app: &str, phase: &str| {
        let call = result.calls.iter().find(|call| call.app == app && call.phase == phase);
        call.unwrap_or_else(|| panic!("{:?}", result.calls)).heard.clone()
    };
    // G.729 alone: Ie = 11.
    assert!(
        (heard("call-down", "alone").r_factor - (82.2 - 0.024 * heard("call-down", "alone").mouth_to_ear_ms)).abs()
            < 1e-6
    );
    let (before, after) = (heard("call-down", "alone"), heard("call-down", "beside"));
    // The Internet link's buffer of 1000 packets at 5 Mb/s is 2.4 s.
    assert!(after.delay_p95_ms > 500.0 && after.r_factor < before.r_factor - 40.0 && after.mos < 2.0, "{after:?}");
    assert!(heard("call-up", "beside").r_factor > 75.0);
}

/// With a random time to send, a server's packets are delayed by up to that time, differently with each seed; without it
/// only by back-off, which is next to nothing on an idle medium.
#[test]
fn servers_may_take_a_random_time_to_send() {
    let delay = |jitter: &str, seed: u32| {
        let result = Site::new("jitter", 20)
            .seed(seed)
            .radio("802.11g", "")
            .with("[wan]\ndown.delay = '5 ms'\nup.delay = '5 ms'")
            .station("sta", "rate = '54 Mb/s'")
            .server("far", &format!("at = 'wan'\n{jitter}"))
            .app("udp", "down", "sta", "direction = 'down'\npacket_rate = '50 /s'")
            .run();
        let flow = result.phases[0].flows[0].clone();
        // One of a thousand may be in transit at the end.
        assert!(flow.loss_rate() < 0.0015, "{}", flow.loss_rate());
        flow.delay.expect("datagrams arrive")
    };
    let (plain, some) = (delay("", 1), delay("jitter = '8 ms'", 1));
    assert!(plain.max_ms - plain.min_ms < 0.5, "{plain:?}");
    assert!((some.mean_ms - plain.mean_ms - 4.0).abs() < 0.4, "{some:?}");
    assert!(some.max_ms - plain.min_ms > 7.5 && some.max_ms - plain.min_ms < 8.5, "{some:?}");
    let difference = |jitter: &str| (delay(jitter, 1).mean_ms - delay(jitter, 2).mean_ms).abs();
    assert!(difference("") < 1e-3 && difference("jitter = '8 ms'") > 1e-2);
}

/// A station's random draws are its own: two scenarios with the same stations in a different order have the same datagrams at
/// the same times, and a further station that sends nothing changes nothing.
#[test]
fn random_draws_of_a_station_do_not_depend_on_its_position_in_the_file() {
    let flows = |stations: &[&str], sources: &[&str]| {
        let result = Site::new("order", 10)
            .radio("802.11g", "")
            .server("far", "")
            .each(stations, |site, name| site.station(name, "rate = '54 Mb/s'"))
            .each(sources, |site, name| {
                site.udp(&format!("from-{name}"), name, "up", "6 Mb/s").and("arrivals = 'poisson'")
            })
            .run();
        let of = |name: &str| {
            let flow = result.phases[0].flows.iter().find(|flow| flow.app == format!("from-{name}")).expect("it sends");
            (flow.goodput_mbps, flow.delay.clone().expect("datagrams arrive"))
        };
        ["a", "b", "c"].map(of)
    };
    let first = flows(&["a", "b", "c"], &["a", "b", "c"]);
    assert!(first[0] != first[1], "the stations draw differently");
    assert!(first == flows(&["c", "a", "b"], &["b", "c", "a"]), "in another order");
    assert!(first == flows(&["silent", "a", "b", "c"], &["a", "b", "c"]), "behind one that sends nothing");
}

/// Captures of eleven packets of 200 bytes, a millisecond apart, with times in several units.
#[test]
fn traces_are_played_at_their_own_speed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../workload/tests/data");
    for name in ["trace-us.pcap", "trace-us.pcapng", "trace-us-option.pcapng", "trace-ns.pcapng", "trace-pppoe.pcap"] {
        let text = format!(
            r#"version = 1
name = "trace"
duration = "2 s"
[radio]
standard = "802.11g"
[[station]]
name = "sta"
rate = "54 Mb/s"
[[server]]
name = "server"
[[replay]]
name = "trace"
stations = ["sta"]
server = "server"
direction = "up"
file = "{name}"
repeat = true
"#
        );
        let scenario = Scenario::parse(&text, &format!("{folder}/test.toml")).unwrap_or_else(|error| panic!("{error}"));
        let result = run(&scenario, |_| ()).expect("it runs");
        let mbps = result.phases[0].total_ip_mbps;
        assert!((mbps - 1.6).abs() < 0.01, "{name}: {mbps} Mb/s");
    }
}
