//! Measured and charged airtime, for each interval and for the run.

use std::collections::BTreeMap;

use evenair_api::Status;
use evenair_medium::{MeasuredAirtime, Totals};
use evenair_results::{Charge, CountedAirtime, CountedStation};
use evenair_scenario::Scenario;
use evenair_units::Span;

use crate::collect::{Collected, Interval};
use crate::{plan, topology};

/// Airtime up to the end of an interval. The box is queried when the interval has ended, so that its values are some
/// milliseconds later than the medium's.
pub fn counted(scenario: &Scenario, interval: &Interval, number: usize) -> CountedAirtime {
    CountedAirtime {
        length: scenario.measure.interval * (number as u64 + 1),
        ..account(scenario, &interval.media, &interval.measured, interval.middlebox.as_ref())
    }
}

/// Airtime of a run of this length.
pub fn of_run(scenario: &Scenario, collected: &Collected, length: Span) -> CountedAirtime {
    let Some(last) = &collected.last else { return CountedAirtime::default() };
    CountedAirtime { length, ..account(scenario, &last.media, &last.measured_airtime, collected.last_status.as_ref()) }
}

fn account(
    scenario: &Scenario,
    media: &[Totals],
    measured: &[MeasuredAirtime],
    status: Option<&Status>,
) -> CountedAirtime {
    let seconds = |seconds: f64| Span::from_nanos((seconds * 1e9).round() as u64);
    let known = status.iter().flat_map(|status| &status.stations);
    let charges = known.map(|station| {
        let (down, up) = (station.charged_airtime_down_s, station.charged_airtime_up_s);
        (station.mac.as_str(), Charge { down: seconds(down), up: seconds(up) })
    });
    let charges: BTreeMap<&str, Charge> = charges.collect();
    let stations = topology::stations(scenario).into_iter().zip(measured).map(|(host, &measured)| {
        let mac = plan::host(scenario, host).mac.to_string();
        CountedStation { host, measured, charged: charges.get(mac.as_str()).copied() }
    });
    CountedAirtime { length: Span::ZERO, media: media.to_vec(), stations: stations.collect() }
}
