//! Charged airtime: medium time as it is shown of stations, connections and classes. Nothing is decided by it.
//!
//! The airtime model says what packets take at the rate that is known of a station, or else at the default rate. What the medium
//! really takes for the same packets the account of the domain measures, from completions: before access points of 802.11n and
//! later of each station ([`crate::pacer::aggregating::costs`]), before others of all stations together
//! ([`crate::pacer::standing`]). Charged airtime is the airtime of the model, times that. So it includes what the model leaves out:
//! retries, collisions, back-off, frames of other networks in between. Together, stations of a domain are charged no more than the
//! time ([`crate::domain::charged_sum`]).
//!
//! Limits: until something is measured it is what the model says, and after that what was measured last. It is measured while the
//! box holds packets and always has more to release. Frames to groups are charged at their own rate and not scaled.

use evenair_units::{Bytes, Span};
use evenair_wifi::PhyRate;

use super::Manager;
use crate::Config;
use crate::airtime_model::{AirtimeModel, Counted};
use crate::domain::Domain;
use crate::domain::charged_sum::ChargedSum;
use crate::held::Held;
use crate::pacer::Pacer;
use crate::packet_cost::{PacketCost, Packets};
use crate::stations::Station;

/// What charged airtime follows from, in a domain.
#[derive(Debug)]
pub(super) struct Charging<'a> {
    pacer: &'a Pacer,
    sum: &'a mut ChargedSum,
    /// Airtime of the domain's recent releases.
    counted: Counted,
    model: &'a AirtimeModel,
    /// Of stations of which nothing is known.
    default_rate: PhyRate,
}

impl<'a> Charging<'a> {
    /// `model`: that of the stations' domain.
    pub(super) fn new<P>(domain: &'a mut Domain<P>, model: &'a AirtimeModel, config: &Config) -> Self {
        let Domain { pacer, charged, counted_before, .. } = domain;
        Self { pacer, sum: charged, counted: *counted_before, model, default_rate: config.default_rate }
    }

    fn unscaled(&self, station: &Station, cost: &PacketCost) -> Span {
        let airtime = station.airtime_of(cost, self.model, self.default_rate);
        self.pacer.charged(airtime, self.counted, &station.paced)
    }

    /// Charged airtime of a load of a station, whose packets are charged to the station one by one.
    pub(super) fn of_load(&self, station: &Station, cost: &PacketCost) -> Span {
        self.sum.scale(self.unscaled(station, cost))
    }

    /// Charged airtime of one packet of many, without what it causes.
    pub(super) fn of_packet(&mut self, station: &Station, ip_len: Bytes) -> Span {
        self.sum.add(self.unscaled(station, &PacketCost::alone(Packets::one(ip_len))))
    }
}

impl<P: Send + 'static> Manager<P> {
    /// Charges a release: its station for the packet, its connection and its class for what it causes, too.
    pub(super) fn charge(&mut self, held: &Held<P>, cost: &PacketCost) {
        let flow = self.flows.get_mut(held.flow);
        let station = self.stations.get_mut(flow.station);
        let model = &self.models[station.domain];
        let mut charging = Charging::new(self.domains.touch(flow.domain), model, &self.config);
        // Of TCP, what has come from the WLAN before is charged to the class alone.
        let of_flow = if held.tcp.is_some() { cost.outstanding() } else { *cost };
        flow.watched.charged += charging.of_load(station, &of_flow);
        let (to_class, packet) = (charging.of_load(station, cost), charging.of_packet(station, held.ip_len));
        station.note_packet(true, held.ip_len, model.packet_airtime(held.ip_len, station.rate), packet);
        self.note_class_release(held.flow, held.ip_len, to_class);
    }
}
