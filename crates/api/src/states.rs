//! States of a box and of what it manages, as words.

use serde::{Deserialize, Deserializer};

use crate::words::string_enum;

string_enum! {
    /// What the box does with the traffic.
    pub enum Mode {
        /// The bridge carries it.
        #[default]
        Bypassed = "bypassed",
        /// The bridge carries it, and the box measures it.
        Observing = "observing",
        /// The box carries and manages it.
        Inserted = "inserted",
        /// The box carries what it still holds, and is bypassed when that is gone.
        Draining = "draining",
    }
}

string_enum! {
    /// A command that changes the mode.
    pub enum ModeCommand {
        /// To manage the traffic.
        Insert = "insert",
        /// To leave it to the bridge.
        #[default]
        Bypass = "bypass",
        /// To leave it to the bridge, and measure it.
        Observe = "observe",
    }
}

impl ModeCommand {
    /// The mode to which it leads.
    pub const fn mode(self) -> Mode {
        match self {
            Self::Insert => Mode::Inserted,
            Self::Bypass => Mode::Bypassed,
            Self::Observe => Mode::Observing,
        }
    }
}

string_enum! {
    /// Who carries the traffic.
    pub enum Carrier {
        /// The bridge.
        #[default]
        Bridge = "bridge",
        /// The box.
        Box = "box",
        /// The box still carries what it holds, the bridge all that comes; or, of several packet loops, they differ.
        Releasing = "releasing",
        /// The bridge should, and cannot.
        Nobody = "nobody",
    }
}

string_enum! {
    /// What the guard against harm is at.
    pub enum GuardState {
        /// It watches.
        #[default]
        Watching = "watching",
        /// It holds nothing for a moment, to see what is carried.
        Loosened = "loosened",
        /// The box had bypassed itself, and is inserted again to see whether it may help now.
        Trying = "trying",
        /// The box has bypassed itself, without a command.
        Bypassed = "bypassed",
    }
}

string_enum! {
    /// What probes are used for in a contention domain.
    pub enum ProbeState {
        /// There are none.
        #[default]
        Off = "off",
        /// None are needed.
        Idle = "idle",
        /// Their answers show how far the access point's queue has come.
        Used = "used",
        /// Their answers do not wait behind what was released, as where an access point answers in the stations' place (proxy
        /// ARP) or queues by station or flow.
        Disbelieved = "disbelieved",
    }
}

string_enum! {
    /// Where the PHY rate of a station comes from.
    pub enum RateSource {
        /// Telemetry, or the operator.
        Reported = "reported",
        /// It is not reported, but inferred from the airtime that packets to the station really take, compared with packets to the
        /// others. It counts for airtime only: the real rate may be another one.
        Inferred = "inferred",
        /// Neither: there is no rate, and the station is charged by `default_rate` of the configuration.
        #[default]
        Unknown = "unknown",
    }
}

/// The source of a rate as a word, or in the former key `rate_reported`: whether the rate was reported.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenRateSource {
    Word(RateSource),
    IsReported(bool),
}

/// Reads the source of a rate, also from boxes and history files of contract version 1. These do not say whether an unreported
/// rate was inferred or the default, so it is unknown.
pub(crate) fn read_rate_source<'de, D: Deserializer<'de>>(from: D) -> Result<RateSource, D::Error> {
    WrittenRateSource::deserialize(from).map(|written| match written {
        WrittenRateSource::Word(source) => source,
        WrittenRateSource::IsReported(true) => RateSource::Reported,
        WrittenRateSource::IsReported(false) => RateSource::Unknown,
    })
}

string_enum! {
    /// The direction of a flow's data.
    pub enum Direction {
        /// From the station.
        #[default]
        Up = "up",
        /// To the station.
        Down = "down",
    }
}

string_enum! {
    /// The codec of a call, as far as its packets show.
    pub enum Codec {
        /// ITU-T G.711.
        G711 = "g711",
        /// ITU-T G.729.
        G729 = "g729",
        /// Another, or unknown.
        #[default]
        Other = "other",
    }
}
