//! Hidden stations.

use evenair_medium::{
    AccessCategory, AfterCollision, Counters, Event, Limit, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, To,
};
use evenair_units::{Bytes, Instant, Streams};
use evenair_wifi::Standard;

use crate::saturation::{assert_near, saturate_where};
use crate::{ACK_US, CTS_US, DATA_US, DIFS_US, RTS_US, SIFS_US, SLOT_US, TIMEOUT_US, at_us, config, hidden_pair, rate};

fn dot11b(rts_threshold: Option<Bytes>) -> MediumConfig {
    MediumConfig { rts_threshold, ..config(Standard::Dot11b, AfterCollision::Eifs) }
}

/// An access point, node 0, and `stations` of which those in `hidden` do not hear each other.
fn network(config: MediumConfig, seed: u64, stations: u32, hidden: &[(u32, u32)]) -> Medium<u32> {
    let mut medium = Medium::with_hidden_nodes(config, &Streams::new(seed));
    (0..=stations).for_each(|_| _ = medium.add_node(NodeConfig::dcf(Limit::Unlimited)));
    hidden.iter().for_each(|&(a, b)| medium.hide(NodeId(a), NodeId(b)));
    medium
}

fn send(medium: &mut Medium<u32>, us: u64, from: u32, to: u32, frame: u32) {
    let (rate, category) = (rate(Standard::Dot11b, 11), AccessCategory::BestEffort);
    let mpdu = Mpdu { to: To::Node(NodeId(to)), msdu: Bytes(1_500), rate, category, frame };
    medium.handle_frame(at_us(us), NodeId(from), mpdu);
}

/// Time, in microseconds, and number of each received frame.
fn received(medium: &mut Medium<u32>) -> Vec<(u64, u32)> {
    let mut received = vec![];
    while let Some(at) = medium.poll_deadline() {
        medium.handle_timeout(at);
        while let Some(event) = medium.poll_event() {
            match event {
                Event::Delivered { at, frame, .. } => received.push(((at - Instant::ZERO).as_micros(), frame)),
                Event::Dropped { .. } => panic!("{event:?}"),
            }
        }
    }
    received
}

#[test]
fn a_station_does_not_wait_for_one_that_it_does_not_hear() {
    let mut medium = network(dot11b(None), 1, 2, &[(1, 2)]);
    send(&mut medium, 0, 1, 0, 7);
    send(&mut medium, 500, 2, 0, 8);
    medium.handle_timeout(at_us(600));
    assert_eq!(medium.counters(NodeId(2)).attempts, 1);
    // Both are lost at the access point, and repeated until they are not.
    let frames: Vec<u32> = received(&mut medium).into_iter().map(|(_, frame)| frame).collect();
    assert!(frames == [7, 8] || frames == [8, 7], "{frames:?}");
    for id in [1, 2] {
        let Counters { attempts, successes, collisions, .. } = medium.counters(NodeId(id));
        assert!(attempts >= 2 && successes == 1 && collisions == attempts - 1, "{id}: {attempts} {collisions}");
    }
}

#[test]
fn hidden_stations_that_send_to_different_receivers_do_not_disturb_each_other() {
    // 1 sends to 0 and 2 to 3; the two pairs are inaudible to each other.
    let mut medium = network(dot11b(None), 1, 3, &[(1, 2), (1, 3), (0, 2), (0, 3)]);
    send(&mut medium, 0, 1, 0, 7);
    send(&mut medium, 3, 2, 3, 8);
    assert_eq!(received(&mut medium), [(SLOT_US + DATA_US, 7), (SLOT_US + DATA_US, 8)]);
}

#[test]
fn a_receiver_in_between_loses_what_overlaps_and_others_do_not() {
    // 3 hears 1 and 2, which do not hear each other; 0 hears 1 only.
    let mut medium = network(dot11b(None), 1, 3, &[(1, 2), (0, 2), (0, 3)]);
    send(&mut medium, 0, 1, 0, 7);
    send(&mut medium, 100, 2, 3, 8);
    let received = received(&mut medium);
    assert_eq!(received[0], (SLOT_US + DATA_US, 7));
    assert_eq!(medium.counters(NodeId(1)).attempts, 1);
    assert!(medium.counters(NodeId(2)).collisions >= 1);
}

#[test]
fn a_cts_makes_stations_defer_that_did_not_hear_the_rts() {
    let mut medium = network(dot11b(Some(Bytes(0))), 1, 2, &[(1, 2)]);
    send(&mut medium, 0, 1, 0, 7);
    let rts_ends = SLOT_US + RTS_US;
    let data_ends = rts_ends + SIFS_US + CTS_US + SIFS_US + DATA_US;
    // In the middle of DATA, which station 2 does not hear.
    send(&mut medium, data_ends - 500, 2, 0, 8);
    let received = received(&mut medium);
    assert_eq!(received[0], (data_ends, 7));
    let wait =
        received[1].0 - (data_ends + SIFS_US + ACK_US + DIFS_US) - (RTS_US + SIFS_US + CTS_US + SIFS_US + DATA_US);
    assert!(wait.is_multiple_of(SLOT_US) && wait <= 31 * SLOT_US, "{wait}");
    assert_eq!(medium.counters(NodeId(2)).attempts, 1);
    assert_eq!(medium.counters(NodeId(1)).attempts, 1);
}

#[test]
fn a_frame_whose_ack_is_lost_is_delivered_once() {
    let mut medium = network(dot11b(None), 1, 1, &[]);
    send(&mut medium, 0, 1, 0, 7);
    medium.handle_timeout(at_us(SLOT_US + DATA_US));
    assert!(matches!(medium.poll_event(), Some(Event::Delivered { frame: 7, attempts: 1, .. })));
    assert_eq!((medium.queue(NodeId(1)).packets, medium.backlogged()), (0, 1));
    // The ACK is not audible.
    medium.handle_timeout(at_us(SLOT_US + DATA_US + 1));
    medium.hide(NodeId(0), NodeId(1));
    assert_eq!(received(&mut medium), []);
    let Counters { attempts, successes, duplicates, retry_drops, .. } = medium.counters(NodeId(1));
    assert_eq!((attempts, successes, duplicates, retry_drops), (7, 0, 6, 0));
    assert_eq!(medium.backlogged(), 0);
}

#[test]
fn a_reservation_that_is_not_used_is_given_up() {
    // 2 hears the RTS of 1, but neither hears the other's receiver; 0 has left and will not respond.
    let mut medium = network(dot11b(Some(Bytes(0))), 1, 3, &[]);
    medium.remove_node(at_us(0), NodeId(0));
    send(&mut medium, 0, 1, 0, 7);
    send(&mut medium, SLOT_US + RTS_US + 1, 2, 3, 8);
    let mut first = None;
    while first.is_none() {
        let at = medium.poll_deadline().expect("a frame waits");
        medium.handle_timeout(at);
        first = (medium.counters(NodeId(2)).attempts == 1).then(|| (at - Instant::ZERO).as_micros());
    }
    let given_up = SLOT_US + RTS_US + 2 * SIFS_US + CTS_US + 192 + 2 * SLOT_US;
    let slots = first.unwrap() - given_up - DIFS_US;
    // Unless station 1 sends again first.
    assert!(slots.is_multiple_of(SLOT_US) && slots <= 31 * SLOT_US, "{slots}");
    assert!(given_up - SLOT_US - RTS_US < 2 * SIFS_US + CTS_US + DATA_US, "earlier than the reservation ends");
    assert!(TIMEOUT_US < given_up);
}

/// Two saturated stations with packets of 1500 bytes, hidden from each other or not. Returns the frames per second of
/// both, and the share of attempts that failed.
fn pair(config: MediumConfig, mbps: u64, hidden: bool, seconds: u64) -> (f64, f64) {
    let rates = [rate(config.phy.standard(), mbps); 2];
    let medium = Medium::with_hidden_nodes(config, &Streams::new(1));
    let pairs: &[(u32, u32)] = if hidden { &[(1, 2)] } else { &[] };
    let ours = saturate_where(medium, Bytes(1_500), &rates, seconds, pairs);
    (ours.frames_per_s.iter().sum(), ours.p)
}

#[test]
fn a_hidden_pair_agrees_with_a_microsecond_simulation() {
    let (theirs, p) = hidden_pair::simulate(300);
    let ours = pair(dot11b(None), 11, true, 2_000);
    assert_near("frames per second", ours.0, theirs[0] + theirs[1], 0.01);
    assert!((ours.1 - p).abs() < 0.005, "failures: {} against {p}", ours.1);
}

#[test]
fn rts_and_cts_end_the_collapse_of_a_hidden_pair() {
    // 802.11a at 6 Mb/s: DATA lasts 2 ms, RTS 52 us.
    let of = |rts: bool, hidden| {
        let config =
            MediumConfig { rts_threshold: rts.then_some(Bytes(0)), ..config(Standard::Dot11a, AfterCollision::Eifs) };
        pair(config, 6, hidden, 200)
    };
    let [(hears, hears_p), (hidden, hidden_p), (reserved, reserved_p)] =
        [of(false, false), of(false, true), of(true, true)];
    let figures = format!(
        "{hears:.0}/s {hears_p:.3}, hidden {hidden:.0}/s {hidden_p:.3}, with RTS {reserved:.0}/s {reserved_p:.3}"
    );
    assert!(hidden < 0.5 * hears && hidden_p > 4.0 * hears_p, "{figures}");
    assert!(reserved > 0.9 * hears, "{figures}");
}
