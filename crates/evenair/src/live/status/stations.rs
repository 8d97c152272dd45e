//! The stations of `evenair status`: names, rates, and charged airtime.

use evenair_api::{RateSource, StationStatus, Status};

/// Number of printed stations, those with the most charged airtime first.
const MOST_STATIONS: usize = 20;
/// Width of a name, in characters.
const NAME: usize = 15;

/// A line for each station, with charged airtime in percent of the time since the box started; no line without stations.
pub fn lines(status: &Status) -> Vec<String> {
    let mut stations: Vec<_> = status.stations.iter().collect();
    stations.sort_by(|a, b| b.charged_airtime_s.total_cmp(&a.charged_airtime_s).then_with(|| a.mac.cmp(&b.mac)));
    let known = status.stations_known.max(stations.len());
    let mut lines = Vec::new();
    if !stations.is_empty() {
        lines.push("charged airtime of stations, in percent of the time since the start (an estimate):".to_owned());
    }
    lines.extend(stations.iter().take(MOST_STATIONS).map(|station| line(station, status.uptime_s)));
    if known > MOST_STATIONS {
        lines.push(format!("  and {} more stations", known - MOST_STATIONS));
    }
    lines
}

fn line(station: &StationStatus, seconds: f64) -> String {
    let percent = |charged: f64| if seconds > 0.0 { 100.0 * charged / seconds } else { 0.0 };
    let rate = match (station.rate(), station.rate_source) {
        (None, _) | (_, RateSource::Unknown) => "rate unknown".to_owned(),
        (Some(mbps), RateSource::Reported) => format!("{mbps} Mb/s"),
        (Some(mbps), RateSource::Inferred) => format!("as {mbps} Mb/s"),
    };
    format!(
        "  station {} {:<NAME$} {rate:>12}  {:>5.1} % down, {:>5.1} % up{}{}",
        station.mac,
        shortened(station.name.as_deref().unwrap_or("-")),
        percent(station.charged_airtime_down_s),
        percent(station.charged_airtime_up_s),
        if station.counted.is_zero() { String::new() } else { format!(", {}", station.counted) },
        if station.over_share { ", OVER ITS SHARE" } else { "" }
    )
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    name.chars().take(NAME - 1).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use evenair_api::causes::{StationCounted, StationCounter};

    use super::*;

    fn station(number: usize, down: f64, up: f64) -> StationStatus {
        StationStatus {
            mac: format!("02:00:00:00:00:{number:02x}"),
            charged_airtime_s: down + up,
            charged_airtime_down_s: down,
            charged_airtime_up_s: up,
            ..StationStatus::default()
        }
    }

    #[test]
    fn stations_are_listed_with_rate_and_charged_airtime_the_busiest_first() {
        let mut counted = StationCounted::default();
        counted[StationCounter::Dropped] = 7;
        let known = StationStatus {
            counted,
            name: Some("a-laptop-with-a-long-name".into()),
            rate_mbps: Some(54.0),
            rate_source: RateSource::Reported,
            over_share: true,
            ..station(2, 30.0, 20.5)
        };
        let inferred =
            StationStatus { rate_mbps: Some(6.0), rate_source: RateSource::Inferred, ..station(3, 1.0, 0.0) };
        let stations = vec![station(1, 4.0, 0.0), known, inferred];
        let status = Status { uptime_s: 200.0, stations_known: 3, stations, ..Status::default() };
        assert_eq!(
            lines(&status)[1..],
            [
                "  station 02:00:00:00:00:02 a-laptop-with-\u{2026}      54 Mb/s   15.0 % down,  10.2 % up, dropped 7, OVER ITS SHARE",
                "  station 02:00:00:00:00:01 -               rate unknown    2.0 % down,   0.0 % up",
                "  station 02:00:00:00:00:03 -                  as 6 Mb/s    0.5 % down,   0.0 % up",
            ]
        );
        assert!(lines(&Status::default()).is_empty());
    }

    #[test]
    fn of_many_stations_twenty_are_listed_and_the_others_counted() {
        let stations: Vec<_> = (0..25).map(|number| station(number, number as f64, 0.0)).collect();
        // The box's response may itself list fewer stations than it knows.
        let status = Status { uptime_s: 100.0, stations_known: 40, stations, ..Status::default() };
        let lines = lines(&status);
        assert_eq!((lines.len(), lines[21].as_str()), (22, "  and 20 more stations"));
        assert!(lines[1].contains("02:00:00:00:00:18") && lines[20].contains("02:00:00:00:00:05"), "{lines:#?}");
    }
}
