//! Capacity of the medium for TCP, in IP-level bits of DATA and ACKs.
//!
//! Source: Hegde et al., "Experiences With a Centralized Scheduling Approach for Performance Management of IEEE 802.11
//! Wireless LANs", IEEE/ACM ToN 21(2), 2013: the effective service rate C_i of one PHY rate, and equations (1) to (3)
//! for a mixture. Collisions are left out: TCP over one access point keeps two or three nodes backlogged at a time, and
//! what they lose in collisions is about what they gain by counting back-off down together.
//!
//! The published C(11) = 4.89, C(5.5) = 3.33, C(2) = 1.58 Mb/s belong to [`adwiser_80211b`].

use evenair_units::{BitRate, Bytes};

use crate::{Phy, PhyRate, Preamble, Standard};

/// Packets of a TCP transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpShape {
    /// Size of an IP packet with DATA.
    pub data_ip: Bytes,
    /// Size of an IP packet with an ACK only.
    pub ack_ip: Bytes,
    /// DATA packets for each ACK, in thousandths.
    pub d_milli: u32,
    /// IP packets larger than this are sent with RTS and CTS.
    pub rts_threshold: Option<Bytes>,
}

impl TcpShape {
    /// The shape of the published capacities: full packets, ACKs with timestamps, one ACK for two packets (RFC 1122's
    /// delayed ACK), RTS for DATA.
    pub const ADWISER: Self =
        Self { data_ip: Bytes(1_500), ack_ip: Bytes(52), d_milli: 2_000, rts_threshold: Some(Bytes(1_000)) };

    fn needs_rts(&self, ip: Bytes) -> bool {
        self.rts_threshold.is_some_and(|threshold| ip > threshold)
    }
}

/// The 802.11b profile of the published capacities: short preamble, control frames at 2 Mb/s.
pub fn adwiser_80211b() -> Phy {
    let standard = Standard::Dot11b;
    Phy::new(standard, Preamble::Short, &standard.rates()[1..2]).expect("2 Mb/s is a rate of 802.11b")
}

/// C_i: IP-level capacity of the medium with only TCP at one rate, rounded down to the bit per second:
///
/// `(d L_DATA + L_ACK) / (d T_DATA + T_ACK)`, where each T is [`Phy::access_cost`].
pub fn tcp_capacity(phy: &Phy, rate: PhyRate, shape: &TcpShape) -> BitRate {
    let d_milli = u128::from(shape.d_milli);
    let cost_ns = |ip| u128::from(phy.access_cost(ip, rate, shape.needs_rts(ip)).as_nanos());
    let millibits = d_milli * u128::from(shape.data_ip.bits()) + 1_000 * u128::from(shape.ack_ip.bits());
    let milli_ns = d_milli * cost_ns(shape.data_ip) + 1_000 * cost_ns(shape.ack_ip);
    BitRate::from_bps(u64::try_from(millibits * 1_000_000_000 / milli_ns).unwrap_or(u64::MAX))
}

/// C*, equation (1): capacity of the medium if traffic is shared in proportion to `weight` and each part alone would get
/// C_i: `sum(weight) / sum(weight / C_i)`, rounded down to the bit per second.
///
/// Parts without weight do not count. Zero if no part has weight, or one with weight has no capacity.
pub fn mixed_capacity(parts: &[(u64, BitRate)]) -> BitRate {
    /// Binary places of the sum of quotients; weights have 64 bits, which leaves 16 for the number of parts.
    const PLACES: u32 = 48;
    let mut weights = 0u128;
    let mut quotients = 0u128;
    for &(weight, capacity) in parts.iter().filter(|part| part.0 > 0) {
        if capacity == BitRate::ZERO {
            return BitRate::ZERO;
        }
        weights += u128::from(weight);
        quotients += (u128::from(weight) << PLACES) / u128::from(capacity.as_bps());
    }
    if quotients == 0 {
        return BitRate::ZERO;
    }
    // Integer part and fraction of the quotient separately, since the weights have no room for 48 more places.
    let (whole, rest) = (weights / quotients, weights % quotients);
    BitRate::from_bps(u64::try_from((whole << PLACES) + ((rest << PLACES) / quotients)).unwrap_or(u64::MAX))
}

/// Time fairness, equation (2): the weight of `count` stations that each get the same share of airtime, in the scale of
/// [`mixed_capacity`]. With it, C* is the mean of the stations' C_i, equation (3).
pub const fn time_fair_weight(count: u32, capacity: BitRate) -> u64 {
    capacity.as_bps().saturating_mul(count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbps(standard: Standard, mbps: f64) -> PhyRate {
        standard.rate(BitRate::from_bps((mbps * 1e6) as u64)).unwrap()
    }

    fn assert_near(ours: BitRate, published_mbps: f64, within: f64) {
        let ratio = ours.as_mbps_f64() / published_mbps;
        assert!((ratio - 1.0).abs() < within, "{ours} against {published_mbps}: {ratio}");
    }

    fn adwiser(rate_mbps: f64) -> BitRate {
        tcp_capacity(&adwiser_80211b(), mbps(Standard::Dot11b, rate_mbps), &TcpShape::ADWISER)
    }

    fn dot11a(rate_mbps: f64) -> BitRate {
        let phy = Phy::default_for(Standard::Dot11a);
        tcp_capacity(&phy, mbps(Standard::Dot11a, rate_mbps), &TcpShape::ADWISER)
    }

    #[test]
    fn capacity_by_hand() {
        // 11 Mb/s, us: DIFS 50, back-off 310, RTS 176, CTS 152, DATA 1214, ACK 152, three SIFS 10: 2084.
        // TCP ACK: 50 + 310 + 160 + 10 + 152 = 682. (2 * 12000 + 416) bits in 4850 us.
        assert_eq!(adwiser(11.0), BitRate::from_bps(24_416 * 1_000_000 / 4_850));
    }

    #[test]
    fn published_capacities_of_80211b() {
        assert_near(adwiser(11.0), 4.89, 0.035);
        assert_near(adwiser(5.5), 3.33, 0.035);
        assert_near(adwiser(2.0), 1.58, 0.035);
    }

    #[test]
    fn published_capacity_of_mixed_80211a() {
        for count in [3, 4] {
            let parts = [54.0, 24.0, 6.0].map(|rate| (time_fair_weight(count, dot11a(rate)), dot11a(rate)));
            assert_near(mixed_capacity(&parts), 14.14, 0.06);
            let mean = [54.0, 24.0, 6.0].map(|rate| dot11a(rate).as_bps()).iter().sum::<u64>() / 3;
            assert!(mixed_capacity(&parts).as_bps().abs_diff(mean) <= 1);
        }
    }

    #[test]
    fn mixing_is_the_weighted_harmonic_mean() {
        let (four, one) = (BitRate::from_mbps(4), BitRate::from_mbps(1));
        assert_eq!(mixed_capacity(&[(7, four)]), four);
        // One bit each: 2 bits in 1/4 + 1 us.
        assert_eq!(mixed_capacity(&[(1, four), (1, one)]), BitRate::from_kbps(1_600));
        assert_eq!(mixed_capacity(&[(3, four), (0, BitRate::ZERO)]), four);
        assert_eq!(mixed_capacity(&[(1, four), (1, BitRate::ZERO)]), BitRate::ZERO);
        assert_eq!(mixed_capacity(&[]), BitRate::ZERO);
    }

    #[test]
    fn mixing_neither_overflows_nor_loses_precision_at_the_ends() {
        let fast = BitRate::from_bps(u64::MAX);
        assert_eq!(mixed_capacity(&[(u64::MAX, fast); 100]), fast);
        let slow = BitRate::from_bps(1);
        assert_eq!(mixed_capacity(&[(u64::MAX, slow); 100]), slow);
        let rate = BitRate::from_bps(54_000_001);
        assert!(mixed_capacity(&[(1, rate)]).as_bps().abs_diff(rate.as_bps()) < 100);
        assert_eq!(mixed_capacity(&[(time_fair_weight(5, rate), rate)]), rate);
    }

    #[test]
    fn rts_costs_its_reservation() {
        let phy = Phy::default_for(Standard::Dot11a);
        let rate = mbps(Standard::Dot11a, 54.0);
        let without = TcpShape { rts_threshold: None, ..TcpShape::ADWISER };
        // 88 us more for each of two DATA frames: RTS 28, CTS 28, two SIFS 16; 1144.5 us with it.
        assert_eq!(tcp_capacity(&phy, rate, &without), BitRate::from_bps(24_416_000_000_000 / 968_500));
    }
}
