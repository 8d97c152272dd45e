//! The sender of a calibration: saturates the medium, and records the station's signal in each window.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use evenair_packet::MacAddr;
use evenair_telemetry::{Source, TelemetryError, poll_once};

use super::frames::{PROBE_HEAD, Probe, REPORT_MAX, Window, read_report};
use super::pairs::{Measured, Sample, Seen};

/// Packets leave in lots, one each time this has passed: a lot is well below what a medium's queue holds.
const LOT: Duration = Duration::from_millis(1);
/// After a pause of the machine no more than this is made up for.
const MOST_BEHIND: Duration = Duration::from_millis(20);
/// Without any report for this long at the beginning, there is no receiver.
const SILENCE: Duration = Duration::from_secs(10);
/// For the last reports.
const AFTERWARDS: Duration = Duration::from_millis(500);

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The station, whose signal is asked for.
    pub station: MacAddr,
    /// Bits a second of payload that are sent; more than the medium carries at its best.
    pub rate_bps: u64,
    /// Bytes of UDP payload of a packet.
    pub payload: usize,
    /// For how long.
    pub lasts: Duration,
    /// How often the signal is asked for.
    pub ask_every: Duration,
}

/// How it goes, each second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSample {
    /// Since the beginning.
    pub elapsed: Duration,
    /// The last signal, dBm.
    pub signal_dbm: Option<i64>,
    /// The last window's goodput, kb/s.
    pub goodput_kbps: Option<f64>,
    /// Windows so far.
    pub windows: usize,
}

/// Measures over a connected socket, asking `source` for the station's signal, until it has lasted long enough or `stop`.
///
/// # Errors
/// The source does not report the station's signal at the beginning; there is no receiver; errors of the socket.
pub fn measure(
    socket: &UdpSocket,
    link: &Link,
    source: Box<dyn Source>,
    stop: &AtomicBool,
    mut progress: impl FnMut(LinkSample),
) -> Result<Measured> {
    let mut source = source;
    let first = ask(&mut *source, link.station)?;
    socket.set_nonblocking(true).context("cannot set the socket up")?;
    let samples = Mutex::new(vec![first]);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| watch(&mut *source, link, &ended, &samples));
        let mut sender = Sender::new(socket, link, &samples);
        let sent = sender.run(stop, &mut progress);
        ended.store(true, Ordering::Relaxed);
        sent
    })
    .map(|windows| Measured { windows, samples: samples.into_inner().expect("no holder of the lock panics") })
}

/// The station's signal now.
fn ask(source: &mut dyn Source, station: MacAddr) -> Result<Sample> {
    let name = source.name();
    let at = Instant::now();
    let reading = poll_once(source).with_context(|| format!("{name} does not report the signal"))?;
    let Some(reported) = reading.stations.iter().find(|known| known.mac == station) else {
        let known: Vec<_> = reading.stations.iter().map(|station| station.mac.to_string()).collect();
        bail!(
            "{name} knows no station {station}; it knows: {}",
            if known.is_empty() { "none".into() } else { known.join(", ") }
        );
    };
    let Some(signal_dbm) = reported.signal_dbm else { bail!("{name} knows {station}, but does not report its signal") };
    Ok(Sample { at, signal_dbm })
}

/// Asks at intervals, until ended. An answer that fails is one sample less: windows without a signal near them do not count.
fn watch(source: &mut dyn Source, link: &Link, ended: &AtomicBool, samples: &Mutex<Vec<Sample>>) {
    let mut due = Instant::now() + link.ask_every;
    while !ended.load(Ordering::Relaxed) {
        // In small steps, so that the end is not waited for.
        std::thread::sleep(due.saturating_duration_since(Instant::now()).min(Duration::from_millis(100)));
        if Instant::now() < due {
            continue;
        }
        due = Instant::now() + link.ask_every;
        let asked: Result<Sample> = ask(source, link.station);
        match asked {
            Ok(sample) => samples.lock().expect("no holder of the lock panics").push(sample),
            Err(error) if error.downcast_ref::<TelemetryError>().is_some() => eprintln!("warning: {error:#}"),
            Err(error) => eprintln!("warning: {error}"),
        }
    }
}

struct Sender<'a> {
    socket: &'a UdpSocket,
    link: &'a Link,
    samples: &'a Mutex<Vec<Sample>>,
    session: u64,
    frame: Vec<u8>,
    sequence: u64,
    /// Each window once, by number, and the time of its first report.
    windows: BTreeMap<u64, (Window, Instant)>,
}

impl<'a> Sender<'a> {
    fn new(socket: &'a UdpSocket, link: &'a Link, samples: &'a Mutex<Vec<Sample>>) -> Self {
        // Sessions of one sender differ by when they began; the receiver distinguishes senders by their addresses.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let session = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let frame = vec![0; link.payload.max(PROBE_HEAD)];
        Self { socket, link, samples, session, frame, sequence: 0, windows: BTreeMap::new() }
    }

    fn run(&mut self, stop: &AtomicBool, progress: &mut impl FnMut(LinkSample)) -> Result<Vec<Seen>> {
        let begun = Instant::now();
        let gap = Duration::from_nanos(self.frame.len() as u64 * 8 * 1_000_000_000 / self.link.rate_bps.max(1));
        let (mut due, mut next_sample) = (begun, begun + Duration::from_secs(1));
        while !stop.load(Ordering::Relaxed) && begun.elapsed() < self.link.lasts {
            let now = Instant::now();
            due = due.max(now.checked_sub(MOST_BEHIND).unwrap_or(now));
            while due <= now {
                self.send()?;
                due += gap;
            }
            self.take_reports()?;
            if now >= next_sample {
                next_sample += Duration::from_secs(1);
                progress(self.sample(begun));
            }
            if self.windows.is_empty() && begun.elapsed() > SILENCE {
                bail!(
                    "nothing is reported from {}: is `evenair calibrate sink` running there, and does no firewall drop its UDP?",
                    self.peer()
                );
            }
            std::thread::sleep(LOT);
        }
        let last = Instant::now();
        while last.elapsed() < AFTERWARDS {
            self.take_reports()?;
            std::thread::sleep(LOT);
        }
        Ok(self.windows.values().map(|&(window, reported_at)| seen(window, reported_at)).collect())
    }

    fn send(&mut self) -> Result<()> {
        Probe { session: self.session, sequence: self.sequence }.write(&mut self.frame);
        self.sequence += 1;
        match self.socket.send(&self.frame) {
            Ok(_) => Ok(()),
            // The queue of this machine's own interface is full: that is one lost, as in the access point.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
            Err(error) => Err(self.unsent(error)),
        }
    }

    fn take_reports(&mut self) -> Result<()> {
        let mut frame = [0; REPORT_MAX];
        loop {
            match self.socket.recv(&mut frame) {
                Ok(len) => {
                    let now = Instant::now();
                    for window in read_report(&frame[..len], self.session).unwrap_or_default() {
                        self.windows.entry(window.number).or_insert((window, now));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unsent(error)),
            }
        }
    }

    fn unsent(&self, error: std::io::Error) -> anyhow::Error {
        let refused = error.kind() == ErrorKind::ConnectionRefused;
        let hint = if refused { ": nobody listens there; start `evenair calibrate sink` on the station" } else { "" };
        anyhow::Error::new(error).context(format!("cannot send to {}{hint}", self.peer()))
    }

    fn peer(&self) -> String {
        self.socket.peer_addr().map_or_else(|_| "the receiver".to_owned(), |peer| peer.to_string())
    }

    fn sample(&self, begun: Instant) -> LinkSample {
        let samples = self.samples.lock().expect("no holder of the lock panics");
        let last = self.windows.values().next_back();
        LinkSample {
            elapsed: begun.elapsed(),
            signal_dbm: samples.last().map(|sample| sample.signal_dbm),
            goodput_kbps: last.map(|&(window, reported_at)| seen(window, reported_at).goodput_kbps),
            windows: self.windows.len(),
        }
    }
}

/// When it was, by this machine's clock: it ended shortly before its report.
fn seen(window: Window, reported_at: Instant) -> Seen {
    let lasted = Duration::from_nanos(window.lasted_ns);
    Seen {
        middle: reported_at.checked_sub(lasted / 2).unwrap_or(reported_at),
        half: lasted / 2,
        goodput_kbps: window.bytes as f64 * 8e3 / lasted.as_secs_f64() / 1e6,
        lost: window.sent - window.packets,
    }
}
