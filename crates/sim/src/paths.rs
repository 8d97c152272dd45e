//! The wired paths between the box and the access points, each direction separately, with their delays.
//!
//! An access point directly at the box has no path, and a packet is at the other end at once. A packet on the path to an
//! access point that its station leaves meanwhile still arrives there, and is dropped.
//!
//! A station that answers late has its own delay line, between its host and its MAC.

use evenair_link::{DelayConfig, DelayLine};
use evenair_scenario::{DelaySpec, Place, Scenario};
use evenair_units::{Instant, Span, Streams};
use evenair_workload::Direction;

use crate::domain::{Loss, Sender};
use crate::packet::PacketId;
use crate::world::World;

/// Where a delay line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// One direction of the path of an access point, by its number.
    Path { access_point: usize, way: Direction },
    /// What a station sends, before it enters its MAC.
    Station(usize),
}

#[derive(Debug)]
struct Line {
    end: End,
    packets: DelayLine<PacketId>,
}

/// All delay lines.
#[derive(Debug)]
pub(crate) struct Paths {
    lines: Vec<Line>,
    /// Next arrival on any line; [`Instant::MAX`] if all are empty.
    next: Instant,
}

impl Paths {
    pub(crate) fn new(scenario: &Scenario, streams: &Streams) -> Self {
        let mut lines = Vec::new();
        for (access_point, point) in scenario.access_points.iter().enumerate() {
            let ways = [(Direction::Down, point.path.down, "down"), (Direction::Up, point.path.up, "up")];
            for (way, spec, word) in ways.into_iter().filter(|(_, spec, _)| *spec != DelaySpec::default()) {
                let rng = streams.stream(&format!("path {word} of {}", point.name));
                let config = DelayConfig { delay: spec.delay, jitter: spec.jitter, batch: spec.batch };
                lines.push(Line { end: End::Path { access_point, way }, packets: DelayLine::new(config, rng) });
            }
        }
        for (station, host) in scenario.hosts.iter().enumerate() {
            let Place::Station { link, .. } = host.place else { continue };
            if link.answers_late > Span::ZERO {
                let rng = streams.stream(&format!("answers of {}", host.name));
                let config = DelayConfig { delay: link.answers_late, ..DelayConfig::default() };
                lines.push(Line { end: End::Station(station), packets: DelayLine::new(config, rng) });
            }
        }
        Self { lines, next: Instant::MAX }
    }

    /// Whether there are no delay lines.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Next arrival; [`Instant::MAX`] if all lines are empty.
    #[inline(always)]
    pub(crate) fn deadline(&self) -> Instant {
        self.next
    }

    /// Packets on all paths.
    pub(crate) fn held(&self) -> usize {
        self.lines.iter().map(|line| line.packets.held()).sum()
    }

    /// Sends a packet into a delay line. Gives it back if there is none.
    fn send(&mut self, now: Instant, end: End, packet: PacketId) -> Option<PacketId> {
        let Some(line) = self.lines.iter_mut().find(|line| line.end == end) else { return Some(packet) };
        line.packets.handle_frame(now, packet);
        self.next = self.next.min(line.packets.poll_deadline().unwrap_or(Instant::MAX));
        None
    }

    /// The next packet that has arrived by `now`; at equal times in the order of access points in the file.
    fn arrival(&mut self, now: Instant) -> Option<(End, PacketId)> {
        let due = |line: &Line| line.packets.poll_deadline().unwrap_or(Instant::MAX);
        let line = self.lines.iter_mut().min_by_key(|line| due(line))?;
        let (_, packet) = line.packets.poll_frame(now)?;
        let end = line.end;
        self.next = self.lines.iter().map(due).min().unwrap_or(Instant::MAX);
        Some((end, packet))
    }
}

impl World {
    /// Forwards a packet that an access point received from a station toward the box.
    #[inline(always)]
    pub(crate) fn leave_access_point(&mut self, station: usize, id: PacketId) {
        if let Some(id) = self.take_path(station, Direction::Up, id) {
            self.enter_box(id);
        }
    }

    /// Sends a packet for a station from the box. Gives it back if its access point has no path.
    #[inline(always)]
    pub(crate) fn take_path(&mut self, station: usize, way: Direction, id: PacketId) -> Option<PacketId> {
        if self.paths.is_empty() {
            return Some(id);
        }
        let access_point = self.domains.access_point_of(station);
        self.paths.send(self.now, End::Path { access_point, way }, id)
    }

    /// Delivers the next due packet at the end of its line.
    pub(crate) fn take_from_path(&mut self) {
        let Some((end, id)) = self.paths.arrival(self.now) else { return };
        match end {
            End::Station(station) => self.enter_station_mac(station, id),
            End::Path { way: Direction::Up, .. } => self.enter_box(id),
            End::Path { way: Direction::Down, access_point } => {
                let station = self.ways[self.pool.get(id).app as usize].station as usize;
                if self.domains.access_point_of(station) == access_point {
                    return self.enter_access_point(id);
                }
                self.log_enqueued(id);
                let (domain, point) = self.domains.point(access_point);
                self.lose_on_air(domain, Sender::AccessPoint(point), Loss::NotAssociated, id);
            }
        }
    }

    /// Delays a packet of a station that answers late. Gives it back if the station does not.
    #[inline(always)]
    pub(crate) fn take_delay_of_station(&mut self, station: usize, id: PacketId) -> Option<PacketId> {
        if self.paths.is_empty() {
            return Some(id);
        }
        self.paths.send(self.now, End::Station(station), id)
    }
}
