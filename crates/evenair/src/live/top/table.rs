//! The table: contention domains, policy classes and stations, in as many columns as fit.

use evenair_api::health::Level;
use evenair_api::watch::{AccessPoint, Class, Domain, Latency, Losses, Source, Station, Value};

use super::samples::{self, Samples, class_key, domain_key};
use super::text::{UNKNOWN, ms, number, p95, percent, shortened, sum};

/// A station, or a class or contention domain with all its stations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// MAC address of a station.
    pub mac: Option<String>,
    /// Name, or else MAC address.
    name: String,
    /// Worst level of the station's health reasons; `None` without any.
    pub level: Option<Level>,
    access_point: String,
    /// Charged airtime, 0 to 1.
    air: Option<f64>,
    down: Option<f64>,
    up: Option<f64>,
    latency: Latency,
    losses: Option<Losses>,
    rate: String,
    signal: String,
    held: u64,
}

impl Row {
    fn of_station(station: &Station, samples: &Samples) -> Self {
        let reasons = samples.line.health.iter().flat_map(|health| &health.reasons);
        let about = reasons.filter(|reason| reason.subject.id == station.mac);
        Self {
            mac: Some(station.mac.clone()),
            level: about.map(|reason| reason.level).max(),
            name: station.name.clone().unwrap_or_else(|| station.mac.clone()),
            access_point: station.access_point.clone().unwrap_or_else(|| UNKNOWN.into()),
            air: sum(&[station.air_down, station.air_up]),
            down: station.down_mbps.value,
            up: station.up_mbps.value,
            latency: station.latency,
            losses: samples.losses_of(&station.mac),
            rate: rate(station.rate_mbps),
            signal: station.signal_dbm.value.map_or_else(|| UNKNOWN.into(), |dbm| format!("{dbm:.0}")),
            held: station.held,
        }
    }

    /// An access point with its contention domain.
    pub fn of_access_point(point: &AccessPoint) -> Self {
        Self {
            name: point.name.clone(),
            access_point: point.domain.clone(),
            air: sum(&[point.air_down, point.air_up]),
            down: point.down_mbps.value,
            up: point.up_mbps.value,
            latency: point.latency,
            losses: point.losses,
            ..Self::default()
        }
    }

    /// Charged airtime, 0 to 1; negative if unknown.
    pub fn air(&self) -> f64 {
        self.air.unwrap_or(-1.0)
    }

    fn of_class(class: &Class, samples: &Samples) -> Self {
        Self {
            name: class.name.clone(),
            access_point: if class.at_ceiling { "at ceiling" } else { "class" }.into(),
            air: class.air.value,
            down: class.down_mbps.value,
            up: class.up_mbps.value,
            latency: class.latency,
            losses: samples.losses_of(&class_key(&class.name)),
            held: class.held,
            ..Self::default()
        }
    }

    fn of_domain(domain: &Domain, samples: &Samples) -> Self {
        Self {
            name: format!("[{}]", domain.name),
            access_point: "domain".into(),
            air: sum(&[domain.air_down, domain.air_up, domain.air_group]),
            down: domain.down_mbps.value,
            up: domain.up_mbps.value,
            latency: domain.latency,
            losses: samples.losses_of(&domain_key(&domain.name)),
            held: domain.held,
            ..Self::default()
        }
    }
}

/// Contention domains, if there are several, and classes.
pub fn groups(samples: &Samples) -> Vec<Row> {
    let line = &samples.line;
    let several = line.domains.as_ref().is_some_and(|domains| domains.len() > 1);
    let domains = line.domains.iter().flatten().filter(|_| several);
    let classes = line.classes.iter().flatten().map(|class| Row::of_class(class, samples));
    domains.map(|domain| Row::of_domain(domain, samples)).chain(classes).collect()
}

/// Stations whose name or MAC address contains this text, in upper or lower case.
pub fn stations(samples: &Samples, search: &str, order: Order) -> Vec<Row> {
    let search = search.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&search);
    let wanted = |station: &&Station| has(&station.mac) || station.name.as_deref().is_some_and(has);
    let stations = samples.line.stations.iter().flatten().filter(wanted);
    let mut rows: Vec<_> = stations.map(|station| Row::of_station(station, samples)).collect();
    // Unknown values come last.
    let key = |row: &Row| order.value(row).unwrap_or(-1.0);
    rows.sort_by(|a, b| key(b).total_cmp(&key(a)).then_with(|| a.mac.cmp(&b.mac)));
    rows
}

/// Sort key of stations, the largest value first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Charged airtime.
    #[default]
    Air,
    /// Rate toward the station.
    Down,
    /// Rate from the station.
    Up,
    /// Latency of access point and air.
    Latency,
}

impl Order {
    /// All sort keys, each with its key on the keyboard and its word.
    pub const ALL: [(char, Self, &str); 4] =
        [('a', Self::Air, "air"), ('d', Self::Down, "down"), ('u', Self::Up, "up"), ('l', Self::Latency, "latency")];

    fn value(self, row: &Row) -> Option<f64> {
        match self {
            Self::Air => row.air,
            Self::Down => row.down,
            Self::Up => row.up,
            Self::Latency => row.latency.wlan.map(|times| times.p95_ms),
        }
    }
}

/// A column.
struct Column {
    heading: &'static str,
    /// Minimum width of the screen for this column.
    from_width: usize,
    width: usize,
    cell: fn(&Row) -> String,
}

/// Width of a name at 80 columns, in characters; wider screens allow up to [`LONGEST_NAME`].
const NAME: usize = 20;
const LONGEST_NAME: usize = 32;
/// Numbers, right-aligned, after the name and the access point. "~" marks an inferred rate.
const COLUMNS: [Column; 12] = [
    Column { heading: "air %", from_width: 0, width: 5, cell: |row| percent(row.air) },
    Column { heading: "down", from_width: 0, width: 6, cell: |row| number(row.down) },
    Column { heading: "up", from_width: 0, width: 6, cell: |row| number(row.up) },
    Column { heading: "p95 ms", from_width: 0, width: 6, cell: |row| p95(row.latency.wlan) },
    Column { heading: "loss %", from_width: 0, width: 6, cell: |row| ms(row.losses.and_then(samples::percent)) },
    Column { heading: "rate", from_width: 0, width: 6, cell: |row| row.rate.clone() },
    Column { heading: "dBm", from_width: 90, width: 5, cell: |row| row.signal.clone() },
    Column { heading: "held", from_width: 96, width: 5, cell: |row| row.held.to_string() },
    Column { heading: "MAC", from_width: 116, width: 17, cell: |row| row.mac.clone().unwrap_or_default() },
    Column { heading: "box ms", from_width: 134, width: 6, cell: |row| p95(row.latency.in_box) },
    Column { heading: "queue ms", from_width: 144, width: 8, cell: |row| p95(row.latency.internet_queue) },
    Column { heading: "Internet ms", from_width: 156, width: 11, cell: |row| p95(row.latency.internet) },
];

/// Names of the first two columns of stations.
pub const STATIONS: [&str; 2] = ["name", "access point"];

/// The headings at this width of the screen; `names`: those of the first two columns.
pub fn headings(width: usize, names: [&str; 2]) -> String {
    layout(width, names, |column| column.heading.into())
}

/// A row at this width of the screen.
pub fn row(row: &Row, width: usize) -> String {
    layout(width, [&row.name, &row.access_point], |column| (column.cell)(row))
}

fn layout(width: usize, [name, access_point]: [&str; 2], cell: impl Fn(&Column) -> String) -> String {
    let columns = || COLUMNS.iter().filter(|column| column.from_width <= width);
    let numbers: usize = columns().map(|column| column.width + 1).sum();
    // A third of the rest is for the access point, and 2 for the mark of the chosen row.
    let left = width.saturating_sub(numbers + 3);
    let names = (left - left / 3).clamp(NAME, LONGEST_NAME);
    let points = left.saturating_sub(names).clamp(9, 20);
    let start = format!("{:<names$} {:<points$}", shortened(name, names), shortened(access_point, points));
    columns().fold(start, |line, column| line + &format!(" {:>1$}", cell(column), column.width))
}

/// PHY rate; "~" marks one that is inferred.
pub fn rate(rate: Value) -> String {
    let mark = if rate.source == Source::Reported { "" } else { "~" };
    rate.value.map_or_else(|| UNKNOWN.into(), |mbps| format!("{mark}{}", (mbps * 10.0).round() / 10.0))
}
