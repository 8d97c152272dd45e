//! Charged airtime: medium time as it is shown of stations, connections and classes. Nothing is decided by it.
//!
//! The airtime model gives the airtime of packets at the known rate of a station, or else at the default rate. The account of the domain
//! measures from completions what the medium really takes for them: before access points of 802.11n and later for each station
//! ([`crate::pacer::aggregating::costs`]), before others for all stations together ([`crate::pacer::standing`]). Charged airtime is the
//! airtime of the model, times that. So it includes what the model leaves out: retries, collisions, back-off, frames of other networks in
//! between. Together, stations of a domain are charged no more than the time that passes ([`crate::domain::charged_sum`]).
//!
//! Limits: until something is measured, charged airtime is that of the model, and later the last measurement is used. The box measures
//! while it holds packets and always has more to release. Frames to groups are charged at their own rate and not scaled.

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

/// What determines charged airtime in a domain.
#[derive(Debug)]
pub(super) struct Charging<'a> {
    pacer: &'a Pacer,
    sum: &'a mut ChargedSum,
    /// Airtime of the domain's recent releases.
    counted: Counted,
    model: &'a AirtimeModel,
    /// Rate of stations without any information.
    default_rate: PhyRate,
}

impl<'a> Charging<'a> {
    /// `model`: the airtime model of the domain.
    pub(super) fn new<P>(domain: &'a mut Domain<P>, model: &'a AirtimeModel, config: &Config) -> Self {
        let Domain { pacer, charged, counted_before, .. } = domain;
        Self { pacer, sum: charged, counted: *counted_before, model, default_rate: config.default_rate }
    }

    fn unscaled(&self, station: &Station, cost: &PacketCost) -> Span {
        let airtime = station.airtime_of(cost, self.model, self.default_rate);
        self.pacer.charged(airtime, self.counted, &station.paced)
    }

    /// Charged airtime of a load of a station, whose packets were charged to the station one by one.
    pub(super) fn of_load(&self, station: &Station, cost: &PacketCost) -> Span {
        self.sum.scale(self.unscaled(station, cost))
    }

    /// Charges one packet of many, without the packets that it causes.
    pub(super) fn of_packet(&mut self, station: &Station, ip_len: Bytes) -> Span {
        self.sum.add(self.unscaled(station, &PacketCost::alone(Packets::one(ip_len))))
    }
}

impl<P: Send + 'static> Manager<P> {
    /// Charges a release: its station for the packet, its flow and its class also for the packets that it causes.
    pub(super) fn charge(&mut self, held: &Held<P>, cost: &PacketCost) {
        let flow = self.flows.get_mut(held.flow);
        let station = self.stations.get_mut(flow.station);
        let model = &self.models[station.domain];
        let mut charging = Charging::new(self.domains.touch(flow.domain), model, &self.config);
        // For TCP, earlier packets from the WLAN are charged to the class only.
        let of_flow = if held.tcp.is_some() { cost.outstanding() } else { *cost };
        flow.watched.charged += charging.of_load(station, &of_flow);
        let (to_class, packet) = (charging.of_load(station, cost), charging.of_packet(station, held.ip_len));
        station.note_packet(true, held.ip_len, model.packet_airtime(held.ip_len, station.rate), packet);
        self.note_class_release(held.flow, held.ip_len, to_class);
    }
}
