//! The configuration of the PHY profile of a BSS.

use evenair_reader::{FromWritten, List, OrDefault, Problems, Scalar, Written, ranges};
use evenair_units::{BitRate, Bytes};
use evenair_wifi::{Band, Phy, PhyMode, PhyRate, Preamble, Standard};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

ranges! {
    /// RTS thresholds: up to the largest IP packet (RFC 791), for which RTS is never sent.
    pub RtsThresholds: Bytes = "0 to 65535 bytes";
}

/// PHY profile of the BSS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhySpec {
    /// Standard of the BSS: its rates, slot and inter-frame spaces.
    pub standard: Written<Standard>,
    /// Band of 802.11n and 802.11ax: "2.4 GHz" or "5 GHz" (and 6 GHz). Default: that of the standard, or "5 GHz".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Written<Band>>,
    /// Preamble of 802.11b frames. Default: "long".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble: Option<Written<Preamble>>,
    /// Rates of ACK, RTS and CTS: an ACK or CTS uses the highest of them that does not exceed the DATA frame's rate. Default: 1
    /// and 2 Mb/s for 802.11b, 6, 12 and 24 Mb/s otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_rates: Option<List<BitRate>>,
    /// IP packets larger than this are sent with RTS/CTS. Default: no RTS/CTS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<Written<Bytes, RtsThresholds>>,
}

/// The PHY rate of `standard`, or a problem that lists the rates.
pub fn phy_rate(standard: Standard, written: &Written<BitRate>, problems: &mut Problems) -> Option<PhyRate> {
    let rate = written.get(problems)?;
    let found = standard.rate(rate);
    if found.is_none() {
        let rates: Vec<_> = standard.rates().iter().map(|rate| format!("\"{rate} Mb/s\"")).collect();
        problems.add(written.span(), format!("{written} is not a rate of {standard}"), rates.join(", "));
    }
    found
}

/// The PHY rate of a station: a bit rate, or a mode of 802.11n and later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSpec {
    /// A bit rate. Of several modes with this rate: the newest format in the narrowest channel with the fewest streams.
    BitRate(BitRate),
    /// MCS, width, streams and guard interval.
    Mode(PhyMode),
}

impl RateSpec {
    /// The rate in the first of these PHY profiles that has it.
    pub fn in_any(self, phys: &[Phy]) -> Option<PhyRate> {
        phys.iter().find_map(|phy| match self {
            Self::BitRate(rate) => phy.data_rate(rate),
            Self::Mode(mode) => Some(mode.into()).filter(|&rate| phy.takes(rate)),
        })
    }
}

impl FromWritten for RateSpec {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Text(text) if text.contains("MCS") => {
                text.parse().map(Self::Mode).map_err(|error| format!("\"{text}\": {error}"))
            }
            _ => BitRate::from_written(scalar).map(Self::BitRate),
        }
    }

    fn allowed() -> String {
        "a PHY rate such as \"54 Mb/s\", or a mode such as \"HE MCS 7, 80 MHz, 2 streams, GI 0.8 us\"".into()
    }

    fn schema() -> Schema {
        let mode = json_schema!({
            "type": "string",
            "pattern": "^(HT|VHT|HE) MCS [0-9]+(, [^,]+)*$",
            "examples": ["HE MCS 7, 80 MHz, 2 streams, GI 0.8 us"],
        });
        json_schema!({ "anyOf": [BitRate::schema(), mode] })
    }
}

/// The rate of a station in a domain of one of these PHY profiles, or a problem that lists the rates.
pub fn station_rate(phys: &[Phy], written: &Written<RateSpec>, problems: &mut Problems) -> Option<PhyRate> {
    let found = written.get(problems)?.in_any(phys);
    if found.is_none() {
        let names: Vec<_> = phys.iter().map(|phy| phy.standard().to_string()).collect();
        let rates = phys.iter().flat_map(|phy| phy.standard().rates());
        let mut rates: Vec<_> = rates.map(|rate| format!("\"{rate} Mb/s\"")).collect();
        if phys.iter().any(|phy| !phy.standard().formats().is_empty()) {
            rates.push("the rate of a mode, such as \"65 Mb/s\", or a mode, such as \"HT MCS 7\"".to_owned());
        }
        problems.add(written.span(), format!("{written} is not a rate of {}", names.join(" or ")), rates.join(", "));
    }
    found
}

impl PhySpec {
    /// Checks a file with the standard of this profile. If that is wrong, checks it with each standard, and reports what is wrong with
    /// all of them.
    pub fn with_standard<T>(
        &self,
        problems: &mut Problems,
        mut check: impl FnMut(Standard, &mut Problems) -> T,
    ) -> Option<T> {
        if let Some(standard) = self.standard.get(problems) {
            return Some(check(standard, problems));
        }
        let each = Standard::ALL.map(|standard| {
            let mut found = Problems::default();
            check(standard, &mut found);
            found
        });
        problems.add_common(&each);
        None
    }

    /// The profile with this standard, and the RTS threshold; the usual ones in place of what is wrong.
    pub fn check(&self, standard: Standard, problems: &mut Problems) -> (Phy, Option<Bytes>) {
        let threshold = self.rts_threshold.get_optional(problems).flatten();
        let preamble = self.preamble.get_or(Preamble::Long, problems);
        if preamble == Some(Preamble::Short) && standard != Standard::Dot11b {
            let what = format!("{standard} has no short preamble");
            problems.add(self.preamble.place(), what, "\"long\"");
        }
        let basic = match &self.basic_rates {
            Some(list) => list.get(problems).and_then(|_| {
                let rates: Vec<_> = list.items().iter().map(|rate| phy_rate(standard, rate, problems)).collect();
                rates.into_iter().collect::<Option<Vec<_>>>()
            }),
            // The same as `Phy::default_for`, which ignores the preamble.
            None if standard == Standard::Dot11b => Some(standard.rates()[..2].to_vec()),
            None => Some(standard.mandatory_rates().to_vec()),
        };
        let phy = preamble.zip(basic).and_then(|(preamble, basic)| Phy::new(standard, preamble, &basic).ok());
        let phy = phy.unwrap_or(Phy::default_for(standard));
        let band = self.band.get_optional(problems).flatten().unwrap_or(phy.band());
        let phy = phy.clone().in_band(band).unwrap_or_else(|error| {
            problems.add(self.band.place(), error.to_string(), "the standard's own band");
            phy
        });
        (phy, threshold)
    }
}
