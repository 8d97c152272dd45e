//! Points of the last day, in bounded memory: for the box and for each contention domain ten minutes by seconds and a day by minutes, for
//! stations ten minutes by seconds. All of them full take 9 MB.

use std::collections::{BTreeMap, VecDeque};

use evenair_api::Mode;
use evenair_api::watch::{Domain, History, Line, Point, Source, Station, Times, Totals, Value};

/// Points by seconds: ten minutes.
const SECONDS: usize = 600;
/// Points by minutes: a day.
const MINUTES: usize = 1_440;
/// Contention domains kept, at most, in the order of their names.
const MOST_DOMAINS: usize = 64;
/// Stations kept, at most.
const MOST_STATIONS: usize = 256;

/// What the points belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Box,
    /// A contention domain, by its name.
    Domain(String),
    /// A station, by its MAC address.
    Station(String),
}

/// Time range of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    TenMinutes,
    Day,
}

impl Range {
    /// Seconds between points, and in total.
    const fn seconds(self) -> (u64, f64) {
        match self {
            Self::TenMinutes => (1, 600.0),
            Self::Day => (60, 86_400.0),
        }
    }
}

/// A point: rates in Mb/s, wait and time beyond the box in milliseconds, fraction of time; NaN where unknown.
#[derive(Clone, Copy, Debug)]
struct Dot {
    at_s: f64,
    mode: Mode,
    down: f32,
    up: f32,
    wait: f32,
    wlan: f32,
    internet: f32,
    air: f32,
}

impl Dot {
    fn of_box(line: &Line, totals: &Totals, mode: Mode) -> Self {
        let air = line.domains.iter().flatten().map(air_of_domain).fold(f32::NAN, f32::max);
        let [down, up, wait] = [totals.down_mbps, totals.up_mbps, totals.wait_p95_ms].map(number);
        Self {
            at_s: line.at,
            mode,
            down,
            up,
            wait,
            wlan: p95(totals.latency.wlan),
            internet: p95(totals.latency.internet),
            air,
        }
    }

    fn of_domain(domain: &Domain, at_s: f64, mode: Mode) -> Self {
        let [down, up, wait] = [domain.down_mbps, domain.up_mbps, domain.wait_p95_ms].map(number);
        Self {
            at_s,
            mode,
            down,
            up,
            wait,
            wlan: p95(domain.latency.wlan),
            internet: p95(domain.latency.internet),
            air: air_of_domain(domain),
        }
    }

    fn of_station(station: &Station, at_s: f64, mode: Mode) -> Self {
        let [down, up, air_down, air_up] =
            [station.down_mbps, station.up_mbps, station.air_down, station.air_up].map(number);
        let wait = p95(station.latency.in_box);
        Self {
            at_s,
            mode,
            down,
            up,
            wait,
            wlan: p95(station.latency.wlan),
            internet: p95(station.latency.internet),
            air: air_down + air_up,
        }
    }

    fn point(&self) -> Point {
        let value = |number: f32, source| Value::new(Some(f64::from(number)), source);
        Point {
            at: self.at_s,
            mode: self.mode,
            down_mbps: value(self.down, Source::Measured),
            up_mbps: value(self.up, Source::Measured),
            wait_p95_ms: value(self.wait, Source::Measured),
            wlan_p95_ms: value(self.wlan, Source::Measured),
            internet_p95_ms: value(self.internet, Source::Measured),
            air: value(self.air, Source::Charged),
        }
    }
}

fn number(value: Value) -> f32 {
    value.value.map_or(f32::NAN, |value| value as f32)
}

fn p95(times: Option<Times>) -> f32 {
    times.map_or(f32::NAN, |times| times.p95_ms as f32)
}

fn air_of_domain(domain: &Domain) -> f32 {
    let group = domain.air_group.value.map_or(0.0, |group| group as f32);
    number(domain.air_down) + number(domain.air_up) + group
}

/// The last points.
#[derive(Debug, Default)]
struct Ring(VecDeque<Dot>);

impl Ring {
    fn push(&mut self, dot: Dot, most: usize) {
        if self.0.len() >= most {
            self.0.pop_front();
        }
        self.0.push_back(dot);
    }

    fn last_s(&self) -> f64 {
        self.0.back().map_or(0.0, |dot| dot.at_s)
    }

    fn history(&self, range: Range, now_s: f64) -> History {
        let (every_s, all_s) = range.seconds();
        let points = self.0.iter().filter(|dot| dot.at_s > now_s - all_s).map(Dot::point).collect();
        History { every_s, points }
    }
}

/// Mean of the known values.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f32) {
        if !value.is_nan() {
            self.sum += f64::from(value);
            self.count += 1;
        }
    }

    fn value(self) -> f32 {
        if self.count == 0 { f32::NAN } else { (self.sum / f64::from(self.count)) as f32 }
    }
}

/// The current minute: its last point, means, and the longest times.
#[derive(Clone, Copy, Debug)]
struct Minute {
    last: Dot,
    down: Mean,
    up: Mean,
    air: Mean,
    wait: f32,
    wlan: f32,
    internet: f32,
}

impl Minute {
    fn new(dot: Dot) -> Self {
        let [down, up, air] = [Mean::default(); 3];
        let mut minute = Self { last: dot, down, up, air, wait: f32::NAN, wlan: f32::NAN, internet: f32::NAN };
        minute.add(dot);
        minute
    }

    fn add(&mut self, dot: Dot) {
        self.last = dot;
        self.down.add(dot.down);
        self.up.add(dot.up);
        self.air.add(dot.air);
        self.wait = self.wait.max(dot.wait);
        self.wlan = self.wlan.max(dot.wlan);
        self.internet = self.internet.max(dot.internet);
    }

    fn has(&self, dot: &Dot) -> bool {
        (self.last.at_s / 60.0).floor() == (dot.at_s / 60.0).floor()
    }

    fn dot(&self) -> Dot {
        let [down, up, air] = [self.down, self.up, self.air].map(Mean::value);
        Dot { down, up, air, wait: self.wait, wlan: self.wlan, internet: self.internet, ..self.last }
    }
}

/// Seconds and minutes of the box or of a domain.
#[derive(Debug, Default)]
struct Track {
    seconds: Ring,
    minutes: Ring,
    minute: Option<Minute>,
}

impl Track {
    fn push(&mut self, dot: Dot) {
        self.seconds.push(dot, SECONDS);
        match &mut self.minute {
            Some(minute) if minute.has(&dot) => minute.add(dot),
            minute => {
                if let Some(over) = minute.replace(Minute::new(dot)) {
                    self.minutes.push(over.dot(), MINUTES);
                }
            }
        }
    }

    fn history(&self, range: Range, now_s: f64) -> History {
        match range {
            Range::TenMinutes => self.seconds.history(range, now_s),
            Range::Day => self.minutes.history(range, now_s),
        }
    }
}

/// All rings.
#[derive(Debug, Default)]
pub(super) struct Rings {
    now_s: f64,
    all: Track,
    domains: BTreeMap<String, Track>,
    stations: BTreeMap<String, Ring>,
}

impl Rings {
    /// Adds the points of a line.
    pub(super) fn add(&mut self, line: &Line, mode: Mode) {
        self.now_s = line.at;
        if let Some(totals) = &line.totals {
            self.all.push(Dot::of_box(line, totals, mode));
        }
        let (day_ago_s, ten_minutes_ago_s) = (line.at - 86_400.0, line.at - 600.0);
        self.domains.retain(|_, track| track.seconds.last_s() > day_ago_s);
        self.stations.retain(|_, ring| ring.last_s() > ten_minutes_ago_s);
        for domain in line.domains.iter().flatten() {
            if self.domains.len() < MOST_DOMAINS || self.domains.contains_key(&domain.name) {
                let track = self.domains.entry(domain.name.clone()).or_default();
                track.push(Dot::of_domain(domain, line.at, mode));
            }
        }
        for station in line.stations.iter().flatten() {
            if self.has_room_for(&station.mac, line.at) {
                let ring = self.stations.entry(station.mac.clone()).or_default();
                ring.push(Dot::of_station(station, line.at, mode), SECONDS);
            }
        }
    }

    /// Makes room for a station in place of the one that was last in a line longest ago.
    fn has_room_for(&mut self, mac: &str, now_s: f64) -> bool {
        if self.stations.len() < MOST_STATIONS || self.stations.contains_key(mac) {
            return true;
        }
        let oldest = self.stations.iter().min_by(|(_, a), (_, b)| a.last_s().total_cmp(&b.last_s()));
        let Some((oldest, last_s)) = oldest.map(|(mac, ring)| (mac.clone(), ring.last_s())) else { return false };
        last_s < now_s && self.stations.remove(&oldest).is_some()
    }

    /// The points of the past.
    ///
    /// # Errors
    /// There is no such domain or station, with the existing ones.
    pub(super) fn history(&self, whose: &Whose, range: Range) -> Result<History, String> {
        match whose {
            Whose::Box => Ok(self.all.history(range, self.now_s)),
            Whose::Domain(name) => match self.domains.get(name) {
                Some(track) => Ok(track.history(range, self.now_s)),
                None => {
                    let names: Vec<_> = self.domains.keys().map(String::as_str).collect();
                    Err(format!("no contention domain {name:?}; domains are: {}", names.join(", ")))
                }
            },
            Whose::Station(mac) => match self.stations.get(mac) {
                Some(ring) => Ok(ring.history(range, self.now_s)),
                None => Err(format!(
                    "no station {mac} in the last ten minutes; of very many stations the {MOST_STATIONS} with the most airtime are kept"
                )),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: f64, mbps: f64) -> Line {
        let rate = Value::new(mbps, Source::Measured);
        let air = Value::new(0.25, Source::Charged);
        Line {
            at,
            totals: Some(Totals { down_mbps: rate, ..Totals::default() }),
            domains: Some(vec![Domain {
                name: "hall".into(),
                down_mbps: rate,
                air_down: air,
                air_up: air,
                wait_p95_ms: Value::new(mbps, Source::Measured),
                ..Domain::default()
            }]),
            ..Line::default()
        }
    }

    fn stations(at: f64, which: std::ops::Range<u32>) -> Line {
        let station =
            |n: u32| Station { mac: format!("02:00:00:00:{:02x}:{:02x}", n / 256, n % 256), ..Station::default() };
        Line { at, stations: Some(which.map(station).collect()), ..Line::default() }
    }

    #[test]
    fn seconds_and_minutes_are_kept_and_gaps_stay_gaps() {
        let mut rings = Rings::default();
        // Two hours, of which the second has no points.
        for second in (0..3_600).chain(7_200..7_260) {
            rings.add(&line(f64::from(second), f64::from(second % 60)), Mode::Inserted);
        }
        let of = |range| rings.history(&Whose::Domain("hall".into()), range).expect("it is there");
        let (seconds, minutes) = (of(Range::TenMinutes), of(Range::Day));
        assert_eq!((seconds.every_s, seconds.points.len(), minutes.every_s, minutes.points.len()), (1, 60, 60, 60));
        let point = &minutes.points[0];
        assert_eq!(
            (point.down_mbps.value, point.wait_p95_ms.value, point.air.value),
            (Some(29.5), Some(59.0), Some(0.5))
        );
        assert_eq!((point.up_mbps, point.at, point.mode), (Value::UNKNOWN, 59.0, Mode::Inserted));
        let all = rings.history(&Whose::Box, Range::TenMinutes).expect("always");
        assert_eq!((all.points[0].air.value, all.points[0].wait_p95_ms), (Some(0.5), Value::UNKNOWN));
        let error = rings.history(&Whose::Domain("hal".into()), Range::Day).expect_err("no such");
        assert!(error.contains("domains are: hall"), "{error}");
    }

    #[test]
    fn memory_is_bounded() {
        let mut rings = Rings::default();
        for second in 0..100_000 {
            rings.add(&line(f64::from(second), 1.0), Mode::Inserted);
        }
        assert_eq!((rings.all.seconds.0.len(), rings.all.minutes.0.len()), (SECONDS, MINUTES));
        for n in 0..100 {
            let domain = |n| Domain { name: format!("{n}"), ..Domain::default() };
            rings.add(&Line { at: 1e5, domains: Some(vec![domain(n)]), ..Line::default() }, Mode::Inserted);
        }
        assert_eq!(rings.domains.len(), MOST_DOMAINS);
    }

    #[test]
    fn a_station_that_is_gone_makes_room() {
        let mut rings = Rings::default();
        rings.add(&stations(1.0, 0..256), Mode::Inserted);
        rings.add(&stations(2.0, 1..257), Mode::Inserted);
        assert_eq!(rings.stations.len(), MOST_STATIONS);
        assert!(rings.history(&Whose::Station("02:00:00:00:00:00".into()), Range::TenMinutes).is_err());
        let kept = rings.history(&Whose::Station("02:00:00:00:00:01".into()), Range::TenMinutes).expect("kept");
        assert_eq!(kept.points.len(), 2);
        // With as many in each line, the stations that have a place keep it.
        rings.add(&stations(3.0, 1..300), Mode::Inserted);
        assert_eq!(rings.stations.len(), MOST_STATIONS);
        rings.add(&stations(1_000.0, 0..1), Mode::Inserted);
        assert_eq!(rings.stations.len(), 1, "others were last seen long ago");
    }
}
