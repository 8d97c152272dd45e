//! Who goes first within a station's share, and how long a stream waits that takes more than it.

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
fn a_stream_that_does_not_respond_has_its_share_of_what_is_fresh() {
    for (radio, rate, sent) in [(G, "54 Mb/s", "20 Mb/s"), (G, "54 Mb/s", "6 Mb/s"), (B, "11 Mb/s", "5 Mb/s")] {
        let rest =
            [stations("d", 4, rate), stations("x", 1, rate), bulk("down", "d", 1), udp("stream", "x", "down", sent)];
        let result = simulate(radio, &rest.concat());
        let stream = flow(&result, "stream");
        let downs: Vec<f64> = (1..=4).map(|n| flow(&result, &format!("down{n}")).goodput_mbps).collect();
        let mean = downs.iter().sum::<f64>() / 4.0;
        println!("{sent} at {rate}: {:.3} Mb/s, p99 {:.1} ms, downloads {downs:.3?}", stream.goodput_mbps, p99(stream));
        assert!(p99(stream) < 150.0, "{} ms", p99(stream));
        // It has no ACKs, which cost airtime.
        assert!((0.95..1.25).contains(&(stream.goodput_mbps / mean)), "{} beside {mean}", stream.goodput_mbps);
    }
}
