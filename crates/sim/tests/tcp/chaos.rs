//! Transfers through a pipe that loses, delays, duplicates and reorders: everything arrives, once and in order.

use evenair_sim::tcp::{Algorithm, Config, Growth, LossRecovery, State};
use evenair_units::{BitRate, Bytes, Instant, Rng, Span, Streams};
use proptest::prelude::*;

use crate::net::{Fate, Net, Side};

#[derive(Clone, Debug)]
struct Chaos {
    loss: u32,
    reorder: u32,
    duplicate: u32,
    spread_ms: u64,
    seed: u64,
}

impl Chaos {
    fn fates(&self, name: &str) -> impl FnMut(&evenair_sim::tcp::Segment) -> Fate + 'static {
        let (chaos, mut rng): (Self, Rng) = (self.clone(), Streams::new(self.seed).stream(name));
        move |_| {
            let late = Span::from_micros(rng.below(chaos.spread_ms * 1_000 + 1));
            if rng.chance(chaos.loss) {
                Fate::Drop
            } else if rng.chance(chaos.duplicate) {
                Fate::Twice(late)
            } else if rng.chance(chaos.reorder) {
                Fate::Late(late)
            } else {
                Fate::Deliver
            }
        }
    }
}

fn chaos() -> impl Strategy<Value = Chaos> {
    (0..350_000_000u32, 0..500_000_000u32, 0..300_000_000u32, 1..200u64, any::<u64>())
        .prop_map(|(loss, reorder, duplicate, spread_ms, seed)| Chaos { loss, reorder, duplicate, spread_ms, seed })
}

fn config() -> impl Strategy<Value = Config> {
    let recovery = prop_oneof![
        Just(LossRecovery::Reno),
        Just(LossRecovery::NewReno),
        Just(LossRecovery::Sack),
        Just(LossRecovery::SackPrr),
        Just(LossRecovery::Rack)
    ];
    let algorithm = prop_oneof![
        Just(Algorithm::Reno),
        Just(Algorithm::Cubic { fast_convergence: true, hystart: true }),
        Just(Algorithm::Cubic { fast_convergence: false, hystart: false }),
        Just(Algorithm::LinuxCubic { hystart: true })
    ];
    let growth =
        prop_oneof![Just(Growth::PerAck), (1..5u32).prop_map(|limit| Growth::Bytes { limit }), Just(Growth::Delivered)];
    (recovery, algorithm, growth, any::<[bool; 4]>(), 1..4u32, 1_500..200_000u64, 100..1_460u16).prop_map(
        |(recovery, algorithm, growth, [timestamps, scaling, limited, idle], acks, buffer, mss)| {
            let mut config = Config {
                recovery,
                algorithm,
                growth,
                timestamps,
                window_scaling: scaling,
                limited_transmit: limited,
                idle_restart: idle,
                mss,
                syn_retries: 100,
                data_retries: 100,
                receive_buffer: Bytes(buffer),
                ..Config::rfc()
            };
            config.ack.segments = acks;
            config.rto.max = Span::from_secs(4);
            config
        },
    )
}

fn transfer(configs: [Config; 2], chaos: &Chaos, bytes: [u64; 2]) -> Net {
    let mut net = Net::with(&configs[0], &configs[1]).path(BitRate::from_mbps(5), Span::from_millis(10), 50);
    net.lanes[0].fate = Box::new(chaos.fates("a"));
    net.lanes[1].fate = Box::new(chaos.fates("b"));
    net.keep_sent = false;
    for (end, bytes) in net.ends.iter_mut().zip(bytes) {
        end.write(Bytes(bytes));
        end.close();
    }
    net.run_while(Span::from_secs(100_000), |net| net.ends.iter().any(|end| end.state() != State::Closed));
    net
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn everything_arrives_once_and_in_order(
        a in config(),
        b in config(),
        chaos in chaos(),
        to_b in 0..300_000u64,
        to_a in prop_oneof![Just(0u64), 0..100_000u64],
    ) {
        let net = transfer([a, b], &chaos, [to_b, to_a]);
        prop_assert_eq!(net.ends[1].stats().bytes_received, to_b);
        prop_assert_eq!(net.ends[0].stats().bytes_received, to_a);
        // The end that closed first may find the other one gone; otherwise both close normally.
        prop_assert!(net.ends.iter().all(|end| end.state() == State::Closed));
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let chaos = Chaos { loss: 50_000_000, reorder: 100_000_000, duplicate: 50_000_000, spread_ms: 20, seed: 11 };
    let run = || {
        let mut net = Net::new(&Config::linux()).path(BitRate::from_mbps(5), Span::from_millis(10), 50);
        net.lanes[0].fate = Box::new(chaos.fates("a"));
        net.a().write(Bytes(1_000_000));
        net.run_for(Span::from_secs(60));
        net.sent
    };
    let (first, second) = (run(), run());
    assert!(first.len() > 700);
    assert_eq!(first, second);
}

#[test]
fn a_transfer_survives_a_long_outage() {
    let mut net = Net::new(&Config::linux()).path(BitRate::from_mbps(5), Span::from_millis(10), 50);
    net.a().write(Bytes(2_000_000));
    net.run_until(Instant::from_nanos(1_000_000_000));
    net.lanes[0].fate = Box::new(|_| Fate::Drop);
    net.run_for(Span::from_secs(60));
    net = net.fate(Side::A, |_| Fate::Deliver);
    net.run_for(Span::from_secs(120));
    assert_eq!(net.received_by_b(), 2_000_000);
}
