//! The access point and its stations on the medium.
//!
//! The medium is the testbed's: the same crate, driven from event to event instead of by a clock. A packet from a
//! station goes to the wired side (stations talk to servers only). A packet for a station that is not associated is
//! dropped, as an access point does.

use evenair_medium::{Counters, DropReason, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, To, Totals};
use evenair_scenario::{AfterCollision, AppKind, Direction, Place, Radio, Scenario};
use evenair_units::{Airtime, Bytes, Instant, Limit, Streams};
use evenair_wifi::PhyRate;

use crate::packet::PacketId;

/// Who sent a frame over the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    AccessPoint,
    /// By its number among the stations.
    Station(usize),
}

/// Why a packet was lost at the access point or at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Medium(DropReason),
    NotAssociated,
}

#[derive(Debug)]
pub(crate) struct Air {
    pub(crate) medium: Medium<PacketId>,
    access_point: NodeId,
    station_buffer: Limit,
    stations: Vec<Station>,
    /// Whose each node is or was; the access point's is beyond the stations.
    owner: Vec<usize>,
    queue: QueueAverage,
    losses: Vec<Losses>,
}

#[derive(Debug)]
struct Station {
    host: usize,
    rate: PhyRate,
    /// While it is associated.
    node: Option<NodeId>,
    /// Medium time of its accesses before it left.
    airtime: Airtime,
    /// The one application that uses the buffer, where it is one that sends datagrams.
    sole_sender: Option<u32>,
}

/// Time average of the access point's queue.
#[derive(Debug, Default)]
struct QueueAverage {
    packets: usize,
    since: Instant,
    /// Packets times nanoseconds.
    area: u128,
}

#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    buffer_full: u64,
    retry_limit: u64,
    left: u64,
    not_associated: u64,
}

impl Air {
    /// All stations of the scenario, associated.
    pub(crate) fn new(scenario: &Scenario, streams: &Streams) -> Self {
        let radio = &scenario.radio;
        let mut medium = Medium::new(medium_config(radio), streams);
        let access_point = medium.add_node(NodeConfig { buffer: radio.ap_buffer });
        let station = |(host, spec): (usize, &evenair_scenario::Host)| match spec.place {
            Place::Station { rate, .. } => Some(Station {
                host,
                rate,
                node: None,
                airtime: Airtime::ZERO,
                sole_sender: sole_sender(scenario, host),
            }),
            Place::Lan | Place::Wan => None,
        };
        let stations: Vec<_> = scenario.hosts.iter().enumerate().filter_map(station).collect();
        let mut air = Self {
            medium,
            access_point,
            station_buffer: radio.station_buffer,
            owner: vec![usize::MAX],
            queue: QueueAverage::default(),
            losses: vec![Losses::default(); stations.len() + 1],
            stations,
        };
        (0..air.stations.len()).for_each(|station| air.join(station));
        air
    }

    /// Number of the station that is host `host`.
    ///
    /// # Panics
    /// If it is none.
    pub(crate) fn station_of(&self, host: usize) -> usize {
        self.stations.iter().position(|station| station.host == host).expect("applications and events name stations")
    }

    pub(crate) fn join(&mut self, station: usize) {
        if self.stations[station].node.is_none() {
            let node = self.medium.add_node(NodeConfig { buffer: self.station_buffer });
            self.stations[station].node = Some(node);
            self.owner.push(station);
        }
    }

    pub(crate) fn leave(&mut self, now: Instant, station: usize) {
        let station = &mut self.stations[station];
        if let Some(node) = station.node.take() {
            self.medium.remove_node(now, node);
            station.airtime.0 += self.medium.counters(node).airtime.0;
        }
    }

    /// For frames to and from the station that are queued from now on.
    pub(crate) fn set_rate(&mut self, station: usize, rate: PhyRate) {
        self.stations[station].rate = rate;
    }

    /// A station sends a packet. Gives it back where the station is not associated; a full buffer comes out as the
    /// medium's event.
    pub(crate) fn send_up(
        &mut self,
        now: Instant,
        station: usize,
        msdu: Bytes,
        frame: PacketId,
    ) -> Result<(), PacketId> {
        let Station { rate, node, .. } = self.stations[station];
        let Some(node) = node else { return Err(frame) };
        self.medium.handle_frame(now, node, Mpdu { to: To::Node(self.access_point), msdu, rate, frame });
        Ok(())
    }

    /// A packet comes to the access point for a station. Gives it back where the station is not associated.
    pub(crate) fn send_down(
        &mut self,
        now: Instant,
        station: usize,
        msdu: Bytes,
        frame: PacketId,
    ) -> Result<(), PacketId> {
        let Station { rate, node, .. } = self.stations[station];
        let Some(node) = node else { return Err(frame) };
        self.medium.handle_frame(now, self.access_point, Mpdu { to: To::Node(node), msdu, rate, frame });
        self.note_queue(now);
        Ok(())
    }

    /// Whether the station's buffer would have taken a packet before one of `left` bytes left it. One that is not
    /// associated has none that could be full.
    pub(crate) fn had_room(&self, station: usize, msdu: Bytes, left: Option<Bytes>) -> bool {
        let Some(node) = self.stations[station].node else { return true };
        let queue = self.medium.queue(node);
        let (packets, bytes) = left.map_or((0, Bytes::ZERO), |bytes| (1, bytes));
        self.station_buffer.admits(queue.packets + packets, queue.bytes + bytes, msdu)
    }

    /// Whether the station has nothing to send, or nowhere to send it.
    pub(crate) fn is_empty(&self, station: usize) -> bool {
        self.stations[station].node.is_none_or(|node| self.medium.queue(node).packets == 0)
    }

    pub(crate) fn sender(&self, node: NodeId) -> Sender {
        if node == self.access_point { Sender::AccessPoint } else { Sender::Station(self.owner[node.0 as usize]) }
    }

    /// The application that alone uses the station's buffer, where it is one that sends datagrams.
    pub(crate) fn sole_sender(&self, station: usize) -> Option<u32> {
        self.stations[station].sole_sender
    }

    pub(crate) fn note_queue(&mut self, now: Instant) {
        let queue = &mut self.queue;
        queue.area += u128::from(now.saturating_since(queue.since).as_nanos()) * queue.packets as u128;
        queue.since = now;
        queue.packets = self.medium.queue(self.access_point).packets;
    }

    /// Packets in the access point's queue, and packets times nanoseconds since the last call.
    pub(crate) fn take_queue(&mut self, now: Instant) -> (usize, u128) {
        self.note_queue(now);
        (self.queue.packets, std::mem::take(&mut self.queue.area))
    }

    pub(crate) fn lose(&mut self, place: Sender, loss: Loss) {
        let losses = match place {
            Sender::AccessPoint => self.losses.last_mut().expect("there is one more than stations"),
            Sender::Station(station) => &mut self.losses[station],
        };
        match loss {
            Loss::Medium(DropReason::BufferFull) => losses.buffer_full += 1,
            Loss::Medium(DropReason::RetryLimit) => losses.retry_limit += 1,
            Loss::Medium(DropReason::Left) => losses.left += 1,
            Loss::Medium(DropReason::BroadcastCollision) => unreachable!("nobody broadcasts"),
            Loss::NotAssociated => losses.not_associated += 1,
        }
    }

    /// Datagrams that were never made because the buffer was full when they were due.
    pub(crate) fn lose_unmade(&mut self, station: usize, datagrams: u64) {
        self.losses[station].buffer_full += datagrams;
    }

    /// Losses: of the host that is a station (`None`: of the access point), why, how many.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (Option<usize>, &'static str, u64)> + '_ {
        let hosts = self.stations.iter().map(|station| Some(station.host)).chain([None]);
        hosts.zip(&self.losses).flat_map(|(host, losses)| {
            [
                (host, "buffer full", losses.buffer_full),
                (host, "retry limit", losses.retry_limit),
                (host, "station left", losses.left),
                (host, "not associated", losses.not_associated),
            ]
        })
    }

    /// Packets in all buffers of the air.
    pub(crate) fn held(&self) -> usize {
        let nodes = self.stations.iter().filter_map(|station| station.node).chain([self.access_point]);
        nodes.map(|node| self.medium.queue(node).packets).sum()
    }

    pub(crate) fn totals(&self, now: Instant) -> Totals {
        self.medium.totals(now)
    }

    /// Medium time of all accesses: the access point's and, by host, each station's.
    pub(crate) fn airtime(&self) -> impl Iterator<Item = (Option<usize>, Airtime)> + '_ {
        let of = |node: NodeId| -> &Counters { self.medium.counters(node) };
        let stations = self.stations.iter().map(move |station| {
            let now = station.node.map_or(Airtime::ZERO, |node| of(node).airtime);
            (Some(station.host), Airtime(station.airtime.0 + now.0))
        });
        [(None, of(self.access_point).airtime)].into_iter().chain(stations)
    }
}

/// The application of `host`, where it is the only one and sends datagrams up.
fn sole_sender(scenario: &Scenario, host: usize) -> Option<u32> {
    let mut own = scenario.apps.iter().enumerate().filter(|(_, app)| app.station == host);
    let (number, app) = own.next()?;
    let floods = matches!(app.kind, AppKind::Udp { .. }) && app.direction == Direction::Up;
    (floods && own.next().is_none()).then_some(number as u32)
}

fn medium_config(radio: &Radio) -> MediumConfig {
    MediumConfig {
        phy: radio.phy.clone(),
        rts_threshold: radio.rts_threshold,
        short_retry_limit: radio.short_retry_limit,
        long_retry_limit: radio.long_retry_limit,
        after_collision: match radio.after_collision {
            AfterCollision::Eifs => evenair_medium::AfterCollision::Eifs,
            AfterCollision::Difs => evenair_medium::AfterCollision::Difs,
        },
    }
}
