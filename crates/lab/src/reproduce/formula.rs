//! C* as its authors state it: Hegde et al., IEEE/ACM ToN 21(2), 2013, section III.
//!
//! "Just one back-off duration is taken, and it is assumed that collisions do not take place": one mean back-off per cycle of
//! `d` DATA and an ACK. The simulator's formula ([`evenair_wifi::tcp_capacity`]) has one per frame.

use evenair_units::BitRate;
use evenair_wifi::{Phy, PhyRate, Standard, TcpShape, tcp_capacity};

/// The PHY of the source's experiments with 802.11a.
pub fn dot11a() -> Phy {
    Phy::default_for(Standard::Dot11a)
}

/// The PHY of its access point with 802.11g.
pub fn dot11g() -> Phy {
    Phy::default_for(Standard::Dot11g)
}

/// C* of stations in equal numbers at these rates, in Mb/s, by equation (3): the mean of their capacities.
pub fn mean_capacity(phy: &Phy, rates_mbps: &[f64]) -> f64 {
    rates_mbps.iter().map(|&mbps| capacity(phy, rate(phy, mbps))).sum::<f64>() / rates_mbps.len() as f64
}

/// C_i of one PHY rate in Mb/s by the simulator's formula, with a mean back-off per frame.
pub fn own_capacity(phy: &Phy, mbps: f64) -> f64 {
    tcp_capacity(phy, rate(phy, mbps), &TcpShape::ADWISER).as_mbps_f64()
}

fn rate(phy: &Phy, mbps: f64) -> PhyRate {
    phy.standard().rate(BitRate::from_bps((mbps * 1e6) as u64)).expect("a rate of the standard")
}

/// C_i of one PHY rate, in Mb/s: the bits of a cycle over its duration.
fn capacity(phy: &Phy, rate: PhyRate) -> f64 {
    let TcpShape { data_ip, ack_ip, d_milli, .. } = TcpShape::ADWISER;
    let d = f64::from(d_milli) / 1e3;
    let frame = |ip, rts| (phy.difs() + phy.exchange(ip, rate, rts).0).as_secs_f64();
    let time = d * frame(data_ip, true) + frame(ack_ip, false) + phy.mean_backoff().as_secs_f64();
    (d * data_ip.bits() as f64 + ack_ip.bits() as f64) / time / 1e6
}

#[cfg(test)]
mod tests {
    use evenair_wifi::adwiser_80211b;

    use super::*;

    #[test]
    fn the_published_capacities_follow() {
        let near = |ours: f64, published: f64| assert!((ours / published - 1.0).abs() < 0.06, "{ours} for {published}");
        near(mean_capacity(&dot11a(), &[54.0, 24.0, 6.0]), 14.14);
        near(mean_capacity(&dot11a(), &[54.0, 24.0, 24.0, 6.0, 6.0, 6.0]), 11.0);
        near(mean_capacity(&dot11g(), &[54.0]), 23.14);
        // The published capacities of 802.11b have a back-off per frame, as the simulator's formula.
        let rates = [11.0, 5.5, 2.0];
        assert!(mean_capacity(&adwiser_80211b(), &rates) > 1.1 * 3.26);
        near(rates.map(|rate| own_capacity(&adwiser_80211b(), rate)).iter().sum::<f64>() / 3.0, 3.26);
    }
}
