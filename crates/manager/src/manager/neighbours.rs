//! Learns stations' addresses and names from packets.

use evenair_packet::{Content, Lease, PacketMeta, Port};
use evenair_units::Instant;

use super::Manager;
use crate::ids::StationId;
use crate::stations::neighbours::{Address, Claimant, SILENT, Verdict};
use crate::{Counter, Event};

impl<P: Send + 'static> Manager<P> {
    /// Notes the address claims of a packet.
    pub(super) fn note_neighbour(&mut self, now: Instant, meta: &PacketMeta) {
        match &meta.content {
            Content::Opaque | Content::Rtp(_) | Content::Sip(_) => {}
            Content::Claim(claim) => {
                let (address, wired) = ((meta.vlan, claim.address), meta.ingress == Port::Wire);
                if wired {
                    let claimant = Claimant { mac: claim.mac, wired, granted: false };
                    self.judge_claim(now, address, claimant);
                } else if let Some(id) = self.heard_station(now, claim.mac) {
                    self.note_address(now, id, address, false);
                }
            }
            Content::Lease(lease) => self.note_lease(now, meta, lease),
            Content::Membership(message) => self.memberships.note(now, message, meta.ingress == Port::Wlan),
        }
    }

    /// Handles a DHCP message: a client requests an address, or a server grants one. Servers are on the wired side;
    /// grants from a station are ignored.
    fn note_lease(&mut self, now: Instant, meta: &PacketMeta, lease: &Lease) {
        let id = match (lease.granted, meta.ingress) {
            (None, Port::Wlan) if lease.mac == meta.src => self.heard_station(now, lease.mac),
            // Grants to wired hosts are broadcast, too.
            (Some(_), Port::Wire) => self.stations.known(lease.mac),
            _ => None,
        };
        let Some(id) = id else { return };
        if let Some(name) = lease.name {
            self.stations.get_mut(id).name = Some(name);
        }
        if let Some(granted) = lease.granted {
            self.note_address(now, id, (meta.vlan, granted.into()), true);
        }
    }

    /// Notes that a station uses an address, or was granted it.
    pub(super) fn note_address(&mut self, now: Instant, id: StationId, address: Address, granted: bool) {
        let station = self.stations.get_mut(id);
        if !granted {
            station.hear(now);
        }
        if station.uses(now, address) && !granted {
            return;
        }
        let claimant = Claimant { mac: station.mac, wired: false, granted };
        if !self.judge_claim(now, address, claimant) {
            return;
        }
        let station = self.stations.get_mut(id);
        if let Some(given_up) = station.add_address(now, address) {
            self.neighbours.give_up(given_up, claimant.mac);
        }
    }

    /// Forgets stations that have gone, and unused addresses.
    pub(super) fn expire_neighbours(&mut self, now: Instant) {
        let neighbours = &mut self.neighbours;
        self.stations.expire(now, |address, mac| neighbours.give_up(address, mac));
        self.neighbours.expire(now);
    }

    /// Whether a claim is accepted; the former owner then loses the address.
    fn judge_claim(&mut self, now: Instant, address: Address, claimant: Claimant) -> bool {
        let stations = &self.stations;
        let is_there = |mac| stations.known(mac).is_some_and(|id| stations.get(id).was_heard(now, SILENT));
        match self.neighbours.claim(now, address, claimant, is_there) {
            Verdict::Own => true,
            Verdict::Moved(before) => {
                if let Some(id) = self.stations.known(before) {
                    self.stations.get_mut(id).lose_address(address);
                }
                true
            }
            Verdict::Contested(holder) => {
                self.counters[Counter::AddressesContested] += 1;
                self.tell(Event::AddressContested { address: address.1, holder, claimant: claimant.mac });
                false
            }
            Verdict::Known => false,
        }
    }
}
