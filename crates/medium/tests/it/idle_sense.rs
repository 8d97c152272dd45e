//! Idle Sense keeps the idle slots between transmissions at its target, and the asymmetric access point gets twice the
//! total of the stations, both for any number of stations.

use evenair_medium::{
    AccessCategory, BackOff, Event, IdleSenseConfig, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, To,
};
use evenair_units::{Bytes, Instant, Limit, Span, Streams};
use evenair_wifi::{Phy, Standard, idle_sense};

use crate::rate;

/// Result of a saturated run: frames delivered by the access point and the stations, transmissions and collisions.
struct Saturated {
    ap: u64,
    stations: Vec<u64>,
    contending_per_access_ns: f64,
    collided: f64,
}

fn saturate(standard: Standard, access: BackOff, ap: Option<BackOff>, stations: u32, seconds: u64) -> Saturated {
    let phy_rate = rate(standard, if standard == Standard::Dot11b { 11 } else { 12 });
    let idle_slots = (idle_sense::target(standard) * 100.0).round() as u32;
    let idle_sense = IdleSenseConfig { target: idle_slots, ..IdleSenseConfig::default() };
    let config = MediumConfig { idle_sense, ..MediumConfig::new(Phy::default_for(standard)) };
    let mut medium: Medium<()> = Medium::new(config, &Streams::new(3));
    let node = |back_off| NodeConfig { back_off, ..NodeConfig::dcf(Limit::Unlimited) };
    let receiver = medium.add_node(node(ap.unwrap_or_default()));
    let nodes: Vec<NodeId> = (0..stations).map(|_| medium.add_node(node(access))).collect();
    let send = |medium: &mut Medium<()>, now, from: NodeId| {
        let to = To::Node(if from == receiver { nodes[0] } else { receiver });
        let category = AccessCategory::BestEffort;
        medium.handle_frame(now, from, Mpdu { to, msdu: Bytes(1500), rate: phy_rate, category, frame: () });
    };
    let senders = nodes.iter().copied().chain(ap.map(|_| receiver));
    // Two frames each, so that no queue is ever empty.
    senders.clone().chain(senders).for_each(|from| send(&mut medium, Instant::ZERO, from));
    let mut delivered = vec![0; stations as usize + 1];
    let (begin, end) = (Instant::ZERO + Span::from_secs(5), Instant::ZERO + Span::from_secs(5 + seconds));
    let mut before = None;
    while let Some(at) = medium.poll_deadline().filter(|&at| at < end) {
        if at >= begin && before.is_none() {
            before = Some(medium.totals(at));
        }
        medium.handle_timeout(at);
        while let Some(event) = medium.poll_event() {
            let (Event::Delivered { from, .. } | Event::Dropped { from, .. }) = event;
            if matches!(event, Event::Delivered { .. }) && at >= begin {
                delivered[from.0 as usize] += 1;
            }
            send(&mut medium, at, from);
        }
    }
    let first = before.expect("it runs longer");
    let last = medium.totals(end.min(medium.poll_deadline().unwrap_or(end)));
    let accesses = (last.transmissions - first.transmissions) as f64;
    Saturated {
        ap: delivered[0],
        stations: delivered[1..].to_vec(),
        contending_per_access_ns: (last.contending - first.contending).as_nanos() as f64 / accesses,
        collided: (last.collisions - first.collisions) as f64 / accesses,
    }
}

fn asymmetric(standard: Standard) -> BackOff {
    let head_start = idle_sense::head_start(&Phy::default_for(standard));
    let window = idle_sense::access_point_window(idle_sense::target(standard), 2.0, head_start);
    let slots = window.floor();
    BackOff::Constant { slots: slots as u32, more_per_billion: ((window - slots) * 1e9) as u32 }
}

#[test]
fn idle_slots_are_at_the_target_whatever_the_number_of_stations() {
    for n in [2, 5, 10, 40] {
        let run = saturate(Standard::Dot11b, BackOff::IdleSense, None, n, 30);
        // Besides slots there is DIFS, and after a collision EIFS: 314 us more.
        let slots = (run.contending_per_access_ns / 1e3 - 50.0 - 314.0 * run.collided) / 20.0;
        assert!((slots / 5.68 - 1.0).abs() < 0.03, "n = {n}: {slots} idle slots");
        // All get equal shares; with DCF of 40 stations three accesses in ten collide, here less than one.
        let (least, most) = (run.stations.iter().min().unwrap(), run.stations.iter().max().unwrap());
        assert!(*least as f64 > 0.85 * *most as f64 - 20.0, "n = {n}: {:?}", run.stations);
        assert!(run.collided < 0.1, "n = {n}: {}", run.collided);
    }
    let dcf = saturate(Standard::Dot11b, BackOff::Standard, None, 40, 10);
    assert!(dcf.collided > 0.29, "{}", dcf.collided);
}

#[test]
fn the_asymmetric_access_point_gets_twice_the_stations_total() {
    for standard in [Standard::Dot11b, Standard::Dot11a] {
        for n in [2, 3, 5, 10, 15, 20] {
            let run = saturate(standard, BackOff::IdleSense, Some(asymmetric(standard)), n, 60);
            let ratio = run.ap as f64 / run.stations.iter().sum::<u64>() as f64;
            assert!((ratio / 2.0 - 1.0).abs() < 0.05, "{standard:?}, {n} stations: {ratio}");
        }
    }
}

/// Canary of the test above: with DCF the ratio falls as one over the number of stations.
#[test]
fn with_dcf_the_access_point_is_one_among_many() {
    let run = saturate(Standard::Dot11b, BackOff::Standard, Some(BackOff::Standard), 10, 20);
    let ratio = run.ap as f64 / run.stations.iter().sum::<u64>() as f64;
    assert!((0.08..0.12).contains(&ratio), "{ratio}");
}
