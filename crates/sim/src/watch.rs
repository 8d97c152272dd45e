//! Observes the simulated box as the daemon observes itself: once a second a line of the watch feed from the manager's report, and
//! the reasons of health that follow from it.
//!
//! The box has no ports of its own here: the line's totals have no bytes at ports. Fail-open always works. The only packets that the
//! box loses before the manager sees them are those of a planted fault ([`LossyRing`]).

use evenair_api::causes::LossReason;
use evenair_api::health::{Facts, Health, Limits, Reason};
use evenair_api::watch::Line;
use evenair_api::{FailOpenStatus, Mode, Status};
use evenair_manager::Report;
use evenair_units::{Instant, Span};
use evenair_view::{Beside, Taken};

/// Time between two lines of the feed.
pub(crate) const INTERVAL: Span = Span::from_secs(1);

/// How the box is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watching {
    /// The box observes while it is not inserted: its manager gets copies of what the bridge carries.
    pub observing: bool,
    /// A planted fault of the box.
    pub lossy_ring: Option<LossyRing>,
}

/// A planted fault: while the box carries the traffic, its ring loses packets before the manager sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossyRing {
    /// Begin of the fault, from the start of the run.
    pub from: Span,
    /// One packet in this many is lost.
    pub one_in: u64,
}

/// State of the box in one second.
#[derive(Clone, Debug, PartialEq)]
pub struct Second {
    /// Its end, in seconds from the start of the run.
    pub at_s: f64,
    /// Its line of the watch feed, without health and events.
    pub line: Line,
    /// Reasons of health in force, the most important first.
    pub reasons: Vec<Reason>,
}

/// Observes a box.
#[derive(Debug)]
pub(crate) struct Watch {
    watching: Watching,
    /// Packets that arrived at the box's ring, and those of them that were lost.
    arrived: u64,
    lost: u64,
    before: Option<Taken>,
    mode_since: Instant,
    health: Health,
    limits: Limits,
    seconds: Vec<Second>,
}

impl Watch {
    pub(crate) fn new(watching: Watching) -> Self {
        Self {
            watching,
            arrived: 0,
            lost: 0,
            before: None,
            mode_since: Instant::ZERO,
            health: Health::default(),
            limits: Limits::default(),
            seconds: Vec::new(),
        }
    }

    pub(crate) const fn is_observing(&self) -> bool {
        self.watching.observing
    }

    /// Counts a packet at the ring of a box that carries the traffic. Returns whether the ring loses it.
    pub(crate) fn loses_next(&mut self, now: Instant) -> bool {
        let ring = self.watching.lossy_ring.filter(|ring| now >= Instant::ZERO + ring.from);
        self.arrived += 1;
        let loses = ring.is_some_and(|ring| self.arrived.is_multiple_of(ring.one_in));
        self.lost += u64::from(loses);
        loses
    }

    fn state(&self, now: Instant, report: &Report, names: Vec<Option<String>>) -> Taken {
        let mut status = evenair_view::status(report, now, &[]);
        if status.mode == Mode::Bypassed && self.watching.observing {
            status.mode = Mode::Observing;
        }
        status.packets.losses[LossReason::RingFull] = self.lost;
        for (station, name) in status.stations.iter_mut().zip(names) {
            station.name = name;
        }
        let at_s = now.saturating_since(Instant::ZERO).as_secs_f64();
        let fail_open = FailOpenStatus { available: true, why: Vec::new() };
        Taken::new(at_s, report, Status { uptime_s: at_s, fail_open, ..status })
    }

    /// Ends a second; `names` are the names of the report's stations.
    pub(crate) fn take_second(&mut self, now: Instant, report: &Report, names: Vec<Option<String>>) {
        let mut taken = self.state(now, report, names);
        let is_new = |before: &Taken| before.status().mode != taken.status().mode;
        if self.before.as_ref().is_some_and(is_new) {
            self.mode_since = now;
        }
        let since_s = now.saturating_since(self.mode_since).as_secs_f64();
        let line = evenair_view::line(self.before.as_ref(), &taken, Beside { since_s, ..Beside::default() });
        let reasons = self.health.observe(&line, &Facts::of(taken.status()), &self.limits);
        taken.take_flows();
        self.seconds.push(Second { at_s: line.at, line, reasons });
        self.before = Some(taken);
    }

    /// The seconds since the last call.
    pub(crate) fn take_seconds(&mut self) -> Vec<Second> {
        std::mem::take(&mut self.seconds)
    }
}
