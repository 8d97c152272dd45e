//! Waits until a TAP device is readable or a deadline is due, and bounds the time for which frames waited meanwhile.
//!
//! See [`crate::lateness`] for the bound and its justification.

use std::time::Duration;

use evenair_sys::error::OsError;
use evenair_sys::rt::{Epoll, RunDelay, Scheduled, Waker, monotonic_ns};
use evenair_sys::tap::Tap;
use evenair_units::{Instant, Span};

/// Time before a deadline from which on the waiter polls: wake-ups from sleep are rarely later than this (measured: 99 %
/// within 46 us with a timer alone).
const SPIN: Span = Span::from_micros(50);
/// The waker's token; devices have their index.
const WAKER: u64 = u64::MAX;

/// The clock of a testbed: simulated time is the monotonic clock since its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch_ns: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { epoch_ns: monotonic_ns() }
    }

    /// Time since the start.
    pub fn now(self) -> Instant {
        Instant::from_nanos(monotonic_ns().saturating_sub(self.epoch_ns))
    }

    /// The instant at which the machine's monotonic clock shows `monotonic_ns`.
    pub fn instant(self, monotonic_ns: u64) -> Instant {
        Instant::from_nanos(monotonic_ns.saturating_sub(self.epoch_ns))
    }
}

/// Waits for devices and deadlines, for one thread.
#[derive(Debug)]
pub struct Waiter {
    clock: Clock,
    epoll: Epoll,
    run_delay: Option<RunDelay>,
    devices: Vec<Device>,
    polls: u64,
    /// Earliest time at which the kernel checked the devices for the last poll.
    polled_at: Instant,
    /// The same for the previous poll.
    previous_poll_at: Instant,
    /// When the last poll's sleep ended, if it slept and the scheduler reports it.
    runnable_at: Option<Instant>,
}

/// State of one device.
#[derive(Clone, Copy, Debug, Default)]
struct Device {
    /// Time at which it is known to have been empty.
    empty_at: Instant,
    /// Numbers of the last two polls that reported it.
    reported: (u64, u64),
}

/// Result of a wait.
#[derive(Debug, Default)]
pub struct Ready {
    /// Indices of the readable devices.
    pub devices: Vec<usize>,
    /// The waker was used.
    pub woken: bool,
}

impl Waiter {
    /// A waiter for the calling thread.
    ///
    /// # Errors
    /// If the limit of descriptors is reached.
    pub fn new<'a>(clock: Clock, taps: impl ExactSizeIterator<Item = &'a Tap>, waker: &Waker) -> Result<Self, OsError> {
        // Room for all devices: one that is not reported is then known to be empty.
        let epoll = Epoll::new(taps.len() + 1)?;
        epoll.add(waker, WAKER)?;
        let mut devices = Vec::new();
        for (index, tap) in taps.enumerate() {
            epoll.add(tap, index as u64)?;
            devices.push(Device::default());
        }
        let now = clock.now();
        Ok(Self {
            clock,
            epoll,
            run_delay: RunDelay::of_this_thread(),
            devices,
            polls: 0,
            polled_at: now,
            previous_poll_at: now,
            runnable_at: None,
        })
    }

    /// Waits until a device is readable, the waker is used, or `deadline` (forever without one). The devices are polled at
    /// least once, even if the deadline has passed.
    ///
    /// # Errors
    /// See [`Epoll::wait`].
    pub fn wait(&mut self, deadline: Option<Instant>, ready: &mut Ready) -> Result<(), OsError> {
        ready.devices.clear();
        ready.woken = false;
        loop {
            let left = deadline.map(|deadline| deadline.saturating_since(self.clock.now()));
            let sleep = left.map(|left| Duration::from_nanos(left.saturating_sub(SPIN).as_nanos()));
            self.poll(sleep, ready)?;
            if ready.woken || !ready.devices.is_empty() || left == Some(Span::ZERO) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
    }

    /// Records that a read of the device, which began at `at`, found nothing.
    pub fn note_empty(&mut self, device: usize, at: Instant) {
        self.devices[device].empty_at = at;
    }

    /// Upper bound of the time for which a frame read from the device now has waited in it.
    pub fn lag(&mut self, device: usize, now: Instant) -> Span {
        let Device { empty_at, reported } = self.devices[device];
        // Not reported by the last but one poll: empty when that one checked.
        let unreported = if reported.0 + 1 < self.polls { self.previous_poll_at } else { Instant::ZERO };
        let known_empty = empty_at.max(unreported).max(self.runnable_at.unwrap_or_default());
        // For frames that remain in it after this round.
        self.devices[device].empty_at = known_empty;
        now.saturating_since(known_empty)
    }

    fn poll(&mut self, sleep: Option<Duration>, ready: &mut Ready) -> Result<(), OsError> {
        self.previous_poll_at = std::mem::replace(&mut self.polled_at, self.clock.now());
        self.polls += 1;
        let sleeps = sleep != Some(Duration::ZERO);
        let before = if sleeps { self.scheduled()? } else { None };
        for token in self.epoll.wait(sleep)? {
            if token == WAKER {
                ready.woken = true;
            } else {
                let index = token as usize;
                let device = &mut self.devices[index];
                device.reported = (device.reported.1, self.polls);
                ready.devices.push(index);
            }
        }
        self.runnable_at = if sleeps { self.end_of_sleep(before)? } else { None };
        // A device that was not ready when the kernel checked after the sleep was not ready during the sleep.
        self.polled_at = self.polled_at.max(self.runnable_at.unwrap_or_default());
        Ok(())
    }

    /// When the thread became runnable again, if it has slept since the scheduler's counts were `before`: now minus the
    /// scheduler's waiting time. If devices were ready before the sleep began, the thread did not sleep and was not
    /// scheduled anew, and nothing is known.
    fn end_of_sleep(&self, before: Option<Scheduled>) -> Result<Option<Instant>, OsError> {
        let now = self.clock.now();
        let (Some(before), Some(after)) = (before, self.scheduled()?) else { return Ok(None) };
        let waited = Span::from_nanos(after.delay_ns - before.delay_ns);
        Ok((after.times > before.times).then(|| now.saturating_sub(waited).max(self.polled_at)))
    }

    fn scheduled(&self) -> Result<Option<Scheduled>, OsError> {
        self.run_delay.as_ref().map(RunDelay::totals).transpose()
    }
}
