//! Access points with a queue above their MAC: how kernel TCP of real hosts shares the medium behind them.

use anyhow::{Context, Result, ensure};
use evenair_results::RunResult;

use crate::common;

/// 802.11g, two stations that load as fast as they get, at 54 and at 6 Mb/s.
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

/// Measured airtime of the fast station over that of the slow one, both ways.
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
