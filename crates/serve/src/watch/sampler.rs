//! The thread that requests the packet loop's state once a second and publishes the difference to the previous second.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime};

use evenair_api::health::{Health, HealthStatus};
use evenair_boxfile::BoxConfig;
use evenair_live::Snapshot;
use evenair_live::control::{Answer, ControlRequest};
use evenair_live::events::Entry;
use evenair_sys::traffic::{self, Directions};
use evenair_view::{Beside, Taken};

use super::facts::facts;
use super::feed::Feed;
use crate::crossed::Counted;
use crate::state::BoxState;
use crate::wall_clock::seconds;

/// Time between two requests to the loop.
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Sampler {
    state: BoxState,
    entries: Receiver<Entry>,
    feed: Arc<Feed>,
    /// Interface of the port of the access points.
    wlan: String,
    before: Option<Second>,
    /// Uptime of the box when its mode was first seen.
    mode_since_s: f64,
    health: Health,
}

/// The state of the box in a second.
struct Second {
    taken: Taken,
    /// The kernel's counters of the port of the access points; `None`: the port is gone.
    kernel: Option<Directions>,
}

impl Second {
    fn counted(&self) -> Counted<'_> {
        Counted { status: self.taken.status(), kernel: self.kernel }
    }
}

impl Sampler {
    pub(super) fn new(state: BoxState, entries: Receiver<Entry>, feed: Arc<Feed>, config: &BoxConfig) -> Self {
        let (wlan, health) = (config.wlan.clone(), Health::default());
        Self { state, entries, feed, wlan, before: None, mode_since_s: 0.0, health }
    }

    /// Runs until the loop or the feed has ended.
    pub(super) fn work(mut self) {
        let mut next = Instant::now();
        while !self.feed.has_ended_by(next) {
            match self.state.control.ask(ControlRequest::Status) {
                Ok(Answer::Status(snapshot)) => self.publish(&snapshot),
                // It is ending, or a shard does not reply now.
                Ok(_) => {}
                Err(_) => break,
            }
            next = Instant::now().max(next + INTERVAL);
        }
        self.feed.end();
    }

    fn publish(&mut self, snapshot: &Snapshot) {
        // An interface that is gone has no counters.
        let (at, kernel) = (SystemTime::now(), traffic::by_direction(&self.wlan).ok());
        let taken = Taken::new(seconds(at), &snapshot.report, self.state.status(snapshot));
        let mut now = Second { taken, kernel };
        let (mode, uptime_s) = (now.taken.status().mode, now.taken.status().uptime_s);
        let before = self.before.as_ref();
        let new_mode = before.is_some_and(|before| before.taken.status().mode != mode).then_some(mode);
        if new_mode.is_some() {
            self.mode_since_s = uptime_s;
        }
        let crossed = before.map_or([None; 2], |before| now.counted().since(before.counted()));
        let beside = Beside { since_s: uptime_s - self.mode_since_s, crossed };
        let mut line = evenair_view::line(before.map(|before| &before.taken), &now.taken, beside);
        let facts = facts(now.taken.status(), &self.state.vitals);
        let health = HealthStatus::of(self.health.observe(&line, &facts, &self.state.vitals.limits()));
        let flows = now.taken.take_flows();
        // The mode of the line and its event come in the same line.
        self.feed.log(|log| {
            self.entries.try_iter().for_each(|(at, happened)| log.note(at, &happened));
            log.note_health(at, &self.state.vitals.latest().unwrap_or_default(), &health, new_mode);
        });
        self.state.vitals.publish(health.clone());
        line.health = Some(health);
        self.feed.publish(line, mode, flows);
        self.before = Some(now);
    }
}
