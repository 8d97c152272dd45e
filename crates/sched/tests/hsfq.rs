//! Fairness, work conservation and order of start-time fair queueing.

use std::collections::{BTreeMap, VecDeque};

use evenair_sched::{Hsfq, NodeId};
use evenair_units::Streams;
use proptest::prelude::*;

/// An item: its queue, its number in that queue, its length.
type Item = (usize, u64, u64);

fn serve_all(hsfq: &mut Hsfq<Item>, n: usize) -> Vec<Item> {
    (0..n).map_while(|_| hsfq.dequeue(|item| item.2)).map(|(_, item)| item).collect()
}

fn backlog(hsfq: &mut Hsfq<Item>, leaf: NodeId, queue: usize, n: u64, length: u64) {
    for k in 0..n {
        hsfq.enqueue(leaf, (queue, k, length));
    }
}

fn work(served: &[Item], queue: usize) -> u64 {
    served.iter().filter(|item| item.0 == queue).map(|item| item.2).sum()
}

#[test]
fn tags_of_a_hand_worked_example() {
    // Weights 1 and 2, lengths 4 and 4: start tags a: 0 4 8.., b: 0 2 4 6 8.. Ties go to the one that waits longer.
    let mut hsfq = Hsfq::new();
    let (a, b) = (hsfq.add(NodeId::ROOT, 1), hsfq.add(NodeId::ROOT, 2));
    backlog(&mut hsfq, a, 0, 3, 4);
    backlog(&mut hsfq, b, 1, 5, 4);
    let order: Vec<usize> = serve_all(&mut hsfq, 8).iter().map(|item| item.0).collect();
    assert_eq!(order, [0, 1, 1, 0, 1, 1, 0, 1]);
}

#[test]
fn an_arrival_during_service_gets_the_start_tag_in_service() {
    let mut hsfq = Hsfq::new();
    let (a, b) = (hsfq.add(NodeId::ROOT, 1), hsfq.add(NodeId::ROOT, 1));
    backlog(&mut hsfq, a, 0, 1, 100);
    assert_eq!(serve_all(&mut hsfq, 1)[0].0, 0);
    // `a` (finish tag 100) is in service, so V = 0: `b` starts at 0 and gets two packets of 50 before `a`.
    backlog(&mut hsfq, a, 0, 1, 100);
    backlog(&mut hsfq, b, 1, 3, 50);
    let order: Vec<usize> = serve_all(&mut hsfq, 4).iter().map(|item| item.0).collect();
    assert_eq!(order, [1, 1, 0, 1]);
}

#[test]
fn no_queue_has_credit_after_the_busy_period() {
    let mut hsfq = Hsfq::new();
    let (a, b) = (hsfq.add(NodeId::ROOT, 1), hsfq.add(NodeId::ROOT, 1));
    backlog(&mut hsfq, a, 0, 1, 100);
    serve_all(&mut hsfq, 1);
    hsfq.end_service();
    // V = 100 now: both start there, and alternate.
    backlog(&mut hsfq, a, 0, 2, 50);
    backlog(&mut hsfq, b, 1, 2, 50);
    let order: Vec<usize> = serve_all(&mut hsfq, 4).iter().map(|item| item.0).collect();
    assert_eq!(order, [0, 1, 0, 1]);
}

#[test]
fn shares_follow_the_tree() {
    // root: x (weight 1) with queues 0 (3) and 1 (1); y (weight 1) with queue 2. A queue that goes idle leaves its
    // share to its siblings.
    let mut hsfq = Hsfq::new();
    let (x, y) = (hsfq.add(NodeId::ROOT, 1), hsfq.add(NodeId::ROOT, 1));
    let leaves = [hsfq.add(x, 3), hsfq.add(x, 1), hsfq.add(y, 7)];
    for (queue, leaf) in leaves.into_iter().enumerate() {
        backlog(&mut hsfq, leaf, queue, 5000, 1000);
    }
    let served = serve_all(&mut hsfq, 8000);
    let shares: Vec<u64> = (0..3).map(|q| work(&served, q) / 1000).collect();
    assert_eq!(shares, [3000, 1000, 4000]);

    while hsfq.drop_head(leaves[2]).is_some() {}
    let served = serve_all(&mut hsfq, 2000);
    assert_eq!((work(&served, 0), work(&served, 1), work(&served, 2)), (1_500_000, 500_000, 0));
}

#[test]
fn tags_do_not_overflow_in_millennia() {
    // 100 lengths of 2^63 at weight one: at 10 Gb/s that is three thousand years of bits. Fairness holds to the end.
    let mut hsfq = Hsfq::new();
    let (a, b) = (hsfq.add(NodeId::ROOT, 1), hsfq.add(NodeId::ROOT, 2));
    backlog(&mut hsfq, a, 0, 100, 1 << 63);
    serve_all(&mut hsfq, 100);
    hsfq.end_service();
    backlog(&mut hsfq, a, 0, 1000, 12_000);
    backlog(&mut hsfq, b, 1, 2000, 12_000);
    let served = serve_all(&mut hsfq, 1500);
    assert_eq!((work(&served, 0), work(&served, 1)), (500 * 12_000, 1000 * 12_000));
}

#[test]
fn a_served_node_can_vanish_while_in_service() {
    let mut hsfq = Hsfq::new();
    let x = hsfq.add(NodeId::ROOT, 1);
    let a = hsfq.add(x, 1);
    backlog(&mut hsfq, a, 0, 1, 10);
    serve_all(&mut hsfq, 1);
    hsfq.remove(a);
    hsfq.remove(x);
    hsfq.end_service();
    let y = hsfq.add(NodeId::ROOT, 1);
    backlog(&mut hsfq, y, 1, 1, 10);
    assert_eq!(serve_all(&mut hsfq, 2), [(1, 0, 10)]);
}

#[test]
fn service_ahead_of_turn_delays_later_turns() {
    // Two stations of equal weight with a bulk queue each; the first has a second queue that is served ahead at each tenth
    // packet. The shares of the stations do not change.
    let mut hsfq = Hsfq::new();
    let stations = [hsfq.add(NodeId::ROOT, 1), hsfq.add(NodeId::ROOT, 1)];
    let bulk = stations.map(|station| hsfq.add(station, 1));
    let sparse = hsfq.add(stations[0], 1);
    backlog(&mut hsfq, bulk[0], 0, 2000, 1000);
    backlog(&mut hsfq, bulk[1], 1, 2000, 1000);
    let mut served = Vec::new();
    for k in 0..200 {
        hsfq.enqueue(sparse, (2, k, 1000));
        served.extend(hsfq.dequeue_ahead(sparse, |item| item.2));
        assert!(hsfq.lead(stations[0]) >= 1000 && hsfq.lead(stations[0]) <= 2000, "{}", hsfq.lead(stations[0]));
        served.extend(serve_all(&mut hsfq, 9));
    }
    let of_first = work(&served, 0) + work(&served, 2);
    assert_eq!(work(&served, 2), 200_000);
    assert!(of_first.abs_diff(work(&served, 1)) <= 2000, "{of_first} against {}", work(&served, 1));
}

#[test]
fn a_charge_costs_turns_of_the_node_and_of_none_above() {
    let mut hsfq = Hsfq::new();
    let (x, y) = (hsfq.add(NodeId::ROOT, 1), hsfq.add(NodeId::ROOT, 1));
    let leaves = [hsfq.add(x, 1), hsfq.add(x, 1), hsfq.add(y, 1)];
    for (queue, leaf) in leaves.into_iter().enumerate() {
        backlog(&mut hsfq, leaf, queue, 500, 100);
    }
    hsfq.charge(leaves[0], 10_000);
    let served = serve_all(&mut hsfq, 600);
    let work = [0, 1, 2].map(|queue| work(&served, queue));
    assert_eq!(work[0] + work[1], work[2], "the subtree is not charged");
    assert!((9_900..=10_100).contains(&(work[1] - work[0])), "{work:?}");
    // An idle node is charged as well, from now on and not for the past.
    let z = hsfq.add(NodeId::ROOT, 1);
    hsfq.charge(z, 5_000);
    backlog(&mut hsfq, z, 3, 200, 100);
    let served = serve_all(&mut hsfq, 98);
    assert_eq!(served.iter().filter(|item| item.0 == 3).count(), 0);
    assert!(serve_all(&mut hsfq, 20).iter().any(|item| item.0 == 3));
}

#[test]
fn siblings_share_the_turns_of_a_paused_node() {
    let mut hsfq = Hsfq::new();
    let (x, y) = (hsfq.add(NodeId::ROOT, 1), hsfq.add(NodeId::ROOT, 1));
    let leaves = [hsfq.add(x, 3), hsfq.add(x, 1), hsfq.add(y, 1)];
    for (queue, leaf) in leaves.into_iter().enumerate() {
        backlog(&mut hsfq, leaf, queue, 400, 1000);
    }
    hsfq.pause(leaves[0]);
    let served = serve_all(&mut hsfq, 100);
    assert_eq!([0, 1, 2].map(|queue| work(&served, queue) / 1000), [0, 50, 50]);
    hsfq.pause(x);
    assert!(hsfq.is_paused(leaves[1]) && hsfq.peek_below(x).is_none());
    let served = serve_all(&mut hsfq, 100);
    assert_eq!(work(&served, 2), 100_000);
    hsfq.resume(leaves[0]);
    assert!(hsfq.is_paused(leaves[0]));
    hsfq.resume(x);
    // From now on, and not for missed turns.
    let served = serve_all(&mut hsfq, 80);
    let [a, b, c] = [0, 1, 2].map(|queue| work(&served, queue) / 1000);
    assert!(a + b == 40 && c == 40 && (29..=31).contains(&a), "{a} {b} {c}");
    // While all of it is paused nothing is served; changes meanwhile keep the order.
    hsfq.pause(x);
    hsfq.pause(y);
    assert!(hsfq.dequeue(|item| item.2).is_none() && hsfq.peek().is_none() && hsfq.len() > 700);
    while hsfq.drop_head(leaves[2]).is_some() {}
    backlog(&mut hsfq, leaves[2], 2, 5, 1000);
    hsfq.resume(y);
    assert_eq!(serve_all(&mut hsfq, 100).len(), 5);
    hsfq.resume(x);
    assert_eq!(serve_all(&mut hsfq, usize::MAX).len(), 370 + 340);
}

#[test]
fn service_below_a_node_keeps_shares_and_bounds_the_lead() {
    let mut hsfq = Hsfq::new();
    let (x, y) = (hsfq.add(NodeId::ROOT, 1), hsfq.add(NodeId::ROOT, 1));
    let leaves = [hsfq.add(x, 3), hsfq.add(x, 1), hsfq.add(y, 1)];
    for (queue, leaf) in leaves.into_iter().enumerate() {
        backlog(&mut hsfq, leaf, queue, 2000, 100);
    }
    let served: Vec<_> =
        (0..800).filter_map(|_| hsfq.dequeue_below(x, 1000, |item| item.2)).map(|(_, item)| item).collect();
    assert_eq!([0, 1, 2].map(|queue| work(&served, queue)), [60_000, 20_000, 0]);
    assert!(hsfq.lead(x) <= 1000, "{}", hsfq.lead(x));
    // It is ahead by ten items, not by eight hundred.
    let served = serve_all(&mut hsfq, 210);
    assert!((1000..=1200).contains(&(work(&served, 2) - work(&served, 0) - work(&served, 1))));
}

/// Largest spread of `W_i/phi_i - W_j/phi_j` within intervals in which both queues are backlogged, against the bound of
/// theorem 1. Everything is multiplied by both weights to stay in integers.
struct FairnessWatch {
    weights: [u64; 2],
    longest: [u64; 2],
    work: [u64; 2],
    low: i128,
    high: i128,
}

impl FairnessWatch {
    fn lag(&self) -> i128 {
        i128::from(self.work[0]) * i128::from(self.weights[1]) - i128::from(self.work[1]) * i128::from(self.weights[0])
    }

    fn restart(&mut self) {
        self.low = self.lag();
        self.high = self.low;
    }

    fn observe(&mut self) {
        self.low = self.low.min(self.lag());
        self.high = self.high.max(self.lag());
    }

    fn holds(&self) -> bool {
        let bound = self.longest[0] * self.weights[1] + self.longest[1] * self.weights[0];
        // One unit of slack: tags are rounded down to 2^-56.
        self.high - self.low <= i128::from(bound) + 1
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Random arrivals and random server speed: the bound holds for the pair at every level, each queue stays in order,
    /// the server never idles while something is held, and nothing is lost.
    #[test]
    fn fair_in_order_and_work_conserving(seed: u64, weights in proptest::array::uniform4(1u64..2000)) {
        let mut rng = Streams::new(seed).stream("hsfq");
        let mut hsfq = Hsfq::new();
        let (x, y) = (hsfq.add(NodeId::ROOT, weights[2]), hsfq.add(NodeId::ROOT, weights[3]));
        let leaves = [hsfq.add(x, weights[0]), hsfq.add(x, weights[1]), hsfq.add(y, 1)];
        let mut model: [VecDeque<Item>; 3] = Default::default();
        let mut sent = [0u64; 3];
        let longest = 12_000;
        let watch = |weights| FairnessWatch { weights, longest: [longest; 2], work: [0; 2], low: 0, high: 0 };
        let mut siblings = watch([weights[0], weights[1]]);
        let mut classes = watch([weights[2], weights[3]]);

        for _ in 0..4000 {
            let queue = rng.below(3) as usize;
            match rng.below(5) {
                0..=1 => {
                    let item = (queue, sent[queue], 1 + rng.below(longest));
                    sent[queue] += 1;
                    model[queue].push_back(item);
                    hsfq.enqueue(leaves[queue], item);
                }
                2 if rng.below(20) == 0 => prop_assert_eq!(hsfq.drop_head(leaves[queue]), model[queue].pop_front()),
                2 if hsfq.is_empty() => hsfq.end_service(),
                _ => {
                    let before = hsfq.len();
                    let expected = hsfq.peek().map(|(leaf, item)| (leaf, *item));
                    let got = hsfq.dequeue(|item| item.2);
                    prop_assert_eq!(got, expected);
                    prop_assert_eq!(got.is_none(), before == 0, "the server rests only when nothing is held");
                    if let Some((_, item)) = got {
                        prop_assert_eq!(Some(item), model[item.0].pop_front(), "order in the queue");
                        if item.0 < 2 { siblings.work[item.0] += item.2; }
                        classes.work[usize::from(item.0 == 2)] += item.2;
                        siblings.observe();
                        classes.observe();
                        prop_assert!(siblings.holds() && classes.holds());
                    }
                }
            }
            let held: [bool; 3] = std::array::from_fn(|q| !model[q].is_empty());
            if !(held[0] && held[1]) { siblings.restart(); }
            if !((held[0] || held[1]) && held[2]) { classes.restart(); }
            prop_assert_eq!(hsfq.len(), model.iter().map(VecDeque::len).sum::<usize>());
        }
    }

    /// Queues appear and vanish at run time; every item comes out, once, in order.
    #[test]
    fn nodes_come_and_go(seed: u64) {
        let mut rng = Streams::new(seed).stream("come and go");
        let mut hsfq: Hsfq<Item> = Hsfq::new();
        let mut leaves: BTreeMap<usize, (NodeId, NodeId)> = BTreeMap::new();
        let mut model: BTreeMap<usize, VecDeque<Item>> = BTreeMap::new();
        for step in 0..2000u64 {
            let name = rng.below(12) as usize;
            match rng.below(6) {
                0..=2 => {
                    let (_, leaf) = *leaves.entry(name).or_insert_with(|| {
                        let inner = hsfq.add(NodeId::ROOT, 1 + rng.below(9));
                        (inner, hsfq.add(inner, 1 + rng.below(9)))
                    });
                    hsfq.enqueue(leaf, (name, step, 100));
                    model.entry(name).or_default().push_back((name, step, 100));
                }
                3 => {
                    if let Some((inner, leaf)) = leaves.remove(&name) {
                        let odd = hsfq.take(leaf, |item| item.1 % 2 == 1);
                        let even = hsfq.take(leaf, |_| true);
                        prop_assert!(odd.iter().is_sorted() && even.iter().is_sorted(), "their order stays");
                        let mut all: Vec<Item> = odd.into_iter().chain(even).collect();
                        all.sort_unstable();
                        for item in all {
                            prop_assert_eq!(Some(item), model.get_mut(&name).and_then(VecDeque::pop_front));
                        }
                        hsfq.remove(leaf);
                        hsfq.remove(inner);
                    }
                }
                _ => {
                    let got = hsfq.dequeue(|item| item.2).map(|(_, item)| item);
                    let expected = got.and_then(|item| model.get_mut(&item.0).and_then(VecDeque::pop_front));
                    prop_assert_eq!(got, expected);
                }
            }
            prop_assert_eq!(hsfq.len(), model.values().map(VecDeque::len).sum::<usize>());
        }
    }

    /// Nodes are paused and resumed, and served out of turn: paused nodes are not served, others are, and every item comes
    /// out, once, in order.
    #[test]
    fn pauses_lose_nothing_and_hold_nothing_else_back(seed: u64) {
        let mut rng = Streams::new(seed).stream("pauses");
        let mut hsfq: Hsfq<Item> = Hsfq::new();
        let inner = [hsfq.add(NodeId::ROOT, 3), hsfq.add(NodeId::ROOT, 1)];
        let leaves = [hsfq.add(inner[0], 1), hsfq.add(inner[0], 5), hsfq.add(inner[1], 1)];
        let nodes = [inner[0], inner[1], leaves[0], leaves[1], leaves[2]];
        let mut model: [VecDeque<Item>; 3] = Default::default();
        for step in 0..3000u64 {
            let queue = rng.below(3) as usize;
            let got = match rng.below(8) {
                0..=2 => {
                    hsfq.enqueue(leaves[queue], (queue, step, 1 + rng.below(500)));
                    model[queue].push_back(*hsfq.queue(leaves[queue]).back().unwrap());
                    continue;
                }
                3 => {
                    hsfq.pause(nodes[rng.below(5) as usize]);
                    continue;
                }
                4 => {
                    hsfq.resume(nodes[rng.below(5) as usize]);
                    continue;
                }
                5 if rng.below(4) == 0 => hsfq.drop_head(leaves[queue]).map(|item| (leaves[queue], item)),
                5 => hsfq.dequeue_below(nodes[rng.below(5) as usize], 700, |item| item.2),
                _ => {
                    let free = (0..3).any(|queue| !model[queue].is_empty() && !hsfq.is_paused(leaves[queue]));
                    let got = hsfq.dequeue(|item| item.2);
                    prop_assert_eq!(got.is_some(), free);
                    prop_assert!(got.is_none_or(|(leaf, _)| !hsfq.is_paused(leaf)));
                    got
                }
            };
            if let Some((leaf, item)) = got {
                prop_assert_eq!(leaf, leaves[item.0]);
                prop_assert_eq!(Some(item), model[item.0].pop_front());
            }
        }
        nodes.into_iter().for_each(|node| hsfq.resume(node));
        while let Some((_, item)) = hsfq.dequeue(|item| item.2) {
            prop_assert_eq!(Some(item), model[item.0].pop_front());
        }
        prop_assert!(hsfq.is_empty() && model.iter().all(VecDeque::is_empty));
    }
}
