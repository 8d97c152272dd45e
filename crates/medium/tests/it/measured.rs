//! Measured airtime: closed forms, the split of collisions, and sums among random nodes of all kinds.

use evenair_medium::{
    AccessCategory, AfterCollision, Beacons, Limit, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, Obss, To,
};
use evenair_units::{Bytes, Instant, Span, Streams};
use evenair_wifi::Standard;
use proptest::prelude::*;

use crate::invariants::assert_measured_airtime_adds_up;
use crate::{config, rate, unlimited};

const SIZE: Bytes = Bytes(1_500);

fn mpdu(to: NodeId, mbps: u64, frame: u64) -> Mpdu<u64> {
    let (rate, category) = (rate(Standard::Dot11b, mbps), AccessCategory::BestEffort);
    Mpdu { to: To::Node(to), msdu: SIZE, rate, category, frame }
}

/// Lets all happen until nothing is left to send; when that is.
fn run_out(medium: &mut Medium<u64>) -> Instant {
    let mut now = Instant::ZERO;
    while let Some(at) = medium.poll_deadline() {
        now = at;
        medium.handle_timeout(at);
    }
    medium.split_airtime(now);
    now
}

/// Both engines.
fn media(config: &MediumConfig) -> [Medium<u64>; 2] {
    [Medium::new, Medium::with_hidden_nodes].map(|new| new(config.clone(), &Streams::new(1)))
}

#[test]
fn one_saturated_sender_takes_what_the_closed_form_says() {
    const FRAMES: u64 = 500;
    for rts_threshold in [None, Some(Bytes(500))] {
        let config = MediumConfig { rts_threshold, ..config(Standard::Dot11b, AfterCollision::Eifs) };
        for mut medium in media(&config) {
            let [ap, station] = [(); 2].map(|()| medium.add_node(unlimited()));
            // Long after the medium fell silent: the first access has its inter-frame space behind it.
            let start = Instant::ZERO + Span::from_millis(1);
            (0..FRAMES).for_each(|frame| medium.handle_frame(start, ap, mpdu(station, 11, frame)));
            let end = run_out(&mut medium);
            let cost = config.phy.access_cost(SIZE, rate(Standard::Dot11b, 11), rts_threshold.is_some()).0;
            let taken = (cost - config.phy.mean_backoff()) * FRAMES;
            let [ap, station] = [ap, station].map(|node| medium.counters(node).measured);
            assert_eq!((station.received, station.sent, station.collided()), (taken, Span::ZERO, Span::ZERO));
            assert_eq!((ap.sent, ap.received), (taken, Span::ZERO));
            let totals = medium.totals(end);
            let back_off = totals.contending - totals.measured.contending_spaces;
            assert_eq!(taken + back_off + totals.idle - totals.measured.idle_spaces, end - Instant::ZERO);
        }
    }
}

#[test]
fn senders_share_the_time_of_their_collision_and_the_longer_frame_the_rest() {
    // Without a draw both send at the end of the same slot, at two rates, and the second attempts do not count here.
    let config = MediumConfig { short_retry_limit: 1, ..config(Standard::Dot11b, AfterCollision::Eifs) };
    for mut medium in media(&config) {
        let [ap, near, far] = [(); 3].map(|()| medium.add_node(unlimited()));
        medium.handle_frame(Instant::ZERO, near, mpdu(ap, 11, 0));
        medium.handle_frame(Instant::ZERO, far, mpdu(ap, 1, 1));
        let end = run_out(&mut medium);
        assert_eq!(medium.totals(end).collisions, 1);
        let [short, long] = [11, 1].map(|mbps| config.phy.data(SIZE, rate(Standard::Dot11b, mbps)));
        let [near, far] = [near, far].map(|node| medium.counters(node).measured);
        assert_eq!(near.collided(), near.sent);
        assert!(near.sent >= short / 2 && near.sent <= (short + config.phy.difs()) / 2 + Span::from_nanos(1));
        assert_eq!(far.sent + near.sent, medium.totals(end).measured.sent);
        assert_eq!(far.sent - near.sent, long - short);
        assert_eq!(medium.counters(ap).measured.received, near.sent + far.sent);
    }
}

#[test]
fn hidden_senders_share_the_time_in_which_they_overlap() {
    let config = MediumConfig { short_retry_limit: 1, ..config(Standard::Dot11b, AfterCollision::Eifs) };
    let mut medium = Medium::with_hidden_nodes(config.clone(), &Streams::new(1));
    let [ap, a, b] = [(); 3].map(|()| medium.add_node(unlimited()));
    medium.hide(a, b);
    let late = Instant::ZERO + Span::from_millis(4);
    medium.handle_frame(Instant::ZERO, a, mpdu(ap, 1, 0));
    medium.handle_frame(late, b, mpdu(ap, 1, 1));
    let end = run_out(&mut medium);
    let [a, b] = [a, b].map(|node| medium.counters(node).measured);
    assert!(a.collided() > Span::ZERO && a.collided() < a.sent, "{a:?}");
    assert_eq!((a.collided(), b.collided()), (b.collided(), a.collided()));
    let measured = medium.totals(end).measured;
    assert_eq!((a.sent + b.sent, a.collided() + b.collided()), (measured.sent, measured.collisions));
}

/// One frame: when, since the last one; from whom and to whom; of which category; how long.
type Arrival = (u64, usize, usize, usize, u64);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap_us = prop_oneof![3 => Just(0), 3 => 0..300u64, 1 => 0..20_000u64];
    prop::collection::vec((gap_us, 0..6usize, 1..7usize, 0..4usize, 1..1_500u64), 1..150)
}

/// What there may be in a network of several kinds of nodes.
#[derive(Clone, Copy, Debug)]
struct AnyNetwork {
    /// Nodes may be hidden from each other.
    may_hide: bool,
    /// Which nodes have EDCA: one bit each.
    edca: u32,
    beacons: bool,
    /// An overlapping BSS.
    obss: bool,
    /// RTS before long frames.
    rts: bool,
}

fn any_network() -> impl Strategy<Value = AnyNetwork> {
    let parts = (any::<bool>(), 0..64u32, any::<[bool; 3]>());
    parts.prop_map(|(may_hide, edca, [beacons, obss, rts])| AnyNetwork { may_hide, edca, beacons, obss, rts })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With EDCA and its TXOPs, beacons, a network of others, losses, stations that leave, and hidden ones.
    #[test]
    fn lines_add_up_among_nodes_of_all_kinds(
        seed: u64, network in any_network(), error in 0..500_000_000u32, leaves in 0..150usize, arrivals in arrivals(),
    ) {
        let AnyNetwork { may_hide, edca, beacons, obss, rts } = network;
        let rts_threshold = rts.then_some(Bytes(700));
        let config = MediumConfig { rts_threshold, ..config(Standard::Dot11g, AfterCollision::Eifs) };
        let set = config.phy.default_edca();
        let new = if may_hide { Medium::with_hidden_nodes } else { Medium::new };
        let mut medium: Medium<u64> = new(config, &Streams::new(seed));
        let mut nodes: Vec<_> = (0..6).map(|id| medium.add_node(match edca & (1 << id) {
            0 => NodeConfig::dcf(Limit::Packets(20)),
            _ => NodeConfig::edca(Limit::Packets(20), set),
        })).collect();
        medium.set_frame_error(nodes[0], nodes[1], error);
        if may_hide {
            medium.hide(nodes[2], nodes[3]);
        }
        if beacons {
            medium.send_beacons(nodes[0], Beacons { interval: Span::from_millis(5), dtim_period: 2 });
        }
        if obss {
            let what = Obss {
                msdu: Bytes(1_000), rate: rate(Standard::Dot11g, 6), gap: Span::from_millis(3),
                start: Instant::ZERO, stop: Instant::ZERO + Span::from_secs(1),
            };
            nodes.extend(medium.add_obss(what));
        }
        let mut now = Instant::ZERO;
        for (frame, &(gap_us, from, offset, category, msdu)) in arrivals.iter().enumerate() {
            now += Span::from_micros(gap_us);
            if frame == leaves {
                medium.remove_node(now, nodes[5]);
            }
            let to = if offset == 6 { To::Broadcast } else { To::Node(nodes[(from + offset) % 6]) };
            let (rate, category) = (rate(Standard::Dot11g, 54), AccessCategory::ALL[category]);
            let mpdu = Mpdu { to, msdu: Bytes(msdu), rate, category, frame: frame as u64 };
            medium.handle_frame(now, nodes[from], mpdu);
            if frame % 7 == 0 {
                medium.split_airtime(now);
                assert_measured_airtime_adds_up(&medium, &nodes, now);
            }
        }
        now += Span::from_millis(50);
        medium.handle_timeout(now);
        medium.split_airtime(now);
        assert_measured_airtime_adds_up(&medium, &nodes, now);
        let neighbours: Span = nodes[6..].iter().map(|&node| medium.counters(node).measured.sent).sum();
        prop_assert_eq!(medium.totals(now).measured.neighbours, neighbours);
    }
}
