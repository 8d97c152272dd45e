//! Configured stations: `[[station]]`.

use std::collections::{BTreeMap, BTreeSet};

use evenair_config::manager::Weights;
use evenair_config::{ManagerSpec, RateSpec, station_rate};
use evenair_manager::StationConfig;
use evenair_packet::MacAddr;
use evenair_reader::{Problems, Written};
use evenair_wifi::{Phy, PhyRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{NameError, check_name};

/// A configured station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationSpec {
    /// Its MAC address.
    pub mac: Written<String>,
    /// Its name, 1 to 64 characters; `evenair name` has precedence. Default: its alias at a controller (telemetry), or what it
    /// calls itself (DHCP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Written<String>>,
    /// Its PHY rate, until a rate is reported; of 802.11n and later also a mode such as "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us".
    /// Default: the manager's `default_rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Written<RateSpec>>,
    /// Its share relative to other stations; not with a `[manager.queue]`, unless there is a `[manager.wan]`. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Written<u32, Weights>>,
    /// Its class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Written<String>>,
}

impl StationSpec {
    pub(super) fn check(
        &self,
        phys: &[Phy],
        default_rate: PhyRate,
        manager: &ManagerSpec,
        problems: &mut Problems,
    ) -> Option<StationConfig> {
        let mac = self.mac.get(problems).and_then(|text| match text.parse::<MacAddr>() {
            Ok(mac) if !mac.is_multicast() => Some(mac),
            _ => {
                let what = format!("{} is not a station's MAC address", self.mac);
                problems.add(self.mac.span(), what, "six pairs of hexadecimal digits such as \"02:00:00:00:00:01\"");
                None
            }
        });
        let rate = match &self.rate {
            None => Some(default_rate),
            Some(written) => station_rate(phys, written, problems),
        };
        let weight = manager.station_weight(&self.weight, problems);
        let class = match &self.class {
            None => None,
            Some(written) => {
                let id = manager.class_id(&written.get(problems)?);
                if id.is_none() {
                    let what = format!("there is no class {written}");
                    problems.add(written.span(), what, "the name of a [[manager.class]]");
                }
                Some(id?)
            }
        };
        Some(StationConfig { mac: mac?, rate: rate?, weight: weight?, class })
    }
}

/// Names of stations. Invalid MAC addresses are skipped here.
pub(super) fn names(stations: &[StationSpec], problems: &mut Problems) -> BTreeMap<MacAddr, String> {
    let (mut names, mut lower) = (BTreeMap::new(), BTreeSet::new());
    for (spec, written) in stations.iter().filter_map(|spec| Some((spec, spec.name.as_ref()?))) {
        let Some(name) = written.get(problems) else { continue };
        if let Err(error) = check_name(&name) {
            problems.add(written.span(), error.to_string(), NameError::RIGHT);
        } else if !lower.insert(name.to_lowercase()) {
            problems.add(written.span(), format!("another station is named {written}"), "each name once");
        } else if let Some(mac) = spec.mac.get(&mut Problems::default()).and_then(|mac| mac.parse().ok()) {
            names.insert(mac, name);
        }
    }
    names
}
