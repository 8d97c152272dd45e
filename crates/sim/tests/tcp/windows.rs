//! Flow control, limited windows, idle and application-limited senders.

use evenair_sim::tcp::{Config, Event, Growth, Timer};
use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::net::{Fate, Net, Side};

#[test]
fn slow_start_doubles_every_round_trip() {
    // With unlimited rate, the flights of slow start are a round trip apart.
    let mut config = Config::ns3().without_delayed_ack();
    config.growth = Growth::PerAck;
    let mut net = Net::new(&config);
    net.a().write_endlessly();
    net.run_until(Instant::from_nanos(799_000_000));
    let mut flights = vec![0u32; 8];
    for (at, _) in net.data_from_a() {
        flights[(at.as_nanos() / 100_000_000) as usize] += 1;
    }
    assert_eq!(flights, [0, 10, 20, 40, 80, 160, 320, 640]);
}

#[test]
fn throughput_is_the_window_over_the_round_trip_time() {
    for (segments, rtt_ms) in [(10, 100), (43, 100), (43, 20)] {
        let window = segments * 1460;
        let config = Config::ns3().with_window(Bytes(window)).without_delayed_ack();
        let mut net = Net::new(&config).path(BitRate::from_mbps(1000), Span::from_millis(rtt_ms / 2), 10_000);
        net.keep_sent = false;
        net.a().write_endlessly();
        net.run_for(Span::from_secs(10));
        let before = net.received_by_b();
        net.run_for(Span::from_secs(10));
        let bps = (net.received_by_b() - before) as f64 * 8.0 / 10.0;
        let expected = window as f64 * 8.0 / (rtt_ms as f64 / 1e3);
        assert!((bps / expected - 1.0).abs() < 0.01, "{bps} against {expected}");
    }
}

#[test]
fn a_window_of_64_kb_needs_no_scaling_and_is_kept() {
    let config = Config::ns3().with_window(Bytes(65_535));
    assert!(!config.window_scaling);
    let mut net = Net::new(&config).path(BitRate::from_mbps(5), Span::from_millis(10), 1_000);
    net.a().write_endlessly();
    net.run_for(Span::from_secs(10));
    assert!(net.sent[0].2.syn.unwrap().window_shift.is_none());
    assert_eq!(net.a().in_flight(), Bytes(44 * 1460), "whole segments only");
}

#[test]
fn the_receivers_window_and_the_senders_buffer_both_limit() {
    for side in [Side::A, Side::B] {
        let mut configs = [Config::ns3(), Config::ns3()];
        match side {
            Side::A => configs[0].send_buffer = Bytes(20 * 1460),
            Side::B => configs[1].receive_buffer = Bytes(20 * 1460),
        }
        let mut net = Net::with(&configs[0], &configs[1]);
        net.a().write_endlessly();
        net.run_for(Span::from_secs(5));
        let mut most = 0;
        for _ in 0..1_000 {
            net.step();
            most = most.max(net.a().in_flight().0);
        }
        assert_eq!(most, 20 * 1460, "limited at {side:?}");
    }
}

#[test]
fn the_bottleneck_is_full_and_never_exceeded() {
    for config in [Config::linux(), Config::ns3(), Config::rfc()] {
        let rate = BitRate::from_mbps(10);
        let mut net = Net::new(&config).path(rate, Span::from_millis(20), 100);
        net.keep_sent = false;
        net.a().write_endlessly();
        net.run_for(Span::from_secs(20));
        let before = (net.received_by_b(), net.lanes[0].bytes);
        net.run_for(Span::from_secs(20));
        let payload = net.a().segment_payload().0;
        let most = rate.as_bps() as f64 / 8.0 * 20.0 * payload as f64 / 1500.0;
        let got = (net.received_by_b() - before.0) as f64;
        // A repaired gap releases data that passed the link earlier: at most the buffer and the path's 33 segments.
        assert!(got <= most + 133.0 * payload as f64, "{got} of {most}");
        assert!(got > 0.99 * most, "{got} of {most}");
        assert!(net.lanes[0].bytes - before.1 <= 20 * 10_000_000 / 8 + 101 * 1500);
    }
}

#[test]
fn a_closed_window_is_probed_and_opens() {
    let config = Config { auto_read: false, receive_buffer: Bytes(5 * 1460), ..Config::ns3() };
    let mut net = Net::new(&config);
    net.a().write(Bytes(20 * 1460));
    net.run_for(Span::from_secs(2));
    assert_eq!(net.b().readable(), Bytes(5 * 1460));
    assert_eq!(net.a().in_flight(), Bytes(0));
    assert_eq!(net.a().poll_deadline().unwrap().1, Timer::Probe);
    // Probes back off; each is answered; none carries data.
    net.run_for(Span::from_secs(10));
    let probes: Vec<_> =
        net.sent.iter().filter(|(_, side, s)| *side == Side::A && s.seq + 1 == s.ack.max(5 * 1460 + 1)).collect();
    assert!((4..8).contains(&probes.len()), "{} probes", probes.len());
    assert_eq!(net.received_by_b(), 5 * 1460);
    // The window update is lost: a probe replaces it.
    net.lanes[1].fate = Box::new(|_| Fate::Drop);
    assert_eq!(net.b().read(Bytes(5 * 1460)), Bytes(5 * 1460));
    net.drain();
    net.lanes[1].fate = Box::new(|_| Fate::Deliver);
    for _ in 0..10 {
        net.run_for(Span::from_secs(20));
        net.b().read(Bytes::ZERO + Bytes(u64::MAX / 4));
    }
    assert_eq!(net.received_by_b(), 20 * 1460);
    assert_eq!(net.a().stats().timeouts, 0, "probes are not timeouts");
    assert!(net.events[0].contains(&Event::Drained));
}

#[test]
fn a_slow_reader_sets_the_pace() {
    let config = Config { auto_read: false, receive_buffer: Bytes(30_000), ..Config::ns3() };
    let mut net = Net::new(&config);
    net.a().write_endlessly();
    net.run_for(Span::from_secs(1));
    let before = net.received_by_b();
    for _ in 0..1_000 {
        net.run_for(Span::from_millis(10));
        net.b().read(Bytes(500)); // 50 kB/s, well below 30 kB per round trip
    }
    let got = net.received_by_b() - before;
    assert!((485_000..=505_000).contains(&got), "{got}");
    assert_eq!(net.a().stats().retransmissions, 0);
}

#[test]
fn an_unused_window_does_not_grow_and_idle_time_resets_it() {
    let mut net = Net::new(&Config::ns3());
    for _ in 0..50 {
        net.a().write(Bytes(1460));
        net.run_for(Span::from_millis(250));
    }
    assert_eq!(net.cwnd_segments(), 10.0, "one segment a time never fills ten");

    for (restart, expected) in [(true, 10), (false, 40)] {
        let mut net = Net::new(&Config { idle_restart: restart, ..Config::ns3().without_delayed_ack() });
        net.a().write(Bytes(70 * 1460)); // 10, 20, 40 segments: the last flight does not use the whole window
        net.run_for(Span::from_secs(5));
        let first = net.data_from_a().count();
        net.a().write(Bytes(1_000 * 1460));
        net.drain();
        let flight = net.data_from_a().count() - first;
        assert_eq!(flight, expected, "segments after idle time, restart {restart}");
    }
}
