//! Health reasons with real traffic: a queue in the access point is a reason while the box observes, and ends when the box holds the
//! queues.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use evenair_api::health::{Code, Reason};

use crate::behind_radio::stations_behind_radio;
use crate::lab::{BoxProcess, Lab};
use crate::outage::transfer;
use crate::radio::Radio;

const STATIONS: usize = 3;
const PORT: u16 = 6200;
/// Threshold: the radio's 100 frames take 60 ms, half of that after a loss; those that the box leaves in the access point take 20 ms.
const LIMIT: &str = "32 ms";
/// Time until the reason is raised: 5 s, and some more for slow start and a busy machine.
const RAISED_BY: Duration = Duration::from_secs(30);
/// Twice the time that a reason takes.
const SILENT_FOR: Duration = Duration::from_secs(10);
/// Time from the insertion to the end of the last reason, at most: the queue empties, and a reason is cleared 15 s after that.
const ENDED_BY: Duration = Duration::from_secs(25);

fn start(lab: &Lab) -> BoxProcess {
    let file = lab.file("box.toml");
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nmode = \"observing\"\nio = {:?}\n\
         [control]\nsocket = {:?}\n[radio]\nstandard = \"802.11g\"\n[health]\nwifi_latency = \"{LIMIT}\"\n",
        crate::IO,
        lab.file("box.sock")
    );
    fs::write(&file, text).expect("writable");
    lab.start_box(&format!("file={}", file.display()))
}

fn latency(running: &BoxProcess) -> Option<Reason> {
    let health = running.client().status().expect("answers").health?;
    health.reasons.into_iter().find(|reason| reason.code == Code::WifiLatency)
}

fn observe_and_insert(running: &BoxProcess) {
    let begin = Instant::now();
    let reason = loop {
        // A single second raises it; its value is the mean of ten.
        if let Some(reason) = latency(running).filter(|reason| reason.value > 32.0) {
            break reason;
        }
        assert!(begin.elapsed() < RAISED_BY, "no reason: {:?}", running.client().status().expect("answers").health);
        sleep(Duration::from_millis(200));
    };
    println!("observing, after {:.1?}: {} -> {}", begin.elapsed(), reason.sentence, reason.remedy);
    assert!(reason.remedy.starts_with("run evenair insert"), "{reason:?}");
    running.client().insert().expect("inserted");
    // The queue of the access point empties first, and a reason of that time lasts for 15 s.
    let (begin, mut silent_since) = (Instant::now(), None);
    while silent_since.is_none_or(|since: Instant| since.elapsed() < SILENT_FOR) {
        sleep(Duration::from_millis(200));
        match latency(running) {
            None => _ = silent_since.get_or_insert_with(Instant::now),
            Some(reason) => {
                assert!(begin.elapsed() < ENDED_BY, "{:.1?} after the insertion: {reason:?}", begin.elapsed());
                silent_since = None;
            }
        }
    }
    println!("inserted, silent after {:.1?}", begin.elapsed() - SILENT_FOR);
}

#[test]
fn a_queue_in_the_access_point_is_a_reason_until_the_box_holds_it() {
    let Some(lab) = Lab::new() else { return };
    let stations = stations_behind_radio(&lab, STATIONS);
    let running = start(&lab);
    let (radio, over) = (Radio::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| radio.carry(&lab.source, "s0", "r0", STATIONS));
        let found = catch_unwind(AssertUnwindSafe(|| {
            thread::scope(|scope| {
                for (n, station) in stations.iter().enumerate() {
                    let (sink, over) = (&lab.sink, &over);
                    scope.spawn(move || transfer(station, sink, PORT + n as u16, false, over));
                }
                let found = catch_unwind(AssertUnwindSafe(|| observe_and_insert(&running)));
                over.store(true, Relaxed);
                found.unwrap_or_else(|wrong| resume_unwind(wrong));
            });
        }));
        radio.over.store(true, Relaxed);
        found.unwrap_or_else(|wrong| resume_unwind(wrong));
    });
}
