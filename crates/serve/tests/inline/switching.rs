//! No packet is lost, doubled or reordered when the box is inserted and bypassed, and the bridge takes over when the box dies or hangs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::Status;
use evenair_api::causes::LossReason;
use evenair_sys::process;

use crate::lab::{Arrivals, BoxProcess, Lab, ensure, ip, judged, stream};

/// Time for which the lease lasts without a renewal.
const HOLD: Duration = Duration::from_millis(50);

/// Streams in both directions while `act` runs.
pub fn under_traffic(lab: &Lab, rate: u64, act: impl FnOnce()) -> [Arrivals; 2] {
    let stop = AtomicBool::new(false);
    let (source, sink) = (lab.source_end(), lab.sink_end());
    thread::scope(|scope| {
        let down = scope.spawn(|| stream(source, sink, 60, rate, &stop));
        let up = scope.spawn(|| stream(sink, source, 60, rate, &stop));
        thread::sleep(Duration::from_millis(300));
        act();
        thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        [down.join().expect("no panic"), up.join().expect("no panic")]
    })
}

/// Longest gap allowed when the bridge takes over: the lease, and the stalls of a busy machine, as measured for the sender.
pub fn most_gap(direction: &Arrivals) -> Duration {
    HOLD + Duration::from_millis(150) + direction.longest_stall
}

/// Expiries of the lease under a running box, because the machine was busy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Late {
    /// Number of expiries.
    pub lapses: u64,
    /// Packets that were outdated then, and dropped by the box.
    pub stale: u64,
    /// Whether there may have been one more after the last status.
    pub at_the_end: bool,
}

impl Late {
    /// From the status of a box.
    pub fn of(status: &Status) -> Self {
        Self {
            lapses: status.hold.lapses,
            stale: status.packets.losses[LossReason::Stale] + status.packets.losses[LossReason::StaleReleased],
            at_the_end: false,
        }
    }

    /// For a box that has ended since its status was read.
    pub fn unless_held_up(self, arrivals: &[Arrivals]) -> Self {
        let at_the_end = arrivals.iter().any(|direction| direction.longest_stall > HOLD);
        Self { at_the_end, ..self }
    }
}

impl std::ops::Add for Late {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            lapses: self.lapses + other.lapses,
            stale: self.stale + other.stale,
            at_the_end: self.at_the_end || other.at_the_end,
        }
    }
}

/// Asserts that no packet was doubled, that none was lost except those that the box dropped as late, and that none was reordered, unless
/// it was late.
pub fn assert_untouched<'a>(arrivals: impl IntoIterator<Item = &'a Arrivals>, late: Late) {
    let (mut lost, is_late) = (0, late.lapses > 0 || late.at_the_end);
    for direction in arrivals {
        let Arrivals { sent, received, doubled, reordered, .. } = direction;
        assert_eq!(*doubled, 0, "of {sent} sent, {received} received");
        assert!(*reordered == 0 || is_late, "{reordered} reordered, of {sent} sent");
        lost += direction.lost;
    }
    assert!(lost == late.stale || late.at_the_end, "{lost} lost, and out of date: {late:?}");
    if is_late {
        eprintln!("order NOT JUDGED: this machine held the box up for more than 50 ms, {late:?}");
    }
}

#[test]
fn a_hundred_changes_of_hands_touch_no_packet() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("controller=none");
    let mut client = running.client();
    let arrivals = under_traffic(&lab, 5_000, || {
        for flip in 0..50 {
            client.insert().expect("inserted");
            thread::sleep(Duration::from_millis(10 + 7 * (flip % 5)));
            client.bypass().expect("bypassed");
            thread::sleep(Duration::from_millis(10 + 7 * (flip % 3)));
        }
    });
    let status = client.shutdown().expect("ends");
    println!("100 changes of hands: {arrivals:?}, {:?}, {:?}", status.packets, status.pacing);
    assert_untouched(&arrivals, Late::of(&status));
    assert!(status.packets.taken > 1000, "the box carried a good part: {:?}", status.packets);
    assert!(status.packets.taken < arrivals[0].sent + arrivals[1].sent, "and so did the bridge");
    assert!(status.packets.conserved, "{:?}", status.packets);
    assert_eq!(status.packets.taken, status.packets.received);
}

#[test]
fn the_bridge_takes_over_when_the_box_is_killed() {
    let Some(lab) = Lab::new() else { return };
    let mut running = lab.start_box("inserted=true controller=none");
    let arrivals = under_traffic(&lab, 5_000, || {
        running.child.kill().expect("it lives");
        running.child.wait().expect("it was a child");
    });
    println!("kill -9: {arrivals:?}");
    for direction in &arrivals {
        assert_eq!((direction.doubled, direction.reordered), (0, 0), "{direction:?}");
        assert!(direction.longest_gap < most_gap(direction), "{direction:?}");
        assert!(direction.received > direction.sent * 3 / 4, "{direction:?}");
    }
}

#[test]
fn the_bridge_takes_over_when_the_box_hangs() {
    judged(|| Lab::new().map_or(Ok(()), |lab| hangs(&lab)));
}

fn hangs(lab: &Lab) -> Result<(), String> {
    let running = lab.start_box("inserted=true controller=none");
    let arrivals = under_traffic(lab, 2_000, || {
        process::signal(running.child.id(), 19).expect("SIGSTOP");
        thread::sleep(Duration::from_millis(500));
        process::signal(running.child.id(), 18).expect("SIGCONT");
        thread::sleep(Duration::from_millis(200));
    });
    let status = running.client().status().expect("it goes on");
    println!("SIGSTOP: {arrivals:?}, {:?}, {:?}", status.hold, status.packets);
    assert!(status.hold.lapses >= 1 && status.packets.conserved, "{status:?}");
    // Packets in the rings and in the box are outdated when the box continues: they are dropped, and counted.
    let stale = Late::of(&status).stale;
    assert_eq!(arrivals.iter().map(|direction| direction.lost).sum::<u64>(), stale);
    for direction in &arrivals {
        assert_eq!(direction.doubled, 0, "{direction:?}");
        // Packets of 50 ms at most, and held ones.
        let gap = Duration::from_millis(20)..most_gap(direction);
        let is_so =
            direction.reordered == 0 && (21..400).contains(&direction.lost) && gap.contains(&direction.longest_gap);
        ensure(is_so, || format!("{direction:?}"))?;
    }
    Ok(())
}

#[test]
fn a_signal_ends_the_box_without_loss() {
    let Some(lab) = Lab::new() else { return };
    let mut running = lab.start_box("inserted=true controller=none");
    let mut late = Late::default();
    let arrivals = under_traffic(&lab, 5_000, || {
        late = Late::of(&running.client().status().expect("answers"));
        process::signal(running.child.id(), 15).expect("SIGTERM");
        assert!(running.child.wait().expect("a child").success());
    });
    // After its end the box cannot be asked whether it was late since.
    assert_untouched(&arrivals, late.unless_held_up(&arrivals));
}

#[test]
fn an_interface_may_go_down_and_come_back() {
    let Some(lab) = Lab::new() else { return };
    let mut running = lab.start_box("inserted=true controller=none");
    ip(&lab.middle, "link set wl0 down");
    thread::sleep(Duration::from_millis(100));
    let share = cpu_share(&running, Duration::from_millis(500));
    assert!(share < 0.1, "it does not spin on the error: {share}");
    ip(&lab.middle, "link set wl0 up");
    let arrivals = under_traffic(&lab, 1_000, || {});
    let status = running.client().status().expect("answers");
    assert_untouched(&arrivals, Late::of(&status));
    assert!(status.packets.sent > 500, "{:?}", status.packets);

    ip(&lab.middle, "link del wi0");
    assert!(!running.child.wait().expect("a child").success(), "a box with one side left ends with an error");
}

#[test]
#[ignore = "a measurement, not a check"]
fn how_fast_it_is() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("inserted=true controller=none");
    for frame_len in [60, 1514] {
        for rate in [50_000, 100_000, 200_000, 400_000, 800_000] {
            let stop = AtomicBool::new(false);
            let (before, cpu) = (running.client().status().expect("answers"), running.cpu_time());
            let start = Instant::now();
            let (source, sink) = (lab.source_end(), lab.sink_end());
            let arrivals = thread::scope(|scope| {
                let moving = scope.spawn(|| stream(source, sink, frame_len, rate, &stop));
                thread::sleep(Duration::from_secs(2));
                stop.store(true, Ordering::Relaxed);
                moving.join().expect("no panic")
            });
            let cpu = (running.cpu_time() - cpu).as_secs_f64() / start.elapsed().as_secs_f64();
            let after = running.client().status().expect("answers").packets;
            println!(
                "{frame_len} B: sent {} kpps, arrived {} kpps, lost {:.3} % ({} in the ring), box {:.0} % of a core",
                arrivals.sent / 2000,
                arrivals.received / 2000,
                100.0 * arrivals.lost as f64 / arrivals.sent as f64,
                after.losses[LossReason::RingFull] - before.packets.losses[LossReason::RingFull],
                100.0 * cpu
            );
        }
    }
}

#[test]
fn an_idle_box_sleeps() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("controller=none");
    let mut client = running.client();
    for (mode, insert) in [("bypassed", false), ("inserted", true)] {
        if insert {
            client.insert().expect("inserted");
        }
        let share = cpu_share(&running, Duration::from_secs(2));
        println!("idle, {mode}: {:.2} % of a core", 100.0 * share);
        assert!(share < 0.03, "{mode}: {share}");
    }
}

fn cpu_share(running: &BoxProcess, over: Duration) -> f64 {
    let (before, start) = (running.cpu_time(), Instant::now());
    thread::sleep(over);
    (running.cpu_time() - before).as_secs_f64() / start.elapsed().as_secs_f64()
}
