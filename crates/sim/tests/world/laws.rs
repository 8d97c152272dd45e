//! Invariants of every run. The simulator itself checks conservation of packets at the end of each run.

use std::ops::ControlFlow;

use evenair_results::{FlowResult, RunResult};
use evenair_scenario::Scenario;
use evenair_sim::{SimError, SimOptions, run, run_with, tcp};
use evenair_units::Bytes;

/// Two stations beside a LAN server and one on the Internet, all kinds of events, and `more`.
fn lively(more: &str) -> String {
    format!(
        r#"version = 1
name = "lively"
duration = "30 s"
[radio]
standard = "802.11g"
ap_buffer = "60 kB"
[lan]
rate = "100 Mb/s"
[wan.down]
rate = "8 Mb/s"
delay = "50 ms"
buffer = "60 packets"
[wan.up]
rate = "2 Mb/s"
delay = "50 ms"
[[station]]
name = "a"
rate = "54 Mb/s"
[[station]]
name = "b"
rate = "24 Mb/s"
[[server]]
name = "near"
[[server]]
name = "far"
at = "wan"
[[bulk]]
name = "up"
stations = ["a"]
server = "near"
direction = "up"
[[bulk]]
name = "down"
stations = ["b"]
server = "far"
direction = "down"
ip = "v6"
stop = "25 s"
[[bulk]]
name = "file"
stations = ["b"]
server = "near"
direction = "down"
size = "3 MB"
start = "2 s"
[[udp]]
name = "flood"
stations = ["a"]
server = "near"
direction = "up"
rate = "30 Mb/s"
start = "3 s"
stop = "6 s"
[[web]]
name = "pages"
stations = ["a"]
server = "far"
size_cap = "200 kB"
[[ping]]
name = "echo"
stations = ["b"]
server = "far"
[[event]]
at = "5 s"
do = "insert"
[[event]]
at = "8 s"
do = "rate"
stations = ["a"]
rate = "6 Mb/s"
[[event]]
at = "12 s"
do = "leave"
stations = ["b"]
[[event]]
at = "14 s"
do = "join"
stations = ["b"]
[[event]]
at = "20 s"
do = "bypass"
[[phase]]
name = "all"
from = "0 s"
to = "30 s"
{more}"#
    )
}

fn simulate(text: &str) -> RunResult {
    run(&Scenario::parse(text, "test.toml").expect("a sound scenario"), |_| ()).expect("it can be simulated")
}

fn flow<'a>(result: &'a RunResult, app: &str) -> &'a FlowResult {
    result.phases[0].flows.iter().find(|flow| flow.app == app).expect("the scenario has the application")
}

/// Conservation of packets is checked at the end of each run.
#[test]
fn all_events_work_with_every_queue() {
    let htb = "htb\", class = [{ name = \"all\", rate = \"5 Mb/s\", ceil = \"30 Mb/s\" }], default = \"all";
    let cbq = "cbq\", class = [{ name = \"all\", rate = \"30 Mb/s\" }], default = \"all";
    let whtb = &htb.replacen("htb", "whtb", 1);
    let plain = ["fifo", "codel", "drr", "fq-codel", "cake", "las-ack", "station-fifo", "mac80211"];
    for discipline in plain.into_iter().chain([htb, whtb, cbq]) {
        for (edca, driver) in [(false, 1), (true, 3)] {
            let queue = format!("{{ discipline = \"{discipline}\", driver = {driver} }}");
            let radio = format!("[radio]\nedca = {edca}\nap_queue = {queue}\nstation_queue = {queue}");
            let result = simulate(&lively("").replace("[radio]", &radio));
            let goodput = flow(&result, "file").goodput_mbps;
            assert!((goodput * 30.0 / 8.0 - 3.0).abs() < 1e-6, "{discipline}: {goodput} Mb/s over 30 s is not 3 MB");
        }
    }
}

#[test]
fn the_same_scenario_gives_the_same_bytes_and_another_seed_others() {
    let bytes = |text: &str| serde_json::to_string(&simulate(text)).expect("plain data");
    let text = lively("");
    let once = bytes(&text);
    assert!(once == bytes(&text), "two runs of one scenario differ");
    assert!(once != bytes(&text.replace("version = 1", "version = 1\nseed = 2")), "the seed changes nothing");
}

#[test]
fn all_events_happen() {
    let result = simulate(&lively(""));
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
    let lively = |more: &str| -> String {
        let text = lively(more);
        let (before, events) = text.split_once("[[event]]").expect("it has events");
        let (_, after) = events.split_once("[[phase]]").expect("a phase follows");
        format!("{before}[[phase]]{after}")
    };
    let station = "[[station]]\nname = \"c\"\nrate = \"54 Mb/s\"\n";
    let traffic = "[[web]]\nname = \"more\"\nstations = [\"c\"]\nserver = \"near\"\n";
    let (without, idle, talking) = (lively(""), lively(station), lively(&(station.to_owned() + traffic)));
    let (without, idle, talking) = (simulate(&without), simulate(&idle), simulate(&talking));
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
    let text = |interval: &str, more: &str| {
        format!(
            r#"version = 1
name = "sink"
duration = "10 s"
[radio]
standard = "802.11g"
[lan]
rate = "20 Mb/s"
delay = "7 ms"
buffer = "5 packets"
[measure]
interval = "{interval}"
[[station]]
name = "sta"
count = 3
rate = "54 Mb/s"
[[station]]
name = "other"
rate = "54 Mb/s"
[[server]]
name = "near"
[[udp]]
name = "flood"
stations = ["sta"]
server = "near"
direction = "up"
rate = "9 Mb/s"
{more}
[[phase]]
name = "early"
from = "1 s"
to = "9 s"
"#
        )
    };
    let late = "[[ping]]\nname = \"echo\"\nstations = [\"other\"]\nserver = \"near\"\nstart = \"9.5 s\"";
    for interval in ["20 ms", "500 ms"] {
        let [without, with] = ["", late].map(|more| simulate(&text(interval, more)));
        let floods = |result: &RunResult| -> Vec<_> {
            let flows = &result.phases[0].flows;
            flows.iter().filter(|flow| flow.app.starts_with("flood")).cloned().collect()
        };
        let (a, b) = (floods(&without), floods(&with));
        assert!(a.len() == 3 && a.iter().all(|flow| flow.goodput_mbps > 1.0), "{a:?}");
        assert_eq!(a, b);
    }
}

/// One station and a server at a known distance.
fn alone(application: &str) -> String {
    format!(
        r#"version = 1
name = "alone"
duration = "20 s"
[radio]
standard = "802.11b"
[lan]
rate = "10 Mb/s"
delay = "3 ms"
[wan.down]
rate = "8 Mb/s"
delay = "150 ms"
[wan.up]
rate = "1 Mb/s"
delay = "100 ms"
[[station]]
name = "sta"
rate = "11 Mb/s"
[[server]]
name = "near"
[[server]]
name = "far"
at = "wan"
[[phase]]
name = "all"
from = "0 s"
to = "20 s"
{application}"#
    )
}

#[test]
fn an_echo_takes_the_sum_of_its_delays() {
    let result = simulate(&alone("[[ping]]\nname = \"echo\"\nstations = [\"sta\"]\nserver = \"far\"\n"));
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
        let udp = format!(
            "[[udp]]\nname = \"u\"\nstations = [\"sta\"]\nserver = \"near\"\ndirection = \"{direction}\"\nrate = \"2 Mb/s\"\n"
        );
        let result = simulate(&alone(&udp));
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
    let flood =
        "[[udp]]\nname = \"u\"\nstations = [\"sta\"]\nserver = \"near\"\ndirection = \"up\"\nrate = \"40 Mb/s\"\n";
    let result = simulate(&alone(flood));
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
    let flood = |rate: &str, more: &str| {
        let udp = format!(
            "[[udp]]\nname = \"u\"\nstations = [\"sta\"]\nserver = \"near\"\ndirection = \"up\"\nrate = \"{rate}\"\n\
             stop = \"18 s\"\n"
        );
        let events = "[[event]]\nat = \"5 s\"\ndo = \"leave\"\nstations = [\"sta\"]\n\
                      [[event]]\nat = \"6 s\"\ndo = \"join\"\nstations = [\"sta\"]\n";
        let noise = "[[udp]]\nname = \"v\"\nstations = [\"other\"]\nserver = \"near\"\ndirection = \"up\"\nrate = \"1 Mb/s\"\n\
                     [[station]]\nname = \"other\"\nrate = \"2 Mb/s\"\n";
        let text = alone(&format!("{udp}{noise}{more}{events}"));
        let result = simulate(&text.replace("standard =", "station_buffer = \"5 packets\"\nstandard ="));
        (result.series.flows[0].data_packets.clone(), result.series.flows[1].data_packets.clone())
    };
    // The ping makes the buffer a shared one, and never sends.
    let ping = "[[ping]]\nname = \"p\"\nstations = [\"sta\"]\nserver = \"near\"\nstart = \"19999 ms\"\n";
    for rate in ["20 Mb/s", "3 Mb/s", "1 Mb/s"] {
        let (sleeping, awake) = (flood(rate, ""), flood(rate, ping));
        assert_eq!(sleeping, awake, "at {rate}");
        assert!(sleeping.0[10] > 100 && sleeping.0[5] == 0, "at {rate}: {:?}", sleeping.0);
    }
}

#[test]
fn a_bulk_transfer_fills_the_internet_link() {
    let bulk = "[[bulk]]\nname = \"b\"\nstations = [\"sta\"]\nserver = \"far\"\ndirection = \"up\"\nstart = \"1 s\"\n\
                [tcp]\nreceive_buffer = \"100 kB\"\n";
    let result = simulate(&alone(bulk));
    let steady: f64 = result.series.flows[0].ip_mbps[10..].iter().sum::<f64>() / 10.0;
    // 1 Mb/s of DATA at IP level, and an ACK of 52 bytes for every two segments of 1500.
    assert!((steady - (1.0 + 52.0 / 3000.0)).abs() < 0.02, "{steady} Mb/s");
}

/// The file's connection is gone after TIME-WAIT, and the endless transfer that begins then reuses its index. The end of
/// the file's application must not close it.
#[test]
fn an_application_cuts_its_own_connections_only() {
    let bulk = |name: &str, more: &str| {
        format!("[[bulk]]\nname = \"{name}\"\nstations = [\"sta\"]\nserver = \"near\"\ndirection = \"down\"\n{more}\n")
    };
    let file = bulk("file", "size = \"1 MB\"\nstop = \"75 s\"");
    let endless = bulk("endless", "start = \"70 s\"\nstop = \"85 s\"");
    let text = alone(&(file + &endless)).replace("\"20 s\"", "\"90 s\"");
    let result = simulate(&text);
    let goodput = |app: usize, second: usize| result.series.flows[app].goodput_mbps[second];
    let file: f64 = result.series.flows[0].goodput_mbps.iter().sum::<f64>() / 8.0;
    assert!((file - 1.0).abs() < 1e-6, "{file} MB");
    assert!(goodput(1, 74) > 4.0 && goodput(1, 80) > 4.0, "the transfer was cut");
    assert!(goodput(1, 87) == 0.0, "the transfer was not cut");
    assert!(result.events.iter().all(|event| event.what != "note"), "{:?}", result.events);
}

#[test]
fn what_is_not_simulated_is_refused() {
    let ping = "[[ping]]\nname = \"echo\"\nstations = [\"sta\"]\nserver = \"far\"\n";
    let scenario = |tcp: &str| Scenario::parse(&alone(&format!("{ping}{tcp}")), "test.toml").expect("a sound scenario");
    let error = run(&scenario("[tcp]\ncongestion_control = \"bbr\"\n"), |_| ()).unwrap_err();
    assert_eq!(error, SimError::CongestionControl("bbr".to_owned()));
    assert_eq!(error.to_string(), "congestion control \"bbr\" is not simulated; \"cubic\" and \"reno\" are");
    let options = SimOptions { tcp: Some(tcp::Config::rfc().with_window(Bytes(100))), ..SimOptions::default() };
    assert!(matches!(run_with(&scenario(""), &options, |_| ControlFlow::Continue(())), Err(SimError::Tcp(_))));
}
