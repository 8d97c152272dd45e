//! The control socket of a running box: one JSON object per line, one reply per line.
//!
//! ```text
//! {"command":"insert"}                                                  {"ok":true}
//! {"command":"set-rate","mac":"02:00:00:00:00:01","rate_mbps":5.5}      {"ok":true}
//! {"command":"losses","access_point":"02:00:00:00:00:09","total":12} {"ok":true}
//! {"command":"status"}                                                  {"ok":true,"status":{...}}
//! {"command":"set-rate","mac":"02:00:00:00:00:01","rate_mbps":5}        {"ok":false,"error":"..."}
//! ```
//!
//! The server disconnects a client without a request for ten seconds, and sooner if others need its slot (`slots`). Errors in a
//! file that a request names are reported with line, column and key, but without the text of the line: the box may be able to
//! read files that its client may not.
//!
//! Separate threads serve the socket, so that neither a slow reader nor the formatting of JSON delays a packet: they request
//! only raw numbers from the loop.

mod calls;
mod client;
mod domains;
mod hangup;
mod server;
mod shards;
mod slots;
mod status;
mod telemetry;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use crate::fail_open::FailOpenStatus;
pub use calls::{CallStatus, SpeechStatus};
pub(crate) use calls::{codec_word, refusal_word};
pub use client::{Client, ClientError};
pub(crate) use domains::guard_text;
pub use domains::{DomainStatus, GuardStatus};
pub(crate) use hangup::Hangup;
pub(crate) use server::{Answer, Asked, Desk, Server, Wish};
pub use shards::ShardStatus;
pub(crate) use shards::merge;
#[cfg(test)]
pub(crate) use status::tests_support;
pub use status::{
    ClassStatus, FlowStatus, HoldStatus, PacingStatus, PacketStatus, PoolStatus, PortStatus, RecordingStatus,
    StationStatus, Status, UplinkStatus,
};
pub(crate) use status::{OBSERVING, Snapshot, mode_word};
pub use telemetry::{SourceStatus, StationToldStatus, ToldStatus};

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
        /// Its PHY rate in Mb/s; absent: the station has left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_mbps: Option<f64>,
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_what_the_documentation_shows() {
        let parse = |text: &str| serde_json::from_str::<Request>(text);
        assert_eq!(parse(r#"{"command":"insert"}"#).expect("right"), Request::Insert);
        assert_eq!(parse(r#"{"command":"observe"}"#).expect("right"), Request::Observe { force: false });
        assert!(
            parse(r#"{"command":"observe","mac":"02:00:00:00:00:01","rate_mbps":5.5}"#).is_err(),
            "its old meaning"
        );
        let rate = parse(r#"{"command":"set-rate","mac":"02:00:00:00:00:01","rate_mbps":5.5}"#).expect("right");
        assert_eq!(rate, Request::SetRate { mac: "02:00:00:00:00:01".into(), rate_mbps: Some(5.5) });
        assert!(parse(r#"{"command":"set-rate","mac":"02:00:00:00:00:01","rate":5.5}"#).is_err());
        let losses = parse(r#"{"command":"losses","access_point":"02:00:00:00:00:09","total":12}"#).expect("right");
        assert_eq!(losses, Request::Losses { access_point: "02:00:00:00:00:09".into(), total: 12 });
        let group = parse(r#"{"command":"group","mac":"02:00:00:00:00:01","group":"staff"}"#).expect("right");
        assert_eq!(group, Request::Group { mac: "02:00:00:00:00:01".into(), group: Some("staff".into()) });
        let at = parse(r#"{"command":"at","mac":"02:00:00:00:00:01","access_point":"hall"}"#).expect("right");
        assert_eq!(at, Request::At { mac: "02:00:00:00:00:01".into(), access_point: Some("hall".into()) });
        assert_eq!(parse(r#"{"command":"bypass","force":true}"#).expect("right"), Request::Bypass { force: true });
        assert!(parse(r#"{"command":"explode"}"#).is_err());
        assert_eq!(
            serde_json::to_string(&Request::Bypass { force: false }).expect("serialises"),
            r#"{"command":"bypass"}"#
        );
    }
}
