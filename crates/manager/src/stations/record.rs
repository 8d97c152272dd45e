//! The record of one station, and its account of the medium.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hint::black_box;
use core::net::IpAddr;

use evenair_packet::{HostName, MacAddr};
use evenair_units::{BitRate, Bytes, Dbm, Instant, Span};
use evenair_wifi::PhyRate;

use super::access_points::Place;
use super::config::StationConfig;
use super::debts::Debts;
use super::neighbours::Address;
use super::reports::ReportHistory;
use crate::StationCounted;
use crate::airtime_model::{AirtimeModel, Counted};
use crate::flows::Answer;
use crate::ids::{ClassId, DomainId};
use crate::latency::{Latency, Leg};
use crate::loss::Losses;
use crate::pacer::aggregating::paced::Paced;
use crate::packet_cost::PacketCost;
use crate::queues::classes::Label;

/// Most debt that a release pays, in multiples of its own airtime: the downloads of a station in debt keep half of their share, since a
/// station in whose name others flood must not lose all.
const DEBT_PER_RELEASE: u64 = 1;

/// Consecutive intervals after which a station over its share as an unresponsive sender is reported; consecutive intervals after which it
/// no longer is.
const INTERVALS_OVER: u8 = 2;
const INTERVALS_UNDER: u8 = 5;

#[derive(Clone, Debug)]
pub(crate) struct Station {
    pub(crate) mac: MacAddr,
    /// Its contention domain, and its access point if known.
    pub(crate) domain: DomainId,
    pub(crate) access_point: Option<Label>,
    /// The last report of its access point; whether its own frames identify it, which takes precedence.
    pub(crate) reported_place: Option<Place>,
    pub(crate) is_seen: bool,
    pub(super) configured: Option<StationConfig>,
    pub(super) observed: Option<PhyRate>,
    /// The rate inferred from the airtime of its releases.
    pub(super) inferred: Option<PhyRate>,
    /// The telemetry reports about it, and the rate that follows from them.
    pub(super) reports: Option<Box<ReportHistory>>,
    pub(super) reported_rate: Option<PhyRate>,
    /// Airtime at the reported rate in this interval.
    pub(super) reported_airtime: Span,
    pub(crate) rate: PhyRate,
    /// C_i at its rate.
    pub(crate) capacity: BitRate,
    /// Flows of the station.
    pub(crate) flows: u32,
    /// Unanswered one-way flows with queues of their own.
    pub(crate) one_way: u32,
    /// Charged airtime of its traffic over the WLAN, both ways.
    pub(crate) airtime: Span,
    /// The part of `airtime` that it sent.
    pub(super) airtime_up: Span,
    /// Its addresses and when each was last seen, most recent first.
    pub(super) addresses: Vec<(Address, Instant)>,
    /// The name that it gives itself.
    pub(crate) name: Option<HostName>,
    /// IP-level bytes toward it, and from it.
    pub(crate) to_station: Bytes,
    pub(crate) from_station: Bytes,
    /// Its reported network and group; how often these have changed.
    pub(crate) ssid: Option<Label>,
    pub(crate) group: Option<Label>,
    pub(crate) regrouped: u32,
    /// IP-level bits that it has sent or acknowledged since the harm guard last counted them.
    pub(crate) confirmed: u64,
    pub(super) account: Account,
    pub(super) last_seen: Instant,
    /// The pacer's state of the station.
    pub(crate) paced: Paced,
    /// Counts of its packets.
    pub(crate) counted: StationCounted,
    /// Losses of its packets.
    pub(crate) losses: Losses,
    /// Latency of its packets. Shared with reports of it, which do not change.
    pub(crate) latency: Option<Arc<Latency>>,
    /// Whether a frame from it has come from the WLAN.
    pub(crate) is_heard: bool,
    /// Whether this record stands for all unheard stations of its domain.
    pub(crate) is_shared: bool,
    /// When it last sent a frame.
    pub(super) heard: Instant,
}

/// Medium time that a station uses and no release of its own has paid for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    /// Debts, to be paid by its next releases.
    pub(super) debts: Debts,
    /// Airtime used in this interval: all, and the part without control.
    pub(super) used: Span,
    pub(super) uncontrolled: Span,
    /// Intervals in a row in which it was over its share as an unresponsive sender, or was not.
    pub(super) over: u8,
    pub(super) under: u8,
    pub(super) is_over: bool,
}

impl Station {
    /// Adds a flow.
    pub(crate) fn join(&mut self, answer: Answer) {
        self.flows += 1;
        self.one_way += u32::from(answer == Answer::OneWay);
    }

    /// Removes a flow.
    pub(crate) fn leave(&mut self, answer: Answer) {
        self.flows -= 1;
        self.one_way -= u32::from(answer == Answer::OneWay);
    }

    /// Notes the time that a packet of it took on a leg.
    pub(crate) fn note_time(&mut self, leg: Leg, took: Span) {
        Arc::make_mut(self.latency.get_or_insert_default()).note(leg, took);
    }

    pub(crate) fn weight(&self) -> u64 {
        self.configured.as_ref().map_or(1, |c| u64::from(c.weight))
    }

    pub(crate) fn class(&self) -> Option<ClassId> {
        self.configured.as_ref()?.class
    }

    /// Its last reported signal.
    pub(crate) fn signal(&self, now: Instant) -> Option<Dbm> {
        let report = self.reports.as_ref()?.report(now)?;
        report.signal_dbm.map(|dbm| Dbm::from_milli(i32::from(dbm) * 1000))
    }

    /// Whether its rate is reported or configured.
    pub(crate) const fn has_known_rate(&self) -> bool {
        self.reported_rate.is_some() || self.observed.is_some() || self.configured.is_some()
    }

    /// Whether it has flows, and is a single station.
    pub(super) fn is_in_use(&self) -> bool {
        self.flows > 0 && !self.is_shared
    }

    /// Prefetches all of it that a packet needs.
    pub(crate) fn bring(&self) {
        black_box((self.account.used, self.airtime, self.capacity, self.last_seen, self.regrouped));
    }

    /// Notes a packet to or from it: airtime by the model, and charged airtime.
    pub(crate) fn note_packet(&mut self, toward: bool, ip_len: Bytes, airtime: Span, charged: Span) {
        *(if toward { &mut self.to_station } else { &mut self.from_station }) += ip_len;
        self.airtime += charged;
        if !toward {
            self.airtime_up += charged;
        }
        self.account.used += airtime;
        self.reported_airtime += airtime;
    }

    /// Notes airtime sent from this address that its flow will not pay for.
    pub(crate) fn note_uncontrolled(&mut self, address: Option<IpAddr>, airtime: Span) {
        self.account.debts.add(address, airtime);
        self.account.uncontrolled += airtime;
    }

    /// Pays debts with a release toward this address. Returns the amount paid.
    pub(crate) fn pay(&mut self, address: IpAddr, airtime: Span) -> Span {
        self.account.debts.pay(address, airtime * DEBT_PER_RELEASE)
    }

    /// Ends an interval with this fair share. True: whether it is over its share has changed.
    pub(super) fn judge(&mut self, share: Span) -> bool {
        let Account { over, under, is_over, uncontrolled, .. } = &mut self.account;
        (*over, *under) =
            if *uncontrolled > share { (over.saturating_add(1), 0) } else { (0, under.saturating_add(1)) };
        let before = *is_over;
        *is_over = if *is_over { *under < INTERVALS_UNDER } else { *over >= INTERVALS_OVER };
        (self.account.used, self.account.uncontrolled) = (Span::ZERO, Span::ZERO);
        self.account.is_over != before
    }

    /// The rate that is evidence for other stations: the reported one, or without any the inferred one.
    pub(super) fn measured_rate(&self) -> Option<PhyRate> {
        self.reported_rate.or(self.inferred.filter(|_| !self.has_known_rate()))
    }

    /// The reported or configured rate, or else the inferred one.
    pub(super) fn known_rate(&self) -> Option<PhyRate> {
        self.reported_rate.or(self.observed).or(self.configured.as_ref().map(|c| c.rate)).or(self.inferred)
    }

    /// Its known rate, or else this one, as far as the standard of its domain has it.
    pub(super) fn present_rate(&self, otherwise: PhyRate, model: &AirtimeModel) -> PhyRate {
        model.nearest(self.known_rate().unwrap_or(otherwise))
    }

    /// The rate by which its airtime in flight is counted; `default_rate`: the configured rate of stations without any information. An
    /// inferred rate does not count: it depends on what the pacer lets be in flight, which would close a loop.
    pub(crate) fn paced_rate(&self, model: &AirtimeModel, default_rate: PhyRate) -> PhyRate {
        if self.has_known_rate() { self.rate } else { model.default_rate(default_rate) }
    }

    /// Airtime of a packet of this cost to it, as charged and as the pacer counts it.
    pub(crate) fn airtime_of(&self, cost: &PacketCost, model: &AirtimeModel, default_rate: PhyRate) -> Counted {
        let charged = model.airtime(cost, self.rate);
        let paced_rate = self.paced_rate(model, default_rate);
        let paced = if paced_rate == self.rate { charged } else { model.airtime(cost, paced_rate) };
        Counted { charged, paced }
    }

    /// Airtime of a packet to it or from it, as the pacer counts it.
    pub(crate) fn packet_airtime(&self, ip_len: Bytes, model: &AirtimeModel, default_rate: PhyRate) -> Span {
        model.packet_airtime(ip_len, self.paced_rate(model, default_rate))
    }

    /// Updates its rate by what is known, or else to this one. True: it has changed.
    pub(super) fn update(&mut self, otherwise: PhyRate, model: &AirtimeModel) -> bool {
        let now = self.present_rate(otherwise, model);
        let before = core::mem::replace(&mut self.rate, now);
        if self.rate == before {
            return false;
        }
        self.capacity = model.capacity(self.rate);
        true
    }

    /// Applies another airtime model, of its new domain: reports are mapped to its rates.
    pub(super) fn take_model(&mut self, now: Instant, otherwise: PhyRate, model: &AirtimeModel) {
        if let Some(reports) = &mut self.reports {
            reports.reclassify(model.classes());
            self.reported_rate = reports.class(now);
        }
        self.rate = self.present_rate(otherwise, model);
        self.capacity = model.capacity(self.rate);
    }
}
