//! Events of the frames on the air.

use evenair_medium::{
    AccessCategory, AfterCollision, Event, Kind, Medium, MediumConfig, Mpdu, NodeId, OnAir, To, Transmission, TxStatus,
};
use evenair_units::{Bytes, Instant, Span, Streams};
use evenair_wifi::Standard;

use crate::{config, rate, unlimited};

/// Saturated stations that send frames of 1000 bytes to node 0.
const STATIONS: u32 = 5;

struct Seen {
    frames: Vec<(Transmission, TxStatus)>,
    delivered: Vec<Event<u32>>,
    attempts: u64,
    successes: u64,
    collisions: u64,
}

/// Runs a simulated second, `watched` or not.
fn run(config: MediumConfig, hidden_engine: bool, watched: bool) -> Seen {
    let streams = Streams::new(5);
    let mut medium: Medium<u32> = match hidden_engine {
        true => Medium::with_hidden_nodes(config, &streams),
        false => Medium::new(config, &streams),
    };
    if watched {
        medium.watch();
    }
    (0..=STATIONS).for_each(|_| {
        medium.add_node(unlimited());
    });
    let mut serial = 0;
    let mut send = |medium: &mut Medium<u32>, now, from| {
        serial += 1;
        let (to, rate) = (To::Node(NodeId(0)), rate(Standard::Dot11b, 11));
        let category = AccessCategory::BestEffort;
        medium.handle_frame(now, from, Mpdu { to, msdu: Bytes(1000), rate, category, frame: serial });
    };
    (1..=STATIONS).for_each(|from| send(&mut medium, Instant::ZERO, NodeId(from)));
    let mut seen = Seen { frames: vec![], delivered: vec![], attempts: 0, successes: 0, collisions: 0 };
    let mut open: Vec<Transmission> = Vec::new();
    while let Some(at) = medium.poll_deadline().filter(|&at| at < Instant::ZERO + Span::from_secs(1)) {
        medium.handle_timeout(at);
        while let Some(news) = medium.poll_on_air() {
            match news {
                OnAir::Begins(transmission) => {
                    if let Kind::Data { category, .. } = transmission.kind {
                        assert!(medium.in_service(transmission.from, category).is_some(), "its content is known");
                    }
                    open.push(transmission);
                }
                OnAir::Ends { at, from, status } => {
                    let index = open.iter().position(|frame| frame.from == from).expect("it has begun");
                    let frame = open.remove(index);
                    assert_eq!(frame.at + frame.lasts, at);
                    seen.frames.push((frame, status));
                }
            }
        }
        while let Some(event) = medium.poll_event() {
            let (Event::Delivered { at, from, .. } | Event::Dropped { at, from, .. }) = event;
            send(&mut medium, at, from);
            seen.delivered.push(event);
        }
    }
    for id in (1..=STATIONS).map(NodeId) {
        let counters = medium.counters(id);
        seen.attempts += counters.attempts;
        seen.successes += counters.successes;
        seen.collisions += counters.collisions;
    }
    // Frames still on the air at the end differ between engines.
    let over = |frame: &Transmission| frame.at + frame.lasts < Instant::ZERO + Span::from_millis(990);
    seen.frames.retain(|(frame, _)| over(frame));
    seen.frames.sort_by_key(|(frame, _)| (frame.at, frame.from));
    seen
}

fn dcf(rts: bool) -> MediumConfig {
    let rts_threshold = rts.then_some(Bytes(500));
    MediumConfig { rts_threshold, ..config(Standard::Dot11b, AfterCollision::Eifs) }
}

#[test]
fn start_and_end_of_every_attempt_are_reported() {
    for rts in [false, true] {
        let seen = run(dcf(rts), false, true);
        let count = |is: &dyn Fn(&Kind) -> bool, status| {
            seen.frames.iter().filter(|(frame, other)| is(&frame.kind) && *other == status).count() as u64
        };
        let first = |kind: &Kind| match kind {
            Kind::Rts { .. } => true,
            Kind::Data { .. } => !rts,
            Kind::Cts | Kind::Ack => false,
            Kind::Aggregate { .. } | Kind::BlockAckRequest { .. } | Kind::BlockAck | Kind::CfEnd => {
                unreachable!("nothing aggregates here")
            }
        };
        let (received, overlapped) = (count(&first, TxStatus::Received), count(&first, TxStatus::Overlapped));
        assert!(received > 300 && overlapped > 20, "{received} {overlapped}");
        // Except for the last 10 ms, which have time for a few attempts.
        assert!(seen.attempts - received - overlapped < 20 && seen.successes - received < 10);
        assert!(seen.collisions - overlapped < 10);
        assert_eq!(
            count(&|kind| *kind == Kind::Ack, TxStatus::Received),
            count(&|k| matches!(k, Kind::Data { .. }), TxStatus::Received)
        );
        assert_eq!(count(&|kind| *kind == Kind::Cts, TxStatus::Received), if rts { received } else { 0 });
    }
}

#[test]
fn a_repeated_attempt_follows_one_that_failed() {
    let seen = run(dcf(false), false, true);
    let mut failed = [0; STATIONS as usize + 1];
    for (frame, status) in &seen.frames {
        if let Kind::Data { attempt, qos, reserved, .. } = frame.kind {
            let failures = &mut failed[frame.from.0 as usize];
            assert_eq!(attempt, *failures + 1);
            assert!(!qos && !reserved);
            *failures = if *status == TxStatus::Received { 0 } else { attempt };
        }
    }
}

#[test]
fn both_engines_report_the_same_frames() {
    for rts in [false, true] {
        let (plain, sensed) = (run(dcf(rts), false, true), run(dcf(rts), true, true));
        assert!(plain.frames.len() > 700);
        for (a, b) in plain.frames.iter().zip(&sensed.frames) {
            assert_eq!(a, b);
        }
        assert_eq!(plain.frames.len(), sensed.frames.len());
    }
}

#[test]
fn watching_changes_nothing() {
    for hidden_engine in [false, true] {
        let (watched, not) = (run(dcf(true), hidden_engine, true), run(dcf(true), hidden_engine, false));
        assert_eq!(watched.delivered, not.delivered);
        assert!(not.frames.is_empty());
    }
}
