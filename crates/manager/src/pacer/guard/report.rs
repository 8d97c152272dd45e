//! What the guard against harm reports.

use evenair_units::{BitRate, Instant};

use crate::Label;

/// What an interval has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardStep {
    /// Nothing is held now, for a second or two, to see whether more is carried.
    Opened,
    /// Packets are held again: to hold none carried no more.
    Restored,
    /// More is carried when nothing is held: the box has bypassed itself.
    Bypassed,
    /// Nothing is held now, for two seconds: the throughput without the box is unknown.
    Measuring,
    /// The box, which had bypassed itself, is inserted again, to see whether it may help now.
    Trying,
    /// The trial has succeeded: the box stays inserted.
    Proven,
}

/// What the guard is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuardState {
    /// It compares what is carried with what was carried before.
    Watching,
    /// It holds nothing for a moment, to see what that carries.
    Loosened,
    /// It had bypassed the box, and has inserted it again to see whether it may help now.
    Trying,
    /// It has bypassed the box.
    Bypassed,
}

/// The guard against harm, of the contention domain where it does most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardReport {
    /// What it is at.
    pub state: GuardState,
    /// Since when.
    pub since: Instant,
    /// The contention domain.
    pub domain: Label,
    /// IP-level bits per second that were carried before; zero where that is not known. Where the guard has bypassed
    /// the box: before the harm.
    pub before: BitRate,
    /// IP-level bits per second that are carried now: the mean of two seconds.
    pub now: BitRate,
    /// Steps that it has taken since the manager began, in all domains.
    pub steps: u64,
    /// How often it has bypassed the box since then.
    pub bypasses: u64,
    /// Where it has bypassed the box: when it inserts it again for a trial.
    pub next_try: Option<Instant>,
}
