//! The configuration of the Internet link: `[manager.wan]`.

use evenair_manager::{CodelConfig, WanConfig};
use evenair_packet::Subnet;
use evenair_reader::{List, OrDefault, Permille, Problems, Written, ranges};
use evenair_units::{BitRate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manager::words::{Parts, ProperParts, ServiceRates};

ranges! {
    /// Times of CoDel before the Internet link, which may be slow.
    pub LinkAqmTimes: Span = "0.1 ms to 60 s";
}

/// The Internet link as the box serves it: its transfers go before those of the LAN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InternetSpec {
    /// The link's bit rate toward the stations. Default: that of [wan.down]; required for a box.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Written<BitRate, ServiceRates>>,
    /// The link's bit rate from the stations. Default: that of [wan.up]; required for a box.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Written<BitRate, ServiceRates>>,
    /// The part of the link's rate that the box uses, so that the queue is in the box. Default: "90 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Written<Permille, Parts>>,
    /// Networks on this side of the link, such as "10.0.0.0/8". Default: those of the scenario's stations and LAN; for a box,
    /// those of the addresses of its bridge and its interfaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lan: Option<List<String>>,
    /// The part of the WLAN that is reserved for traffic of the LAN. Default: "10 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lan_part: Option<Written<Permille, ProperParts>>,
    /// CoDel before the link: acceptable waiting time in the queue. Default: "150 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm_target: Option<Written<Span, LinkAqmTimes>>,
    /// CoDel before the link: how long the waiting time may exceed the target before CoDel signals congestion to the sender.
    /// Default: "1 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm_interval: Option<Written<Span, LinkAqmTimes>>,
}

impl InternetSpec {
    /// The link, or `None` and problems.
    pub(crate) fn check(&self, problems: &mut Problems) -> Option<WanConfig> {
        let share = self.share.get_or(Permille(900), problems);
        let mut rate = |written: &Option<Written<BitRate, ServiceRates>>, name: &str| match written {
            Some(written) => written.get(problems),
            None => {
                let what = format!("the Internet link's rate {name} is not known");
                problems.add(self.share.place(), what, format!("{name} = \"8 Mb/s\" in [manager.wan]"));
                None
            }
        };
        let (down, up) = (rate(&self.down, "down"), rate(&self.up, "up"));
        let lan = self.lan(problems);
        let lan_part = self.lan_part.get_or(Permille(WanConfig::LAN_PERMILLE), problems);
        let usual = WanConfig::AQM;
        let interval = self.aqm_interval.get_or(usual.interval, problems)?;
        let target = self.aqm_target.get_or_if(
            usual.target.min(interval),
            problems,
            |&span| span <= interval,
            "0.1 ms up to aqm_interval",
        )?;
        let served = |rate: BitRate, share: Permille| rate.mul_div(share.0.into(), 1_000).max(BitRate::from_bps(1));
        let share = share?;
        Some(WanConfig {
            down: served(down?, share),
            up: served(up?, share),
            lan: lan?,
            lan_permille: lan_part?.0,
            aqm: CodelConfig { target, interval },
            shared: false,
        })
    }

    fn lan(&self, problems: &mut Problems) -> Option<Vec<Subnet>> {
        let Some(list) = &self.lan else {
            let what = "it is not known which addresses are not beyond the Internet link";
            problems.add(self.share.place(), what, "lan = [\"10.0.0.0/8\"] in [manager.wan], for instance");
            return None;
        };
        list.get(problems)?;
        let mut subnet = |item: &Written<String>| {
            let text = item.get(problems)?;
            let parsed = text.parse().ok();
            if parsed.is_none() {
                problems.add(
                    item.span(),
                    format!("{item} is no network"),
                    "\"10.0.0.0/8\" or \"fd00::/8\", for instance",
                );
            }
            parsed
        };
        let subnets: Vec<Option<Subnet>> = list.items().iter().map(&mut subnet).collect();
        subnets.into_iter().collect()
    }
}
