//! The configuration of calls: `[manager.voice]`.

use evenair_manager::{Codec, VoiceConfig};
use evenair_reader::{CodePoint, OrDefault, Permille, Problems, Written, ranges};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Proportions;

ranges! {
    /// Numbers of calls: no WLAN carries more.
    pub CallLimits: u32 = "0 to 1000";
}

/// Calls are found by the header of RTP, or by marks as voice, admitted up to a limit, and go first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VoiceSpec {
    /// Limit of simultaneous calls in each contention domain. Default: as many as leave data_part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Written<u32, CallLimits>>,
    /// Limit of calls with G.711 (or G.722). Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g711: Option<Written<u32, CallLimits>>,
    /// Limit of calls with G.729. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g729: Option<Written<u32, CallLimits>>,
    /// Limit of calls with any other codec, such as Opus. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<Written<u32, CallLimits>>,
    /// The part of the medium time that is reserved for other traffic: a call that would exceed the rest is refused. Default:
    /// "50 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_part: Option<Written<Permille, Proportions>>,
    /// Code point of call packets toward the WLAN, from which access points derive the access category. Default: "EF".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Written<CodePoint>>,
}

impl VoiceSpec {
    pub(crate) fn check(&self, problems: &mut Problems) -> Option<VoiceConfig> {
        let calls = self.calls.get_optional(problems);
        let codecs = [(Codec::G711, &self.g711), (Codec::G729, &self.g729), (Codec::Other, &self.other)]
            .map(|(codec, limit)| (codec, limit.get_optional(problems)));
        let usual = VoiceConfig::default();
        let data_part = self.data_part.get_or(Permille(usual.data_permille), problems);
        let dscp = self.dscp.get_or(CodePoint(usual.dscp), problems);
        let mut limits = Vec::new();
        for (codec, limit) in codecs {
            limits.extend(limit?.map(|calls| (codec, calls)));
        }
        Some(VoiceConfig { calls: calls?, codecs: limits, data_permille: data_part?.0, dscp: dscp?.0 })
    }
}

#[cfg(test)]
mod tests {
    use evenair_reader as reader;

    use super::*;

    fn check(text: &str) -> Result<VoiceConfig, String> {
        let (spec, document, mut problems) =
            reader::read::<VoiceSpec>(text, "box.toml", &[]).map_err(|error| error.to_string())?;
        let checked = spec.check(&mut problems);
        document.verdict(problems).map_err(|error| error.to_string())?;
        Ok(checked.expect("no problems"))
    }

    #[test]
    fn limits_are_read() {
        assert_eq!(check(""), Ok(VoiceConfig::default()));
        let text = "calls = 12\ng711 = 10\nother = 0\ndata_part = \"70 %\"\ndscp = \"AF41\"\n";
        let codecs = vec![(Codec::G711, 10), (Codec::Other, 0)];
        assert_eq!(check(text), Ok(VoiceConfig { calls: Some(12), codecs, data_permille: 700, dscp: 34 }));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(check("calls = 2000\n").unwrap_err().contains("0 to 1000"));
        assert!(check("data_part = \"101 %\"\n").unwrap_err().contains("0 % to 100 %"));
        assert!(check("dscp = \"loud\"\n").is_err() && check("opus = 3\n").is_err());
    }
}
