//! Token bucket and rate meter against their closed forms.

use evenair_sched::{BucketConfig, RateMeter, TokenBucket};
use evenair_units::{BitRate, Bytes, Instant, Rng, Span, Streams};
use proptest::prelude::*;

const PACKET: Bytes = Bytes(1500);

fn rng() -> Rng {
    Streams::new(5).stream("bucket")
}

fn bucket(packets: u64, threshold_permille: u32, kbps: u64) -> TokenBucket {
    let config = BucketConfig { depth: Bytes(packets * PACKET.0), threshold_permille };
    TokenBucket::new(config, BitRate::from_kbps(kbps), Instant::ZERO)
}

/// Number of packets that pass out of a constant load of `kbps` over `span`.
fn passed(bucket: &mut TokenBucket, kbps: u64, from: Instant, span: Span, rng: &mut Rng) -> u64 {
    let gap = BitRate::from_kbps(kbps).time_for(PACKET);
    let mut now = from;
    let mut passed = 0;
    while now < from + span {
        passed += u64::from(bucket.admits(now, PACKET, rng));
        now += gap;
    }
    passed
}

#[test]
fn a_full_bucket_passes_its_depth_at_once_and_then_its_rate() {
    let (mut bucket, mut rng) = (bucket(10, 0, 1_200), rng());
    let burst = (0..20).filter(|_| bucket.admits(Instant::ZERO, PACKET, &mut rng)).count();
    assert_eq!(burst, 10);
    // 1200 kb/s are a packet of 12,000 bits every 10 ms.
    let at = |ms| Instant::ZERO + Span::from_millis(ms);
    assert!(!bucket.admits(at(9), PACKET, &mut rng));
    assert!(bucket.admits(at(10), PACKET, &mut rng));
    assert!(!bucket.admits(at(19), PACKET, &mut rng));
    assert!(bucket.admits(at(20), PACKET, &mut rng));
    bucket.charge(at(30), Bytes(100_000));
    assert_eq!(bucket.level_bits(at(30)), 0);
    assert_eq!(bucket.level_bits(at(1_000_000)), 120_000, "no more than its depth");
}

#[test]
fn a_saturated_source_gets_the_rate() {
    let (mut bucket, mut rng) = (bucket(5, 0, 2_000), rng());
    let passed = passed(&mut bucket, 9_000, Instant::ZERO, Span::from_secs(60), &mut rng);
    // 5 packets, and 2 Mb/s for 60 s.
    assert!((10_004..=10_005).contains(&passed), "{passed}");
}

#[test]
fn the_smoothed_level_is_in_equilibrium_at_threshold_over_load() {
    for load in [2u64, 4] {
        let (mut bucket, mut rng) = (bucket(500, 900, 2_000), rng());
        let settled = Span::from_secs(60);
        passed(&mut bucket, 2_000 * load, Instant::ZERO, settled, &mut rng);
        let mut levels = 0;
        let mut now = Instant::ZERO + settled;
        let (rounds, step) = (200u64, Span::from_secs(1));
        let mut packets = 0;
        for _ in 0..rounds {
            packets += passed(&mut bucket, 2_000 * load, now, step, &mut rng);
            now += step;
            levels += bucket.level_bits(now) / PACKET.bits();
        }
        let (level, expected) = (levels / rounds, 450 / load);
        assert!(
            level.abs_diff(expected) * 20 <= expected,
            "{level} and not {expected} packets at {load} times the rate"
        );
        // It passes its rate nevertheless: 2 Mb/s for 200 s.
        assert!(packets.abs_diff(33_333) < 333, "{packets}");
    }
}

#[test]
fn a_smoothed_bucket_above_its_threshold_drops_nothing_until_it_is_cut() {
    let mut bucket = bucket(100, 900, 1_000);
    assert_eq!(bucket.loss_per_billion(Instant::ZERO), 0);
    bucket.charge(Instant::ZERO, Bytes(55 * PACKET.0));
    assert_eq!(bucket.loss_per_billion(Instant::ZERO), 500_000_000, "half of the threshold is left");
    let mut full = self::bucket(100, 900, 1_000);
    full.cut_to_threshold(Instant::ZERO);
    assert_eq!(full.level_bits(Instant::ZERO), 90 * PACKET.bits());
    let mut plain = self::bucket(100, 0, 1_000);
    plain.cut_to_threshold(Instant::ZERO);
    assert_eq!((plain.level_bits(Instant::ZERO), plain.loss_per_billion(Instant::ZERO)), (100 * PACKET.bits(), 0));
}

#[test]
fn another_rate_or_depth_keeps_the_tokens() {
    let mut bucket = bucket(100, 0, 1_200);
    bucket.charge(Instant::ZERO, Bytes(100 * PACKET.0));
    let at = |ms| Instant::ZERO + Span::from_millis(ms);
    bucket.set_rate(at(100), BitRate::from_kbps(12_000));
    assert_eq!(bucket.level_bits(at(100)), 10 * PACKET.bits(), "of the old rate");
    assert_eq!(bucket.level_bits(at(110)), 20 * PACKET.bits());
    bucket.set_config(at(110), BucketConfig { depth: Bytes(15 * PACKET.0), threshold_permille: 500 });
    assert_eq!(bucket.level_bits(at(110)), 15 * PACKET.bits());
}

#[test]
fn invalid_configurations_are_refused() {
    let sound = |depth, threshold_permille| BucketConfig { depth: Bytes(depth), threshold_permille }.is_sound();
    assert!(sound(1, 0) && sound(1 << 30, 1_000));
    assert!(!sound(0, 0) && !sound((1 << 30) + 1, 0) && !sound(1_500, 1_001));
    // The deepest and fastest do not overflow.
    let config = BucketConfig { depth: BucketConfig::MAX_DEPTH, threshold_permille: 1_000 };
    let mut bucket = TokenBucket::new(config, BitRate::from_bps(u64::MAX), Instant::ZERO);
    assert_eq!(bucket.level_bits(Instant::MAX), BucketConfig::MAX_DEPTH.bits());
    assert!(!bucket.admits(Instant::MAX, Bytes(u64::MAX / 8), &mut rng()));
}

#[test]
fn the_meter_converges_to_the_rate_and_forgets_it() {
    let memory = Span::from_millis(600);
    let mut meter = RateMeter::new(memory, Instant::ZERO);
    let mut now = Instant::ZERO;
    // 12,000 bits every 5 ms.
    for n in 1..=2_000u64 {
        now = Instant::ZERO + Span::from_millis(5 * n);
        meter.note(now, PACKET);
        if n == 120 {
            // After k packets the estimate is 1 - (1 - 5/600)^k of the rate.
            let expected = 2_400.0 * (1.0 - (1.0f64 - 5.0 / 600.0).powi(120));
            let found = meter.rate(now).as_mbps_f64() * 1e3;
            assert!((found - expected).abs() < 0.1, "{found} and not {expected}");
        }
    }
    assert!(meter.rate(now).as_bps().abs_diff(2_400_000) < 10, "{:?}", meter.rate(now));
    let half = now + Span::from_millis(300);
    assert!(meter.rate(half).as_bps().abs_diff(1_200_000) < 10);
    assert_eq!(meter.rate(now + memory), BitRate::ZERO);
    meter.note(now + memory * 9, PACKET);
    assert_eq!(meter.rate(now + memory * 9).as_bps(), 20_000, "12,000 bits in a memory");
    // Several at one instant.
    meter.note(now + memory * 9, PACKET);
    assert_eq!(meter.rate(now + memory * 9).as_bps(), 40_000);
}

proptest! {
    /// Over any time no more passes than depth and rate allow, smoothed or not; and the plain bucket drops no packet
    /// for which there are tokens.
    #[test]
    fn no_more_passes_than_depth_and_rate(
        depth in 1u64..200_000,
        threshold in 0u32..=1_000,
        kbps in 1u64..10_000,
        packets in proptest::collection::vec((0u64..20_000_000, 1u64..3_000), 1..300),
    ) {
        let config = BucketConfig { depth: Bytes(depth), threshold_permille: threshold };
        let rate = BitRate::from_kbps(kbps);
        let mut bucket = TokenBucket::new(config, rate, Instant::ZERO);
        let mut rng = rng();
        let mut now = Instant::ZERO;
        // The plain bucket, with floating-point tokens.
        let mut level = (depth * 8) as f64;
        let mut passed: Vec<(Instant, u64)> = Vec::new();
        for (gap, size) in packets {
            now += Span::from_nanos(gap);
            level = (level + kbps as f64 * gap as f64 / 1e6).min((depth * 8) as f64);
            let passes = bucket.admits(now, Bytes(size), &mut rng);
            if threshold == 0 && (level - (size * 8) as f64).abs() > 1e-3 {
                prop_assert_eq!(passes, level >= (size * 8) as f64);
            }
            if passes {
                level -= (size * 8) as f64;
                passed.push((now, size * 8));
            }
        }
        for (i, &(from, _)) in passed.iter().enumerate() {
            let mut bits = 0;
            for &(at, size) in &passed[i..] {
                bits += size;
                let allowed = depth * 8 + (u128::from(rate.as_bps())
                    * u128::from(at.saturating_since(from).as_nanos()) / 1_000_000_000) as u64;
                prop_assert!(bits <= allowed + 1, "{} bits and not {}", bits, allowed);
            }
        }
    }
}
