//! Measured airtime by station and direction, and charged airtime by station: of a run and of each phase.
//!
//! *Measured* airtime is counted on the medium (see `evenair_medium::MeasuredAirtime`); *charged* airtime is the estimate
//! with which the box's manager shares the medium. Down is the airtime of frames from the access point to the station, up
//! of frames from the station, whatever the direction of the transfer.
//!
//! An engine counts from the start of the run and reports the counters at the end of each interval (see
//! [`super::period`]); a phase is the difference of two reports, so that no work is done per frame.

use evenair_medium::{MeasuredAirtime, Totals};
use evenair_scenario::Scenario;
use evenair_units::Span;
use serde::{Deserialize, Serialize};

use super::stats::{jain, share};

/// Airtime as parts of the time: of the run or of a phase. Of all stations and lines the sum is 1 where there is
/// one medium; of several media the lines are means, and a station's airtime is a part of the time of its own medium.
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
    /// Silence while some node had a frame to send, without inter-frame spaces, which are part of airtime.
    pub back_off_share: f64,
    /// Silence with nothing to send, without inter-frame spaces.
    pub idle_share: f64,
    /// Of all airtime, time in which several exchanges were under way, which their senders share.
    pub collisions_share: f64,
    /// Jain's index of the measured airtime, down and up together, of the stations that have an application; in a phase,
    /// one that is active in it.
    pub jain: Option<f64>,
    /// The same of the backlogged stations of a phase ([`super::PhaseResult::backlogged_stations`]); absent of a run, and where
    /// there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jain_backlogged: Option<f64>,
}

/// Measured airtime of a station, as parts of the time.
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
    /// Of that, the part of frames from it.
    #[serde(default)]
    pub collisions_up_share: f64,
}

/// What the box estimates that a station took, as parts of the time: an estimate, from the rates that it knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChargedAirtime {
    /// The station's name.
    pub station: String,
    /// For packets to it.
    pub down_share: f64,
    /// For packets from it.
    pub up_share: f64,
}

/// Airtime as an engine counted it since the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedAirtime {
    /// Time since the start of the run.
    pub length: Span,
    /// What each medium was used for.
    pub media: Vec<Totals>,
    /// Each station, in an order that stays the same throughout a run.
    pub stations: Vec<CountedStation>,
}

/// A station's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CountedStation {
    /// Its number among the scenario's hosts.
    pub host: usize,
    /// What the medium saw.
    pub measured: MeasuredAirtime,
    /// What the box charged; absent where there is no box, or it does not know the station.
    pub charged: Option<Charge>,
}

/// What the box has charged a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// For packets to it.
    pub down: Span,
    /// For packets from it.
    pub up: Span,
}

impl CountedAirtime {
    /// What was counted since an earlier account of the same run; all of it where there is none.
    #[must_use]
    pub fn since(&self, earlier: Option<&Self>) -> Self {
        let Some(earlier) = earlier else { return self.clone() };
        let stations = self.stations.iter().zip(&earlier.stations);
        Self {
            length: self.length.saturating_sub(earlier.length),
            media: self.media.iter().zip(&earlier.media).map(|(&now, &before)| now - before).collect(),
            stations: stations.map(|(now, before)| now.since(before)).collect(),
        }
    }

    /// Charged airtime of the stations that the box knows; of none where it charged nothing at all, as while it is bypassed.
    pub fn charged(&self, scenario: &Scenario) -> Vec<ChargedAirtime> {
        let part = |span: Span| share(span.as_secs_f64(), self.length.as_secs_f64());
        let known = || self.stations.iter().filter_map(|station| Some((station.host, station.charged?)));
        let charges = known().any(|(_, charge)| charge != Charge::default());
        let charged = known().filter(|_| charges).map(|(host, charge)| ChargedAirtime {
            station: scenario.hosts[host].name.clone(),
            down_share: part(charge.down),
            up_share: part(charge.up),
        });
        charged.collect()
    }
}

impl CountedStation {
    fn since(&self, earlier: &Self) -> Self {
        // A box that has forgotten the station, or has met it since, counts from zero.
        let since = |now: Charge| match earlier.charged {
            Some(before) if before.down <= now.down && before.up <= now.up => {
                Charge { down: now.down - before.down, up: now.up - before.up }
            }
            _ => now,
        };
        Self { measured: self.measured - earlier.measured, charged: self.charged.map(since), ..*self }
    }
}

impl MediumAirtime {
    /// Of all media and all stations; `is_used` says of a host whether it counts for Jain's index.
    pub fn new(scenario: &Scenario, counted: &CountedAirtime, is_used: impl Fn(usize) -> bool) -> Self {
        let CountedAirtime { length, media, stations } = counted;
        let part = |span: Span| share(span.as_secs_f64(), length.as_secs_f64());
        let mean = |of: &dyn Fn(&Totals) -> f64| share(media.iter().map(of).sum(), media.len() as f64);
        let groups_share = mean(&|totals| part(totals.measured.groups));
        let neighbours_share = mean(&|totals| part(totals.measured.neighbours));
        let of_stations: Span = stations.iter().map(|station| station.measured.sent + station.measured.received).sum();
        let lines = mean(&|totals| part(totals.measured.sent)) - groups_share - neighbours_share;
        let airtime = |station: &CountedStation| StationAirtime {
            station: scenario.hosts[station.host].name.clone(),
            down_share: part(station.measured.received),
            up_share: part(station.measured.sent),
            collisions_share: part(station.measured.collided()),
            collisions_up_share: part(station.measured.sent_collided),
        };
        let used = stations.iter().filter(|station| is_used(station.host));
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
            jain_backlogged: None,
        }
    }

    /// Jain's index of the measured airtime, down and up together, of some stations.
    pub fn jain_of(&self, counts: impl Fn(&str) -> bool) -> Option<f64> {
        let stations = self.stations.iter().filter(|station| counts(&station.station));
        jain(&stations.map(|station| station.down_share + station.up_share).collect::<Vec<_>>())
    }

    /// Of the whole run: all stations count that have an application.
    pub fn of_run(scenario: &Scenario, counted: &CountedAirtime) -> Self {
        Self::new(scenario, counted, |host| scenario.apps.iter().any(|app| app.station == host))
    }
}

/// A difference of sums, where what is less than rounding is nothing.
fn without_rounding(share: f64) -> f64 {
    if share.abs() < 1e-12 { 0.0 } else { share }
}

#[cfg(test)]
mod tests {
    use evenair_medium::MeasuredTotals;

    use super::super::sample;
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
        let station = |host, sent, received| CountedStation {
            host,
            measured: MeasuredAirtime { sent: ms(sent), received: ms(received), ..MeasuredAirtime::default() },
            charged: None,
        };
        let stations = vec![station(0, 100, 200), station(1, 40, 60), station(2, 0, 20)];
        let counted = CountedAirtime { length: ms(1_000), media: vec![totals], stations };
        let airtime = MediumAirtime::new(&sample::two_flows().0, &counted, |host| host != 2);
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

    #[test]
    fn a_box_that_has_forgotten_a_station_counts_from_zero() {
        let charge = |down, up| Some(Charge { down: ms(down), up: ms(up) });
        let at = |charged| CountedStation { charged, ..CountedStation::default() };
        assert_eq!(at(charge(50, 9)).since(&at(charge(20, 4))).charged, charge(30, 5));
        assert_eq!(at(charge(5, 9)).since(&at(charge(20, 4))).charged, charge(5, 9));
        assert_eq!(at(charge(5, 9)).since(&at(None)).charged, charge(5, 9));
        assert_eq!(at(None).since(&at(charge(20, 4))).charged, None);
    }
}
