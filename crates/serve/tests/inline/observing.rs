//! A box that observes sees what the bridge carries, and touches none of it.

use std::thread;
use std::time::Duration;

use evenair_api::{Carrier, Direction, Mode};

use crate::lab::{Lab, SOURCE};
use crate::switching::{Late, assert_untouched, under_traffic};
use crate::traffic::transfer;

#[test]
fn an_observing_box_sees_what_the_bridge_carries() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("");
    let mut client = running.client();
    client.observe().expect("observes");
    transfer(&lab.sink, &lab.source, "10.9.0.1:5101", 1 << 20);
    transfer(&lab.source, &lab.sink, "10.9.0.2:5102", 1 << 20);
    let status = client.status().expect("answers");
    assert_eq!((status.mode, status.carrier), (Mode::Observing, Carrier::Bridge));
    let packets = &status.packets;
    assert!(packets.conserved && packets.copied > 1000, "{packets:?}");
    assert_eq!((packets.taken, packets.sent, packets.held), (0, 0, 0), "{packets:?}");
    assert_eq!(packets.copies_done, packets.released);
    let [station] = &status.stations[..] else { panic!("one station: {:?}", status.stations) };
    assert!(
        station.charged_airtime_s > station.charged_airtime_up_s && station.charged_airtime_up_s > 0.0,
        "{station:?}"
    );
    // Both directions are there, each complete; the download's round trip over the WLAN is that of a veth pair.
    let down = status.flows.iter().find(|flow| flow.direction == Direction::Down).expect("a download");
    let up = status.flows.iter().find(|flow| flow.direction == Direction::Up).expect("an upload");
    assert!(down.released_bytes > 1 << 20 && up.from_wlan_bytes > 1 << 20, "{down:?} {up:?}");
    assert!(down.charged_s > 0.0 && down.wlan_rtt_ms.is_some_and(|rtt| rtt < 100.0), "{down:?}");
    assert!(down.wlan_rtt_least_ms <= down.wlan_rtt_ms, "{down:?}");
    let packets = client.shutdown().expect("ends").packets;
    assert!(packets.conserved, "{packets:?}");
}

#[test]
fn changes_between_observing_and_managing_touch_no_packet() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("");
    let mut client = running.client();
    let arrivals = under_traffic(&lab, 3_000, || {
        for n in 0..8 {
            client.observe().expect("observes");
            thread::sleep(Duration::from_millis(20 + 7 * (n % 3)));
            client.insert().expect("inserted");
            thread::sleep(Duration::from_millis(20));
            if n % 2 == 0 {
                client.bypass().expect("bypassed");
                thread::sleep(Duration::from_millis(15));
            }
        }
    });
    let status = client.shutdown().expect("ends");
    println!("observed, managed: {arrivals:?}, {:?}", status.packets);
    assert_untouched(&arrivals, Late::of(&status));
    assert!(status.packets.copied > 100 && status.packets.taken > 100, "{:?}", status.packets);
    assert!(status.packets.conserved, "{:?}", status.packets);
}

#[test]
fn a_killed_observer_is_not_missed() {
    let Some(lab) = Lab::new() else { return };
    let file = lab.file("box.toml");
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nmode = \"observing\"\nio = {:?}\n[radio]\nstandard = \"802.11g\"\n",
        crate::IO
    );
    std::fs::write(&file, text).expect("writable");
    let mut running = lab.start_box(&format!("file={}", file.display()));
    let arrivals = under_traffic(&lab, 3_000, || {
        assert_eq!(running.client().status().expect("answers").mode, Mode::Observing);
        running.child.kill().expect("it lives");
        running.child.wait().expect("it was a child");
    });
    assert_untouched(&arrivals, Late::default());
}

#[test]
fn what_is_for_the_machine_itself_is_not_observed() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("");
    let mut client = running.client();
    client.observe().expect("observes");
    transfer(&lab.source, &lab.middle, "10.9.0.254:5103", 100_000);
    let status = client.status().expect("answers");
    assert!(status.flows.is_empty(), "{:?}", status.flows);
    assert!(status.stations.iter().all(|station| station.mac == evenair_packet::MacAddr(SOURCE).to_string()));
}
