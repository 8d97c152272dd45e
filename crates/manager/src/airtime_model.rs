//! The airtime model: what packets cost the medium, from their length and the rate of their station.
//!
//! Only it knows the PHY. It turns the cost of a packet (itself, the packets that it elicits and releases, each perhaps a fraction of
//! one) into airtime. Collisions, retries and other networks are not in it; the pacer finds out how fast the medium really is.
//!
//! From 802.11n on, packets share accesses: each costs its frame, and a part of an access ([`shared`]).
//!
//! Each contention domain has the model of its PHY ([`AirtimeModels`]). A station is always at a rate of the standard of its domain, so
//! what it costs is computed by the model of its domain, even while a discipline still holds packets for it in another one.

pub(crate) mod rate_classes;
mod shared;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::{AddAssign, Index};

use evenair_units::{BitRate, Bytes, Span};
use evenair_wifi::{Phy, PhyRate, Standard, TcpShape, tcp_capacity};

use crate::ids::{DomainId, ModelId};
use crate::packet_cost::{PacketCost, Packets};
use crate::stations::access_points::{AccessPoint, Table};
use rate_classes::RateClasses;

use shared::SharedAccesses;

/// The airtime model of one PHY; see the module.
#[derive(Clone, Debug)]
pub(crate) struct AirtimeModel {
    phy: Phy,
    shape: TcpShape,
    classes: RateClasses,
    /// Airtime of a single-packet access apart from its DATA frame, for each rate of DSSS or OFDM.
    around: Vec<Around>,
    /// Airtime of packets that share accesses (802.11n and later); `None` up to 802.11g.
    shared: Option<SharedAccesses>,
}

/// Airtime of an access at one rate without its DATA frame: DIFS, mean back-off, ACK, and RTS and CTS. It is the same for each packet and
/// computed once, since finding the rate of the ACK takes longer than all the rest.
#[derive(Clone, Copy, Debug)]
struct Around {
    rate: PhyRate,
    plain: Span,
    with_rts: Span,
}

impl Around {
    fn of(phy: &Phy, rate: PhyRate) -> Self {
        let all = |rts| phy.access_cost(Bytes::ZERO, rate, rts).0 - phy.data(Bytes::ZERO, rate);
        Self { rate, plain: all(false), with_rts: all(true) }
    }
}

/// The airtime models of all contention domains: one for each PHY, so that their number does not grow with the number of domains.
#[derive(Clone, Debug)]
pub(crate) struct AirtimeModels {
    /// Modes of stations beside the rate classes; at most as many as there are modes.
    noted: BTreeSet<PhyRate>,
    /// One model for each PHY; that of the configuration's own PHY first.
    distinct: Vec<AirtimeModel>,
    /// Model of each configured domain. Learned domains have the first model.
    of_domain: Vec<ModelId>,
}

/// Airtime of releases, counted twice: as charged, and as the pacer counts it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) charged: Span,
    pub(crate) paced: Span,
}

impl Counted {
    /// Converts a time as the pacer counts it to charged airtime.
    pub(crate) fn to_charged(self, paced: Span) -> Span {
        if self.paced == Span::ZERO { paced } else { paced.mul_div(self.charged.as_nanos(), self.paced.as_nanos()) }
    }

    /// Converts charged airtime to a time as the pacer counts it.
    pub(crate) fn to_paced(self, charged: Span) -> Span {
        if self.charged == Span::ZERO {
            charged
        } else {
            charged.mul_div(self.paced.as_nanos(), self.charged.as_nanos())
        }
    }
}

impl AddAssign for Counted {
    fn add_assign(&mut self, other: Self) {
        self.charged += other.charged;
        self.paced += other.paced;
    }
}

impl AirtimeModel {
    pub(crate) fn new(phy: Phy, rts_threshold: Option<Bytes>) -> Self {
        let classes = RateClasses::of(&phy);
        let shape = TcpShape { rts_threshold, ..TcpShape::ADWISER };
        let shared = classes.have_modes().then(|| SharedAccesses::new(&phy, &shape, &classes));
        let around = phy.standard().rates().iter().map(|&rate| Around::of(&phy, rate)).collect();
        Self { phy, shape, classes, around, shared }
    }

    /// Prepares the cost of packets to and from stations at this rate.
    fn note(&mut self, rate: PhyRate) {
        if self.classes.has(rate)
            && let Some(shared) = &mut self.shared
        {
            shared.note(rate);
        }
    }

    pub(crate) fn standard(&self) -> Standard {
        self.phy.standard()
    }

    /// C_i, in IP-level bits per second: full-size packets to one station at this rate, and the packets that they cause.
    pub(crate) fn capacity(&self, rate: PhyRate) -> BitRate {
        match &self.shared {
            Some(shared) => shared.capacity(rate),
            None => tcp_capacity(&self.phy, rate, &self.shape),
        }
    }

    /// Airtime of a packet and of the packets that it causes, to and from a station at `rate`. For a full-size packet this is `l/C_i`.
    pub(crate) fn airtime(&self, cost: &PacketCost, rate: PhyRate) -> Span {
        if let Some(shared) = &self.shared {
            return shared.airtime(cost, rate);
        }
        let airtime = |p: &Packets| self.packet_airtime(p.ip_len, rate).mul_div(p.milli, 1_000);
        cost.0.iter().filter(|p| p.milli > 0).map(airtime).sum()
    }

    /// Airtime of one packet of many to or from a station, without the packets that it causes.
    pub(crate) fn packet_airtime(&self, ip_len: Bytes, rate: PhyRate) -> Span {
        if let Some(shared) = &self.shared {
            return shared.airtime(&PacketCost::alone(Packets::one(ip_len)), rate);
        }
        self.access(ip_len, rate)
    }

    /// Airtime of a packet to or from a station that is known to share its access with no other.
    pub(crate) fn lone_airtime(&self, ip_len: Bytes, rate: PhyRate) -> Span {
        if let Some(shared) = &self.shared {
            return shared.alone(ip_len, rate);
        }
        self.access(ip_len, rate)
    }

    /// Airtime of an access with one packet, as before 802.11n.
    fn access(&self, ip_len: Bytes, rate: PhyRate) -> Span {
        let rts = self.shape.rts_threshold.is_some_and(|threshold| ip_len > threshold);
        let Some(around) = self.around.iter().find(|around| around.rate == rate) else {
            return self.phy.access_cost(ip_len, rate, rts).0;
        };
        self.phy.data(ip_len, rate) + if rts { around.with_rts } else { around.plain }
    }

    /// The rates that stations may be at.
    pub(crate) const fn classes(&self) -> &RateClasses {
        &self.classes
    }

    /// The usual rate classes, slowest first.
    pub(crate) fn rates(&self) -> &[PhyRate] {
        self.classes.usual()
    }

    /// The highest rate.
    pub(crate) fn fastest(&self) -> PhyRate {
        *self.rates().last().expect("every standard has rates")
    }

    /// This rate, or the nearest one that stations may be at.
    pub(crate) fn nearest(&self, rate: PhyRate) -> PhyRate {
        self.classes.nearest(rate)
    }

    /// The rate of a station of which nothing is known: the configured one, or the lowest basic rate of a standard that does not have
    /// it.
    pub(crate) fn default_rate(&self, configured: PhyRate) -> PhyRate {
        if self.classes.has(configured) { configured } else { self.phy.lowest_basic() }
    }

    /// Airtime of one packet of many, at the rate at which that is shortest.
    pub(crate) fn shortest_airtime(&self, ip_len: Bytes) -> Span {
        let airtimes = self.rates().iter().map(|&rate| self.packet_airtime(ip_len, rate));
        airtimes.min().expect("every standard has rates")
    }

    /// Airtime of a packet that shares its access with no other, at the rate at which that is shortest.
    pub(crate) fn shortest_lone_airtime(&self, ip_len: Bytes) -> Span {
        let airtimes = self.rates().iter().map(|&rate| self.lone_airtime(ip_len, rate));
        airtimes.min().expect("every standard has rates")
    }

    /// Airtime of a broadcast: at the lowest basic rate, without acknowledgment.
    pub(crate) fn broadcast_airtime(&self, ip_len: Bytes) -> Span {
        self.phy.difs() + self.phy.mean_backoff() + self.phy.data(ip_len, self.phy.lowest_basic())
    }
}

impl AirtimeModels {
    /// Models of a checked configuration whose access points are those of the table.
    ///
    /// `phy`: PHY of the access points that name no standard; `rts_threshold`: applies to all access points.
    pub(crate) fn new(phy: &Phy, rts_threshold: Option<Bytes>, access_points: &[AccessPoint], table: &Table) -> Self {
        let mut this = Self {
            noted: BTreeSet::new(),
            distinct: [AirtimeModel::new(phy.clone(), rts_threshold)].into(),
            of_domain: table.domains().map(|_| ModelId::DEFAULT).collect(),
        };
        for (access_point, domain) in access_points.iter().zip(table.configured()) {
            this.of_domain[domain.index()] =
                this.model_for(access_point.standard.unwrap_or(phy.standard()), rts_threshold);
        }
        this
    }

    /// Prepares the cost of packets at this rate, once, in each model that has it.
    pub(crate) fn note(&mut self, rate: PhyRate) {
        if rate.mode().is_some() && self.noted.insert(rate) {
            self.distinct.iter_mut().for_each(|model| model.note(rate));
        }
    }

    /// Notes all modes that were noted in other models.
    pub(crate) fn note_those_of(&mut self, others: &Self) {
        others.noted.iter().for_each(|&rate| self.note(rate));
    }

    /// The number of the model of a standard; adds the model if there is none yet.
    fn model_for(&mut self, standard: Standard, rts_threshold: Option<Bytes>) -> ModelId {
        let known = self.distinct.iter().position(|model| model.phy.standard() == standard);
        let at = known.unwrap_or_else(|| {
            self.distinct.push(AirtimeModel::new(Phy::default_for(standard), rts_threshold));
            self.distinct.len() - 1
        });
        ModelId(u8::try_from(at).expect("there are few standards"))
    }

    /// The model of a domain.
    pub(crate) fn id(&self, domain: DomainId) -> ModelId {
        self.of_domain.get(domain.index()).copied().unwrap_or(ModelId::DEFAULT)
    }

    /// Whether each domain has a model of the same number in both.
    pub(crate) fn has_domains_of(&self, other: &Self) -> bool {
        let domains = self.of_domain.len().max(other.of_domain.len());
        (0..domains).map(DomainId::at).all(|domain| self.id(domain) == other.id(domain))
    }

    /// All models with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ModelId, &AirtimeModel)> {
        (0..).map(ModelId).zip(&self.distinct)
    }

    /// Whether stations of some domain may be at this rate.
    pub(crate) fn have_rate(&self, rate: PhyRate) -> bool {
        self.distinct.iter().any(|model| model.classes.has(rate))
    }
}

impl Index<DomainId> for AirtimeModels {
    type Output = AirtimeModel;

    fn index(&self, domain: DomainId) -> &AirtimeModel {
        &self.distinct[self.id(domain).index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_wifi::adwiser_80211b;

    #[test]
    fn a_full_size_load_takes_its_virtual_length_over_c_i() {
        let model = AirtimeModel::new(adwiser_80211b(), TcpShape::ADWISER.rts_threshold);
        let data = Packets::one(Bytes(1500));
        let cost =
            PacketCost([data, Packets { milli: 500, ip_len: Bytes(52) }, Packets::default(), Packets::default()]);
        assert_eq!(cost.bits(), 12_208);
        for &rate in adwiser_80211b().standard().rates() {
            let exact = model.capacity(rate).time_for_bits(cost.bits()).as_nanos();
            let ours = model.airtime(&cost, rate).as_nanos();
            assert!(ours.abs_diff(exact) * 1_000_000 < exact, "{rate}: {ours} against {exact} ns");
        }
    }

    #[test]
    fn an_access_takes_what_the_phy_says() {
        for standard in [Standard::Dot11b, Standard::Dot11a, Standard::Dot11g] {
            let phy = Phy::default_for(standard);
            let model = AirtimeModel::new(phy.clone(), Some(Bytes(1_000)));
            for &rate in standard.rates() {
                for len in [40, 52, 999, 1_000, 1_001, 1_500] {
                    let exact = phy.access_cost(Bytes(len), rate, len > 1_000).0;
                    assert_eq!(model.packet_airtime(Bytes(len), rate), exact, "{rate}, {len} bytes");
                }
            }
        }
    }

    #[test]
    fn a_broadcast_takes_longer_than_a_unicast_packet() {
        let model = AirtimeModel::new(adwiser_80211b(), None);
        let [_, _, _, fastest] = adwiser_80211b().standard().rates() else { panic!("four rates") };
        assert!(model.broadcast_airtime(Bytes(1000)) > model.packet_airtime(Bytes(1000), *fastest) * 2);
    }
}
