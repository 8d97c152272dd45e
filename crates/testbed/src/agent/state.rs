//! One application's state inside an agent, shared by its threads and the sampler.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use evenair_sys::rt::monotonic_ns;
use evenair_sys::tcp;

use super::marking;
use super::protocol::{Report, TcpSample};

/// Errors within this time before the end of an application, in nanoseconds, are caused by the end.
const END_NS: u64 = 50_000_000;

/// Writes reports to standard output, one line each.
#[derive(Debug, Default)]
pub(super) struct Reporter;

impl Reporter {
    pub(super) fn send(&self, report: &Report) {
        let mut line = serde_json::to_string(report).expect("reports are plain data");
        line.push('\n');
        let mut out = std::io::stdout().lock();
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            // The pipe is closed: the testbed has ended.
            std::process::exit(1);
        }
    }
}

/// Start and end of the application in the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) start_ns: u64,
    pub(super) stop_ns: u64,
}

#[derive(Debug)]
pub(super) struct App {
    pub(super) number: usize,
    /// DSCP of its packets.
    pub(super) dscp: u8,
    pub(super) received: AtomicU64,
    stopped: AtomicBool,
    /// Monotonic time at which the application stops; zero while unknown.
    stop_ns: AtomicU64,
    /// Connections: the first one is sampled, and all are closed at the end.
    connections: Mutex<Vec<(TcpStream, Role)>>,
    /// TCP state of a sender outside the kernel.
    reported: Mutex<Option<TcpSample>>,
    reporter: Arc<Reporter>,
}

/// Role of a connection in its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The application sends data on it.
    Sender,
    /// The application only reads from it.
    Receiver,
}

impl App {
    pub(super) fn new(number: usize, dscp: u8, reporter: Arc<Reporter>) -> Self {
        Self {
            number,
            dscp,
            received: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            stop_ns: AtomicU64::new(0),
            connections: Mutex::new(Vec::new()),
            reported: Mutex::new(None),
            reporter,
        }
    }

    pub(super) fn report(&self, report: &Report) {
        self.reporter.send(report);
    }

    /// Reports a message, except at the end: both hosts stop at the same time, and the other one may be slightly earlier.
    pub(super) fn note(&self, text: String) {
        let stop_ns = self.stop_ns.load(Ordering::Relaxed);
        if stop_ns != 0 && monotonic_ns() + END_NS >= stop_ns {
            return;
        }
        self.report(&Report::Note { app: self.number, text });
    }

    pub(super) fn will_stop(&self, at_ns: u64) {
        self.stop_ns.store(at_ns, Ordering::Relaxed);
    }

    pub(super) fn count_received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Registers a connection: closing it resets the peer, and the end of the application closes it. Returns an error if
    /// the application has already ended.
    pub(super) fn adopt(&self, stream: &TcpStream, role: Role) -> std::io::Result<()> {
        tcp::reset_on_close(stream)?;
        let copy = stream.try_clone()?;
        let mut connections = self.connections();
        if self.is_stopped() {
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        connections.push((copy, role));
        Ok(())
    }

    /// Removes a connection that has ended.
    pub(super) fn release(&self, stream: &TcpStream) {
        let port = |s: &TcpStream| (s.local_addr().ok(), s.peer_addr().ok());
        let ended = port(stream);
        self.connections().retain(|(held, _)| port(held) != ended);
    }

    /// Ends the application: its threads find their connections closed.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        for (stream, _) in self.connections().drain(..) {
            // An error means that the peer has closed it first.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Sets the TCP state of a sender outside the kernel.
    pub(super) fn report_sample(&self, sample: TcpSample) {
        *self.reported.lock().unwrap_or_else(PoisonError::into_inner) = Some(sample);
    }

    /// State of its first sending connection.
    pub(super) fn sample(&self) -> Option<TcpSample> {
        let reported = *self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        reported.or_else(|| self.sample_of_kernel())
    }

    fn sample_of_kernel(&self) -> Option<TcpSample> {
        let connections = self.connections();
        let (stream, _) = connections.iter().find(|(_, role)| *role == Role::Sender)?;
        let state = tcp::state(stream).ok()?;
        Some(TcpSample { cwnd_segments: state.cwnd_segments, srtt_us: state.srtt_us, retransmits: state.retransmits })
    }

    fn connections(&self) -> MutexGuard<'_, Vec<(TcpStream, Role)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sleeps until the monotonic clock shows `at_ns`.
pub(super) fn sleep_until(at_ns: u64) {
    while let Some(left) = at_ns.checked_sub(monotonic_ns()).filter(|&left| left > 0) {
        thread::sleep(Duration::from_nanos(left));
    }
}

/// Connects, retrying each second, until the application stops. The kernel's own timeout for an unanswered connection
/// attempt (two minutes) comes first.
pub(super) fn connect(
    app: &App,
    server: std::net::SocketAddr,
    role: Role,
    congestion_control: Option<&str>,
) -> Option<TcpStream> {
    while !app.is_stopped() {
        let connected = marking::connect(server, app.dscp, congestion_control);
        match connected.and_then(|stream| app.adopt(&stream, role).map(|()| stream)) {
            Ok(stream) => return Some(stream),
            Err(_) if app.is_stopped() => break,
            Err(error) => app.note(format!("no connection to {server}: {error}; trying again")),
        }
        thread::sleep(Duration::from_secs(1));
    }
    None
}
