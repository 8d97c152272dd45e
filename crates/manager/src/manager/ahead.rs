//! Prefetch: requests memory before it is used, for many packets at once.
//!
//! With tens of thousands of stations, the state of a station is seldom in the processor's cache when its packet
//! comes. A processor waits for one cache line as long as for a dozen independent ones; but the manager handles a
//! packet in dependent steps. So a driver with a batch of packets announces it first ([`Manager::foresee`]), and the
//! manager likewise prefetches for what it will release. Both go through a batch step by step: first the addresses of
//! all stations, then their state, then their queues. All of it only reads, and decides nothing.

use core::array;

use evenair_packet::{PacketMeta, Port};

use super::Manager;
use crate::domain::Domains;
use crate::flows::Flows;
use crate::ids::{DomainId, FlowId};
use crate::stations::Stations;

/// Packets prefetched at once: more than a processor requests in parallel, and few enough to be still in the cache when
/// they are needed.
const BATCH: usize = 32;
/// Fewest held packets for which prefetching pays.
const FEW: usize = 8;

impl<P: Send + 'static> Manager<P> {
    /// Announces packets that will be handed in soon, so that their state is prefetched. Changes nothing and is
    /// optional; it saves time for packets in batches.
    pub fn foresee<'m>(&self, packets: impl IntoIterator<Item = &'m PacketMeta>) {
        let mut packets = packets.into_iter();
        loop {
            let mut hashes = [None; BATCH];
            let known =
                hashes.iter_mut().zip(packets.by_ref()).map(|(hash, meta)| *hash = Some(self.hashes(meta))).count();
            if known < 2 {
                return;
            }
            let hashes = || hashes.iter().copied().flatten();
            hashes().for_each(|(station, flow)| {
                self.stations.ask(station);
                self.flows.ask(flow);
            });
            let mut flows = [None; BATCH];
            for ((station, flow), id) in hashes().zip(&mut flows) {
                self.stations.bring_by_hash(station);
                *id = self.flows.guess(flow);
            }
            bring_queues(&self.flows, &self.domains, &flows);
        }
    }

    fn hashes(&self, meta: &PacketMeta) -> (u64, u64) {
        let mac = if meta.ingress == Port::Wlan { meta.src } else { meta.dst };
        (Stations::hash(mac), Flows::hash(meta))
    }

    /// Prefetches for the next releases, once for a batch of them.
    pub(super) fn look_ahead(&mut self, id: DomainId) {
        let domain = self.domains.touch(id);
        if let Some(left) = domain.seen_ahead.checked_sub(1) {
            domain.seen_ahead = left;
            return;
        }
        if domain.queues.len() < FEW {
            return;
        }
        let mut leaves = array::from_fn::<_, BATCH, _>(|_| None);
        let mut places = leaves.iter_mut();
        let mut count = 0;
        domain.queues.soon(|leaf| match places.next() {
            Some(place) => {
                *place = Some(leaf);
                count += 1;
                true
            }
            None => false,
        });
        // This release is one of them.
        domain.seen_ahead = u32::saturating_sub(count, 1);
        let leaves = || leaves.iter().copied().flatten();
        leaves().for_each(|leaf| domain.queues.bring(leaf));
        let mut flows = [None; BATCH];
        for (leaf, flow) in leaves().zip(&mut flows) {
            *flow = domain.queues.head_flow(leaf);
        }
        bring_stations(&self.flows, &self.stations, &flows);
    }
}

fn bring_queues<P: Send + 'static>(flows: &Flows, domains: &Domains<P>, ids: &[Option<FlowId>; BATCH]) {
    ids.iter().flatten().for_each(|&id| flows.bring_neighbours(id));
    let flows = || ids.iter().flatten().filter_map(|&id| flows.guessed(id));
    flows().for_each(|flow| flow.bring());
    let queues = || flows().filter_map(|flow| Some((&domains[flow.domain].queues, flow.leaf?)));
    queues().for_each(|(queues, leaf)| queues.bring(leaf));
    queues().for_each(|(queues, leaf)| queues.bring_tail(leaf));
}

fn bring_stations(flows: &Flows, stations: &Stations, ids: &[Option<FlowId>; BATCH]) {
    let flows = || ids.iter().flatten().filter_map(|&id| flows.guessed(id));
    flows().for_each(|flow| flow.bring());
    flows().for_each(|flow| stations.get(flow.station).bring());
}
