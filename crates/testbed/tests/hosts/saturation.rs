//! Saturating datagrams through real hosts have the throughput of the model alone.

use crate::common;

use anyhow::ensure;
use evenair_scenario::Place;
use evenair_testbed::reference::{SaturatedStations, saturated_uplink};
use evenair_units::{Bytes, Span, Streams};

/// Checks that `n` saturating uplink senders have the same throughput through the testbed as in event time.
fn assert_matches(n: usize) {
    // The total is one and a half times the medium's capacity.
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
    let Place::Station { rate, .. } = scenario.hosts[0].place else { panic!("the first host is a station") };
    let streams = Streams::new(7);
    let stations = SaturatedStations { count: n, rate, ip_len: Bytes(1500) };
    let reference = saturated_uplink(&scenario.radio, stations, Span::from_secs(60), &streams);
    let reference = reference.as_mbps_f64();
    let result = common::judged(&scenario, |result| {
        let testbed = result.phases[0].total_ip_mbps;
        ensure!((testbed / reference - 1.0).abs() < 0.03, "n = {n}: {testbed} against {reference} Mb/s");
        Ok(())
    });
    let testbed = result.phases[0].total_ip_mbps;
    eprintln!("n = {n}: testbed {testbed:.3} Mb/s, event time {reference:.3} Mb/s; {:?}", result.lateness);
}

#[test]
fn saturation_matches_the_model_in_event_time() {
    let Some(_turn) = common::turn() else { return };
    [1, 5, 10].into_iter().for_each(assert_matches);
}
