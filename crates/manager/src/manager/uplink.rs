//! Feeds packets to the upload limiter, and evaluates its limit. Each contention domain has a limiter of its own.

use evenair_packet::{MacAddr, TcpFlags, TcpMeta};
use evenair_units::{BitRate, Bytes, Instant};

use super::{Manager, configured_capacity};
use crate::domain::Domain;
use crate::ids::{DomainId, FlowId};
use crate::packet_cost::PacketCost;
use crate::uplink::{Kind, Limiter};
use crate::{Config, Mode, Place, UplinkReport};

impl<P: Send + 'static> Manager<P> {
    /// The limiter of a flow's contention domain.
    fn limiter(&mut self, flow: FlowId) -> Option<&mut Limiter> {
        self.config.uplink_limit.as_ref()?;
        let domain = self.flows.get(flow).domain;
        self.domains.touch(domain).uplink.as_deref_mut()
    }

    /// Notes a packet from the wire that has not been released yet.
    pub(super) fn note_for_limit(&mut self, now: Instant, flow: FlowId, tcp: Option<&TcpMeta>, ip_len: Bytes) {
        let repeated = tcp.is_some_and(|tcp| self.flows.get(flow).in_doubt.is_repeat(tcp));
        let Some(limiter) = self.limiter(flow) else { return };
        let opens = tcp.is_some_and(|tcp| tcp.flags.contains(TcpFlags::SYN));
        limiter.note_from_wire(now, ip_len, kind(tcp), opens);
        if repeated {
            limiter.losses.see(now, flow);
        }
    }

    /// Notes a packet from a station, which shows that DATA have crossed to it.
    pub(super) fn note_acknowledged(&mut self, now: Instant, flow: FlowId, tcp: &TcpMeta, crossed: &PacketCost) {
        let acknowledges = self.flows.get_mut(flow).in_doubt.acknowledge(tcp);
        let Some(limiter) = self.limiter(flow) else { return };
        let PacketCost([_, data, ..]) = crossed;
        limiter.note_crossed(now, data.milli * data.ip_len.bits() / 1_000);
        if acknowledges {
            limiter.losses.repaired(flow);
        }
    }

    /// Whether a packet from the WLAN is within the limit.
    pub(super) fn is_within_limit(&mut self, now: Instant, flow: FlowId, tcp: Option<&TcpMeta>, ip_len: Bytes) -> bool {
        let inserted = self.mode == Mode::Inserted;
        self.limiter(flow).filter(|_| inserted).is_none_or(|limiter| limiter.admits(now, ip_len, kind(tcp)))
    }

    /// Sets C* of a domain after a change of its stations, if no active queue gives it: to that of all its stations, by
    /// which the limit goes.
    pub(super) fn reckon_limit(&mut self, now: Instant, id: DomainId) {
        if self.domains[id].uplink.is_none() || self.domains.touch(id).active_capacity(&self.stations, now).is_some() {
            return;
        }
        let capacity = configured_capacity(&self.config, &self.models[id], &self.stations, id);
        self.domains.touch(id).pacer.on_capacity(capacity);
    }

    /// Starts the limiters when the box begins to manage the traffic.
    pub(super) fn begin_limit(&mut self, now: Instant) {
        if self.config.uplink_limit.is_some() {
            let limiters = self.domains.iter_mut().filter_map(|domain| domain.uplink.as_mut());
            limiters.for_each(|limiter| limiter.begin(now));
        }
    }

    /// When the limits are next evaluated: all domains at once, since they have one interval.
    pub(super) fn limit_deadline(&self) -> Option<Instant> {
        let limiter = self.domains[DomainId::DEFAULT].uplink.as_ref();
        limiter.filter(|_| self.mode == Mode::Inserted).map(|limiter| limiter.next())
    }

    pub(super) fn judge_limit(&mut self, now: Instant) {
        if self.limit_deadline().is_none_or(|next| next > now) {
            return;
        }
        for domain in self.domains.iter_mut() {
            let capacity = domain.pacer.capacity();
            if let Some(limiter) = &mut domain.uplink {
                limiter.judge(now, capacity);
            }
        }
    }

    /// Handles a report of an access point's total losses; an unknown access point counts for the default domain.
    /// Returns whether the report was accepted; without a limit it always is.
    pub(super) fn tell_losses(&mut self, access_point: MacAddr, total: u64) -> bool {
        if self.config.uplink_limit.is_none() {
            return true;
        }
        let found = self.access_points.find(Place::Radio(access_point));
        let domain = found.map_or(DomainId::DEFAULT, |(_, domain)| domain);
        self.domains
            .touch(domain)
            .uplink
            .as_mut()
            .is_none_or(|limiter| limiter.losses.handle_report(access_point, total))
    }

    pub(super) fn reconfigure_limit(&mut self, config: &Config, now: Instant) {
        if self.config.uplink_limit.is_none() && config.uplink_limit.is_none() {
            return;
        }
        for domain in self.domains.iter_mut() {
            let capacity = domain.pacer.capacity();
            match (&mut domain.uplink, &config.uplink_limit) {
                (Some(limiter), Some(limit)) => limiter.reconfigure(limit, capacity, now),
                (none, limit) => *none = limit.as_ref().map(|limit| Limiter::new(limit, capacity, now).into()),
            }
        }
    }

    /// The sum over all domains with traffic, or the report of the only domain.
    pub(super) fn report_limit(&self, now: Instant) -> Option<UplinkReport> {
        let alone = self.domains.iter().count() == 1;
        let of = |domain: &Domain<P>| Some(domain.uplink.as_ref()?.report(now));
        let in_use = |report: &UplinkReport| alone || report.up + report.down > BitRate::ZERO;
        let none = UplinkReport {
            limit: BitRate::ZERO,
            up: BitRate::ZERO,
            up_datagrams: BitRate::ZERO,
            down: BitRate::ZERO,
            lost: 0,
        };
        let add = |a: UplinkReport, b: UplinkReport| UplinkReport {
            limit: a.limit + b.limit,
            up: a.up + b.up,
            up_datagrams: a.up_datagrams + b.up_datagrams,
            down: a.down + b.down,
            lost: a.lost + b.lost,
        };
        self.config.uplink_limit.as_ref()?;
        Some(self.domains.iter().filter_map(of).filter(in_use).fold(none, add))
    }
}

fn kind(tcp: Option<&TcpMeta>) -> Kind {
    match tcp {
        None => Kind::Datagram,
        Some(tcp) if tcp.payload == Bytes::ZERO => Kind::Answer,
        Some(_) => Kind::Data,
    }
}
