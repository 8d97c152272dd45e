//! Reno's congestion avoidance (RFC 5681, section 3.1): one segment per round trip, half the flight at loss.

use super::Growth;

/// State of the additive increase.
#[derive(Clone, Debug)]
pub(super) struct Reno {
    growth: Growth,
    /// Credit towards the next byte (per ACK) or the next segment (by bytes).
    earned: u64,
}

impl Reno {
    pub(super) fn new(growth: Growth) -> Self {
        Self { growth, earned: 0 }
    }

    /// Window growth in bytes for an ACK of `acked` bytes.
    pub(super) fn step(&mut self, cwnd: u64, mss: u64, acked: u64) -> u64 {
        match self.growth {
            // Equation 3, with the remainder kept: rounding would slow large windows.
            Growth::PerAck => {
                self.earned += mss * mss;
                let step = self.earned / cwnd;
                self.earned %= cwnd;
                step.min(mss)
            }
            // A segment for every window's worth of bytes (RFC 3465, section 2.1).
            Growth::Bytes { .. } | Growth::Delivered => {
                self.earned += acked;
                if self.earned < cwnd {
                    return 0;
                }
                self.earned -= cwnd;
                mss
            }
        }
    }

    /// The new threshold (equation 4).
    pub(super) fn on_congestion(&mut self, flight: u64) -> u64 {
        self.earned = 0;
        flight / 2
    }
}
