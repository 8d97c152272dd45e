//! The receiver of a calibration, on a station: counts arriving packets in windows, and reports them.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::frames::{PROBE_HEAD, Probe, REPORTED, Window, write_report};

/// Longest duration of a window, which then ends with the next packet: on a bad channel n packets may take minutes, in which
/// the signal changes.
const LONGEST: Duration = Duration::from_secs(2);
/// Interval between checks whether to stop.
const TICK: Duration = Duration::from_millis(200);
/// Length of the longest datagram, in bytes.
const DATAGRAM_MAX: usize = 65_535;

/// Receives and reports until `stop`. A new session replaces the previous one.
///
/// # Errors
/// Errors of the socket.
pub fn receive(socket: &UdpSocket, packets: u64, stop: &AtomicBool, mut begun: impl FnMut(SocketAddr)) -> Result<()> {
    socket.set_read_timeout(Some(TICK)).context("cannot set the socket's time-out")?;
    let mut frame = vec![0; DATAGRAM_MAX];
    let mut session: Option<Session> = None;
    while !stop.load(Ordering::Relaxed) {
        let (len, from) = match socket.recv_from(&mut frame) {
            Ok(received) => received,
            Err(error) if is_passing(error.kind()) => continue,
            Err(error) => return Err(error).context("cannot receive"),
        };
        let Some(probe) = Probe::read(&frame[..len]).filter(|_| len >= PROBE_HEAD) else { continue };
        let now = Instant::now();
        let known = session.as_ref().is_some_and(|session| session.id == probe.session && session.from == from);
        if !known {
            begun(from);
            session = Some(Session::new(probe, from, now));
            continue;
        }
        let session = session.as_mut().expect("it is known");
        if session.count(probe, len as u64, now, packets) {
            // A saturated medium loses some reports; the following ones repeat each window.
            _ = socket.send_to(&write_report(session.id, &session.windows), from);
        }
    }
    Ok(())
}

/// Whether an error is transient: a timeout, or a report to a port that has been closed.
const fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted | ErrorKind::ConnectionRefused)
}

struct Session {
    id: u64,
    from: SocketAddr,
    /// The last complete windows.
    windows: Vec<Window>,
    /// Start of the current window: the previous arrival, and its sequence number.
    began: Instant,
    after: u64,
    /// The highest sequence number so far.
    highest: u64,
    packets: u64,
    bytes: u64,
    number: u64,
}

impl Session {
    /// The first packet marks the beginning of the first window.
    fn new(first: Probe, from: SocketAddr, now: Instant) -> Self {
        let Probe { session, sequence } = first;
        Self {
            id: session,
            from,
            windows: Vec::new(),
            began: now,
            after: sequence,
            highest: sequence,
            packets: 0,
            bytes: 0,
            number: 0,
        }
    }

    /// Counts a packet. Returns whether it completes a window.
    fn count(&mut self, probe: Probe, bytes: u64, now: Instant, packets: u64) -> bool {
        if probe.sequence <= self.highest {
            // A duplicate or overtaken packet belongs to no window.
            return false;
        }
        self.highest = probe.sequence;
        self.packets += 1;
        self.bytes += bytes;
        let lasted = now.duration_since(self.began);
        if self.packets < packets && lasted < LONGEST || lasted.is_zero() {
            return false;
        }
        if self.windows.len() == REPORTED {
            self.windows.remove(0);
        }
        self.windows.push(Window {
            number: self.number,
            packets: self.packets,
            sent: self.highest - self.after,
            bytes: self.bytes,
            lasted_ns: u64::try_from(lasted.as_nanos()).unwrap_or(u64::MAX),
        });
        (self.began, self.after, self.packets, self.bytes) = (now, self.highest, 0, 0);
        self.number += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(now: Instant) -> Session {
        Session::new(Probe { session: 1, sequence: 0 }, "127.0.0.1:9".parse().expect("an address"), now)
    }

    #[test]
    fn a_window_is_so_many_packets_and_the_time_since_the_one_before() {
        let start = Instant::now();
        let mut session = session(start);
        // Every second packet arrives, one each 4 ms.
        let complete: Vec<u64> = (1..=250)
            .filter(|&n| {
                let probe = Probe { session: 1, sequence: 2 * n };
                session.count(probe, 1024, start + Duration::from_millis(4 * n), 100)
            })
            .collect();
        assert_eq!(complete, [100, 200]);
        let Window { number, packets, sent, bytes, lasted_ns } = session.windows[1];
        assert_eq!((number, packets, sent, bytes, lasted_ns), (1, 100, 200, 102_400, 400_000_000));
    }

    #[test]
    fn an_outage_ends_a_window_and_late_packets_are_in_none() {
        let start = Instant::now();
        let mut session = session(start);
        let probe = |sequence| Probe { session: 1, sequence };
        assert!(!session.count(probe(5), 1024, start + Duration::from_millis(1), 100));
        assert!(!session.count(probe(5), 1024, start + Duration::from_secs(3), 100), "twice");
        assert!(!session.count(probe(4), 1024, start + Duration::from_secs(3), 100), "overtaken");
        assert!(session.count(probe(900), 1024, start + Duration::from_secs(9), 100));
        assert_eq!((session.windows[0].packets, session.windows[0].sent), (2, 900));
    }
}
