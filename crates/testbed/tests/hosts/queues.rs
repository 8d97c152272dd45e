//! Queues of access points: how the kernel TCP of real hosts shares the medium behind a queue above the MAC, and how the
//! MAC aggregates datagrams of real hosts.

use anyhow::{Context, Result, ensure};
use evenair_results::RunResult;

use crate::common;

/// 802.11g, two stations with unlimited downloads, at 54 and at 6 Mb/s.
fn downloads(queue: &str) -> String {
    format!(
        r#"
            version = 1
            name = "queues"
            duration = "8 s"
            [radio]
            standard = "802.11g"
            ap_buffer = "1000 packets"
            ap_queue = {{ discipline = "{queue}" }}
            [[station]]
            name = "fast"
            rate = "54 Mb/s"
            [[station]]
            name = "slow"
            rate = "6 Mb/s"
            [[server]]
            name = "server"
            [[bulk]]
            name = "down"
            stations = ["fast", "slow"]
            server = "server"
            direction = "down"
            [[phase]]
            name = "steady"
            from = "2 s"
            to = "8 s"
        "#
    )
}

/// Ratio of the measured airtimes of the fast and the slow station, both directions.
fn ratio(result: &RunResult) -> Result<f64> {
    let phase = result.phases.first().context("there is a phase")?;
    let measured = phase.measured_airtime.as_ref().context("it is measured")?;
    let of = |name: &str| {
        let station = measured.stations.iter().find(|station| station.station == name).context("it is measured")?;
        Ok::<_, anyhow::Error>(station.down_share + station.up_share)
    };
    let (fast, slow) = (of("fast")?, of("slow")?);
    eprintln!("fast {fast:.3}, slow {slow:.3}: {:.3}", fast / slow);
    ensure!(fast + slow > 0.5, "the medium is hardly used: {fast:.3} and {slow:.3}");
    Ok(fast / slow)
}

fn has_ratio(queue: &str, within: std::ops::Range<f64>) {
    let Some(_turn) = common::turn() else { return };
    common::judged(&common::parse(&downloads(queue)), |result| {
        let ratio = ratio(result)?;
        ensure!(within.contains(&ratio), "{queue}: {ratio:.3}");
        Ok(())
    });
}

#[test]
fn stations_behind_mac80211_get_the_same_airtime() {
    has_ratio("mac80211", 0.92..1.09);
}

#[test]
fn behind_one_fifo_the_slow_station_gets_more_airtime() {
    has_ratio("fifo", 0.0..0.4);
}

/// 802.11n at 65 Mb/s with one stream, and datagrams of 40 Mb/s to each of two stations.
fn floods(order: &str) -> String {
    format!(
        r#"
            version = 1
            name = "orders"
            duration = "5 s"
            [radio]
            standard = "802.11n"
            ap_buffer = "1000 packets"
            ac.be.txop = "0 us"
            aggregation.order = "{order}"
            [[station]]
            name = "s"
            count = 2
            mcs = 7
            [[server]]
            name = "server"
            [[udp]]
            name = "flood"
            stations = ["s"]
            server = "server"
            direction = "down"
            rate = "40 Mb/s"
            payload = "1472 bytes"
            [[phase]]
            name = "steady"
            from = "2 s"
            to = "5 s"
        "#
    )
}

/// Packets per access of the access point, and total IP rate in Mb/s.
fn aggregated(result: &RunResult) -> Result<(f64, f64)> {
    let phase = result.phases.first().context("there is a phase")?;
    let ap = phase.nodes.iter().find(|node| node.is_access_point()).context("the access point is measured")?;
    let packets = ap.access.frames_by_attempts.iter().sum::<u64>() as f64 / ap.access.attempts as f64;
    eprintln!("{packets:.2} packets in an access, {:.1} Mb/s", phase.total_ip_mbps);
    Ok((packets, phase.total_ip_mbps))
}

/// A full A-MPDU has 28 packets of 1,500 bytes at this mode: a PPDU of 5,366 us, SIFS 10 us, BlockAck 38 us, AIFS 37 us and back-off of
/// 67.5 us on average, 60.9 Mb/s. Single frames (PPDU 234 us, ACK 34 us) carry 31.4 Mb/s.
#[test]
fn an_access_point_aggregates_by_station_or_neighbours_only_in_real_time() {
    let Some(_turn) = common::turn() else { return };
    let run = |order: &str, packets: std::ops::Range<f64>, mbps: std::ops::Range<f64>| {
        common::judged(&common::parse(&floods(order)), |result| {
            let (mean, total) = aggregated(result)?;
            ensure!(packets.contains(&mean) && mbps.contains(&total), "{order}: {mean:.2} packets, {total:.1} Mb/s");
            Ok(())
        });
    };
    // Of some 560 accesses one may have begun before the phase and ended in it.
    run("arrival", 26.0..28.06, 57.0..62.5);
    run("neighbours", 1.0..4.0, 30.0..52.0);
}
