//! What is counted: what crosses the WLAN hop and what applications receive, by interval.
//!
//! The counts mean what the testbed's mean: IP-level bytes at the moment of delivery over the air, in both directions
//! of a flow; DATA packets in the direction of the data, pure ACKs against it; goodput where the application gets it.

use evenair_scenario::results::{FlowProgress, FlowSeries, Progress, Series};
use evenair_scenario::{App, AppKind, Direction, Scenario};
use evenair_units::Span;

use crate::connections::is_pure_ack;
use crate::packet::{Body, Packet};

/// What one application has moved in an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    ip_bytes: u64,
    data_packets: u64,
    ack_packets: u64,
    received_bytes: u64,
}

/// The sender's TCP at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpSample {
    pub(crate) cwnd_segments: f64,
    pub(crate) rtt: Option<Span>,
    /// Since the start of the connection.
    pub(crate) retransmits: u64,
}

/// What an interval says beside the counts.
#[derive(Clone, Debug)]
pub(crate) struct Glance {
    pub(crate) at: Span,
    pub(crate) mode: &'static str,
    pub(crate) queue_packets: usize,
    /// Packets times nanoseconds in the access point's queue, during the interval.
    pub(crate) queue_area: u128,
    pub(crate) service_rate_mbps: Option<f64>,
}

#[derive(Debug)]
pub(crate) struct Meter {
    interval: Span,
    /// Which way each application's data flow.
    data: Vec<Direction>,
    counts: Vec<Count>,
    retransmits: Vec<u64>,
    pub(crate) series: Series,
}

impl Meter {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let flow = |app: &App| FlowSeries {
            app: app.name.clone(),
            station: scenario.hosts[app.station].name.clone(),
            direction: app.direction,
            rate_mbps: scenario.rate_at(app.station, Span::ZERO).map_or(0.0, |rate| rate.bit_rate().as_mbps_f64()),
            ip_mbps: Vec::new(),
            goodput_mbps: Vec::new(),
            data_packets: Vec::new(),
            ack_packets: Vec::new(),
            cwnd_segments: Vec::new(),
            rtt_ms: Vec::new(),
            retransmits: Vec::new(),
        };
        Self {
            interval: scenario.measure.interval,
            data: scenario.apps.iter().map(data_direction).collect(),
            counts: vec![Count::default(); scenario.apps.len()],
            retransmits: vec![0; scenario.apps.len()],
            series: Series {
                interval_s: scenario.measure.interval.as_secs_f64(),
                flows: scenario.apps.iter().map(flow).collect(),
                ..Series::default()
            },
        }
    }

    /// A packet crossed the WLAN hop.
    pub(crate) fn count(&mut self, packet: &Packet) {
        let app = packet.app as usize;
        let count = &mut self.counts[app];
        let with_data = packet.way == self.data[app];
        count.ip_bytes += packet.len.0;
        match &packet.body {
            Body::Tcp { segment, .. } if with_data => count.data_packets += u64::from(segment.len > 0),
            Body::Tcp { segment, .. } => count.ack_packets += u64::from(is_pure_ack(segment)),
            Body::Datagram | Body::Echo { .. } => count.data_packets += u64::from(with_data),
        }
    }

    /// An application received data.
    pub(crate) fn receive(&mut self, app: u32, bytes: u64) {
        self.counts[app as usize].received_bytes += bytes;
    }

    /// An interval has ended; `tcp` tells of each application's sender, where it has one.
    pub(crate) fn end_interval(&mut self, glance: &Glance, tcp: impl Fn(usize) -> Option<TcpSample>) {
        let seconds = self.interval.as_secs_f64();
        let mbps = |bytes: u64| bytes as f64 * 8.0 / seconds / 1e6;
        for (app, flow) in self.series.flows.iter_mut().enumerate() {
            let count = std::mem::take(&mut self.counts[app]);
            let sample = tcp(app);
            flow.ip_mbps.push(mbps(count.ip_bytes));
            flow.goodput_mbps.push(mbps(count.received_bytes));
            flow.data_packets.push(count.data_packets);
            flow.ack_packets.push(count.ack_packets);
            flow.cwnd_segments.push(sample.map(|sample| sample.cwnd_segments));
            flow.rtt_ms.push(sample.and_then(|sample| sample.rtt).map(|rtt| rtt.as_secs_f64() * 1e3));
            let total = sample.map_or(self.retransmits[app], |sample| sample.retransmits);
            // A new connection counts from zero again.
            flow.retransmits.push(total.checked_sub(self.retransmits[app]).unwrap_or(total));
            self.retransmits[app] = total;
        }
        self.series.ap_queue_packets.push(glance.queue_area as f64 / self.interval.as_nanos() as f64);
        self.series.service_rate_mbps.push(glance.service_rate_mbps);
    }

    /// How the run stands after the last interval.
    pub(crate) fn progress(&self, glance: &Glance) -> Progress {
        let flows = self.series.flows.iter().map(|flow| FlowProgress {
            app: flow.app.clone(),
            direction: flow.direction,
            ip_mbps: flow.ip_mbps.last().copied().unwrap_or(0.0),
        });
        let flows: Vec<_> = flows.collect();
        Progress {
            at_s: glance.at.as_secs_f64(),
            mode: glance.mode.to_owned(),
            total_ip_mbps: flows.iter().map(|flow| flow.ip_mbps).sum(),
            flows,
            ap_queue_packets: glance.queue_packets as u64,
            service_rate_mbps: glance.service_rate_mbps,
            lateness_p99_us: None,
            invalid_because: Vec::new(),
        }
    }
}

/// Which way an application's data flow.
pub(crate) fn data_direction(app: &App) -> Direction {
    match app.kind {
        AppKind::Web { .. } => Direction::Down,
        AppKind::Ping { .. } => Direction::Up,
        AppKind::Bulk { .. } | AppKind::Udp { .. } => app.direction,
    }
}
