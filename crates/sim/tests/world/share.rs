//! Priority within a station's share, and the delay of a stream that exceeds it.

use evenair_results::{FlowResult, PhaseResult, RunResult};
use evenair_scenario::Scenario;
use evenair_sim::run;

fn simulate(radio: &str, rest: &str) -> RunResult {
    let text = format!(
        r#"version = 1
name = "share"
duration = "60 s"
{radio}
[lan]
rate = "1 Gb/s"
delay = "5 ms"
[[server]]
name = "server"
[[event]]
at = "2 s"
do = "insert"
[[phase]]
name = "managed"
from = "10 s"
to = "60 s"
{rest}
"#
    );
    run(&Scenario::parse(&text, "share.toml").unwrap_or_else(|error| panic!("{error}")), |_| ()).unwrap()
}

const G: &str = "[radio]\nstandard = \"802.11g\"\nap_buffer = \"150 kB\"";
const B: &str = "[radio]\nstandard = \"802.11b\"\npreamble = \"short\"\nap_buffer = \"150 kB\"";

fn stations(name: &str, count: u32, rate: &str) -> String {
    format!("[[station]]\nname = \"{name}\"\ncount = {count}\nrate = \"{rate}\"\n")
}

fn bulk(name: &str, station: &str, per: u32) -> String {
    format!(
        "[[bulk]]\nname = \"{name}\"\nstations = [\"{station}\"]\nserver = \"server\"\ndirection = \"down\"\nper_station = {per}\n"
    )
}

fn udp(name: &str, station: &str, direction: &str, rate: &str) -> String {
    format!(
        "[[udp]]\nname = \"{name}\"\nstations = [\"{station}\"]\nserver = \"server\"\ndirection = \"{direction}\"\n\
         rate = \"{rate}\"\npayload = \"1172 bytes\"\n"
    )
}

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
    for (radio, rate, call) in [(G, "54 Mb/s", "1.5 Mb/s"), (B, "11 Mb/s", "0.35 Mb/s")] {
        let rest = [
            stations("d", 4, rate),
            stations("c", 1, rate),
            bulk("down", "d", 1),
            bulk("own", "c", 1),
            udp("call-down", "c", "down", call),
            udp("call-up", "c", "up", call),
        ];
        let result = simulate(radio, &rest.concat());
        for way in ["call-down", "call-up"] {
            let flow = flow(&result, way);
            println!("{rate} {way}: lost {:.4}, p99 {:.1} ms", flow.loss_rate(), p99(flow));
            assert!(flow.loss_rate() < 0.005 && p99(flow) < 25.0, "{way}");
        }
    }
}

#[test]
fn an_unresponsive_stream_gets_its_share_of_fresh_packets() {
    for (radio, rate, sent) in [(G, "54 Mb/s", "20 Mb/s"), (G, "54 Mb/s", "6 Mb/s"), (B, "11 Mb/s", "5 Mb/s")] {
        let rest =
            [stations("d", 4, rate), stations("x", 1, rate), bulk("down", "d", 1), udp("stream", "x", "down", sent)];
        let result = simulate(radio, &rest.concat());
        let stream = flow(&result, "stream");
        let downs: Vec<f64> = (1..=4).map(|n| flow(&result, &format!("down{n}")).goodput_mbps).collect();
        let mean = downs.iter().sum::<f64>() / 4.0;
        println!("{sent} at {rate}: {:.3} Mb/s, p99 {:.1} ms, downloads {downs:.3?}", stream.goodput_mbps, p99(stream));
        assert!(p99(stream) < 150.0, "{} ms", p99(stream));
        // The stream has no ACKs, which cost airtime.
        assert!((0.95..1.25).contains(&(stream.goodput_mbps / mean)), "{} beside {mean}", stream.goodput_mbps);
    }
}

/// Times of short transfers to a station with four downloads of its own, beside others with one, sorted; and the rates of
/// the four. `manager` is the box's configuration.
fn beside_downloads(others: u32, manager: &str) -> (Vec<f64>, Vec<f64>) {
    let short = "[[flows]]\nname = \"short\"\nstations = [\"x\"]\nserver = \"server\"\ndirection = \"down\"\n\
                 rate = \"1 /s\"\nsize = { mean = \"100 kB\" }\n";
    let rest = [
        manager,
        &stations("d", others, "54 Mb/s"),
        &stations("x", 1, "54 Mb/s"),
        &bulk("down", "d", 1),
        &bulk("own", "x", 4),
        short,
    ];
    let result = simulate(G, &rest.concat());
    let mut took: Vec<f64> = result.transfers.records.iter().filter_map(|transfer| transfer.took_s).collect();
    assert!(took.len() > 40, "{} transfers", took.len());
    took.sort_by(f64::total_cmp);
    (took, (1..=4).map(|n| flow(&result, &format!("own{n}")).goodput_mbps).collect())
}

#[test]
fn short_transfers_have_priority_over_long_ones_of_their_station() {
    for others in [1, 3] {
        let (first, own) = beside_downloads(others, "");
        let (in_turn, own_in_turn) = beside_downloads(others, "[manager]\nsparse_first = false\n");
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
    let short = "[[flows]]\nname = \"short\"\nstations = [\"x\"]\nserver = \"server\"\ndirection = \"down\"\n\
                 rate = \"60 /s\"\nlimit = 40\nsize = { mean = \"100 kB\" }\n";
    let rest = [
        &stations("d", 1, "54 Mb/s"),
        &stations("x", 1, "54 Mb/s"),
        &bulk("down", "d", 1),
        &bulk("own", "x", 1),
        short,
    ];
    let result = simulate(G, &rest.concat());
    let [down, own, short] = ["down", "own", "short"].map(|app| flow(&result, app).goodput_mbps);
    println!("the other station {down:.3} Mb/s, short {short:.3} Mb/s, the download beside them {own:.3} Mb/s");
    assert!(own > (own + short) / 60.0, "an equal part of forty, but for timeouts: {own} of {short} Mb/s");
    assert!(((own + short) / down - 1.0).abs() < 0.2, "the station has its share and no more: {own} {short} {down}");
}
