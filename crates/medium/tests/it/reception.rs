//! Reception: lost ACKs and their duplicates, capture, rate control.

use evenair_medium::{
    AccessCategory, Antenna, Capture, Counters, Event, Interference, Limit, Medium, MediumConfig, Mpdu, NodeConfig,
    NodeId, RateControl, Reception, To,
};
use evenair_units::{Bytes, Db, Dbm, Instant, Span, Streams};
use evenair_wifi::{BitErrorRate, EdcaParameters, EdcaSet, PathLoss, Phy, Position, Standard};

use crate::{ACK_US, DATA_US, DIFS_US, SIFS_US, rate};

fn mpdu(to: NodeId, msdu: u64, frame: u32) -> Mpdu<u32> {
    let rate = rate(Standard::Dot11b, 11);
    Mpdu { to: To::Node(to), msdu: Bytes(msdu), rate, category: AccessCategory::BestEffort, frame }
}

fn standard() -> MediumConfig {
    MediumConfig::new(Phy::default_for(Standard::Dot11b))
}

fn capture_at(db: i32) -> MediumConfig {
    let path_loss = Some(PathLoss::new(Standard::Dot11b, 3_000));
    let capture = Some(Capture { threshold: Db::from_milli(db * 1_000), over: Interference::Sum });
    MediumConfig { reception: Reception { path_loss, capture, ..Reception::default() }, ..standard() }
}

/// An access point at the origin and stations on a line.
fn on_a_line(config: MediumConfig, metres: &[i64]) -> (Medium<u32>, Vec<NodeId>) {
    on_a_line_with(config, metres, None)
}

/// [`on_a_line`], with EDCA or without.
fn on_a_line_with(config: MediumConfig, metres: &[i64], edca: Option<EdcaSet>) -> (Medium<u32>, Vec<NodeId>) {
    let mut medium = Medium::new(config, &Streams::new(1));
    let nodes = [0].iter().chain(metres).map(|metres| {
        let position = Position { x_mm: metres * 1_000, y_mm: 0 };
        let antenna = Some(Antenna { position, power: Dbm::from_milli(16_000) });
        medium.add_node(NodeConfig { antenna, edca, ..NodeConfig::dcf(Limit::Unlimited) })
    });
    let nodes = nodes.collect();
    (medium, nodes)
}

fn run(medium: &mut Medium<u32>) -> Vec<(u64, u32, NodeId)> {
    let mut delivered = vec![];
    while let Some(at) = medium.poll_deadline() {
        medium.handle_timeout(at);
        while let Some(event) = medium.poll_event() {
            if let Event::Delivered { at, frame, from, .. } = event {
                delivered.push(((at - Instant::ZERO).as_micros(), frame, from));
            }
        }
    }
    delivered
}

/// Sends frames of `msdu` bytes from saturated `senders` to `to` for `length`. Returns their counters.
fn saturate(medium: &mut Medium<u32>, senders: &[NodeId], to: NodeId, msdu: u64, length: Span) -> Vec<Counters> {
    for &sender in senders {
        (0..2).for_each(|_| medium.handle_frame(Instant::ZERO, sender, mpdu(to, msdu, 0)));
    }
    while let Some(now) = medium.poll_deadline().filter(|&at| at <= Instant::ZERO + length) {
        medium.handle_timeout(now);
        while let Some(event) = medium.poll_event() {
            let (Event::Delivered { from, .. } | Event::Dropped { from, .. }) = event;
            medium.handle_frame(now, from, mpdu(to, msdu, 0));
        }
    }
    senders.iter().map(|&sender| medium.counters(sender)).collect()
}

#[test]
fn the_nearer_of_two_is_captured_and_the_other_tries_again() {
    let (mut medium, n) = on_a_line(capture_at(10), &[5, 50]);
    medium.handle_frame(Instant::ZERO, n[2], mpdu(n[0], 1_500, 2));
    medium.handle_frame(Instant::ZERO, n[1], mpdu(n[0], 1_500, 1));
    let delivered = run(&mut medium);
    assert_eq!(delivered[0], (20 + DATA_US, 1, n[1]), "from the first slot on, as if nothing else were there");
    assert_eq!((delivered[1].1, delivered[1].2), (2, n[2]));
    // The loser decoded the ACK, and waits DIFS and whole slots.
    let begun = delivered[1].0 - DATA_US;
    let resumed = 20 + DATA_US + SIFS_US + ACK_US + DIFS_US;
    assert_eq!((begun - resumed) % 20, 0);
    assert_eq!(medium.totals(Instant::MAX).collisions, 1);
    assert_eq!((medium.counters(n[1]).successes, medium.counters(n[2]).collisions), (1, 1));
}

#[test]
fn at_equal_distance_no_frame_is_captured() {
    let (mut medium, n) = on_a_line(capture_at(10), &[10, -10, 10]);
    let length = Span::from_secs(20);
    let counters = saturate(&mut medium, &n[1..], n[0], 1_500, length);
    let (mut plain, n) = on_a_line(standard(), &[10, -10, 10]);
    assert_eq!(counters, saturate(&mut plain, &n[1..], n[0], 1_500, length));
    assert!(counters[0].collisions > 0);
}

#[test]
fn a_node_does_not_receive_while_it_sends() {
    // The access point and a station send to each other at once.
    let (mut medium, n) = on_a_line(capture_at(10), &[1]);
    medium.handle_frame(Instant::ZERO, n[0], mpdu(n[1], 1_500, 1));
    medium.handle_frame(Instant::ZERO, n[1], mpdu(n[0], 1_500, 2));
    let delivered = run(&mut medium);
    assert_eq!(delivered.len(), 2);
    assert!(delivered[0].0 > 2 * DATA_US, "both collided first");
    assert_eq!(medium.counters(n[0]).collisions, medium.counters(n[1]).collisions);
}

#[test]
fn a_captured_frame_is_repeated_where_a_longer_one_drowns_its_ack() {
    // At the access point the near sender is stronger. The far frame is longer, and at the near sender it is as strong
    // as the access point's ACK.
    let (mut medium, n) = on_a_line(capture_at(3), &[5, 10]);
    medium.handle_frame(Instant::ZERO, n[1], mpdu(n[0], 500, 1));
    medium.handle_frame(Instant::ZERO, n[2], mpdu(n[0], 1_500, 2));
    let delivered = run(&mut medium);
    let counters = medium.counters(n[1]);
    assert_eq!(delivered.iter().map(|&(_, frame, _)| frame).collect::<Vec<_>>(), [1, 2], "each once");
    assert_eq!(delivered[0].0, 20 + 192 + 390, "536 bytes from the first slot on");
    assert_eq!((counters.attempts, counters.successes, counters.losses, counters.duplicates), (2, 1, 1, 1));
    assert_eq!(medium.queue(n[1]).packets, 0);
    assert_eq!(medium.backlogged(), 0);
}

#[test]
fn a_lost_ack_repeats_the_frame_and_the_receiver_drops_the_copy() {
    // A bit error rate at which one of ten ACKs is lost.
    let ber = BitErrorRate::new(1e-3).unwrap();
    let config = MediumConfig { reception: Reception { ber, ..Reception::default() }, ..standard() };
    let mut medium: Medium<u32> = Medium::new(config, &Streams::new(3));
    let nodes: Vec<_> = (0..2).map(|_| medium.add_node(NodeConfig::dcf(Limit::Unlimited))).collect();
    let frames = 5_000;
    (0..frames).for_each(|frame| medium.handle_frame(Instant::ZERO, nodes[0], mpdu(nodes[1], 28, frame)));
    let delivered = run(&mut medium);
    // 64 bytes with all headers, 14 of the ACK: loss probabilities 0.4 and 0.106.
    let counters = medium.counters(nodes[0]);
    let once: Vec<u32> = delivered.iter().map(|&(_, frame, _)| frame).collect();
    assert!(once.is_sorted_by(|a, b| a < b), "in order, none twice");
    let of_attempts = |n: u64| n as f64 / counters.attempts as f64;
    let (ok, ack_ok) = (0.999f64.powi(512), 0.999f64.powi(112));
    assert!((of_attempts(counters.successes) - ok * ack_ok).abs() < 0.015, "{counters:?}");
    // A received frame whose ACK is lost is repeated until frame and ACK get through.
    let repeats = delivered.len() as f64 * (1.0 - ack_ok) / (ok * ack_ok);
    assert!((counters.duplicates as f64 / repeats - 1.0).abs() < 0.1, "{counters:?} {repeats}");
    // Seven failed attempts.
    let lost = f64::from(frames) - delivered.len() as f64;
    assert_eq!(lost, counters.retry_drops as f64);
    assert!((lost / f64::from(frames) - (1.0 - ok).powi(7)).abs() < 0.003, "{lost}");
    assert_eq!((medium.queue(nodes[0]).packets, medium.backlogged()), (0, 0));
}

#[test]
fn rate_control_lowers_the_rate_after_collisions() {
    let share_of_slow = |stations: i64, control| {
        let metres: Vec<i64> = (0..stations).map(|_| 10).collect();
        let (mut medium, n) = on_a_line(MediumConfig { rate_control: control, ..standard() }, &metres);
        let counters = saturate(&mut medium, &n[1..], n[0], 1_000, Span::from_secs(30));
        let sum = |of: fn(&Counters) -> u64| counters.iter().map(of).sum::<u64>() as f64;
        let total = sum(|c| c.slowed) / sum(|c| c.attempts);
        let rates: Vec<_> = n[1..].iter().map(|&station| medium.rate_toward(station, n[0])).collect();
        assert!(rates.iter().all(|rate| rate.is_some() == (control != RateControl::Fixed)));
        total
    };
    assert_eq!(share_of_slow(15, RateControl::Fixed), 0.0);
    for control in [RateControl::TwoFailures, RateControl::Arf, RateControl::Aarf { most: 50 }] {
        let (alone, many) = (share_of_slow(1, control), share_of_slow(15, control));
        assert!(alone == 0.0 && many > 0.8, "{control:?}: {alone} {many}");
    }
    assert!(share_of_slow(15, RateControl::Minstrel) < 0.3, "it compares what rates deliver");
}

#[test]
fn a_distant_station_finds_its_rate() {
    // 3.8 dB over noise: 11 Mb/s do not get through, 5.5 do.
    let path_loss = Some(PathLoss::new(Standard::Dot11b, 3_000));
    let reception = Reception { path_loss, noise: true, ..Reception::default() };
    for control in [RateControl::TwoFailures, RateControl::Arf, RateControl::Aarf { most: 50 }, RateControl::Minstrel] {
        let config = MediumConfig { reception, rate_control: control, ..standard() };
        let (mut medium, n) = on_a_line(config, &[155]);
        let counters = saturate(&mut medium, &n[1..], n[0], 1_500, Span::from_secs(20));
        assert!(counters[0].retry_drops < 3, "{control:?}: {:?}", counters[0]);
        let slow = counters[0].slowed as f64 / counters[0].attempts as f64;
        assert!(slow > 0.8, "{control:?}: {slow}");
        // At least two of three attempts are at a rate that gets through.
        assert!(counters[0].successes * 3 > counters[0].attempts * 2, "{control:?}: {:?}", counters[0]);
    }
}

/// A success is reported once to rate control, whether the next frame does not fit into the TXOP or there is none.
#[test]
fn a_txop_of_one_frame_does_not_change_rate_control() {
    let path_loss = Some(PathLoss::new(Standard::Dot11b, 3_000));
    let reception = Reception { path_loss, noise: true, ..Reception::default() };
    // Not Minstrel: its measurements depend on the time of the query, which is earlier with a TXOP.
    for control in [RateControl::TwoFailures, RateControl::Arf, RateControl::Aarf { most: 50 }] {
        let with_txop = |txop: Span| {
            let config = MediumConfig { reception, rate_control: control, ..standard() };
            let set = config.phy.default_edca().map(|parameters| EdcaParameters { txop, ..parameters });
            // At 155 m the highest rate does not get through.
            let (mut medium, n) = on_a_line_with(config, &[155, 155, 10], Some(set));
            let counters = saturate(&mut medium, &n[1..], n[0], 1_500, Span::from_secs(20));
            (counters, n.into_iter().map(|node| medium.take_rates_used(node)).collect::<Vec<_>>())
        };
        let (none, one_frame) = (with_txop(Span::ZERO), with_txop(Span::from_micros(1)));
        assert!(none.0[0].slowed > 1_000, "{control:?}: {:?}", none.0);
        assert_eq!(none, one_frame, "{control:?}");
    }
}
