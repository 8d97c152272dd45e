//! The configuration of the manager, in a scenario and in the box's own configuration. It can be serialized, so that the
//! testbed can write a configuration file for the box.

mod access_point;
mod aqm;
mod class;
mod controller;
mod group_share;
mod guard;
mod internet;
mod levels;
mod queue;
mod receiver;
mod release_limits;
mod rssi;
#[cfg(test)]
mod tests;
mod uplink_limit;
mod voice;
mod words;

use evenair_manager::{Charge, ClassId, Config, Controller, GroupShare, GuardConfig, ProbeConfig, Without};
use evenair_units::{BitRate, Bytes, Limit, Span};
use evenair_wifi::{Phy, Standard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::access_point::{AccessPointSpec, RadioName};
pub use self::aqm::{Aqm, AqmTimes};
pub use self::class::{ApplicationSpec, ClassSpec, MatchSpec, VlanName};
pub use self::controller::{ControllerKind, ControllerSpec};
pub use self::group_share::GroupShareSpec;
pub use self::guard::GuardSpec;
pub use self::internet::InternetSpec;
pub use self::receiver::ReceiverSpec;
pub use self::release_limits::InFlight;
pub use self::rssi::{RssiClassSpec, RssiSpec};
pub use self::uplink_limit::{RuleKind, UplinkLimitSpec};
pub use self::voice::VoiceSpec;
pub use self::words::{Fairness, LevelKind, Parts, ProperParts, Proportions, ServiceRates, Weights};
use evenair_reader::{List, OrDefault, Problems, Written, ranges};

use self::release_limits::InFlightLimits;
use crate::phy::{RateSpec, station_rate};
use crate::queue::QueueRaw;

ranges! {
    /// Queue limits, which must admit a packet of any size.
    pub QueueLimits: Limit = "room for a packet of 1500 bytes at least" if |limit: &Limit| limit.admits(0, Bytes::ZERO, Bytes(1500));
    /// Capacities of the flow table, up to `Config::MAX_FLOWS` of the manager.
    pub FlowLimits: u32 = "1 to 2097152";
    /// Pacing lateness that is made up for: more would be a burst.
    pub PacingSlacks: Span = "0 to 100 ms";
    /// Probes a second, up to `ProbeConfig::MOST` of the manager.
    pub ProbeRates: u32 = "0 to 100";
    /// Durations of runs; 802.11 transmissions last up to 5.5 ms.
    pub Runs: Span = "0.1 ms to 100 ms";
    /// Numbers of packets per run.
    pub RunFrames: u32 = "1 to 1024";
    /// Time limits for draining the queues before a bypass.
    pub DrainLimits: Span = "above 0 and up to 60 s";
}

/// Settings of the manager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ManagerSpec {
    /// Levels of the tree of queues, root first: "direction", "class", "station", "host", "application", "flow", each at most
    /// once; the default includes "class" and "application" if there are classes or applications. Default: ["station",
    /// "direction", "flow"].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<List<LevelKind>>,
    /// Level "direction": weight of uploads. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_weight: Option<Written<u32, Weights>>,
    /// Level "direction": weight of downloads. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down_weight: Option<Written<u32, Weights>>,
    /// Level "station": stations of equal weight get equal medium time, or equal bits. Default: "airtime".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub station_fairness: Option<Written<Fairness>>,
    /// Level "class": policy classes; stations name their class, or rules assign it. With parents, rules, minimums or ceilings
    /// the classes are a tree above all other levels, with shares of medium time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub class: Vec<ClassSpec>,
    /// Level "application": kinds of traffic within a station.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub application: Vec<ApplicationSpec>,
    /// Levels "class" and "application": weight of all unclassified traffic together. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_weight: Option<Written<u32, Weights>>,
    /// What the scheduler charges for a packet: its medium time, or its (virtual) bits as published. Default: "airtime".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge: Option<Written<Fairness>>,
    /// Limit of each queue, in DATA packets or bytes; an upload's queue counts the DATA that its held ACKs acknowledge.
    /// Default: "1000 packets".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_limit: Option<Written<Limit, QueueLimits>>,
    /// Active queue management: "codel" (RFC 8289), with a queue for each connection below the last level, in which packets
    /// other than pure ACKs are dropped after a second; or "none", where only the queue limit signals congestion. Default:
    /// "codel".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "codel"))]
    pub aqm: Option<Written<Aqm>>,
    /// CoDel: acceptable waiting time in a queue. Default: "20 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "aqm": ["codel"] }))]
    pub aqm_target: Option<Written<Span, AqmTimes>>,
    /// CoDel: how long the waiting time may exceed the target before CoDel signals congestion to the sender. Default: "100 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "aqm": ["codel"] }))]
    pub aqm_interval: Option<Written<Span, AqmTimes>>,
    /// Sparse-flow priority: connections that use little of the medium (a page request, a call) are served first. They are
    /// charged for it, so that long-term shares do not change. Within a station's share, those that got little since they
    /// were idle weigh more: short transfers go before long ones. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparse_first: Option<Written<bool>>,
    /// A queue discipline for the WLAN instead of the tree of queues, with the capacity `queue_limit`. Default: the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueRaw>,
    /// What paces the releases to the WLAN. Default: the queue controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerSpec>,
    /// The Internet link, if the box manages it too. Default: the box manages only the WLAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wan: Option<InternetSpec>,
    /// Calls: strict priority for telephone calls, up to a limit. Default: calls are ordinary traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice: Option<VoiceSpec>,
    /// Control at the receiver: the windows and ACK delays that TCP senders see. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<ReceiverSpec>,
    /// The upload limiter: drops packets from the WLAN above a limit. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_limit: Option<UplinkLimitSpec>,
    /// Access points in several contention domains: the manager paces each domain separately, and moves a station that roams.
    /// Default: one contention domain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access_point: Vec<AccessPointSpec>,
    /// Capacity of the flow table, in flows of 1 to 2 kB each; a new flow replaces the least recently used one.
    /// Default: 131072.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<Written<u32, FlowLimits>>,
    /// How much lateness of releases the next, earlier ones make up for. Default: "2 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_slack: Option<Written<Span, PacingSlacks>>,
    /// How long a bypass waits at most for the queues to drain. Default: "1 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_limit: Option<Written<Span, DrainLimits>>,
    /// For experiments, with the controller "queue" and 802.11n or later: the longest run of packets to one station, as medium time.
    /// Default: "4 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Written<Span, Runs>>,
    /// For experiments, with the controller "queue" and 802.11n or later: the longest run of packets to one station, in packets.
    /// Default: 64, with 802.11ax 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_frames: Option<Written<u32, RunFrames>>,
    /// For experiments, with the controller "queue": the medium time in flight below which the next packet is released; or "auto": the
    /// controller's target and the measured lag of the path. Default: "auto".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<Written<InFlight, InFlightLimits>>,
    /// Infer the rates of stations that nobody reports, from what their releases take of the medium, so that stations of different
    /// rates have the same airtime without telemetry. In the first seconds stations get more and less in turns. Only with 802.11a, b
    /// and g: of later standards the cost of each station is measured in any case. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infer_rates: Option<Written<bool>>,
    /// Probes for traffic that does not show how far the access point's queue has come (QUIC, other datagrams, uploads of TCP
    /// without timestamps): the most ARP requests or neighbour solicitations a second that the box sends to stations in each
    /// contention domain, under the controller "queue"; 0: none. Default: 25.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes_per_second: Option<Written<u32, ProbeRates>>,
    /// Rate classes by signal, for access points that report signals and no rates. Default: a signal gives no rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rssi: Option<RssiSpec>,
    /// Multicast and broadcast toward the WLAN. Default: 60 % of the medium for multicast, 10 % for all else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_share: Option<GroupShareSpec>,
    /// The guard against harm done by the box. Default: see the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardSpec>,
    /// PHY rate assumed for a station without a reported rate: a rate of the standard, or of 802.11n and later a mode such as
    /// "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us". Default: the lowest basic rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_rate: Option<Written<RateSpec>>,
}

impl ManagerSpec {
    /// The number of the class of this name.
    pub fn class_id(&self, name: &str) -> Option<ClassId> {
        let at = self.class.iter().position(|class| class.name == Written::new(name))?;
        u8::try_from(at).ok().map(ClassId)
    }

    /// The standards of the contention domains, each once; `radio`: the default.
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

    /// A configuration without stations, which the caller adds; or `None` and the problems.
    pub fn check(&self, phy: &Phy, rts_threshold: Option<Bytes>, problems: &mut Problems) -> Option<Config> {
        let Config { queue_limit, flow_limit, pacing_slack, drain_limit, default_rate, .. } = Config::new(phy.clone());
        // Each part is parsed independently, so that all problems are reported.
        let controller = self.controller.as_ref().map_or(Some(Controller::default()), |raw| raw.check(problems));
        let policy = self.policy(problems);
        let charge = self.charge.get_or(Fairness::Airtime, problems);
        let queue_limit = self.queue_limit.get_or(queue_limit, problems);
        let aqm = self.aqm(problems);
        let sparse_first = self.sparse_first.get_or(true, problems);
        let flow_limit = self.flow_limit.get_or(flow_limit, problems);
        let pacing_slack = self.pacing_slack.get_or(pacing_slack, problems);
        let drain_limit = self.drain_limit.get_or(drain_limit, problems);
        let release_limits = self.release_limits(problems);
        let infer_rates = self.infer_rates.get_or(false, problems);
        let probes_per_second = self.probes_per_second.get_or(ProbeConfig::default().most_per_second, problems);
        let default_rate = match &self.default_rate {
            Some(written) => station_rate(std::slice::from_ref(phy), written, problems),
            None => Some(default_rate),
        };
        let wan = self.wan.as_ref().map(|wan| wan.check(problems));
        let limit = queue_limit.unwrap_or(Limit::Unlimited);
        let queue = self.queue.as_ref().map(|raw| queue::check(self, raw, limit, phy, problems));
        let voice = self.voice.as_ref().map(|voice| voice.check(problems));
        let group_share = self.group_share.as_ref().map_or(Some(GroupShare::default()), |raw| raw.check(problems));
        let guard = self.guard.as_ref().map_or(Some(GuardConfig::default()), |raw| raw.check(problems));
        let rssi = self.rssi.as_ref().map(|rssi| rssi.check(phy, problems));
        let receiver = self.receiver.as_ref().map(|receiver| receiver.check(problems));
        let uplink_limit = self.uplink_limit.as_ref().map(|limit| limit.check(problems));
        let access_points = access_point::check(&self.access_point, phy, problems);

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
            access_points: access_points?,
            // Set by the owner of the packet memory.
            held_limit: None,
            flow_limit: flow_limit?,
            pacing_slack: pacing_slack?,
            drain_limit: drain_limit?,
            infer_rates: infer_rates?,
            // The driver sets the source of probes.
            probes: match probes_per_second? {
                0 => None,
                most_per_second => Some(ProbeConfig { most_per_second, source: None }),
            },
            rssi: match rssi {
                Some(None) => return None,
                Some(Some(rssi)) => Some(Box::new(rssi)),
                None => None,
            },
            group_share: group_share?,
            release_limits: release_limits?,
            guard: guard?,
            // For experiments, which set it themselves.
            without: Without::NOTHING,
        };
        config.check().expect("what the manager checks was checked here, with places");
        Some(config)
    }

    /// A station's weight, by default 1. It is refused where nothing uses it: the Internet link's queues do even beside a discipline.
    pub fn station_weight(&self, written: &Option<Written<u32, Weights>>, problems: &mut Problems) -> Option<u32> {
        if let (Some(written), true, Some(queue)) = (written, self.wan.is_none(), &self.queue) {
            let what = format!("the queue discipline {} knows no weights of stations", queue.discipline);
            problems.add(written.span(), what, "without weight, or without [manager.queue]");
        }
        written.get_or(1, problems)
    }

    /// The same, with the site's values where this leaves the Internet link open: its rates down and up, and the networks on the near
    /// side.
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
