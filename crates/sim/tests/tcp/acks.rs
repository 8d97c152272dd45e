//! When the receiver acknowledges, counted on the wire.

use evenair_sim::tcp::{Config, LossRecovery, State};
use evenair_units::{BitRate, Bytes, Span};

use crate::net::{Net, Side};

const SEGMENTS: u64 = 1_000;

/// Pure ACKs that B sends for a transfer of this many segments.
fn acks(config: &Config) -> u64 {
    let mut net = Net::new(config).path(BitRate::from_mbps(10), Span::from_millis(10), 10_000);
    let payload = 1460 - if config.timestamps { 12 } else { 0 };
    net.a().write(Bytes(SEGMENTS * payload));
    net.run_for(Span::from_secs(60));
    assert_eq!(net.received_by_b(), SEGMENTS * payload);
    assert_eq!(net.a().state(), State::Established);
    net.b().stats().acks_sent
}

#[test]
fn one_ack_for_two_segments_or_for_each() {
    assert_eq!(acks(&Config::ns3().without_delayed_ack()), SEGMENTS);
    assert_eq!(acks(&Config::ns3()), SEGMENTS / 2);
    let mut linux = Config { push_batches: false, ..Config::linux() };
    linux.ack.pushed = false;
    assert_eq!(acks(&linux), 16 + (SEGMENTS - 16) / 2, "sixteen quick ones");
}

#[test]
fn linux_acknowledges_pushed_segments_at_once() {
    // In slow start each ACK releases three or four segments, of which the last has PSH.
    let (all, half) = (SEGMENTS, 16 + (SEGMENTS - 16) / 2);
    let linux = acks(&Config::linux());
    assert!(half + 20 < linux && linux < all, "{linux}");
    let mut patient = Config::linux();
    patient.ack.pushed = false;
    assert_eq!(acks(&patient), half, "PSH alone changes nothing");
}

#[test]
fn a_single_segment_waits_for_the_timer() {
    for ms in [40, 100, 200] {
        let mut config = Config::ns3();
        config.ack.delay = Span::from_millis(ms);
        let mut net = Net::new(&config);
        net.a().write(Bytes(100));
        net.run_for(Span::from_secs(3));
        let arrival = net.data_from_a().next().unwrap().0 + Span::from_millis(50);
        let ack = net.sent.iter().find(|(_, side, s)| *side == Side::B && s.ack == 101).unwrap().0;
        assert_eq!(ack, arrival + Span::from_millis(ms));
    }
}

#[test]
fn the_gap_and_every_segment_behind_it_are_acknowledged_at_once() {
    // NewReno, because SACK would also retransmit the last segment.
    let config = Config { recovery: LossRecovery::NewReno, ..Config::ns3() };
    let mut net = Net::new(&config).lose_once(vec![1 + 2 * 1460]);
    net.a().write(Bytes(10 * 1460));
    net.run_for(Span::from_secs(3));
    // Segments 1 and 2 share an ACK; 4 to 10 each cause a duplicate; the retransmission of 3 is acknowledged, too.
    let acks: Vec<u64> =
        net.sent.iter().filter(|(_, side, s)| *side == Side::B && !s.flags.syn).map(|x| x.2.ack).collect();
    let gap = 1 + 2 * 1460;
    let mut expected = vec![gap; 8];
    expected.push(1 + 10 * 1460);
    assert_eq!(acks, expected);
}

#[test]
fn an_answer_carries_the_acknowledgment() {
    let mut net = Net::new(&Config::ns3());
    for round in 1..=10 {
        net.a().write(Bytes(100));
        net.run_while(Span::from_secs(5), |net| net.received_by_b() < round * 100);
        net.b().write(Bytes(500));
        net.run_while(Span::from_secs(5), |net| net.ends[0].stats().bytes_received < round * 500);
    }
    assert_eq!(net.b().stats().acks_sent, 0);
    assert_eq!(net.a().stats().acks_sent, 0, "data was waiting even for the handshake's");
    assert!(net.now.as_nanos() < 1_150_000_000, "a round trip each, no timer waited for");
}
