//! Calibration of a link that is real but for the radio: UDP over loopback, through a relay that passes on what a channel of
//! the moment carries and loses the rest, while a source tells the signal of that moment.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[path = "../src/calibrate/mod.rs"]
mod calibrate;

use calibrate::{LEAST_PAYLOAD, Link, LinkSample, Pairs, measure, receive};
use evenair_packet::MacAddr;
use evenair_telemetry::{Reading, Source, StationReading, TelemetryError};

const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PAYLOAD: usize = 1024;
/// Signals in dBm, and what the channel then carries, packets a second.
const CHANNEL: [(i64, u64); 3] = [(-60, 600), (-70, 300), (-80, 75)];
/// Each signal lasts this long.
const STEP: Duration = Duration::from_millis(2_500);

/// The channel of a moment.
struct Channel {
    begun: Instant,
}

impl Channel {
    fn now(&self) -> (i64, u64) {
        let step = self.begun.elapsed().as_millis() / STEP.as_millis();
        CHANNEL[(step as usize).min(CHANNEL.len() - 1)]
    }
}

struct AccessPoint<'a>(&'a Channel, Option<MacAddr>);

impl Source for AccessPoint<'static> {
    fn name(&self) -> String {
        "the access point".into()
    }

    fn poll(&mut self) -> Result<Reading, TelemetryError> {
        let station = self.1.map(|mac| StationReading { signal_dbm: Some(self.0.now().0), ..StationReading::new(mac) });
        Ok(Reading { stations: station.into_iter().collect(), ..Reading::default() })
    }
}

/// Passes packets on to `to` at the channel's rate, a few of them in advance, and reports back.
fn relay(inner: &UdpSocket, outer: &UdpSocket, channel: &Channel, stop: &AtomicBool, lost: &AtomicU64) {
    let (mut frame, mut credit, mut then) = ([0; 2048], 0.0, Instant::now());
    outer.set_read_timeout(Some(Duration::from_millis(1))).expect("a time-out");
    inner.set_nonblocking(true).expect("a socket");
    let mut sender = None;
    while !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        credit = (credit + now.duration_since(then).as_secs_f64() * channel.now().1 as f64).min(8.0);
        then = now;
        if let Ok((len, from)) = outer.recv_from(&mut frame) {
            sender = Some(from);
            if credit >= 1.0 {
                credit -= 1.0;
                inner.send(&frame[..len]).expect("the receiver is there");
            } else {
                lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        while let (Ok(len), Some(to)) = (inner.recv(&mut frame), sender) {
            outer.send_to(&frame[..len], to).expect("the sender is there");
        }
    }
}

fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").expect("a socket of loopback")
}

fn link(lasts: Duration) -> Link {
    const { assert!(PAYLOAD >= LEAST_PAYLOAD) };
    Link { station: STATION, rate_bps: 8_000_000, payload: PAYLOAD, lasts, ask_every: Duration::from_millis(100) }
}

fn channel() -> &'static Channel {
    Box::leak(Box::new(Channel { begun: Instant::now() }))
}

fn mean(pairs: &Pairs, signal: i64) -> f64 {
    let of: Vec<f64> = pairs.pairs.iter().filter(|(dbm, _)| *dbm == signal as f64).map(|&(_, kbps)| kbps).collect();
    assert!(of.len() >= 2, "{signal} dBm: {pairs:?}");
    of.iter().sum::<f64>() / of.len() as f64
}

#[test]
fn the_goodput_at_each_signal_is_what_the_channel_carried_then() {
    let (station, inner, outer, sender) = (socket(), socket(), socket(), socket());
    inner.connect(station.local_addr().expect("bound")).expect("loopback");
    sender.connect(outer.local_addr().expect("bound")).expect("loopback");
    let (stop, lost) = (AtomicBool::new(false), AtomicU64::new(0));
    let channel = channel();
    let measured = std::thread::scope(|scope| {
        scope.spawn(|| receive(&station, 50, &stop, |_| ()).expect("it receives"));
        scope.spawn(|| relay(&inner, &outer, channel, &stop, &lost));
        let source = Box::new(AccessPoint(channel, Some(STATION)));
        let measured = measure(&sender, &link(3 * STEP), source, &AtomicBool::new(false), |_: LinkSample| ());
        stop.store(true, Ordering::Relaxed);
        measured
    });
    let pairs = measured.expect("it is measured").pairs();
    assert_eq!((pairs.without_signal, pairs.not_full), (0, 0));
    assert!(lost.load(Ordering::Relaxed) > 1_000, "the channel was full");
    for (signal, packets) in CHANNEL {
        let carried = packets as f64 * PAYLOAD as f64 * 8.0 / 1e3;
        let kbps = mean(&pairs, signal);
        assert!((0.85..=1.15).contains(&(kbps / carried)), "{signal} dBm: {kbps} of {carried} kb/s");
    }
}

#[test]
fn a_link_on_which_nothing_is_lost_makes_no_table() {
    let (station, sender) = (socket(), socket());
    sender.connect(station.local_addr().expect("bound")).expect("loopback");
    let stop = AtomicBool::new(false);
    let measured = std::thread::scope(|scope| {
        scope.spawn(|| receive(&station, 50, &stop, |_| ()).expect("it receives"));
        let source = Box::new(AccessPoint(channel(), Some(STATION)));
        let measured =
            measure(&sender, &link(Duration::from_millis(500)), source, &AtomicBool::new(false), |_: LinkSample| ());
        stop.store(true, Ordering::Relaxed);
        measured
    });
    let pairs = measured.expect("it is measured").pairs();
    assert!(pairs.not_full > 5 && pairs.pairs.len() < pairs.not_full, "{pairs:?}");
}

#[test]
fn what_cannot_be_measured_says_why() {
    let run = |knows, to: &UdpSocket| {
        let sender = socket();
        sender.connect(to.local_addr().expect("bound")).expect("loopback");
        let source = Box::new(AccessPoint(channel(), knows));
        let measured =
            measure(&sender, &link(Duration::from_secs(5)), source, &AtomicBool::new(false), |_: LinkSample| ());
        format!("{:#}", measured.expect_err("it cannot be measured"))
    };
    let closed = socket();
    let other = MacAddr([2, 0, 0, 0, 0, 9]);
    assert!(run(Some(other), &closed).contains("knows no station 02:00:00:00:00:01; it knows: 02:00:00:00:00:09"));
    assert!(run(None, &closed).contains("it knows: none"));
    let address = closed.local_addr().expect("bound");
    drop(closed);
    let sender = socket();
    sender.connect(address).expect("loopback");
    let source = Box::new(AccessPoint(channel(), Some(STATION)));
    let error = measure(&sender, &link(Duration::from_secs(5)), source, &AtomicBool::new(false), |_: LinkSample| ());
    let error = format!("{:#}", error.expect_err("nobody listens"));
    assert!(error.contains("start `evenair calibrate sink`"), "{error}");
}
