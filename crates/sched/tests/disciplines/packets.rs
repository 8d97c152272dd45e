//! Packets for tests, and a driver that checks the laws of every discipline on the way.

use std::collections::BTreeMap;

use evenair_sched::{Cause, Discipline, Packet};
use evenair_units::{Bytes, Instant, Span};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pkt {
    pub flow: u64,
    pub host: u64,
    /// Sequence number within its flow.
    pub number: u64,
    pub size: u64,
    pub takes_marks: bool,
    pub marked: bool,
}

impl Packet for Pkt {
    fn size(&self) -> Bytes {
        Bytes(self.size)
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn host(&self) -> u64 {
        self.host
    }

    fn class(&self) -> u32 {
        self.flow as u32
    }

    fn mark(&mut self) -> bool {
        self.marked |= self.takes_marks;
        self.takes_marks
    }
}

pub fn at_us(us: u64) -> Instant {
    Instant::ZERO + Span::from_micros(us)
}

/// A discipline, its input, and its output.
pub struct Bench<D> {
    pub discipline: D,
    numbers: BTreeMap<u64, u64>,
    next: BTreeMap<u64, u64>,
    arrived: (usize, u64),
    left: (usize, u64),
    pub sent: Vec<(Instant, Pkt)>,
    pub dropped: Vec<(Instant, Pkt, Cause)>,
}

impl<D: Discipline<Pkt>> Bench<D> {
    pub fn new(discipline: D) -> Self {
        Self {
            discipline,
            numbers: BTreeMap::new(),
            next: BTreeMap::new(),
            arrived: (0, 0),
            left: (0, 0),
            sent: Vec::new(),
            dropped: Vec::new(),
        }
    }

    pub fn arrive(&mut self, now: Instant, flow: u64, size: u64) {
        self.arrive_as(now, Pkt { flow, size, ..Pkt::default() });
    }

    /// Enqueues a packet, and gives it its number.
    pub fn arrive_as(&mut self, now: Instant, mut packet: Pkt) {
        let number = self.numbers.entry(packet.flow).or_default();
        packet.number = *number;
        *number += 1;
        self.arrived = (self.arrived.0 + 1, self.arrived.1 + packet.size);
        self.discipline.handle_packet(now, packet);
        self.drain(now);
    }

    pub fn serve(&mut self, now: Instant) -> Option<Pkt> {
        let packet = self.discipline.poll_packet(now);
        if let Some(packet) = packet {
            let next = self.next.entry(packet.flow).or_default();
            assert!(packet.number >= *next, "{packet:?} was overtaken");
            *next = packet.number + 1;
            self.left = (self.left.0 + 1, self.left.1 + packet.size);
            self.sent.push((now, packet));
        }
        self.drain(now);
        packet
    }

    pub fn sent_bytes(&self, flow: u64) -> u64 {
        self.sent.iter().filter(|(_, packet)| packet.flow == flow).map(|(_, packet)| packet.size).sum()
    }

    fn drain(&mut self, now: Instant) {
        while let Some(dropped) = self.discipline.poll_drop() {
            self.left = (self.left.0 + 1, self.left.1 + dropped.packet.size);
            self.dropped.push((now, dropped.packet, dropped.cause));
        }
        let held = (self.discipline.len(), self.discipline.bytes().0);
        assert_eq!(held, (self.arrived.0 - self.left.0, self.arrived.1 - self.left.1), "packets went missing");
        assert_eq!(self.discipline.is_empty(), held.0 == 0);
    }
}
