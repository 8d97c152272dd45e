//! Polls sources at their intervals, each in a separate thread.
//!
//! A source that does not respond is polled less and less often, and again at its interval once it responds. Errors stay
//! here: they are logged once, then occasionally while they last, and are shown in the health of the source.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tracing::{info, warn};

use crate::source::{Reading, Source, TelemetryError};

/// Longest interval between polls of a failing source, unless its own is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);
/// A repeated error is logged again after this time.
const LOG_AGAIN: Duration = Duration::from_secs(600);

/// A source with its polling interval.
pub struct Scheduled {
    /// The source.
    pub source: Box<dyn Source>,
    /// Time between two polls.
    pub interval: Duration,
}

/// Health of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Its name.
    pub name: String,
    /// The table or interface that responded last.
    pub from: String,
    /// Time between two polls.
    pub interval: Duration,
    /// Number of stations in its last report.
    pub stations: usize,
    /// Number of polls.
    pub polls: u64,
    /// Number of failed polls.
    pub failures: u64,
    /// The current error; `None`: the last poll succeeded.
    pub error: Option<String>,
    /// Time of the last successful poll.
    pub answered: Option<Instant>,
}

/// The polling threads. They end when this is dropped; one that waits for a response ends with it or its timeout.
pub struct Pollers {
    health: Vec<Arc<Mutex<Health>>>,
    stop: Vec<mpsc::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Pollers {
    /// Starts polling. `deliver` gets each report with the index of its source, from 0, and the time of the request; it
    /// returns `false` to end.
    pub fn start(
        sources: Vec<Scheduled>,
        deliver: impl Fn(u16, Instant, &Reading) -> bool + Clone + Send + 'static,
    ) -> std::io::Result<Self> {
        let mut this = Self { health: Vec::new(), stop: Vec::new(), threads: Vec::new() };
        for (number, scheduled) in (0..=u16::MAX).zip(sources) {
            let (name, interval) = (scheduled.source.name(), scheduled.interval);
            let health = Arc::new(Mutex::new(Health { name, interval, ..Health::default() }));
            let (stop, stopped) = mpsc::channel();
            let (deliver, shared) = (deliver.clone(), Arc::clone(&health));
            let work =
                move || ask_until(scheduled, &stopped, &shared, |asked, reading| deliver(number, asked, reading));
            this.threads.push(thread::Builder::new().name(format!("telemetry-{number}")).spawn(work)?);
            this.health.push(health);
            this.stop.push(stop);
        }
        Ok(this)
    }

    /// Health of each source, in order.
    pub fn health(&self) -> Vec<Health> {
        let copy = |health: &Arc<Mutex<Health>>| health.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.health.iter().map(copy).collect()
    }

    /// The same, for another thread.
    pub fn watch(&self) -> impl Fn() -> Vec<Health> + Send + 'static {
        let health = self.health.clone();
        move || health.iter().map(|health| health.lock().unwrap_or_else(PoisonError::into_inner).clone()).collect()
    }
}

impl Drop for Pollers {
    fn drop(&mut self) {
        self.stop.clear();
        // A thread that waits for a reply would delay the end of the program: it is left running, which is harmless.
        self.threads.drain(..).filter(JoinHandle::is_finished).for_each(|thread| _ = thread.join());
    }
}

/// Polls a source once, and catches panics of its driver.
///
/// # Errors
/// As [`Source::poll`]; or the driver panicked, which is reported like an invalid reply.
pub fn poll_once(source: &mut dyn Source) -> Result<Reading, TelemetryError> {
    // Responses are untrusted input: a panic while parsing them must not affect anything else.
    catch_unwind(AssertUnwindSafe(|| source.poll().map(Reading::settled))).unwrap_or_else(|panic| {
        let why = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(TelemetryError::Nonsense(format!("the driver failed on it: {}", why.unwrap_or("no reason"))))
    })
}

fn ask_until(
    mut scheduled: Scheduled,
    stopped: &mpsc::Receiver<()>,
    health: &Mutex<Health>,
    deliver: impl Fn(Instant, &Reading) -> bool,
) {
    let name = scheduled.source.name();
    let mut failures = 0;
    let mut logged: Option<(String, Instant)> = None;
    let mut warned: Option<Instant> = None;
    loop {
        let asked = Instant::now();
        let outcome = poll_once(&mut *scheduled.source);
        note(&mut health.lock().unwrap_or_else(PoisonError::into_inner), asked, &outcome);
        match outcome {
            Ok(reading) => {
                if logged.take().is_some() {
                    info!("telemetry: {name} answers again");
                }
                failures = 0;
                if !reading.warnings.is_empty() && warned.is_none_or(|at| at.elapsed() >= LOG_AGAIN) {
                    reading.warnings.iter().for_each(|warning| warn!("telemetry: {name}: {warning}"));
                    warned = Some(Instant::now());
                }
                if !deliver(asked, &reading) {
                    return;
                }
            }
            Err(error) => {
                failures += 1;
                let error = error.to_string();
                if logged.as_ref().is_none_or(|(before, at)| *before != error || at.elapsed() >= LOG_AGAIN) {
                    warn!("telemetry: {name}: {error}; stations are charged by their traffic alone until it answers");
                    logged = Some((error, Instant::now()));
                }
            }
        }
        let wait = pause(scheduled.interval, failures).saturating_sub(asked.elapsed());
        if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn note(health: &mut Health, asked: Instant, outcome: &Result<Reading, TelemetryError>) {
    health.polls += 1;
    match outcome {
        Ok(reading) => {
            (health.stations, health.answered, health.error) = (reading.stations.len(), Some(asked), None);
            health.from.clone_from(&reading.from);
        }
        Err(error) => {
            health.failures += 1;
            health.error = Some(error.to_string());
        }
    }
}

/// Time until the next poll after this number of failures in a row.
fn pause(interval: Duration, failures: u32) -> Duration {
    let longer = interval.saturating_mul(1 << failures.saturating_sub(1).min(10));
    longer.min(LONGEST_PAUSE.max(interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scripted(Vec<fn() -> Result<Reading, TelemetryError>>);

    impl Source for Scripted {
        fn name(&self) -> String {
            "scripted".into()
        }

        fn poll(&mut self) -> Result<Reading, TelemetryError> {
            if self.0.is_empty() { Ok(Reading::default()) } else { self.0.remove(0)() }
        }
    }

    #[test]
    fn pauses_grow_with_failures_and_end() {
        let interval = Duration::from_secs(5);
        let seconds: Vec<_> = (0..9).map(|failures| pause(interval, failures).as_secs()).collect();
        assert_eq!(seconds, [5, 5, 10, 20, 40, 80, 120, 120, 120]);
        assert_eq!(pause(Duration::from_secs(300), 9).as_secs(), 300);
        assert_eq!(pause(interval, u32::MAX).as_secs(), 120);
    }

    #[test]
    fn failures_and_faults_are_logged_and_polling_goes_on() {
        let source = Scripted(vec![
            || Err(TelemetryError::Silent(Duration::from_secs(1))),
            || panic!("index out of bounds"),
            || Ok(Reading { from: "a table".into(), ..Reading::default() }),
        ]);
        let (sender, delivered) = mpsc::channel();
        let scheduled = Scheduled { source: Box::new(source), interval: Duration::from_millis(5) };
        let deliver = move |number, _, reading: &Reading| sender.send((number, reading.from.clone())).is_ok();
        let pollers = Pollers::start(vec![scheduled], deliver).expect("threads");
        assert_eq!(delivered.recv_timeout(Duration::from_secs(10)), Ok((0, "a table".into())));
        let [health] = &pollers.health()[..] else { panic!("one source") };
        assert_eq!((health.failures, health.error.as_deref()), (2, None));
        assert!(health.answered.is_some() && health.polls >= 3);
        drop(pollers);
        // The thread ends, and with it the last sender.
        while delivered.recv_timeout(Duration::from_secs(10)).is_ok() {}
        assert_eq!(delivered.recv_timeout(Duration::from_secs(1)), Err(RecvTimeoutError::Disconnected));
    }
}
