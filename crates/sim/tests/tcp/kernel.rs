//! Loss recovery compared with Linux. The kernel's figures are of Linux 6.18 between two network namespaces, joined by the
//! same pipe in user space: losses, drops of its drop-tail buffer, retransmissions.

use evenair_sim::tcp::{Algorithm, Config, Stats};
use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::net::Net;

/// Payload of a full segment with timestamps.
const PAYLOAD: u64 = 1_448;

fn linux(algorithm: Algorithm) -> Config {
    Config { algorithm, ..Config::linux() }
}

const CUBIC: Algorithm = Algorithm::LinuxCubic { hystart: true };

/// Transfers this many segments; returns the end state and the duration in seconds.
fn transfer(mut net: Net, segments: u64) -> (Net, Stats, f64) {
    net.keep_sent = false;
    net.a().write(Bytes(segments * PAYLOAD));
    net.run_while(Span::from_secs(100), |net| net.received_by_b() < segments * PAYLOAD);
    assert_eq!(net.received_by_b(), segments * PAYLOAD);
    let seconds = (net.now - Instant::ZERO).as_secs_f64();
    net.run_for(Span::from_secs(1));
    let stats = *net.ends[0].stats();
    (net, stats, seconds)
}

/// In each of twelve such transfers the kernel retransmitted as many segments as the buffer had dropped, and its timer
/// never expired.
#[test]
fn only_the_drops_of_a_full_buffer_are_retransmitted_once_each() {
    let paths = [(20, 20, 60), (20, 20, 20), (50, 10, 100), (10, 50, 30), (30, 5, 20), (20, 40, 200)];
    for algorithm in [Algorithm::Reno, CUBIC] {
        for (mbps, ms, buffer) in paths {
            let net = Net::new(&linux(algorithm)).path(BitRate::from_mbps(mbps), Span::from_millis(ms), buffer);
            let (net, stats, _) = transfer(net, 20_000);
            let dropped = net.lanes[0].tail_drops;
            let case = format!("{algorithm:?}, {mbps} Mb/s, {ms} ms, {buffer} packets");
            assert!(dropped > 5, "{case}: {dropped}");
            assert_eq!((stats.retransmissions, stats.timeouts), (dropped, 0), "{case}");
        }
    }
}

/// How often segment `n` of the stream is lost: a fixed pattern that loses `permille` of all transmissions.
fn losses(n: u64, permille: u64) -> usize {
    let is_lost = |time: u64| {
        let mixed = n.wrapping_mul(2_654_435_761).wrapping_add((time + 1) * 40_503 * 65_537);
        ((mixed & 0xffff_ffff) >> 8) % 1_000 < permille
    };
    (0..).take_while(|&time| is_lost(time)).count()
}

fn with_losses(algorithm: Algorithm, permille: u64, segments: u64) -> (Stats, u64, f64) {
    let lost: Vec<u64> =
        (0..segments).flat_map(|n| std::iter::repeat_n(1 + n * PAYLOAD, losses(n, permille))).collect();
    let count = lost.len() as u64;
    let net = Net::new(&linux(algorithm)).path(BitRate::from_mbps(20), Span::from_millis(20), 1_000);
    let (_, stats, seconds) = transfer(net.lose_once(lost), segments);
    (stats, count, seconds)
}

#[test]
fn chosen_losses_are_repaired_as_by_the_kernel() {
    // Losses in a thousand; the kernel's fast recoveries and its time in seconds: means of three runs and of two.
    for (algorithm, permille, recoveries, kernel_s) in [
        (Algorithm::Reno, 2, 5.0, 4.79),
        (Algorithm::Reno, 10, 29.3, 12.1),
        (Algorithm::Reno, 50, 142.7, 32.4),
        (CUBIC, 2, 5.0, 5.21),
        (CUBIC, 10, 29.0, 12.6),
        (CUBIC, 50, 146.5, 38.5),
    ] {
        let (stats, lost, seconds) = with_losses(algorithm, permille, 3_000);
        let case = format!("{algorithm:?}, {permille} of 1000 lost: {stats:?}, {seconds} s");
        assert_eq!((stats.retransmissions, stats.timeouts), (lost, 0), "{case}");
        assert!((stats.fast_recoveries as f64 / recoveries - 1.0).abs() < 0.05, "{case}");
        assert!((seconds / kernel_s - 1.0).abs() < 0.2, "{case}");
    }
}

#[test]
fn heavy_losses_cause_no_spurious_retransmissions() {
    // At windows of two or three segments the timer contributes, and still no retransmission is spurious.
    for algorithm in [Algorithm::Reno, CUBIC] {
        for permille in [100, 200] {
            let (stats, lost, _) = with_losses(algorithm, permille, 1_000);
            assert_eq!(stats.retransmissions, lost, "{algorithm:?}, {permille} of 1000 lost: {stats:?}");
        }
    }
}
