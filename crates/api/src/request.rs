//! Requests to a box, and its responses.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{NamedStation, StationName, Status};

/// A request to a box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Insert the box. Answered when the box carries the traffic.
    Insert,
    /// Bypass the box. Answered when the queues have drained and the bridge carries the traffic. Refused if it cannot.
    Bypass {
        /// Bypass although the bridge cannot carry the traffic, so that nothing does.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Measure the bridge's traffic, and change nothing. Answered when the queues have drained, the bridge carries the
    /// traffic and the box observes. Refused if the bridge cannot carry it.
    Observe {
        /// Observe although the bridge cannot carry the traffic.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Return the whole status, with at most the 1000 most recently used flows.
    Status,
    /// Set a station's PHY rate on behalf of the operator.
    SetRate {
        /// The station's MAC address.
        mac: String,
        /// Its PHY rate in Mb/s. Without it and without `mode` the station has left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_mbps: Option<f64>,
        /// Its mode of 802.11n or later instead of the rate: "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<String>,
    },
    /// Report how many packets an access point has lost so far on the way to its stations, from a counter such as
    /// `ifOutDiscards`, for the upload limiter. Without reports for ten of its intervals the limiter infers losses.
    Losses {
        /// Any MAC address that identifies the access point.
        access_point: String,
        /// The counter's total, since any time.
        total: u64,
    },
    /// Report a station's network, for classes that use it.
    Network {
        /// Its MAC address.
        mac: String,
        /// The network's name; `None`: unknown.
        #[serde(default)]
        ssid: Option<String>,
    },
    /// Report a station's access point: it is served on that one's medium, and its held packets move along.
    At {
        /// Its MAC address.
        mac: String,
        /// A name of the access point, or the address of its radio (BSSID); `None`: unknown.
        #[serde(default)]
        access_point: Option<String>,
    },
    /// Report a station's group of the operator, for classes that use it.
    Group {
        /// Its MAC address.
        mac: String,
        /// The group's name; `None`: no group.
        #[serde(default)]
        group: Option<String>,
    },
    /// Read the configuration file again and apply its manager settings, radio and stations. A file that is invalid, or
    /// that changes anything else, is refused and changes nothing.
    Reconfigure {
        /// Another file than that at the start of the box.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<PathBuf>,
        /// Only check whether the file would be accepted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        check: bool,
    },
    /// Name a station persistently.
    Name {
        /// The station's MAC address.
        mac: String,
        /// Its name, 1 to 64 characters; `None` removes the operator's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Return all names except those of DHCP.
    Names,
    /// A part of a table of names, in as many requests of one connection as necessary: a line has at most 64 KiB. The names take
    /// effect with the part that completes the table, all of them or none.
    ImportNames {
        /// Number of names before this part: 0 begins a table.
        at: usize,
        /// Number of names of the whole table.
        total: usize,
        /// The names of this part.
        names: Vec<StationName>,
    },
    /// Bypass, then end. Answered with the final status. Refused if the bridge cannot carry the traffic.
    Shutdown {
        /// End although the bridge cannot carry the traffic.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
}

/// A response of a box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Whether the request was executed.
    pub ok: bool,
    /// Why it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The status, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Box<Status>>,
    /// Names of stations, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<NamedStation>>,
}
