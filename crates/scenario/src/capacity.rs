//! The computed capacity C* for the flows of a phase, to compare with measurements.
//!
//! Equation (1) of Hegde et al., IEEE/ACM ToN 21(2), 2013, `C* = 1 / sum(phi_i / C_i)`, over greedy TCP transfers. The
//! shares phi are those of the manager's policy. C* is not defined if the medium also carries datagrams, pages or calls, or
//! if the population changes within the phase; then none is reported. The same holds for classes with rules, minimums or
//! ceilings, and for EDCA, Idle Sense or the asymmetric access point: the formula's inter-frame spaces, single frames and
//! mean back-off are those of DCF.

use std::collections::BTreeMap;

use evenair_config::BrokenAggregates;
use evenair_manager::{ClassId, Level};
use evenair_units::{Bytes, Span};
use evenair_wifi::{PhyRate, TcpShape, tcp_capacity};
use evenair_workload::{Direction, Phase};

use crate::{Action, App, AppKind, IpVersion, Place, Scenario};

/// DATA packets per ACK, with delayed ACKs.
const USUAL_D: f64 = 2.0;

/// One TCP transfer that is active throughout a phase.
struct Transfer {
    app: usize,
    station: usize,
    direction: Direction,
    class: Option<ClassId>,
    weight: u32,
    capacity_mbps: f64,
}

impl Scenario {
    /// C* of a phase in Mb/s, IP-level bits of DATA and ACKs, with the measured d (DATA packets per ACK) of each
    /// application, by index; where it was not measured, 2 as with delayed ACKs (RFC 9293, 3.8.6.3).
    ///
    /// `None` if the formula does not apply: another access method than DCF, no transfers, other traffic than bulk
    /// transfers and pings, or stations and transfers that start, end or change within the phase. With several contention
    /// domains it is the sum.
    pub fn capacity_mbps(&self, phase: &Phase, measured_d: impl Fn(usize) -> Option<f64>) -> Option<f64> {
        let transfers = self.steady_transfers(phase, measured_d)?;
        let domains = 0..self.domains();
        let sum: f64 = domains.filter_map(|domain| self.capacity_of(domain, phase, &transfers)).sum();
        (sum > 0.0).then_some(sum)
    }

    /// C* of one contention domain, by index.
    pub fn domain_capacity_mbps(
        &self,
        domain: usize,
        phase: &Phase,
        measured_d: impl Fn(usize) -> Option<f64>,
    ) -> Option<f64> {
        self.capacity_of(domain, phase, &self.steady_transfers(phase, measured_d)?)
    }

    /// Number of contention domains.
    pub fn domains(&self) -> usize {
        self.access_points.iter().map(|point| point.domain + 1).max().unwrap_or(1)
    }

    /// Index of the access point that a station is at, or roams to, at `at`; the first one for other hosts.
    pub fn access_point_at(&self, host: usize, at: Span) -> usize {
        let Place::Station { access_point, .. } = self.hosts[host].place else { return 0 };
        let roams = self.events.iter().take_while(|event| event.at <= at).filter_map(|event| match event.action {
            Action::Roam { station, access_point, .. } if station == host => Some(access_point),
            _ => None,
        });
        roams.last().unwrap_or(access_point)
    }

    /// The transfers of a phase in which no station joins, leaves or changes its rate.
    fn steady_transfers(&self, phase: &Phase, measured_d: impl Fn(usize) -> Option<f64>) -> Option<Vec<Transfer>> {
        let inside = |at: Span| at > phase.from && at < phase.to;
        let population_changes = |event: &crate::Event| match event.action {
            Action::Join(_) | Action::Leave(_) | Action::Rate(..) => inside(event.at),
            Action::Roam { gap, .. } => event.at < phase.to && event.at + gap > phase.from,
            Action::Insert | Action::Bypass => false,
        };
        let transfers = self.transfers(phase, measured_d)?;
        let steady = !self.events.iter().any(population_changes);
        let is_dcf = self.radio.edca.is_none() && self.radio.back_off == Default::default();
        (steady && !transfers.is_empty() && is_dcf).then_some(transfers)
    }

    /// The warning about settings of the box that do not fit access points that aggregate, if there is one.
    pub fn broken_aggregates(&self) -> Option<BrokenAggregates> {
        BrokenAggregates::of(&self.manager)
    }

    fn capacity_of(&self, domain: usize, phase: &Phase, transfers: &[Transfer]) -> Option<f64> {
        let is_there = |transfer: &&Transfer| {
            self.access_points[self.access_point_at(transfer.station, phase.from)].domain == domain
        };
        let transfers: Vec<_> = transfers.iter().filter(is_there).collect();
        if transfers.is_empty() {
            return None;
        }
        let levels = &self.manager.policy.levels;
        if levels.iter().any(|level| matches!(level, Level::Tree(_) | Level::Application { .. })) {
            return None;
        }
        let mut shares = Vec::new();
        divide(levels, transfers, 1.0, &mut shares);
        Some(1.0 / shares.iter().map(|(share, capacity)| share / capacity).sum::<f64>())
    }

    /// The transfers of a phase; `None` if there is traffic that the formula does not cover, or a transfer runs only for a
    /// part of the phase.
    fn transfers(&self, phase: &Phase, measured_d: impl Fn(usize) -> Option<f64>) -> Option<Vec<Transfer>> {
        let mut transfers = Vec::new();
        for (index, app) in self.apps.iter().enumerate() {
            let stop = app.stop.unwrap_or(self.duration);
            if app.start >= phase.to || stop <= phase.from || !self.is_present(app.station, phase.from) {
                continue;
            }
            match app.kind {
                AppKind::Bulk { bytes: None, .. } if app.start <= phase.from && stop >= phase.to => {
                    transfers.push(self.transfer(index, app, phase.from, measured_d(index).unwrap_or(USUAL_D))?);
                }
                AppKind::Ping { .. } => {}
                _ => return None,
            }
        }
        Some(transfers)
    }

    fn transfer(&self, index: usize, app: &App, at: Span, d: f64) -> Option<Transfer> {
        let Place::Station { weight, class, .. } = self.hosts[app.station].place else { return None };
        let rate = self.rate_at(app.station, at)?;
        let options = if self.tcp.timestamps { 12 } else { 0 };
        let headers = match app.ip {
            IpVersion::V4 => 20 + 20,
            IpVersion::V6 => 40 + 20,
        };
        let shape = TcpShape {
            data_ip: self.tcp.mss + Bytes(40),
            ack_ip: Bytes(headers + options),
            // At least one DATA packet per ACK: further ACKs are duplicates, which C* ignores.
            d_milli: (d.max(1.0) * 1000.0) as u32,
            rts_threshold: self.radio.rts_threshold,
        };
        let capacity_mbps = tcp_capacity(&self.radio.phy, rate, &shape).as_mbps_f64();
        Some(Transfer { app: index, station: app.station, direction: app.direction, class, weight, capacity_mbps })
    }

    /// A station's PHY rate at `at`; `None` for other hosts.
    pub fn rate_at(&self, station: usize, at: Span) -> Option<PhyRate> {
        let Place::Station { rate, .. } = self.hosts[station].place else { return None };
        let changes = self.events.iter().take_while(|event| event.at <= at);
        let rates = changes.filter_map(|event| match event.action {
            Action::Rate(host, rate) if host == station => Some(rate),
            _ => None,
        });
        Some(rates.last().unwrap_or(rate))
    }

    /// The class of a station in the manager's policy, by name.
    pub fn class_of(&self, host: usize) -> Option<String> {
        let Place::Station { class, .. } = self.hosts[host].place else { return None };
        class.and_then(|class| self.manager.policy.names.get(usize::from(class.0)).cloned())
    }

    /// Whether a station is present at `at`: one whose first event is a join is absent until then.
    pub fn is_present(&self, station: usize, at: Span) -> bool {
        let mut moves = self.events.iter().filter_map(|event| match event.action {
            Action::Join(host) if host == station => Some((event.at, true)),
            Action::Leave(host) if host == station => Some((event.at, false)),
            _ => None,
        });
        let first = moves.clone().next();
        let at_start = first.is_none_or(|(_, joins)| !joins);
        moves.rfind(|&(when, _)| when <= at).map_or(at_start, |(_, joins)| joins)
    }
}

/// Divides `share` among the transfers, level by level, and records each one's share and C_i.
fn divide(levels: &[Level], transfers: Vec<&Transfer>, share: f64, out: &mut Vec<(f64, f64)>) {
    let Some((level, rest)) = levels.split_first() else {
        // Transfers in one queue get equal shares.
        let each = share / transfers.len() as f64;
        out.extend(transfers.iter().map(|transfer| (each, transfer.capacity_mbps)));
        return;
    };
    let mut children: BTreeMap<usize, (f64, Vec<&Transfer>)> = BTreeMap::new();
    for transfer in transfers {
        let (key, weight) = child(level, transfer);
        children.entry(key).or_insert_with(|| (weight, Vec::new())).1.push(transfer);
    }
    let total: f64 = children.values().map(|(weight, _)| weight).sum();
    for (weight, members) in children.into_values() {
        divide(rest, members, share * weight / total, out);
    }
}

/// The child of a level to which a transfer belongs, and that child's weight.
fn child(level: &Level, transfer: &Transfer) -> (usize, f64) {
    match level {
        Level::Direction { up, down } => match transfer.direction {
            Direction::Up => (0, f64::from(*up)),
            Direction::Down => (1, f64::from(*down)),
        },
        Level::Class { weights, other } => {
            let known = weights.iter().find(|(class, _)| Some(*class) == transfer.class);
            known.map_or((0, f64::from(*other)), |(class, weight)| (1 + usize::from(class.0), f64::from(*weight)))
        }
        Level::Station { time_fair } => {
            let per_weight = if *time_fair { transfer.capacity_mbps } else { 1.0 };
            (transfer.station, f64::from(transfer.weight) * per_weight)
        }
        // The formula does not cover rules, minimums and ceilings.
        Level::Tree(_) | Level::Application { .. } => (0, 1.0),
        // Each station of a scenario is one host.
        Level::Host => (transfer.station, 1.0),
        Level::Flow => (transfer.app, 1.0),
    }
}
