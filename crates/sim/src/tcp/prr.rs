//! Proportional rate reduction (RFC 6937): during recovery, send in proportion to delivered data, so that the window ends
//! at the threshold without a pause of half a round trip. The bound is the RFC's slow start reduction bound.

/// State of one recovery, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// Bytes in flight when recovery began (RecoverFS).
    flight: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    pub(super) fn new(flight: u64) -> Self {
        Self { flight: flight.max(1), delivered: 0, out: 0 }
    }

    /// Counts bytes sent during the recovery.
    pub(super) fn on_sent(&mut self, len: u64) {
        self.out += len;
    }

    /// Whether nothing has been sent yet during the recovery.
    pub(super) fn is_first(&self) -> bool {
        self.out == 0
    }

    /// Handles an ACK that reports `delivered` more bytes; returns how many may be sent now (section 3). `extra` is zero
    /// for the conservative bound, and a segment for that of slow start (RFC 9937).
    pub(super) fn on_ack(&mut self, delivered: u64, pipe: u64, ssthresh: u64, extra: u64) -> u64 {
        self.delivered += delivered;
        if pipe > ssthresh {
            let proportional = (u128::from(self.delivered) * u128::from(ssthresh)).div_ceil(u128::from(self.flight));
            (proportional as u64).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + extra;
            (ssthresh - pipe).min(limit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_in_proportion_and_ends_at_the_threshold() {
        // 100 segments outstanding, one lost, threshold 50: an ACK for each of the other 99.
        let (mss, ssthresh) = (1u64, 50);
        let mut prr = Prr::new(100);
        let mut pipe = 99;
        for _ in 0..99 {
            pipe -= 1;
            let send = prr.on_ack(1, pipe, ssthresh, mss);
            assert!(send <= 1, "never a burst");
            prr.on_sent(send);
            pipe += send;
        }
        assert!(pipe.abs_diff(ssthresh) <= 1, "{pipe}");
    }

    #[test]
    fn rebuilds_the_pipe_after_a_heavy_loss() {
        // 90 of 100 segments lost: ten arrive. Each ACK allows the delivered data and one more segment, up to the threshold.
        let mut prr = Prr::new(100);
        let mut pipe = 10;
        for _ in 0..10 {
            pipe -= 1;
            let send = prr.on_ack(1, pipe, 50, 1);
            assert_eq!(send, 2);
            prr.on_sent(send);
            pipe += send;
        }
        assert_eq!(pipe, 20);
    }
}
