//! Groups of flows, and the fairness within them.

use serde::{Deserialize, Serialize};

use super::Distribution;
use super::stats::{jain, mean};

/// The flows of one direction, class or PHY rate in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupResult {
    /// "up" or "down"; the name of the class; the PHY rate in Mb/s.
    pub group: String,
    /// How many flows.
    pub flows: u64,
    /// IP-level rate of DATA and ACKs over the WLAN hop.
    pub ip_mbps: f64,
    /// Rate of bytes that applications received.
    pub goodput_mbps: f64,
    /// Share of the phase's total, 0 to 1.
    pub share: f64,
    /// Round-trip times that the flows' TCP senders or echoes measured.
    pub rtt: Option<Distribution>,
    /// One-way delays of datagrams.
    pub delay: Option<Distribution>,
}

/// Evenness of shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evenness {
    /// Number of members.
    pub members: u64,
    /// Jain's index; absent if all are zero.
    pub jain: Option<f64>,
    /// Standard deviation (of the whole population, n) over mean; absent if all are zero.
    pub sigma_over_mean: Option<f64>,
    /// Least over greatest; absent if all are zero.
    pub min_over_max: Option<f64>,
}

impl Evenness {
    /// From the share of each member; `None` without members.
    pub fn of(values: &[f64]) -> Option<Self> {
        let min = values.iter().copied().reduce(f64::min)?;
        let max = values.iter().copied().reduce(f64::max)?;
        Some(Self {
            members: values.len() as u64,
            jain: jain(values),
            sigma_over_mean: sigma_over_mean(values),
            min_over_max: (max > 0.0).then(|| min / max),
        })
    }
}

/// Standard deviation (n) over mean; `None` where the mean is zero or there are no values.
pub fn sigma_over_mean(values: &[f64]) -> Option<f64> {
    let middle = mean(values.iter().copied()).filter(|&middle| middle > 0.0)?;
    let variance = mean(values.iter().map(|x| (x - middle) * (x - middle)))?;
    Some(variance.sqrt() / middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evenness_by_hand() {
        // Mean 2, variance (1 + 0 + 1) / 3.
        let some = Evenness::of(&[1.0, 2.0, 3.0]).unwrap();
        assert!((some.sigma_over_mean.unwrap() - (2.0f64 / 3.0).sqrt() / 2.0).abs() < 1e-12);
        assert_eq!((some.members, some.min_over_max), (3, Some(1.0 / 3.0)));
        assert!((some.jain.unwrap() - 36.0 / 42.0).abs() < 1e-12);
        // One of n has all: sigma/mean = sqrt(n - 1).
        let one = Evenness::of(&[5.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
        assert_eq!((one.sigma_over_mean, one.min_over_max), (Some(2.0), Some(0.0)));
        assert_eq!(Evenness::of(&[0.0; 2]), Some(Evenness { members: 2, ..Evenness::default() }));
        assert_eq!(Evenness::of(&[]), None);
    }
}
