//! The operator's settings of a manager: plain data, checked as a whole.

pub(crate) mod error;
pub(crate) mod limits;
pub(crate) mod without;

use alloc::boxed::Box;
use alloc::vec::Vec;

use evenair_sched::CodelConfig;
use evenair_units::{BitRate, Bytes, Limit, Span};
use evenair_wifi::{Phy, PhyRate, Standard};
use minicbor::{Decode, Encode};

use crate::airtime_model::AirtimeModels;
use crate::domain::groups::GroupShare;
use crate::ids::DomainId;
use crate::pacer::aggregating::runs::RunLimit;
use crate::pacer::config::{PacerConfig, ReleaseLimits};
use crate::pacer::controller::Controller;
use crate::pacer::guard::GuardConfig;
use crate::pacer::probes::config::ProbeConfig;
use crate::pacer::rate::Charge;
use crate::queues::TreeConfig;
use crate::queues::classes::Policy;
use crate::queues::discipline::config::QueueConfig;
use crate::receiver::ReceiverConfig;
use crate::stations::access_points::{self, AccessPoint, AccessPointError, Table};
use crate::stations::config::StationConfig;
use crate::stations::reports::RssiConfig;
use crate::uplink::UplinkLimit;
use crate::voice::VoiceConfig;
use crate::wan::config::WanConfig;
use error::{ConfigError, nonzero, not_long};
use without::{Mechanism, Without};

/// The settings of a [`Manager`](crate::Manager), at start or by [`Command::Reconfigure`](crate::Command).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Config {
    /// PHY profile of the access points that name no standard of their own ([`AccessPoint::standard`]).
    #[n(0)]
    pub phy: Phy,
    /// Packets longer than this at IP level are sent behind an RTS/CTS exchange; `None`: none are.
    #[n(1)]
    pub rts_threshold: Option<Bytes>,
    /// The hierarchy of weights by which traffic shares the medium.
    #[n(2)]
    pub policy: Policy,
    /// How packets are charged to the virtual server.
    #[n(3)]
    pub charge: Charge,
    /// The controller, which decides when packets are released.
    #[n(4)]
    pub controller: Controller,
    /// Stations known beforehand. Others are learned as they appear.
    #[n(5)]
    pub stations: Vec<StationConfig>,
    /// PHY rate assumed of a station without a configured or reported rate.
    #[n(6)]
    pub default_rate: PhyRate,
    /// Limit of each leaf queue, in packets of DATA or their bytes. It bounds uploads as well, by the DATA that their
    /// held ACKs stand for.
    #[n(7)]
    pub queue_limit: Limit,
    /// CoDel of each queue, whose standing queues cause congestion signals; each connection then has a queue of its own below the policy's
    /// last level, and packets other than pure ACKs that were held for more than a second are dropped
    /// ([`DropReason::TooOld`](crate::DropReason)). `None`: only the limit bounds a queue.
    #[n(8)]
    pub aqm: Option<CodelConfig>,
    /// Sparse-flow priority: connections that use little of the medium are served first and are charged for it, so that their stations get
    /// no more over time. Within a station's share, connections weigh more the less they were served since they were idle. Needs a queue
    /// for each connection.
    #[n(9)]
    pub sparse_first: bool,
    /// Limit of all queues together, in packets; `None`: unlimited. A driver with memory for so many packets keeps some of it for packets
    /// that are not held.
    #[n(10)]
    pub held_limit: Option<u32>,
    /// Flows in the table at most, 1 to 2 kB each. A new flow replaces the least recently used one; if that one holds packets, packets of
    /// the new flow pass at once and are counted.
    #[n(11)]
    pub flow_limit: u32,
    /// A queue discipline that decides the order toward the WLAN, in place of the policy's tree; `None`: the tree.
    #[n(12)]
    pub queue: Option<Box<QueueConfig>>,
    /// The Internet link behind the wired side, if the box queues for it, too.
    #[n(13)]
    pub wan: Option<Box<WanConfig>>,
    /// Calls: detected, admitted up to a limit, with strict priority. `None`: calls are ordinary traffic.
    #[n(14)]
    pub voice: Option<Box<VoiceConfig>>,
    /// Receiver control: windows and ACKs of TCP, changed in transit.
    #[n(15)]
    pub receiver: Option<ReceiverConfig>,
    /// The upload limiter.
    #[n(16)]
    pub uplink_limit: Option<UplinkLimit>,
    /// Access points, if there are several contention domains; empty: there is one.
    #[n(17)]
    pub access_points: Vec<AccessPoint>,
    /// Lateness of releases (a driver that woke up late) that is made up by releasing the next ones early, where a service rate sets the
    /// pace. More would hand the access point a burst.
    #[n(18)]
    pub pacing_slack: Span,
    /// The longest that [`Command::Bypass`](crate::Command) waits for the queues to drain at the service rate.
    #[n(19)]
    pub drain_limit: Span,
    /// Whether rates of unreported stations are inferred from the medium time of releases to them.
    #[n(20)]
    #[cbor(default)]
    pub infer_rates: bool,
    /// Probes, sent where the traffic shows no completions. `None`: no probes.
    #[n(21)]
    #[cbor(default)]
    pub probes: Option<ProbeConfig>,
    /// Rate classes by signal, for reports without rates. `None`: a signal gives no rate.
    #[n(22)]
    pub rssi: Option<Box<RssiConfig>>,
    /// The share of the medium that frames to groups may take.
    #[n(23)]
    #[cbor(default)]
    pub group_share: GroupShare,
    /// Limits of the controller "queue", for experiments.
    #[n(24)]
    #[cbor(default)]
    pub release_limits: ReleaseLimits,
    /// Settings of the harm guard.
    #[n(25)]
    #[cbor(default)]
    pub guard: GuardConfig,
    /// Mechanisms of the controller "queue" that are left out, for experiments.
    #[n(26)]
    #[cbor(default)]
    pub without: Without,
}

/// Whether access points of this standard aggregate.
const fn aggregates(standard: Standard) -> bool {
    matches!(standard, Standard::Dot11n | Standard::Dot11ac | Standard::Dot11ax)
}

impl Config {
    /// Upper limit of service rates and steps: 1 Tb/s, far above any WLAN.
    pub const MAX_RATE: BitRate = limits::MAX_RATE;
    /// Upper limit of intervals, slack and drain limit: a day.
    pub const MAX_SPAN: Span = limits::MAX_SPAN;
    /// Upper limit of flows: two million, up to 4 GB of memory.
    pub const MAX_FLOWS: u32 = limits::MAX_FLOWS;
    /// Default CoDel settings. Interval: as RFC 8289 recommends. Target: as Linux has it for wireless queues (`net/mac80211`), since a
    /// station takes its turn in round-robin, for which 5 ms is often too short.
    pub const AQM: CodelConfig = CodelConfig { target: Span::from_millis(20), interval: Span::from_millis(100) };

    /// A configuration for this PHY with every other value at its default, and no stations.
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
            infer_rates: false,
            probes: Some(ProbeConfig::default()),
            rssi: None,
            group_share: GroupShare::default(),
            release_limits: ReleaseLimits::default(),
            guard: GuardConfig::default(),
            without: Without::NOTHING,
        }
    }

    /// Checks the whole configuration.
    ///
    /// # Errors
    /// The first error found.
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
        if let Some(rssi) = &self.rssi {
            rssi.check().map_err(ConfigError::Rssi)?;
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
        self.group_share.check()?;
        self.release_limits.check()?;
        self.probes.map_or(Ok(()), |probes| probes.check())?;
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

    /// Checks the access points, with all else as it is.
    ///
    /// # Errors
    /// The first error found in them.
    pub fn check_access_points(&self) -> Result<(), AccessPointError> {
        access_points::check(&self.access_points)?;
        access_points::check_standards(self.phy.standard(), &self.access_points)
    }

    fn check_stations(&self) -> Result<(), ConfigError> {
        if let Some(rate) = self.unknown_rate() {
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

/// Contention domains.
impl Config {
    /// The standards of its contention domains, each once: that of its own PHY, then those of its access points in order.
    pub fn standards(&self) -> Vec<Standard> {
        let mut standards: Vec<Standard> = Vec::new();
        for standard in [self.phy.standard()]
            .into_iter()
            .chain(self.access_points.iter().map(|at| at.standard.unwrap_or(self.phy.standard())))
        {
            if !standards.contains(&standard) {
                standards.push(standard);
            }
        }
        standards
    }

    /// The PHY profiles of its contention domains, in the same order.
    pub fn phys(&self) -> Vec<Phy> {
        let of = |standard| if standard == self.phy.standard() { self.phy.clone() } else { Phy::default_for(standard) };
        self.standards().into_iter().map(of).collect()
    }

    /// This configuration for one of several shards, which serves only the selected access points. A station whose rate none of their
    /// standards has gets the nearest rate.
    #[must_use]
    pub fn with_access_points(&self, is_own: impl Fn(&AccessPoint) -> bool) -> Self {
        let mut config = self.clone();
        config.access_points.retain(is_own);
        let models = config.airtime_models(&Table::of(&config.access_points));
        for station in config.stations.iter_mut().filter(|station| !models.have_rate(station.rate)) {
            station.rate = models[DomainId::DEFAULT].nearest(station.rate);
        }
        config
    }

    /// A rate of a station that no domain's standard has, or the default rate if the configuration's own PHY does not have it.
    fn unknown_rate(&self) -> Option<PhyRate> {
        let phys = self.phys();
        let of_some = |rate: PhyRate| phys.iter().any(|phy| phy.takes(rate));
        let of_station = self.stations.iter().map(|station| station.rate).find(|&rate| !of_some(rate));
        of_station.or((!self.phy.takes(self.default_rate)).then_some(self.default_rate))
    }
}

/// Settings of single mechanisms.
impl Config {
    /// The airtime models of its contention domains; `table` has its access points.
    pub(crate) fn airtime_models(&self, table: &Table) -> AirtimeModels {
        let mut models = AirtimeModels::new(&self.phy, self.rts_threshold, &self.access_points, table);
        let of_stations = self.stations.iter().map(|station| station.rate);
        let by_signal = self.rssi.iter().flat_map(|rssi| &rssi.classes).map(|class| class.rate);
        of_stations.chain(by_signal).chain([self.default_rate]).for_each(|rate| models.note(rate));
        models
    }

    pub(crate) fn pacer(&self, standard: Standard) -> PacerConfig {
        let is_modern = aggregates(standard);
        // A discipline has no runs, and a service rate needs no backlog account.
        let aggregates = is_modern && self.queue.is_none() && self.controller.follows_completions();
        let ReleaseLimits { in_flight, .. } = self.release_limits;
        PacerConfig {
            controller: self.controller,
            charge: self.charge,
            run: if self.without.has(Mechanism::Runs) {
                RunLimit::SINGLE
            } else {
                self.release_limits.run_limit(standard)
            },
            aggregates,
            in_flight,
            without: self.without,
            guard: self.guard,
            slack: self.pacing_slack,
        }
    }

    /// Whether packets for access points of 802.11n or later are held by something that does not release whole aggregates: a service rate
    /// or a queue discipline. The default controller with its own queues does release them.
    pub fn breaks_aggregates(&self) -> bool {
        let breaks = |standard| aggregates(standard) && !self.pacer(standard).aggregates;
        self.controller.holds() && self.standards().into_iter().any(breaks)
    }

    /// Settings of probes, if probes can be sent.
    pub(crate) fn probe(&self) -> Option<&ProbeConfig> {
        let is_wanted = !self.without.has(Mechanism::Probes);
        self.probes.as_ref().filter(|probes| is_wanted && probes.source.is_some())
    }

    /// Settings of the tree of queues.
    pub(crate) fn tree(&self) -> TreeConfig<'_> {
        TreeConfig {
            policy: &self.policy,
            queue_limit: self.queue_limit,
            held_limit: self.held_limit,
            aqm: self.aqm,
            sparse_first: self.sparse_first,
            without: self.without,
            lan_permille: self.wan.as_ref().map(|wan| wan.lan_permille),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ClassId;
    use crate::queues::classes::Level;
    use evenair_packet::MacAddr;
    use evenair_wifi::adwiser_80211b;

    /// The error of a valid configuration after this change.
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
        let limits = |change: fn(&mut ReleaseLimits)| error(|c| change(&mut c.release_limits));
        assert_eq!(limits(|limits| limits.run = Span::ZERO), Some(ConfigError::ZeroSpan));
        assert_eq!(limits(|limits| limits.in_flight = Some(Span::ZERO)), Some(ConfigError::ZeroSpan));
        assert_eq!(limits(|limits| limits.in_flight = Some(Config::MAX_SPAN * 2)), Some(ConfigError::LongSpan(long)));
        assert_eq!(limits(|limits| limits.run_frames = Some(0)), Some(ConfigError::RunFrames));
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

    #[test]
    fn what_is_left_out_is_recorded_only_where_something_is() {
        let whole = Config::new(adwiser_80211b());
        let part = Config { without: Without::NOTHING.and(Mechanism::Lag), ..whole.clone() };
        let bytes = [&whole, &part].map(|config| minicbor::to_vec(config).expect("into memory"));
        assert_eq!(bytes.each_ref().map(|bytes| minicbor::decode::<Config>(bytes).expect("readable")), [whole, part]);
        // A number of two bytes for the key, and one for the value.
        assert_eq!(bytes[1].len(), bytes[0].len() + 3);
    }
}
