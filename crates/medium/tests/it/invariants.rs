//! What holds whatever comes: no frame is lost without a trace, time is accounted for, runs repeat.

use evenair_medium::{
    AccessCategory, AfterCollision, DropReason, Event, Limit, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, To,
};
use evenair_units::{Airtime, Bytes, Instant, Span, Streams};
use evenair_wifi::Standard;
use proptest::prelude::*;

use crate::{config, rate};

#[derive(Clone, Copy, Debug)]
enum Step {
    Send {
        from: usize,
        to: usize,
        msdu: u64,
        slow: bool,
    },
    Broadcast {
        from: usize,
    },
    Join {
        limit: u32,
    },
    Leave {
        node: usize,
    },
    /// Only where nodes may be hidden from each other.
    Hide {
        a: usize,
        b: usize,
    },
    Error {
        from: usize,
        to: usize,
        per_billion: u32,
    },
    Pause {
        us: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0..8usize, 0..8usize, 1..1_500u64, any::<bool>())
            .prop_map(|(from, to, msdu, slow)| Step::Send { from, to, msdu, slow }),
        2 => (0..8usize).prop_map(|from| Step::Broadcast { from }),
        1 => (1..20u32).prop_map(|limit| Step::Join { limit }),
        1 => (0..8usize).prop_map(|node| Step::Leave { node }),
        3 => (0..8usize, 0..8usize).prop_map(|(a, b)| Step::Hide { a, b }),
        1 => (0..8usize, 0..8usize, 0..1_000_000_000u32)
            .prop_map(|(from, to, per_billion)| Step::Error { from, to, per_billion }),
        10 => (0..3_000u64).prop_map(|us| Step::Pause { us }),
    ]
}

fn any_config() -> impl Strategy<Value = MediumConfig> {
    let after = prop_oneof![Just(AfterCollision::Eifs), Just(AfterCollision::Difs), Just(AfterCollision::DifsForAll)];
    (after, prop_oneof![Just(None), (0..1_500u64).prop_map(|bytes| Some(Bytes(bytes)))])
        .prop_map(|(after, rts_threshold)| MediumConfig { rts_threshold, ..config(Standard::Dot11b, after) })
}

/// Plays the steps, and checks at each that what went in came out or is queued.
struct World {
    medium: Medium<u64>,
    may_hide: bool,
    nodes: Vec<NodeId>,
    now: Instant,
    sent: u64,
    events: Vec<Event<u64>>,
}

impl World {
    fn new(config: MediumConfig, seed: u64, may_hide: bool) -> Self {
        let new = if may_hide { Medium::with_hidden_nodes } else { Medium::new };
        let mut medium = new(config, &Streams::new(seed));
        let buffers = [Limit::Packets(5), Limit::Bytes(Bytes(4_000)), Limit::Unlimited];
        let nodes = buffers.map(|buffer| medium.add_node(NodeConfig::dcf(buffer))).to_vec();
        Self { medium, may_hide, nodes, now: Instant::ZERO, sent: 0, events: vec![] }
    }

    fn play(&mut self, step: Step) {
        let pick = |index: usize| self.nodes[index % self.nodes.len()];
        match step {
            Step::Send { from, to, msdu, slow } => {
                let rate = rate(Standard::Dot11b, if slow { 1 } else { 11 });
                let mpdu = Mpdu {
                    to: To::Node(pick(to)),
                    msdu: Bytes(msdu),
                    rate,
                    category: AccessCategory::BestEffort,
                    frame: self.sent,
                };
                self.medium.handle_frame(self.now, pick(from), mpdu);
                self.sent += 1;
            }
            Step::Broadcast { from } => {
                let rate = rate(Standard::Dot11b, 11);
                let mpdu = Mpdu {
                    to: To::Broadcast,
                    msdu: Bytes(100),
                    rate,
                    category: AccessCategory::BestEffort,
                    frame: self.sent,
                };
                self.medium.handle_frame(self.now, pick(from), mpdu);
                self.sent += 1;
            }
            Step::Join { limit } => {
                self.nodes.push(self.medium.add_node(NodeConfig::dcf(Limit::Packets(limit))));
            }
            Step::Hide { a, b } if self.may_hide => self.medium.hide(pick(a), pick(b)),
            Step::Hide { .. } => {}
            Step::Leave { node } => self.medium.remove_node(self.now, pick(node)),
            Step::Error { from, to, per_billion } => self.medium.set_frame_error(pick(from), pick(to), per_billion),
            Step::Pause { us } => self.now += Span::from_micros(us),
        }
        self.medium.handle_timeout(self.now);
        self.check();
    }

    fn check(&mut self) {
        while let Some(event) = self.medium.poll_event() {
            self.events.push(event);
        }
        let queued: usize = self.nodes.iter().map(|&node| self.medium.queue(node).packets).sum();
        assert_eq!(self.sent as usize, self.events.len() + queued);
        let totals = self.medium.totals(self.now);
        assert_eq!(totals.busy + totals.contending + totals.idle, self.now - Instant::ZERO);
        self.medium.split_airtime(self.now);
        assert_measured_airtime_adds_up(&self.medium, &self.nodes, self.now);
        assert!(self.medium.poll_deadline().is_none_or(|at| at > self.now));
    }

    fn finish(mut self) -> Self {
        while let Some(at) = self.medium.poll_deadline() {
            self.now = at;
            self.medium.handle_timeout(at);
            self.check();
        }
        self
    }
}

/// Every instant has one line: an exchange of one node, back-off, or idle.
pub(crate) fn assert_measured_airtime_adds_up(medium: &Medium<u64>, nodes: &[NodeId], now: Instant) {
    let totals = medium.totals(now);
    let measured = totals.measured;
    let back_off = totals.contending - measured.contending_spaces;
    let idle = totals.idle - measured.idle_spaces;
    assert_eq!(measured.sent + back_off + idle, now - Instant::ZERO, "{totals:?}");
    let each: Vec<_> = nodes.iter().map(|&node| medium.counters(node).measured).collect();
    assert_eq!(each.iter().map(|node| node.sent).sum::<Span>(), measured.sent);
    assert_eq!(each.iter().map(|node| node.received + node.groups).sum::<Span>(), measured.sent);
    assert_eq!(each.iter().map(|node| node.groups).sum::<Span>(), measured.groups);
    assert!(measured.collisions <= measured.sent);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_is_lost_without_a_trace(
        config in any_config(), seed: u64, may_hide: bool, steps in prop::collection::vec(step(), 0..150),
    ) {
        let mut world = World::new(config.clone(), seed, may_hide);
        steps.iter().for_each(|&step| world.play(step));
        let world = world.finish();

        // Each frame once.
        let frame = |event: &Event<u64>| { let (Event::Delivered { frame, .. } | Event::Dropped { frame, .. }) = *event; frame };
        let mut frames: Vec<u64> = world.events.iter().map(frame).collect();
        frames.sort_unstable();
        prop_assert_eq!(frames, (0..world.sent).collect::<Vec<_>>());

        // In the order of time, and of each sender's queue.
        let at = |event: &Event<u64>| { let (Event::Delivered { at, .. } | Event::Dropped { at, .. }) = *event; at };
        prop_assert!(world.events.iter().map(at).is_sorted());
        for &node in &world.nodes {
            let delivered = world.events.iter().filter_map(|event| match event {
                Event::Delivered { from, frame, .. } if *from == node => Some(*frame),
                _ => None,
            });
            prop_assert!(delivered.is_sorted());
        }

        // Counters agree with events; each node's accesses have ended.
        for &node in &world.nodes {
            let counters = world.medium.counters(node);
            let count = |what: &dyn Fn(&Event<u64>) -> bool| world.events.iter().filter(|event| what(event)).count() as u64;
            let delivered = count(&|event| matches!(event, Event::Delivered { from, .. } if *from == node));
            let given_up = |why| count(&move |event| matches!(event, Event::Dropped { from, reason, .. } if *from == node && *reason == why));
            // One more was delivered where its ACK never came through.
            prop_assert!(counters.successes == delivered || may_hide && counters.successes < delivered);
            prop_assert_eq!(counters.retry_drops, given_up(DropReason::RetryLimit));
            prop_assert_eq!(counters.buffer_drops, given_up(DropReason::BufferFull));
            // One more where a node left with its frame on the air.
            let failed = counters.attempts - counters.successes - counters.collisions - counters.losses;
            prop_assert!(failed <= 1);
        }

        // The medium was busy for no longer than all nodes were on it.
        let airtime: Span = world.nodes.iter().map(|&node| { let Airtime(span) = world.medium.counters(node).airtime; span }).sum();
        prop_assert!(world.medium.totals(world.now).busy <= airtime);
    }

    #[test]
    fn the_same_seed_gives_the_same_run_and_late_calls_change_nothing(
        config in any_config(), seed: u64, may_hide: bool, steps in prop::collection::vec(step(), 0..100),
        late_us in 0..100_000u64,
    ) {
        let mut first = World::new(config.clone(), seed, may_hide);
        let mut second = World::new(config, seed, may_hide);
        for &step in &steps {
            first.play(step);
            second.play(step);
        }
        // One is driven from deadline to deadline, the other is called once, long after.
        let first = first.finish();
        second.now = first.now + Span::from_micros(late_us);
        second.medium.handle_timeout(second.now);
        second.check();
        prop_assert_eq!(first.events, second.events);
    }
}
