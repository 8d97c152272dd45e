//! The configuration of the PHY profile of a BSS.

use evenair_reader::{List, OrDefault, Problems, Written, ranges};
use evenair_units::{BitRate, Bytes};
use evenair_wifi::{Phy, PhyRate, Preamble, Standard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

ranges! {
    /// Up to the largest IP packet (RFC 791), which is never sent so.
    pub RtsThresholds: Bytes = "0 to 65535 bytes";
}

/// PHY profile of the BSS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhySpec {
    /// Standard of the BSS: its rates, slot and inter-frame spaces.
    pub standard: Written<Standard>,
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

/// A rate of `standard`, or a problem that lists them.
pub fn phy_rate(standard: Standard, written: &Written<BitRate>, problems: &mut Problems) -> Option<PhyRate> {
    let rate = written.get(problems)?;
    let found = standard.rate(rate);
    if found.is_none() {
        let rates: Vec<_> = standard.rates().iter().map(|rate| format!("\"{rate} Mb/s\"")).collect();
        problems.add(written.span(), format!("{written} is not a rate of {standard}"), rates.join(", "));
    }
    found
}

impl PhySpec {
    /// The profile and the RTS threshold, or `None` and what is wrong.
    pub fn check(&self, problems: &mut Problems) -> Option<(Phy, Option<Bytes>)> {
        let threshold = self.rts_threshold.get_optional(problems);
        let standard = self.standard.get(problems)?;
        let preamble = self.preamble.get_or(Preamble::Long, problems)?;
        if preamble == Preamble::Short && standard != Standard::Dot11b {
            let what = format!("{standard} has no short preamble");
            problems.add(self.preamble.place(), what, "\"long\"");
        }
        let basic = match &self.basic_rates {
            Some(list) => {
                list.get(problems)?;
                let rates: Vec<_> = list.items().iter().map(|rate| phy_rate(standard, rate, problems)).collect();
                rates.into_iter().collect::<Option<Vec<_>>>()?
            }
            // The same as `Phy::default_for`, which has no say in the preamble.
            None if standard == Standard::Dot11b => standard.rates()[..2].to_vec(),
            None => standard.mandatory_rates().to_vec(),
        };
        Some((Phy::new(standard, preamble, &basic).ok()?, threshold?))
    }
}
