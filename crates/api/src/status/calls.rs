//! Calls and their quality.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Codec;

/// A call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallStatus {
    /// MAC address of its station.
    pub station: String,
    /// Its other end.
    pub peer: String,
    /// Its codec, as far as its packets show.
    pub codec: Codec,
    /// Why it does not go first, in words; none: it does.
    pub refused: Option<String>,
    /// Seconds since it was found.
    #[serde(default)]
    pub lasts_s: f64,
    /// Packets toward the station since it was found.
    pub to_station: u64,
    /// Packets from the station since it was found.
    pub from_station: u64,
    /// How it is heard at the station.
    #[serde(default)]
    pub down: SpeechStatus,
    /// How the station is heard.
    #[serde(default)]
    pub up: SpeechStatus,
}

/// One direction of a call, since it was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpeechStatus {
    /// Packets that came to the box.
    pub packets: u64,
    /// Packets that did not, by the numbers of RTP; none: it is no RTP.
    pub lost: Option<u64>,
    /// Packets that the box dropped.
    pub dropped: u64,
    /// Part of all packets that were lost before the box or in it, in percent.
    pub loss_percent: f64,
    /// Interarrival jitter of RFC 3550, section 6.4.1: toward the station as packets leave the box, from it as they come.
    pub jitter_ms: Option<f64>,
    /// How long packets waited in the box, mean.
    pub waited_mean_ms: f64,
    /// The longest.
    pub waited_max_ms: f64,
    /// How long packets wait in the access point, by what stood there when they were released: mean. Toward the station
    /// alone.
    pub wlan_mean_ms: Option<f64>,
    /// Rating factor R of the E-model, 0 to 93.2, for the part that the box can measure; none: no packets.
    pub r_factor: Option<f64>,
    /// The mean opinion score for this R, 1 to 4.5.
    pub mos: Option<f64>,
}

impl SpeechStatus {
    /// A short text.
    pub fn in_short(&self) -> String {
        let or_dash = |value: Option<f64>, unit: &str| value.map_or_else(|| "-".into(), |ms| format!("{ms:.1}{unit}"));
        format!(
            "R {} MOS {} loss {:.1} % jitter {} waits {:.1} ms here, {} in the access point",
            or_dash(self.r_factor, ""),
            or_dash(self.mos, ""),
            self.loss_percent,
            or_dash(self.jitter_ms, " ms"),
            self.waited_mean_ms,
            or_dash(self.wlan_mean_ms, " ms"),
        )
    }
}
