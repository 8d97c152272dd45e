//! The handshake: when SYNs are sent, and the options that they negotiate.

use evenair_units::{Instant, Span};

use super::config::{Config, TIMESTAMPS_LEN};
use super::segment::{Segment, SynOptions};

/// Segment size assumed of an end that does not announce one (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// The SYN of one end and its repetition.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handshake {
    /// The SYN is to be sent.
    due: bool,
    sent_at: Instant,
    deadline: Option<Instant>,
    /// Number of transmissions.
    sent: u32,
}

/// Result of the SYN's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SynTimeout {
    NotYet,
    SendAgain,
    GiveUp,
}

impl Handshake {
    /// Requests a transmission of the SYN: the first one, or because the other end missed it.
    pub(super) fn request(&mut self) {
        self.due = true;
    }

    /// Whether the SYN is to be sent now; if so, counts it as sent, with a timeout of `rto`.
    pub(super) fn take(&mut self, now: Instant, rto: Span) -> bool {
        let due = std::mem::take(&mut self.due);
        if due {
            self.sent += 1;
            self.sent_at = now;
            self.deadline = Some(now + rto);
        }
        due
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Number of retransmissions of the SYN.
    pub(super) fn repetitions(&self) -> u32 {
        self.sent.saturating_sub(1)
    }

    /// Handles the timer if it has expired; a SYN is retransmitted at most `retries` times.
    pub(super) fn handle_timeout(&mut self, now: Instant, retries: u32) -> SynTimeout {
        if self.deadline.is_none_or(|at| at > now) {
            return SynTimeout::NotYet;
        }
        if self.sent > retries {
            return SynTimeout::GiveUp;
        }
        self.deadline = None;
        self.due = true;
        SynTimeout::SendAgain
    }

    /// Round-trip sample of the acknowledged SYN, unless it was retransmitted (Karn's rule).
    pub(super) fn sample(&self, now: Instant) -> Option<Span> {
        (self.sent == 1).then(|| now - self.sent_at)
    }
}

/// Negotiated options of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    pub(super) timestamps: bool,
    pub(super) sack: bool,
    /// Window shifts of the other end and of this one, if both offered window scaling.
    shifts: Option<(u8, u8)>,
    /// The smaller of the two segment sizes.
    mss: u16,
}

impl Agreed {
    /// Options that both the other end's SYN and this end offer.
    pub(super) fn new(config: &Config, options: &SynOptions, segment: &Segment) -> Self {
        let mss = if options.mss == 0 { DEFAULT_MSS } else { options.mss };
        Self {
            timestamps: config.timestamps && segment.timestamps.is_some(),
            sack: config.offers_sack() && options.sack_permitted,
            shifts: options.window_shift.zip(offered_shift(config)),
            mss: mss.min(config.mss),
        }
    }

    /// Payload of a full segment (RFC 6691): at least one byte, whatever the other end announces.
    pub(super) fn payload(&self) -> u32 {
        u32::from(self.mss).saturating_sub(if self.timestamps { TIMESTAMPS_LEN } else { 0 }).max(1)
    }

    /// Shift of the windows this end advertises.
    pub(super) fn own_shift(&self) -> u8 {
        self.shifts.map_or(0, |(_, own)| own)
    }

    /// The window that a segment advertises, in bytes (RFC 7323, section 2.3).
    pub(super) fn peer_window(&self, segment: &Segment) -> u64 {
        let shift = if segment.flags.syn { 0 } else { self.shifts.map_or(0, |(peer, _)| peer) };
        u64::from(segment.window) << shift
    }

    /// Options of the answer to a SYN: only what it offered (RFC 7323, section 1.3; RFC 2018, section 2).
    pub(super) fn answer(&self, config: &Config) -> SynOptions {
        let window_shift = self.shifts.map(|(_, own)| own);
        SynOptions { mss: config.mss, window_shift, sack_permitted: self.sack }
    }
}

/// Options of a first SYN.
pub(super) fn offer(config: &Config) -> SynOptions {
    SynOptions { mss: config.mss, window_shift: offered_shift(config), sack_permitted: config.offers_sack() }
}

fn offered_shift(config: &Config) -> Option<u8> {
    config.window_scaling.then(|| config.window_shift())
}
