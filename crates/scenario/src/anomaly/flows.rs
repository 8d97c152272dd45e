//! The flows of a phase in the closed form, and the packets per access of each.

use evenair_units::{Bytes, Limit, Span};
use evenair_wifi::{AccessCategory, AggregateLimits, AggregateSender, PhyRate, TcpShape};
use evenair_workload::{DatagramSpec, Direction, Phase, Spacing};

use crate::{App, AppKind, IpVersion, Scenario};

/// A flow that always has packets.
pub(super) struct Flow {
    pub(super) app: usize,
    pub(super) station: usize,
    pub(super) rate: PhyRate,
    /// Size of an IP packet of DATA.
    pub(super) ip: Bytes,
    /// Application payload in it.
    pub(super) payload: Bytes,
    /// Packets of a TCP flow on the air.
    pub(super) tcp: Option<TcpShape>,
    /// Offered datagrams per second.
    pub(super) offered: Option<f64>,
    /// Packets per access.
    pub(super) aggregate: u16,
}

impl Scenario {
    /// The flows of a phase and their direction.
    pub(super) fn flows(&self, phase: &Phase) -> Result<(Vec<Flow>, Direction), String> {
        let changes = self.events.iter().any(|event| event.at > phase.from && event.at < phase.to);
        if changes {
            return Err(format!("there are events within the phase {:?}", phase.name));
        }
        let is_there = |app: &App| {
            let stop = app.stop.unwrap_or(self.duration);
            app.start < phase.to && stop > phase.from && self.is_present(app.station, phase.from)
        };
        let apps = self.apps.iter().enumerate().filter(|(_, app)| is_there(app));
        let apps: Vec<_> = apps.filter(|(_, app)| !matches!(app.kind, AppKind::Ping { .. })).collect();
        let Some(&(_, first)) = apps.first() else {
            return Err(format!("nothing is sent in the phase {:?}", phase.name));
        };
        let mut flows = apps.iter().map(|&(index, app)| self.flow(index, app, phase)).collect::<Result<Vec<_>, _>>()?;
        let alike = flows.iter().all(|flow| flow.tcp.is_some() == flows[0].tcp.is_some());
        if !alike || apps.iter().any(|(_, app)| app.direction != first.direction) {
            return Err("the closed form is of uploads or downloads, of TCP or datagrams: there are both".to_owned());
        }
        let total: f64 = flows.iter().map(Flow::share_of_buffer).sum();
        let aggregates: Vec<u16> = flows
            .iter()
            .map(|flow| match first.direction {
                Direction::Down => self.aggregate(flow, self.radio.ap_buffer, flow.share_of_buffer() / total),
                Direction::Up => self.aggregate(flow, self.radio.station_buffer, 1.0 / flow.siblings(&flows)),
            })
            .collect();
        flows.iter_mut().zip(aggregates).for_each(|(flow, aggregate)| flow.aggregate = aggregate);
        Ok((flows, first.direction))
    }

    fn flow(&self, index: usize, app: &App, phase: &Phase) -> Result<Flow, String> {
        let refused = |what: &str| Err(format!("application {:?}: {what}", app.name));
        if app.start > phase.from || app.stop.is_some_and(|stop| stop < phase.to) {
            return refused("it runs for a part of the phase only");
        }
        if AccessCategory::of_dscp(app.dscp) != AccessCategory::BestEffort || app.group {
            return refused("the closed form is of best effort to single stations");
        }
        let rate = self.rate_at(app.station, phase.from).expect("an application's station is one");
        let header = if app.ip == IpVersion::V4 { Bytes(20) } else { Bytes(40) };
        let (ip, payload, tcp, offered) = match &app.kind {
            AppKind::Bulk { bytes: None, .. } => {
                let options = if self.tcp.timestamps { Bytes(12) } else { Bytes::ZERO };
                let shape = TcpShape {
                    data_ip: self.tcp.mss + Bytes(20) + header,
                    ack_ip: header + Bytes(20) + options,
                    d_milli: if self.tcp.delayed_ack { 2_000 } else { 1_000 },
                    rts_threshold: self.radio.rts_threshold,
                };
                (shape.data_ip, self.tcp.mss - options, Some(shape), None)
            }
            AppKind::Udp(spec @ DatagramSpec { bursts: None, payload, spacing })
                if !matches!(spacing, Spacing::Frames { .. }) =>
            {
                (header + Bytes(8) + *payload, *payload, None, Some(spec.mean_bps() / payload.bits() as f64))
            }
            _ => return refused("the closed form is of transfers without end and of steady datagrams"),
        };
        Ok(Flow { app: index, station: app.station, rate, ip, payload, tcp, offered, aggregate: 1 })
    }

    /// Packets per access of a flow with this part of a buffer.
    fn aggregate(&self, flow: &Flow, buffer: Limit, part: f64) -> u16 {
        let held = match buffer {
            Limit::Packets(packets) => f64::from(packets),
            Limit::Bytes(bytes) => bytes.0 as f64 / flow.ip.0 as f64,
            Limit::Unlimited => f64::INFINITY,
        };
        self.sender(flow.rate).full(flow.ip).min((held * part) as u16).max(1)
    }

    pub(super) fn sender(&self, rate: PhyRate) -> AggregateSender<'_> {
        let edca = self.radio.edca.map(|edca| edca.access_point[AccessCategory::BestEffort.index()]);
        let txop = edca.map(|edca| edca.txop).filter(|&txop| txop > Span::ZERO);
        let rules = self.radio.aggregation.filter(|_| edca.is_some());
        let answer = |rules: &evenair_medium::Aggregation| {
            self.radio.phy.sifs() + self.radio.phy.block_ack(rate, rules.window_at(rate))
        };
        let limits =
            rules.and_then(|rules| rules.limits_of(rate, txop.map(|txop| txop.saturating_sub(answer(&rules)))));
        let (phy, rts_threshold) = (&self.radio.phy, self.radio.rts_threshold);
        AggregateSender { phy, rate, limits: limits.unwrap_or(AggregateLimits::SINGLE), rts_threshold }
    }
}

impl Flow {
    /// Packets in a round, up to a common factor.
    pub(super) fn weight(&self, is_upload: bool, flows: &[Self]) -> f64 {
        if is_upload { f64::from(self.aggregate) / self.siblings(flows) } else { self.share_of_buffer() }
    }

    /// Share of a FIFO that all flows fill, up to a common factor.
    pub(super) fn share_of_buffer(&self) -> f64 {
        self.offered.unwrap_or(1.0)
    }

    /// Number of flows of its station.
    pub(super) fn siblings(&self, flows: &[Self]) -> f64 {
        flows.iter().filter(|other| other.station == self.station).count() as f64
    }

    pub(super) fn is_first_of_station(&self, flows: &[Self]) -> bool {
        flows.iter().find(|other| other.station == self.station).is_some_and(|first| first.app == self.app)
    }

    /// Number of parts into which time is divided if each station has the same.
    pub(super) fn parts(&self, flows: &[Self]) -> f64 {
        flows.iter().filter(|flow| flow.is_first_of_station(flows)).count() as f64 * self.siblings(flows)
    }
}
