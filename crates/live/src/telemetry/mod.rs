//! Telemetry: access points and controllers that the box polls for stations and rates.
//!
//! A separate thread polls each source; its reports go to the loop in small portions, so that a controller with a thousand
//! stations delays no packet. The manager checks the reports. Without sources, or if all of them fail or are wrong, the box
//! relies on the traffic.

mod associations;
mod losses;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as Clock};

use evenair_manager::{Observation, RateReport};
use evenair_packet::MacAddr;
use evenair_sys::rt;
use evenair_telemetry::{Health, Pollers, Reading, Scheduled};
use evenair_units::{Instant, Span};
use tracing::warn;

use crate::control::{ControlHandle, ControlRequest};
use crate::management::ManagementPlane;
use associations::Associations;
use evenair_boxfile::SourceConfig;
use losses::LossTotals;

/// Stations given to the loop at once, which takes it some tens of microseconds.
const PORTION: usize = 32;
/// Validity of a report, in intervals of its source: one reply may be lost, and the next may be late.
const VALID_INTERVALS: u64 = 3;

/// The polled sources.
pub(crate) struct Telemetry {
    sources: Vec<SourceConfig>,
    pollers: Option<Pollers>,
    control: ControlHandle,
    /// Receives the aliases of stations.
    management: Arc<dyn ManagementPlane>,
}

impl Telemetry {
    /// Starts polling. Sources that cannot be polled are logged: the box runs without them.
    pub(crate) fn start(
        sources: Vec<SourceConfig>,
        control: ControlHandle,
        management: Arc<dyn ManagementPlane>,
    ) -> Self {
        let mut this = Self { sources: Vec::new(), pollers: None, control, management };
        this.change(sources);
        this
    }

    /// Polls these sources from now on, and no others.
    pub(crate) fn change(&mut self, sources: Vec<SourceConfig>) {
        if self.sources == sources {
            return;
        }
        self.pollers = None;
        self.management.forget_aliases();
        let open = |source: &SourceConfig| match source.open() {
            Ok(opened) => Some((source.clone(), opened)),
            Err(error) => {
                warn!("telemetry: {} cannot be polled: {error}", source.name());
                None
            }
        };
        let (configs, opened): (Vec<_>, Vec<_>) = sources.iter().filter_map(open).unzip();
        let interval = |config: &SourceConfig| Duration::from_nanos(config.interval.as_nanos());
        let scheduled =
            configs.iter().zip(opened).map(|(config, source)| Scheduled { source, interval: interval(config) });
        let scheduled: Vec<_> = scheduled.collect();
        let validity: Vec<Span> = configs.iter().map(|config| config.interval * VALID_INTERVALS).collect();
        let own: Vec<_> = configs.iter().map(|config| config.access_point).collect();
        let (control, management) = (self.control.clone(), Arc::clone(&self.management));
        let known = Arc::new(Mutex::new((Associations::default(), LossTotals::default())));
        let deliver = move |number: u16, asked: Clock, reading: &Reading| {
            let at = usize::from(number);
            management.report_aliases(number, &reading.stations);
            // A thread that panicked while holding the lock left a consistent state: the one before or after a report.
            let mut known = known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (associations, losses) = &mut *known;
            let changes = associations.take(number, own[at], asked, reading);
            let losses = losses.take(number, &reading.access_points);
            drop(known);
            let reports =
                rate_reports(number, asked, validity[at], reading).filter(|report| !changes.gone.contains(&report.mac));
            let reports = reports.map(Observation::RateReport);
            let associations =
                changes.associations.into_iter().map(|(mac, place)| Observation::StationAt { mac, place: Some(place) });
            hand_over(&control, &reports.chain(associations).collect::<Vec<_>>(), &losses)
        };
        self.sources = sources;
        if scheduled.is_empty() {
            return;
        }
        match Pollers::start(scheduled, deliver) {
            Ok(pollers) => self.pollers = Some(pollers),
            Err(error) => warn!("telemetry: no source is polled: {error}"),
        }
    }

    /// State of each source.
    pub(crate) fn health(&self) -> Vec<Health> {
        self.pollers.as_ref().map(Pollers::health).unwrap_or_default()
    }
}

/// The reports of a reading, one for each station.
fn rate_reports(source: u16, asked: Clock, valid_for: Span, reading: &Reading) -> impl Iterator<Item = RateReport> {
    // Measured when the source was queried, or some time before. Both clocks are the machine's monotonic one.
    let ago = Span::from_nanos(u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let measured = Instant::from_nanos(rt::monotonic_ns()).saturating_sub(ago);
    reading.stations.iter().map(move |station| RateReport {
        mac: station.mac,
        source,
        measured,
        valid_for,
        transmit_kbps: station.transmit_kbps,
        receive_kbps: station.receive_kbps,
        signal_dbm: station.signal_dbm,
        transmit_mode: station.transmit_mode.and_then(Result::ok),
        receive_mode: station.receive_mode.and_then(Result::ok),
    })
}

/// Gives observations to the loop; false: it has ended.
fn hand_over(control: &ControlHandle, observations: &[Observation], losses: &[(MacAddr, u64)]) -> bool {
    let portions = observations.chunks(PORTION).map(|portion| ControlRequest::Observations(portion.to_vec()));
    let losses = losses.iter().map(|&(mac, total)| ControlRequest::Losses(mac, total));
    portions.chain(losses).all(|request| control.ask(request).is_ok())
}
