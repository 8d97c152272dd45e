//! Notifications to systemd (sd_notify(3)): ready, status, watchdog heartbeat, stopping.
//!
//! The packet loop sends the heartbeats. If it hangs, the bridge carries the traffic after 50 ms, and systemd restarts the
//! box after the watchdog timeout.

use std::time::Duration;

use evenair_units::{Instant, Span};
use sd_notify::NotifyState;
use tracing::debug;

/// Heartbeats within the watchdog timeout.
const SIGNS: u64 = 3;

/// systemd, if it started the box.
#[derive(Debug)]
pub struct ServiceManager {
    /// Interval of heartbeats, if systemd wants them, and when the next one is due.
    every: Option<Span>,
    next: Instant,
    said: &'static str,
}

impl ServiceManager {
    /// Notifies systemd that the box is ready.
    pub fn ready(now: Instant) -> Self {
        send(&[NotifyState::Ready]);
        Self::with_patience(now, sd_notify::watchdog_enabled())
    }

    fn with_patience(now: Instant, patience: Option<Duration>) -> Self {
        let every =
            patience.map(|patience| Span::from_nanos(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX) / SIGNS));
        Self { every, next: now, said: "" }
    }

    /// Latest time of the next call of [`Self::tend`].
    pub fn deadline(&self) -> Option<Instant> {
        self.every.map(|_| self.next)
    }

    /// Sends a heartbeat if one is due, and reports a changed mode.
    pub fn tend(&mut self, now: Instant, mode: &'static str) {
        if mode != self.said {
            self.said = mode;
            send(&[NotifyState::Status(mode)]);
        }
        if let Some(every) = self.every
            && now >= self.next
        {
            self.next = now + every;
            send(&[NotifyState::Watchdog]);
        }
    }
}

/// When dropped, notifies systemd that the box is stopping.
#[derive(Debug)]
pub struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        send(&[NotifyState::Stopping]);
    }
}

/// Errors are ignored: the traffic does not depend on notifications.
fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        debug!("the service manager cannot be notified: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_come_well_within_the_watchdog_timeout() {
        let at = |ms: u64| Instant::ZERO + Span::from_millis(ms);
        let mut manager = ServiceManager::with_patience(at(0), Some(Duration::from_secs(9)));
        manager.tend(at(0), "bypassed");
        assert_eq!(manager.deadline(), Some(at(3_000)));
        manager.tend(at(2_999), "bypassed");
        assert_eq!(manager.deadline(), Some(at(3_000)), "none is due yet");
        manager.tend(at(3_500), "inserted");
        assert_eq!(manager.deadline(), Some(at(6_500)));
        assert_eq!(ServiceManager::with_patience(at(0), None).deadline(), None, "nobody asked for them");
    }
}
