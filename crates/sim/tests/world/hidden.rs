//! Stations that do not hear each other, in a scenario.

use evenair_scenario::Scenario;
use evenair_sim::run;

/// Total Mb/s of two saturated stations, and the part of failed attempts.
fn pair(radio: &str, hidden: bool) -> f64 {
    let hidden_from = if hidden { "hidden_from = [\"sta\"]" } else { "" };
    let text = format!(
        r#"version = 1
name = "hidden-pair"
duration = "20 s"
[radio]
standard = "802.11a"
{radio}
[[station]]
name = "sta"
count = 2
rate = "6 Mb/s"
{hidden_from}
[[server]]
name = "server"
[[udp]]
name = "flood"
stations = ["sta"]
server = "server"
direction = "up"
rate = "6 Mb/s"
payload = "1472 bytes"
"#
    );
    let scenario = Scenario::parse(&text, "pair.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, |_| ()).expect("it can be simulated").phases[0].total_ip_mbps
}

#[test]
fn hidden_stations_collapse_and_rts_helps() {
    let [hear, hidden, with_rts] = [pair("", false), pair("", true), pair("rts_threshold = \"500 bytes\"", true)];
    assert!(hidden < 0.4 * hear, "{hidden} Mb/s of {hear}");
    assert!(with_rts > 0.9 * hear, "{with_rts} Mb/s of {hear}");
}

#[test]
fn stations_that_join_later_are_hidden_too() {
    let text = |hidden: &str| {
        format!(
            r#"version = 1
name = "late"
duration = "20 s"
[radio]
standard = "802.11a"
[[station]]
name = "early"
rate = "6 Mb/s"
[[station]]
name = "late"
rate = "6 Mb/s"
{hidden}
[[server]]
name = "server"
[[udp]]
name = "flood"
stations = ["early"]
server = "server"
direction = "up"
rate = "6 Mb/s"
payload = "1472 bytes"
[[udp]]
name = "more"
stations = ["late"]
server = "server"
direction = "up"
start = "10 s"
rate = "6 Mb/s"
payload = "1472 bytes"
[[event]]
at = "10 s"
do = "join"
stations = ["late"]
[[phase]]
name = "alone"
from = "0 s"
to = "10 s"
[[phase]]
name = "both"
from = "10 s"
to = "20 s"
"#
        )
    };
    let of = |hidden| {
        let scenario = Scenario::parse(&text(hidden), "late.toml").unwrap_or_else(|error| panic!("{error}"));
        let result = run(&scenario, |_| ()).expect("it can be simulated");
        [0, 1].map(|phase| result.phases[phase].total_ip_mbps)
    };
    let [hear, hidden] = [of(""), of("hidden_from = [\"early\"]")];
    assert!((hidden[0] / hear[0] - 1.0).abs() < 0.001, "{hidden:?} {hear:?}");
    assert!(hidden[1] < 0.4 * hear[1], "{hidden:?} {hear:?}");
}
