//! Reports of the harm guard.

use evenair_units::{BitRate, Instant};

use crate::Label;

/// A step of the guard at the end of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardStep {
    /// Nothing is held for a second or two, to see whether that carries more.
    Opened,
    /// Packets are held again: holding none carried no more.
    Restored,
    /// Holding none carried more: the box has bypassed itself.
    Bypassed,
    /// Nothing is held for two seconds: the throughput without the box is unknown.
    Measuring,
    /// The box, which had bypassed itself, is inserted again for a trial.
    Trying,
    /// The trial has succeeded: the box stays inserted.
    Proven,
}

/// State of the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuardState {
    /// It compares throughput with the baseline.
    Watching,
    /// It holds nothing for a moment, to measure the throughput.
    Loosened,
    /// It had bypassed the box, and has inserted it again for a trial.
    Trying,
    /// It has bypassed the box.
    Bypassed,
}

/// The harm guard, in the contention domain with the most severe state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardReport {
    /// Its state.
    pub state: GuardState,
    /// When that state began.
    pub since: Instant,
    /// The contention domain.
    pub domain: Label,
    /// Baseline in IP-level bits per second; zero if unknown. If the guard has bypassed the box: the throughput before
    /// the harm.
    pub before: BitRate,
    /// Present throughput in IP-level bits per second: the mean of two seconds.
    pub now: BitRate,
    /// Steps since the manager began, in all domains.
    pub steps: u64,
    /// Bypasses by the guard since the manager began.
    pub bypasses: u64,
    /// When a bypassed box is inserted for the next trial.
    pub next_try: Option<Instant>,
}
