//! A record of the hop between the box and the stations, made without the box's manager, to compare the box's latencies and losses with.
//!
//! It has the instants at which TCP packets leave the box toward a station (while the bridge carries them, at which they arrive, which
//! is the same), and those at which the station's first frame that acknowledges them arrives at the box:
//! - DATA, by their positions in the stream. That frame covers them, or reports them in a SACK block (RFC 2018).
//! - ACKs of a bulk upload, by their timestamps (RFC 7323): it is the first segment that echoes them or later ones.
//!
//! All packets are recorded, except DATA that left the box twice: which transmission was acknowledged is unknown (Karn and Partridge,
//! 1987).
//! Losses are those of the simulated access points, stations and medium.

use std::collections::{BTreeMap, VecDeque};

use evenair_scenario::{AppKind, Scenario};
use evenair_units::{Instant, Span};
use evenair_workload::Direction;

use crate::packet::{Body, Carries, Packet};
use crate::tcp::segment::Segment;

/// A packet that was released toward a station and acknowledged by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WlanTime {
    /// The application, by its number in the scenario.
    pub app: usize,
    /// When the frame that acknowledges it arrived at the box, since the start of the run.
    pub at: Span,
    /// Time from its release to that frame.
    pub took: Span,
}

/// Segments of TCP DATA of an application and a direction, since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WlanSegments {
    /// Segments that came to the box.
    pub passed: u64,
    /// Segments lost between the box and the station's TCP.
    pub lost: u64,
}

/// DATA of a connection that left the box and is not covered by an acknowledgment yet.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// Position behind the last byte.
    end: u64,
    released: Instant,
    /// When a SACK block first reported it.
    reported: Option<Instant>,
    /// It left more than once.
    is_repeated: bool,
}

/// Packets of a connection that have left the box.
#[derive(Debug, Default)]
struct Connection {
    /// DATA by first position.
    data: BTreeMap<u64, Outstanding>,
    /// Position behind the last byte that has left.
    end: u64,
    /// ACKs by timestamp, oldest first.
    acks: VecDeque<(u32, Instant)>,
    newest_ack: Option<u32>,
}

/// The record of a run.
#[derive(Debug)]
pub(crate) struct WlanRecord {
    /// Whether each application is an endless bulk upload.
    uploads: Vec<bool>,
    /// Connections by index and serial number.
    connections: BTreeMap<(u32, u32), Connection>,
    times: Vec<WlanTime>,
    /// Segments of each application: toward its station, and from it.
    segments: Vec<[WlanSegments; 2]>,
}

impl WlanRecord {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let apps = || scenario.apps.iter();
        let uploads =
            apps().map(|app| matches!(app.kind, AppKind::Bulk { .. }) && app.direction == Direction::Up).collect();
        let segments = apps().map(|_| <_>::default()).collect();
        Self { uploads, connections: BTreeMap::new(), times: Vec::new(), segments }
    }

    pub(crate) fn times(&self) -> &[WlanTime] {
        &self.times
    }

    pub(crate) fn segments(&self, app: usize, way: Direction) -> WlanSegments {
        self.segments[app][way_index(way)]
    }

    /// Records a packet that arrives at the box, from either side.
    pub(crate) fn come(&mut self, now: Instant, packet: &Packet, segment: Option<&Segment>) {
        let (Body::Tcp { connection, serial, carries }, Some(segment)) = (packet.body, segment) else { return };
        let app = packet.app as usize;
        self.segments[app][way_index(packet.way)].passed += u64::from(carries == Carries::Data);
        if packet.way == Direction::Up
            && let Some(of) = self.connections.get_mut(&(connection, serial))
        {
            of.acknowledge(now, segment, |at, took| {
                self.times.push(WlanTime { app, at: at.saturating_since(Instant::ZERO), took });
            });
        }
    }

    /// Records a packet that leaves the box toward a station.
    pub(crate) fn leave(&mut self, now: Instant, packet: &Packet, segment: Option<&Segment>) {
        let (Body::Tcp { connection, serial, carries }, Some(segment)) = (packet.body, segment) else { return };
        let is_ack = carries == Carries::PureAck && self.uploads[packet.app as usize];
        if packet.way == Direction::Down && (is_ack || carries == Carries::Data) {
            self.connections.entry((connection, serial)).or_default().release(now, segment);
        }
    }

    /// Records a packet that is lost between the box and a station.
    pub(crate) fn lose(&mut self, packet: &Packet) {
        if let Body::Tcp { carries: Carries::Data, .. } = packet.body {
            self.segments[packet.app as usize][way_index(packet.way)].lost += 1;
        }
    }
}

impl Connection {
    fn release(&mut self, now: Instant, segment: &Segment) {
        if segment.len > 0 {
            let end = segment.seq + u64::from(segment.len);
            if segment.seq >= self.end {
                let outstanding = Outstanding { end, released: now, reported: None, is_repeated: false };
                self.data.insert(segment.seq, outstanding);
                self.end = end;
            } else {
                self.data.range_mut(..end).rev().take_while(|(_, data)| data.end > segment.seq).for_each(
                    |(_, data)| {
                        data.is_repeated = true;
                    },
                );
            }
        } else if let Some(stamps) = segment.timestamps
            && self.newest_ack.is_none_or(|newest| is_after(stamps.value, newest))
        {
            self.newest_ack = Some(stamps.value);
            self.acks.push_back((stamps.value, now));
        }
    }

    /// Handles a segment of the station; `done` gets the release-to-ACK time of each packet that is newly covered, with the time
    /// of its acknowledgment.
    fn acknowledge(&mut self, now: Instant, segment: &Segment, mut done: impl FnMut(Instant, Span)) {
        if segment.flags.ack {
            for block in segment.sack.iter(segment.ack) {
                let within = self.data.range_mut(block.start..block.end).filter(|(_, data)| data.end <= block.end);
                within.for_each(|(_, data)| _ = data.reported.get_or_insert(now));
            }
            while let Some(first) = self.data.first_entry().filter(|first| first.get().end <= segment.ack) {
                let data = first.remove();
                if !data.is_repeated {
                    let at = data.reported.unwrap_or(now);
                    done(at, at.saturating_since(data.released));
                }
            }
        }
        let Some(stamps) = segment.timestamps else { return };
        while let Some(&(value, released)) = self.acks.front()
            && !is_after(value, stamps.echo)
        {
            self.acks.pop_front();
            done(now, now.saturating_since(released));
        }
    }
}

const fn way_index(way: Direction) -> usize {
    match way {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

/// Whether `this` timestamp is after `that` one, modulo 2^32.
const fn is_after(this: u32, that: u32) -> bool {
    this.wrapping_sub(that).cast_signed() > 0
}
