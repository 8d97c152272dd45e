//! Measured airtime of real hosts adds up in each phase, and charged airtime is near it.

use anyhow::{Context, Result, ensure};
use evenair_results::{MediumAirtime, PhaseResult, StationAirtime};

use crate::common;

const BULK: &str = r#"
    [[bulk]]
    name = "up"
    stations = ["sta1", "sta2"]
    server = "server"
    direction = "up"
    [[bulk]]
    name = "down"
    stations = ["sta3", "sta4"]
    server = "server"
    direction = "down"
    [[event]]
    at = "4 s"
    do = "insert"
    [[phase]]
    name = "bypassed"
    from = "1 s"
    to = "4 s"
    [[phase]]
    name = "managed"
    from = "6 s"
    to = "16 s"
"#;

fn both(station: &StationAirtime) -> f64 {
    station.down_share + station.up_share
}

/// Sum of the stations' airtime and all other lines.
fn sum(measured: &MediumAirtime) -> f64 {
    let lines = [measured.groups_share, measured.neighbours_share, measured.back_off_share, measured.idle_share];
    measured.stations.iter().map(both).chain(lines).sum::<f64>() + measured.departed_share
}

/// Checks charged against measured airtime. The box charges back-off, which is a separate line of the measured airtime: it
/// is divided among stations with equal rates and frames by their airtime.
fn charges_come_near(phase: &PhaseResult, measured: &MediumAirtime) -> Result<()> {
    let of_stations: f64 = measured.stations.iter().map(both).sum();
    for station in &measured.stations {
        let charged = phase.charged_airtime.iter().find(|charged| charged.station == station.station);
        let charged = charged.with_context(|| format!("{} is not charged", station.station))?;
        let expected = both(station) * (1.0 + measured.back_off_share / of_stations);
        let of_it = (charged.down_share + charged.up_share) / expected;
        eprintln!("{}: charged {of_it:.3} of {expected:.3}", station.station);
        ensure!(
            (of_it - 1.0).abs() < 0.15,
            "{}: {of_it:.3} of {expected:.3}: {station:?} {charged:?}",
            station.station
        );
    }
    Ok(())
}

#[test]
fn measured_airtime_of_each_phase_adds_up_and_charged_airtime_is_near_it() {
    let Some(_turn) = common::turn_with_box() else { return };
    let text = common::text(4, BULK).replace(r#"duration = "5 s""#, r#"duration = "16 s""#);
    common::judged(&common::parse(&text), |result| {
        let [bypassed, managed] = &result.phases[..] else { panic!("two phases") };
        for phase in [bypassed, managed] {
            let measured = phase.measured_airtime.as_ref().context("it is measured")?;
            eprintln!("{}: sum {:.5}, Jain {:?}, {measured:?}", phase.name, sum(measured), measured.jain);
            ensure!((sum(measured) - 1.0).abs() < 0.005, "{}: {}, {measured:?}", phase.name, sum(measured));
        }
        ensure!(bypassed.charged_airtime.is_empty(), "{:?}", bypassed.charged_airtime);
        charges_come_near(managed, managed.measured_airtime.as_ref().context("it is measured")?)
    });
}
