//! Sends probes to stations where the traffic shows no completions, and handles the replies.

use core::net::IpAddr;

use evenair_packet::{Content, MacAddr, PacketMeta, Port};
use evenair_units::{Instant, Span};

use super::Manager;
use super::charged::Charging;
use crate::domain::Domain;
use crate::ids::{DomainId, StationId};
use crate::pacer::probes::trust::Load;
use crate::pacer::probes::{Probes, Sent, length};
use crate::pacer::{Completion, Outgoing};
use crate::packet_cost::{PacketCost, Packets};
use crate::stations::Station;
use crate::stations::neighbours::Address;
use crate::{Config, Mode, Output};

impl<P: Send + 'static> Manager<P> {
    /// Sends a probe in a domain if one is due.
    pub(super) fn probe(&mut self, now: Instant, id: DomainId) {
        let domain = &self.domains[id];
        let Some(probes) = &domain.probes else { return };
        let paces = self.mode == Mode::Inserted && domain.pacer.paces_by_completions();
        let stations = match probes.at_once() {
            _ if !paces => return,
            Some(station) => [station].into(),
            None if probes.is_due(now, domain.len() > 0) => probes.stations(now),
            None => return,
        };
        let Some((station, target)) = stations.into_iter().find_map(|mac| self.probe_target(mac, id)) else { return };
        self.send_probe(now, id, station, target);
    }

    /// The station with this MAC address, and the address to probe: version 4 if it has one, of version 6 a link-local one if it has one,
    /// since that is on the link for certain.
    fn probe_target(&self, mac: MacAddr, domain: DomainId) -> Option<(StationId, Address)> {
        let id = self.stations.known(mac)?;
        let station = self.stations.get(id);
        let rank = |(_, address): &Address| match address {
            IpAddr::V4(_) => 0,
            IpAddr::V6(address) if address.is_unicast_link_local() => 1,
            IpAddr::V6(_) => 2,
        };
        // The type of an outer tag is not known here, and a frame with another type would not arrive.
        let has_one_tag = |(vlan, _): &Address| vlan.is_none_or(|vlan| vlan.inner.is_none());
        let target = station.addresses().filter(has_one_tag).min_by_key(rank)?;
        (station.is_heard && !station.is_shared && station.domain == domain).then_some((id, target))
    }

    fn send_probe(&mut self, now: Instant, id: DomainId, station: StationId, target: Address) {
        let (vlan, address) = target;
        let model = &self.models[id];
        let (at, station) = (station, self.stations.get_mut(station));
        let packet = Packets::one(length(&address));
        let alone = model.packet_airtime(packet.ip_len, station.rate);
        let charged = Charging::new(self.domains.touch(id), model, &self.config).of_packet(station, packet.ip_len);
        station.note_packet(true, packet.ip_len, alone, charged);
        let both = PacketCost::alone(Packets { milli: 2 * packet.milli, ..packet });
        let with_answer = model.airtime(&both, station.paced_rate(model, self.config.default_rate));
        let mac = station.mac;
        let domain = self.domains.touch(id);
        let Some(probes) = &mut domain.probes else { return };
        // No completion is expected: a station that does not reply must not delay other releases.
        let mark = domain.pacer.on_release(now, Outgoing::unanswered(with_answer, Some(at)), Some(&mut station.paced));
        let expected = domain.pacer.backlog();
        probes.note_sent(Sent { station: mac, target, mark, at: now, expected });
        self.counters.probes += 1;
        self.outputs.push_back(Output::Probe { station: mac, vlan, address });
    }

    /// Handles the reply to a probe, which ends here. Gives back any other packet.
    pub(super) fn take_probe_answer(&mut self, now: Instant, packet: P, meta: &PacketMeta) -> Option<P> {
        let source = self.config.probes.and_then(|probes| probes.source);
        if meta.ingress != Port::Wlan || source != Some(meta.dst) {
            return Some(packet);
        }
        let Content::Claim(claim) = &meta.content else { return Some(packet) };
        let Some(id) = self.stations.known(claim.mac) else { return Some(packet) };
        let station = self.stations.get_mut(id);
        let domain = self.domains.touch(station.domain);
        let model = &self.models[station.domain];
        let charged = Charging::new(domain, model, &self.config).of_packet(station, meta.ip_len());
        let target = (meta.vlan, claim.address);
        let load = match domain.len() > 0 {
            true => Load::Waits,
            false if domain.pacer.is_speed_unproven() => Load::Unproven,
            false => Load::Little,
        };
        let Some(probes) = &mut domain.probes else { return Some(packet) };
        let answered = probes.take_answer(claim.mac, target);
        let Some(answered) = answered else { return Some(packet) };
        let airtime = model.packet_airtime(meta.ip_len(), station.rate);
        station.note_packet(false, meta.ip_len(), airtime, charged);
        domain.pacer.on_heard(now, airtime);
        if let Some(waited) = probes.judge(now, &answered, load) {
            domain.pacer.on_probe_completion(now, answered.mark, waited);
        } else if !probes.are_believed(now) {
            domain.pacer.on_probes_disbelieved();
        }
        self.see_vlan(now, id, meta.vlan);
        self.counters.probe_answers += 1;
        self.outputs.push_back(Output::Consume { packet });
        None
    }

    /// Applies another configuration.
    pub(super) fn reconfigure_probes(&mut self, config: &Config, now: Instant) {
        for domain in self.domains.iter_mut() {
            match (&mut domain.probes, config.probe()) {
                (Some(probes), Some(probe)) => probes.reconfigure(probe),
                (none, probe) => *none = probe.map(|probe| Probes::new(probe, now).into()),
            }
        }
    }
}

/// Notes a release to a station, of this medium time as the pacer counts it.
pub(super) fn note_for_probes<P>(
    domain: &mut Domain<P>,
    now: Instant,
    station: &Station,
    airtime: Span,
    completion: Completion,
) {
    let Some(probes) = &mut domain.probes else { return };
    let unacknowledged = !matches!(completion, Completion::Expected { .. }) && !station.is_shared;
    probes.note_release(now, station.mac, airtime, unacknowledged);
}
