//! A checked scenario: what an engine (simulator or testbed) is handed.
//!
//! Nothing here can be wrong in itself any more: names are resolved to indices, quantities have units, rates belong to
//! the radio's standard, instants lie inside the run. The forms that people write are in [`crate::raw`]; the step from
//! one to the other is [`crate::check`]. Instants of a run are [`Span`]s since its start, because each engine has an
//! origin of its own.

use evenair_manager::ClassId;
use evenair_units::{BitRate, Bytes, Limit, Span};
use evenair_wifi::{Phy, PhyRate};
use serde::{Deserialize, Serialize};

use crate::{ManagerSpec, PhySpec};

/// One experiment, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Short name, fit for a file name (letters, digits, `-`, `_`, `.`).
    pub name: String,
    /// One line for headings.
    pub title: String,
    /// What the experiment shows and where its set-up comes from.
    pub description: String,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Length of the run.
    pub duration: Span,
    /// The wireless side: PHY profile, MAC limits, buffers.
    pub radio: Radio,
    /// Between the access point and the LAN's hosts.
    pub lan: LinkSpec,
    /// Between the LAN's router and the hosts on the Internet; present whenever a host is there.
    pub wan: Option<WanSpec>,
    /// Stations and servers, in the order of the file, groups expanded.
    pub hosts: Vec<Host>,
    /// Applications, groups expanded: one entry per station and repetition.
    pub apps: Vec<App>,
    /// The box's settings, checked against the radio once.
    pub manager: ManagerSpec,
    /// What happens when, in order of time.
    pub events: Vec<Event>,
    /// What is measured.
    pub measure: Measure,
    /// Settings of every host's TCP.
    pub tcp: TcpSpec,
    /// Numbers and findings that others published for this set-up.
    pub published: Vec<Published>,
}

/// The wireless side.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// Standard, preamble and basic rates.
    pub phy: Phy,
    /// The same, with the RTS threshold, as it was written: to be handed to a box with a configuration of its own.
    pub phy_spec: PhySpec,
    /// A packet (IP level) larger than this is preceded by RTS/CTS; never where absent.
    pub rts_threshold: Option<Bytes>,
    /// Attempts of a frame sent without RTS.
    pub short_retry_limit: u32,
    /// Attempts of a frame sent with RTS.
    pub long_retry_limit: u32,
    /// What bystanders wait after a frame that they could not decode.
    pub after_collision: AfterCollision,
    /// The access point's buffer toward the stations.
    pub ap_buffer: Limit,
    /// Each station's buffer toward the access point.
    pub station_buffer: Limit,
}

/// What a bystander waits after a frame that it could not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterCollision {
    /// EIFS, as the standard has it.
    Eifs,
    /// DIFS, as several published simulators and models have it.
    Difs,
}

/// One direction of a wired link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Bit rate; unlimited where absent.
    pub rate: Option<BitRate>,
    /// One-way delay.
    pub delay: Span,
    /// Buffer before the link.
    pub buffer: Limit,
}

/// The Internet link, each direction on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WanSpec {
    /// From the Internet toward the LAN.
    pub down: LinkSpec,
    /// From the LAN toward the Internet.
    pub up: LinkSpec,
}

/// An end system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Unique in the scenario.
    pub name: String,
    /// Where it is attached.
    pub place: Place,
}

/// Where a host is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the wireless side.
    Station {
        /// PHY rate of its data frames, both directions, until an event changes it.
        rate: PhyRate,
        /// Its weight in the manager's policy.
        weight: u32,
        /// Its class in the manager's policy.
        class: Option<ClassId>,
    },
    /// Behind the access point (and the box), on the local wire.
    Lan,
    /// Beyond the Internet link.
    Wan,
}

impl Place {
    /// Whether this is a station.
    pub fn is_station(&self) -> bool {
        matches!(self, Self::Station { .. })
    }
}

/// One application: one station talking to one server.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    /// Unique in the scenario.
    pub name: String,
    /// Index in [`Scenario::hosts`] of the station.
    pub station: usize,
    /// Index in [`Scenario::hosts`] of the server.
    pub peer: usize,
    /// Which way the data flow.
    pub direction: Direction,
    /// What it does.
    pub kind: AppKind,
    /// When it starts.
    pub start: Span,
    /// When it stops; at the end of the run where absent.
    pub stop: Option<Span>,
    /// Which IP it uses.
    pub ip: IpVersion,
}

/// Which way data flow, seen from the station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the station to the wired side.
    Up,
    /// From the wired side to the station.
    Down,
}

/// Which IP an application uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// What an application does.
#[derive(Clone, Debug, PartialEq)]
pub enum AppKind {
    /// One TCP transfer, as fast as TCP can.
    Bulk {
        /// Which program makes it.
        tool: Tool,
        /// TCP congestion control of the sender, where it differs from [`TcpSpec::congestion_control`].
        congestion_control: Option<String>,
        /// How much to send; without end where absent.
        bytes: Option<Bytes>,
    },
    /// Datagrams at a constant rate.
    Udp {
        /// Rate of UDP payload.
        rate: BitRate,
        /// UDP payload of each datagram.
        payload: Bytes,
    },
    /// A reader of web pages: a main object, then further objects over parallel connections, then a pause.
    Web {
        /// Fewest and most further objects of a page, uniform between.
        objects: (u32, u32),
        /// Sizes of objects.
        size: Pareto,
        /// Pause between the end of a page and the next request.
        think: Span,
    },
    /// UDP echo from the station to the server.
    Ping {
        /// Time between requests.
        interval: Span,
    },
}

/// Which program makes a bulk transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The engine's own sender and sink.
    Builtin,
    /// iperf3, which must be installed (testbed only).
    Iperf3,
}

/// A Pareto distribution of sizes, cut off at `cap`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// Tail exponent, above 1 so that the mean exists.
    pub alpha: f64,
    /// Mean of the distribution before it is cut off.
    pub mean: Bytes,
    /// Larger draws become this.
    pub cap: Bytes,
}

impl Pareto {
    /// The size at probability `u` (uniform in `[0, 1)`): `x_min / (1 - u)^(1/alpha)` with
    /// `x_min = mean (alpha - 1) / alpha`, at least one byte, at most the cap.
    pub fn quantile(&self, u: f64) -> Bytes {
        let smallest = self.mean.0 as f64 * (self.alpha - 1.0) / self.alpha;
        let size = smallest / (1.0 - u).powf(1.0 / self.alpha);
        Bytes((size as u64).clamp(1, self.cap.0.max(1)))
    }
}

/// Settings of every host's TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSpec {
    /// As the kernel names it ("cubic", "reno").
    pub congestion_control: String,
    /// Largest receive buffer.
    pub rmem_max: Bytes,
    /// Largest send buffer.
    pub wmem_max: Bytes,
    /// RFC 7323 timestamps (an ACK is then 52 bytes of IPv4).
    pub timestamps: bool,
    /// Selective acknowledgements, RFC 2018.
    pub sack: bool,
    /// RFC 7323 window scaling.
    pub window_scaling: bool,
    /// Explicit congestion notification, RFC 3168.
    pub ecn: bool,
}

/// Something that happens in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Span,
    /// What.
    pub action: Action,
}

/// What an event does. Hosts are indices in [`Scenario::hosts`] and are stations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The box starts to manage.
    Insert,
    /// The box drains and lets everything pass.
    Bypass,
    /// A station associates. A station whose first event is a join is absent until then.
    Join(usize),
    /// A station goes.
    Leave(usize),
    /// A station's PHY rate changes.
    Rate(usize, PhyRate),
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Length of an interval of the time series.
    pub interval: Span,
    /// Named stretches of the run over which results are averaged, in order of time.
    pub phases: Vec<Phase>,
}

/// A stretch of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Unique in the scenario; "bypassed" and "inserted" by custom.
    pub name: String,
    /// Start.
    pub from: Span,
    /// End.
    pub to: Span,
}

/// Something that others published for this set-up, to set beside the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Which result it compares to.
    pub what: Quantity,
    /// In which phase; the finding speaks of the run as a whole where absent.
    pub phase: Option<String>,
    /// The number, where one was published.
    pub value: Option<f64>,
    /// Unit of the number; empty where it has none.
    pub unit: String,
    /// Source, and what was found in words.
    pub note: String,
}

/// A result that published values can be set beside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// All IP-level bits over the WLAN hop, DATA and ACKs, Mb/s.
    Total,
    /// That part of the total that belongs to uploads (their DATA and ACKs), Mb/s.
    Up,
    /// That part of the total that belongs to downloads (their DATA and ACKs), Mb/s.
    Down,
    /// The medium's capacity C*, Mb/s.
    Capacity,
    /// Jain's index over the flows, 0 to 1.
    JainFlows,
    /// IP-level rate of one application, Mb/s.
    App(String),
    /// IP-level rate of all applications of one station, Mb/s.
    Station(String),
    /// A finding in words only.
    Finding,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pareto_sizes_have_their_mean_and_their_cap() {
        let size = Pareto { alpha: 2.5, mean: Bytes(20_000), cap: Bytes(10_000_000_000) };
        assert_eq!(size.quantile(0.0), Bytes(12_000));
        // The quantile at evenly spaced probabilities averages to the mean.
        let n = 1_000_000;
        let mean = (0..n).map(|i| size.quantile((f64::from(i) + 0.5) / f64::from(n)).0).sum::<u64>() / n as u64;
        assert!((19_900..=20_000).contains(&mean), "{mean}");
        let capped = Pareto { cap: Bytes(15_000), ..size };
        assert_eq!(capped.quantile(0.999_999), Bytes(15_000));
        assert_eq!(Pareto { mean: Bytes(1), ..size }.quantile(0.0), Bytes(1));
    }
}
