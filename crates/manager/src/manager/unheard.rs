//! Assigns packets to stations, and handles a full table of stations.
//!
//! A frame from the WLAN makes its sender a station. A frame from the wire makes none: if its address was never
//! heard, it waits in the one queue that all unheard stations of its contention domain share (see
//! `stations::unheard`). When the address is heard, its flows move to queues of its own, each with its held packets
//! and in order.

use alloc::vec::Vec;

use evenair_packet::{MacAddr, PacketMeta};
use evenair_units::Instant;

use super::Manager;
use crate::Event;
use crate::ids::{FlowId, StationId};

impl<P: Send + 'static> Manager<P> {
    /// The station that sent a frame. `None`: the table is full of stations that must stay.
    pub(super) fn heard_station(&mut self, now: Instant, mac: MacAddr) -> Option<StationId> {
        let known = self.stations.seen(mac, now);
        if known.is_none() {
            self.make_room_for_station(now);
        }
        let id = known.or_else(|| self.learn_station(now, mac))?;
        self.stations.get_mut(id).is_heard = true;
        Some(id)
    }

    /// The station that an observation names. `None`: the table is full.
    pub(super) fn named_station(&mut self, now: Instant, mac: MacAddr) -> Option<StationId> {
        self.stations.seen(mac, now).or_else(|| self.learn_station(now, mac))
    }

    /// The station that a frame from the wire is addressed to, or the shared entry of unheard stations.
    pub(super) fn station_toward(&mut self, now: Instant, mac: MacAddr, meta: &PacketMeta) -> StationId {
        self.stations.seen(mac, now).unwrap_or_else(|| {
            let domain = self.domain_of(None, meta);
            self.stations.shared(domain, &self.models, now)
        })
    }

    fn learn_station(&mut self, now: Instant, mac: MacAddr) -> Option<StationId> {
        let id = self.stations.learn(mac, &self.models, now)?;
        self.note_learned(now, id, mac);
        Some(id)
    }

    /// Gives a new station the packets that were held for its address.
    pub(super) fn note_learned(&mut self, now: Instant, id: StationId, mac: MacAddr) {
        self.tell(Event::StationLearned(mac));
        let domain = self.stations.get(id).domain;
        self.domains.touch(domain).pacer.on_new_station();
        let flows: Vec<FlowId> = self.flows.of_unheard(mac).collect();
        flows.into_iter().for_each(|flow| self.settle(now, flow, Some(id)));
    }

    fn make_room_for_station(&mut self, now: Instant) {
        if self.stations.is_full()
            && let Some(id) = self.stations.next_victim()
        {
            self.evict_station(now, id);
        }
    }

    /// Forgets a station. Its held packets belong to the unheard stations until it is heard again.
    fn evict_station(&mut self, now: Instant, id: StationId) {
        self.forget_calls(now, id);
        let station = self.stations.get(id);
        let (mac, domain) = (station.mac, station.domain);
        let shared = self.stations.shared(domain, &self.models, now);
        let flows: Vec<FlowId> = self.flows.of_station(id).collect();
        for flow in flows {
            self.flows.get_mut(flow).unheard = Some(mac);
            self.settle(now, flow, Some(shared));
        }
        let station = self.stations.evict(id);
        station.addresses().for_each(|address| self.neighbours.give_up(address, mac));
    }
}
