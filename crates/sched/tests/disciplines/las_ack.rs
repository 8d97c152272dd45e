//! LAS-ACK: order of service, volume, expiry, and a plain model.

use std::collections::BTreeMap;

use evenair_sched::{Discipline, LasAck, LasAckConfig, Overflow, Packet, Progress};
use evenair_units::{Bytes, Instant, Limit, Span};
use proptest::prelude::*;

use crate::packets::{Bench, Pkt, at_us};

const NOW: Instant = Instant::ZERO;

fn las(config: LasAckConfig) -> Bench<LasAck<Pkt>> {
    Bench::new(LasAck::new(config))
}

fn unlimited() -> LasAckConfig {
    LasAckConfig { limit: Limit::Unlimited, ..LasAckConfig::default() }
}

/// A segment of TCP.
#[derive(Clone, Copy, Debug)]
struct Seg {
    connection: u64,
    size: u64,
    progress: Progress,
}

impl Packet for Seg {
    fn size(&self) -> Bytes {
        Bytes(self.size)
    }

    fn flow(&self) -> u64 {
        2 * self.connection + u64::from(self.progress.forth)
    }

    fn connection(&self) -> u64 {
        self.connection
    }

    fn progress(&self) -> Option<Progress> {
        Some(self.progress)
    }
}

fn seg(connection: u64, forth: bool, size: u64, ack: u32) -> Seg {
    Seg { connection, size, progress: Progress { forth, opens: false, has_data: size > 40, ack: Some(ack) } }
}

#[test]
fn the_connection_with_the_least_volume_is_served_first() {
    let mut bench = las(unlimited());
    (0..4).for_each(|_| bench.arrive(NOW, 1, 1500));
    bench.arrive(NOW, 2, 1500);
    bench.arrive(NOW, 2, 1500);
    bench.arrive(NOW, 3, 100);
    bench.arrive(NOW, 3, 100);
    let order: Vec<_> = (0..8).filter_map(|_| bench.serve(NOW)).map(|packet| packet.flow).collect();
    // Volumes: 1 at 0, 1500, 3000, 4500; 2 at 0, 1500; 3 at 0, 100.
    assert_eq!(order, [1, 2, 3, 3, 1, 2, 1, 1]);
}

#[test]
fn acknowledged_data_count_as_moved() {
    let mut queue = LasAck::new(unlimited());
    // An upload whose ACKs pass here, across the overflow of the numbers, and one late ACK.
    queue.handle_packet(NOW, seg(1, true, 40, u32::MAX - 999));
    queue.handle_packet(NOW, seg(1, true, 40, 2000));
    queue.handle_packet(NOW, seg(1, true, 40, 500));
    assert_eq!(queue.volume(1), Some(Bytes(3 * 40 + 3000)));
    // A download of the same volume follows, with the size of one ACK more.
    queue.handle_packet(NOW, seg(2, true, 1500, 1));
    queue.handle_packet(NOW, seg(2, true, 1500, 1));
    queue.handle_packet(NOW, seg(2, true, 1500, 1));
    let order: Vec<_> = std::iter::from_fn(|| queue.poll_packet(NOW)).map(|seg| seg.connection).collect();
    assert_eq!(order, [1, 2, 2, 2, 1, 1]);
}

#[test]
fn data_counts_once_if_both_directions_pass() {
    let mut queue = LasAck::new(unlimited());
    queue.handle_packet(NOW, seg(1, false, 40, 0));
    for n in 0..10u32 {
        queue.handle_packet(NOW, seg(1, true, 1500, 7));
        queue.handle_packet(NOW, seg(1, false, 40, 1460 * (n + 1)));
    }
    assert_eq!(queue.volume(1), Some(Bytes(40 + 10 * 1540)));
}

#[test]
fn a_new_connection_with_the_same_addresses_begins_anew() {
    let mut queue = LasAck::new(unlimited());
    (0..10).for_each(|_| queue.handle_packet(NOW, seg(1, true, 1500, 7)));
    while queue.poll_packet(NOW).is_some() {}
    let mut syn = seg(1, true, 40, 0);
    syn.progress = Progress { opens: true, ack: None, ..syn.progress };
    queue.handle_packet(NOW, syn);
    assert_eq!(queue.volume(1), Some(Bytes(40)));
}

#[test]
fn a_full_queue_drops_as_configured() {
    let full = |overflow| {
        let mut bench = las(LasAckConfig { limit: Limit::Packets(5), overflow, ..LasAckConfig::default() });
        (0..5).for_each(|_| bench.arrive(NOW, 1, 1500));
        bench.arrive(NOW, 2, 100);
        (bench.dropped[0].1.flow, bench.dropped[0].1.number)
    };
    assert_eq!(full(Overflow::TailDrop), (2, 0));
    assert_eq!(full(Overflow::MostServed), (1, 4));
}

#[test]
fn dropped_packets_do_not_count_as_volume() {
    let mut bench = las(LasAckConfig { limit: Limit::Packets(3), ..LasAckConfig::default() });
    (0..100).for_each(|_| bench.arrive(NOW, 1, 1500));
    assert_eq!(bench.discipline.volume(1), Some(Bytes(4500)));
}

#[test]
fn the_floor_keeps_a_long_connection_alive() {
    let served = |floor| {
        let mut bench = las(LasAckConfig { floor, ..unlimited() });
        (0..100).for_each(|_| bench.arrive(NOW, 0, 1500));
        // New connections without end, as many as are served.
        for new in 1..=200 {
            bench.arrive(at_us(new), 1000 + new, 1000);
            bench.serve(at_us(new));
        }
        bench.sent.iter().filter(|(_, packet)| packet.flow == 0).count()
    };
    assert_eq!(served(None), 1, "its first packet has moved nothing either");
    // Each fifth is the oldest of all: one of the long connection, which has enough packets.
    assert_eq!(served(Some(5)), 41);
}

#[test]
fn the_number_of_known_connections_is_bounded() {
    let mut bench = las(LasAckConfig { connections: 1_000_000, ..unlimited() });
    for flow in 0..1_200_000u64 {
        bench.arrive(at_us(flow), flow, 40);
        bench.serve(at_us(flow));
        // One keeps sending all the time.
        if flow % 1000 == 0 {
            bench.arrive(at_us(flow), u64::MAX, 40);
            bench.serve(at_us(flow));
        }
    }
    assert_eq!(bench.discipline.connections(), 1_000_000);
    assert_eq!(bench.discipline.volume(0), None, "the first have been silent longest");
    assert_eq!(bench.discipline.volume(u64::MAX), Some(Bytes(40 * 1200)));
}

#[test]
fn silent_connections_are_forgotten() {
    let mut bench = las(LasAckConfig { expire: Span::from_secs(10), ..unlimited() });
    for flow in 0..1000 {
        bench.arrive(NOW, flow, 100);
        bench.serve(NOW);
    }
    // One of them goes on; each of its packets checks two others for expiry.
    for n in 0..700 {
        let now = NOW + Span::from_millis(100) * n;
        bench.arrive(now, 5, 100);
        bench.serve(now);
    }
    assert_eq!(bench.discipline.connections(), 1);
    assert_eq!(bench.discipline.volume(5), Some(Bytes(100 * 701)));
}

/// Plain model that keeps all volumes, and searches the whole queue each time.
#[derive(Default)]
struct Model {
    volumes: BTreeMap<u64, u64>,
    queue: Vec<(u64, u64, u64, u64)>,
    arrived: u64,
}

impl Model {
    fn arrive(&mut self, flow: u64, size: u64, room: usize) {
        let volume = self.volumes.entry(flow).or_default();
        self.queue.push((*volume, self.arrived, flow, size));
        *volume += size;
        self.arrived += 1;
        if self.queue.len() > room {
            let at = (0..self.queue.len()).max_by_key(|&at| self.queue[at]).unwrap();
            let (_, _, flow, size) = self.queue.remove(at);
            *self.volumes.get_mut(&flow).unwrap() -= size;
        }
    }

    fn serve(&mut self) -> Option<(u64, u64)> {
        let at = (0..self.queue.len()).min_by_key(|&at| self.queue[at])?;
        let (_, _, flow, size) = self.queue.remove(at);
        Some((flow, size))
    }
}

proptest! {
    #[test]
    fn it_agrees_with_a_plain_model(
        steps in proptest::collection::vec(proptest::option::weighted(0.6, (0..6u64, 40..1515u64)), 0..400),
        room in 1..20u32,
    ) {
        let mut bench = las(LasAckConfig { limit: Limit::Packets(room), ..LasAckConfig::default() });
        let mut model = Model::default();
        for step in steps {
            match step {
                Some((flow, size)) => {
                    bench.arrive(NOW, flow, size);
                    model.arrive(flow, size, room as usize);
                }
                None => {
                    let sent = bench.serve(NOW).map(|packet| (packet.flow, packet.size));
                    prop_assert_eq!(sent, model.serve());
                }
            }
        }
    }
}
