//! Metrics of single stations.

use std::borrow::Cow;
use std::collections::BTreeSet;

use evenair_api::causes::{Cause, StationCounter};
use evenair_api::health::SubjectKind;
use evenair_api::{StationReportStatus, StationStatus, Status};

use super::MBPS;
use super::labels::Labels;
use super::page::{Kind, Page};
use super::totals::Totals;

/// Stations with samples of their own, at most: a database of time series pays for each new one for hours.
const MOST_STATIONS: usize = 256;

/// The stations that have samples.
pub(super) struct Shown<'a> {
    /// The port toward the access points.
    interface: &'a str,
    /// Stations with their labels.
    stations: Vec<(Cow<'a, str>, &'a StationStatus)>,
    has_names: bool,
}

impl<'a> Shown<'a> {
    /// The most important stations: first those named by a health reason, then those with traffic since the last reading, then those with
    /// the most charged airtime.
    pub(super) fn of(status: &'a Status, interface: &'a str, labels: &Labels, totals: &Totals) -> Self {
        let reasons = status.health.iter().flat_map(|health| &health.reasons);
        let of_stations = reasons.filter(|reason| reason.subject.kind == SubjectKind::Station);
        let harmed: BTreeSet<&str> = of_stations.map(|reason| reason.subject.id.as_str()).collect();
        let rank = |station: &StationStatus| (!harmed.contains(&*station.mac), !totals.is_active(&station.mac));
        let mut stations: Vec<_> = status.stations.iter().map(|station| (rank(station), station)).collect();
        stations
            .sort_by(|(rank, a), (other, b)| rank.cmp(other).then(b.charged_airtime_s.total_cmp(&a.charged_airtime_s)));
        stations.truncate(MOST_STATIONS);
        let labelled = stations.into_iter().filter_map(|(_, station)| Some((labels.of(&station.mac)?, station)));
        Self { interface, stations: labelled.collect(), has_names: labels.has_names() }
    }
}

/// A station without a reported rate has no sample: the default rate at which it is charged is no measurement.
fn station_rates(page: &mut Page, shown: &Shown<'_>) {
    let help = "PHY rate toward the station: what its access point tells, or else what the operator set.";
    page.family("evenair_station_transmit_rate_bytes_per_second", Kind::Gauge, help);
    for (mac, station) in &shown.stations {
        let reported = station.reported.as_ref().and_then(|reported| reported.transmit_mbps);
        if let Some(mbps) = reported.or_else(|| station.reported_rate()) {
            page.sample(&[("ifname", shown.interface), ("mac", mac)], mbps * MBPS);
        }
    }
    let help = "PHY rate by which the station is charged, where it is not the default for want of a report.";
    page.family("evenair_station_rate_bytes_per_second", Kind::Gauge, help);
    for (mac, station) in &shown.stations {
        if let Some(mbps) = station.reported_rate() {
            page.sample(&[("ifname", shown.interface), ("mac", mac)], mbps * MBPS);
        }
    }
}

fn station_airtime(page: &mut Page, shown: &Shown<'_>) {
    let help = "Medium time that the station is charged for packets to it (down) and from it (up): an estimate.";
    page.family("evenair_station_charged_airtime_seconds_total", Kind::Counter, help);
    for (mac, station) in &shown.stations {
        let ways = [("down", station.charged_airtime_down_s), ("up", station.charged_airtime_up_s)];
        for (direction, seconds) in ways {
            page.sample(&[("ifname", shown.interface), ("mac", mac), ("direction", direction)], seconds);
        }
    }
}

/// Counts of every [`StationCounter`], with explanations.
fn station_packets(page: &mut Page, shown: &Shown<'_>) {
    let each: String =
        StationCounter::ALL.iter().map(|counter| format!(" {}: {}", counter.key(), counter.help())).collect();
    let help = format!("Packets of the station, by what became of them.{each}");
    page.family("evenair_station_packets_total", Kind::Counter, &help);
    for (mac, station) in &shown.stations {
        for (counter, count) in station.counted.iter() {
            page.sample(&[("ifname", shown.interface), ("mac", mac), ("what", counter.key())], count);
        }
    }
}

pub(super) fn write(page: &mut Page, status: &Status, shown: &Shown<'_>) {
    page.family("wifi_stations", Kind::Gauge, "Stations that the box knows.");
    page.sample(&[("ifname", shown.interface)], status.stations_known);
    let help = "Stations that the box knows and that have no samples of their own here.";
    let left_out = status.stations_known.saturating_sub(shown.stations.len());
    page.single("evenair_stations_left_out", Kind::Gauge, help, left_out);
    station_rates(page, shown);
    station_airtime(page, shown);
    let mut of_each = |name: &str, kind: Kind, help: &str, value: fn(&StationStatus) -> f64| {
        page.family(name, kind, help);
        for (mac, station) in &shown.stations {
            page.sample(&[("ifname", shown.interface), ("mac", mac)], value(station));
        }
    };
    let help = "IP-level bytes released toward the station.";
    of_each("evenair_station_transmit_bytes_total", Kind::Counter, help, |station| station.to_station_bytes as f64);
    let help = "IP-level bytes that came from the station.";
    of_each("evenair_station_receive_bytes_total", Kind::Counter, help, |station| station.from_station_bytes as f64);
    let help = "1 for a station that takes more than its share of the medium and cannot be held back.";
    of_each("evenair_station_over_share", Kind::Gauge, help, |station| f64::from(u8::from(station.over_share)));
    station_packets(page, shown);
    reported_stations(page, shown);
    station_info(page, shown);
}

/// Name and addresses only if stations are shown with them.
fn station_info(page: &mut Page, shown: &Shown<'_>) {
    page.family("evenair_station_info", Kind::Gauge, "What is known of the station's name and address, as labels.");
    for (mac, station) in &shown.stations {
        let (name, address) = match shown.has_names {
            true => (station.name.as_deref(), station.addresses.first().map(String::as_str)),
            false => (None, None),
        };
        let labels = [
            ("ifname", shown.interface),
            ("mac", mac),
            ("name", name.unwrap_or_default()),
            ("address", address.unwrap_or_default()),
            ("random_mac", if station.random_mac { "1" } else { "0" }),
        ];
        page.sample(&labels, true);
    }
}

/// Telemetry of stations that have any.
fn reported_stations(page: &mut Page, shown: &Shown<'_>) {
    let mut of_each = |name: &str, help: &str, value: fn(&StationReportStatus) -> Option<f64>| {
        page.family(name, Kind::Gauge, help);
        for (mac, station) in &shown.stations {
            let Some(reported) = &station.reported else { continue };
            if let Some(value) = value(reported) {
                let labels = [("ifname", shown.interface), ("mac", mac), ("source", &reported.source)];
                page.sample(&labels, value);
            }
        }
    };
    let help = "How strongly its access point receives the station.";
    of_each("wifi_station_signal_dbm", help, |reported| reported.signal_dbm.map(f64::from));
    let help = "PHY rate from the station, as its access point reports it.";
    of_each("evenair_station_receive_rate_bytes_per_second", help, |reported| {
        reported.receive_mbps.map(|mbps| mbps * MBPS)
    });
    let help = "Age of the station's telemetry report.";
    of_each("evenair_station_report_age_seconds", help, |reported| Some(reported.age_s));
    let help = "1 for a station whose reported rate contradicts the measured airtime.";
    of_each("evenair_station_report_set_aside", help, |reported| Some(f64::from(u8::from(reported.set_aside))));
}
