//! A box that does harm detects it: it compares its throughput with that of the bridge while it was bypassed, and bypasses itself.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::{Carrier, GuardState, Mode, Status};

use crate::lab::{BoxProcess, Lab, ip};

/// Time between two packets of the stream, of [`LEN`] bytes at IP level: 5.8 Mb/s.
const BETWEEN: Duration = Duration::from_millis(2);
const LEN: usize = 1_440;
/// Packets for each reply of the station: without replies nothing of the stream counts as carried.
const REPLY_EVERY: u64 = 10;

/// A lab beside any other, since these tests would delay others by more than a minute: their 500 packets a second delay no other test, and
/// half a second does not matter to them.
fn waiting_lab() -> Option<Lab> {
    Lab::made(1, (None, None))
}

/// A box with a wrong configured rate: 1 Mb/s for the station, whose replies do not confirm single packets. The box sends no probes, which
/// could measure the station's rate before the guard acts.
fn start(lab: &Lab, inserted: bool) -> BoxProcess {
    let mode = if inserted { Mode::Inserted } else { Mode::Bypassed };
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nmode = \"{mode}\"\nio = {:?}\n\
         [control]\nsocket = {:?}\n[radio]\nstandard = \"802.11b\"\n[manager]\nprobes_per_second = 0\n\
         [[station]]\nmac = \"02:00:00:00:00:0a\"\nrate = \"1 Mb/s\"\n",
        crate::IO,
        lab.file("box.sock")
    );
    let file = lab.file("box.toml");
    std::fs::write(&file, text).expect("writable");
    lab.start_box(&format!("file={}", file.display()))
}

/// Sends a stream to the station during the job, which can read the number of received packets.
pub(crate) fn under_stream<T>(lab: &Lab, job: impl FnOnce(&AtomicU64) -> T) -> T {
    let (stop, came) = (AtomicBool::new(false), AtomicU64::new(0));
    let receiver = lab.source.run(|| UdpSocket::bind("10.9.0.1:5300").expect("free")).expect("entered");
    let sender = lab.sink.run(|| UdpSocket::bind("10.9.0.2:0").expect("free")).expect("entered");
    receiver.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut bytes = [0; 2048];
            while !stop.load(Ordering::Relaxed) {
                let Ok((_, sender)) = receiver.recv_from(&mut bytes) else { continue };
                if came.fetch_add(1, Ordering::Relaxed) % REPLY_EVERY == 0 {
                    let _ = receiver.send_to(&[0; 52], sender);
                }
            }
        });
        scope.spawn(|| {
            let (start, mut sent) = (Instant::now(), 0);
            while !stop.load(Ordering::Relaxed) {
                let due = (start.elapsed().as_nanos() / BETWEEN.as_nanos()) as u64;
                for _ in sent..due.min(sent + 500) {
                    let _ = sender.send_to(&[0; LEN - 28], "10.9.0.1:5300");
                }
                sent = due;
                thread::sleep(Duration::from_millis(1));
            }
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(&came)));
        stop.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Throughput in Mb/s within a second.
fn rate(came: &AtomicU64) -> f64 {
    let (before, start) = (came.load(Ordering::Relaxed), Instant::now());
    thread::sleep(Duration::from_secs(1));
    let packets = came.load(Ordering::Relaxed) - before;
    packets as f64 * LEN as f64 * 8e-6 / start.elapsed().as_secs_f64()
}

/// The status once the guard has bypassed the box and `carrier` carries the traffic, or at the time limit.
fn bypassed_by_the_guard(running: &BoxProcess, carrier: Carrier) -> (Status, Duration) {
    let start = Instant::now();
    loop {
        let status = running.client().status().expect("answers");
        let is_done = status.guard.has_bypassed() && status.mode == Mode::Bypassed && status.carrier == carrier;
        if is_done || start.elapsed() > Duration::from_secs(25) {
            return (status, start.elapsed());
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The status once the guard has inserted the box for a trial and the box carries the traffic, or at the time limit.
fn trial(running: &BoxProcess) -> Status {
    let start = Instant::now();
    loop {
        let status = running.client().status().expect("answers");
        let is_done = status.mode == Mode::Inserted && status.carrier == Carrier::Box;
        if is_done || start.elapsed() > Duration::from_secs(75) {
            return status;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_box_that_was_bypassed_before_compares_with_what_the_bridge_carried() {
    let Some(lab) = waiting_lab() else { return };
    let running = start(&lab, false);
    under_stream(&lab, |came| {
        thread::sleep(Duration::from_secs(5));
        let bridged = rate(came);
        running.client().insert().expect("inserted");
        let inserted = rate(came);
        let (status, after) = bypassed_by_the_guard(&running, Carrier::Bridge);
        let now = rate(came);
        println!("{bridged:.1} Mb/s bridged, {inserted:.1} inserted, {now:.1} {after:?} later: {:?}", status.guard);
        assert!(inserted < 0.3 * bridged, "the setting does harm: {inserted:.1} of {bridged:.1} Mb/s");
        assert_eq!((status.guard.state, status.carrier), (GuardState::Bypassed, Carrier::Bridge), "{status:?}");
        assert!(now > 0.9 * bridged, "{now:.1} Mb/s of {bridged:.1}");
        assert!(status.guard.before_mbps.is_some_and(|before| before > 0.8 * bridged), "{:?}", status.guard);
        assert!(status.guard.in_short().is_some_and(|text| text.starts_with("BYPASSED BY THE GUARD")));
        // It tries again by itself, and finds that nothing has changed.
        assert!(status.guard.next_try_s.is_some_and(|next| (30.0..=60.0).contains(&next)), "{:?}", status.guard);
        let trial = trial(&running);
        assert_eq!((trial.guard.state, trial.carrier), (GuardState::Trying, Carrier::Box), "{trial:?}");
        let (status, after) = bypassed_by_the_guard(&running, Carrier::Bridge);
        let now = rate(came);
        println!("{now:.1} Mb/s, {after:?} after the trial began: {:?}", status.guard);
        assert_eq!((status.guard.state, status.carrier), (GuardState::Bypassed, Carrier::Bridge), "{status:?}");
        assert!(now > 0.9 * bridged && after < Duration::from_secs(8), "{now:.1} Mb/s of {bridged:.1}");
        assert!(status.guard.next_try_s.is_some_and(|next| (500.0..=600.0).contains(&next)), "{:?}", status.guard);
        // A bypass by an operator is not the guard's.
        let mut client = running.client();
        client.insert().expect("inserted");
        client.bypass().expect("bypassed");
        let guard = client.status().expect("answers").guard;
        assert_eq!((guard.state, guard.in_short(), guard.bypasses), (GuardState::Watching, None, 2));
        assert_eq!(guard.next_try_s, None);
    });
}

#[test]
fn where_the_bridge_cannot_carry_it_the_box_goes_on_and_holds_nothing() {
    let Some(lab) = waiting_lab() else { return };
    let running = start(&lab, false);
    under_stream(&lab, |came| {
        thread::sleep(Duration::from_secs(5));
        let bridged = rate(came);
        running.client().insert().expect("inserted");
        ip(&lab.middle, "link set wl0 nomaster");
        let (status, after) = bypassed_by_the_guard(&running, Carrier::Box);
        let now = rate(came);
        println!("{bridged:.1} Mb/s bridged, {now:.1} by the box {after:?} later: {:?}", status.guard);
        assert!(!status.fail_open.available, "{:?}", status.fail_open);
        assert_eq!((status.guard.state, status.carrier), (GuardState::Bypassed, Carrier::Box), "{status:?}");
        assert!(now > 0.9 * bridged, "{now:.1} Mb/s of {bridged:.1}");
    });
}

#[test]
fn a_box_inserted_at_its_start_does_not_bypass_itself() {
    let Some(lab) = waiting_lab() else { return };
    let running = start(&lab, true);
    under_stream(&lab, |came| {
        thread::sleep(Duration::from_secs(12));
        let inserted = rate(came);
        let status = running.client().status().expect("answers");
        println!("{inserted:.1} Mb/s: {:?}", status.guard);
        assert_eq!((status.mode, status.guard.bypasses), (Mode::Inserted, 0), "{:?}", status.guard);
    });
}
