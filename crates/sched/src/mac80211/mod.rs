//! Linux's intermediate queues: FQ-CoDel for each station, and stations served by airtime.
//!
//! *Queues*: each station has flows (`fq`) in deficit round robin, sparse ones first, with CoDel at 20 ms and 100 ms; at 50 ms
//! and 300 ms and without marks for a station whose PHY rate is below 6 Mb/s times the number of stations. All share one limit.
//!
//! *Airtime scheduler*: a ring of stations. The head sends if its deficit, less its expected airtime in flight, is not
//! negative; otherwise the deficit grows by its weight and the station goes to the tail. The deficit pays for the airtime of
//! the station's packets with all attempts, and of frames received from it, when that is reported ([`AirtimeReport`]). A
//! station that gets packets enters at the head of the ring, so that sparse ones wait for no other; one with a debt stays in
//! the ring for 100 ms without packets, so that it pays meanwhile. Group packets are served in turn and pay nothing.
//!
//! *Airtime queue limit* (AQL): a packet departs only while its station has less than 5 ms in flight, or less than 12 ms
//! while all have less than 24 ms together. So [`Discipline::poll_packet`] may have none although packets are held, until the
//! next report. Without AQL, as before Linux 5.5 and with drivers that do not request it, packets depart on demand, and the
//! airtime scheduler does not know what is in flight: a station pays when its packets are reported.
//!
//! Source: Linux 6.4 `net/mac80211/tx.c` (`ieee80211_next_txq`, `__ieee80211_schedule_txq`, `ieee80211_txq_airtime_check`,
//! `ieee80211_sta_deficit`; `ieee80211_tx_dequeue` counts what is in flight with `NL80211_EXT_FEATURE_AQL` only),
//! `sta_info.c` (`ieee80211_sta_register_airtime`, CoDel's parameters, `airtime_weight`), `airtime.c`; Høiland-Jørgensen,
//! Kazior, Täht, Hurtig, Brunstrom, "Ending the Anomaly", USENIX ATC 2017. Promise: stations that are backlogged and pay for
//! all their airtime here get airtime by their weights, to within a weight and what a station has in flight.
//!
//! Limits: no aggregates. The number of stations is that of those seen so far. With a queue for each access category each has
//! its own limits; Linux has one limit of packets and one of all airtime in flight. At the limit one head is dropped; Linux
//! drops 32 at once, or half of the flow if that is less. The PHY rate replaces the throughput that the rate control expects.
//! The limit in bytes of memory is missing.

mod fq;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use minicbor::{Decode, Encode};

use self::fq::Flows;
use crate::{AirtimeReport, CodelConfig, CodelQueueConfig, Discipline, Dropped, GROUP, Packet};

/// Airtime that a station of weight 1 gets in each round: `IEEE80211_DEFAULT_AIRTIME_WEIGHT`, in microseconds.
const WEIGHT: Span = Span::from_micros(256);
/// Largest weight: with 256 us per unit it fits Linux's 16 bits of microseconds.
const MAX_WEIGHT: u32 = 255;
/// How long a station without packets counts as active: `AIRTIME_ACTIVE_DURATION`.
const ACTIVE: Span = Span::from_millis(100);
/// PHY rate per station below which a station is slow: `STA_SLOW_THRESHOLD`.
const SLOW: BitRate = BitRate::from_mbps(6);
/// CoDel of a station. It signals for queues of any length except the last packet.
const CODEL: CodelQueueConfig = CodelQueueConfig {
    codel: CodelConfig { target: Span::from_millis(20), interval: Span::from_millis(100) },
    mtu: Bytes::ZERO,
    ecn: true,
};
/// CoDel of a slow station.
const SLOW_CODEL: CodelQueueConfig = CodelQueueConfig {
    codel: CodelConfig { target: Span::from_millis(50), interval: Span::from_millis(300) },
    mtu: Bytes::ZERO,
    ecn: false,
};

/// Limits of airtime in flight, below which another packet departs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct AirtimeLimits {
    /// For each station, whatever others have; 5 ms (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L`).
    #[n(0)]
    pub low: Span,
    /// For a station while all together have less than `total`; 12 ms (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H`).
    #[n(1)]
    pub high: Span,
    /// For all stations together, for `high` to apply; 24 ms (`IEEE80211_AQL_THRESHOLD`).
    #[n(2)]
    pub total: Span,
}

impl Default for AirtimeLimits {
    fn default() -> Self {
        Self { low: Span::from_millis(5), high: Span::from_millis(12), total: Span::from_millis(24) }
    }
}

/// Parameters of the intermediate queues.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Mac80211Config {
    /// Limit of all queues together; 8192 packets (`fq_init`).
    #[n(0)]
    pub limit: Limit,
    /// Number of queues to which the flows of a station are hashed; 4096 (`ieee80211_txq_setup_flows`).
    #[n(1)]
    pub queues: u32,
    /// Seed of the hash that assigns flows to queues.
    #[n(2)]
    pub seed: u64,
    /// Airtime queue limits; `None`: disabled.
    #[n(3)]
    pub aql: Option<AirtimeLimits>,
    /// Airtime weights by [`Packet::host`], 1 to 255; the default is 1, Linux's 256 us in a round.
    #[n(4)]
    pub weights: BTreeMap<u64, u32>,
}

impl Default for Mac80211Config {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(8192),
            queues: 4096,
            seed: 0,
            aql: Some(AirtimeLimits::default()),
            weights: BTreeMap::new(),
        }
    }
}

impl Mac80211Config {
    /// Whether each station would be served; limit and number of queues are checked elsewhere.
    ///
    /// # Errors
    /// What is wrong with it, to follow "a queue discipline ".
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.aql.is_some_and(|aql| aql.low == Span::ZERO || aql.low > aql.high) {
            return Err("lets no airtime be in flight, or more when there is more");
        }
        if self.weights.values().any(|weight| !(1..=MAX_WEIGHT).contains(weight)) {
            return Err("has an airtime weight of nothing, or above 255");
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct Station {
    /// Airtime that it gets in a round.
    weight: Span,
    /// Deficit, in nanoseconds.
    deficit: i64,
    in_flight: Span,
    /// When it last had packets in the ring.
    active: Option<Instant>,
    is_in_ring: bool,
    /// PHY rate of its last packet, if known.
    rate: Option<BitRate>,
}

impl Station {
    /// A new station. Its deficit begins at the default weight, since in Linux a station's own weight is set after it has
    /// joined.
    fn new(weight: u32) -> Self {
        Self {
            weight: WEIGHT * u64::from(weight),
            deficit: nanos(WEIGHT),
            in_flight: Span::ZERO,
            active: None,
            is_in_ring: false,
            rate: None,
        }
    }

    /// The deficit less the airtime in flight, in nanoseconds.
    fn balance(&self) -> i64 {
        self.deficit - nanos(self.in_flight)
    }

    fn is_active(&self, now: Instant) -> bool {
        self.active.is_some_and(|active| now.saturating_since(active) <= ACTIVE)
    }

    fn charge(&mut self, now: Instant, airtime: Span) {
        if self.is_active(now) {
            self.deficit -= nanos(airtime);
        }
    }
}

/// The intermediate queues of one device and access category.
#[derive(Clone, Debug)]
pub struct Mac80211<P> {
    flows: Flows<P>,
    stations: BTreeMap<u64, Station>,
    ring: VecDeque<u64>,
    aql: Option<AirtimeLimits>,
    weights: BTreeMap<u64, u32>,
    in_flight: Span,
}

impl<P: Packet> Mac80211<P> {
    /// Empty queues.
    ///
    /// # Panics
    /// If there are no queues.
    pub fn new(config: Mac80211Config) -> Self {
        assert!(config.queues > 0, "no flow would have a queue");
        Self {
            flows: Flows::new(&config),
            stations: BTreeMap::new(),
            ring: VecDeque::new(),
            aql: config.aql,
            weights: config.weights,
            in_flight: Span::ZERO,
        }
    }

    /// The state of a station, possibly a new one.
    fn station(&mut self, host: u64) -> &mut Station {
        let weights = &self.weights;
        self.stations.entry(host).or_insert_with(|| Station::new(weights.get(&host).copied().unwrap_or(1)))
    }

    /// Enters a station in the ring if it has packets or a debt.
    fn schedule(&mut self, now: Instant, host: u64) {
        let station = self.stations.get_mut(&host).expect("it is known");
        let has_packets = self.flows.has(host);
        let has_debts = station.balance() < 0 && station.is_active(now);
        if station.is_in_ring || !(has_packets || has_debts) {
            return;
        }
        station.is_in_ring = true;
        if has_packets {
            station.active = Some(now);
        }
        if has_packets && host != GROUP {
            self.ring.push_front(host);
        } else {
            self.ring.push_back(host);
        }
    }

    /// Whether the airtime in flight permits another packet of a station.
    fn may_depart(&self, station: &Station) -> bool {
        self.aql.is_none_or(|AirtimeLimits { low, high, total }| {
            station.in_flight < low || self.in_flight < total && station.in_flight < high
        })
    }

    /// Takes the next station out of the ring. `None`: nothing may depart.
    fn next_station(&mut self) -> Option<u64> {
        let (mut first, mut found) = (None, false);
        loop {
            let &host = self.ring.front()?;
            if first == Some(host) && !core::mem::take(&mut found) {
                return None; // a whole round, and all have too much in flight
            }
            first.get_or_insert(host);
            let may_depart = self.may_depart(&self.stations[&host]);
            found |= may_depart;
            let station = self.stations.get_mut(&host).expect("stations of the ring are known");
            let balance = station.balance();
            if balance < 0 {
                station.deficit += nanos(station.weight);
            }
            if balance < 0 || !may_depart {
                self.ring.rotate_left(1);
                continue;
            }
            self.ring.pop_front();
            station.is_in_ring = false;
            return Some(host);
        }
    }

    fn codel(&self, station: &Station) -> &'static CodelQueueConfig {
        let stations = self.stations.len() - usize::from(self.stations.contains_key(&GROUP));
        let is_slow = station.rate.is_some_and(|rate| rate.as_bps() < SLOW.as_bps() * stations as u64);
        if is_slow { &SLOW_CODEL } else { &CODEL }
    }
}

impl<P: Packet> Discipline<P> for Mac80211<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        let host = packet.host();
        self.station(host).rate = packet.rate();
        self.flows.push(now, packet);
        self.schedule(now, host);
    }

    fn poll_packet(&mut self, now: Instant) -> Option<P> {
        loop {
            let host = self.next_station()?;
            let packet = self.flows.pop(now, host, self.codel(&self.stations[&host]));
            if let Some(packet) = packet.as_ref().filter(|_| self.aql.is_some()) {
                let station = self.stations.get_mut(&host).expect("it was in the ring");
                station.in_flight += packet.airtime();
                self.in_flight += packet.airtime();
            }
            self.schedule(now, host);
            if packet.is_some() {
                return packet;
            }
        }
    }

    fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.flows.poll_drop()
    }

    fn handle_airtime(&mut self, now: Instant, report: &AirtimeReport) {
        match *report {
            AirtimeReport::Sent { host, took, expected } => {
                // Airtime in flight is counted only then.
                let expected = if self.aql.is_some() { expected } else { Span::ZERO };
                let station = self.station(host);
                station.in_flight -= expected;
                station.charge(now, took);
                self.in_flight -= expected;
            }
            AirtimeReport::Received { host, took } => self.station(host).charge(now, took),
        }
    }

    fn take_all(&mut self) -> Vec<P> {
        self.ring.clear();
        self.stations.values_mut().for_each(|station| station.is_in_ring = false);
        self.flows.take_all()
    }

    fn len(&self) -> usize {
        self.flows.len()
    }

    fn bytes(&self) -> Bytes {
        self.flows.bytes()
    }
}

/// Nanoseconds, for sums that may be negative.
const fn nanos(span: Span) -> i64 {
    span.as_nanos() as i64
}
