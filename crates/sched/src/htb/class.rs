//! One class of the tree: its two buckets, and the mode that follows from them.

use alloc::boxed::Box;

use evenair_units::{BitRate, Bytes, Instant};

use super::feed::Feed;
use super::{HtbClass, LEVELS, PRIORITIES};

/// Maximum debt or credit, in nanoseconds of the bucket: a minute, as in the kernel (`mbuffer`).
const MOST_NS: i64 = 60_000_000_000;

/// Mode of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Green: below its rate, it may send.
    CanSend,
    /// Yellow: below its ceiling, it may borrow from its parent.
    MayBorrow,
    /// Red: above its ceiling.
    CannotSend,
}

#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) parent: Option<usize>,
    /// Level in the tree: zero for a leaf. Others count down from the roots.
    pub(crate) level: usize,
    pub(crate) priority: u8,
    pub(crate) quantum: i64,
    rate: BitRate,
    ceil: BitRate,
    /// Depths of the buckets, and their tokens, in nanoseconds at rate and ceiling.
    burst: i64,
    cburst: i64,
    pub(crate) tokens: i64,
    pub(crate) ctokens: i64,
    /// When the buckets were last filled.
    pub(crate) filled: Instant,
    pub(crate) mode: Mode,
    /// When its mode will change, if it waits for that.
    pub(crate) waits_until: Option<Instant>,
    /// Bit mask of the priorities with packets at it or below it.
    pub(crate) active: u8,
    /// For a leaf: deficit by level from which it sends.
    pub(crate) deficit: [i64; LEVELS],
    /// For a leaf: the level from which it sent last.
    pub(crate) sent_from: usize,
    /// For an inner class: the children that borrow from it, by priority.
    pub(crate) feeds: Option<Box<[Feed; PRIORITIES]>>,
}

fn to_ns(rate: BitRate, size: Bytes) -> i64 {
    i64::try_from(rate.time_for(size).as_nanos()).unwrap_or(i64::MAX).min(MOST_NS)
}

impl Class {
    pub(crate) fn new(config: &HtbClass, level: usize) -> Self {
        let (burst, cburst) = (to_ns(config.rate, config.burst), to_ns(config.ceil, config.cburst));
        Self {
            parent: config.parent,
            level,
            priority: config.priority,
            quantum: i64::try_from(config.quantum.0).expect("a quantum is smaller"),
            rate: config.rate,
            ceil: config.ceil,
            burst,
            cburst,
            tokens: burst,
            ctokens: cburst,
            filled: Instant::ZERO,
            mode: Mode::CanSend,
            waits_until: None,
            active: 0,
            deficit: [0; LEVELS],
            sent_from: 0,
            feeds: (level > 0).then(Box::default),
        }
    }

    /// Nanoseconds since its buckets were filled, bounded.
    fn since_filled(&self, now: Instant) -> i64 {
        i64::try_from(now.saturating_since(self.filled).as_nanos()).unwrap_or(i64::MAX).min(MOST_NS)
    }

    /// Its mode at `now`, and the nanoseconds until another is possible.
    pub(crate) fn mode_at(&self, now: Instant, hysteresis: bool) -> (Mode, i64) {
        self.mode_after(self.since_filled(now), hysteresis)
    }

    /// Its mode after `more` nanoseconds of filling. With hysteresis a class keeps a better mode until it owes a burst.
    fn mode_after(&self, more: i64, hysteresis: bool) -> (Mode, i64) {
        let low = if hysteresis && self.mode != Mode::CannotSend { -self.cburst } else { 0 };
        let ctokens = self.ctokens + more;
        if ctokens < low {
            return (Mode::CannotSend, -ctokens);
        }
        let high = if hysteresis && self.mode == Mode::CanSend { -self.burst } else { 0 };
        let tokens = self.tokens + more;
        if tokens >= high { (Mode::CanSend, 0) } else { (Mode::MayBorrow, -tokens) }
    }

    /// Its mode just after a charge.
    pub(crate) fn mode_now(&self, hysteresis: bool) -> (Mode, i64) {
        self.mode_after(0, hysteresis)
    }

    /// Corrects a charge: a class that paid pays `bytes` more, or gets them back. A refund may exceed a burst until the
    /// next charge, since it was in the bucket when it was paid.
    pub(crate) fn correct(&mut self, bytes: i64, lent_from_above: bool) {
        let ns = |rate| bytes.signum() * to_ns(rate, Bytes(bytes.unsigned_abs()));
        if !lent_from_above {
            self.tokens = bounded(self.tokens - ns(self.rate));
        }
        self.ctokens = bounded(self.ctokens - ns(self.ceil));
    }

    /// Charges a packet of `size`. A class below the one that lent is charged at its ceiling only.
    pub(crate) fn charge(&mut self, now: Instant, size: Bytes, lent_from_above: bool) {
        let more = self.since_filled(now);
        if lent_from_above {
            self.tokens += more;
        } else {
            self.tokens = bounded((self.tokens + more).min(self.burst) - to_ns(self.rate, size));
        }
        self.ctokens = bounded((self.ctokens + more).min(self.cburst) - to_ns(self.ceil, size));
        self.filled = now;
    }
}

fn bounded(tokens: i64) -> i64 {
    if tokens <= -MOST_NS { 1 - MOST_NS } else { tokens }
}
