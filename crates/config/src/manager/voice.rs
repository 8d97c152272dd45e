//! The configuration of calls: `[manager.voice]`.

use std::ops::Range;

use evenair_manager::{Codec, Combination, VoiceConfig};
use evenair_reader::{CodePoint, OrDefault, Permille, Problems, Tables, Written, ranges};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Proportions;

ranges! {
    /// Numbers of calls, beyond the capacity of any WLAN.
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
    /// Combinations of codecs that each contention domain carries, such as { g711 = 6, g729 = 10 }: a call is admitted only if
    /// at least one combination has room for it and all admitted calls, codec by codec. Nothing between two of them is admitted,
    /// and one that another covers is an error. The other limits hold as well. Default: any combination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combinations: Option<Tables<CombinationSpec>>,
    /// The part of the medium time that is reserved for other traffic: a call that would exceed the rest is refused. Default:
    /// "50 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_part: Option<Written<Permille, Proportions>>,
    /// Code point of call packets toward the WLAN, from which access points derive the access category. Default: "EF".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Written<CodePoint>>,
}

/// Calls of each codec that the WLAN carries together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CombinationSpec {
    /// Calls with G.711 (or G.722). Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g711: Option<Written<u32, CallLimits>>,
    /// Calls with G.729. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g729: Option<Written<u32, CallLimits>>,
    /// Calls with any other codec, such as Opus. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<Written<u32, CallLimits>>,
}

impl CombinationSpec {
    fn check(&self, place: &Range<usize>, problems: &mut Problems) -> Option<Combination> {
        let [g711, g729, other] = [&self.g711, &self.g729, &self.other].map(|calls| calls.get_or(0, problems));
        let combination = Combination { g711: g711?, g729: g729?, other: other? };
        if combination == Combination::default() {
            problems.add(
                place.clone(),
                "a combination without calls",
                "at least one call: { g711 = 12 }, for instance",
            );
            return None;
        }
        Some(combination)
    }
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
        let (data_permille, dscp) = (data_part?.0, dscp?.0);
        let config = VoiceConfig { calls: calls?, codecs: limits, data_permille, dscp, combinations: Vec::new() };
        self.combined(config, problems)
    }

    /// Adds the combinations of codecs to a configuration.
    fn combined(&self, config: VoiceConfig, problems: &mut Problems) -> Option<VoiceConfig> {
        let Some(tables) = &self.combinations else { return Some(config) };
        let rows = tables.get(problems)?;
        if rows.len() > VoiceConfig::MAX_COMBINATIONS {
            let allowed = format!("{} at most", VoiceConfig::MAX_COMBINATIONS);
            problems.add(tables.span(), format!("{} combinations", rows.len()), allowed);
            return None;
        }
        let combinations: Vec<_> = rows.iter().map(|(place, row)| row.check(place, problems)).collect();
        let config = VoiceConfig { combinations: combinations.into_iter().collect::<Option<_>>()?, ..config };
        let mut sound = true;
        for (at, (place, _)) in rows.iter().enumerate() {
            if let Some(other) = config.covering(at) {
                // Useless, so probably a typing error in one of the two.
                let what = format!("combination {} admits nothing that combination {} does not", at + 1, other + 1);
                problems.add(
                    place.clone(),
                    what,
                    "more calls of some codec than in each other combination, or no such row",
                );
                sound = false;
            }
        }
        sound.then_some(config)
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
        assert_eq!(
            check(text),
            Ok(VoiceConfig { calls: Some(12), codecs, data_permille: 700, dscp: 34, ..VoiceConfig::default() })
        );
    }

    #[test]
    fn invalid_values_are_refused() {
        assert!(check("calls = 2000\n").unwrap_err().contains("0 to 1000"));
        assert!(check("data_part = \"101 %\"\n").unwrap_err().contains("0 % to 100 %"));
        assert!(check("dscp = \"loud\"\n").is_err() && check("opus = 3\n").is_err());
    }

    #[test]
    fn combinations_are_read_and_written_back() {
        let expected = vec![
            Combination { g711: 12, ..Combination::default() },
            Combination { g711: 6, g729: 10, other: 0 },
            Combination { g729: 20, other: 1, ..Combination::default() },
        ];
        let inline = "combinations = [{ g711 = 12 }, { g711 = 6, g729 = 10 }, { g729 = 20, other = 1 }]\n";
        let tables = "[[combinations]]\ng711 = 12\n[[combinations]]\ng711 = 6\ng729 = 10\n[[combinations]]\ng729 = 20\nother = 1\n";
        for text in [inline, tables] {
            assert_eq!(check(text).map(|config| config.combinations), Ok(expected.clone()), "{text}");
            let (spec, ..) = reader::read::<VoiceSpec>(text, "box.toml", &[]).unwrap();
            let written = toml::to_string(&spec).unwrap();
            assert_eq!(check(&written).map(|config| config.combinations), Ok(expected.clone()), "{written}");
        }
    }

    #[test]
    fn wrong_combinations_are_refused_where_they_are() {
        let rows = |rows: &[&str]| format!("calls = 30\ncombinations = [\n{},\n]\n", rows.join(",\n"));
        for (text, line, what) in [
            ("calls = 30\ncombinations = []\n".to_owned(), 2, "the list is empty"),
            (rows(&["{ g711 = 12 }", "{ opus = 3 }"]), 4, "no such key"),
            (rows(&["{ g711 = 12 }", "{ g729 = 3, g729 = 4 }"]), 4, "duplicate key"),
            (rows(&["{ g711 = 12 }", "{ g729 = 1001 }"]), 4, "0 to 1000"),
            (rows(&["{ g711 = 12 }", "{ g711 = 0 }"]), 4, "without calls"),
            (rows(&["{}"]), 3, "without calls"),
            (rows(&["{ g711 = 6 }", "{ g711 = 6, g729 = 1 }"]), 3, "1 admits nothing that combination 2 does not"),
            (
                rows(&["{ g711 = 6 }", "{ g729 = 6 }", "{ g711 = 6 }"]),
                5,
                "3 admits nothing that combination 1 does not",
            ),
            (rows(&["12"]), 3, "a table"),
            ("calls = 30\n[[combinations]]\ng711 = 5\n[[combinations]]\ng711 = 4\n".to_owned(), 4, "admits nothing"),
        ] {
            let error = check(&text).unwrap_err();
            assert!(error.contains(what) && error.contains(&format!("box.toml:{line}:")), "{text}{error}");
        }
        let many: Vec<String> = (0..=100).map(|n| format!("{{ g711 = {n}, g729 = {} }}", 100 - n)).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(check(&rows(&many[1..])).is_ok());
        assert!(check(&rows(&many)).unwrap_err().contains("101 combinations"));
    }
}
