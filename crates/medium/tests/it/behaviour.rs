//! Timing of the medium, to the nanosecond.

use std::cell::Cell;

use evenair_medium::{
    AccessCategory, AfterCollision, Counters, DropReason, Event, Limit, Medium, MediumConfig, Mpdu, NodeConfig, NodeId,
    QueueState, To,
};
use evenair_units::{Airtime, Bytes, Instant, Span, Streams};
use evenair_wifi::Standard;

use crate::{ACK_US, CTS_US, DATA_US, DIFS_US, RTS_US, SIFS_US, SLOT_US, TIMEOUT_US, at_us, config, rate, unlimited};

const EIFS_US: u64 = 364;

type Frames = Medium<u32>;

fn us(span: Span) -> u64 {
    assert_eq!(span.as_nanos() % 1_000, 0, "{span} is not whole microseconds");
    span.as_micros()
}

fn medium(config: MediumConfig, seed: u64, nodes: u32) -> (Frames, Vec<NodeId>) {
    let mut medium = Medium::new(config, &Streams::new(seed));
    let nodes = (0..nodes).map(|_| medium.add_node(unlimited())).collect();
    (medium, nodes)
}

fn dot11b(nodes: u32) -> (Frames, Vec<NodeId>) {
    medium(config(Standard::Dot11b, AfterCollision::Eifs), 1, nodes)
}

fn mpdu(to: To, frame: u32) -> Mpdu<u32> {
    Mpdu { to, msdu: Bytes(1_500), rate: rate(Standard::Dot11b, 11), category: AccessCategory::BestEffort, frame }
}

fn send(medium: &mut Frames, now: Instant, from: NodeId, to: NodeId, frame: u32) {
    medium.handle_frame(now, from, mpdu(To::Node(to), frame));
}

fn run(medium: &mut Frames) -> Vec<Event<u32>> {
    let mut events = vec![];
    while let Some(at) = medium.poll_deadline() {
        medium.handle_timeout(at);
        events.extend(std::iter::from_fn(|| medium.poll_event()));
    }
    events.extend(std::iter::from_fn(|| medium.poll_event()));
    events
}

/// Time, in microseconds, and number of each received frame.
fn received(events: &[Event<u32>]) -> Vec<(u64, u32)> {
    let of = |event: &Event<u32>| match *event {
        Event::Delivered { at, frame, .. } => Some((us(at - Instant::ZERO), frame)),
        Event::Dropped { .. } => None,
    };
    events.iter().filter_map(of).collect()
}

fn drops(events: &[Event<u32>]) -> Vec<(DropReason, u32)> {
    let of = |event: &Event<u32>| match *event {
        Event::Dropped { reason, frame, .. } => Some((reason, frame)),
        Event::Delivered { .. } => None,
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn a_frame_on_a_silent_medium_goes_at_the_next_slot() {
    let (mut medium, n) = dot11b(2);
    send(&mut medium, at_us(1_001), n[0], n[1], 7);
    assert_eq!(medium.poll_deadline(), Some(at_us(1_020)));
    let events = run(&mut medium);
    let at = at_us(1_020 + DATA_US);
    assert_eq!(
        events,
        [Event::Delivered {
            at,
            enqueued: at_us(1_001),
            from: n[0],
            to: To::Node(n[1]),
            msdu: Bytes(1_500),
            attempts: 1,
            airtime: Airtime(Span::from_micros(DATA_US + SIFS_US + ACK_US)),
            frame: 7
        }]
    );
    assert_eq!(medium.poll_deadline(), None);
}

#[test]
fn delivery_is_not_reported_before_its_time() {
    let (mut medium, n) = dot11b(2);
    send(&mut medium, at_us(0), n[0], n[1], 0);
    medium.handle_timeout(at_us(SLOT_US + DATA_US) - Span::from_nanos(1));
    assert_eq!(medium.poll_event(), None);
    assert_eq!(medium.queue(n[0]), QueueState { packets: 1, bytes: Bytes(1_500) });
    medium.handle_timeout(at_us(SLOT_US + DATA_US));
    assert!(medium.poll_event().is_some());
    assert_eq!(medium.queue(n[0]), QueueState::default());
    assert_eq!(medium.poll_deadline(), Some(at_us(SLOT_US + DATA_US + SIFS_US + ACK_US)));
}

/// A reply that is ready when the frame arrives: by the standard it backs off, as the medium has not been idle.
#[test]
fn a_reply_before_the_own_ack_backs_off_unless_the_medium_counts_as_idle_then() {
    let acknowledged_us = SLOT_US + DATA_US + SIFS_US + ACK_US;
    let reply_at = |idle_before_ack, seed| {
        let config = MediumConfig { idle_before_ack, ..config(Standard::Dot11b, AfterCollision::Eifs) };
        let (mut medium, n) = medium(config, seed, 2);
        send(&mut medium, at_us(0), n[0], n[1], 0);
        medium.handle_timeout(at_us(SLOT_US + DATA_US));
        assert!(medium.poll_event().is_some());
        send(&mut medium, at_us(SLOT_US + DATA_US), n[1], n[0], 1);
        received(&run(&mut medium))[0].0 - DATA_US - acknowledged_us - DIFS_US
    };
    assert!((0..20).all(|seed| reply_at(true, seed) == 0));
    let waits: Vec<u64> = (0..20).map(|seed| reply_at(false, seed)).collect();
    assert!(waits.iter().all(|wait| wait % SLOT_US == 0 && wait / SLOT_US <= 31) && waits.iter().any(|&wait| wait > 0));
}

#[test]
fn two_frames_that_come_in_one_slot_collide_and_in_two_slots_do_not() {
    for (second_us, collisions) in [(101, 1), (119, 1), (120, 0), (90, 0)] {
        let (mut medium, n) = dot11b(3);
        let mut arrivals = [(101, n[0], 0), (second_us, n[1], 1)];
        arrivals.sort();
        for (us, from, frame) in arrivals {
            send(&mut medium, at_us(us), from, n[2], frame);
        }
        assert_eq!(received(&run(&mut medium)).len(), 2);
        assert_eq!(medium.totals(at_us(0)).collisions, collisions, "second at {second_us}");
        assert_eq!(medium.counters(n[0]).collisions, collisions);
        assert_eq!(medium.counters(n[1]).collisions, collisions);
    }
}

#[test]
fn a_frame_that_comes_while_the_medium_is_busy_draws_a_back_off() {
    let ends = SLOT_US + DATA_US + SIFS_US + ACK_US;
    let slots_of = |seed| {
        let (mut medium, n) = medium(config(Standard::Dot11b, AfterCollision::Eifs), seed, 3);
        send(&mut medium, at_us(0), n[0], n[2], 0);
        send(&mut medium, at_us(500), n[1], n[2], 1);
        let received = received(&run(&mut medium));
        let waited = received[1].0 - DATA_US - ends - DIFS_US;
        assert_eq!(waited % SLOT_US, 0);
        waited / SLOT_US
    };
    let slots: std::collections::BTreeSet<u64> = (0..1_000).map(slots_of).collect();
    assert_eq!(slots, (0..=31).collect());
}

#[test]
fn a_station_that_just_sent_backs_off_before_it_sends_again() {
    let slots_of = |seed| {
        let (mut medium, n) = medium(config(Standard::Dot11b, AfterCollision::Eifs), seed, 2);
        send(&mut medium, at_us(0), n[0], n[1], 0);
        run(&mut medium);
        let ends = SLOT_US + DATA_US + SIFS_US + ACK_US;
        // Before the earliest slot in which it could send without back-off.
        send(&mut medium, at_us(ends + DIFS_US - 1), n[0], n[1], 1);
        let waited = received(&run(&mut medium))[0].0 - DATA_US - ends - DIFS_US;
        waited / SLOT_US
    };
    let slots: std::collections::BTreeSet<u64> = (0..1_000).map(slots_of).collect();
    assert_eq!(slots, (0..=31).collect());
}

#[test]
fn back_off_after_sending_runs_out_without_a_frame() {
    let (mut medium, n) = dot11b(2);
    send(&mut medium, at_us(0), n[0], n[1], 0);
    run(&mut medium);
    let first_slot = SLOT_US + DATA_US + SIFS_US + ACK_US + DIFS_US;
    let now = first_slot + 31 * SLOT_US + 5;
    send(&mut medium, at_us(now), n[0], n[1], 1);
    assert_eq!(medium.poll_deadline(), Some(at_us(now - 5 + SLOT_US)));
}

/// Two nodes collide, and a third one's frame arrives right after. Returns the start of the first frame after the
/// collision, in microseconds from its end, and its number.
fn after_collision(rule: AfterCollision, seed: u64) -> (u64, u32) {
    let (mut medium, n) = medium(config(Standard::Dot11b, rule), seed, 4);
    send(&mut medium, at_us(0), n[0], n[3], 0);
    send(&mut medium, at_us(0), n[1], n[3], 1);
    let ends = SLOT_US + DATA_US;
    send(&mut medium, at_us(ends + 1), n[2], n[3], 2);
    let (at, frame) = received(&run(&mut medium))[0];
    (at - DATA_US - ends, frame)
}

#[test]
fn bystanders_wait_eifs_and_senders_their_timeout_and_difs() {
    let (mut bystander, mut sender) = (0, 0);
    for seed in 0..200 {
        match after_collision(AfterCollision::Eifs, seed) {
            // The two senders collided again.
            (wait, _) if wait > DATA_US => {}
            (wait, 2) => {
                assert_eq!(wait, EIFS_US);
                bystander += 1;
            }
            (wait, _) => {
                assert!(wait < EIFS_US && (wait - TIMEOUT_US - DIFS_US).is_multiple_of(SLOT_US), "{wait}");
                sender += 1;
            }
        }
    }
    // With 15 % of the draws, back-offs of 0 to 4 slots out of 64, a sender comes first.
    assert!(bystander > 140 && sender > 15, "{bystander} {sender}");
}

#[test]
fn bystanders_that_wait_difs_come_before_the_senders() {
    for seed in 0..50 {
        assert_eq!(after_collision(AfterCollision::Difs, seed), (DIFS_US, 2));
    }
}

#[test]
fn when_all_wait_difs_a_sender_that_draws_zero_collides_with_the_bystander() {
    let waits: Vec<(u64, u32)> = (0..200).map(|seed| after_collision(AfterCollision::DifsForAll, seed)).collect();
    assert!(waits.iter().filter(|&&wait| wait == (DIFS_US, 2)).count() > 150);
    assert!(waits.iter().any(|&(wait, _)| wait > DATA_US));
}

#[test]
fn a_frame_is_given_up_at_the_short_retry_limit_or_with_rts_at_the_long_one() {
    let reservation_us = RTS_US + SIFS_US + CTS_US + SIFS_US;
    for (rts_threshold, attempts, each_us) in [(None, 7, DATA_US), (Some(Bytes(1_000)), 4, reservation_us + DATA_US)] {
        let config = MediumConfig { rts_threshold, ..config(Standard::Dot11b, AfterCollision::Eifs) };
        let (mut medium, n) = medium(config, 1, 2);
        medium.set_frame_error(n[0], n[1], 1_000_000_000);
        send(&mut medium, at_us(0), n[0], n[1], 0);
        assert_eq!(drops(&run(&mut medium)), [(DropReason::RetryLimit, 0)]);
        let airtime = Airtime(Span::from_micros(attempts * each_us));
        let expected = Counters {
            attempts,
            losses: attempts,
            repeated_failures: attempts - 1,
            retry_drops: 1,
            airtime,
            ..Counters::default()
        };
        assert_eq!(Counters { measured: Default::default(), ..medium.counters(n[0]) }, expected);
    }
}

#[test]
fn a_collision_of_rts_frames_is_short() {
    let config = MediumConfig { rts_threshold: Some(Bytes(1_000)), ..config(Standard::Dot11b, AfterCollision::Eifs) };
    let (mut medium, n) = medium(config, 1, 3);
    send(&mut medium, at_us(0), n[0], n[2], 0);
    send(&mut medium, at_us(0), n[1], n[2], 1);
    medium.handle_timeout(at_us(SLOT_US));
    assert_eq!(medium.poll_deadline(), Some(at_us(SLOT_US + RTS_US)));
    assert_eq!(received(&run(&mut medium)).len(), 2);
}

#[test]
fn a_small_frame_is_sent_without_rts() {
    let config = MediumConfig { rts_threshold: Some(Bytes(1_500)), ..config(Standard::Dot11b, AfterCollision::Eifs) };
    let (mut medium, n) = medium(config, 1, 2);
    send(&mut medium, at_us(0), n[0], n[1], 0);
    assert_eq!(received(&run(&mut medium)), [(SLOT_US + DATA_US, 0)]);
}

#[test]
fn broadcasts_go_once_at_the_lowest_basic_rate() {
    let (mut medium, n) = dot11b(2);
    medium.handle_frame(at_us(0), n[0], mpdu(To::Broadcast, 0));
    assert_eq!(received(&run(&mut medium)), [(SLOT_US + 192 + 1_536 * 8, 0)]);
    assert_eq!(medium.counters(n[0]).airtime, Airtime(Span::from_micros(192 + 1_536 * 8)));
}

#[test]
fn a_broadcast_that_collides_is_lost_and_the_other_frame_repeated() {
    let (mut medium, n) = dot11b(3);
    medium.handle_frame(at_us(0), n[0], mpdu(To::Broadcast, 0));
    send(&mut medium, at_us(0), n[1], n[2], 1);
    let events = run(&mut medium);
    assert_eq!(drops(&events), [(DropReason::BroadcastCollision, 0)]);
    // The medium is busy until the longer one of the two ends.
    let [(at, 1)] = received(&events)[..] else { panic!("{events:?}") };
    assert!(at >= SLOT_US + 192 + 1_536 * 8 + DIFS_US + DATA_US);
}

#[test]
fn a_buffer_in_bytes_counts_the_frame_in_service() {
    let mut medium = Medium::new(config(Standard::Dot11b, AfterCollision::Eifs), &Streams::new(1));
    let access_point = medium.add_node(NodeConfig::dcf(Limit::Bytes(Bytes(3_100))));
    let station = medium.add_node(unlimited());
    let small = |frame| Mpdu { msdu: Bytes(100), ..mpdu(To::Node(station), frame) };
    (0..3).for_each(|frame| medium.handle_frame(at_us(0), access_point, mpdu(To::Node(station), frame)));
    medium.handle_frame(at_us(100), access_point, small(3));
    medium.handle_frame(at_us(100), access_point, small(4));
    assert_eq!(medium.queue(access_point), QueueState { packets: 3, bytes: Bytes(3_100) });
    assert_eq!(medium.counters(access_point).buffer_drops, 2);
    let events = run(&mut medium);
    assert_eq!(drops(&events), [(DropReason::BufferFull, 2), (DropReason::BufferFull, 4)]);
    assert_eq!(received(&events).iter().map(|&(_, frame)| frame).collect::<Vec<_>>(), [0, 1, 3]);
}

#[test]
fn a_node_that_leaves_loses_its_queue_and_receives_nothing() {
    let (mut medium, n) = dot11b(3);
    send(&mut medium, at_us(0), n[0], n[1], 0);
    send(&mut medium, at_us(0), n[0], n[1], 1);
    // While its first frame is on the air.
    medium.remove_node(at_us(100), n[0]);
    send(&mut medium, at_us(200), n[0], n[1], 2);
    send(&mut medium, at_us(200), n[2], n[0], 3);
    let events = run(&mut medium);
    assert_eq!(received(&events), []);
    let left = [0, 1, 2].map(|frame| (DropReason::Left, frame));
    assert_eq!(drops(&events), [&left[..], &[(DropReason::RetryLimit, 3)]].concat());
    assert_eq!(medium.counters(n[2]).losses, 7);
}

#[test]
fn flush_drops_waiting_frames_and_keeps_the_frame_in_service() {
    let (mut medium, n) = dot11b(3);
    for (frame, to) in [(0, 1), (1, 1), (2, 2), (3, 1), (4, 2)] {
        send(&mut medium, at_us(0), n[0], n[to], frame);
    }
    // While the first frame is on the air; it is not received.
    medium.remove_node(at_us(100), n[1]);
    medium.flush(at_us(200), n[0], n[1]);
    assert_eq!(medium.queue(n[0]), QueueState { packets: 3, bytes: Bytes(3 * 1500) });
    let events = run(&mut medium);
    assert_eq!(drops(&events), [(DropReason::Left, 1), (DropReason::Left, 3), (DropReason::RetryLimit, 0)]);
    assert_eq!(received(&events).iter().map(|&(_, frame)| frame).collect::<Vec<_>>(), [2, 4]);
    assert_eq!((medium.counters(n[0]).retry_drops, medium.queue(n[0]).packets), (1, 0));
    medium.flush(at_us(900_000), n[0], n[2]);
    assert_eq!(run(&mut medium).len(), 0, "there is nothing to give up");
}

#[test]
fn a_receiver_that_leaves_during_a_frame_does_not_get_it() {
    // With RTS, DATA is lost once, and then seven RTS are not answered.
    for (rts_threshold, attempts) in [(None, 7), (Some(Bytes(0)), 8)] {
        let config = MediumConfig { rts_threshold, ..config(Standard::Dot11b, AfterCollision::Eifs) };
        let (mut medium, n) = medium(config, 1, 2);
        send(&mut medium, at_us(0), n[0], n[1], 0);
        medium.remove_node(at_us(100), n[1]);
        assert_eq!(drops(&run(&mut medium)), [(DropReason::RetryLimit, 0)]);
        assert_eq!(medium.counters(n[0]).attempts, attempts);
    }
}

#[test]
fn totals_add_up_to_the_elapsed_time() {
    let (mut medium, n) = dot11b(2);
    send(&mut medium, at_us(1_000), n[0], n[1], 0);
    send(&mut medium, at_us(1_000), n[0], n[1], 1);
    run(&mut medium);
    let totals = medium.totals(at_us(1_000_000));
    assert_eq!(us(totals.busy), 2 * (DATA_US + SIFS_US + ACK_US));
    let contending = us(totals.contending) - SLOT_US - DIFS_US;
    assert!(contending.is_multiple_of(SLOT_US) && contending / SLOT_US <= 31, "{contending}");
    assert_eq!(totals.busy + totals.contending + totals.idle, Span::from_secs(1));
    assert_eq!((totals.transmissions, totals.collisions), (2, 0));
}

#[test]
fn an_earlier_now_counts_as_the_latest() {
    let (mut medium, n) = dot11b(2);
    medium.handle_timeout(at_us(1_000));
    send(&mut medium, at_us(10), n[0], n[1], 0);
    assert_eq!(medium.poll_deadline(), Some(at_us(1_020)));
}

#[test]
fn waiting_frames_are_listed_in_order_and_prefetching_changes_nothing() {
    let sent = |looks: bool| {
        let (mut medium, nodes) = dot11b(3);
        (0..5).for_each(|frame| send(&mut medium, Instant::ZERO, nodes[0], nodes[1], frame));
        send(&mut medium, Instant::ZERO, nodes[2], nodes[0], 5);
        let mut events = vec![];
        while let Some(at) = medium.poll_deadline() {
            if looks {
                let places = Cell::new(0);
                // All nodes, and more places than there are frames.
                nodes.iter().for_each(|&node| medium.prefetch(node, |_| places.set(places.get() + 1)));
                assert!(places.get() >= nodes.len());
                let waiting = medium.queue(nodes[0]).packets;
                let asked = Cell::new(0);
                (0..9).for_each(|place| medium.prefetch_waiting(nodes[0], place, |_| asked.set(asked.get() + 1)));
                assert_eq!(asked.get(), waiting);
                let found: Vec<_> = (0..9).filter_map(|place| medium.waiting(nodes[0], place).copied()).collect();
                assert_eq!(found, (5 - waiting as u32..5).collect::<Vec<_>>());
            }
            medium.handle_timeout(at);
            events.extend(std::iter::from_fn(|| medium.poll_event()));
        }
        events
    };
    assert_eq!(sent(true), sent(false));
    assert_eq!(sent(true).len(), 6);
}
