//! The manager's settings as people write them: in a scenario and in the box's own configuration. They can be written
//! back, so that the testbed can start the box on a file of its own.

mod controller;
mod levels;
#[cfg(test)]
mod tests;
mod words;

use evenair_manager::{Charge, ClassId, Config};
use evenair_units::{BitRate, Bytes, Limit, Span};
use evenair_wifi::{Phy, Standard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::words::{Aqm, ControllerKind, Fairness, LevelKind};
pub(crate) use self::words::{RATES, WEIGHTS, is_rate, is_weight};
use crate::access_point_spec::{self, AccessPointSpec};
use crate::class_spec::{ApplicationSpec, ClassSpec};
use crate::config::{List, OrDefault, Permille, Problems, Written};
use crate::manager_queue;
use crate::phy_spec::phy_rate;
use crate::raw::QueueRaw;
use crate::uplink_limit::UplinkLimitSpec;
use crate::{InternetSpec, ReceiverSpec, VoiceSpec};

/// Settings of the manager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ManagerSpec {
    /// What sets the pace of releases: the access point's queue, kept short by the answers of the stations; the published
    /// additive rule for a service rate; a constant one; or "none", which holds nothing for the WLAN. Default: "queue".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<Written<ControllerKind>>,
    /// Queue controller: medium time that may stand in the access point. Default: "3 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_target: Option<Written<Span>>,
    /// PI controller: mean time that packets may wait in the access point. Default: "10 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_target: Option<Written<Span>>,
    /// PI controller: time between two judgements of the load. Default: "50 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_interval: Option<Written<Span>>,
    /// The constant service rate, IP-level bits of DATA and ACKs over the WLAN; needed by the controller "fixed".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_rate: Option<Written<BitRate>>,
    /// Published controller: time between two judgements. Default: "1 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Written<Span>>,
    /// Published controller: change of the service rate at each judgement. Default: "0.1 Mb/s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Written<BitRate>>,
    /// Published controller: measured use this far below the service rate still counts as equal. Default: "3 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Written<Permille>>,
    /// Published controller: the service rate it starts at, as a part of C*. Default: "90 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Written<Permille>>,
    /// Levels of the tree of queues, root first: "direction", "class", "station", "host", "application", "flow", each at most once;
    /// where there are classes or applications, these are in it unless this says otherwise.
    /// Default: ["station", "direction", "flow"].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<List<LevelKind>>,
    /// Level "direction": weight of uploads. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_weight: Option<Written<u32>>,
    /// Level "direction": weight of downloads. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down_weight: Option<Written<u32>>,
    /// Level "station": what stations of equal weight get equally, medium time or bits. Default: "airtime".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub station_fairness: Option<Written<Fairness>>,
    /// Level "class": the classes, which stations may name or rules fill. With parents, rules, minimums or ceilings they are a
    /// tree above all other levels, in which shares are of medium time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub class: Vec<ClassSpec>,
    /// Level "application": kinds of traffic within a station.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub application: Vec<ApplicationSpec>,
    /// Levels "class" and "application": weight of all that is in none of them, together. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_weight: Option<Written<u32>>,
    /// What a packet costs the server: the medium time it causes, or its (virtual) bits as published.
    /// Default: "airtime".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge: Option<Written<Fairness>>,
    /// Limit of each queue, in DATA packets or bytes; an upload's queue counts the DATA that its held ACKs stand for.
    /// Default: "1000 packets".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_limit: Option<Written<Limit>>,
    /// How senders are told that their queues stand: by CoDel (RFC 8289), with a queue of its own for each connection below
    /// the last of the levels and no packet but a pure ACK sent that was held for more than a second, or "none", only by the limit. Default:
    /// "codel".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<Written<Aqm>>,
    /// CoDel: packets that wait no longer than this are in no standing queue. Default: "20 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm_target: Option<Written<Span>>,
    /// CoDel: for so long packets may wait longer before their sender is told. Default: "100 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm_interval: Option<Written<Span>>,
    /// Connections that use little of the medium (a page request, a call) go before their turn; they are charged for it, so
    /// that shares over time stay what they are. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparse_first: Option<Written<bool>>,
    /// A queue discipline that decides whose turn it is for the WLAN, in place of the tree of queues, with room for
    /// `queue_limit`. Default: the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueRaw>,
    /// The Internet link, where the box is to serve that too. Default: it serves the WLAN alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wan: Option<InternetSpec>,
    /// Calls, which then go first, up to a limit. Default: they are traffic like all else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice: Option<VoiceSpec>,
    /// Control of TCP by what receivers tell senders: windows and delayed ACKs. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<ReceiverSpec>,
    /// The limit on what comes from the WLAN. Default: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_limit: Option<UplinkLimitSpec>,
    /// Access points, where there are several media: each is served for itself, and a station that roams is moved. Default:
    /// all is one medium.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access_point: Vec<AccessPointSpec>,
    /// Flows that are remembered at once, up to 2097152, 1 to 2 kB each; a new one takes the place of the one unused for
    /// longest. Default: 131072.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<Written<u32>>,
    /// How much lateness of releases is made up by releasing the next ones early. Default: "2 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_slack: Option<Written<Span>>,
    /// The longest that a bypass waits for the queues to drain. Default: "1 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_limit: Option<Written<Span>>,
    /// PHY rate assumed of a station whose rate nobody has told. Default: the lowest basic rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_rate: Option<Written<BitRate>>,
}

impl ManagerSpec {
    /// The number of the class of this name.
    pub fn class_id(&self, name: &str) -> Option<ClassId> {
        let at = self.class.iter().position(|class| class.name == Written::new(name))?;
        u8::try_from(at).ok().map(ClassId)
    }

    /// The standards of the contention domains, each once, where that of the radio is this.
    pub fn standards(&self, radio: Standard) -> Vec<Standard> {
        let of_point = |spec: &AccessPointSpec| spec.standard.as_ref()?.get(&mut Problems::default());
        let mut standards = vec![radio];
        for standard in self.access_point.iter().filter_map(of_point) {
            if !standards.contains(&standard) {
                standards.push(standard);
            }
        }
        standards
    }

    /// A configuration without stations, which are the caller's to add; or `None` and what is wrong.
    pub fn check(&self, phy: &Phy, rts_threshold: Option<Bytes>, problems: &mut Problems) -> Option<Config> {
        let Config { queue_limit, flow_limit, pacing_slack, drain_limit, default_rate, .. } = Config::new(phy.clone());
        // Each part is read whatever becomes of the others, so that all their problems are told.
        let controller = self.controller(problems);
        let policy = self.policy(problems);
        let charge = self.charge.get_or(Fairness::Airtime, problems);
        let queue_limit = self.queue_limit.get_or_if(
            queue_limit,
            problems,
            |limit| limit.admits(0, Bytes::ZERO, Bytes(1500)),
            "room for a packet of 1500 bytes at least",
        );
        let aqm = self.aqm(problems);
        let sparse_first = self.sparse_first.get_or(true, problems);
        let most = Config::MAX_FLOWS;
        let flows = |n: &u32| (1..=most).contains(n);
        let flow_limit = self.flow_limit.get_or_if(flow_limit, problems, flows, format!("1 to {most}"));
        let slack_limit = Span::from_millis(100);
        let pacing_slack = self.pacing_slack.get_or_if(pacing_slack, problems, |&s| s <= slack_limit, "0 to 100 ms");
        let drain_range = Span::from_nanos(1)..=Span::from_secs(60);
        let drain_limit =
            self.drain_limit.get_or_if(drain_limit, problems, |s| drain_range.contains(s), "above 0 and up to 60 s");
        let default_rate = match &self.default_rate {
            Some(written) => phy_rate(phy.standard(), written, problems),
            None => Some(default_rate),
        };
        let wan = self.wan.as_ref().map(|wan| wan.check(problems));
        let limit = queue_limit.unwrap_or(Limit::Unlimited);
        let queue = self.queue.as_ref().map(|raw| manager_queue::check(self, raw, (limit, phy), problems));
        let voice = self.voice.as_ref().map(|voice| voice.check(problems));
        let receiver = self.receiver.as_ref().map(|receiver| receiver.check(problems));
        let uplink_limit = self.uplink_limit.as_ref().map(|limit| limit.check(problems));

        let config = Config {
            phy: phy.clone(),
            rts_threshold,
            policy: policy?,
            charge: match charge? {
                Fairness::Airtime => Charge::Airtime,
                Fairness::Bits => Charge::Bits,
            },
            controller: controller?,
            stations: Vec::new(),
            default_rate: default_rate?,
            queue_limit: queue_limit?,
            aqm: aqm?,
            sparse_first: sparse_first?,
            queue: match queue {
                Some(queue) => Some(Box::new(queue?)),
                None => None,
            },
            wan: match wan {
                Some(None) => return None,
                Some(Some(wan)) => Some(Box::new(wan)),
                None => None,
            },
            voice: match voice {
                Some(None) => return None,
                Some(Some(voice)) => Some(Box::new(voice)),
                None => None,
            },
            receiver: match receiver {
                Some(None) => return None,
                Some(receiver) => receiver,
                None => None,
            },
            uplink_limit: match uplink_limit {
                Some(None) => return None,
                Some(limit) => limit,
                None => None,
            },
            access_points: Vec::new(),
            // Whoever has a memory for packets sets it by that.
            held_limit: None,
            flow_limit: flow_limit?,
            pacing_slack: pacing_slack?,
            drain_limit: drain_limit?,
        };
        let config = access_point_spec::check(&self.access_point, config, problems)?;
        config.check().expect("what the manager checks was checked here, with places");
        Some(config)
    }

    /// The same, with what a site knows of its Internet link where this leaves it open: the rates of its directions, down
    /// and up, and the networks that are not beyond it.
    #[must_use]
    pub fn at_site<S: AsRef<str>>(&self, rates: [Option<BitRate>; 2], lan: &[S]) -> Self {
        let mut spec = self.clone();
        if let Some(wan) = &mut spec.wan {
            let written = |rate: BitRate| Written::new(format!("{} b/s", rate.as_bps()));
            wan.down = wan.down.take().or(rates[0].map(written));
            wan.up = wan.up.take().or(rates[1].map(written));
            wan.lan = wan.lan.take().or_else(|| (!lan.is_empty()).then(|| List::of(lan.iter().map(S::as_ref))));
        }
        spec
    }
}
