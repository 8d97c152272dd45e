//! What a box can be asked, and what it answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{NamedStation, StationName, Status};

/// What a box can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Start to manage. Answered when the box carries the traffic.
    Insert,
    /// Stop to manage. Answered when the queues have drained and the bridge carries the traffic. Refused where it cannot.
    Bypass {
        /// Even where the bridge cannot carry the traffic, so that nothing does.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Measure what the bridge carries, and change nothing. Answered when the queues have drained, the bridge carries the
    /// traffic and the box looks on. Refused where the bridge cannot carry it.
    Observe {
        /// Even so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Return the whole status, with only the 1000 most recently used TCP connections.
    Status,
    /// Set a station's PHY rate: the operator's.
    SetRate {
        /// The station's MAC address.
        mac: String,
        /// Its PHY rate in Mb/s. Without it and without `mode` the station has left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_mbps: Option<f64>,
        /// Its mode of 802.11n or later in place of the rate: "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<String>,
    },
    /// Learn how many packets an access point has lost so far on the way to its stations, from a counter such as
    /// `ifOutDiscards`: the upload limiter uses it. Without reports for ten of its intervals the limiter infers losses.
    Losses {
        /// Any MAC address that names the access point.
        access_point: String,
        /// The total since whenever.
        total: u64,
    },
    /// A station is in this network now, for classes that ask for it.
    Network {
        /// Its MAC address.
        mac: String,
        /// The network's name; none: it is not known any more.
        #[serde(default)]
        ssid: Option<String>,
    },
    /// A station is at this access point now: it is served on that one's medium, and what is held for it goes along.
    At {
        /// Its MAC address.
        mac: String,
        /// A name of the access point, or the address of its radio (BSSID); none: it is not known any more.
        #[serde(default)]
        access_point: Option<String>,
    },
    /// A station belongs to this group of the operator's, for classes that ask for it.
    Group {
        /// Its MAC address.
        mac: String,
        /// The group's name; none: to none.
        #[serde(default)]
        group: Option<String>,
    },
    /// Read the configuration file again and take its manager settings, radio and stations. A file that is wrong, or that
    /// changes anything else, is refused and changes nothing.
    Reconfigure {
        /// Another file than the one the box was started with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<PathBuf>,
        /// Only say whether the file would be taken.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        check: bool,
    },
    /// Name a station. Kept over restarts.
    Name {
        /// The station's MAC address.
        mac: String,
        /// Its name, 1 to 64 characters; none: it has no name of the operator's any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Return all names but those of DHCP.
    Names,
    /// A part of a table of names, in as many requests of one connection as it takes: a line has at most 64 KiB. The names are in
    /// force with the part that completes the table, all of them or none.
    ImportNames {
        /// Names before this part: 0 begins a table.
        at: usize,
        /// Names of the whole table.
        total: usize,
        /// The names of this part.
        names: Vec<StationName>,
    },
    /// Bypass, then end. Answered with the final status. Refused where the bridge cannot carry the traffic.
    Shutdown {
        /// Even so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
}

/// What a box answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Whether it was done.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its state, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Box<Status>>,
    /// Names of stations, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<NamedStation>>,
}
