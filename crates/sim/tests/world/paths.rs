//! The wired path between the box and the access points: its delays, and their limits.

use evenair_results::{FlowResult, RunResult};

use crate::site::Site;

/// Echoes of a station; the box is inserted from the start.
fn site() -> Site {
    Site::new("path", 20).radio("802.11g", "").station("sta", "rate = '54 Mb/s'").insert(0)
}

fn echoes(path: &str) -> RunResult {
    site().ping("echo", "sta").and("interval = '100 ms'").with(path).run()
}

/// Median round trip through the box in ms, and the number of echoes that came back.
fn round_trip(path: &str) -> (f64, u64) {
    let result = echoes(path);
    (result.echoes[0].p50_ms, result.echoes[0].answers)
}

fn both(delay: &str) -> String {
    format!("[ap_path]\ndown.delay = '{delay}'\nup.delay = '{delay}'")
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
    grows("[ap_path.up]\ndelay = '5 ms'", 5.0);
    grows("[ap_path.down]\ndelay = '20 ms'", 20.0);
    // Echoes are farther apart than the jitter, so that none delays another one. The median of 200 of them is within 0.21 ms
    // of the centre in two cases of three.
    let (with, _) = round_trip("[ap_path.up]\ndelay = '2 ms'\njitter = '6 ms'");
    assert!((with - without - 5.0).abs() < 0.85, "{without} ms, then {with} ms");
}

#[test]
fn batches_wait_for_the_next_multiple() {
    let result = echoes("[ap_path.up]\nbatch = '10 ms'");
    let echo = &result.echoes[0];
    // Requests leave at multiples of 100 ms and so arrive just after a batch.
    assert!((9.9..=10.6).contains(&echo.p50_ms), "{} ms", echo.p50_ms);
}

#[test]
fn a_path_that_does_nothing_changes_nothing() {
    let transfers = site().bulk("up", "sta", "up").bulk("down", "sta", "down");
    let nothing = transfers.clone().with("[ap_path.down]\ndelay = '0 ms'\njitter = '0 ms'\nbatch = '0 ms'");
    assert_eq!(format!("{:?}", transfers.run()), format!("{:?}", nothing.run()));
}

fn goodput(result: &RunResult, app: &str) -> f64 {
    let is = |flow: &&FlowResult| flow.app == app;
    result.phases[0].flows.iter().find(is).expect("the scenario has the application").goodput_mbps
}

/// A path has no rate: all datagrams arrive (probes would measure its lag with pauses), and a repeated run gives the same result.
/// Conservation of packets is checked at the end of each run.
#[test]
fn a_path_neither_limits_nor_loses_and_is_the_same_every_time() {
    let site = site()
        .udp("up", "sta", "up", "8 Mb/s")
        .udp("down", "sta", "down", "8 Mb/s")
        .with("[ap_path.down]\ndelay = '30 ms'\njitter = '10 ms'")
        .with("[ap_path.up]\ndelay = '30 ms'\njitter = '10 ms'\nbatch = '5 ms'")
        .with("[manager]\nprobes_per_second = 0");
    let result = site.run();
    assert_eq!(result.losses, []);
    for app in ["up", "down"] {
        let goodput = goodput(&result, app);
        // Packets of the last 45 ms are in transit at the end.
        assert!((goodput / 8.0 - 1.0).abs() < 0.005, "{app}: {goodput} Mb/s");
    }
    assert_eq!(format!("{result:?}"), format!("{:?}", site.run()));
    assert_ne!(format!("{result:?}"), format!("{:?}", site.seed(2).run()));
}

/// Each access point has its own path; packets in transit to one that their station has left are lost there, as on a real wire.
#[test]
fn each_access_point_has_its_own_path_and_a_station_may_leave_it() {
    let two = |path: &str| {
        Site::new("two", 20)
            .radio("802.11g", "")
            .with("[[access_point]]\nname = 'near'\nchannel = 1\n[[access_point]]\nname = 'far'\nchannel = 6")
            .with(path)
            .station("a", "rate = '54 Mb/s'\naccess_point = 'near'")
            .station("b", "rate = '54 Mb/s'\naccess_point = 'far'")
            .ping("echo", "a, b")
    };
    let result = two("[access_point.path.up]\ndelay = '15 ms'").with(&both("1 ms")).run();
    let [a, b] = &result.echoes[..] else { panic!("two stations") };
    assert!((a.p50_ms - 2.0).abs() < 0.5 && (b.p50_ms - 16.0).abs() < 0.5, "{} and {} ms", a.p50_ms, b.p50_ms);

    let lost = |delay: &str| -> u64 {
        let result = two(&format!("[access_point.path.down]\ndelay = '{delay}'"))
            .udp("down", "b", "down", "8 Mb/s")
            .event(10, "roam")
            .and("stations = ['b']\naccess_point = 'near'\ngap = '1 ms'")
            .run();
        result.losses.iter().map(|loss| loss.frames).sum()
    };
    // Of 1000 datagrams per second, those of 200 ms are on the path; of the others some are at the old access point.
    let (without, with) = (lost("0 ms"), lost("200 ms"));
    assert!((190..=210).contains(&(with - without)), "{without}, then {with}");
}
