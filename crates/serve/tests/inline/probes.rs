//! Stations that upload by the kernel's TCP without timestamps: their ACKs show no completions, so the box probes the stations for the
//! access point's queue. Real hosts reply, and the queue is short.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::Duration;

use evenair_sys::netns::{self, Netns};
use evenair_sys::traffic;

use crate::behind_radio::stations_behind_radio;
use crate::lab::{BoxProcess, Lab};
use crate::outage::transfer;
use crate::radio::Radio;

const STATIONS: usize = 4;
const PORT: u16 = 6200;
/// Time in which the first replies give the lag of the path, and then the medium's speed is measured.
const LEARNED: Duration = Duration::from_secs(4);
const WINDOW: Duration = Duration::from_secs(4);
/// Most frames waiting in the access point on average, relative to a box without probes. Measured: 0.09.
const MOST_OF_WITHOUT: f64 = 0.4;
/// Least throughput relative to a box without probes. Measured: 1.00.
const LEAST_CARRIED: f64 = 0.9;

fn configuration(lab: &Lab, probes: u32) -> String {
    let socket = lab.file("box.sock");
    format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nmode = \"inserted\"\nio = {:?}\n\
         [control]\nsocket = {socket:?}\n[radio]\nstandard = \"802.11g\"\n[manager]\nprobes_per_second = {probes}\n",
        crate::IO
    )
}

fn crossed(stations: &[Netns]) -> u64 {
    stations.iter().map(|ns| ns.run(|| traffic::of("sta")).expect("entered").expect("it is there").bytes).sum()
}

#[test]
fn stations_without_timestamps_are_asked_and_the_access_points_queue_is_short() {
    let Some(lab) = Lab::new() else { return };
    lab.sink.run(|| netns::set_sysctl("net/ipv4/tcp_timestamps", "0")).expect("entered").expect("set");
    let stations = stations_behind_radio(&lab, STATIONS);
    let file = lab.file("probes.toml").display().to_string();
    std::fs::write(&file, configuration(&lab, 25)).expect("writable");
    let running = lab.start_box(&format!("file={file}"));
    let (radio, over) = (Radio::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| radio.carry(&lab.source, "s0", "r0", STATIONS));
        let found = catch_unwind(AssertUnwindSafe(|| {
            thread::scope(|scope| {
                for (n, station) in stations.iter().enumerate() {
                    let (sink, over) = (&lab.sink, &over);
                    scope.spawn(move || transfer(station, sink, PORT + n as u16, true, over));
                }
                let found = catch_unwind(AssertUnwindSafe(|| compare(&lab, &running, &radio, &stations, &file)));
                over.store(true, Relaxed);
                found.unwrap_or_else(|wrong| resume_unwind(wrong));
            });
        }));
        radio.over.store(true, Relaxed);
        found.unwrap_or_else(|wrong| resume_unwind(wrong));
    });
    let status = running.client().shutdown().expect("ends");
    assert!(status.packets.conserved, "{:?}", status.packets);
}

fn compare(lab: &Lab, running: &BoxProcess, radio: &Radio, stations: &[Netns], file: &str) {
    let measure = || {
        sleep(LEARNED);
        radio.mean_queue();
        let before = crossed(stations);
        sleep(WINDOW);
        (radio.mean_queue(), crossed(stations) - before)
    };
    let (queue, carried) = measure();
    let status = running.client().status().expect("it lives");
    let packets = status.packets;
    let path = status.domains[0].path.as_ref().expect("completions decide");
    println!("{}", path.in_short());
    assert!(
        path.probes == evenair_api::ProbeState::Used && path.unacknowledged.is_some_and(|part| part > 0.9),
        "{path:?}"
    );
    std::fs::write(file, configuration(lab, 0)).expect("writable");
    running.client().reconfigure(None).expect("a good file");
    let (queue_without, carried_without) = measure();
    println!(
        "{} probes, {} answers; with them {queue:.1} frames wait and {carried} bytes are carried, without {queue_without:.1} and \
         {carried_without}",
        packets.probes, packets.probe_answers
    );
    assert!(packets.probes >= 100 && packets.probe_answers * 10 >= packets.probes * 9, "{packets:?}");
    assert!(packets.conserved, "{packets:?}");
    assert!(queue <= queue_without * MOST_OF_WITHOUT, "{queue:.1} frames wait, without probes {queue_without:.1}");
    let part = carried as f64 / carried_without as f64;
    assert!(part >= LEAST_CARRIED, "{part:.2} of what is carried without probes");
}
