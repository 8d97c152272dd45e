//! Deviations from the standard of simulators that produced published results, as profiles with the simulators' names.
//!
//! A profile sets the defaults of keys; keys in the file override it. `standard` has no deviations and no capture, which
//! the standard does not define.
//!
//! | | after a collision | capture | attempts with RTS | largest threshold of AARF | medium before an own ACK | basic rates |
//! |---|---|---|---|---|---|---|
//! | `standard` | EIFS | none | 4 | 50 | busy | the usual |
//! | `ns-2` | EIFS, then DIFS; senders: SIFS and ACK | 10 dB over each other | 4 | 50 | busy | the lowest alone |
//! | `ns-3` | DIFS | 5 dB over all others | 7 | 60 | idle | the usual |
//! | `qualnet` | EIFS | 10 dB over all others | 4 | 50 | busy | the usual |
//!
//! With 802.11n and later, `ns-3` also has its durations ([`evenair_wifi::Phy::with_ns3_durations`]), its way to aggregate
//! ([`evenair_medium::Aggregation::ns3`]) and its EDCA parameters.
//!
//! Sources:
//! - ns-2: `mac/mac-802_11.cc` (2.35). A frame that arrives while another is received is ignored if that one is stronger by
//!   `CPThresh_`, by default 10 dB, else both are lost; two signals at a time are compared (`recv`). After a collision other
//!   nodes set their NAV for EIFS and wait DIFS after it (`recv_timer`, `navHandler`); a sender draws its back-off when the
//!   time of an ACK is over, and counts at once (`RetransmitDATA`). Not implemented: it draws from one slot less than its
//!   contention window. If stations are hidden from each other, senders wait as in the standard. `ns-default.tcl` sets
//!   `Mac/802_11 basicRate_ 1Mb`, the rate of all control frames.
//! - ns-3: `threshold-preamble-detection-model` is on by default and detects no preamble below 4 dB of SINR, so that after
//!   a collision other nodes sense energy only and resume after DIFS; `simple-frame-capture-model` has a margin of 5 dB,
//!   and interference adds up (`interference-helper`); the documentation of `WifiRemoteStationManager` gives 7 attempts for
//!   long frames, too, that of `AarfWifiManager` a threshold of up to 60. `ChannelAccessManager::NeedBackoffUponAccess`
//!   checks whether the medium is busy at this very moment, which is not so between a frame and the node's own ACK: a reply
//!   that is ready at once, such as a TCP acknowledgment of a station that has nothing else to send, needs no back-off.
//!   Implemented if all nodes hear each other.
//! - QualNet and its predecessor GloMoSim: a frame is received where its signal exceeds noise and the sum of interference
//!   by 10 dB (M. Takai, J. Martin, R. Bagrodia, "Effects of wireless physical layer modeling in mobile ad hoc networks",
//!   MobiHoc 2001; `RADIO-RX-SNR-THRESHOLD` of GloMoSim's default configuration).

use evenair_medium::{AfterCollision, Capture, Interference};
use evenair_units::Db;

/// A named bundle of deviations from the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// No deviations.
    Standard,
    /// Deviations of ns-2.
    Ns2,
    /// Deviations of ns-3.
    Ns3,
    /// Deviations of QualNet.
    QualNet,
}

/// Settings of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quirks {
    pub profile: Profile,
    pub after_collision: AfterCollision,
    pub capture: Option<Capture>,
    pub over: Interference,
    pub long_retry_limit: u32,
    pub aarf_most: u32,
    pub idle_before_ack: bool,
    /// Whether the lowest mandatory rate is the only basic rate.
    pub lowest_basic_rate: bool,
}

impl Profile {
    pub(crate) fn quirks(self) -> Quirks {
        let capture = |decibels: i32, over| Some(Capture { threshold: Db::from_milli(decibels * 1_000), over });
        let standard = Quirks {
            profile: self,
            after_collision: AfterCollision::Eifs,
            capture: None,
            over: Interference::Sum,
            long_retry_limit: 4,
            aarf_most: 50,
            idle_before_ack: false,
            lowest_basic_rate: false,
        };
        match self {
            Self::Standard => standard,
            Self::Ns2 => Quirks {
                after_collision: AfterCollision::EifsThenDifs,
                capture: capture(10, Interference::Strongest),
                over: Interference::Strongest,
                lowest_basic_rate: true,
                ..standard
            },
            Self::Ns3 => Quirks {
                after_collision: AfterCollision::Difs,
                capture: capture(5, Interference::Sum),
                long_retry_limit: 7,
                aarf_most: 60,
                idle_before_ack: true,
                ..standard
            },
            Self::QualNet => Quirks { capture: capture(10, Interference::Sum), ..standard },
        }
    }
}
