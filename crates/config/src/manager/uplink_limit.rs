//! The configuration of the upload limiter: `[manager.uplink_limit]`.

use std::fmt;

use evenair_manager::{BucketConfig, LimitRule, Steps, UplinkLimit};
use evenair_reader::{OrDefault, Permille, Problems, Written, ranges, words};
use evenair_units::{BitRate, Bytes, Limit, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manager::words::{ProperParts, Proportions, ServiceRates};

ranges! {
    /// Depths of the token bucket, up to `BucketConfig::MAX_DEPTH`.
    pub BucketDepths: Limit = "1500 bytes to 1 GiB, or as packets" if is_depth;
    /// Times of the meters and of the decisions.
    pub LimiterTimes: Span = "10 ms to 60 s";
}

/// The upload limiter: drops packets from the WLAN to the wire above a limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UplinkLimitSpec {
    /// How the limit adapts: not at all, by the published rule, or by that rule with extensions. Default: "adaptive".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "adaptive"))]
    pub rule: Option<Written<RuleKind>>,
    /// The limit, or the initial value of an adaptive one. Default: the split of C*.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Written<BitRate, ServiceRates>>,
    /// The uploads' part of the throughput of both directions. Default: "50 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Written<Permille, ProperParts>>,
    /// Depth of the token bucket, in packets of 1500 bytes or in bytes. Default: "500 packets".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<Written<Limit, BucketDepths>>,
    /// Below this fill level packets are dropped at random, with a probability that rises as the bucket empties; "0 %": only
    /// when there are no tokens. Default: "90 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Written<Permille, Proportions>>,
    /// Averaging time of the rate meters. Default: "600 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Written<Span, LimiterTimes>>,
    /// Adaptive limit: time between two decisions. Default: "300 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "rule": ["published", "adaptive"] }))]
    pub interval: Option<Written<Span, LimiterTimes>>,
    /// Adaptive limit: its change at each decision. Default: "0.2 Mb/s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "rule": ["published", "adaptive"] }))]
    pub step: Option<Written<BitRate, ServiceRates>>,
    /// Adaptive limit: its largest value. Default: C*.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "rule": ["published", "adaptive"] }))]
    pub ceiling: Option<Written<BitRate, ServiceRates>>,
    /// Rule "adaptive": the part of the limit that is reserved for traffic other than TCP. Default: "50 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "rule": ["adaptive"] }))]
    pub datagrams: Option<Written<Permille, ProperParts>>,
}

/// What sets the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// A constant.
    Static,
    /// The published rule.
    Published,
    /// The published rule with Evenair's corrections.
    Adaptive,
}

words!(RuleKind { "static" => Self::Static, "published" => Self::Published, "adaptive" => Self::Adaptive });
impl fmt::Display for RuleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Static => "static",
            Self::Published => "published",
            Self::Adaptive => "adaptive",
        })
    }
}

impl UplinkLimitSpec {
    /// The limit, or `None` and problems.
    pub(crate) fn check(&self, problems: &mut Problems) -> Option<UplinkLimit> {
        let usual = UplinkLimit::default();
        let kind = self.rule.get_or(RuleKind::Adaptive, problems);
        let rate = self.rate.get_optional(problems);
        let split = self.split.get_or(Permille(usual.split_permille), problems);
        let bucket = self.bucket(problems);
        let memory = self.memory.get_or(usual.memory, problems);
        let steps = self.steps(problems);
        let datagrams = self.datagrams.get_or(Permille(500), problems);
        let rule = match kind? {
            RuleKind::Static => LimitRule::Static,
            RuleKind::Published => LimitRule::Published(steps?),
            RuleKind::Adaptive => LimitRule::Adaptive { steps: steps?, datagrams_permille: datagrams?.0 },
        };
        Some(UplinkLimit { rule, rate: rate?, split_permille: split?.0, bucket: bucket?, memory: memory? })
    }

    fn steps(&self, problems: &mut Problems) -> Option<Steps> {
        let usual = Steps::PUBLISHED;
        let interval = self.interval.get_or(usual.interval, problems);
        let step = self.step.get_or(usual.step, problems);
        let ceiling = self.ceiling.get_optional(problems);
        Some(Steps { interval: interval?, step: step?, ceiling: ceiling? })
    }

    fn bucket(&self, problems: &mut Problems) -> Option<BucketConfig> {
        let usual = UplinkLimit::default().bucket;
        let bucket = self.bucket.get_or(Limit::Bytes(usual.depth), problems);
        let threshold = self.threshold.get_or(Permille(usual.threshold_permille), problems);
        Some(BucketConfig { depth: depth(bucket?), threshold_permille: threshold?.0 })
    }
}

/// The depth of a bucket, in bytes.
fn depth(limit: Limit) -> Bytes {
    match limit {
        Limit::Packets(packets) => Bytes(u64::from(packets) * 1500),
        Limit::Bytes(bytes) => bytes,
        Limit::Unlimited => Bytes(u64::MAX),
    }
}

fn is_depth(limit: &Limit) -> bool {
    (Bytes(1500)..=BucketConfig::MAX_DEPTH).contains(&depth(*limit))
}

#[cfg(test)]
mod tests {
    use evenair_manager::Config;
    use evenair_reader::{self as reader, ConfigError};
    use evenair_wifi::{Phy, Standard};

    use super::*;
    use crate::ManagerSpec;

    fn check(text: &str) -> Result<Option<UplinkLimit>, ConfigError> {
        let (spec, document, mut problems) = reader::read::<ManagerSpec>(text, "box.toml", &[])?;
        let config = spec.check(&Phy::default_for(Standard::Dot11b), None, &mut problems);
        document.verdict(problems)?;
        Ok(config.map(|Config { uplink_limit, .. }| uplink_limit).expect("no problems, so a configuration"))
    }

    #[test]
    fn an_empty_table_is_the_managers_own_default() {
        assert_eq!(check("").unwrap(), None);
        assert_eq!(check("[uplink_limit]\n").unwrap(), Some(UplinkLimit::default()));
    }

    #[test]
    fn the_documented_defaults_are_the_managers_own() {
        let schema = schemars::schema_for!(UplinkLimitSpec).to_value();
        let properties = schema["properties"].as_object().expect("a table has keys");
        let line = |(key, property): (&String, &serde_json::Value)| {
            let (_, default) = property["description"].as_str()?.split_once("Default: ")?;
            let line = format!("{key} = {}\n", default.trim_end_matches('.').replace('\n', " "));
            line.parse::<toml::Table>().is_ok().then_some(line)
        };
        let lines: Vec<_> = properties.iter().filter_map(line).collect();
        assert!(lines.len() >= 8 && lines.contains(&"split = \"50 %\"\n".to_owned()), "{lines:?}");
        assert_eq!(check(&format!("[uplink_limit]\n{}", lines.concat())).unwrap(), Some(UplinkLimit::default()));
    }

    #[test]
    fn each_rule_and_its_keys() {
        let text =
            "[uplink_limit]\nrule = \"static\"\nrate = \"2.3 Mb/s\"\nbucket = \"3000 bytes\"\nthreshold = \"0 %\"\n";
        let limit = check(text).unwrap().unwrap();
        assert_eq!((limit.rule, limit.rate), (LimitRule::Static, Some(BitRate::from_kbps(2_300))));
        assert_eq!(limit.bucket, BucketConfig { depth: Bytes(3_000), threshold_permille: 0 });
        let text =
            "[uplink_limit]\nrule = \"published\"\nceiling = \"5 Mb/s\"\ninterval = \"1 s\"\nstep = \"1 Mb/s\"\n";
        let steps =
            Steps { interval: Span::from_secs(1), step: BitRate::from_mbps(1), ceiling: Some(BitRate::from_mbps(5)) };
        assert_eq!(check(text).unwrap().unwrap().rule, LimitRule::Published(steps));
        let text =
            "[uplink_limit]\ndatagrams = \"30 %\"\nsplit = \"60 %\"\nmemory = \"1 s\"\nbucket = \"20 packets\"\n";
        let limit = check(text).unwrap().unwrap();
        assert_eq!(limit.rule, LimitRule::Adaptive { steps: Steps::PUBLISHED, datagrams_permille: 300 });
        assert_eq!((limit.split_permille, limit.memory, limit.bucket.depth), (600, Span::from_secs(1), Bytes(30_000)));
    }

    #[test]
    fn invalid_values_are_refused_with_alternatives() {
        let error = |line: &str| check(&format!("[uplink_limit]\n{line}\n")).unwrap_err().to_string();
        for (line, right) in [
            ("rule = \"magic\"", "\"adaptive\""),
            ("rate = \"0 Mb/s\"", "above 0 b/s and up to 1000 Gb/s"),
            ("split = \"0 %\"", "0.1 % to 99.9 %"),
            ("split = \"100 %\"", "0.1 % to 99.9 %"),
            ("datagrams = \"100 %\"", "0.1 % to 99.9 %"),
            ("bucket = \"1499 bytes\"", "1500 bytes to 1 GiB"),
            ("bucket = \"0 packets\"", "1500 bytes to 1 GiB"),
            ("bucket = \"unlimited\"", "1500 bytes to 1 GiB"),
            ("threshold = \"101 %\"", "0 % to 100 %"),
            ("memory = \"0 ms\"", "10 ms to 60 s"),
            ("interval = \"2 min\"", "10 ms to 60 s"),
            ("step = \"2000000 Mb/s\"", "up to 1000 Gb/s"),
            ("ceiling = \"0 Mb/s\"", "above 0 b/s and up to 1000 Gb/s"),
            ("rule = \"static\"\nstep = \"1 Mb/s\"", "does not use this"),
            ("rule = \"published\"\ndatagrams = \"20 %\"", "does not use this"),
            ("rates = \"1 Mb/s\"", "rate"),
        ] {
            let error = error(line);
            assert!(error.contains(right), "{line}: {error}");
        }
    }
}
