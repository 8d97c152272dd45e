//! What a run says of itself on its way, and how Python stops it.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use evenair_results as results;
use pyo3::prelude::*;

/// Between two looks at signals of the process, and calls of a progress function.
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

/// Looks at Python from a run that does not hold the interpreter.
pub struct Watch {
    report: Option<Py<PyAny>>,
    duration_s: f64,
    /// When signals were looked at, and when it was reported last.
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

    /// To be called by the run again and again, with its progress where an interval has ended: whether to go on.
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
