//! The configuration of rate classes by signal: `[manager.rssi]`.

use evenair_manager::{RssiClass, RssiConfig};
use evenair_reader::{OrDefault, Problems, Tables, Written, ranges};
use evenair_units::{Db, Dbm};
use evenair_wifi::Phy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::phy::{RateSpec, station_rate};

ranges! {
    /// Signal strengths of stations at access points.
    pub Signals: Dbm = "-115 dBm to -1 dBm";
    /// Hystereses at the borders of rate classes, up to `RssiConfig::MAX_HYSTERESIS` of the manager.
    pub SignalHystereses: Db = "0 dB to 20 dB";
}

/// Rate classes by signal, for access points that report how strongly they receive a station, and no rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RssiSpec {
    /// The classes, from the strongest signals to the weakest: 2 to 16, with falling rates.
    pub classes: Tables<RssiClassSpec>,
    /// A station changes its class when its signal is beyond the border by this. Default: "3 dB".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hysteresis: Option<Written<Db, SignalHystereses>>,
    /// The class counts even for a station whose rate is reported as well. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_rates: Option<Written<bool>>,
}

/// A rate class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RssiClassSpec {
    /// The weakest signal in it; the last class has all weaker signals and no such key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Written<Dbm, Signals>>,
    /// The rate at which its stations are charged: a rate of the radio's standard, or a mode of 802.11n and later.
    pub rate: Written<RateSpec>,
}

impl RssiSpec {
    pub(crate) fn check(&self, phy: &Phy, problems: &mut Problems) -> Option<RssiConfig> {
        let hysteresis = self.hysteresis.get_or(RssiConfig::HYSTERESIS, problems);
        let before_rates = self.before_rates.get_or(false, problems);
        let classes = self.classes(phy, problems);
        Some(RssiConfig { classes: classes?, hysteresis: hysteresis?, before_rates: before_rates? })
    }

    fn classes(&self, phy: &Phy, problems: &mut Problems) -> Option<Vec<RssiClass>> {
        let rows = self.classes.get(problems)?;
        let (least, most) = (RssiConfig::MIN_CLASSES, RssiConfig::MAX_CLASSES);
        if !(least..=most).contains(&rows.len()) {
            problems.add(self.classes.span(), format!("{} classes", rows.len()), format!("{least} to {most} of them"));
            return None;
        }
        let mut class = |spec: &RssiClassSpec| {
            let above = spec.above.get_optional(problems);
            let rate = station_rate(std::slice::from_ref(phy), &spec.rate, problems);
            Some(RssiClass { above: above?, rate: rate? })
        };
        let classes: Vec<_> = rows.iter().map(|(_, spec)| class(spec)).collect();
        let classes = classes.into_iter().collect::<Option<Vec<_>>>()?;
        let before = problems.count();
        for (at, ((place, spec), class)) in rows.iter().zip(&classes).enumerate() {
            let stronger = at.checked_sub(1).map(|stronger| classes[stronger]);
            match class.above {
                None if at + 1 < rows.len() => {
                    problems.add(
                        place.clone(),
                        "only the last class has no above",
                        "above = \"-70 dBm\", for instance",
                    );
                }
                Some(_) if at + 1 == rows.len() => {
                    let allowed = "a last class without above, which has all weaker signals";
                    problems.add(spec.above.place(), "the weakest signals are in no class", allowed);
                }
                Some(above) if stronger.is_some_and(|stronger| stronger.above.is_some_and(|high| above >= high)) => {
                    problems.add(spec.above.place(), "not below that of the class before", "falling signals");
                }
                _ => {}
            }
            if stronger.is_some_and(|stronger| class.rate.bit_rate() >= stronger.rate.bit_rate()) {
                problems.add(spec.rate.span(), "not below that of the class before", "falling rates");
            }
        }
        (problems.count() == before).then_some(classes)
    }
}

#[cfg(test)]
mod tests {
    use evenair_reader as reader;
    use evenair_units::BitRate;
    use evenair_wifi::Standard;

    use super::*;

    fn check(text: &str) -> Result<RssiConfig, String> {
        let (spec, document, mut problems) =
            reader::read::<RssiSpec>(text, "box.toml", &[]).map_err(|error| error.to_string())?;
        let checked = spec.check(&Phy::default_for(Standard::Dot11g), &mut problems);
        document.verdict(problems).map_err(|error| error.to_string())?;
        let config = checked.expect("no problems");
        assert_eq!(config.check(), Ok(()), "what is accepted here is accepted by the manager");
        Ok(config)
    }

    fn rows(rows: &[&str]) -> String {
        format!("classes = [\n{},\n]\n", rows.join(",\n"))
    }

    const STRONG: &str = "{ above = \"-65 dBm\", rate = \"54 Mb/s\" }";
    const MIDDLE: &str = "{ above = \"-75 dBm\", rate = \"24 Mb/s\" }";
    const WEAK: &str = "{ rate = \"6 Mb/s\" }";

    #[test]
    fn classes_are_read() {
        let config = check(&rows(&[STRONG, MIDDLE, WEAK])).unwrap();
        let rate = |mbps| Standard::Dot11g.rate(BitRate::from_mbps(mbps)).unwrap();
        let class = |dbm: i32, mbps| RssiClass { above: Some(Dbm::from_milli(dbm * 1_000)), rate: rate(mbps) };
        let classes = vec![class(-65, 54), class(-75, 24), RssiClass { above: None, rate: rate(6) }];
        assert_eq!(config, RssiConfig { classes, hysteresis: Db::from_milli(3_000), before_rates: false });
        let text = format!("hysteresis = \"5 dB\"\nbefore_rates = true\n{}", rows(&[STRONG, WEAK]));
        let config = check(&text).unwrap();
        assert_eq!((config.hysteresis, config.before_rates), (Db::from_milli(5_000), true));
    }

    #[test]
    fn wrong_classes_are_refused_where_they_are() {
        let fast = "{ above = \"-80 dBm\", rate = \"36 Mb/s\" }";
        for (text, line, what) in [
            ("classes = []\n".to_owned(), 1, "the list is empty"),
            (rows(&[WEAK]), 1, "1 classes"),
            (rows(&[MIDDLE, STRONG, WEAK]), 3, "falling signals"),
            (rows(&[STRONG, MIDDLE, fast, WEAK]), 4, "falling rates"),
            (rows(&[STRONG, MIDDLE]), 3, "a last class without above"),
            (rows(&["{ rate = \"9 Mb/s\" }", WEAK]), 2, "only the last class"),
            (rows(&[STRONG, "{ rate = \"7 Mb/s\" }"]), 3, "not a rate of"),
            (rows(&["{ above = \"5 dBm\", rate = \"54 Mb/s\" }", WEAK]), 2, "-115 dBm to -1 dBm"),
            (format!("hysteresis = \"30 dB\"\n{}", rows(&[STRONG, WEAK])), 1, "0 dB to 20 dB"),
        ] {
            let error = check(&text).unwrap_err();
            assert!(error.contains(what) && error.contains(&format!("box.toml:{line}:")), "{text}{error}");
        }
    }
}
