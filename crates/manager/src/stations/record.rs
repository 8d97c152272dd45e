//! What is known of one station, and its account of the medium.

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
use crate::airtime_model::{AirtimeModel, Counted};
use crate::flows::Answer;
use crate::ids::{ClassId, DomainId};
use crate::latency::{Latency, Leg};
use crate::loss::Losses;
use crate::pacer::aggregating::paced::Paced;
use crate::packet_cost::PacketCost;
use crate::queues::classes::Label;

/// A release of a station that owes medium time pays at most so many times what it takes itself: its downloads keep half of its
/// share, since a station that is flooded in its name is not to lose all.
const DEBT_PER_RELEASE: u64 = 1;

/// After this many consecutive intervals in which a station takes more than its share without control, the manager
/// reports it, and again after as many in which it does not.
const INTERVALS_OVER: u8 = 2;
const INTERVALS_UNDER: u8 = 5;

#[derive(Clone, Debug)]
pub(crate) struct Station {
    pub(crate) mac: MacAddr,
    /// The medium that it is on, and the access point, as far as that is known.
    pub(crate) domain: DomainId,
    pub(crate) access_point: Option<Label>,
    /// The last report of its place; whether its own frames show the place, which takes precedence.
    pub(crate) reported_place: Option<Place>,
    pub(crate) is_seen: bool,
    pub(super) configured: Option<StationConfig>,
    pub(super) observed: Option<PhyRate>,
    /// What its releases take shows this rate.
    pub(super) inferred: Option<PhyRate>,
    /// The telemetry reports about it, and the rate that follows from them now.
    pub(super) reports: Option<Box<ReportHistory>>,
    pub(super) reported_rate: Option<PhyRate>,
    /// Airtime at that rate in this interval.
    pub(super) reported_airtime: Span,
    pub(crate) rate: PhyRate,
    /// C_i.
    pub(crate) capacity: BitRate,
    /// Connections that refer to it.
    pub(crate) flows: u32,
    /// Of them, streams in one direction that have queues of their own.
    pub(crate) one_way: u32,
    /// Charged airtime of its traffic over the WLAN, both ways.
    pub(crate) airtime: Span,
    /// Of it, what it sent.
    pub(super) airtime_up: Span,
    /// Addresses that it uses, the last one first, and when each was seen last.
    pub(super) addresses: Vec<(Address, Instant)>,
    /// The name that it uses.
    pub(crate) name: Option<HostName>,
    /// IP-level bytes toward it, and from it.
    pub(crate) to_station: Bytes,
    pub(crate) from_station: Bytes,
    /// Its network and its group, as far as they are reported; how often that changed.
    pub(crate) ssid: Option<Label>,
    pub(crate) group: Option<Label>,
    pub(crate) regrouped: u32,
    /// IP-level bits that it has sent, or acknowledged, since the harm guard last counted them.
    pub(crate) confirmed: u64,
    pub(super) account: Account,
    pub(super) last_seen: Instant,
    /// What the pacer of its domain knows of it.
    pub(crate) paced: Paced,
    /// What was lost.
    pub(crate) losses: Losses,
    /// How long its packets took. Shared with the reports of it, which do not change.
    pub(crate) latency: Option<Arc<Latency>>,
    /// A frame from it has come from the WLAN.
    pub(crate) is_heard: bool,
    /// It stands for all unheard stations of its domain.
    pub(crate) is_shared: bool,
    /// When it last sent something.
    pub(super) heard: Instant,
}

/// What a station takes of the medium that no release of its own has paid for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    /// To be paid by its next releases.
    pub(super) debts: Debts,
    /// In this interval, all of it and this part.
    pub(super) used: Span,
    pub(super) uncontrolled: Span,
    /// Intervals in a row in which it took more than its share without control, or in which it did not.
    pub(super) over: u8,
    pub(super) under: u8,
    pub(super) is_over: bool,
}

impl Station {
    /// A flow is of this station from now on.
    pub(crate) fn join(&mut self, answer: Answer) {
        self.flows += 1;
        self.one_way += u32::from(answer == Answer::OneWay);
    }

    /// A flow is not of this station any more.
    pub(crate) fn leave(&mut self, answer: Answer) {
        self.flows -= 1;
        self.one_way -= u32::from(answer == Answer::OneWay);
    }

    /// A packet of it took so long on a leg.
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

    /// Its rate is reported or configured.
    pub(crate) const fn has_known_rate(&self) -> bool {
        self.reported_rate.is_some() || self.observed.is_some() || self.configured.is_some()
    }

    /// Connections refer to it, and it is one station.
    pub(super) fn is_in_use(&self) -> bool {
        self.flows > 0 && !self.is_shared
    }

    /// Prefetches all of it that a packet needs.
    pub(crate) fn bring(&self) {
        black_box((self.account.used, self.airtime, self.capacity, self.last_seen, self.regrouped));
    }

    /// A packet toward it, or from it, was seen that takes so much of the medium: by the airtime model, and as it is charged.
    pub(crate) fn note_packet(&mut self, toward: bool, ip_len: Bytes, airtime: Span, charged: Span) {
        *(if toward { &mut self.to_station } else { &mut self.from_station }) += ip_len;
        self.airtime += charged;
        if !toward {
            self.airtime_up += charged;
        }
        self.account.used += airtime;
        self.reported_airtime += airtime;
    }

    /// This much, sent from this address, will not be paid for by the flow that it belongs to.
    pub(crate) fn note_uncontrolled(&mut self, address: Option<IpAddr>, airtime: Span) {
        self.account.debts.add(address, airtime);
        self.account.uncontrolled += airtime;
    }

    /// A release toward this address that takes `airtime` pays a part of what was not paid for: how much.
    pub(crate) fn pay(&mut self, address: IpAddr, airtime: Span) -> Span {
        self.account.debts.pay(address, airtime * DEBT_PER_RELEASE)
    }

    /// An interval has ended in which a fair share was so long; true: whether it is over its share has changed.
    pub(super) fn judge(&mut self, share: Span) -> bool {
        let Account { over, under, is_over, uncontrolled, .. } = &mut self.account;
        (*over, *under) =
            if *uncontrolled > share { (over.saturating_add(1), 0) } else { (0, under.saturating_add(1)) };
        let before = *is_over;
        *is_over = if *is_over { *under < INTERVALS_UNDER } else { *over >= INTERVALS_OVER };
        (self.account.used, self.account.uncontrolled) = (Span::ZERO, Span::ZERO);
        self.account.is_over != before
    }

    /// The rate that others are likely to have too: the reported one, or where there is none at all the inferred one.
    pub(super) fn measured_rate(&self) -> Option<PhyRate> {
        self.reported_rate.or(self.inferred.filter(|_| !self.has_known_rate()))
    }

    /// The reported or configured rate, or else the inferred one.
    pub(super) fn known_rate(&self) -> Option<PhyRate> {
        self.reported_rate.or(self.observed).or(self.configured.as_ref().map(|c| c.rate)).or(self.inferred)
    }

    /// The rate that it is at by what is known of it, or else this one, as far as the standard of its domain has it.
    pub(super) fn present_rate(&self, otherwise: PhyRate, model: &AirtimeModel) -> PhyRate {
        model.nearest(self.known_rate().unwrap_or(otherwise))
    }

    /// The rate by which the airtime of what is in flight is counted; `default_rate`: the configured one of stations of which nothing
    /// is known. An inferred rate does not count, since it changes with what the pacer lets be in flight, which would close a loop.
    pub(crate) fn paced_rate(&self, model: &AirtimeModel, default_rate: PhyRate) -> PhyRate {
        if self.has_known_rate() { self.rate } else { model.default_rate(default_rate) }
    }

    /// The airtime of a packet to it that costs this, as it is charged and as the pacer counts it.
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

    /// What it is at by what is known of it, or else at this rate. True: that is another rate.
    pub(super) fn update(&mut self, otherwise: PhyRate, model: &AirtimeModel) -> bool {
        let now = self.present_rate(otherwise, model);
        let before = core::mem::replace(&mut self.rate, now);
        if self.rate == before {
            return false;
        }
        self.capacity = model.capacity(self.rate);
        true
    }

    /// Takes over the model of its domain, which is another one now: what was reported is seen by its rates.
    pub(super) fn take_model(&mut self, now: Instant, otherwise: PhyRate, model: &AirtimeModel) {
        if let Some(reports) = &mut self.reports {
            reports.reclassify(model.classes());
            self.reported_rate = reports.class(now);
        }
        self.rate = self.present_rate(otherwise, model);
        self.capacity = model.capacity(self.rate);
    }
}
