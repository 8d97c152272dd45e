//! The operator's settings of a manager: plain data, checked as a whole.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use evenair_packet::{MacAddr, Subnet};
use evenair_sched::CodelConfig;
use evenair_units::{BitRate, Bytes, Dbm, Limit, Span};
use evenair_wifi::{Phy, PhyRate};

use crate::classes::check_rules;
use crate::ids::{ClassId, Direction};
use crate::{
    AccessPoint, AccessPointError, Application, ClassError, ClassTree, ReceiverConfig, ReceiverError, UplinkLimit,
    VoiceConfig, VoiceError,
};

/// The settings of a [`Manager`](crate::Manager), at start or by [`Command::Reconfigure`](crate::Command).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// PHY profile of the access points that name no standard of their own ([`AccessPoint::standard`]).
    pub phy: Phy,
    /// Packets longer than this at IP level are sent behind an RTS/CTS exchange; `None`: none are.
    pub rts_threshold: Option<Bytes>,
    /// Who gets how much.
    pub policy: Policy,
    /// What a packet costs the virtual server.
    pub charge: Charge,
    /// What sets the service rate.
    pub controller: Controller,
    /// Stations known beforehand. Others are learned as they appear.
    pub stations: Vec<StationConfig>,
    /// PHY rate assumed of a station without a configured or reported rate.
    pub default_rate: PhyRate,
    /// Limit of each leaf queue, in packets of DATA or their bytes. It bounds uploads as well, by the DATA that their
    /// held ACKs stand for.
    pub queue_limit: Limit,
    /// When a queue is a standing one, whose sender gets a congestion signal; each connection then has a queue of its
    /// own below the policy's last level, and no packet but a pure ACK leaves that was held for more than a second
    /// ([`DropReason::TooOld`](crate::DropReason)). `None`: only the limit bounds what a queue holds.
    pub aqm: Option<CodelConfig>,
    /// Sparse-flow priority: connections that use little of the medium are served first and are charged for it, so that
    /// their stations get no more over time. Needs a queue for each connection.
    pub sparse_first: bool,
    /// Limit of all queues together, in packets of whatever kind; `None`: there is none. A driver with memory for so
    /// many packets keeps some of it for what is not held.
    pub held_limit: Option<u32>,
    /// Flows that are remembered at once, 1 to 2 kB each. A new one then takes the place of the one unused for
    /// longest; where that holds packets, those of the new one pass at once, and are counted.
    pub flow_limit: u32,
    /// A queue discipline that decides the order toward the WLAN, in place of the policy's tree; `None`: the tree.
    pub queue: Option<Box<QueueConfig>>,
    /// The Internet link behind the wired side, where the box is to serve that too.
    pub wan: Option<Box<WanConfig>>,
    /// Calls: detected, admitted up to a limit, with strict priority. `None`: they are traffic like any other.
    pub voice: Option<Box<VoiceConfig>>,
    /// Receiver control: windows and ACKs of TCP, changed in transit.
    pub receiver: Option<ReceiverConfig>,
    /// The upload limiter, if there is one.
    pub uplink_limit: Option<UplinkLimit>,
    /// Access points, if there are several contention domains; empty: there is one.
    pub access_points: Vec<AccessPoint>,
    /// How much lateness of releases (a driver that woke up late) is made up by releasing the next ones early, where a
    /// service rate sets the pace. More would hand the access point a burst.
    pub pacing_slack: Span,
    /// The longest that [`Command::Bypass`](crate::Command) waits for the queues to drain at the service rate.
    pub drain_limit: Span,
}

/// The Internet link, and the servers before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WanConfig {
    /// Service rate toward the stations, in IP-level bits per second: a little below the link's, so that the queue is
    /// here.
    pub down: BitRate,
    /// Service rate from the stations.
    pub up: BitRate,
    /// Networks that are not beyond the link. Link-local addresses never are.
    pub lan: Vec<Subnet>,
    /// The part of the WLAN, in thousandths, that traffic of the LAN keeps where traffic over the link, which goes
    /// first, could use all.
    pub lan_permille: u32,
    /// When a queue before the link is a standing one. Round trips over the Internet are long, and a queue that is to
    /// keep the link busy while a sender recovers is a good part of one; others do not wait for it.
    pub aqm: CodelConfig,
    /// Other managers share the link: each direction is served only while this one holds a lease of it
    /// ([`Manager::handle_lease`](crate::Manager::handle_lease)).
    pub shared: bool,
}

/// A queue discipline for what waits for the WLAN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Which, with its parameters. Sizes are lengths at IP level.
    pub discipline: evenair_sched::Config,
    /// All packets toward a station are one flow; else those of a connection are.
    pub by_station: bool,
    /// Of a discipline with a tree of classes: which packets are in which leaf. The first matching rule decides.
    pub leaves: Vec<LeafRule>,
    /// The leaf of all others.
    pub default_leaf: u32,
    /// Of a channel-aware discipline with a table over the noise: the level that reported signals are compared with.
    pub noise: Dbm,
    /// Where flows are hashed.
    pub seed: u64,
}

/// The packets of a leaf: all conditions hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafRule {
    /// Its number in the discipline's tree.
    pub leaf: u32,
    /// Toward stations of one of these classes; empty: of any.
    pub classes: Vec<ClassId>,
    /// Of connections whose data travel this way; `None`: either.
    pub direction: Option<Direction>,
}

/// The tree of queues, from the root down. A level divides what its parent gets among its children by their weights;
/// the nodes of the last level are the queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Levels in any order, each kind at most once, at least one; a tree of classes is the first.
    pub levels: Vec<Level>,
    /// What the operator calls the classes, by their numbers. Reports use it, and no decision does.
    pub names: Vec<String>,
}

/// One level of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// Connections whose data travel from, and connections whose data travel to the WLAN.
    Direction {
        /// Weight of uploads.
        up: u32,
        /// Weight of downloads.
        down: u32,
    },
    /// The operator's classes of stations.
    Class {
        /// Weight of each class.
        weights: Vec<(ClassId, u32)>,
        /// Weight of all stations that are in none of them, together.
        other: u32,
    },
    /// A tree of classes, with rules, minimums and ceilings. Under it all shares are of medium time, unless those of
    /// stations count in bits.
    Tree(ClassTree),
    /// Kinds of traffic, within whatever is above.
    Application {
        /// The kinds, at most [`ClassTree::MOST`].
        applications: Vec<Application>,
        /// Weight of what is of none of them.
        other: u32,
    },
    /// Stations, by MAC address.
    Station {
        /// Weights count in medium time (weight times `C_i`) and not in bits.
        time_fair: bool,
    },
    /// IP addresses on the stations' side, all with weight one: behind a router or a mesh node, one MAC address
    /// stands for many hosts. A host that has addresses of both versions counts for two.
    Host,
    /// Connections, all with weight one.
    Flow,
}

/// What a packet costs the virtual server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// The medium time of everything that crosses the WLAN because of it, stretched by C*/C. For packets of full size
    /// that is `l/C_i * C*/C`; small packets pay for their overhead.
    Airtime,
    /// Published: `l/C` for virtual length `l`, whatever the station's rate.
    Bits,
}

/// What sets the service rate C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// The published additive rule: up by `delta` while TCP's measured use of the WLAN keeps up with C, else down.
    Published {
        /// Time between two evaluations; published 1 s.
        interval: Span,
        /// Step; published 0.1 Mb/s.
        delta: BitRate,
        /// The measured use may be this many thousandths below C and still count as equal.
        tolerance_permille: u32,
        /// C starts at this many thousandths of C*.
        start_permille: u32,
    },
    /// Keeps the access points' backlog at this much medium time, estimated from the stations' acknowledgments, without
    /// assumed rates.
    Queue {
        /// The medium time; the backlog may be one packet more, so that the medium never waits for the box.
        target: Span,
    },
    /// A service rate that a proportional-integral law moves so that packets wait for so long in the access point:
    /// the load that is offered to the medium is held just below the critical one.
    Pi {
        /// Time between two evaluations.
        interval: Span,
        /// The mean time that packets wait, measured from the stations' acknowledgments.
        target: Span,
    },
    /// A constant, in IP-level bits of DATA and ACKs over the WLAN per second.
    Fixed(BitRate),
    /// Nothing is held for the WLAN: packets pass in the order in which they come, and the queue forms in the access
    /// point. For mechanisms that need no queue, and for comparison.
    None,
}

/// A station known beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationConfig {
    /// Its MAC address.
    pub mac: MacAddr,
    /// Its PHY rate, until an observation says otherwise.
    pub rate: PhyRate,
    /// Its share relative to other stations.
    pub weight: u32,
    /// Its class.
    pub class: Option<ClassId>,
}

/// Why a configuration cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The policy has no level.
    NoLevel,
    /// A kind of level appears twice.
    LevelTwice,
    /// A weight is zero: its bearer would never be served.
    ZeroWeight,
    /// A class has two weights.
    ClassTwice(ClassId),
    /// The tree of classes, or the kinds of traffic.
    Classes(ClassError),
    /// Two stations have one address.
    StationTwice(MacAddr),
    /// A station's address is a group address.
    GroupAddress(MacAddr),
    /// A PHY rate is not one of the standard's.
    UnknownRate(PhyRate),
    /// A fixed service rate or a step of zero: nothing would ever be served.
    ZeroRate,
    /// An interval, or a drain limit, of zero.
    ZeroSpan,
    /// A target of the queues of zero, or above their interval.
    Target(Span),
    /// A rate above [`Config::MAX_RATE`].
    HighRate(BitRate),
    /// A span above [`Config::MAX_SPAN`].
    LongSpan(Span),
    /// The tolerance must be below 1000 thousandths.
    Tolerance(u32),
    /// The start must be between 1 and 1000 thousandths.
    Start(u32),
    /// The discipline in the tree's place cannot be: what is wrong with it.
    Discipline(&'static str),
    /// A limit of a queue, or of all, that admits no packet of full size.
    QueueLimit,
    /// The part of the WLAN that the LAN keeps must be between 1 and 999 thousandths.
    LanPart(u32),
    /// A number of flows that is zero, or above [`Config::MAX_FLOWS`].
    FlowLimit(u32),
    /// Access points.
    AccessPoints(AccessPointError),
    /// Calls.
    Voice(VoiceError),
    /// The control at the receiver.
    Receiver(ReceiverError),
    /// A part that the limit on uploads leaves to the uploads, or to datagrams, must be between 1 and 999 thousandths.
    UplinkPart(u32),
    /// The limit on uploads has a bucket that admits no packet of full size, is deeper than 1 GiB, or has a threshold
    /// above its depth.
    Bucket,
}

impl Default for Policy {
    /// The same medium time for every station, whichever way its traffic goes; in a station the same for uploads and
    /// downloads; in each direction the same for every connection.
    fn default() -> Self {
        Self::of([Level::Station { time_fair: true }, Level::Direction { up: 1, down: 1 }, Level::Flow])
    }
}

impl Default for Controller {
    /// By the access point's queue, which is kept at a few milliseconds.
    fn default() -> Self {
        Self::Queue { target: Span::from_millis(3) }
    }
}

impl Controller {
    /// The published rule with the published interval and step.
    pub const PUBLISHED: Self = Self::Published {
        interval: Span::from_secs(1),
        delta: BitRate::from_kbps(100),
        tolerance_permille: 30,
        start_permille: 900,
    };
    /// The law with its usual interval, in which a slow medium answers a few packets, and its usual target, which is
    /// a few packets of it.
    pub const PI: Self = Self::Pi { interval: Span::from_millis(50), target: Span::from_millis(10) };
}

impl Config {
    /// The highest service rate or step: 1 Tb/s, far above any WLAN.
    pub const MAX_RATE: BitRate = BitRate::from_mbps(1_000_000);
    /// The longest interval, slack or drain limit: a day.
    pub const MAX_SPAN: Span = Span::from_secs(86_400);
    /// The most flows: two million, which are up to 4 GB.
    pub const MAX_FLOWS: u32 = 1 << 21;
    /// The interval that RFC 8289 recommends, and a target as wireless queueing has it (Linux, `net/mac80211`): a
    /// station's turn comes in round-robin with others, so that 5 ms is often less than the wait for one turn.
    pub const AQM: CodelConfig = CodelConfig { target: Span::from_millis(20), interval: Span::from_millis(100) };

    /// A configuration for this PHY with every other value at its default, and no station known.
    pub fn new(phy: Phy) -> Self {
        let default_rate = phy.lowest_basic();
        Self {
            phy,
            rts_threshold: None,
            policy: Policy::default(),
            charge: Charge::Airtime,
            controller: Controller::default(),
            stations: Vec::new(),
            default_rate,
            queue_limit: Limit::Packets(1000),
            aqm: Some(Self::AQM),
            sparse_first: true,
            held_limit: None,
            flow_limit: 1 << 17,
            queue: None,
            wan: None,
            voice: None,
            receiver: None,
            uplink_limit: None,
            access_points: Vec::new(),
            pacing_slack: Span::from_millis(2),
            drain_limit: Span::from_secs(1),
        }
    }

    /// Whether a manager can run on it.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.policy.check()?;
        self.controller.check()?;
        self.check_stations()?;
        if self.drain_limit == Span::ZERO {
            return Err(ConfigError::ZeroSpan);
        }
        not_long(self.drain_limit)?;
        not_long(self.pacing_slack)?;
        if let Some(aqm) = self.aqm {
            not_long(aqm.interval)?;
            if aqm.target == Span::ZERO || aqm.target > aqm.interval {
                return Err(ConfigError::Target(aqm.target));
            }
        }
        if let Some(queue) = &self.queue {
            queue.discipline.check().map_err(ConfigError::Discipline)?;
        }
        if let Some(wan) = &self.wan {
            wan.check()?;
        }
        if let Some(voice) = &self.voice {
            voice.check().map_err(ConfigError::Voice)?;
        }
        if let Some(receiver) = &self.receiver {
            receiver.check().map_err(ConfigError::Receiver)?;
        }
        if let Some(limit) = &self.uplink_limit {
            limit.check()?;
        }
        self.check_access_points().map_err(ConfigError::AccessPoints)?;
        const FULL_SIZE: Bytes = Bytes(1500);
        if !self.queue_limit.admits(0, Bytes::ZERO, FULL_SIZE) || self.held_limit == Some(0) {
            return Err(ConfigError::QueueLimit);
        }
        if !(1..=Self::MAX_FLOWS).contains(&self.flow_limit) {
            return Err(ConfigError::FlowLimit(self.flow_limit));
        }
        Ok(())
    }

    /// Whether its access points can be, with all else as it is.
    ///
    /// # Errors
    /// The first thing that is wrong with them.
    pub fn check_access_points(&self) -> Result<(), AccessPointError> {
        crate::access_points::check(&self.access_points)?;
        crate::airtime_model::check_access_points(self)
    }

    fn check_stations(&self) -> Result<(), ConfigError> {
        if let Some(rate) = crate::airtime_model::unknown_rate(self) {
            return Err(ConfigError::UnknownRate(rate));
        }
        let mut macs = alloc::collections::BTreeSet::new();
        for station in &self.stations {
            if station.mac.is_multicast() {
                return Err(ConfigError::GroupAddress(station.mac));
            }
            if !macs.insert(station.mac) {
                return Err(ConfigError::StationTwice(station.mac));
            }
            nonzero(station.weight)?;
        }
        Ok(())
    }
}

impl WanConfig {
    /// The part of the WLAN that the LAN keeps by default.
    pub const LAN_PERMILLE: u32 = 100;
    /// Half of a long round trip, of 300 ms, may stand. The interval is to be no less than the round trip of a sender
    /// that a standing queue is held against (RFC 8289), which is the long one, what may stand, and as much again as
    /// the queue grows by until the sender has heard: where it was less, such a sender was told twice, its queue ran
    /// empty, and those with shorter round trips had what it left.
    pub const AQM: CodelConfig = CodelConfig { target: Span::from_millis(150), interval: Span::from_secs(1) };

    fn check(&self) -> Result<(), ConfigError> {
        for rate in [self.down, self.up] {
            if rate == BitRate::ZERO {
                return Err(ConfigError::ZeroRate);
            }
            not_high(rate)?;
        }
        not_long(self.aqm.interval)?;
        if self.aqm.target == Span::ZERO || self.aqm.target > self.aqm.interval {
            return Err(ConfigError::Target(self.aqm.target));
        }
        if !(1..1000).contains(&self.lan_permille) {
            return Err(ConfigError::LanPart(self.lan_permille));
        }
        Ok(())
    }
}

impl Policy {
    /// These levels, without names.
    pub fn of(levels: impl Into<Vec<Level>>) -> Self {
        Self { levels: levels.into(), names: Vec::new() }
    }

    /// All shares are of medium time.
    pub(crate) fn is_by_time(&self) -> bool {
        self.tree().is_some() && !self.levels.contains(&Level::Station { time_fair: false })
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.levels.is_empty() {
            return Err(ConfigError::NoLevel);
        }
        for (i, level) in self.levels.iter().enumerate() {
            let same_kind = |other: &Level| core::mem::discriminant(other) == core::mem::discriminant(level);
            if self.levels[..i].iter().any(same_kind) {
                return Err(ConfigError::LevelTwice);
            }
            level.check()?;
        }
        let is_class = |level: &Level| matches!(level, Level::Class { .. });
        let is_lower = |level: &Level| matches!(level, Level::Tree(_));
        if self.levels[1..].iter().any(is_lower) || self.tree().is_some() && self.levels.iter().any(is_class) {
            return Err(ConfigError::Classes(ClassError::Level));
        }
        Ok(())
    }
}

impl Level {
    fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Direction { up, down } => nonzero(*up).and_then(|()| nonzero(*down)),
            Self::Class { weights, other } => {
                nonzero(*other)?;
                for (i, (class, weight)) in weights.iter().enumerate() {
                    nonzero(*weight)?;
                    if weights[..i].iter().any(|(earlier, _)| earlier == class) {
                        return Err(ConfigError::ClassTwice(*class));
                    }
                }
                Ok(())
            }
            Self::Tree(tree) => {
                nonzero(tree.other)?;
                tree.classes.iter().try_for_each(|class| nonzero(class.weight))?;
                tree.check().map_err(ConfigError::Classes)
            }
            Self::Application { applications, other } => {
                nonzero(*other)?;
                applications.iter().try_for_each(|application| nonzero(application.weight))?;
                if applications.len() > ClassTree::MOST {
                    return Err(ConfigError::Classes(ClassError::TooMany));
                }
                let rules = applications.iter().flat_map(|application| &application.rules);
                check_rules(rules).map_err(ConfigError::Classes)
            }
            Self::Station { .. } | Self::Host | Self::Flow => Ok(()),
        }
    }
}

impl Controller {
    fn check(&self) -> Result<(), ConfigError> {
        match *self {
            Self::None => Ok(()),
            Self::Queue { target } if target == Span::ZERO => Err(ConfigError::ZeroSpan),
            Self::Queue { target } => not_long(target),
            Self::Pi { interval, target } if interval == Span::ZERO || target == Span::ZERO => {
                Err(ConfigError::ZeroSpan)
            }
            Self::Pi { interval, target } => not_long(interval).and_then(|()| not_long(target)),
            Self::Fixed(rate) if rate == BitRate::ZERO => Err(ConfigError::ZeroRate),
            Self::Published { delta, .. } if delta == BitRate::ZERO => Err(ConfigError::ZeroRate),
            Self::Published { interval, .. } if interval == Span::ZERO => Err(ConfigError::ZeroSpan),
            Self::Published { tolerance_permille: t, .. } if t >= 1000 => Err(ConfigError::Tolerance(t)),
            Self::Published { start_permille: s, .. } if s == 0 || s > 1000 => Err(ConfigError::Start(s)),
            Self::Fixed(rate) => not_high(rate),
            Self::Published { interval, delta, .. } => not_high(delta).and_then(|()| not_long(interval)),
        }
    }
}

fn not_high(rate: BitRate) -> Result<(), ConfigError> {
    if rate <= Config::MAX_RATE { Ok(()) } else { Err(ConfigError::HighRate(rate)) }
}

fn not_long(span: Span) -> Result<(), ConfigError> {
    if span <= Config::MAX_SPAN { Ok(()) } else { Err(ConfigError::LongSpan(span)) }
}

const fn nonzero(weight: u32) -> Result<(), ConfigError> {
    if weight == 0 { Err(ConfigError::ZeroWeight) } else { Ok(()) }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLevel => f.write_str("the policy has no level: at least one is needed, for instance `flow`"),
            Self::LevelTwice => f.write_str("the policy names a kind of level twice"),
            Self::ZeroWeight => f.write_str("a weight is zero: weights are 1 or more"),
            Self::ClassTwice(class) => write!(f, "class {} has two weights", class.0),
            Self::Classes(error) => error.fmt(f),
            Self::StationTwice(mac) => write!(f, "station {mac} is given twice"),
            Self::GroupAddress(mac) => write!(f, "{mac} is a group address: a station has an individual one"),
            Self::UnknownRate(rate) => write!(f, "{rate} Mb/s is not a rate of the PHY's standard"),
            Self::ZeroRate => f.write_str("a service rate or step is zero: it must be positive"),
            Self::ZeroSpan => f.write_str("an interval, target or drain limit is zero: it must be positive"),
            Self::Target(span) => write!(f, "a queue's target is {span}: it must be above zero and up to its interval"),
            Self::HighRate(rate) => write!(f, "a service rate or step is {rate}: the most is {}", Config::MAX_RATE),
            Self::LongSpan(span) => write!(f, "an interval, target, slack or drain limit is {span}: the most is a day"),
            Self::Tolerance(t) => write!(f, "the tolerance is {t} thousandths: it must be below 1000"),
            Self::Start(s) => write!(f, "the start is {s} thousandths of C*: it must be 1 to 1000"),
            Self::Discipline(what) => write!(f, "a queue discipline {what}"),
            Self::FlowLimit(n) => write!(f, "{n} flows: it must be 1 to {}", Config::MAX_FLOWS),
            Self::QueueLimit => f.write_str("a queue limit admits no packet of 1500 bytes"),
            Self::UplinkPart(p) => write!(f, "a part of the limit on uploads is {p} thousandths: it must be 1 to 999"),
            Self::Bucket => {
                f.write_str("the bucket must admit 1500 bytes, 1 GiB at most, its threshold up to its depth")
            }
            Self::LanPart(p) => write!(f, "the LAN's part of the WLAN is {p} thousandths: it must be 1 to 999"),
            Self::AccessPoints(error) => error.fmt(f),
            Self::Voice(error) => error.fmt(f),
            Self::Receiver(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_wifi::{Standard, adwiser_80211b};

    /// What is wrong with a good configuration after this change.
    fn error(change: impl FnOnce(&mut Config)) -> Option<ConfigError> {
        let mut config = Config::new(adwiser_80211b());
        let mac = MacAddr([2, 0, 0, 0, 0, 1]);
        config.stations.push(StationConfig { mac, rate: config.default_rate, weight: 1, class: None });
        change(&mut config);
        config.check().err()
    }

    #[test]
    fn each_mistake_is_found() {
        let published = |interval, delta, tolerance_permille, start_permille| {
            let (interval, delta) = (Span::from_secs(interval), BitRate::from_mbps(delta));
            Controller::Published { interval, delta, tolerance_permille, start_permille }
        };
        let levels = |levels: &[Level]| Policy::of(levels);
        let class = |weights: &[(ClassId, u32)], other| Level::Class { weights: weights.to_vec(), other };
        let (one, ofdm) = (ClassId(1), Standard::Dot11a.rates()[0]);

        assert_eq!(error(|_| {}), None);
        assert_eq!(error(|c| c.policy = levels(&[])), Some(ConfigError::NoLevel));
        assert_eq!(error(|c| c.policy = levels(&[Level::Flow, Level::Flow])), Some(ConfigError::LevelTwice));
        let zero = Some(ConfigError::ZeroWeight);
        assert_eq!(error(|c| c.policy = levels(&[Level::Direction { up: 0, down: 1 }])), zero);
        assert_eq!(error(|c| c.policy = levels(&[class(&[], 0)])), zero);
        assert_eq!(error(|c| c.policy = levels(&[class(&[(one, 0)], 1)])), zero);
        assert_eq!(error(|c| c.stations[0].weight = 0), zero);
        assert_eq!(
            error(|c| c.policy = levels(&[class(&[(one, 1), (one, 2)], 1)])),
            Some(ConfigError::ClassTwice(one))
        );
        let mac = MacAddr([2, 0, 0, 0, 0, 1]);
        assert_eq!(error(|c| c.stations.push(c.stations[0].clone())), Some(ConfigError::StationTwice(mac)));
        let group = Some(ConfigError::GroupAddress(MacAddr::BROADCAST));
        assert_eq!(error(|c| c.stations[0].mac = MacAddr::BROADCAST), group);
        assert_eq!(error(|c| c.stations[0].rate = ofdm), Some(ConfigError::UnknownRate(ofdm)));
        assert_eq!(error(|c| c.default_rate = ofdm), Some(ConfigError::UnknownRate(ofdm)));
        assert_eq!(error(|c| c.controller = Controller::Fixed(BitRate::ZERO)), Some(ConfigError::ZeroRate));
        assert_eq!(error(|c| c.controller = published(1, 0, 0, 900)), Some(ConfigError::ZeroRate));
        assert_eq!(error(|c| c.controller = published(0, 1, 0, 900)), Some(ConfigError::ZeroSpan));
        assert_eq!(error(|c| c.controller = published(1, 1, 1000, 900)), Some(ConfigError::Tolerance(1000)));
        assert_eq!(error(|c| c.controller = published(1, 1, 0, 0)), Some(ConfigError::Start(0)));
        assert_eq!(error(|c| c.controller = published(1, 1, 0, 1001)), Some(ConfigError::Start(1001)));
        let pi =
            |interval, target| Controller::Pi { interval: Span::from_secs(interval), target: Span::from_secs(target) };
        assert_eq!(error(|c| c.controller = pi(1, 1)), None);
        assert_eq!(error(|c| c.controller = pi(0, 1)), Some(ConfigError::ZeroSpan));
        assert_eq!(error(|c| c.controller = pi(1, 0)), Some(ConfigError::ZeroSpan));
        assert_eq!(error(|c| c.drain_limit = Span::ZERO), Some(ConfigError::ZeroSpan));
        let (long, high) = (Config::MAX_SPAN * 2, Config::MAX_RATE + Config::MAX_RATE);
        assert_eq!(error(|c| c.pacing_slack = long), Some(ConfigError::LongSpan(long)));
        assert_eq!(error(|c| c.controller = pi(172_800, 1)), Some(ConfigError::LongSpan(long)));
        assert_eq!(error(|c| c.drain_limit = long), Some(ConfigError::LongSpan(long)));
        assert_eq!(error(|c| c.controller = published(172_800, 1, 0, 900)), Some(ConfigError::LongSpan(long)));
        assert_eq!(error(|c| c.controller = Controller::Fixed(high)), Some(ConfigError::HighRate(high)));
        assert_eq!(error(|c| c.controller = published(1, 2_000_000, 0, 900)), Some(ConfigError::HighRate(high)));
        assert_eq!(error(|c| c.queue_limit = Limit::Packets(0)), Some(ConfigError::QueueLimit));
        assert_eq!(error(|c| c.held_limit = Some(0)), Some(ConfigError::QueueLimit));
        assert_eq!(error(|c| c.flow_limit = 0), Some(ConfigError::FlowLimit(0)));
        assert_eq!(error(|c| c.flow_limit = u32::MAX), Some(ConfigError::FlowLimit(u32::MAX)));
        let wan = |change: fn(&mut WanConfig)| {
            let rate = BitRate::from_mbps(8);
            let (lan, aqm) = (Vec::new(), WanConfig::AQM);
            let mut wan =
                WanConfig { down: rate, up: rate, lan, lan_permille: WanConfig::LAN_PERMILLE, aqm, shared: false };
            change(&mut wan);
            error(|c| c.wan = Some(wan.into()))
        };
        assert_eq!(wan(|_| ()), None);
        assert_eq!(wan(|wan| wan.up = BitRate::ZERO), Some(ConfigError::ZeroRate));
        assert_eq!(wan(|wan| wan.lan_permille = 1000), Some(ConfigError::LanPart(1000)));
        assert_eq!(wan(|wan| wan.aqm.target = Span::ZERO), Some(ConfigError::Target(Span::ZERO)));
        assert_eq!(error(|c| c.queue_limit = Limit::Bytes(Bytes(1499))), Some(ConfigError::QueueLimit));
    }
}
