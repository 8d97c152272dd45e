//! The record of the hop between box and stations, from captures: the times from a packet's departure at the box's port toward a station
//! until the first frame that acknowledges it arrives at that port, and the lost DATA.
//!
//! As in the simulator's record (`evenair_sim`, `wlan_record`):
//! - DATA, by their positions in the stream. That frame covers them, or reports them in a SACK block (RFC 2018).
//! - ACKs of a bulk upload, by their timestamps (RFC 7323): it is the first segment that echoes them or later ones.
//!
//! DATA that left more than once is omitted: which transmission was acknowledged is unknown (Karn and Partridge, 1987).

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use evenair_scenario::{AppKind, Scenario};
use evenair_testbed::plan;
use evenair_workload::Direction;

use super::capture::{self, Segment};

/// A packet that left toward a station and was acknowledged by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WlanTime {
    /// The station's address.
    pub station: Ipv4Addr,
    /// When the frame that acknowledges it arrived at the box, since the beginning of 1970.
    pub at: Duration,
    /// Time since it left the box.
    pub took: Duration,
}

/// Segments of DATA of a station and a direction, including retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Segments that entered the hop.
    pub entered: u64,
    /// Segments of those that never left it.
    pub lost: u64,
}

/// DATA that left and is not covered by an acknowledgment yet.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// Position behind the last byte.
    end: u64,
    left: Duration,
    /// When a SACK block first reported it.
    reported: Option<Duration>,
    /// It left more than once.
    is_repeated: bool,
}

/// Packets of a connection that have left toward the station.
#[derive(Debug, Default)]
struct Connection {
    /// DATA by first position.
    data: BTreeMap<u64, Outstanding>,
    /// Position behind the last byte that has left; modulo 2^32 it is its sequence number.
    end: Option<u64>,
    /// ACKs by timestamp, oldest first.
    acks: VecDeque<(u32, Duration)>,
    newest_ack: Option<u32>,
}

impl Connection {
    /// The position of a sequence number, near those that have left.
    fn position(&self, seq: u32) -> u64 {
        // The first position is far enough above zero for any that precede it.
        let end = self.end.unwrap_or((1 << 32) | u64::from(seq));
        end.wrapping_add_signed(seq.wrapping_sub(end as u32).cast_signed().into())
    }

    fn leave(&mut self, segment: &Segment) {
        if segment.len > 0 {
            self.leave_data(segment);
        } else if let Some((value, _)) = segment.stamps
            && self.newest_ack.is_none_or(|newest| is_after(value, newest))
        {
            self.newest_ack = Some(value);
            self.acks.push_back((value, segment.at));
        }
    }

    fn leave_data(&mut self, segment: &Segment) {
        let start = self.position(segment.seq);
        let end = start + u64::from(segment.len);
        if self.end.is_none_or(|furthest| start >= furthest) {
            self.data.insert(start, Outstanding { end, left: segment.at, reported: None, is_repeated: false });
            self.end = Some(end);
        } else {
            let again = self.data.range_mut(..end).rev().take_while(|(_, data)| data.end > start);
            again.for_each(|(_, data)| data.is_repeated = true);
        }
    }

    /// Handles a segment of the station; `done` gets the time of each packet that is newly covered, with the time of its acknowledgment.
    fn come(&mut self, segment: &Segment, mut done: impl FnMut(Duration, Duration)) {
        if let Some(ack) = segment.ack {
            for (start, end) in segment.sack.into_iter().flatten() {
                let (start, end) = (self.position(start), self.position(end));
                // A SACK block that ends before it starts is a host's error.
                let within = self.data.range_mut(start..end.max(start)).filter(|(_, data)| data.end <= end);
                within.for_each(|(_, data)| _ = data.reported.get_or_insert(segment.at));
            }
            let covered = self.position(ack);
            while let Some(first) = self.data.first_entry().filter(|first| first.get().end <= covered) {
                let data = first.remove();
                if !data.is_repeated {
                    let at = data.reported.unwrap_or(segment.at);
                    done(at, at.saturating_sub(data.left));
                }
            }
        }
        let Some((_, echo)) = segment.stamps else { return };
        while let Some(&(value, left)) = self.acks.front()
            && !is_after(value, echo)
        {
            self.acks.pop_front();
            done(segment.at, segment.at.saturating_sub(left));
        }
    }
}

/// Whether `this` timestamp is after `that` one, modulo 2^32.
const fn is_after(this: u32, that: u32) -> bool {
    this.wrapping_sub(that).cast_signed() > 0
}

/// The stations of a scenario, by address.
pub fn stations(scenario: &Scenario) -> BTreeMap<Ipv4Addr, usize> {
    let is_station = |&host: &usize| scenario.hosts[host].place.is_station();
    (0..scenario.hosts.len()).filter(is_station).map(|host| (plan::host(scenario, host).v4, host)).collect()
}

/// Whether the connection to this server address is an endless upload.
fn is_upload(scenario: &Scenario, server: SocketAddrV4) -> bool {
    let app = plan::app_of_port(server.port()).and_then(|index| scenario.apps.get(index));
    app.is_some_and(|app| matches!(app.kind, AppKind::Bulk { .. }) && app.direction == Direction::Up)
}

/// The times in a capture at the box's port toward the access point, in the order of the acknowledgements.
pub fn times(scenario: &Scenario, box_port: &Path) -> Result<Vec<WlanTime>> {
    let stations = stations(scenario);
    let mut connections = BTreeMap::<(SocketAddrV4, SocketAddrV4), Connection>::new();
    let mut times = Vec::new();
    capture::read(box_port, |segment| {
        let Segment { from, to, .. } = *segment;
        if stations.contains_key(to.ip()) {
            let is_timed = segment.len > 0 || (!segment.is_control && is_upload(scenario, from));
            if is_timed {
                connections.entry((to, from)).or_default().leave(segment);
            }
        } else if let Some(connection) = connections.get_mut(&(from, to)) {
            let station = *from.ip();
            connection.come(segment, |at, took| times.push(WlanTime { station, at, took }));
        }
    })?;
    Ok(times)
}

/// The DATA that a station received or sent (`direction`) and that entered the hop in this interval, and its losses, from captures at both
/// ends of the hop.
pub fn passage(
    station: Ipv4Addr,
    direction: Direction,
    captures: [&Path; 2],
    during: &Range<Duration>,
) -> Result<Passage> {
    let is_its = |segment: &Segment| {
        let end = if direction == Direction::Down { segment.to } else { segment.from };
        *end.ip() == station && segment.len > 0
    };
    let key = |segment: &Segment| (segment.from, segment.to, segment.seq, segment.id);
    let [entry, exit] = captures;
    let mut left = HashSet::new();
    capture::read(exit, |segment| {
        if is_its(segment) {
            left.insert(key(segment));
        }
    })?;
    let mut passage = Passage::default();
    capture::read(entry, |segment| {
        if is_its(segment) && during.contains(&segment.at) {
            passage.entered += 1;
            passage.lost += u64::from(!left.contains(&key(segment)));
        }
    })?;
    Ok(passage)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 80);
    const STATION: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 40_000);
    /// Near the end of the sequence space, so that numbers wrap.
    const ISN: u32 = u32::MAX - 1_500;

    fn data(at_ms: u64, number: u32) -> Segment {
        let seq = ISN.wrapping_add(number * 1_000);
        Segment {
            at: Duration::from_millis(at_ms),
            from: SERVER,
            to: STATION,
            id: 0,
            seq,
            len: 1_000,
            ack: Some(1),
            is_control: false,
            sack: [None; 4],
            stamps: None,
        }
    }

    fn ack(at_ms: u64, number: u32) -> Segment {
        let ack = Some(ISN.wrapping_add(number * 1_000));
        Segment { from: STATION, to: SERVER, seq: 1, len: 0, ack, ..data(at_ms, 0) }
    }

    fn come(connection: &mut Connection, segment: &Segment) -> Vec<[u128; 2]> {
        let mut times = Vec::new();
        connection.come(segment, |at, took| times.push([at.as_millis(), took.as_millis()]));
        times
    }

    #[test]
    fn data_are_timed_to_the_first_acknowledgement_unless_sent_again() {
        let mut connection = Connection::default();
        (0..4).for_each(|number| connection.leave(&data(number.into(), number)));
        let block = (ISN.wrapping_add(2_000), ISN.wrapping_add(3_000));
        let sack = Segment { sack: [Some(block), None, None, None], ..ack(10, 1) };
        assert_eq!(come(&mut connection, &sack), [[10, 10]]);
        connection.leave(&data(20, 1));
        assert_eq!(come(&mut connection, &ack(30, 4)), [[10, 8], [30, 27]], "the second left twice");
    }

    #[test]
    fn acks_of_uploads_are_timed_to_the_echo_of_their_timestamps() {
        let mut connection = Connection::default();
        let leave = |at, value| Segment { len: 0, stamps: Some((value, 0)), ..data(at, 0) };
        [leave(1, 7), leave(2, 7), leave(3, 8)].iter().for_each(|segment| connection.leave(segment));
        let echo = |at, echo| Segment { stamps: Some((0, echo)), ..ack(at, 0) };
        assert!(come(&mut connection, &echo(4, 6)).is_empty());
        assert_eq!(come(&mut connection, &echo(9, 8)), [[9, 8], [9, 6]]);
    }
}
