//! Queues in front of the medium: the purpose of each, and that adding one changes nothing else.

use evenair_results::{RunResult, scalar};
use evenair_scenario::Scenario;

/// Two stations of 802.11g and an access point with a buffer of 50 packets, with further keys of the radio and tables.
fn simulate(radio: &str, rest: &str) -> RunResult {
    simulate_with(&format!("ap_buffer = \"50 packets\"\n{radio}"), rest)
}

fn simulate_with(radio: &str, rest: &str) -> RunResult {
    let text = format!(
        r#"version = 1
name = "queues"
duration = "20 s"
[radio]
standard = "802.11g"
{radio}
[lan]
rate = "100 Mb/s"
delay = "10 ms"
[[station]]
name = "sta"
count = 2
rate = "24 Mb/s"
[[server]]
name = "server"
{rest}
"#
    );
    let scenario = Scenario::parse(&text, "queues.toml").unwrap_or_else(|error| panic!("{error}"));
    evenair_sim::run(&scenario, |_| ()).unwrap()
}

fn goodput(result: &RunResult, app: &str) -> f64 {
    result.phases[0].flows.iter().find(|flow| flow.app == app).expect("there is such an application").goodput_mbps
}

fn ap_queue(words: &str) -> String {
    format!("ap_queue = {{ {words} }}")
}

const DOWNLOADS: &str = r#"[[bulk]]
name = "down"
stations = ["sta"]
server = "server"
direction = "down"
[[ping]]
name = "echo"
stations = ["sta1"]
server = "server"
"#;

/// One station floods at three times the rate of the other; together they exceed the medium's capacity.
const FLOODS: &str = r#"[[udp]]
name = "fast"
stations = ["sta1"]
server = "server"
direction = "down"
rate = "24 Mb/s"
[[udp]]
name = "slow"
stations = ["sta2"]
server = "server"
direction = "down"
rate = "10 Mb/s"
"#;

#[test]
fn a_drop_tail_queue_above_the_mac_is_a_longer_buffer() {
    let plain = simulate_with("ap_buffer = \"58 packets\"", DOWNLOADS);
    let above = simulate(&ap_queue("discipline = \"fifo\", driver = 8"), DOWNLOADS);
    assert!(plain.losses.iter().any(|loss| loss.place == "ap" && loss.reason == "buffer full"));
    assert_eq!(plain.series, above.series);
    assert_eq!(plain.losses, above.losses);
}

#[test]
fn fair_queues_share_equally_what_drop_tail_shares_by_arrivals() {
    let ratio = |radio: &str| {
        let result = simulate(radio, FLOODS);
        goodput(&result, "fast") / goodput(&result, "slow")
    };
    let tail = ratio("");
    assert!(tail > 2.0, "{tail}");
    for discipline in ["drr", "fq-codel"] {
        for by in ["flow", "station"] {
            let fair = ratio(&ap_queue(&format!("discipline = \"{discipline}\", by = \"{by}\"")));
            assert!((fair - 1.0).abs() < 0.01, "{discipline} by {by}: {fair}");
        }
    }
}

#[test]
fn codel_keeps_the_queue_short_and_the_medium_busy() {
    let of = |radio: &str| {
        let result = simulate(radio, DOWNLOADS);
        let rtt = scalar(&result, "phase.all.flow.echo.rtt_mean_ms");
        (
            scalar(&result, "phase.all.total_ip_mbps").expect("there is a total"),
            rtt.expect("echoes have round-trip times"),
            result.losses,
        )
    };
    let (tail, tail_rtt, _) = of("");
    let (codel, codel_rtt, losses) = of(&ap_queue("discipline = \"codel\""));
    assert!(losses.iter().any(|loss| loss.place == "ap" && loss.reason == "queue delay"), "{losses:?}");
    assert!(codel_rtt < 0.75 * tail_rtt, "{codel_rtt} ms beside {tail_rtt} ms");
    assert!(codel > 0.95 * tail, "{codel} Mb/s beside {tail} Mb/s");
    // A flow's own queue is nearly empty.
    let (_, flow_rtt, _) = of(&ap_queue("discipline = \"fq-codel\""));
    assert!(flow_rtt < codel_rtt, "{flow_rtt} ms beside {codel_rtt} ms");
}

#[test]
fn short_transfers_do_not_wait_behind_long_ones_with_las_ack() {
    let shorts = format!(
        "{DOWNLOADS}[[flows]]\nname = \"short\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"down\"\n\
         rate = \"5 /s\"\nsize = {{ mean = \"30 kB\" }}\n"
    );
    let mean = |radio: &str| {
        let result = simulate(radio, &shorts);
        let times: Vec<f64> = result.transfers.records.iter().filter_map(|transfer| transfer.took_s).collect();
        assert!(times.len() > 60, "{} transfers", times.len());
        times.iter().sum::<f64>() / times.len() as f64
    };
    let (tail, las) = (mean(""), mean(&ap_queue("discipline = \"las-ack\"")));
    assert!(las < 0.5 * tail, "{las} s beside {tail} s");
}

#[test]
fn a_station_has_its_queue_too() {
    // Echoes beside an upload of the same station: behind it with drop-tail, with priority in a fair queue.
    let rest = r#"[[bulk]]
name = "up"
stations = ["sta1"]
server = "server"
direction = "up"
[[ping]]
name = "echo"
stations = ["sta1"]
server = "server"
"#;
    let rtt = |radio: &str| {
        let result = simulate(radio, rest);
        scalar(&result, "phase.all.flow.echo.rtt_mean_ms").expect("echoes have round-trip times")
    };
    let (tail, fair) = (rtt(""), rtt("station_queue = { discipline = \"fq-codel\" }"));
    assert!(fair < 0.3 * tail, "{fair} ms beside {tail} ms");
}

/// A tree of 12 Mb/s with these two leaves, and bursts that compensate late turns.
fn tree(one: &str, other: &str) -> String {
    let leaf = |words: &str| format!("{{ parent = \"all\", burst = \"12 kB\", cburst = \"12 kB\", {words} }}");
    let all = "{ name = \"all\", rate = \"12 Mb/s\", burst = \"12 kB\", cburst = \"12 kB\" }";
    ap_queue(&format!("discipline = \"htb\", class = [{all}, {}, {}]", leaf(one), leaf(other)))
}

/// Rates of the floods, each with a leaf rate of 2 Mb/s; `rule` assigns one of them to the first leaf.
fn shares(rule: &str, one: &str, other: &str) -> [f64; 2] {
    let one = format!("name = \"one\", rate = \"2 Mb/s\", {rule}, {one}");
    let other = format!("name = \"other\", rate = \"2 Mb/s\", {other}");
    let result = simulate(&tree(&one, &other), FLOODS);
    ["fast", "slow"].map(|app| scalar(&result, &format!("phase.all.flow.{app}.ip_mbps")).expect("it has a rate"))
}

#[test]
fn a_tree_shares_by_rates_and_lends_what_is_left() {
    let (by_station, by_app) = ("stations = [\"sta1\"]", "apps = [\"fast\"]");
    let ceil = "ceil = \"12 Mb/s\"";
    let quantum = |bytes| format!("{ceil}, quantum = \"{bytes} bytes\"");
    let cases = [
        (shares(by_station, &quantum(9000), &quantum(3000)), [8.0, 4.0], "by quanta"),
        (shares(by_app, &quantum(9000), &quantum(3000)), [8.0, 4.0], "by quanta, one for each application"),
        (shares(by_app, "ceil = \"3 Mb/s\"", ceil), [3.0, 9.0], "up to a ceiling"),
        (shares(by_app, &format!("{ceil}, priority = 1"), ceil), [2.0, 10.0], "to the higher priority"),
    ];
    for (got, expected, how) in cases {
        let near = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.02 * expected);
        assert!(near, "{how}: {got:?} for {expected:?}");
    }
}

#[test]
fn a_tree_distinguishes_uploads_from_downloads() {
    let rest = r#"[[bulk]]
name = "down"
stations = ["sta1"]
server = "server"
direction = "down"
[[bulk]]
name = "up"
stations = ["sta2"]
server = "server"
direction = "up"
"#;
    let up = |ceil: &str| {
        let one = format!("name = \"acks\", direction = \"up\", rate = \"50 kb/s\", ceil = \"{ceil}\"");
        let other = "name = \"data\", rate = \"2 Mb/s\", ceil = \"12 Mb/s\"";
        goodput(&simulate(&tree(&one, other), rest), "up")
    };
    // Lost ACKs only delay the growth of the window: each ACK covers the previous ones.
    let (held, free) = (up("50 kb/s"), up("12 Mb/s"));
    assert!(free > 1.3 * held, "{held} and {free} Mb/s");
}

/// Two downloads under a tree of two equal classes in the box, the second station with this SNR.
fn in_the_box(discipline: &str, snr: &str) -> [f64; 2] {
    let text = format!(
        r#"version = 1
name = "channels"
duration = "30 s"
[radio]
standard = "802.11b"
ap_buffer = "100 packets"
[telemetry]
signal = true
[manager.queue]
{discipline}
[[manager.class]]
name = "near"
[[manager.class]]
name = "far"
[[manager.queue.class]]
name = "link"
rate = "8 Mb/s"
[[manager.queue.class]]
name = "first"
parent = "link"
rate = "4 Mb/s"
ceil = "8 Mb/s"
station_classes = ["near"]
[[manager.queue.class]]
name = "second"
parent = "link"
rate = "4 Mb/s"
ceil = "8 Mb/s"
station_classes = ["far"]
[[station]]
name = "near"
rate = "11 Mb/s"
snr = "30 dB"
class = "near"
[[station]]
name = "far"
rate = "11 Mb/s"
snr = "{snr}"
class = "far"
[[server]]
name = "server"
[[bulk]]
name = "to-near"
stations = ["near"]
server = "server"
direction = "down"
[[bulk]]
name = "to-far"
stations = ["far"]
server = "server"
direction = "down"
[[event]]
at = "1 s"
do = "insert"
[[phase]]
name = "managed"
from = "5 s"
to = "30 s"
"#
    );
    let scenario = Scenario::parse(&text, "channels.toml").unwrap_or_else(|error| panic!("{error}"));
    let result = evenair_sim::run(&scenario, |_| ()).unwrap();
    [goodput(&result, "to-near"), goodput(&result, "to-far")]
}

/// The table is a part of that in scenarios/whtb/calibration.toml.
const WHTB: &str = r#"discipline = "whtb"
estimator = "signal"
channel = [
    { snr = "5 dB", goodput = "10 kb/s" },
    { snr = "6 dB", goodput = "1204 kb/s" },
    { snr = "6.5 dB", goodput = "3176 kb/s" },
    { snr = "7 dB", goodput = "4460 kb/s" },
    { snr = "8 dB", goodput = "5041 kb/s" },
    { snr = "12 dB", goodput = "5112 kb/s" },
]"#;

#[test]
fn a_box_with_reported_signals_charges_retries_to_the_far_station() {
    let htb = "discipline = \"htb\"";
    let [near, far] = in_the_box(WHTB, "30 dB");
    assert!((0.75..1.35).contains(&(near / far)), "both are near: {near} {far}");
    let [plain, plain_far] = in_the_box(htb, "6.3 dB");
    let [spared, far] = in_the_box(WHTB, "6.3 dB");
    println!("HTB {plain} {plain_far}, WHTB {spared} {far}");
    assert!(spared > 1.15 * plain, "WHTB {spared} {far}, HTB {plain} {plain_far}");
    assert!(far > 0.1 * plain_far, "it is not starved: WHTB {spared} {far}, HTB {plain} {plain_far}");
}

/// A download of one station and an upload of the other, both queued in the box from the start: ratio of their rates.
fn down_to_up(queue: &str) -> f64 {
    let apps = ["down", "up"].map(|direction| {
        let station = if direction == "down" { "sta1" } else { "sta2" };
        format!(
            "[[bulk]]\nname = \"{direction}\"\nstations = [\"{station}\"]\nserver = \"server\"\ndirection = \"{direction}\"\n"
        )
    });
    // A small window: window growth is charged when the ACKs behind the queued ones are released.
    let tcp = "[tcp]\nreceive_buffer = \"64 KiB\"";
    let rest = format!("{tcp}\n[manager.queue]\n{queue}\n{}[[event]]\nat = \"0 s\"\ndo = \"insert\"\n", apps.concat());
    let result = simulate("", &rest);
    goodput(&result, "down") / goodput(&result, "up")
}

#[test]
fn an_ack_is_charged_for_the_data_that_it_releases() {
    // With its usual target of 5 ms CoDel keeps the download below its share, and the upload, of which only ACKs are queued,
    // takes the rest: with a long target the shares are those charged.
    let long = "target = \"50 ms\"\ninterval = \"500 ms\"";
    for (discipline, more) in [("drr", ""), ("fq-codel", long), ("cake", long)] {
        let ratio = down_to_up(&format!("discipline = \"{discipline}\"\n{more}"));
        assert!((0.85..1.15).contains(&ratio), "{discipline}: {ratio}");
    }
    let class = |name: &str, rate: &str| {
        format!("[[manager.queue.class]]\nname = \"{name}\"\nrate = \"{rate}\"\ndirection = \"{name}\"\n")
    };
    for discipline in ["htb", "cbq"] {
        let classes = class("down", "6 Mb/s") + &class("up", "1.5 Mb/s");
        let ratio = down_to_up(&format!("discipline = \"{discipline}\"\n{classes}"));
        assert!((3.6..4.4).contains(&ratio), "{discipline}: {ratio}");
    }
}
