//! A scenario as it is written. See `docs/scenario-format.md` for the reference with examples; the comments here are
//! what editors show.

use evenair_units::{BitRate, Bytes, Limit, Span};
use evenair_wifi::{Preamble, Standard};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{List, Written};
use crate::words::{At, Count, Do, Measured, What};
use crate::{AfterCollision, Direction, IpVersion, ManagerSpec, PhySpec, Tool};

/// One experiment: who talks to whom over which radio, what happens when, and what is measured.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioRaw {
    /// Version of the format: 1.
    pub version: Written<u32>,
    /// Short name, fit for a file name.
    pub name: Written<String>,
    /// One line for headings. Default: the name.
    pub title: Option<Written<String>>,
    /// What the experiment shows and where its set-up comes from. Default: empty.
    pub description: Option<Written<String>>,
    /// Seed of all random streams. Default: 1.
    pub seed: Option<Written<u64>>,
    /// Length of the run.
    pub duration: Written<Span>,
    /// The wireless side.
    pub radio: RadioRaw,
    /// The wire between the access point and the servers on the LAN.
    #[serde(default)]
    pub lan: LinkRaw,
    /// The Internet link; needed by servers that are at "wan".
    pub wan: Option<WanRaw>,
    /// Stations, or groups of like stations.
    #[serde(default)]
    pub station: Vec<StationRaw>,
    /// Servers: hosts on the wired side.
    #[serde(default)]
    pub server: Vec<ServerRaw>,
    /// TCP transfers as fast as TCP can.
    #[serde(default)]
    pub bulk: Vec<BulkRaw>,
    /// Datagrams at a constant rate.
    #[serde(default)]
    pub udp: Vec<UdpRaw>,
    /// Readers of web pages.
    #[serde(default)]
    pub web: Vec<WebRaw>,
    /// UDP echo from stations to a server.
    #[serde(default)]
    pub ping: Vec<PingRaw>,
    /// Settings of every host's TCP.
    #[serde(default)]
    pub tcp: TcpRaw,
    /// Settings of the manager in the box.
    #[serde(default)]
    pub manager: ManagerSpec,
    /// What happens when.
    #[serde(default)]
    pub event: Vec<EventRaw>,
    /// How time series are taken.
    #[serde(default)]
    pub measure: MeasureRaw,
    /// Stretches of the run over which results are averaged. Default: one, "all", the whole run.
    #[serde(default)]
    pub phase: Vec<PhaseRaw>,
    /// Numbers and findings published for this set-up, shown beside the results.
    #[serde(default)]
    pub published: Vec<PublishedRaw>,
}

/// The wireless side.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RadioRaw {
    /// Standard of the BSS: its rates, slot and inter-frame spaces.
    pub standard: Written<Standard>,
    /// Preamble of 802.11b frames. Default: "long".
    pub preamble: Option<Written<Preamble>>,
    /// Rates at which ACK, RTS and CTS may be sent: an answer uses the highest that is not above the DATA frame's rate.
    /// Default: 1 and 2 Mb/s for 802.11b, 6, 12 and 24 Mb/s otherwise.
    pub basic_rates: Option<List<BitRate>>,
    /// IP packets larger than this are sent after RTS/CTS. Default: none are.
    pub rts_threshold: Option<Written<Bytes>>,
    /// Attempts of a frame sent without RTS, and of an RTS. Default: 7.
    pub short_retry_limit: Option<Written<u32>>,
    /// Attempts of a frame sent after RTS/CTS. Default: 4.
    pub long_retry_limit: Option<Written<u32>>,
    /// What bystanders wait after a frame that they could not decode: "eifs" (the standard) or "difs" (several
    /// published simulators and Bianchi's model). Default: "eifs".
    pub after_collision: Option<Written<AfterCollision>>,
    /// The access point's buffer toward the stations; IP-level sizes count. Default: "100 packets".
    pub ap_buffer: Option<Written<Limit>>,
    /// Each station's buffer toward the access point. Default: "1000 packets".
    pub station_buffer: Option<Written<Limit>>,
}

impl RadioRaw {
    /// The part that the box's own configuration has too.
    pub fn phy_spec(&self) -> PhySpec {
        PhySpec {
            standard: self.standard.clone(),
            preamble: self.preamble.clone(),
            basic_rates: self.basic_rates.clone(),
            rts_threshold: self.rts_threshold.clone(),
        }
    }
}

/// One direction of a wired link.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkRaw {
    /// Bit rate. Default: unlimited.
    pub rate: Option<Written<BitRate>>,
    /// One-way delay. Default: "0 ms".
    pub delay: Option<Written<Span>>,
    /// Buffer before the link. Default: "1000 packets".
    pub buffer: Option<Written<Limit>>,
}

/// The Internet link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WanRaw {
    /// From the Internet toward the stations.
    pub down: LinkRaw,
    /// From the stations toward the Internet.
    pub up: LinkRaw,
}

/// A station, or a group of like stations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StationRaw {
    /// Its name; with a count, NAME1, NAME2 and so on, and NAME means all of them.
    pub name: Written<String>,
    /// How many there are. Default: one, without a number.
    pub count: Option<Written<Count>>,
    /// PHY rate of its data frames in both directions.
    pub rate: Written<BitRate>,
    /// Its share in the manager's policy, relative to other stations. Default: 1.
    pub weight: Option<Written<u32>>,
    /// Its class in the manager's policy, one of [[manager.class]]. Default: none.
    pub class: Option<Written<String>>,
}

/// A host on the wired side.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerRaw {
    /// Its name.
    pub name: Written<String>,
    /// Where it is: "lan", or "wan" beyond the Internet link. Default: "lan".
    pub at: Option<Written<At>>,
}

/// The keys that all applications share.
pub(crate) struct Common<'a> {
    pub name: &'a Written<String>,
    pub stations: &'a List<String>,
    pub server: &'a Written<String>,
    pub per_station: &'a Option<Written<Count>>,
    pub start: &'a Option<Written<Span>>,
    pub stagger: &'a Option<Written<Span>>,
    pub stop: &'a Option<Written<Span>>,
    pub ip: &'a Option<Written<IpVersion>>,
}

/// Declares a kind of application with the shared keys and its own. (Flattening one struct into another would lose
/// the places of values in the file.)
macro_rules! application {
    ($(#[$meta:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            /// Its name; where there are several, NAME1, NAME2 and so on.
            pub name: Written<String>,
            /// Stations and groups of stations that each have it.
            pub stations: List<String>,
            /// The server at the other end.
            pub server: Written<String>,
            /// How many each station has. Default: 1.
            pub per_station: Option<Written<Count>>,
            /// When the first starts. Default: "0 s".
            pub start: Option<Written<Span>>,
            /// Time from one start to the next. Default: "0 s".
            pub stagger: Option<Written<Span>>,
            /// When all stop. Default: at the end of the run.
            pub stop: Option<Written<Span>>,
            /// Which IP it uses: "v4" or "v6". Default: "v4".
            pub ip: Option<Written<IpVersion>>,
            $($own)*
        }

        impl $name {
            pub fn common(&self) -> Common<'_> {
                let Self { name, stations, server, per_station, start, stagger, stop, ip, .. } = self;
                Common { name, stations, server, per_station, start, stagger, stop, ip }
            }
        }
    };
}

application!(
    /// TCP transfers as fast as TCP can.
    BulkRaw {
        /// "up" sends from the station, "down" to it.
        pub direction: Written<Direction>,
        /// What makes the transfer: "builtin" or "iperf3" (testbed only; must be installed). Default: "builtin".
        pub tool: Option<Written<Tool>>,
        /// Congestion control of its sender. Default: that of [tcp].
        pub congestion_control: Option<Written<String>>,
        /// How much to send. Default: without end.
        pub size: Option<Written<Bytes>>,
    }
);

application!(
    /// Datagrams at a constant rate.
    UdpRaw {
        /// "up" sends from the station, "down" to it.
        pub direction: Written<Direction>,
        /// Rate of UDP payload.
        pub rate: Written<BitRate>,
        /// UDP payload of a datagram. Default: "1000 bytes".
        pub payload: Option<Written<Bytes>>,
    }
);

application!(
    /// Readers of web pages: a main object, further objects over parallel connections, a pause, the next page.
    WebRaw {
        /// Fewest further objects of a page. Default: 1.
        pub objects_min: Option<Written<u32>>,
        /// Most further objects of a page. Default: 6.
        pub objects_max: Option<Written<u32>>,
        /// Tail exponent of the Pareto distribution of object sizes. Default: 1.1.
        pub size_alpha: Option<Written<f64>>,
        /// Mean of that distribution, before it is cut off. Default: "20 kB".
        pub size_mean: Option<Written<Bytes>>,
        /// Largest object. Default: "10 MB".
        pub size_cap: Option<Written<Bytes>>,
        /// Pause between the end of a page and the next request. Default: "1 s".
        pub think: Option<Written<Span>>,
    }
);

application!(
    /// UDP echo from stations to a server.
    PingRaw {
        /// Time between requests. Default: "200 ms".
        pub interval: Option<Written<Span>>,
    }
);

/// Settings of every host's TCP.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TcpRaw {
    /// Congestion control, as the kernel names it. Default: "cubic".
    pub congestion_control: Option<Written<String>>,
    /// Largest receive buffer. Default: "8 MB".
    pub receive_buffer: Option<Written<Bytes>>,
    /// Largest send buffer. Default: "8 MB".
    pub send_buffer: Option<Written<Bytes>>,
    /// RFC 7323 timestamps. Default: true.
    pub timestamps: Option<Written<bool>>,
    /// Selective acknowledgements. Default: true.
    pub sack: Option<Written<bool>>,
    /// RFC 7323 window scaling. Default: true.
    pub window_scaling: Option<Written<bool>>,
    /// Explicit congestion notification. Default: false.
    pub ecn: Option<Written<bool>>,
}

/// Something that happens.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventRaw {
    /// When.
    pub at: Written<Span>,
    /// What: "insert" or "bypass" the manager; a station's "join", "leave" or "rate" change.
    #[serde(rename = "do")]
    pub action: Written<Do>,
    /// Stations and groups that join, leave or change their rate.
    pub stations: Option<List<String>>,
    /// The new PHY rate.
    pub rate: Option<Written<BitRate>>,
}

/// How time series are taken.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureRaw {
    /// Length of an interval of the time series. Default: "1 s".
    pub interval: Option<Written<Span>>,
}

/// A stretch of the run over which results are averaged.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhaseRaw {
    /// Its name; "bypassed" and "inserted" by custom.
    pub name: Written<String>,
    /// Its start.
    pub from: Written<Span>,
    /// Its end.
    pub to: Written<Span>,
}

/// A number or finding published for this set-up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishedRaw {
    /// Which result it compares to: "total", "up", "down", "capacity" (C*), "jain_flows", "app", "station", or
    /// "finding" for words alone.
    pub what: Written<What>,
    /// The application or station, for "app" and "station".
    pub of: Option<Written<String>>,
    /// The phase it speaks of. Default: the run as a whole.
    pub phase: Option<Written<String>>,
    /// The value: a rate such as "4.8 Mb/s", or a plain number for "jain_flows"; none for "finding".
    pub value: Option<Written<Measured>>,
    /// Source, and what was found in words.
    pub note: Written<String>,
}
