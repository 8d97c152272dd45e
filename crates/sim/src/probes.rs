//! Probes of the box: requests for stations' addresses, which they answer.
//!
//! From the box on, a probe is routed like a packet of an application of its station. Its answer ends at the box, which is
//! its destination, whether the manager or the bridge carries the traffic.

use evenair_medium::AccessCategory;
use evenair_packet::MacAddr;
use evenair_workload::Direction;
use std::net::IpAddr;

use crate::domain::AirFrame;
use crate::middlebox::probe_len;
use crate::packet::{Body, Packet, PacketId};
use crate::world::World;

impl World {
    /// Sends a probe of the box to a station for an address that it uses.
    pub(crate) fn send_probe(&mut self, station: MacAddr, address: IpAddr) {
        let app = self.middlebox.as_ref().and_then(|middlebox| middlebox.app_of(station, address));
        if let Some(app) = app {
            let packet = Packet { app: app as u32, way: Direction::Down, len: probe_len(address), body: Body::Probe };
            let id = self.pool.add(packet);
            self.leave_box(id);
        }
    }

    /// Sends a station's immediate answer to a probe.
    pub(crate) fn answer_probe(&mut self, probe: &Packet) {
        let answer = Packet { way: Direction::Up, ..*probe };
        let station = self.ways[probe.app as usize].station as usize;
        let frame = AirFrame { packet: self.pool.add(answer), category: AccessCategory::BestEffort };
        self.send_up(station, frame);
    }

    pub(crate) fn is_probe(&self, id: PacketId) -> bool {
        matches!(self.pool.get(id).body, Body::Probe)
    }

    /// Ends a packet whose destination is the box.
    pub(crate) fn end(&mut self, id: PacketId) {
        self.pool.take(id);
        self.arrived += 1;
    }
}
