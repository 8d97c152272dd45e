//! The wired path between the box and the access points: its delays, and their limits.

use evenair_results::{FlowResult, RunResult};
use evenair_scenario::Scenario;
use evenair_sim::run;

/// Echoes of a station; the box is inserted from the start.
fn site(more: &str) -> String {
    format!(
        r#"version = 1
name = "path"
duration = "20 s"
[radio]
standard = "802.11g"
[[station]]
name = "sta"
rate = "54 Mb/s"
[[server]]
name = "server"
[[event]]
at = "0 s"
do = "insert"
{more}"#
    )
}

const ECHO: &str = "[[ping]]\nname = \"echo\"\nstations = [\"sta\"]\nserver = \"server\"\ninterval = \"100 ms\"\n";

fn simulate(text: &str) -> RunResult {
    run(&Scenario::parse(text, "path.toml").expect("a sound scenario"), |_| ()).expect("it can be simulated")
}

/// Median round trip through the box in ms, and the number of echoes that came back.
fn round_trip(path: &str) -> (f64, u64) {
    let result = simulate(&site(&format!("{ECHO}{path}")));
    (result.echoes[0].p50_ms, result.echoes[0].answers)
}

fn both(delay: &str) -> String {
    format!("[ap_path.down]\ndelay = \"{delay}\"\n[ap_path.up]\ndelay = \"{delay}\"\n")
}

#[test]
fn a_round_trip_grows_by_the_delay_of_each_direction() {
    let (without, answers) = round_trip("");
    assert!(answers >= 198, "{answers} answers");
    let grows = |path: &str, by: f64| {
        let (with, answers_with) = round_trip(path);
        // Without a path the answer finds the medium busy with the request's ACK, and has to back off.
        assert!((-0.2..=0.1).contains(&(with - without - by)), "{path}: {without} ms, then {with} ms");
        assert!(answers.abs_diff(answers_with) <= 1, "{path}: {answers_with} answers");
    };
    grows(&both("0 ms"), 0.0);
    grows(&both("5 ms"), 10.0);
    grows("[ap_path.up]\ndelay = \"5 ms\"\n", 5.0);
    grows("[ap_path.down]\ndelay = \"20 ms\"\n", 20.0);
    // Echoes are farther apart than the jitter, so that none delays another one. The median of 200 of them is within 0.21 ms
    // of the centre in two cases of three.
    let (with, _) = round_trip("[ap_path.up]\ndelay = \"2 ms\"\njitter = \"6 ms\"\n");
    assert!((with - without - 5.0).abs() < 0.85, "{without} ms, then {with} ms");
}

#[test]
fn batches_wait_for_the_next_multiple() {
    let result = simulate(&site(&format!("{ECHO}[ap_path.up]\nbatch = \"10 ms\"\n")));
    let echo = &result.echoes[0];
    // Requests leave at multiples of 100 ms and so arrive just after a batch.
    assert!((9.9..=10.6).contains(&echo.p50_ms), "{} ms", echo.p50_ms);
}

#[test]
fn a_path_that_does_nothing_changes_nothing() {
    let transfers = "[[bulk]]\nname = \"up\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"up\"\n\
                     [[bulk]]\nname = \"down\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"down\"\n";
    let simulated = |path: &str| format!("{:?}", simulate(&site(&format!("{transfers}{path}"))));
    assert_eq!(simulated(""), simulated("[ap_path.down]\ndelay = \"0 ms\"\njitter = \"0 ms\"\nbatch = \"0 ms\"\n"));
}

fn goodput(result: &RunResult, app: &str) -> f64 {
    let is = |flow: &&FlowResult| flow.app == app;
    result.phases[0].flows.iter().find(is).expect("the scenario has the application").goodput_mbps
}

/// A path has no rate: all datagrams arrive (probes would measure its lag with pauses), and a repeated run gives the same result.
/// Conservation of packets is checked at the end of each run.
#[test]
fn a_path_neither_limits_nor_loses_and_is_the_same_every_time() {
    let udp = |name: &str, direction: &str| {
        format!(
            "[[udp]]\nname = \"{name}\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"{direction}\"\n\
             rate = \"8 Mb/s\"\n"
        )
    };
    let path = "[ap_path.down]\ndelay = \"30 ms\"\njitter = \"10 ms\"\n\
                [ap_path.up]\ndelay = \"30 ms\"\njitter = \"10 ms\"\nbatch = \"5 ms\"\n\
                [manager]\nprobes_per_second = 0\n";
    let text = site(&format!("{}{}{path}", udp("up", "up"), udp("down", "down")));
    let result = simulate(&text);
    assert_eq!(result.losses, []);
    for app in ["up", "down"] {
        let goodput = goodput(&result, app);
        // Packets of the last 45 ms are in transit at the end.
        assert!((goodput / 8.0 - 1.0).abs() < 0.005, "{app}: {goodput} Mb/s");
    }
    assert_eq!(format!("{result:?}"), format!("{:?}", simulate(&text)));
    let reseeded = text.replace("duration", "seed = 2\nduration");
    assert_ne!(format!("{result:?}"), format!("{:?}", simulate(&reseeded)));
}

/// Each access point has its own path; packets in transit to one that their station has left are lost there, as on a real wire.
#[test]
fn each_access_point_has_its_own_path_and_a_station_may_leave_it() {
    let two = |path: &str, more: &str| {
        format!(
            r#"version = 1
name = "two"
duration = "20 s"
[radio]
standard = "802.11g"
[[access_point]]
name = "near"
channel = 1
[[access_point]]
name = "far"
channel = 6
{path}
[[station]]
name = "a"
rate = "54 Mb/s"
access_point = "near"
[[station]]
name = "b"
rate = "54 Mb/s"
access_point = "far"
[[server]]
name = "server"
[[ping]]
name = "echo"
stations = ["a", "b"]
server = "server"
{more}"#
        )
    };
    let result = simulate(&two("[access_point.path.up]\ndelay = \"15 ms\"", &both("1 ms")));
    let [a, b] = &result.echoes[..] else { panic!("two stations") };
    assert!((a.p50_ms - 2.0).abs() < 0.5 && (b.p50_ms - 16.0).abs() < 0.5, "{} and {} ms", a.p50_ms, b.p50_ms);

    let downloads = "[[udp]]\nname = \"down\"\nstations = [\"b\"]\nserver = \"server\"\ndirection = \"down\"\nrate = \"8 Mb/s\"\n\
                     [[event]]\nat = \"10 s\"\ndo = \"roam\"\nstations = [\"b\"]\naccess_point = \"near\"\ngap = \"1 ms\"\n";
    let lost = |delay: &str| -> u64 {
        let result = simulate(&two(&format!("[access_point.path.down]\ndelay = \"{delay}\""), downloads));
        result.losses.iter().map(|loss| loss.frames).sum()
    };
    // Of 1000 datagrams per second, those of 200 ms are on the path; of the others some are at the old access point.
    let (without, with) = (lost("0 ms"), lost("200 ms"));
    assert!((190..=210).contains(&(with - without)), "{without}, then {with}");
}
