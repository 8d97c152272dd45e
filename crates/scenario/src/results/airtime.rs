//! Measured airtime of a run, by station and direction, and what the box charged its stations for.
//!
//! *Measured* airtime is what the medium saw (see `evenair_medium::MeasuredAirtime`); *charged* airtime is the estimate by
//! which the box's manager shares the medium. Down is that of frames from the access point to the station, up that of
//! frames from the station, whichever way the data of a transfer go.

use evenair_medium::{MeasuredAirtime, Totals};
use evenair_units::Span;
use serde::{Deserialize, Serialize};

use super::stats::{jain, share};

/// Who had the medium, as parts of the run's time. Of all stations and lines the sum is 1 where there is one medium; of
/// several media the lines are means, and a station's airtime is a part of the time of its own medium.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MediumAirtime {
    /// Each station's.
    pub stations: Vec<StationAirtime>,
    /// Beacons and group frames.
    pub groups_share: f64,
    /// Networks of others.
    pub neighbours_share: f64,
    /// Frames to and from stations after they had left, which are no station's any more.
    pub departed_share: f64,
    /// Silence while somebody had a frame to send, without inter-frame spaces, which are part of airtime.
    pub back_off_share: f64,
    /// Silence with nothing to send, without inter-frame spaces.
    pub idle_share: f64,
    /// Of all airtime, time in which several exchanges were under way, which their senders share.
    pub collisions_share: f64,
    /// Jain's index of the measured airtime, down and up together, of the stations that have an application.
    pub jain: Option<f64>,
}

/// Measured airtime of a station, as parts of the run's time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StationAirtime {
    /// The station's name.
    pub station: String,
    /// Frames to it, their answers, the gaps between them and the inter-frame spaces before them.
    pub down_share: f64,
    /// The same of frames from it.
    pub up_share: f64,
    /// Of both, its part of time in which several exchanges were under way.
    pub collisions_share: f64,
}

/// What the box estimates that a station took, as parts of the run's time: an estimate, from the rates that it knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChargedAirtime {
    /// The station's name.
    pub station: String,
    /// For packets to it.
    pub down_share: f64,
    /// For packets from it.
    pub up_share: f64,
}

/// A station as the medium counted it.
#[derive(Clone, Debug)]
pub struct CountedStation {
    /// Its name.
    pub name: String,
    /// What was counted.
    pub measured: MeasuredAirtime,
    /// It has an application.
    pub is_used: bool,
}

impl MediumAirtime {
    /// Of all media and all stations of a run that lasted so long.
    pub fn new(media: &[Totals], stations: &[CountedStation], length: Span) -> Self {
        let part = |span: Span| share(span.as_secs_f64(), length.as_secs_f64());
        let mean = |of: &dyn Fn(&Totals) -> f64| share(media.iter().map(of).sum(), media.len() as f64);
        let groups_share = mean(&|totals| part(totals.measured.groups));
        let neighbours_share = mean(&|totals| part(totals.measured.neighbours));
        let of_stations: Span = stations.iter().map(|station| station.measured.sent + station.measured.received).sum();
        let lines = mean(&|totals| part(totals.measured.sent)) - groups_share - neighbours_share;
        let airtime = |station: &CountedStation| StationAirtime {
            station: station.name.clone(),
            down_share: part(station.measured.received),
            up_share: part(station.measured.sent),
            collisions_share: part(station.measured.collided),
        };
        let used = stations.iter().filter(|station| station.is_used);
        let used: Vec<_> = used.map(|station| part(station.measured.sent + station.measured.received)).collect();
        Self {
            stations: stations.iter().map(airtime).collect(),
            groups_share,
            neighbours_share,
            departed_share: without_rounding(lines - share(part(of_stations), media.len() as f64)),
            back_off_share: mean(&|totals| part(totals.contending) - part(totals.measured.contending_spaces)),
            idle_share: mean(&|totals| part(totals.idle) - part(totals.measured.idle_spaces)),
            collisions_share: mean(&|totals| part(totals.measured.collisions)),
            jain: jain(&used),
        }
    }
}

/// A difference of sums, where what is less than rounding is nothing.
fn without_rounding(share: f64) -> f64 {
    if share.abs() < 1e-12 { 0.0 } else { share }
}

#[cfg(test)]
mod tests {
    use evenair_medium::MeasuredTotals;

    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn stations_and_lines_add_up_to_the_run() {
        let measured = MeasuredTotals {
            sent: ms(600),
            groups: ms(50),
            neighbours: ms(100),
            collisions: ms(20),
            contending_spaces: ms(40),
            idle_spaces: ms(10),
        };
        let totals = Totals { busy: ms(550), contending: ms(290), idle: ms(160), measured, ..Totals::default() };
        let station = |name: &str, sent, received, is_used| CountedStation {
            name: name.into(),
            measured: MeasuredAirtime { sent: ms(sent), received: ms(received), ..MeasuredAirtime::default() },
            is_used,
        };
        let stations = [station("a", 100, 200, true), station("b", 40, 60, true), station("c", 0, 20, false)];
        let airtime = MediumAirtime::new(&[totals], &stations, ms(1_000));
        let each: f64 = airtime.stations.iter().map(|station| station.down_share + station.up_share).sum();
        let lines = [
            airtime.groups_share,
            airtime.neighbours_share,
            airtime.departed_share,
            airtime.back_off_share,
            airtime.idle_share,
        ];
        assert_eq!(lines.map(|share| (share * 1e6).round() / 1e6), [0.05, 0.1, 0.03, 0.25, 0.15]);
        assert!((each + lines.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((airtime.jain.unwrap() - 0.8).abs() < 1e-9, "the unused station is left out: {:?}", airtime.jain);
    }
}
