//! The airtime model: what packets cost the medium, from their length and the rate of their station.
//!
//! Only it knows the PHY. It turns the cost of a packet (itself, the packets that it elicits and releases, each perhaps a fraction of
//! one) into airtime. Collisions, retries and other networks are not in it; the pacer finds out how fast the medium really is.

use evenair_units::{BitRate, Bytes, Span};
use evenair_wifi::{Phy, PhyRate, TcpShape, tcp_capacity};

/// Packets that cross the WLAN, all of one size: `milli` thousandths of a packet of `ip_len` bytes at IP level.
/// Fractions are real: a receiver sends, on average, half an ACK for each segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Packets {
    pub(crate) milli: u64,
    pub(crate) ip_len: Bytes,
}

/// What a packet is charged for: itself, what it elicits, what it releases, and what has crossed the WLAN before
/// without having been charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct PacketCost(pub(crate) [Packets; 4]);

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct AirtimeModel {
    phy: Phy,
    shape: TcpShape,
}

impl Packets {
    pub(crate) const fn one(ip_len: Bytes) -> Self {
        Self { milli: 1_000, ip_len }
    }
}

impl PacketCost {
    /// The cost of a packet that causes no others.
    pub(crate) fn alone(packet: Packets) -> Self {
        Self([packet, Packets::default(), Packets::default(), Packets::default()])
    }

    /// What is still to cross.
    pub(crate) fn outstanding(&self) -> Self {
        let [own, elicited, released, _] = self.0;
        Self([own, elicited, released, Packets::default()])
    }

    /// The virtual length in bits.
    pub(crate) fn bits(&self) -> u64 {
        self.0.iter().map(|p| p.milli * p.ip_len.bits()).sum::<u64>() / 1_000
    }
}

impl AirtimeModel {
    pub(crate) const fn new(phy: Phy, rts_threshold: Option<Bytes>) -> Self {
        Self { phy, shape: TcpShape { rts_threshold, ..TcpShape::ADWISER } }
    }

    /// C_i.
    pub(crate) fn capacity(&self, rate: PhyRate) -> BitRate {
        tcp_capacity(&self.phy, rate, &self.shape)
    }

    /// Airtime of a packet and what it causes, to and from a station at `rate`. For a full-size packet this is `l/C_i`.
    pub(crate) fn airtime(&self, cost: &PacketCost, rate: PhyRate) -> Span {
        let airtime = |p: &Packets| self.packet_airtime(p.ip_len, rate).mul_div(p.milli, 1_000);
        cost.0.iter().filter(|p| p.milli > 0).map(airtime).sum()
    }

    /// Airtime of one packet alone, to or from a station.
    pub(crate) fn packet_airtime(&self, ip_len: Bytes, rate: PhyRate) -> Span {
        let rts = self.shape.rts_threshold.is_some_and(|threshold| ip_len > threshold);
        self.phy.access_cost(ip_len, rate, rts).0
    }

    /// The standard's highest rate.
    pub(crate) fn fastest(&self) -> PhyRate {
        *self.phy.standard().rates().last().expect("every standard has rates")
    }

    /// Airtime of a broadcast: at the lowest basic rate, without acknowledgment.
    pub(crate) fn broadcast_airtime(&self, ip_len: Bytes) -> Span {
        self.phy.difs() + self.phy.mean_backoff() + self.phy.data(ip_len, self.phy.lowest_basic())
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
    fn broadcasts_are_dear() {
        let model = AirtimeModel::new(adwiser_80211b(), None);
        let [_, _, _, fastest] = adwiser_80211b().standard().rates() else { panic!("four rates") };
        assert!(model.broadcast_airtime(Bytes(1000)) > model.packet_airtime(Bytes(1000), *fastest) * 2);
    }
}
