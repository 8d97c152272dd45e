//! Measurements of a path: packets per second and CPU time of each, at full load and under a backlog; latency; idle load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use evenair_api::Status;
use evenair_manager::DropReason;
use evenair_sys::ring::Ring;
use evenair_sys::{iface, rt};
use serde::Serialize;

use crate::lab::{Lab, Middle};
use crate::load::{Offered, Place, SINK_PORT, delivered, offer, stamp_of};

/// Offered rate relative to the served one, so that queues stay full.
const OVERLOAD: f64 = 1.05;
/// Time before a measurement, so that caches and queues are in a steady state.
const WARM_UP: Duration = Duration::from_millis(150);

/// One measurement on one core.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Reading {
    /// Packets delivered per second, in thousands; source, path and sink share the core.
    pub kpps: f64,
    /// CPU time of everything for each delivered packet, and of the source for each offered packet, in nanoseconds.
    pub ns: f64,
    /// Part of the offered packets that was lost.
    pub lost: f64,
    /// Offered packets for each delivered one.
    offered: f64,
    packets: u64,
    stopped_ns: u64,
    /// Under a backlog: delivered part of the rate to be served.
    pub served: f64,
}

impl Reading {
    /// CPU time of the path alone in nanoseconds, without source and sink, whose time is that of a cable between them.
    pub fn path_ns(&self, cable: &Self) -> f64 {
        self.ns - cable.ns * self.offered
    }
}

/// Offers as much as one core carries.
pub fn flat_out(lab: &Lab, len: usize, span: Duration) -> Result<Reading> {
    offer(lab, len, None, WARM_UP, Place::OneCore)?;
    read(lab, || offer(lab, len, None, span, Place::OneCore))
}

/// Serves `pps` with all queues full.
pub fn backlogged(lab: &Lab, len: usize, pps: f64, span: Duration) -> Result<Reading> {
    let ip_len = len - 14;
    lab.shape((pps * (ip_len * 8) as f64) as u64, ip_len)?;
    fill(lab, len)?;
    offer(lab, len, Some(pps * OVERLOAD), WARM_UP, Place::OneCore)?;
    let start = Instant::now();
    let mut reading = read(lab, || offer(lab, len, Some(pps * OVERLOAD), span, Place::OneCore));
    if let Ok(reading) = &mut reading {
        // The queues are served while the source gets ready, too.
        let took = start.elapsed().saturating_sub(Duration::from_nanos(reading.stopped_ns));
        reading.served = reading.packets as f64 / took.as_secs_f64() / pps;
    }
    lab.shape(crate::lab::UNSHAPED, ip_len)?;
    thread::sleep(Duration::from_millis(50));
    reading
}

/// Fills all queues: offers as much as possible until the box has dropped half as many packets as fill them, each station's in turn;
/// without a box, a few times as many as fill them.
fn fill(lab: &Lab, len: usize) -> Result<()> {
    /// Longest fill, in warm-ups.
    const LONGEST: usize = 60;
    let turned_away = |status: Status| status.packets.drops[DropReason::QueueFull];
    let before = lab.status().map(turned_away);
    let mut offered = 0;
    for _ in 0..LONGEST {
        offered += offer(lab, len, None, WARM_UP, Place::OneCore)?.packets;
        let full = match (before, lab.status().map(turned_away)) {
            (Some(before), Some(now)) => now - before > lab.backlog() as u64 / 2,
            _ => offered > 4 * lab.backlog() as u64,
        };
        if full {
            return Ok(());
        }
    }
    bail!("{}: {offered} packets do not fill queues of {}: no backlog to be measured", lab.kind.name(), lab.backlog())
}

fn read(lab: &Lab, offer: impl FnOnce() -> Result<Offered>) -> Result<Reading> {
    let (before, cpu) = (delivered(lab)?, lab.box_cpu_ns());
    let offered = offer()?;
    let (packets, cpu) = (delivered(lab)? - before, lab.box_cpu_ns() - cpu);
    let busy = offered.cpu_ns.saturating_sub(offered.idle_ns) + cpu;
    let each = |value: f64| value / packets.max(1) as f64;
    Ok(Reading {
        kpps: packets as f64 / offered.wall_ns as f64 * 1e6,
        ns: each(busy as f64),
        lost: 1.0 - packets as f64 / offered.packets.max(1) as f64,
        offered: each(offered.packets as f64),
        packets,
        stopped_ns: offered.stopped_ns,
        served: f64::NAN,
    })
}

/// Packets per second in bursts: less than one loop and the source carry on two cores.
const BURSTS_PPS: f64 = 150_000.0;

/// Offers bursts that may be forwarded on all cores; the CPU time is that of the threads.
pub fn bursts(lab: &Lab, len: usize, span: Duration) -> Result<Reading> {
    offer(lab, len, Some(BURSTS_PPS), WARM_UP, Place::Bursts)?;
    let reading = read(lab, || offer(lab, len, Some(BURSTS_PPS), span, Place::Bursts))?;
    // CPU time for each packet means nothing if hardly any arrived.
    ensure!(reading.kpps * 1e3 > 0.9 * BURSTS_PPS, "{}: {:.0} kpps came of the bursts", lab.kind.name(), reading.kpps);
    Ok(reading)
}

/// Part of the packets that may be lost at the highest rate.
pub const MOST_LOST: f64 = 0.005;

/// The highest rate that loses at most [`MOST_LOST`], in packets per second of both directions, on all cores: by bisection, from the rate
/// that the source itself offers. Also returns whether the source limits it.
pub fn highest_rate(lab: &Lab, len: usize, span: Duration) -> Result<(f64, bool)> {
    const STEPS: usize = 7;
    let carries = |rate: Option<f64>| -> Result<(f64, bool)> {
        let before = delivered(lab)?;
        let offered = offer(lab, len, rate, span, Place::Batches)?;
        thread::sleep(Duration::from_millis(50));
        let lost = 1.0 - (delivered(lab)? - before) as f64 / offered.packets.max(1) as f64;
        Ok((offered.packets as f64 / offered.wall_ns as f64 * 1e9, lost <= MOST_LOST))
    };
    let (mut above, all) = carries(None)?;
    if all {
        return Ok((above, true));
    }
    let mut carried = 0.0;
    for _ in 0..STEPS {
        let (rate, good) = carries(Some((carried + above) / 2.0))?;
        *(if good { &mut carried } else { &mut above }) = rate;
    }
    Ok((carried, false))
}

/// Times from source to sink, in microseconds: 50th, 99th and 99.9th percentile.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
}

/// Time until a box that hardly slept, and so became an ordinary thread for a second, has real-time priority again.
const SETTLE: Duration = Duration::from_millis(1_300);

/// Results of packets on their way.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    pub latency: Latency,
    /// CPU time of the packet loop for each packet offered, in nanoseconds.
    pub loop_ns: f64,
    /// Packets that were offered and did not arrive.
    pub lost: u64,
}

/// Latency of packets at a load of `pps`.
pub fn latency(lab: &Lab, len: usize, pps: f64, span: Duration) -> Result<Latency> {
    Ok(passage(lab, len, pps, span, Place::Singly)?.latency)
}

/// Passage of `pps`.
pub fn passage(lab: &Lab, len: usize, pps: f64, span: Duration, place: Place) -> Result<Passage> {
    offer(lab, len, Some(pps), SETTLE, place)?;
    let done = AtomicBool::new(false);
    let (mut times, loop_ns, lost) = thread::scope(|scope| -> Result<_> {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let done = &done;
        let receiver = scope.spawn(move || lab.sink.run(|| receive(done, &ready)));
        is_ready.recv().context("the sink")?;
        let (before, cpu) = (delivered(lab)?, lab.loop_cpu_ns());
        let offered = offer(lab, len, Some(pps), span, place);
        thread::sleep(Duration::from_millis(50));
        done.store(true, Ordering::Relaxed);
        let (offered, cpu) = (offered?.packets, lab.loop_cpu_ns() - cpu);
        let lost = offered.saturating_sub(delivered(lab)? - before);
        Ok((receiver.join().expect("no panic")??, cpu as f64 / offered.max(1) as f64, lost))
    })?;
    times.sort_unstable();
    let at = |part: f64| times.get((times.len() as f64 * part) as usize).map_or(f64::NAN, |&ns| ns as f64 / 1e3);
    Ok(Passage { latency: Latency { p50: at(0.5), p99: at(0.99), p999: at(0.999) }, loop_ns, lost })
}

fn receive(done: &AtomicBool, ready: &std::sync::mpsc::Sender<()>) -> Result<Vec<u64>> {
    // The kernel stamps each frame on arrival, so the reader may be late, and must not keep the box from its core.
    rt::run_last()?;
    let mut ring = Ring::open(&iface::find(SINK_PORT)?, 8192)?;
    ring.start()?;
    ready.send(())?;
    let mut times = Vec::new();
    while !done.load(Ordering::Relaxed) {
        while let Some(frame) = ring.next_frame() {
            times.extend(stamp_of(frame.bytes()).map(|sent| frame.received_ns().saturating_sub(sent)));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(times)
}

/// Part of a core that an idle box uses.
pub fn idle(lab: &Lab, span: Duration) -> f64 {
    debug_assert!(matches!(lab.kind, Middle::Box | Middle::BoxXdp));
    let before = lab.box_cpu_ns();
    thread::sleep(span);
    (lab.box_cpu_ns() - before) as f64 / span.as_nanos() as f64
}
