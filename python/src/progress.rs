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
    looked: Instant,
    /// Why the run was stopped.
    pub stopped_by: Option<PyErr>,
}

impl Watch {
    pub fn new(report: Option<Py<PyAny>>, duration_s: f64) -> Self {
        Self { report, duration_s, looked: Instant::now(), stopped_by: None }
    }

    /// To be called by the run again and again: whether to go on.
    pub fn look(&mut self, now: Option<&results::Progress>) -> ControlFlow<()> {
        if self.looked.elapsed() < LOOK {
            return ControlFlow::Continue(());
        }
        self.looked = Instant::now();
        match Python::attach(|python| self.ask(python, now)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.stopped_by = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn ask(&self, python: Python<'_>, now: Option<&results::Progress>) -> PyResult<()> {
        python.check_signals()?;
        let (Some(report), Some(now)) = (&self.report, now) else { return Ok(()) };
        let progress = Progress {
            at_s: now.at_s,
            duration_s: self.duration_s,
            total_ip_mbps: now.total_ip_mbps,
            ap_queue_packets: now.ap_queue_packets,
        };
        report.call1(python, (progress,)).map(|_| ())
    }
}
