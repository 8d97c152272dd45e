//! What the limit on uploads sees of packets, and when it is judged.

use evenair_packet::{MacAddr, TcpFlags, TcpMeta};
use evenair_units::{Bytes, Instant};

use super::Manager;
use crate::cost::Load;
use crate::domain::DomainId;
use crate::flow::FlowId;
use crate::uplink::{Kind, Limiter};
use crate::{Config, Mode};

impl<P: Send + 'static> Manager<P> {
    /// A packet has come from the wire, and has not been released yet.
    pub(super) fn note_for_limit(&mut self, now: Instant, flow: FlowId, tcp: Option<&TcpMeta>, ip_len: Bytes) {
        let Some(limiter) = &mut self.uplink else { return };
        let opens = tcp.is_some_and(|tcp| tcp.flags.contains(TcpFlags::SYN));
        limiter.note_from_wire(now, ip_len, kind(tcp), opens);
        if tcp.is_some_and(|tcp| self.flows.get(flow).in_doubt.is_repeat(tcp)) {
            limiter.losses.see(now, flow);
        }
    }

    /// A packet has come from a station, which shows that DATA have crossed to it.
    pub(super) fn note_acknowledged(&mut self, now: Instant, flow: FlowId, tcp: &TcpMeta, crossed: &Load) {
        let acknowledges = self.flows.get_mut(flow).in_doubt.acknowledge(tcp);
        let Some(limiter) = &mut self.uplink else { return };
        let Load([_, data, ..]) = crossed;
        limiter.note_crossed(now, data.milli * data.ip_len.bits() / 1_000);
        if acknowledges {
            limiter.losses.repaired(flow);
        }
    }

    /// Whether a packet from the WLAN is within the limit.
    pub(super) fn is_within_limit(&mut self, now: Instant, tcp: Option<&TcpMeta>, ip_len: Bytes) -> bool {
        let inserted = self.mode == Mode::Inserted;
        self.uplink.as_mut().filter(|_| inserted).is_none_or(|limiter| limiter.admits(now, ip_len, kind(tcp)))
    }

    /// The traffic is managed from now on.
    pub(super) fn begin_limit(&mut self, now: Instant) {
        if let Some(limiter) = &mut self.uplink {
            limiter.begin(now);
        }
    }

    pub(super) fn limit_deadline(&self) -> Option<Instant> {
        self.uplink.as_ref().filter(|_| self.mode == Mode::Inserted).map(|limiter| limiter.next())
    }

    pub(super) fn judge_limit(&mut self, now: Instant) {
        let capacity = self.domains[DomainId::DEFAULT].rate.capacity();
        if let Some(limiter) =
            self.uplink.as_mut().filter(|limiter| self.mode == Mode::Inserted && limiter.next() <= now)
        {
            limiter.judge(now, capacity);
        }
    }

    /// Whether the observation was taken. Where nothing is limited, nobody needs it.
    pub(super) fn tell_losses(&mut self, access_point: MacAddr, total: u64) -> bool {
        self.uplink.as_mut().is_none_or(|limiter| limiter.losses.tell(access_point, total))
    }

    pub(super) fn reconfigure_limit(&mut self, config: &Config, now: Instant) {
        let capacity = self.domains[DomainId::DEFAULT].rate.capacity();
        match (&mut self.uplink, &config.uplink_limit) {
            (Some(limiter), Some(limit)) => limiter.reconfigure(limit, capacity, now),
            (none, limit) => *none = limit.as_ref().map(|limit| Limiter::new(limit, capacity, now).into()),
        }
    }
}

fn kind(tcp: Option<&TcpMeta>) -> Kind {
    match tcp {
        None => Kind::Datagram,
        Some(tcp) if tcp.payload == Bytes::ZERO => Kind::Answer,
        Some(_) => Kind::Data,
    }
}
