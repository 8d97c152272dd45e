//! The manager's settings, and the PHY profile it reckons with, as people write them: in a scenario and in the box's
//! own configuration. Both forms can be written back, so that the testbed can start the box on a file of its own.

use std::fmt;

use evenair_manager::{Charge, ClassId, CodelConfig, Config, Controller, Level, Policy, WanConfig};
use evenair_packet::Subnet;
use evenair_units::{BitRate, Bytes, Limit, Span};
use evenair_wifi::{Phy, PhyRate, Preamble, Standard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access_point_spec::{self, AccessPointSpec};
use crate::class_spec::{self, ApplicationSpec, ClassSpec};
use crate::config::{List, OrDefault, Permille, Problems, Written, words};
use crate::manager_queue;
use crate::raw::QueueRaw;
use crate::uplink_limit::UplinkLimitSpec;
use crate::words::Count;
use crate::{ReceiverSpec, VoiceSpec};

/// PHY profile of the BSS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhySpec {
    /// Standard of the BSS: its rates, slot and inter-frame spaces.
    pub standard: Written<Standard>,
    /// Preamble of 802.11b frames. Default: "long".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble: Option<Written<Preamble>>,
    /// Rates at which ACK, RTS and CTS may be sent: an answer uses the highest that is not above the DATA frame's rate.
    /// Default: 1 and 2 Mb/s for 802.11b, 6, 12 and 24 Mb/s otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_rates: Option<List<BitRate>>,
    /// IP packets larger than this are sent after RTS/CTS. Default: none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<Written<Bytes>>,
}

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
    pub ap_target: Option<Written<Span>>,
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
    /// Default: ["direction", "station", "flow"].
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
    /// the last of the levels, or "none", only by the limit. Default: "codel".
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
    /// Flows that are remembered at once, 1 to 2 kB each; a new one takes the place of the one unused for longest. Default:
    /// 131072.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<Written<Count>>,
    /// How much lateness of releases is made up by releasing the next ones early. Default: "2 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_slack: Option<Written<Span>>,
    /// The longest that a bypass waits for the queues to drain. Default: "1 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_limit: Option<Written<Span>>,
    /// PHY rate assumed of a station whose rate nobody has told. Default: the lowest basic rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_rate: Option<Written<BitRate>>,
    /// Whether the box is told the stations with weights and classes, or learns them from traffic. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub know_stations: Option<Written<bool>>,
    /// Whether the box is told the stations' PHY rates and each change of them. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub know_rates: Option<Written<bool>>,
    /// Whether the box is told, in each interval of the limit on uploads, how many packets the access point has lost, as SNMP
    /// would (simulator only); otherwise it infers losses from what is sent again. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub know_losses: Option<Written<bool>>,
    /// Whether the box is told, each second, how strongly the access point receives each station, as it would tell over SNMP
    /// (simulator only, stations with an `snr` or a place). Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub know_signals: Option<Written<bool>>,
    /// Whether the box is told at which access point each station is, as a controller would tell (with
    /// `access_point`). Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub know_places: Option<Written<bool>>,
    /// How long after a station has come to an access point the box is told. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places_delay: Option<Written<Span>>,
}

/// The Internet link as the box serves it: its transfers go before those of the LAN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InternetSpec {
    /// The link's bit rate toward the stations. Default: that of [wan.down]; a box must be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Written<BitRate>>,
    /// The link's bit rate from the stations. Default: that of [wan.up]; a box must be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Written<BitRate>>,
    /// The box serves the link at this part of its rate, so that the queue is in the box. Default: "90 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Written<Permille>>,
    /// Networks that are not beyond the link, such as "10.0.0.0/8". Default: those of the scenario's stations and LAN; in a
    /// box, those that its bridge and its interfaces have addresses in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lan: Option<List<String>>,
    /// The part of the WLAN that traffic of the LAN keeps where traffic over the link could use all. Default: "10 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lan_part: Option<Written<Permille>>,
    /// CoDel before the link: packets that wait no longer than this are in no standing queue. Default: "150 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm_target: Option<Written<Span>>,
    /// CoDel before the link: for so long packets may wait longer before their sender is told. Default: "1 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm_interval: Option<Written<Span>>,
}

/// The word for a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerKind {
    /// By the access point's queue.
    Queue,
    /// The published additive rule.
    Published,
    /// A proportional-integral law for the load that is offered.
    Pi,
    /// A constant.
    Fixed,
    /// None: nothing is held for the WLAN.
    None,
}

/// The word for a level of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// Uploads and downloads.
    Direction,
    /// Classes of stations.
    Class,
    /// Stations.
    Station,
    /// IP addresses on the stations' side.
    Host,
    /// Kinds of traffic.
    Application,
    /// Connections.
    Flow,
}

/// The word for the management of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aqm {
    /// CoDel.
    Codel,
    /// None but the limit.
    None,
}

/// The word for what is shared or charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// Medium time.
    Airtime,
    /// Bits.
    Bits,
}

words!(ControllerKind {
    "queue" => Self::Queue,
    "published" => Self::Published,
    "pi" => Self::Pi,
    "fixed" => Self::Fixed,
    "none" => Self::None,
});
impl fmt::Display for ControllerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queue => "queue",
            Self::Published => "published",
            Self::Pi => "pi",
            Self::Fixed => "fixed",
            Self::None => "none",
        })
    }
}

words!(Aqm { "codel" => Self::Codel, "none" => Self::None });
words!(LevelKind {
    "direction" => Self::Direction,
    "class" => Self::Class,
    "station" => Self::Station,
    "host" => Self::Host,
    "application" => Self::Application,
    "flow" => Self::Flow,
});
words!(Fairness { "airtime" => Self::Airtime, "bits" => Self::Bits });

/// The largest weight: keeps shares within the range in which integer arithmetic on them is exact.
pub(crate) const MAX_WEIGHT: u32 = 1000;

/// Which weights there may be.
pub(crate) const WEIGHTS: &str = "1 to 1000";

/// What service rates and steps may be.
pub(crate) const RATES: &str = "more than 0 b/s and up to 1 Tb/s";

pub(crate) fn is_rate(rate: &BitRate) -> bool {
    (BitRate::from_bps(1)..=Config::MAX_RATE).contains(rate)
}

/// Whether a weight may be.
pub(crate) fn is_weight(weight: &u32) -> bool {
    (1..=MAX_WEIGHT).contains(weight)
}

/// A rate of `standard`, or a problem that lists them.
pub(crate) fn phy_rate(standard: Standard, written: &Written<BitRate>, problems: &mut Problems) -> Option<PhyRate> {
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
        let threshold = match &self.rts_threshold {
            Some(written) => written.get_if(problems, |size| size.0 <= 65_535, "0 to 65535 bytes").map(Some),
            None => Some(None),
        };
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

impl ManagerSpec {
    /// Whether the box is told the stations.
    pub fn knows_stations(&self) -> bool {
        self.know_stations.get_or(true, &mut Problems::default()).unwrap_or(true)
    }

    /// Whether the box is told the stations' rates.
    pub fn knows_rates(&self) -> bool {
        self.know_rates.get_or(true, &mut Problems::default()).unwrap_or(true)
    }

    /// Whether the box is told what the access point loses.
    pub fn knows_losses(&self) -> bool {
        self.know_losses.get_or(false, &mut Problems::default()).unwrap_or(false)
    }

    /// Whether the box is told how strongly stations are received.
    pub fn knows_signals(&self) -> bool {
        self.know_signals.get_or(false, &mut Problems::default()).unwrap_or(false)
    }

    /// How long after a station has come to an access point the box is told; `None`: it is not.
    pub fn knows_places(&self) -> Option<Span> {
        let told = self.know_places.get_or(true, &mut Problems::default()).unwrap_or(true);
        told.then(|| self.places_delay.get_or(Span::ZERO, &mut Problems::default()).unwrap_or(Span::ZERO))
    }

    /// The number of the class of this name.
    pub fn class_id(&self, name: &str) -> Option<ClassId> {
        let at = self.class.iter().position(|class| class.name == Written::new(name))?;
        u8::try_from(at).ok().map(ClassId)
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
        let flows = |n: &Count| (1..=most).contains(&n.0);
        let flow_limit = self.flow_limit.get_or_if(Count(flow_limit), problems, flows, format!("1 to {most}"));
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
        let know_losses = self.know_losses.get_or(false, problems);
        let know_signals = self.know_signals.get_or(false, problems);
        let know = (self.know_stations.get_or(true, problems), self.know_rates.get_or(true, problems));

        let know_places = self.know_places.get_or(true, problems);
        let told = |delay: &Span| *delay <= Span::from_secs(600);
        let places_delay = self.places_delay.get_or_if(Span::ZERO, problems, told, "0 to 10 min");

        know_losses.and(know_signals).and(know_places).and(places_delay)?;
        let (Some(_), Some(_)) = know else { return None };
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
            flow_limit: flow_limit?.0,
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

    fn aqm(&self, problems: &mut Problems) -> Option<Option<CodelConfig>> {
        if self.aqm.get_or(Aqm::Codel, problems)? == Aqm::None {
            for span in [self.aqm_target.place(), self.aqm_interval.place()] {
                if !span.is_empty() {
                    problems.add(span, "without CoDel nothing uses this", "only without aqm = \"none\"");
                }
            }
            return Some(None);
        }
        let (shortest, longest) = (Span::from_micros(100), Span::from_secs(10));
        let interval = self.aqm_interval.get_or_if(
            Config::AQM.interval,
            problems,
            |span| (shortest..=longest).contains(span),
            "0.1 ms to 10 s",
        )?;
        let target = self.aqm_target.get_or_if(
            Config::AQM.target.min(interval),
            problems,
            |span| (shortest..=interval).contains(span),
            "0.1 ms up to aqm_interval",
        )?;
        Some(Some(CodelConfig { target, interval }))
    }

    fn controller(&self, problems: &mut Problems) -> Option<Controller> {
        use ControllerKind::{Fixed, None as Open, Pi, Published, Queue};
        let kind = self.controller.get_or(Queue, problems)?;
        let keys = [
            (self.ap_target.place(), Queue),
            (self.load_target.place(), Pi),
            (self.load_interval.place(), Pi),
            (self.service_rate.place(), Fixed),
            (self.interval.place(), Published),
            (self.step.place(), Published),
            (self.tolerance.place(), Published),
            (self.start.place(), Published),
        ];
        for (span, user) in keys {
            if !span.is_empty() && user != kind {
                let what = format!("the controller \"{kind}\" does not use this");
                problems.add(span, what, format!("only with controller = \"{user}\""));
            }
        }
        match kind {
            Queue => {
                let Controller::Queue { target } = Controller::default() else {
                    unreachable!("the default controller is by the queue");
                };
                let targets = Span::from_micros(100)..=Span::from_secs(1);
                let target =
                    self.ap_target.get_or_if(target, problems, |span| targets.contains(span), "0.1 ms to 1 s")?;
                Some(Controller::Queue { target })
            }
            Published => self.published(problems),
            Pi => self.shaped(problems),
            Open => Some(Controller::None),
            Fixed => {
                let Some(rate) = &self.service_rate else {
                    let what = "the fixed controller needs a service rate";
                    problems.add(self.controller.place(), what, "service_rate = \"4 Mb/s\" beside it");
                    return None;
                };
                rate.get_if(problems, is_rate, RATES).map(Controller::Fixed)
            }
        }
    }

    fn shaped(&self, problems: &mut Problems) -> Option<Controller> {
        let Controller::Pi { interval, target } = Controller::PI else { unreachable!("its name says so") };
        let (targets, intervals) =
            (Span::from_micros(100)..=Span::from_secs(1), Span::from_millis(10)..=Span::from_secs(10));
        let target = self.load_target.get_or_if(target, problems, |span| targets.contains(span), "0.1 ms to 1 s");
        let interval =
            self.load_interval.get_or_if(interval, problems, |span| intervals.contains(span), "10 ms to 10 s");
        Some(Controller::Pi { interval: interval?, target: target? })
    }

    fn published(&self, problems: &mut Problems) -> Option<Controller> {
        let Controller::Published { interval, delta, tolerance_permille, start_permille } = Controller::PUBLISHED
        else {
            unreachable!("its name says so");
        };
        let intervals = Span::from_millis(10)..=Span::from_secs(60);
        let interval = self.interval.get_or_if(interval, problems, |span| intervals.contains(span), "10 ms to 60 s");
        let delta = self.step.get_or_if(delta, problems, is_rate, RATES);
        let tolerance =
            self.tolerance.get_or_if(Permille(tolerance_permille), problems, |p| p.0 < 1000, "0 % to 99.9 %");
        let starts = Permille(1)..=Permille(1000);
        let start = self.start.get_or_if(Permille(start_permille), problems, |p| starts.contains(p), "0.1 % to 100 %");
        Some(Controller::Published {
            interval: interval?,
            delta: delta?,
            tolerance_permille: tolerance?.0,
            start_permille: start?.0,
        })
    }

    fn policy(&self, problems: &mut Problems) -> Option<Policy> {
        let up = self.up_weight.get_or_if(1, problems, is_weight, WEIGHTS);
        let down = self.down_weight.get_or_if(1, problems, is_weight, WEIGHTS);
        let other = self.other_weight.get_or_if(1, problems, is_weight, WEIGHTS);
        let fairness = self.station_fairness.get_or(Fairness::Airtime, problems);
        let kinds = self.level_kinds(problems);
        let classes = other.and_then(|other| self.class_level(other, problems));
        let applications = other.and_then(|other| class_spec::applications(&self.application, other, problems));

        let (up, down, fairness, classes, applications) = (up?, down?, fairness?, classes?, applications?);
        let level = |kind| match kind {
            LevelKind::Direction => Level::Direction { up, down },
            LevelKind::Class => classes.clone(),
            LevelKind::Application => applications.clone(),
            LevelKind::Station => Level::Station { time_fair: fairness == Fairness::Airtime },
            LevelKind::Host => Level::Host,
            LevelKind::Flow => Level::Flow,
        };
        Some(Policy { levels: kinds?.into_iter().map(level).collect(), names: self.class_names() })
    }

    fn level_kinds(&self, problems: &mut Problems) -> Option<Vec<LevelKind>> {
        let kinds = match &self.levels {
            Some(list) => {
                let kinds = list.get(problems)?;
                for (i, item) in list.items().iter().enumerate() {
                    if kinds[..i].contains(&kinds[i]) {
                        problems.add(item.span(), format!("{item} is named twice"), "each level at most once");
                        return None;
                    }
                }
                kinds
            }
            None => {
                let class = Some(LevelKind::Class).filter(|_| !self.class.is_empty() && self.queue.is_none());
                let application = Some(LevelKind::Application).filter(|_| !self.application.is_empty());
                let levels = [LevelKind::Direction, LevelKind::Station].into_iter();
                class.into_iter().chain(levels).chain(application).chain([LevelKind::Flow]).collect()
            }
        };
        let is_late = kinds.iter().skip(1).any(|kind| *kind == LevelKind::Class) && self.has_tree();
        if let Some(levels) = self.levels.as_ref().filter(|_| is_late) {
            let what = "classes with parents, rules, minimums or ceilings are above all else";
            problems.add(levels.span(), what, "\"class\" as the first of the levels");
            return None;
        }
        let unused = |_: &&ApplicationSpec| !kinds.contains(&LevelKind::Application);
        if let Some(application) = self.application.first().filter(unused) {
            let what = "there are applications, but levels has no \"application\"";
            problems.add(
                application.name.span(),
                what,
                "levels = [\"station\", \"application\", \"flow\"], for instance",
            );
        }
        let unused = |_: &&ClassSpec| !kinds.contains(&LevelKind::Class) && self.queue.is_none();
        if let Some(class) = self.class.first().filter(unused) {
            let what = "there are classes, but levels has no \"class\"";
            problems.add(class.name.span(), what, "levels = [\"class\", \"station\", \"flow\"], for instance");
        }
        Some(kinds)
    }

    /// Names of the classes, in the order of their numbers.
    pub fn class_names(&self) -> Vec<String> {
        let mut problems = Problems::default();
        self.class.iter().map(|class| class.name.get(&mut problems).unwrap_or_default()).collect()
    }

    /// The classes are a tree.
    fn has_tree(&self) -> bool {
        self.class.iter().any(ClassSpec::is_of_a_tree)
    }

    fn class_level(&self, other: u32, problems: &mut Problems) -> Option<Level> {
        let weights = self.classes(problems)?;
        match self.has_tree() {
            true => class_spec::tree(&self.class, other, problems),
            false => Some(Level::Class { weights, other }),
        }
    }

    fn classes(&self, problems: &mut Problems) -> Option<Vec<(ClassId, u32)>> {
        let mut weights = Vec::new();
        for (i, class) in self.class.iter().enumerate() {
            let name = class.name.get(problems)?;
            if self.class[..i].iter().any(|earlier| earlier.name == class.name) {
                let what = format!("a class named \"{name}\" is there already");
                problems.add(class.name.span(), what, "another name");
                return None;
            }
            let Ok(id) = u8::try_from(i) else {
                problems.add(class.name.span(), "too many classes", "256 at most");
                return None;
            };
            weights.push((ClassId(id), class.weight.get_or_if(1, problems, is_weight, WEIGHTS)?));
        }
        Some(weights)
    }
}

impl InternetSpec {
    fn check(&self, problems: &mut Problems) -> Option<WanConfig> {
        let share = self.share.get_or_if(
            Permille(900),
            problems,
            |share| (Permille(1)..=Permille(1000)).contains(share),
            "0.1 % to 100 %",
        );
        let mut rate = |written: &Option<Written<BitRate>>, name: &str| match written {
            Some(written) => written.get_if(problems, is_rate, RATES),
            None => {
                let what = format!("the Internet link's rate {name} is not known");
                problems.add(self.share.place(), what, format!("{name} = \"8 Mb/s\" in [manager.wan]"));
                None
            }
        };
        let (down, up) = (rate(&self.down, "down"), rate(&self.up, "up"));
        let lan = self.lan(problems);
        let lan_part = self.lan_part.get_or_if(
            Permille(WanConfig::LAN_PERMILLE),
            problems,
            |part| (Permille(1)..=Permille(999)).contains(part),
            "0.1 % to 99.9 %",
        );
        let (shortest, longest) = (Span::from_micros(100), Span::from_secs(60));
        let usual = WanConfig::AQM;
        let interval = self.aqm_interval.get_or_if(
            usual.interval,
            problems,
            |span| (shortest..=longest).contains(span),
            "0.1 ms to 60 s",
        )?;
        let target = self.aqm_target.get_or_if(
            usual.target.min(interval),
            problems,
            |span| (shortest..=interval).contains(span),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, ConfigError};

    #[test]
    fn the_internet_link() {
        let text = "[wan]\ndown = \"8 Mb/s\"\nup = \"1 Mb/s\"\nlan = [\"10.0.0.0/8\", \"fd00::/8\"]\n";
        let wan = check(text).unwrap().wan.expect("there is one");
        assert_eq!((wan.down, wan.up), (BitRate::from_kbps(7_200), BitRate::from_kbps(900)));
        assert_eq!((wan.lan.len(), wan.lan_permille, wan.aqm), (2, WanConfig::LAN_PERMILLE, WanConfig::AQM));
        let wan = check(&format!("{text}share = \"50 %\"\nlan_part = \"20 %\"\naqm_target = \"9 ms\"\n"))
            .unwrap()
            .wan
            .unwrap();
        assert_eq!((wan.down.as_bps(), wan.lan_permille, wan.aqm.target), (4_000_000, 200, Span::from_millis(9)));
        let error = |text: &str| check(text).unwrap_err().to_string();
        let bare = error("[wan]\n");
        assert!(["rate down", "rate up", "which addresses"].iter().all(|part| bare.contains(part)), "{bare}");
        assert!(error(&text.replace("fd00::/8", "fd00::/200")).contains("is no network"));
        assert!(error(&format!("{text}share = \"101 %\"\n")).contains("0.1 % to 100 %"));
    }

    #[test]
    fn what_a_site_knows_fills_in_what_is_left_open() {
        let (spec, ..) = config::read::<ManagerSpec>("[wan]\nup = \"2 Mb/s\"\n", "box.toml", &[]).unwrap();
        let spec = spec.at_site([Some(BitRate::from_mbps(8)); 2], &["10.1.0.0/16"]);
        let written = toml::to_string(&spec).unwrap();
        let wan = check(&written).unwrap().wan.expect("there is one");
        assert_eq!((wan.down, wan.up), (BitRate::from_kbps(7_200), BitRate::from_kbps(1_800)), "{written}");
        assert_eq!(wan.lan, ["10.1.0.0/16".parse().unwrap()]);
        assert_eq!(ManagerSpec::default().at_site([None; 2], &["10.1.0.0/16"]), ManagerSpec::default());
    }

    fn check(text: &str) -> Result<Config, ConfigError> {
        let (spec, document, mut problems) = config::read::<ManagerSpec>(text, "box.toml", &[])?;
        let phy = Phy::default_for(Standard::Dot11b);
        let config = spec.check(&phy, None, &mut problems);
        document.verdict(problems)?;
        Ok(config.expect("no problems, so a configuration"))
    }

    #[test]
    fn an_empty_table_is_the_managers_own_default() {
        assert_eq!(check("").unwrap(), Config::new(Phy::default_for(Standard::Dot11b)));
    }

    #[test]
    fn the_documented_defaults_are_the_managers_own() {
        let schema = schemars::schema_for!(ManagerSpec).to_value();
        let properties = schema["properties"].as_object().expect("a table has keys");
        // Keys of one controller do not stand beside another one.
        let documented = |others: &[&str]| {
            let line = |(key, property): (&String, &serde_json::Value)| {
                let (meaning, default) = property["description"].as_str()?.split_once("Default: ")?;
                // What is said in words (the lowest basic rate) is no value.
                let line = format!("{key} = {}\n", default.trim_end_matches('.').replace('\n', " "));
                (!others.iter().any(|other| meaning.starts_with(other)) && line.parse::<toml::Table>().is_ok())
                    .then_some(line)
            };
            properties.iter().filter_map(line).collect::<Vec<_>>()
        };
        let config = Config::new(Phy::default_for(Standard::Dot11b));
        let lines = documented(&["Published", "PI controller"]);
        assert!(lines.len() >= 15 && lines.contains(&"ap_target = \"3 ms\"\n".to_owned()), "{lines:?}");
        assert_eq!(check(&lines.concat()).unwrap(), config, "{lines:?}");

        let lines = documented(&["Queue controller", "PI controller"]).concat();
        assert!(lines.contains("tolerance = \"3 %\""), "{lines}");
        let lines = lines.replace("controller = \"queue\"", "controller = \"published\"");
        assert_eq!(check(&lines).unwrap(), Config { controller: Controller::PUBLISHED, ..config.clone() }, "{lines}");

        let lines = documented(&["Queue controller", "Published"]).concat();
        assert!(lines.contains("load_target = \"10 ms\""), "{lines}");
        let lines = lines.replace("controller = \"queue\"", "controller = \"pi\"");
        assert_eq!(check(&lines).unwrap(), Config { controller: Controller::PI, ..config }, "{lines}");
    }

    #[test]
    fn classes_have_numbers_in_their_order() {
        let text = "levels = [\"class\", \"flow\"]\nother_weight = 2\n\
                    [[class]]\nname = \"gold\"\nweight = 4\n[[class]]\nname = \"bronze\"\nweight = 1\n";
        let weights = vec![(ClassId(0), 4), (ClassId(1), 1)];
        assert_eq!(check(text).unwrap().policy.levels, [Level::Class { weights, other: 2 }, Level::Flow]);
        let (spec, ..) = config::read::<ManagerSpec>(text, "box.toml", &[]).unwrap();
        assert_eq!(spec.class_id("bronze"), Some(ClassId(1)));
        assert_eq!(spec.class_id("silver"), None);

        let error = |text| check(text).unwrap_err().to_string();
        let class = "[[class]]\nname = \"gold\"\nweight = 4\n";
        let unused = format!("levels = [\"flow\"]\n{class}");
        assert!(error(&unused).contains("levels has no \"class\""));
        let Level::Class { .. } = check(class).unwrap().policy.levels[0] else { panic!("the first of the levels") };
        let twice = format!("levels = [\"class\"]\n{class}{class}");
        assert!(error(&twice).contains("box.toml:6:8: class.gold.name: a class named \"gold\" is there already"));
    }

    #[test]
    fn a_fixed_service_rate() {
        let config = check("controller = \"fixed\"\nservice_rate = \"4.6 Mb/s\"\ncharge = \"bits\"").unwrap();
        assert_eq!(config.controller, Controller::Fixed(BitRate::from_kbps(4_600)));
        assert_eq!(config.charge, Charge::Bits);
        let error =
            check("controller = \"fixed\"\nservice_rate = \"0 Mb/s\"\nstep = \"1 Mb/s\"").unwrap_err().to_string();
        let high = check("controller = \"published\"\nstep = \"2000000 Mb/s\"").unwrap_err().to_string();
        assert!(high.contains("up to 1 Tb/s"), "{high}");
        assert!(
            error.contains("more than 0 b/s") && error.contains("the controller \"fixed\" does not use this"),
            "{error}"
        );
    }

    #[test]
    fn the_management_of_queues() {
        let aqm = |target, interval| {
            Some(CodelConfig { target: Span::from_millis(target), interval: Span::from_millis(interval) })
        };
        assert_eq!(check("aqm = \"none\"").unwrap().aqm, None);
        assert_eq!(check("aqm_target = \"5 ms\"").unwrap().aqm, aqm(5, 100));
        assert_eq!(check("aqm_interval = \"10 ms\"").unwrap().aqm, aqm(10, 10));
        let error = |text| check(text).unwrap_err().to_string();
        assert!(error("aqm = \"none\"\naqm_target = \"5 ms\"").contains("without CoDel"));
        assert!(error("aqm_target = \"101 ms\"").contains("up to aqm_interval"));
        assert!(error("aqm = \"red\"").contains("\"codel\""));
    }

    #[test]
    fn what_is_written_back_reads_the_same() {
        let text = "controller = \"published\"\nstep = \"0.2 Mb/s\"\ntolerance = \"2.5 %\"\nlevels = [\"flow\"]\n\
                    queue_limit = \"200 packets\"\nknow_rates = false\n";
        let (spec, ..) = config::read::<ManagerSpec>(text, "box.toml", &[]).unwrap();
        let written = toml::to_string(&spec).unwrap();
        let (again, ..) = config::read::<ManagerSpec>(&written, "again.toml", &[]).unwrap();
        assert_eq!(again, spec);
        assert!(!again.knows_rates() && again.knows_stations());
    }

    #[test]
    fn a_discipline_in_the_place_of_the_tree() {
        use evenair_sched::{Config as Discipline, LasAckConfig};
        let queue = |text: &str| check(text).unwrap().queue.expect("there is one");
        let las = queue("queue_limit = \"300 packets\"\n[queue]\ndiscipline = \"las-ack\"\n");
        let limit = Limit::Packets(300);
        assert_eq!(las.discipline, Discipline::LasAck(LasAckConfig { limit, ..LasAckConfig::default() }));
        let Discipline::FqCodel(fq) = queue("[queue]\ndiscipline = \"fq-codel\"\n").discipline else { panic!() };
        assert!(fq.codel.ecn, "the box marks");

        let tree = "[[class]]\nname = \"gold\"\nweight = 1\n[queue]\ndiscipline = \"htb\"\n\
                    [[queue.class]]\nname = \"all\"\nrate = \"5 Mb/s\"\n\
                    [[queue.class]]\nname = \"g\"\nparent = \"all\"\nrate = \"4 Mb/s\"\nstation_classes = [\"gold\"]\n\
                    [[queue.class]]\nname = \"rest\"\nparent = \"all\"\nrate = \"1 Mb/s\"\n";
        let htb = queue(tree);
        assert_eq!((htb.leaves.len(), htb.leaves[0].leaf, htb.default_leaf), (1, 1, 2));
        assert_eq!(htb.leaves[0].classes, [ClassId(0)]);

        let error = |text: &str| check(text).unwrap_err().to_string();
        assert!(error(&tree.replace("[\"gold\"]", "[\"silver\"]")).contains("there is no class \"silver\""));
        assert!(error(&tree.replace("station_classes = [\"gold\"]", "apps = [\"x\"]")).contains("only for a queue of"));
        let of_tree = error("levels = [\"flow\"]\nsparse_first = false\n[queue]\ndiscipline = \"fifo\"\n");
        assert_eq!(of_tree.matches("takes the place of the tree").count(), 2, "{of_tree}");
        assert!(error("[queue]\ndiscipline = \"red\"\n").contains("fq-codel"));
        assert!(error("[queue]\ndiscipline = \"fifo\"\ndriver = 3\n").contains("no MAC below"));
    }

    #[test]
    fn a_discipline_that_knows_channels_in_the_place_of_the_tree() {
        let text = |words: &str| {
            format!("[queue]\ndiscipline = \"whtb\"\n{words}[[queue.class]]\nname = \"all\"\nrate = \"1 Mb/s\"\n")
        };
        let by_signal = "estimator = \"signal\"\nchannel = [{ snr = \"4 dB\", goodput = \"1 Mb/s\" }]\n";
        let noise = |words: &str| check(&text(words)).unwrap().queue.expect("there is one").noise;
        assert_eq!(noise(by_signal), evenair_wifi::power::noise_floor(Standard::Dot11b));
        assert_eq!(noise(&format!("{by_signal}noise = \"-90 dBm\"\n")), evenair_units::Dbm::from_milli(-90_000));
        assert!(check(&text("")).is_ok(), "by rates");

        let error = |words: &str| check(&text(words)).unwrap_err().to_string();
        assert!(error(&format!("{by_signal}noise = \"10 dBm\"\n")).contains("-120 dBm to -30 dBm"));
        assert!(error("noise = \"-90 dBm\"\n").contains("only with estimator = \"signal\""));
        assert!(error("pause = \"1 s\"\n").contains("does not learn what became of a packet"));
        let of_fifo = check("[queue]\ndiscipline = \"fifo\"\nnoise = \"-90 dBm\"\n").unwrap_err().to_string();
        assert!(of_fifo.contains("does not have this"), "{of_fifo}");
    }
}
