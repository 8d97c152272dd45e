//! Bianchi's model of DCF in saturation, where every station always has a frame to send.
//!
//! Source: G. Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE JSAC 18(3),
//! 2000; with the correction of I. Tinnirello, G. Bianchi, Y. Xiao, "Refinements on IEEE 802.11 distributed coordination
//! function modeling approaches", IEEE Trans. Vehicular Technology 59(3), 2010: in the slot after a success only the
//! station that succeeded can send, since all others froze at one slot or more.
//!
//! The model assumes a collision probability independent of the number of retries, unlimited retries, and stations that
//! all resume together. It is about 0.5 % high against an exact simulation of five 802.11a stations; do not tune a
//! simulation to it.

use evenair_units::{Bytes, Span};

use crate::Phy;

/// Parameters of one saturated medium.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Model {
    /// Number of stations, each with a frame to send at all times.
    pub stations: u32,
    /// First contention window: back-off is drawn from `0..=cw_min` slots.
    pub cw_min: u32,
    /// Number of times that the window doubles.
    pub stages: u32,
    /// Duration of a slot.
    pub slot: Span,
    /// Bytes of each frame that count as throughput.
    pub payload: Bytes,
    /// Time from the start of a successful exchange until back-off resumes: DATA, SIFS, ACK, DIFS.
    pub success: Span,
    /// Time from the start of a collision until back-off resumes: DATA and DIFS, or the stations' wait.
    pub collision: Span,
}

/// Solution of the model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Solution {
    /// Probability that a station sends in a slot.
    pub tau: f64,
    /// Probability that a transmission collides.
    pub p: f64,
    /// Payload delivered by all stations, bits per second.
    pub throughput_bps: f64,
}

impl Model {
    /// Saturated stations that send IP packets of `msdu` bytes at `rate` without RTS; bystanders of a collision resume
    /// after DIFS.
    pub fn basic_access(phy: &Phy, stations: u32, msdu: Bytes, rate: crate::PhyRate) -> Self {
        Self {
            stations,
            cw_min: phy.cw_min(),
            stages: ((phy.cw_max() + 1) / (phy.cw_min() + 1)).ilog2(),
            slot: phy.slot(),
            payload: msdu,
            success: phy.exchange(msdu, rate, false).0 + phy.difs(),
            collision: phy.data(msdu, rate) + phy.difs(),
        }
    }

    /// Solves the model: its fixed point, and the throughput there.
    ///
    /// # Panics
    /// Without stations.
    pub fn solve(&self) -> Solution {
        assert!(self.stations > 0, "a medium without stations has no throughput");
        let p = self.collision_probability();
        let tau = self.tau(p);
        Solution { tau, p, throughput_bps: self.throughput_bps(tau) }
    }

    /// Bisection: `1 - (1 - tau(p))^(n-1) - p` falls strictly in p, from at least 0 at p = 0 to below 0 at p = 1, so
    /// its one root is always found.
    fn collision_probability(&self) -> f64 {
        let others = f64::from(self.stations - 1);
        let (mut low, mut high) = (0.0, 1.0);
        // Each step halves the interval: after 60 steps the ends are adjacent floats.
        for _ in 0..64 {
            let p = 0.5 * (low + high);
            if 1.0 - libm::pow(1.0 - self.tau(p), others) > p {
                low = p;
            } else {
                high = p;
            }
        }
        low
    }

    /// Equation (7) of the 2000 paper, with its quotient written as a sum, so that p = 1/2 is no special case.
    fn tau(&self, p: f64) -> f64 {
        let window = f64::from(self.cw_min + 1);
        let mut power = 1.0;
        let mut sum = 0.0;
        for _ in 0..self.stages {
            sum += power;
            power *= 2.0 * p;
        }
        2.0 / (1.0 + window + p * window * sum)
    }

    /// Payload over duration of a mean slot. A success is followed by another of the same station with probability
    /// 1/(cw_min + 1), and a run of successes by a slot in which all count down.
    fn throughput_bps(&self, tau: f64) -> f64 {
        let n = f64::from(self.stations);
        let slot = self.slot.as_secs_f64();
        let silent = libm::pow(1.0 - tau, n);
        let success = n * tau * libm::pow(1.0 - tau, n - 1.0);
        let run = 1.0 / (1.0 - 1.0 / f64::from(self.cw_min + 1));
        let time = silent * slot
            + success * (self.success.as_secs_f64() * run + slot)
            + (1.0 - silent - success) * self.collision.as_secs_f64();
        success * run * self.payload.bits() as f64 / time
    }
}
