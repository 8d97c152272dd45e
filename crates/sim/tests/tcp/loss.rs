//! Repair of losses: speed, window reduction, and algorithm.

use evenair_sim::tcp::{Algorithm, Config, LossRecovery, Quirks, RtoFloor};
use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::net::{Fate, Net, Side};

const MSS: u64 = 1460;

/// Position of data segment `n`.
fn position(n: u64) -> u64 {
    1 + n * MSS
}

/// A window of 40 segments over 100 ms, each acknowledged, in steady state after 1 s of transfer.
fn settled(recovery: LossRecovery) -> Net {
    let mut config = Config { recovery, ..Config::ns3().without_delayed_ack() }.with_window(Bytes(60 * MSS));
    config.rto.floor = RtoFloor::Total(Span::from_secs(1)); // NewReno restarts the timer only once
    let mut net = Net::new(&config).path(BitRate::from_mbps(100), Span::from_millis(50), 10_000);
    net.a().write_endlessly();
    net.run_for(Span::from_secs(2));
    net
}

/// Loses `k` segments, every third, of the next flight; returns the time from the first retransmission to the
/// acknowledgment of all data outstanding at that time, in round trips, and the end state.
fn repair_rounds(recovery: LossRecovery, k: u64) -> (f64, Net) {
    let mut net = settled(recovery);
    let next = net.data_from_a().map(|(_, s)| s.end()).max().unwrap();
    net = net.lose_once((0..k).map(|i| next + 3 * i * MSS).collect());
    net.run_while(Span::from_secs(5), |net| net.ends[0].stats().retransmissions == 0);
    let (begin, outstanding) = (net.now, net.data_from_a().map(|(_, s)| s.end()).max().unwrap());
    net.run_while(Span::from_secs(20), |net| net.ends[0].acknowledged().0 < outstanding);
    let rounds = (net.now - begin).as_secs_f64() / 0.1;
    (rounds, net)
}

#[test]
fn sack_repairs_many_losses_of_a_window_in_about_a_round_trip() {
    for recovery in [LossRecovery::Sack, LossRecovery::SackPrr] {
        for k in [1, 2, 5, 10] {
            let (rounds, mut net) = repair_rounds(recovery, k);
            assert!(rounds < 2.0, "{recovery:?}: {k} losses took {rounds} round trips");
            assert_eq!(net.a().stats().retransmissions, k, "{recovery:?}: nothing twice");
            assert_eq!((net.a().stats().fast_recoveries, net.a().stats().timeouts), (1, 0));
        }
    }
}

#[test]
fn newreno_repairs_one_loss_a_round_trip() {
    for k in [1u64, 2, 3, 5] {
        let (rounds, mut net) = repair_rounds(LossRecovery::NewReno, k);
        assert!((rounds - k as f64).abs() < 0.3, "{k} losses took {rounds} round trips");
        assert_eq!(net.a().stats().retransmissions, k);
        assert_eq!((net.a().stats().fast_recoveries, net.a().stats().timeouts), (1, 0));
    }
}

#[test]
fn reno_halves_for_every_loss_of_a_window_or_waits_for_the_timer() {
    let (_, mut net) = repair_rounds(LossRecovery::Reno, 1);
    assert_eq!((net.a().stats().fast_recoveries, net.a().stats().timeouts), (1, 0));
    let (rounds, mut net) = repair_rounds(LossRecovery::Reno, 5);
    assert!(net.a().stats().timeouts >= 1, "five losses are beyond Reno; took {rounds} round trips");
}

#[test]
fn a_loss_halves_the_window_or_takes_three_tenths() {
    for (algorithm, share) in
        [(Algorithm::Reno, 0.5), (Algorithm::Cubic { fast_convergence: true, hystart: false }, 0.7)]
    {
        for recovery in [LossRecovery::NewReno, LossRecovery::Sack, LossRecovery::SackPrr] {
            let config = Config { recovery, algorithm, ..Config::ns3().without_delayed_ack() };
            let mut net = Net::new(&config.with_window(Bytes(60 * MSS)));
            net.a().write_endlessly();
            net.run_for(Span::from_secs(3));
            let next = net.data_from_a().map(|(_, s)| s.end()).max().unwrap();
            net = net.lose_once(vec![next]);
            net.run_while(Span::from_secs(5), |net| net.ends[0].stats().retransmissions == 0);
            let threshold = net.a().ssthresh().unwrap().0 as f64 / (60 * MSS) as f64;
            assert!((threshold - share).abs() < 0.01, "{algorithm:?} {recovery:?}: {threshold}");
            let point = net.data_from_a().map(|(_, s)| s.end()).max().unwrap();
            net.run_while(Span::from_secs(5), |net| net.ends[0].acknowledged().0 < point);
            let after = net.cwnd_segments() / 60.0;
            assert!((after - share).abs() < 0.02, "{algorithm:?} {recovery:?}: {after} after recovery");
        }
    }
}

#[test]
fn losses_in_every_window_shrink_it_round_after_round() {
    // Slow start overshoots to thousands of segments, of which every hundredth is lost, including those sent in recovery.
    for algorithm in [Algorithm::Reno, Algorithm::Cubic { fast_convergence: true, hystart: false }] {
        for recovery in [LossRecovery::Sack, LossRecovery::SackPrr] {
            let mut next = position(3_000);
            let config = Config { recovery, algorithm, ..Config::ns3().without_delayed_ack() };
            let mut net = Net::new(&config).fate(Side::A, move |s| {
                let hit = s.seq == next && s.len > 0;
                next += if hit { 100 * MSS } else { 0 };
                if hit { Fate::Drop } else { Fate::Deliver }
            });
            net.keep_sent = false;
            net.a().write_endlessly();
            net.run_for(Span::from_secs(10));
            assert!(net.cwnd_segments() < 40.0, "{algorithm:?} {recovery:?}: {}", net.cwnd_segments());
        }
    }
}

#[test]
fn limited_transmit_saves_small_windows_from_the_timer() {
    // Four segments, the first one lost, and new data to send: two duplicates release two more segments, which cause the third duplicate.
    let run = |limited_transmit| {
        let config = Config {
            recovery: LossRecovery::NewReno,
            limited_transmit,
            initial_window: 3,
            ..Config::ns3().without_delayed_ack()
        };
        // Unscaled, so that the first duplicate does not look like a window update after the SYN's window.
        let mut net = Net::new(&config.with_window(Bytes(65_535))).lose_once(vec![1]);
        net.a().write(Bytes(20 * MSS));
        net.run_while(Span::from_secs(5), |net| net.received_by_b() < 20 * MSS);
        let sent: Vec<_> = net.data_from_a().map(|(at, s)| (at.as_nanos() / 1_000_000, s.seq)).collect();
        (net.ends[0].stats().timeouts, net.ends[0].stats().fast_recoveries, sent)
    };
    let (timeouts, fast, sent) = run(true);
    assert_eq!((timeouts, fast), (0, 1));
    assert_eq!(&sent[3..5], &[(200, position(3)), (200, position(4))], "one for each of the first duplicates");
    assert_eq!(sent[5], (300, 1));
    let (timeouts, fast, _) = run(false);
    assert_eq!((timeouts, fast), (1, 0));
}

#[test]
fn the_timeout_doubles_from_the_estimate_up_to_the_maximum_and_gives_up() {
    let mut config = Config { data_retries: 8, timestamps: false, ..Config::rfc() };
    config.rto.max = Span::from_secs(30);
    let mut net = Net::new(&config).fate(Side::A, |s| if s.len > 0 { Fate::Drop } else { Fate::Deliver });
    net.a().write(Bytes(100 * MSS));
    net.run_for(Span::from_secs(500));
    let first = net.data_from_a().filter(|(_, s)| s.seq == 1);
    let times: Vec<f64> = first.map(|(at, _)| (at - Instant::from_nanos(100_000_000)).as_secs_f64()).collect();
    assert_eq!(times, [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 61.0, 91.0, 121.0]);
    assert_eq!(net.a().stats().timeouts, 9);
    assert_eq!(net.a().poll_deadline(), None);
}

#[test]
fn the_first_timeout_is_the_one_of_rfc_6298() {
    for (floor, expected_ms) in [
        (RtoFloor::Total(Span::from_millis(200)), 300),     // 100 + 4 * 50
        (RtoFloor::Total(Span::from_millis(1000)), 1000),   // the minimum
        (RtoFloor::AboveSrtt(Span::from_millis(250)), 350), // 100 + 250
    ] {
        let mut config = Config::rfc();
        config.rto.floor = floor;
        let mut net = Net::new(&config).fate(Side::A, |s| if s.len > 0 { Fate::Drop } else { Fate::Deliver });
        net.a().write(Bytes(1_000));
        net.run_for(Span::from_millis(expected_ms + 101));
        let times: Vec<u64> = net.data_from_a().map(|(at, _)| at.as_nanos() / 1_000_000).take(2).collect();
        assert_eq!(times, [100, 100 + expected_ms]);
    }
}

#[test]
fn a_segment_sent_twice_gives_no_sample_and_the_doubled_timeout_stays() {
    let config = Config { timestamps: false, ..Config::rfc() }.without_delayed_ack();
    let mut net = Net::new(&config).lose_once(vec![1]);
    net.a().write(Bytes(1_000));
    net.run_for(Span::from_secs(3));
    assert_eq!((net.received_by_b(), net.a().stats().timeouts), (1_000, 1));
    assert_eq!((net.a().srtt(), net.a().rto()), (Some(Span::from_millis(100)), Span::from_secs(2)));
    net.a().write(Bytes(1_000));
    net.run_for(Span::from_secs(3));
    assert_eq!(net.a().rto(), Span::from_secs(1));
    // Timestamps distinguish the two transmissions.
    let mut net = Net::new(&Config { timestamps: true, ..config }).lose_once(vec![1]);
    net.a().write(Bytes(1_000));
    net.run_for(Span::from_secs(3));
    assert_eq!((net.a().srtt(), net.a().rto()), (Some(Span::from_millis(100)), Span::from_secs(1)));
}

#[test]
fn duplicates_after_a_spurious_timeout_are_not_taken_for_loss() {
    // The first flight arrives after the timeout; its acknowledgments release retransmissions, whose duplicate
    // acknowledgments arrive while new data is outstanding.
    let config = Config { timestamps: false, recovery: LossRecovery::NewReno, ..Config::rfc() }.without_delayed_ack();
    let mut count = 0;
    let mut net = Net::new(&config).fate(Side::A, move |s| {
        count += u32::from(s.len > 0);
        if s.len > 0 && count <= 10 { Fate::Late(Span::from_millis(1_000)) } else { Fate::Deliver }
    });
    net.a().write(Bytes(100 * MSS));
    net.run_for(Span::from_secs(20));
    assert_eq!(net.received_by_b(), 100 * MSS);
    assert!(net.a().stats().retransmissions > 4 && net.a().stats().timeouts == 1, "{:?}", net.a().stats());
    assert_eq!(net.a().stats().fast_recoveries, 0);
}

#[test]
fn with_sack_only_missing_data_is_retransmitted_after_a_timeout() {
    // The whole tail is lost except one segment: fewer than three duplicates, so the timer expires.
    for (recovery, most) in [(LossRecovery::Sack, 8), (LossRecovery::NewReno, 10)] {
        let config = Config { recovery, limited_transmit: false, ..Config::ns3() };
        let lost = (0..10).filter(|n| ![4, 5].contains(n)).map(position).collect();
        let mut net = Net::new(&config).lose_once(lost);
        net.a().write(Bytes(10 * MSS));
        net.run_for(Span::from_secs(20));
        assert_eq!(net.received_by_b(), 10 * MSS);
        assert!(net.a().stats().timeouts >= 1);
        assert!(net.a().stats().retransmissions <= most, "{recovery:?}: {}", net.a().stats().retransmissions);
    }
}

#[test]
fn the_end_of_a_flight_is_rescued_with_sack() {
    // The last two segments of the flight and one in the middle are lost: no SACK shows the loss of the last two.
    let (rounds, net) = {
        let config = Config { initial_window: 20, ..Config::ns3().without_delayed_ack() };
        let mut net = Net::new(&config).lose_once(vec![position(5), position(18), position(19)]);
        net.a().write(Bytes(20 * MSS));
        net.run_while(Span::from_secs(20), |net| net.received_by_b() < 20 * MSS);
        ((net.now - Instant::from_nanos(100_000_000)).as_secs_f64() / 0.1, net)
    };
    assert_eq!(net.ends[0].stats().timeouts, 0, "took {rounds} round trips");
}

#[test]
fn reordering_below_three_segments_is_not_loss() {
    for recovery in [LossRecovery::NewReno, LossRecovery::Sack, LossRecovery::SackPrr] {
        let config = Config { recovery, ..Config::ns3().without_delayed_ack() };
        let mut count = 0u64;
        // A segment takes 1.2 ms at 10 Mb/s: every tenth is overtaken by two.
        let mut net = Net::new(&config.with_window(Bytes(40 * MSS)))
            .path(BitRate::from_mbps(10), Span::from_millis(20), 1_000)
            .fate(Side::A, move |s| {
                count += u64::from(s.len > 0);
                if count % 10 == 5 { Fate::Late(Span::from_micros(3_000)) } else { Fate::Deliver }
            });
        net.a().write(Bytes(500 * MSS));
        net.run_for(Span::from_secs(30));
        assert_eq!(net.received_by_b(), 500 * MSS);
        assert_eq!(net.a().stats().retransmissions, 0, "{recovery:?}");
    }
}

/// Behaviour of the RFCs, and of ns-3.
const QUIRKS: [Quirks; 2] = [Quirks::NONE, Quirks::NS3];

#[test]
fn ns3_forgets_the_doubled_timeout_before_there_is_a_sample() {
    for (quirks, seconds) in QUIRKS.into_iter().zip([2, 1]) {
        let config = Config { timestamps: false, quirks, ..Config::rfc() }.without_delayed_ack();
        let mut net = Net::new(&config).lose_once(vec![1]);
        net.a().write(Bytes(2 * MSS));
        net.run_for(Span::from_millis(1_350));
        // The first segment, sent twice, has arrived by now, and another one follows at once.
        assert_eq!((net.received_by_b(), net.a().stats().timeouts), (2 * MSS, 1));
        net = net.fate(Side::A, |s| if s.len > 0 { Fate::Late(Span::from_secs(9)) } else { Fate::Deliver });
        net.a().write(Bytes(2 * MSS));
        net.run_for(Span::from_millis(10));
        assert_eq!(net.a().rto(), Span::from_secs(seconds), "{quirks:?}");
    }
}

#[test]
fn ns3_forgets_the_variation_of_a_path_after_a_few_acks() {
    // One round trip in four takes 100 ms more.
    let rto = |quirks| {
        let mut config = Config { quirks, ..Config::ns3().without_delayed_ack() }.with_window(Bytes(40 * MSS));
        config.rto.floor = RtoFloor::Total(Span::ZERO);
        let mut net = Net::new(&config).path(BitRate::from_mbps(100), Span::from_millis(50), 10_000);
        net.a().write_endlessly();
        for _ in 0..10 {
            net.lanes[1].delay = Span::from_millis(150);
            net.run_for(Span::from_millis(100));
            net.lanes[1].delay = Span::from_millis(50);
            net.run_for(Span::from_millis(400));
        }
        net.a().rto().as_secs_f64()
    };
    let [ours, ns3] = QUIRKS.map(rto);
    assert!(ours > 1.2 * ns3, "{ours} s, with ns-3's samples {ns3} s");
}

#[test]
fn ns3_is_impatient_with_sack_too() {
    // Three segments are lost; the second one's retransmission is late, and the third one's is lost again, which only the timer detects.
    let third_attempt = |quirks| {
        let quirks = Quirks { sample_every_ack: false, ..quirks };
        let config = Config { quirks, ..Config::ns3().without_delayed_ack() }.with_window(Bytes(40 * MSS));
        let mut net = Net::new(&config).path(BitRate::from_mbps(100), Span::from_millis(50), 10_000);
        net.a().write_endlessly();
        net.run_for(Span::from_secs(2));
        let next = net.data_from_a().map(|(_, s)| s.end()).max().unwrap();
        let lost = [0, 3, 6].map(|n| next + n * MSS);
        let mut seen = [0; 3];
        net = net.fate(Side::A, move |s| match lost.iter().position(|&p| p == s.seq && s.len > 0) {
            Some(n) => {
                seen[n] += 1;
                match (n, seen[n]) {
                    (_, 1) | (2, 2) => Fate::Drop,
                    (1, 2) => Fate::Late(Span::from_millis(80)),
                    _ => Fate::Deliver,
                }
            }
            None => Fate::Deliver,
        });
        net.run_for(Span::from_secs(2));
        assert_eq!(net.ends[0].stats().timeouts, 1);
        net.data_from_a().filter(|(_, s)| s.seq == lost[2]).nth(2).unwrap().0
    };
    let [ours, ns3] = QUIRKS.map(third_attempt);
    assert_eq!((ours - ns3).as_nanos() / 1_000_000, 80, "from the first partial ACK on, not from the second");
}

/// Kernel-like recovery over the same path as in the other tests.
fn rack() -> Config {
    Config { recovery: LossRecovery::Rack, timestamps: true, ..Config::ns3().without_delayed_ack() }
}

#[test]
fn rack_detects_lost_retransmissions() {
    for (recovery, timeouts) in [(LossRecovery::Rack, 0), (LossRecovery::SackPrr, 1)] {
        let config = Config { recovery, ..rack() }.with_window(Bytes(60 * MSS));
        let mut net = Net::new(&config).path(BitRate::from_mbps(100), Span::from_millis(50), 10_000);
        net.a().write_endlessly();
        net.run_for(Span::from_secs(2));
        let next = net.data_from_a().map(|(_, s)| s.end()).max().unwrap();
        let payload = net.a().segment_payload().0;
        // Three segments, of which the second is lost twice.
        let [first, second, third] = [0, 3, 6].map(|n| next + n * payload);
        net = net.lose_once(vec![first, second, second, third]);
        net.run_for(Span::from_secs(3));
        let stats = *net.ends[0].stats();
        assert!(net.ends[0].acknowledged().0 > third + 100 * payload, "{recovery:?}: {stats:?}");
        assert_eq!(stats.timeouts, timeouts, "{recovery:?}: {stats:?}");
        if recovery == LossRecovery::Rack {
            assert_eq!((stats.retransmissions, stats.fast_recoveries), (4, 1), "nothing in vain");
        }
    }
}

#[test]
fn rack_needs_fewer_than_three_duplicates() {
    // Five segments, the first one lost, and no more to send: four duplicates. Three segments, the second one lost: one duplicate.
    for (segments, lost) in [(5, 0), (3, 1)] {
        let mut net = Net::new(&rack());
        let payload = MSS - 12;
        net = net.lose_once(vec![1 + lost * payload]);
        net.a().write(Bytes(segments * payload));
        net.run_while(Span::from_secs(5), |net| net.received_by_b() < segments * payload);
        let stats = *net.ends[0].stats();
        assert_eq!((stats.timeouts, stats.retransmissions), (0, 1), "{stats:?}");
        // Handshake, flight, a quarter of the round-trip time, retransmission.
        assert!(net.now < Instant::ZERO + Span::from_millis(100 + 100 + 25 + 51), "{:?}", net.now);
    }
}

#[test]
fn a_lost_tail_is_probed_before_the_timer() {
    let payload = MSS - 12;
    for lost in [vec![9], vec![7, 8, 9]] {
        let mut config = rack();
        config.rto.floor = RtoFloor::AboveSrtt(Span::from_secs(1));
        let positions = lost.iter().map(|n| 1 + n * payload).collect();
        let mut net = Net::new(&config).lose_once(positions);
        net.a().write(Bytes(10 * payload));
        net.run_while(Span::from_secs(5), |net| net.received_by_b() < 10 * payload);
        net.run_for(Span::from_millis(200));
        let stats = *net.ends[0].stats();
        assert_eq!((stats.timeouts, stats.retransmissions), (0, lost.len() as u64), "{stats:?}");
        // Two round-trip times after the last acknowledgment, and 200 ms if the acknowledgment of a single segment may be
        // delayed; then half a round trip for the probe, or another one if SACK shows further losses.
        assert!(net.now < Instant::ZERO + Span::from_millis(200 + 400 + 50 + 100 + 200), "{:?}", net.now);
        // The window is reduced for a loss that a probe repairs, too.
        assert!(net.a().ssthresh().is_some());
    }
}

#[test]
fn a_loss_repaired_by_a_probe_halves_the_window_and_not_the_flight() {
    let mut net = Net::new(&rack());
    net.a().write(Bytes(400 * MSS));
    net.run_for(Span::from_secs(3));
    let (window, payload) = (net.a().cwnd(), net.a().segment_payload().0);
    let next = net.data_from_a().map(|(_, s)| s.end()).max().unwrap();
    net = net.lose_once(vec![next + 4 * payload]);
    net.a().write(Bytes(5 * payload));
    net.run_for(Span::from_secs(3));
    assert_eq!((net.a().stats().timeouts, net.a().stats().retransmissions), (0, 1));
    // Linux: the window as for any loss, though only five segments of it were used.
    assert_eq!(net.a().ssthresh(), Some(Bytes(window.0 / 2)));
}

/// Whether window and threshold are at least as before after an outage of nearly a second, whose segments arrive late, but
/// do arrive.
fn outlives_a_silence(recovery: LossRecovery) -> bool {
    let mut config = Config { recovery, ..rack() }.with_window(Bytes(40 * MSS));
    config.rto.floor = RtoFloor::AboveSrtt(Span::from_millis(200));
    let mut net = Net::new(&config).path(BitRate::from_mbps(100), Span::from_millis(50), 10_000);
    net.a().write_endlessly();
    net.run_for(Span::from_secs(2));
    let (before, threshold) = (net.a().cwnd(), net.a().ssthresh());
    net.lanes[0].delay = Span::from_millis(950);
    net.run_for(Span::from_millis(900));
    net.lanes[0].delay = Span::from_millis(50);
    net.run_for(Span::from_secs(2));
    let stats = *net.ends[0].stats();
    assert!(stats.timeouts >= 1, "{stats:?}");
    net.a().cwnd() >= before && net.a().ssthresh() == threshold
}

#[test]
fn a_spurious_timeout_is_undone() {
    assert!(outlives_a_silence(LossRecovery::Rack));
    assert!(!outlives_a_silence(LossRecovery::SackPrr), "it has no undoing, so the silence is one that hurts");
}
