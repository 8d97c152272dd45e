//! Settings of an endpoint, and presets for other stacks and simulators.

use evenair_units::{Bytes, Span};
use thiserror::Error;

/// Largest window that needs no scaling (RFC 9293, section 3.1).
pub(super) const MAX_UNSCALED_WINDOW: u64 = 65_535;

/// Largest shift of the window (RFC 7323, section 2.3).
pub(super) const MAX_WINDOW_SHIFT: u8 = 14;

/// Space that timestamps take in every segment, in bytes (RFC 7323, appendix A).
pub(super) const TIMESTAMPS_LEN: u32 = 12;

/// Smallest segment size that leaves a byte for data beside all options (40 bytes).
const MIN_MSS: u16 = 48;

/// Settings of one endpoint. Start from [`Config::rfc`], [`Config::linux`] or [`Config::ns3`] and change what the
/// experiment says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Largest segment in bytes, TCP options included: the IP packet is 40 bytes larger (RFC 6691). 1460 on Ethernet.
    pub mss: u16,
    /// Initial window in segments (10: RFC 6928).
    pub initial_window: u32,
    /// How the window grows and shrinks.
    pub algorithm: Algorithm,
    /// How acknowledgments let the window grow.
    pub growth: Growth,
    /// How loss is found and repaired. The SACK kinds offer SACK and fall back to NewReno where the other end does not.
    pub recovery: LossRecovery,
    /// Send new data on the first two duplicate acknowledgments (RFC 3042). RFC 6675 includes it: with SACK this has
    /// no effect.
    pub limited_transmit: bool,
    /// When received data is acknowledged.
    pub ack: AckPolicy,
    /// Offer window scaling (RFC 7323); without it, no window is larger than 65 535 bytes.
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323): 12 bytes of every segment, a sample of the round-trip time from every ACK.
    pub timestamps: bool,
    /// Set PSH on the last of several segments that leave together, as Linux marks the end of each large packet that it
    /// hands to segmentation. Otherwise it is set at the end of what the application has written.
    pub push_batches: bool,
    /// Unacknowledged data an application may have in the stack: the sender's own limit of the window.
    pub send_buffer: Bytes,
    /// Received data that may wait for the application: the largest window advertised.
    pub receive_buffer: Bytes,
    /// The application reads at once whatever arrives in order. Otherwise it calls
    /// [`Connection::read`](super::Connection::read).
    pub auto_read: bool,
    /// Retransmission timeout.
    pub rto: RtoConfig,
    /// Retransmissions of a SYN before giving up.
    pub syn_retries: u32,
    /// Timeouts in a row without progress before giving up.
    pub data_retries: u32,
    /// Fall back to the initial window after an idle time longer than the timeout (RFC 5681, section 4.1).
    pub idle_restart: bool,
    /// Time in TIME-WAIT (twice the maximum segment lifetime, RFC 9293, section 3.6.1).
    pub time_wait: Span,
    /// Deviations of another simulator from the RFCs: for comparisons with it only.
    pub quirks: Quirks,
}

/// Deviations of ns-3 3.44's TCP from the RFCs. Only the configuration for comparisons with ns-3 has any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Every ACK gives a sample of the round-trip time, also without timestamps, and each sample has the weight of a whole
    /// round trip's. The deviation forgets the variation of the path within a few ACKs, and the timer expires when a frame
    /// takes all its retries. RFC 7323, appendix G, warns of this.
    pub sample_every_ack: bool,
    /// In a fast recovery, also with SACK, the first partial ACK restarts the retransmission timer and others do not (the
    /// impatient variant of RFC 6582), so that a long recovery ends in a timeout. In RFC 6675, section 6, every ACK that
    /// advances restarts it.
    pub impatient_recovery: bool,
    /// The doubled timeout is reset by the first new ACK and not by the first new sample, so that on a path with a long
    /// round trip it expires needlessly again. RFC 6298, section 5, and Karn keep it.
    pub forgets_back_off: bool,
}

impl Quirks {
    /// No deviations.
    pub const NONE: Self = Self { sample_every_ack: false, impatient_recovery: false, forgets_back_off: false };

    /// The deviations of ns-3 3.44.
    pub const NS3: Self = Self { sample_every_ack: true, impatient_recovery: true, forgets_back_off: true };
}

/// A congestion control algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681: one segment per round trip, half at loss.
    Reno,
    /// RFC 9438.
    Cubic {
        /// Release the window faster where it falls short of the last one (section 4.7).
        fast_convergence: bool,
        /// Leave the first slow start when delay grows (HyStart++, RFC 9406). Needs a sample of the round-trip time
        /// from every ACK, that is, timestamps.
        hystart: bool,
    },
    /// CUBIC as in Linux.
    LinuxCubic {
        /// Leave slow start when delay grows or ACKs come in a long train (HyStart). Needs timestamps, too.
        hystart: bool,
    },
}

/// How much an acknowledgment lets the window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Every ACK counts alike: at most a segment in slow start, `MSS^2 / cwnd` after it (RFC 5681, equation 3). Delayed
    /// acknowledgments slow the growth. ns-2 and ns-3 do so.
    PerAck,
    /// The bytes acknowledged count (RFC 3465), in slow start at most `limit` segments per ACK.
    Bytes {
        /// Segments (the L of RFC 3465, section 2.3).
        limit: u32,
    },
    /// The bytes newly reported as received by an ACK count, without limit: those it covers, less what was SACKed before
    /// (Linux).
    Delivered,
}

/// How loss is detected and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRecovery {
    /// Fast recovery ends with the first new acknowledgment (Reno as of 1990, RFC 5681 without RFC 6582).
    Reno,
    /// RFC 6582: one loss per round trip is repaired.
    NewReno,
    /// RFC 6675.
    Sack,
    /// RFC 6675 with the window of RFC 6937.
    SackPrr,
    /// RFC 8985: a segment is lost if one sent after it has arrived, whether it was sent for the first time or again, and a
    /// silent tail is probed. With the window of RFC 6937 (RFC 9937's rule for when it may grow), and a threshold that is
    /// computed from the window itself, as in Linux.
    Rack,
}

/// When received data is acknowledged (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2). Data out of order, data that
/// fills a gap, and a FIN are always acknowledged at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Number of segments per acknowledgment: 1 for each, 2 for delayed acknowledgments.
    pub segments: u32,
    /// Longest wait for more segments.
    pub delay: Span,
    /// Segments at the start of a connection that are acknowledged one by one, so that the sender's slow start is not
    /// delayed (Linux: up to 16); as many again after a silence longer than this end's own retransmission timeout, and
    /// after a duplicate segment.
    pub quick: u32,
    /// Acknowledge a segment with PSH, or a short one, as soon as the application has read it, unless this end answers with
    /// data itself: its sender may have no more to send and wait (Linux, for full segments since 6.6). With
    /// [`Config::push_batches`], bulk receivers acknowledge more often than every second segment.
    pub pushed: bool,
}

/// Retransmission timeout (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Timeout before the first sample.
    pub initial: Span,
    /// Lower bound.
    pub floor: RtoFloor,
    /// Upper bound, also of the doubling.
    pub max: Span,
}

/// What the lower bound of the timeout applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The timeout (RFC 6298, rule 2.4: 1 s).
    Total(Span),
    /// Its part above the smoothed round-trip time (Linux: 200 ms).
    AboveSrtt(Span),
}

/// A configuration that cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Options would leave no space for data.
    #[error("mss is {0} bytes; it must be at least {MIN_MSS}")]
    Mss(u16),
    /// Nothing could ever be sent.
    #[error("initial_window is 0 segments; it must be at least 1")]
    InitialWindow,
    /// Received data would never be acknowledged, or no segment would count.
    #[error("{0} is 0; it must be at least 1")]
    Zero(&'static str),
    /// A buffer that does not hold one segment.
    #[error("{name} is {size}; it must hold at least one segment (mss)")]
    Buffer {
        /// Name of the setting.
        name: &'static str,
        /// Its size.
        size: Bytes,
    },
    /// Larger than the largest window.
    #[error("receive_buffer is {0}; a window is at most 65535 bytes shifted by 14 (RFC 7323, section 2.3)")]
    ReceiveBuffer(Bytes),
    /// The bounds of the timeout contradict each other.
    #[error("the timeout's maximum is below its minimum or its initial value, or its initial value is zero")]
    Rto,
}

impl Config {
    /// As the RFCs require: SACK, delayed acknowledgments within 200 ms, initial window 10, timeout at least 1 s. Reno's
    /// window; 1 MiB buffers.
    pub const fn rfc() -> Self {
        Self {
            mss: 1460,
            initial_window: 10,
            algorithm: Algorithm::Reno,
            growth: Growth::Bytes { limit: 2 },
            recovery: LossRecovery::Sack,
            limited_transmit: true,
            ack: AckPolicy { segments: 2, delay: Span::from_millis(200), quick: 0, pushed: false },
            window_scaling: true,
            timestamps: true,
            push_batches: false,
            send_buffer: Bytes(1 << 20),
            receive_buffer: Bytes(1 << 20),
            auto_read: true,
            rto: RtoConfig {
                initial: Span::from_secs(1),
                floor: RtoFloor::Total(Span::from_secs(1)),
                max: Span::from_secs(60),
            },
            syn_retries: 6,
            data_retries: 15,
            idle_restart: true,
            time_wait: Span::from_secs(60),
            quirks: Quirks::NONE,
        }
    }

    /// Close to Linux's defaults: CUBIC with HyStart, RACK-TLP with PRR, delayed acknowledgments within 40 ms after 16
    /// quick ones, timeout 200 ms above the round-trip time up to 120 s, buffers of 6 MiB (receive) and 4 MiB (send).
    pub const fn linux() -> Self {
        Self {
            algorithm: Algorithm::LinuxCubic { hystart: true },
            growth: Growth::Delivered,
            recovery: LossRecovery::Rack,
            push_batches: true,
            ack: AckPolicy { segments: 2, delay: Span::from_millis(40), quick: 16, pushed: true },
            send_buffer: Bytes(4 << 20),
            receive_buffer: Bytes(6 << 20),
            rto: RtoConfig {
                initial: Span::from_secs(1),
                floor: RtoFloor::AboveSrtt(Span::from_millis(200)),
                max: Span::from_secs(120),
            },
            ..Self::rfc()
        }
    }

    /// The configuration of the comparisons with ns-3 3.44, without its quirks: NewReno's window with SACK and PRR (its default), growth
    /// per ACK, delayed acknowledgments within 100 ms, timeout at least 200 ms, no timestamps, an uncapped window.
    pub const fn ns3() -> Self {
        Self {
            growth: Growth::PerAck,
            recovery: LossRecovery::SackPrr,
            ack: AckPolicy { segments: 2, delay: Span::from_millis(100), quick: 0, pushed: false },
            timestamps: false,
            send_buffer: Bytes(64 << 20),
            receive_buffer: Bytes(64 << 20),
            rto: RtoConfig {
                initial: Span::from_secs(1),
                floor: RtoFloor::Total(Span::from_millis(200)),
                max: Span::from_secs(60),
            },
            idle_restart: false,
            ..Self::rfc()
        }
    }

    /// Limits both buffers to `size`, without window scaling if `size` does not need it: "window 64 kB".
    pub fn with_window(mut self, size: Bytes) -> Self {
        self.send_buffer = size;
        self.receive_buffer = size;
        self.window_scaling &= size.0 > MAX_UNSCALED_WINDOW;
        self
    }

    /// Acknowledges every segment at once.
    pub fn without_delayed_ack(mut self) -> Self {
        self.ack.segments = 1;
        self
    }

    /// Refuses settings that cannot work.
    ///
    /// # Errors
    /// The first one found.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.mss < MIN_MSS {
            return Err(ConfigError::Mss(self.mss));
        }
        if self.initial_window == 0 {
            return Err(ConfigError::InitialWindow);
        }
        if self.ack.segments == 0 {
            return Err(ConfigError::Zero("ack.segments"));
        }
        if self.growth == (Growth::Bytes { limit: 0 }) {
            return Err(ConfigError::Zero("growth.limit"));
        }
        for (name, size) in [("send_buffer", self.send_buffer), ("receive_buffer", self.receive_buffer)] {
            if size.0 < u64::from(self.mss) {
                return Err(ConfigError::Buffer { name, size });
            }
        }
        if self.receive_buffer.0 > MAX_UNSCALED_WINDOW << MAX_WINDOW_SHIFT {
            return Err(ConfigError::ReceiveBuffer(self.receive_buffer));
        }
        let (RtoFloor::Total(min) | RtoFloor::AboveSrtt(min)) = self.rto.floor;
        if self.rto.initial == Span::ZERO || self.rto.max < min.max(self.rto.initial) {
            return Err(ConfigError::Rto);
        }
        Ok(())
    }

    pub(super) fn offers_sack(&self) -> bool {
        matches!(self.recovery, LossRecovery::Sack | LossRecovery::SackPrr | LossRecovery::Rack)
    }

    /// The smallest shift that lets the whole receive buffer be advertised (RFC 7323, section 2.3).
    pub(super) fn window_shift(&self) -> u8 {
        let needed = (0..=MAX_WINDOW_SHIFT).find(|shift| self.receive_buffer.0 >> shift <= MAX_UNSCALED_WINDOW);
        needed.unwrap_or(MAX_WINDOW_SHIFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_presets_are_valid() {
        for config in [Config::rfc(), Config::linux(), Config::ns3(), Config::rfc().with_window(Bytes(65_535))] {
            assert_eq!(config.check(), Ok(()));
        }
    }

    #[test]
    fn invalid_settings_are_refused() {
        let refused = |change: fn(&mut Config)| {
            let mut config = Config::rfc();
            change(&mut config);
            config.check().unwrap_err()
        };
        assert_eq!(refused(|c| c.mss = 10), ConfigError::Mss(10));
        assert_eq!(refused(|c| c.initial_window = 0), ConfigError::InitialWindow);
        assert_eq!(refused(|c| c.ack.segments = 0), ConfigError::Zero("ack.segments"));
        assert_eq!(refused(|c| c.growth = Growth::Bytes { limit: 0 }), ConfigError::Zero("growth.limit"));
        assert!(matches!(refused(|c| c.send_buffer = Bytes(9)), ConfigError::Buffer { name: "send_buffer", .. }));
        assert!(matches!(refused(|c| c.receive_buffer = Bytes(2 << 30)), ConfigError::ReceiveBuffer(_)));
        assert_eq!(refused(|c| c.rto.max = Span::ZERO), ConfigError::Rto);
    }

    #[test]
    fn the_shift_is_the_smallest_that_holds_the_buffer() {
        let shift = |size| Config { receive_buffer: Bytes(size), ..Config::rfc() }.window_shift();
        assert_eq!((shift(65_535), shift(65_536), shift(6 << 20)), (0, 1, 7));
        assert_eq!(shift(MAX_UNSCALED_WINDOW << 14), 14);
    }
}
