//! Progress of a run, and stopping it from Python.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use evenair_results as results;
use pyo3::prelude::*;

/// Interval of checks for signals of the process, and of calls of a progress function.
const LOOK: Duration = Duration::from_millis(50);

/// How far a run has come.
#[pyclass(frozen, get_all, module = "evenair")]
pub struct Progress {
    /// Virtual time since the start of the run, in seconds.
    at_s: f64,
    /// Length of the run, in seconds.
    duration_s: f64,
    /// All flows over the last interval, IP level, in Mb/s.
    total_ip_mbps: f64,
    /// The access point's queue, in packets.
    ap_queue_packets: u64,
}

#[pymethods]
impl Progress {
    /// The part of the run that is done, from 0 to 1.
    #[getter]
    fn part(&self) -> f64 {
        self.at_s / self.duration_s
    }

    fn __repr__(&self) -> String {
        format!("Progress(at_s={}, duration_s={})", self.at_s, self.duration_s)
    }
}

/// Calls Python during a run that does not hold the interpreter.
pub struct Watch {
    report: Option<Py<PyAny>>,
    duration_s: f64,
    /// Time of the last check for signals, and of the last report.
    looked: Instant,
    reported: Instant,
    /// Why the run was stopped.
    pub stopped_by: Option<PyErr>,
}

impl Watch {
    pub fn new(report: Option<Py<PyAny>>, duration_s: f64) -> Self {
        let now = Instant::now();
        Self { report, duration_s, looked: now, reported: now, stopped_by: None }
    }

    /// The run calls this repeatedly, with its progress at the end of an interval; returns whether to continue.
    pub fn look(&mut self, now: Option<&results::Progress>) -> ControlFlow<()> {
        let report = self.report.as_ref().filter(|_| self.reported.elapsed() >= LOOK).zip(now);
        if report.is_none() && self.looked.elapsed() < LOOK {
            return ControlFlow::Continue(());
        }
        let asked = Python::attach(|python| {
            python.check_signals()?;
            report.map_or(Ok(()), |(report, now)| self.call(python, report, now))
        });
        let is_reported = report.is_some();
        self.looked = Instant::now();
        if is_reported {
            self.reported = self.looked;
        }
        match asked {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.stopped_by = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn call(&self, python: Python<'_>, report: &Py<PyAny>, now: &results::Progress) -> PyResult<()> {
        let progress = Progress {
            at_s: now.at_s,
            duration_s: self.duration_s,
            total_ip_mbps: now.total_ip_mbps,
            ap_queue_packets: now.ap_queue_packets,
        };
        report.call1(python, (progress,)).map(|_| ())
    }
}

/// How an experiment stands.
#[pyclass(frozen, get_all, eq, module = "evenair")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Runs in all.
    pub planned: usize,
    /// Runs that ended well.
    pub known: usize,
    /// Runs that failed.
    pub failed: usize,
    /// How long the rest takes, in seconds, if runs take as long as they did so far; absent where that is not known.
    pub left_s: Option<f64>,
}

#[pymethods]
impl Status {
    #[new]
    #[pyo3(signature = (planned, known, failed=0, left_s=None))]
    const fn new(planned: usize, known: usize, failed: usize, left_s: Option<f64>) -> Self {
        Self { planned, known, failed, left_s }
    }

    /// Runs that are not made yet.
    #[getter]
    const fn missing(&self) -> usize {
        self.planned - self.known - self.failed
    }

    /// Whether all runs ended well.
    #[getter]
    const fn is_complete(&self) -> bool {
        self.known == self.planned
    }

    fn __repr__(&self) -> String {
        let part = |count: usize, word: &str| if count > 0 { format!(", {count} {word}") } else { String::new() };
        let more = part(self.failed, "failed") + &part(self.missing(), "missing");
        format!("{} runs: {} known{more}", self.planned, self.known)
    }
}

/// Calls Python during an experiment that does not hold the interpreter.
pub struct Tally {
    report: Option<Py<PyAny>>,
    reported: Option<Instant>,
    /// Why the experiment was stopped.
    pub stopped_by: Option<PyErr>,
}

impl Tally {
    pub const fn new(report: Option<Py<PyAny>>) -> Self {
        Self { report, reported: None, stopped_by: None }
    }

    /// The experiment calls this repeatedly; returns whether to continue.
    pub fn look(&mut self, now: &evenair_study::Status) -> bool {
        let is_early = self.reported.is_some_and(|reported| reported.elapsed() < LOOK);
        if is_early && !now.is_complete() {
            return true;
        }
        self.reported = Some(Instant::now());
        let status = Status {
            planned: now.runs,
            known: now.known + now.ended - now.failed,
            failed: now.failed,
            left_s: now.left().map(|left| left.as_secs_f64()),
        };
        let asked = Python::attach(|python| {
            python.check_signals()?;
            self.report.as_ref().map_or(Ok(()), |report| report.call1(python, (status,)).map(|_| ()))
        });
        self.stopped_by = asked.err();
        self.stopped_by.is_none()
    }
}
