//! Two endpoints in virtual time and a pipe between them: rate, delay, a drop-tail buffer, and a fate for each segment.
//!
//! The pipe records the data that it delivered, against which reassembly is checked after every segment.

use std::collections::BTreeMap;

use evenair_sim::tcp::{Config, Connection, Event, Segment, Timer};
use evenair_units::{BitRate, Bytes, Instant, Span};

/// Size of an IPv4 header.
const IP_HEADER: u64 = 20;

/// The end that connects, and the one that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    A = 0,
    B = 1,
}

/// What the pipe does to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    Late(Span),
    Twice(Span),
}

type Fates = Box<dyn FnMut(&Segment) -> Fate>;

/// One direction of the pipe.
pub struct Lane {
    pub rate: Option<BitRate>,
    pub delay: Span,
    /// Maximum number of segments waiting or in transmission.
    pub buffer: usize,
    pub fate: Fates,
    free_at: Instant,
    leaving: std::collections::VecDeque<Instant>,
    flying: BTreeMap<(Instant, u64), Segment>,
    count: u64,
    pub tail_drops: u64,
    pub bytes: u64,
}

impl Lane {
    fn new() -> Self {
        Self {
            rate: None,
            delay: Span::from_millis(50),
            buffer: usize::MAX,
            fate: Box::new(|_| Fate::Deliver),
            free_at: Instant::ZERO,
            leaving: Default::default(),
            flying: BTreeMap::new(),
            count: 0,
            tail_drops: 0,
            bytes: 0,
        }
    }

    fn send(&mut self, now: Instant, segment: Segment) {
        let fate = (self.fate)(&segment);
        if fate == Fate::Drop {
            return;
        }
        while self.leaving.front().is_some_and(|&at| at <= now) {
            self.leaving.pop_front();
        }
        if self.leaving.len() >= self.buffer {
            self.tail_drops += 1;
            return;
        }
        let size = segment.size() + Bytes(IP_HEADER);
        self.bytes += size.0;
        let leaves = self.free_at.max(now) + self.rate.map_or(Span::ZERO, |rate| rate.time_for(size));
        self.free_at = leaves;
        if self.rate.is_some() {
            self.leaving.push_back(leaves);
        }
        let arrives = leaves + self.delay;
        let mut fly = |at| {
            self.flying.insert((at, self.count), segment);
            self.count += 1;
        };
        match fate {
            Fate::Late(by) => fly(arrives + by),
            Fate::Twice(by) => {
                fly(arrives);
                fly(arrives + by);
            }
            Fate::Deliver | Fate::Drop => fly(arrives),
        }
    }
}

/// Data delivered to one end, as recorded by the pipe: sorted disjoint ranges.
#[derive(Default)]
struct Account(BTreeMap<u64, u64>);

impl Account {
    fn add(&mut self, mut start: u64, mut end: u64) {
        let touching: Vec<u64> = self.0.range(..=end).filter(|&(_, &e)| e >= start).map(|(&s, _)| s).collect();
        for s in touching {
            let e = self.0.remove(&s).unwrap();
            (start, end) = (start.min(s), end.max(e));
        }
        self.0.insert(start, end);
    }

    /// Number of bytes in order from position 1 on.
    fn in_order(&self) -> u64 {
        self.0.get(&1).map_or(0, |end| end - 1)
    }
}

/// Both endpoints and the pipe.
pub struct Net {
    pub now: Instant,
    pub ends: [Connection; 2],
    /// The direction from A to B, and the one from B to A.
    pub lanes: [Lane; 2],
    pub events: [Vec<Event>; 2],
    /// All segments sent, with time and sender.
    pub sent: Vec<(Instant, Side, Segment)>,
    pub keep_sent: bool,
    accounts: [Account; 2],
}

impl Net {
    /// Two ends of this configuration, 50 ms apart, with unlimited rate.
    pub fn new(config: &Config) -> Self {
        Self::with(config, config)
    }

    pub fn with(a: &Config, b: &Config) -> Self {
        Self {
            now: Instant::ZERO,
            ends: [Connection::connect(a.clone()).unwrap(), Connection::listen(b.clone()).unwrap()],
            lanes: [Lane::new(), Lane::new()],
            events: [Vec::new(), Vec::new()],
            sent: Vec::new(),
            keep_sent: true,
            accounts: Default::default(),
        }
    }

    /// Sets the bottleneck from A to B, and the delay of both directions.
    pub fn path(mut self, rate: BitRate, delay: Span, buffer: usize) -> Self {
        self.lanes[0].rate = Some(rate);
        self.lanes[0].buffer = buffer;
        self.delay(delay)
    }

    pub fn delay(mut self, delay: Span) -> Self {
        self.lanes.iter_mut().for_each(|lane| lane.delay = delay);
        self
    }

    pub fn fate(mut self, from: Side, fate: impl FnMut(&Segment) -> Fate + 'static) -> Self {
        self.lanes[from as usize].fate = Box::new(fate);
        self
    }

    /// Drops the data segments that begin at these positions, each once.
    pub fn lose_once(self, mut positions: Vec<u64>) -> Self {
        self.fate(Side::A, move |segment| {
            let hit = positions.iter().position(|&p| p == segment.seq && segment.len > 0);
            hit.map_or(Fate::Deliver, |i| {
                positions.remove(i);
                Fate::Drop
            })
        })
    }

    pub fn a(&mut self) -> &mut Connection {
        &mut self.ends[0]
    }

    pub fn b(&mut self) -> &mut Connection {
        &mut self.ends[1]
    }

    /// Sends the segments that both ends have to send and takes their events.
    pub fn drain(&mut self) {
        for side in [Side::A, Side::B] {
            let end = &mut self.ends[side as usize];
            while let Some(segment) = end.poll_transmit(self.now) {
                if self.keep_sent {
                    self.sent.push((self.now, side, segment));
                }
                self.lanes[side as usize].send(self.now, segment);
            }
            while let Some(event) = end.poll_event() {
                self.events[side as usize].push(event);
            }
        }
    }

    pub fn next_time(&self) -> Option<Instant> {
        let deadlines = self.ends.iter().filter_map(|end| end.poll_deadline().map(|(at, _)| at));
        let arrivals = self.lanes.iter().filter_map(|lane| lane.flying.keys().next().map(|&(at, _)| at));
        deadlines.chain(arrivals).min()
    }

    /// Advances to the next event and processes it; returns false if there is none.
    pub fn step(&mut self) -> bool {
        self.drain();
        let Some(at) = self.next_time() else { return false };
        assert!(at >= self.now, "time goes backwards: {at:?} after {:?}", self.now);
        self.now = at;
        for from in [0, 1] {
            let first = self.lanes[from].flying.first_entry().filter(|entry| entry.key().0 <= at);
            if let Some(segment) = first.map(|entry| entry.remove()) {
                self.deliver(1 - from, &segment);
                self.drain();
            }
        }
        for end in &mut self.ends {
            if end.poll_deadline().is_some_and(|(due, _)| due <= at) {
                end.handle_timeout(at);
                assert!(
                    end.poll_deadline().is_none_or(|(due, timer)| due > at || timer == Timer::Retransmit),
                    "a deadline that passed is gone"
                );
            }
        }
        self.drain();
        true
    }

    fn deliver(&mut self, to: usize, segment: &Segment) {
        let end = &mut self.ends[to];
        end.handle_segment(self.now, segment);
        if segment.len > 0 && end.stats().data_segments_received > 0 {
            self.accounts[to].add(segment.seq, segment.seq + u64::from(segment.len));
            assert_eq!(end.stats().bytes_received, self.accounts[to].in_order(), "reassembly");
        }
    }

    pub fn run_until(&mut self, until: Instant) {
        self.drain();
        while self.next_time().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = until;
    }

    pub fn run_for(&mut self, span: Span) {
        self.run_until(self.now + span);
    }

    /// Runs while `go_on` holds, until there are no more events or `limit` of virtual time has passed.
    pub fn run_while(&mut self, limit: Span, mut go_on: impl FnMut(&Self) -> bool) {
        let end = self.now + limit;
        while go_on(self) && self.now <= end && self.step() {}
    }

    /// Times and positions of the data segments A sent.
    pub fn data_from_a(&self) -> impl Iterator<Item = (Instant, Segment)> + '_ {
        self.sent.iter().filter(|(_, side, s)| *side == Side::A && s.len > 0).map(|&(at, _, s)| (at, s))
    }

    pub fn received_by_b(&self) -> u64 {
        self.ends[1].stats().bytes_received
    }

    pub fn cwnd_segments(&self) -> f64 {
        self.ends[0].cwnd().0 as f64 / self.ends[0].segment_payload().0 as f64
    }
}
