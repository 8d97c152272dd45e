//! Real-time priority of the packet loop.
//!
//! A packet that arrives waits until the loop's thread runs. With ordinary scheduling this takes up to some milliseconds
//! while another thread is busy on the core, whatever its nice value; so the loop requests real-time priority. It sleeps
//! between packets, and so uses only the time that it needs.
//!
//! Under overload it would not sleep, and the kernel would throttle real-time threads for 50 ms of each second (sched(7),
//! sched_rt_runtime_us), which is as long as the fail-open lease. So a loop that hardly sleeps becomes an ordinary thread
//! for a while, and the kernel shares the core as usual.

use evenair_sys::error::OsError;
use evenair_sys::rt;
use evenair_units::{Instant, Span};
use tracing::warn;

/// Interval in which the loop's CPU time is checked.
const WINDOW: Span = Span::from_millis(100);
/// Part of it, in percent, from which on a loop hardly sleeps.
const MOST_USED: u64 = 80;
/// Time as an ordinary thread after that: then no second has more than two windows of real time.
const REST: Span = Span::from_secs(1);

/// Real-time priority of the calling thread, as far as the kernel grants it.
#[derive(Debug)]
pub struct RealTimeGuard {
    priority: Priority,
    /// When its CPU time was last checked, and its value then.
    looked: Instant,
    used: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Priority {
    /// Real-time priority over all ordinary threads.
    First,
    /// An ordinary thread with a preference, until this instant.
    Resting(Instant),
    /// Real-time priority was not granted.
    Ordinary,
}

impl RealTimeGuard {
    /// Requests real-time priority for the calling thread.
    pub fn ask(now: Instant) -> Self {
        rt::remove_timer_slack();
        let priority = match rt::run_first() {
            Ok(()) => Priority::First,
            Err(error) => {
                warn!("{error}: the box may be late when the machine is busy");
                // A user without the right to real-time priority may have the right to this one (RLIMIT_NICE).
                let _ = rt::prefer_this_thread();
                Priority::Ordinary
            }
        };
        Self { priority, looked: now, used: used() }
    }

    /// To be called in every round of the loop.
    pub fn tend(&mut self, now: Instant) {
        if self.priority == Priority::Ordinary || now.saturating_since(self.looked) < WINDOW {
            return;
        }
        let used = used();
        let most = now.saturating_since(self.looked).mul_div(MOST_USED, 100);
        let busy = used.saturating_sub(self.used) >= most;
        (self.looked, self.used) = (now, used);
        let next = priority_after(self.priority, now, busy);
        if next == self.priority {
            return;
        }
        let result = if next == Priority::First { rt::run_first() } else { rt::prefer_this_thread() };
        self.priority = kept(next, result);
    }
}

/// The priority of a thread after a window in which it hardly slept, or slept enough.
fn priority_after(priority: Priority, now: Instant, busy: bool) -> Priority {
    match priority {
        Priority::First if busy => Priority::Resting(now + REST),
        Priority::Resting(until) if now >= until => Priority::First,
        stays => stays,
    }
}

/// The priority of a thread after the request for `next`.
fn kept(next: Priority, result: Result<(), OsError>) -> Priority {
    match result {
        Ok(()) => next,
        Err(error) => {
            warn!("{error}: the box may be late when the machine is busy");
            Priority::Ordinary
        }
    }
}

fn used() -> Span {
    Span::from_nanos(rt::thread_cpu_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_loop_that_hardly_sleeps_rests_for_a_second() {
        let resting = priority_after(Priority::First, at(100), true);
        assert_eq!(resting, Priority::Resting(at(1_100)));
        assert_eq!(priority_after(resting, at(1_000), true), resting);
        assert_eq!(priority_after(resting, at(1_100), true), Priority::First, "and if it is busy still, rests again");
        assert_eq!(priority_after(Priority::First, at(100), false), Priority::First);
        assert_eq!(priority_after(Priority::Ordinary, at(100), true), Priority::Ordinary);
    }

    #[test]
    fn a_thread_that_spins_loses_real_time_priority() {
        let priority = std::thread::spawn(|| {
            let now = || Instant::from_nanos(rt::monotonic_ns());
            let mut real_time = RealTimeGuard::ask(now());
            let start = now();
            while now() < start + Span::from_millis(400) {
                real_time.tend(now());
            }
            real_time.priority
        });
        let priority = priority.join().expect("no panic");
        // On a machine that is busy with other real-time threads it may have slept enough.
        assert!(matches!(priority, Priority::Resting(_) | Priority::Ordinary), "{priority:?}");
    }
}
