//! Probes of the box: requests for stations' addresses, which they answer.
//!
//! A probe goes the way of a packet of an application of its station, from the box on. Its answer ends at the box, be it
//! with the manager or with the bridge, which is the host that the answer is for.

use evenair_medium::AccessCategory;
use evenair_packet::MacAddr;
use evenair_workload::Direction;
use std::net::IpAddr;

use crate::domain::AirFrame;
use crate::middlebox::probe_len;
use crate::packet::{Body, Packet, PacketId};
use crate::world::World;

impl World {
    /// The box asks a station for an address that it uses.
    pub(crate) fn send_probe(&mut self, station: MacAddr, address: IpAddr) {
        let app = self.middlebox.as_ref().and_then(|middlebox| middlebox.app_of(station, address));
        if let Some(app) = app {
            let packet = Packet { app: app as u32, way: Direction::Down, len: probe_len(address), body: Body::Probe };
            let id = self.pool.add(packet);
            self.leave_box(id);
        }
    }

    /// A station was asked, and answers at once.
    pub(crate) fn answer_probe(&mut self, probe: &Packet) {
        let answer = Packet { way: Direction::Up, ..*probe };
        let station = self.ways[probe.app as usize].station as usize;
        let frame = AirFrame { packet: self.pool.add(answer), category: AccessCategory::BestEffort };
        self.send_up(station, frame);
    }

    pub(crate) fn is_probe(&self, id: PacketId) -> bool {
        matches!(self.pool.get(id).body, Body::Probe)
    }

    /// A packet for the box has come to it.
    pub(crate) fn end(&mut self, id: PacketId) {
        self.pool.take(id);
        self.arrived += 1;
    }
}
