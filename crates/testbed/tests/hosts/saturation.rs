//! Datagrams without end through real hosts get what the model alone gives.

use crate::common;

use evenair_scenario::Place;
use evenair_testbed::reference::saturated_uplink;
use evenair_units::{Bytes, Span, Streams};

/// IP-level Mb/s of `n` saturating uplink senders: through the testbed, and in event time.
fn both(n: usize) -> (f64, f64) {
    // Together half as much again as the medium carries.
    let each = 12_000 / n;
    let rest = format!(
        r#"
            [[udp]]
            name = "flood"
            stations = ["sta"]
            server = "server"
            direction = "up"
            rate = "{each} kb/s"
            payload = "1472 bytes"
            [[phase]]
            name = "all"
            from = "1 s"
            to = "5 s"
        "#
    );
    let scenario = common::scenario(n, &rest);
    let result = evenair_testbed::run(&scenario, &common::options(), |_| {}).expect("runs");
    eprintln!("n = {n}: lateness {:?}, valid {} {:?}", result.lateness, result.valid, result.invalid_because);
    let Place::Station { rate, .. } = scenario.hosts[0].place else { panic!("the first host is a station") };
    let streams = Streams::new(7);
    let reference = saturated_uplink(&scenario.radio, n, rate, Bytes(1500), Span::from_secs(60), &streams);
    (result.phases[0].total_ip_mbps, reference.as_mbps_f64())
}

#[test]
fn saturation_matches_the_model_in_event_time() {
    let Some(_turn) = common::turn() else { return };
    for n in [1, 5, 10] {
        let (testbed, reference) = both(n);
        eprintln!("n = {n}: testbed {testbed:.3} Mb/s, event time {reference:.3} Mb/s");
        assert!((testbed / reference - 1.0).abs() < 0.03, "n = {n}: {testbed} against {reference}");
    }
}
