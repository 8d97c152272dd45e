//! Series as tables: one row per object and interval ("long" form), for each kind of series.

use std::fmt;
use std::str::FromStr;

use evenair_reader::{closest, did_you_mean};
use evenair_scenario::measures::Kind;
use evenair_workload::Direction;
use serde::{Deserialize, Serialize};

use super::{FlowSeries, LossSeries, MediumSeries, Series, Table, Values};

/// What a run has series of. The words are those of [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// Flows, by application.
    Flow,
    /// Stations: sums of their flows.
    Station,
    /// Senders on the medium: access points and stations.
    Sender,
    /// Access points that the scenario names, with their stations.
    AccessPoint,
    /// Contention domains, where the scenario names its access points.
    Domain,
    /// The medium.
    Medium,
    /// Wired ports and the box.
    Place,
}

impl SeriesKind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Flow, Self::Station, Self::Sender, Self::AccessPoint, Self::Domain, Self::Medium, Self::Place];

    /// The kind as a word, such as `access_point`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flow => Kind::Flow.word(),
            Self::Station => Kind::Station.word(),
            Self::Sender => Kind::Sender.word(),
            Self::AccessPoint => Kind::AccessPoint.word(),
            Self::Domain => Kind::Domain.word(),
            Self::Medium => Kind::Medium.word(),
            Self::Place => Kind::Place.word(),
        }
    }

    /// The series of this kind: `time_s`, the end of the interval, then the object of the row, then its values. The columns are the
    /// same for all runs; without series of the kind there are no rows.
    pub fn table(self, series: &Series) -> Table {
        match self {
            Self::Flow => flows(series),
            Self::Station => stations(series),
            Self::Sender => senders(series),
            Self::AccessPoint => access_points(series),
            Self::Domain => domains(series),
            Self::Medium => {
                let media: Vec<_> = series.medium.iter().collect();
                let rows = Rows::of(series, &media, |medium| medium.busy_share.len());
                let mut table = rows.timed();
                rows.medium(&mut table, |medium| medium);
                table
            }
            Self::Place => places(series),
        }
    }
}

impl fmt::Display for SeriesKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for SeriesKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = Self::ALL.map(Self::word);
        Self::ALL.into_iter().find(|kind| kind.word() == text).ok_or_else(|| {
            let hint = did_you_mean(closest(text, words));
            format!("there are no series {text:?}; allowed: {}{hint}", words.join(", "))
        })
    }
}

/// The intervals of all objects, one object after the other.
struct Rows<'a, T> {
    interval_s: f64,
    rows: Vec<(&'a T, usize)>,
}

impl<'a, T> Rows<'a, T> {
    /// Rows of each object, one per value; for an object whose series are all zero and were not stored, one per interval of the run.
    fn of(series: &Series, things: &[&'a T], length: impl Fn(&T) -> usize) -> Self {
        let intervals = series.ap_queue_packets.len();
        let rows = things.iter().flat_map(|&thing| (0..length(thing).max(intervals)).map(move |k| (thing, k)));
        Self { interval_s: series.interval_s, rows: rows.collect() }
    }

    fn timed(&self) -> Table {
        let mut table = Table::default();
        table.push("time_s", self.numbers(|_, k| Some((k + 1) as f64 * self.interval_s)));
        table
    }

    fn text(&self, of: impl Fn(&T) -> Option<&str>) -> Values {
        Values::Text(self.rows.iter().map(|(thing, _)| of(thing).map(str::to_owned)).collect())
    }

    fn numbers(&self, of: impl Fn(&T, usize) -> Option<f64>) -> Values {
        Values::Number(self.rows.iter().map(|&(thing, k)| of(thing, k).filter(|x| x.is_finite())).collect())
    }

    /// Counts that are absent if the engine does not count them.
    fn counts(&self, of: impl Fn(&T) -> &[u64]) -> Values {
        Values::Count(self.rows.iter().map(|&(thing, k)| of(thing).get(k).copied()).collect())
    }

    /// Numbers that are zero throughout if the series is empty.
    fn full_numbers(&self, of: impl Fn(&T) -> &[f64]) -> Values {
        self.numbers(|thing, k| Some(of(thing).get(k).copied().unwrap_or(0.0)))
    }

    /// Counts that are zero throughout if the series is empty.
    fn full_counts(&self, of: impl Fn(&T) -> &[u64]) -> Values {
        Values::Count(self.rows.iter().map(|&(thing, k)| Some(of(thing).get(k).copied().unwrap_or(0))).collect())
    }

    /// Sums of losses for all reasons.
    fn losses(&self, of: impl Fn(&T) -> &[LossSeries]) -> Values {
        let sum = |thing: &T, k: usize| of(thing).iter().filter_map(|loss| loss.frames.get(k)).sum();
        Values::Count(self.rows.iter().map(|&(thing, k)| Some(sum(thing, k))).collect())
    }

    fn medium(&self, table: &mut Table, of: impl Fn(&T) -> &MediumSeries) {
        table.push("busy_share", self.full_numbers(|thing| &of(thing).busy_share));
        table.push("contending_share", self.full_numbers(|thing| &of(thing).contending_share));
        table.push("idle_share", self.full_numbers(|thing| &of(thing).idle_share));
        table.push("transmissions", self.full_counts(|thing| &of(thing).transmissions));
        table.push("collisions", self.full_counts(|thing| &of(thing).collisions));
        table.push("active_stations", self.full_numbers(|thing| &of(thing).active_stations));
    }
}

fn flows(series: &Series) -> Table {
    let rows = series.flows.iter().flat_map(|flow| (0..flow.ip_mbps.len()).map(move |k| (flow, k)));
    let rows = Rows { interval_s: series.interval_s, rows: rows.collect() };
    let mut table = rows.timed();
    table.push("app", rows.text(|flow| Some(&flow.app)));
    table.push("station", rows.text(|flow| Some(&flow.station)));
    let direction = |flow: &FlowSeries| match flow.direction {
        Direction::Up => "up",
        Direction::Down => "down",
    };
    table.push("direction", rows.text(|flow| Some(direction(flow))));
    table.push("class", rows.text(|flow| flow.class.as_deref()));
    table.push("rate_mbps", rows.numbers(|flow, _| Some(flow.rate_mbps)));
    table.push("ip_mbps", rows.numbers(|flow, k| flow.ip_mbps.get(k).copied()));
    table.push("goodput_mbps", rows.numbers(|flow, k| flow.goodput_mbps.get(k).copied()));
    table.push("data_packets", rows.counts(|flow| &flow.data_packets));
    table.push("ack_packets", rows.counts(|flow| &flow.ack_packets));
    table.push("cwnd_segments", rows.numbers(|flow, k| *flow.cwnd_segments.get(k)?));
    table.push("rtt_ms", rows.numbers(|flow, k| *flow.rtt_ms.get(k)?));
    table.push("retransmits", rows.counts(|flow| &flow.retransmits));
    table.push("ap_queue_packets", rows.numbers(|_, k| series.ap_queue_packets.get(k).copied()));
    table.push("service_rate_mbps", rows.numbers(|_, k| *series.service_rate_mbps.get(k)?));
    table
}

/// One station: the sum of its flows.
struct StationSeries<'a> {
    first: &'a FlowSeries,
    sums: FlowSeries,
}

impl StationSeries<'_> {
    /// Stations in the order of their first flows.
    fn all(flows: &[FlowSeries]) -> Vec<StationSeries<'_>> {
        let mut all: Vec<StationSeries<'_>> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for flow in flows {
            let place = *places.entry(flow.station.as_str()).or_insert(all.len());
            match all.get_mut(place) {
                None => all.push(StationSeries { first: flow, sums: flow.clone() }),
                Some(StationSeries { sums, .. }) => {
                    add(&mut sums.ip_mbps, &flow.ip_mbps);
                    add(&mut sums.goodput_mbps, &flow.goodput_mbps);
                    add(&mut sums.data_packets, &flow.data_packets);
                    add(&mut sums.ack_packets, &flow.ack_packets);
                    add(&mut sums.retransmits, &flow.retransmits);
                }
            }
        }
        all
    }
}

/// Adds values interval by interval.
fn add<T: Copy + Default + std::ops::AddAssign>(sums: &mut Vec<T>, values: &[T]) {
    sums.resize(sums.len().max(values.len()), T::default());
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += *value);
}

fn stations(series: &Series) -> Table {
    let all = StationSeries::all(&series.flows);
    let rows = all.iter().flat_map(|station| (0..station.sums.ip_mbps.len()).map(move |k| (station, k)));
    let rows = Rows { interval_s: series.interval_s, rows: rows.collect() };
    let mut table = rows.timed();
    table.push("station", rows.text(|station| Some(&station.first.station)));
    table.push("class", rows.text(|station| station.first.class.as_deref()));
    table.push("rate_mbps", rows.numbers(|station, _| Some(station.first.rate_mbps)));
    table.push("ip_mbps", rows.numbers(|station, k| station.sums.ip_mbps.get(k).copied()));
    table.push("goodput_mbps", rows.numbers(|station, k| station.sums.goodput_mbps.get(k).copied()));
    table.push("data_packets", rows.counts(|station| &station.sums.data_packets));
    table.push("ack_packets", rows.counts(|station| &station.sums.ack_packets));
    table.push("retransmits", rows.counts(|station| &station.sums.retransmits));
    table
}

fn senders(series: &Series) -> Table {
    let nodes: Vec<_> = series.nodes.iter().collect();
    let rows = Rows::of(series, &nodes, |node| node.queue_packets.len());
    let mut table = rows.timed();
    table.push("sender", rows.text(|node| Some(&node.node)));
    table.push("offered_frames", rows.full_counts(|node| &node.offered_frames));
    table.push("delivered_frames", rows.full_counts(|node| &node.delivered_frames));
    table.push("lost_frames", rows.losses(|node| &node.lost_frames));
    table.push("attempts", rows.full_counts(|node| &node.attempts));
    table.push("collisions", rows.full_counts(|node| &node.collisions));
    table.push("errors", rows.full_counts(|node| &node.errors));
    table.push("repeated_failures", rows.full_counts(|node| &node.repeated_failures));
    table.push("slowed", rows.full_counts(|node| &node.slowed));
    table.push("airtime_share", rows.full_numbers(|node| &node.airtime_share));
    table.push("queue_packets", rows.full_numbers(|node| &node.queue_packets));
    table.push("queue_max_packets", rows.full_counts(|node| &node.queue_max_packets));
    table
}

fn access_points(series: &Series) -> Table {
    let points: Vec<_> = series.access_points.iter().collect();
    let rows = Rows::of(series, &points, |point| point.ip_mbps.len());
    let mut table = rows.timed();
    table.push("access_point", rows.text(|point| Some(&point.access_point)));
    table.push("domain", rows.text(|point| Some(&point.domain)));
    table.push("ip_mbps", rows.full_numbers(|point| &point.ip_mbps));
    table.push("airtime_share", rows.full_numbers(|point| &point.airtime_share));
    table
}

fn domains(series: &Series) -> Table {
    let domains: Vec<_> = series.domains.iter().collect();
    let rows = Rows::of(series, &domains, |domain| domain.medium.busy_share.len());
    let mut table = rows.timed();
    table.push("domain", rows.text(|domain| Some(&domain.domain)));
    rows.medium(&mut table, |domain| &domain.medium);
    table
}

fn places(series: &Series) -> Table {
    let places: Vec<_> = series.places.iter().collect();
    let rows = Rows::of(series, &places, |place| place.offered_packets.len());
    let mut table = rows.timed();
    table.push("place", rows.text(|place| Some(&place.place)));
    table.push("offered_packets", rows.full_counts(|place| &place.offered_packets));
    table.push("lost_packets", rows.losses(|place| &place.lost_packets));
    table
}

#[cfg(test)]
mod tests {
    use super::super::{NodeSeries, sample};
    use super::*;

    #[test]
    fn a_station_is_the_sum_of_its_flows() {
        let (_, run) = sample::two_flows();
        let mut series = run.series;
        series.flows[1].station = series.flows[0].station.clone();
        series.flows[1].data_packets.truncate(3);
        let table = SeriesKind::Station.table(&series);
        assert_eq!(table.rows(), series.flows[0].ip_mbps.len());
        let number = |name: &str, row: usize| table.column(name).unwrap().values.number(row);
        assert_eq!(
            (number("time_s", 0), number("ip_mbps", 0), number("ip_mbps", 9)),
            (Some(1.0), Some(4.5), Some(4.0))
        );
        let separate = SeriesKind::Flow.table(&series);
        assert_eq!(separate.rows(), 2 * table.rows());
    }

    #[test]
    fn empty_series_are_zero_and_losses_are_summed() {
        let loss = |reason: &str, frames: &[u64]| LossSeries { reason: reason.into(), frames: frames.to_vec() };
        let node = NodeSeries {
            node: "ap".into(),
            attempts: vec![3, 4],
            lost_frames: vec![loss("buffer full", &[1, 2]), loss("retry limit", &[5])],
            ..NodeSeries::default()
        };
        let series = Series { interval_s: 0.5, ap_queue_packets: vec![0.0; 2], nodes: vec![node], ..Series::default() };
        let table = SeriesKind::Sender.table(&series);
        let column = |name: &str| &table.column(name).unwrap().values;
        assert_eq!(column("time_s"), &Values::Number(vec![Some(0.5), Some(1.0)]));
        assert_eq!(column("lost_frames"), &Values::Count(vec![Some(6), Some(2)]));
        assert_eq!(column("collisions"), &Values::Count(vec![Some(0); 2]));
        assert_eq!(column("airtime_share"), &Values::Number(vec![Some(0.0); 2]));
    }

    #[test]
    fn columns_are_the_same_without_rows_and_words_are_read_back() {
        let (_, run) = sample::two_flows();
        for kind in SeriesKind::ALL {
            let names = |series: &Series| kind.table(series).columns.into_iter().map(|column| column.name).collect();
            let (some, none): (Vec<String>, Vec<String>) = (names(&run.series), names(&Series::default()));
            assert_eq!(some, none);
            assert_eq!(kind.table(&Series::default()).rows(), 0);
            assert_eq!(kind.word().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
        }
        let wrong = "flows".parse::<SeriesKind>().unwrap_err();
        assert!(
            wrong.contains("allowed: flow, station, sender") && wrong.contains("did you mean \"flow\"?"),
            "{wrong}"
        );
        assert!(!"nonsense".parse::<SeriesKind>().unwrap_err().contains("did you mean"));
    }
}
