//! Accuracy of the testbed's radio: saturated UDP, compared with the same medium in event time.

use anyhow::{Context, Result};
use evenair_scenario::{Place, Scenario};
use evenair_testbed::reference::{SaturatedStations, saturated_uplink};
use evenair_units::{Bytes, Span, Streams};

use super::case::Run;
use super::check::{Bound, Figure};

/// 972 bytes of UDP payload, 8 of UDP header, 20 of IP header.
const IP_PACKET: Bytes = Bytes(1000);
/// Length of the reference run: its sampling error is far below the bound.
const REFERENCE_LENGTH: Span = Span::from_secs(100);

/// `count` stations at 11 Mb/s that send datagrams faster than the medium can carry.
pub fn saturated(count: u32) -> Result<Scenario> {
    let text = format!(
        r#"
version = 1
name = "radio-{count}"
title = "{count} saturated stations at 11 Mb/s"
duration = "20 s"
radio = {{ standard = "802.11b" }}
station = [{{ name = "s", count = {count}, rate = "11 Mb/s" }}]
server = [{{ name = "server" }}]
udp = [{{ name = "flood", stations = ["s"], server = "server", direction = "up", rate = "8 Mb/s", payload = "972 bytes" }}]
phase = [{{ name = "saturated", from = "4 s", to = "20 s" }}]
"#
    );
    Ok(Scenario::parse(&text, "radio")?)
}

/// Throughput of the testbed relative to the reference.
pub fn figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let rates: Vec<_> = run
        .scenario
        .hosts
        .iter()
        .filter_map(|host| match host.place {
            Place::Station { rate, .. } => Some(rate),
            _ => None,
        })
        .collect();
    let rate = *rates.first().context("a scenario with stations")?;
    let streams = Streams::new(run.scenario.seed);
    let stations = SaturatedStations { count: rates.len(), rate, ip_len: IP_PACKET };
    let reference = saturated_uplink(&run.scenario.radio, stations, REFERENCE_LENGTH, &streams).as_mbps_f64();
    let measured = super::figures::phase(run.result, "saturated").total_ip_mbps;
    println!("    testbed {measured:.3} Mb/s, event time {reference:.3} Mb/s");
    Ok(vec![Figure {
        what: "throughput, from the event-time figure",
        value: (measured / reference - 1.0).abs(),
        bound: Bound::within(0.03),
    }])
}
