//! Effects of changes of the box on stations: none at a clean exit, a gap otherwise, and the length of the gap.
//!
//! `make measure NAME=fail-open` measures and judges the gaps; `switching` checks the same with tolerance for a busy machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::causes::LossReason;
use evenair_sys::process;

use crate::field_day::flood;
use crate::lab::{Arrivals, BoxProcess, Lab, ip};
use crate::switching::{Late, assert_untouched, under_traffic};
use crate::traffic::{transfer, transfer_until};

/// Packets a second, each way.
const RATE: u64 = 5_000;
const ROUNDS: usize = 5;

fn config(lab: &Lab, more: &str) -> String {
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nio = {:?}\n[radio]\nstandard = \"802.11g\"\n\
         [control]\nsocket = {:?}\n[manager]\ncontroller.kind = \"none\"\n{more}",
        crate::IO,
        lab.file("box.sock")
    );
    let file = lab.file("box.toml");
    std::fs::write(&file, text).expect("writable");
    format!("file={}", file.display())
}

/// Ends a box as a service manager does, and starts its successor in the same mode.
fn upgrade(lab: &Lab, mut old: BoxProcess, parameters: &str) -> BoxProcess {
    process::signal(old.child.id(), libc::SIGTERM).expect("it lives");
    assert!(old.child.wait().expect("a child").success());
    let new = lab.start_box(parameters);
    new.client().insert().expect("inserted");
    new
}

/// Reloads repeatedly, each time with other queues.
fn reloads(lab: &Lab, running: &BoxProcess, times: usize) {
    let mut client = running.client();
    for n in 0..times {
        config(lab, if n % 2 == 0 { "levels = [\"station\"]\n" } else { "queue_limit = \"900 packets\"\n" });
        client.reconfigure(None).expect("a good file");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn reloads_and_upgrades_under_load_lose_nothing() {
    let Some(lab) = Lab::new() else { return };
    let parameters = config(&lab, "");
    let mut running = Some(lab.start_box(&parameters));
    running.iter().for_each(|running| running.client().insert().expect("inserted"));
    let mut late = Late::default();
    let arrivals = under_traffic(&lab, RATE, || {
        for _ in 0..2 {
            reloads(&lab, running.as_ref().expect("it runs"), 10);
            let old = running.take().expect("it runs");
            late = late + Late::of(&old.client().status().expect("answers"));
            running = Some(upgrade(&lab, old, &parameters));
        }
    });
    let status = running.expect("it runs").client().shutdown().expect("ends");
    println!("reloads and upgrades: {arrivals:?}");
    assert_untouched(&arrivals, (late + Late::of(&status)).unless_held_up(&arrivals));
    assert!(status.packets.conserved && status.packets.taken > 100, "{:?}", status.packets);
}

/// Makes the box learn so many stations, and so many flows of each by a packet from the WLAN.
fn learn_stations(lab: &Lab, running: &BoxProcess, stations: usize, flows: u8) {
    for flow in 0..flows {
        flood(&lab.source, "s0", stations, |n, frame| {
            let [_, a, b, c] = (n as u32).to_be_bytes();
            frame[6..12].copy_from_slice(&[2, 50, 0, a, b, c]);
            frame[12..14].copy_from_slice(&[8, 0]);
            frame[14..26].copy_from_slice(&[0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 17, 0, 0]);
            frame[26..34].copy_from_slice(&[10, 100 + a, b, c, 10, 9, 0, 2]);
            frame[34..40].copy_from_slice(&[0x20, flow, 0x20, 1, 0, 20]);
        });
    }
    let known = running.client().status().expect("answers").stations_known;
    assert!(known >= stations, "the box knows {known} stations of {stations}");
}

#[test]
fn a_reload_with_fifty_thousand_stations_loses_nothing() {
    let Some(lab) = Lab::new() else { return };
    let parameters = config(&lab, "");
    let running = lab.start_box(&parameters);
    let mut client = running.client();
    client.insert().expect("inserted");
    learn_stations(&lab, &running, 50_000, 3);
    let before = client.status().expect("answers");
    let mut longest = Duration::ZERO;
    let arrivals = under_traffic(&lab, RATE / 5, || {
        for n in 0..4 {
            config(&lab, if n % 2 == 0 { "levels = [\"station\"]\n" } else { "" });
            let start = Instant::now();
            client.reconfigure(None).expect("a good file");
            longest = longest.max(start.elapsed());
            thread::sleep(Duration::from_millis(50));
        }
    });
    let status = client.shutdown().expect("ends");
    println!("reloads with {} stations, the longest {longest:?}: {arrivals:?}", status.stations_known);
    assert_eq!(status.hold.lapses, before.hold.lapses, "the lease stays valid through a reload");
    for direction in &arrivals {
        assert_eq!((direction.lost, direction.doubled, direction.reordered), (0, 0, 0), "{direction:?}");
    }
    assert!(status.packets.conserved, "{:?}", status.packets);
}

#[test]
fn a_connection_lives_through_reloads_and_upgrades() {
    let Some(lab) = Lab::new() else { return };
    let parameters = config(&lab, "");
    let running = lab.start_box(&parameters);
    running.client().insert().expect("inserted");
    let upgraded = AtomicBool::new(false);
    let last = thread::scope(|scope| {
        let mut running = running;
        let moving = scope.spawn(|| transfer_until(&lab.sink, &lab.source, "10.9.0.1:5104", &upgraded));
        for _ in 0..3 {
            reloads(&lab, &running, 10);
            running = upgrade(&lab, running, &parameters);
        }
        upgraded.store(true, Ordering::Relaxed);
        let fast = moving.join().expect("whole");
        println!("three upgrades under one connection: {fast:.0} Mb/s");
        running
    });
    let status = last.client().shutdown().expect("ends");
    assert!(status.packets.conserved, "{:?}", status.packets);
}

#[test]
fn jumbo_frames_cross_unchanged() {
    let Some(lab) = Lab::new() else { return };
    for (ns, port) in [(&lab.source, "s0"), (&lab.sink, "k0"), (&lab.middle, "wl0"), (&lab.middle, "wi0")] {
        ip(ns, &format!("link set {port} mtu 9000"));
    }
    let running = lab.start_box("controller=published");
    let mut client = running.client();
    for inserted in [false, true] {
        if inserted {
            client.insert().expect("inserted");
        }
        crate::traffic::largest_cross(&lab, 9014);
        transfer(&lab.source, &lab.sink, &format!("10.9.0.2:52{:02}", u8::from(inserted)), 2 << 20);
    }
    let status = client.shutdown().expect("ends");
    let packets = &status.packets;
    assert!(packets.conserved, "{packets:?}");
    assert_eq!(
        (
            packets.losses[LossReason::TooLong],
            packets.losses[LossReason::PoolFull],
            packets.losses[LossReason::RingFull],
            packets.losses[LossReason::SendRefused]
        ),
        (0, 0, 0, 0)
    );
    // Frames of that length are counted like all others, also by their bytes.
    let mean = status.wire.sent_bytes / status.wire.sent.max(1);
    assert!(status.wire.sent > 100 && mean > 4_000, "{mean} bytes each: {:?}", status.wire);
}

/// An action on a box under traffic.
type Act = fn(&Lab) -> [Arrivals; 2];

/// The longest gap of either direction, and the longest time for which the machine stalled a sender meanwhile.
fn gap(arrivals: &[Arrivals; 2]) -> (Duration, Duration) {
    let most = |of: fn(&Arrivals) -> Duration| arrivals.iter().map(of).max().unwrap_or_default();
    (most(|arrivals| arrivals.longest_gap), most(|arrivals| arrivals.longest_stall))
}

/// Bounds of the gaps, in milliseconds.
struct Promise {
    median: u64,
    /// Bound of each gap, beyond the longest stall of the sender.
    each: u64,
}

impl Promise {
    /// Whether gaps, in ascending order, are within the bounds.
    fn holds(&self, gaps: &[(Duration, Duration)]) -> bool {
        gaps[gaps.len() / 2].0 <= Duration::from_millis(self.median)
            && gaps.iter().all(|&(gap, stall)| gap <= Duration::from_millis(self.each) + stall)
    }
}

#[test]
fn one_gap_that_is_too_long_breaks_the_promise() {
    let of = |ms: [u64; 3]| ms.map(|ms| (Duration::from_millis(ms), Duration::from_millis(1)));
    let promise = Promise { median: 25, each: 40 };
    assert!(promise.holds(&of([3, 25, 41])));
    assert!(!promise.holds(&of([3, 25, 42])) && !promise.holds(&of([3, 26, 30])));
}

fn killed(lab: &Lab) -> [Arrivals; 2] {
    let mut running = lab.start_box("inserted=true controller=none");
    under_traffic(lab, RATE, || {
        running.child.kill().expect("it lives");
        running.child.wait().expect("a child");
    })
}

fn stopped(lab: &Lab) -> [Arrivals; 2] {
    let running = lab.start_box("inserted=true controller=none");
    under_traffic(lab, RATE, || {
        process::signal(running.child.id(), libc::SIGSTOP).expect("it lives");
        thread::sleep(Duration::from_millis(300));
        process::signal(running.child.id(), libc::SIGCONT).expect("it lives");
    })
}

#[test]
#[ignore = "a measurement: make measure NAME=fail-open"]
fn figures_of_failing_open() {
    let Some(lab) = Lab::new() else { return };
    let mut missed = 0;
    let quiet = under_traffic(&lab, RATE, || thread::sleep(Duration::from_millis(400)));
    println!("        the bridge alone: longest gap {:.1?}, of which the sender {:.1?}", gap(&quiet).0, gap(&quiet).1);
    let rows: [(&str, Act, Promise); 2] =
        [("kill -9", killed, Promise { median: 25, each: 40 }), ("SIGSTOP", stopped, Promise { median: 60, each: 80 })];
    for (what, act, promise) in rows {
        let mut gaps: Vec<_> = (0..ROUNDS).map(|_| gap(&act(&lab))).collect();
        gaps.sort_unstable();
        let good = promise.holds(&gaps);
        missed += u32::from(!good);
        let (median, _) = gaps[ROUNDS / 2];
        let all: Vec<_> = gaps.iter().map(|(gap, stall)| format!("{gap:.1?} ({stall:.1?})")).collect();
        let (io, verdict) = (crate::IO, if good { "ok    " } else { "MISSED" });
        println!(
            "{verdict}  {io}: gap after {what} at {RATE} packets/s each way, median of {ROUNDS}: {median:.1?} (bounds: {} ms, each {} ms \
             and what the machine held the sender up); all, and the sender's own: {}",
            promise.median,
            promise.each,
            all.join(", ")
        );
    }
    assert_eq!(missed, 0, "figures beyond their bounds");
}
