//! What is counted: what crosses the WLAN hop and what applications receive, by interval.
//!
//! The counts mean what the testbed's mean: IP-level bytes at the moment of delivery over the air, in both directions
//! of a flow; DATA packets in the direction of the data, pure ACKs against it; goodput where the application gets it.

use evenair_scenario::results::histogram::Histogram;
use evenair_scenario::results::stretch::{DelayRecord, FlowStretch};
use evenair_scenario::results::{FlowProgress, FlowSeries, Progress, Series};
use evenair_scenario::{App, AppKind, Direction, Scenario};
use evenair_units::Span;

use crate::agenda::Side;
use crate::connections::way_from;
use crate::packet::{Body, Carries, Packet};
use crate::places::Places;
use crate::tally::{ROWS, fill, put};
use crate::wire::Wire;

/// What one application has moved in an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    ip_bytes: u64,
    data_packets: u64,
    ack_packets: u64,
    received_bytes: u64,
    /// Datagrams and echo requests.
    sent_packets: u64,
    received_packets: u64,
}

/// What has no series.
#[derive(Clone, Debug, Default)]
struct Record {
    rtt: Histogram,
    delay: DelayRecord,
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
    records: Vec<Record>,
    retransmits: Vec<u64>,
    places: Places,
    progress: Progress,
    /// Rows that are not in the series yet, by application.
    rows: Vec<Vec<FlowRow>>,
    pub(crate) series: Series,
}

/// An application's part in an interval.
#[derive(Clone, Copy, Debug)]
struct FlowRow {
    ip_mbps: f64,
    goodput_mbps: f64,
    count: Count,
    cwnd_segments: Option<f64>,
    rtt_ms: Option<f64>,
    retransmits: u64,
}

impl Meter {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let progress = |app: &App| FlowProgress { app: app.name.clone(), direction: app.direction, ip_mbps: 0.0 };
        Self {
            progress: Progress {
                at_s: 0.0,
                mode: String::new(),
                flows: scenario.apps.iter().map(progress).collect(),
                total_ip_mbps: 0.0,
                ap_queue_packets: 0,
                service_rate_mbps: None,
                lateness_p99_us: None,
                invalid_because: Vec::new(),
            },
            rows: scenario.apps.iter().map(|_| Vec::with_capacity(ROWS)).collect(),
            interval: scenario.measure.interval,
            data: scenario.apps.iter().map(data_direction).collect(),
            counts: vec![Count::default(); scenario.apps.len()],
            records: vec![Record::default(); scenario.apps.len()],
            retransmits: vec![0; scenario.apps.len()],
            places: Places::default(),
            series: Series {
                interval_s: scenario.measure.interval.as_secs_f64(),
                flows: scenario.apps.iter().map(|app| FlowSeries::new(scenario, app)).collect(),
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
            Body::Tcp { carries, .. } if with_data => count.data_packets += u64::from(*carries == Carries::Data),
            Body::Tcp { carries, .. } => count.ack_packets += u64::from(*carries == Carries::PureAck),
            Body::Datagram { .. } | Body::Speech { .. } | Body::Echo { .. } => {
                count.data_packets += u64::from(with_data)
            }
        }
    }

    /// An application sends a packet.
    pub(crate) fn send(&mut self, packet: &Packet) {
        match packet.body {
            Body::Tcp { .. } => {}
            Body::Datagram { .. } | Body::Speech { .. } => self.counts[packet.app as usize].sent_packets += 1,
            Body::Echo { .. } => {
                self.counts[packet.app as usize].sent_packets += u64::from(packet.way == Direction::Up)
            }
        }
    }

    /// Datagrams were lost before they were made.
    pub(crate) fn lose_unmade(&mut self, app: u32, datagrams: u64) {
        self.counts[app as usize].sent_packets += datagrams;
    }

    /// A datagram arrived after this time.
    pub(crate) fn delay(&mut self, app: u32, delay: Span) {
        self.counts[app as usize].received_packets += 1;
        self.records[app as usize].delay.record(delay);
    }

    /// An echo came back after this time.
    pub(crate) fn echo(&mut self, app: u32, rtt: Span) {
        self.counts[app as usize].received_packets += 1;
        self.records[app as usize].rtt.record(rtt);
    }

    /// An endpoint of TCP measured a round-trip time. Those of the data's receiver, which are few, do not count.
    pub(crate) fn round_trip(&mut self, app: u32, side: Side, rtt: Span) {
        if way_from(side) == self.data[app as usize] {
            self.records[app as usize].rtt.record(rtt);
        }
    }

    /// What has no series, since the last call.
    pub(crate) fn take_stretch(&mut self) -> Vec<FlowStretch> {
        let take = |record: &mut Record| {
            let (delay, jitter) = record.delay.take();
            FlowStretch { rtt: record.rtt.take(), delay, jitter }
        };
        self.records.iter_mut().map(take).collect()
    }

    /// The wired ports and the box at the end of an interval.
    pub(crate) fn end_interval_of_places(&mut self, wire: &Wire, middlebox: Option<evenair_manager::Counters>) {
        self.places.end_interval(wire, middlebox);
    }

    /// An application received data.
    pub(crate) fn receive(&mut self, app: u32, bytes: u64) {
        self.counts[app as usize].received_bytes += bytes;
    }

    /// An interval has ended; `tcp` tells of each application's sender, where it has one.
    pub(crate) fn end_interval(&mut self, glance: &Glance, tcp: impl Fn(usize) -> Option<TcpSample>) {
        let seconds = self.interval.as_secs_f64();
        let mbps = |bytes: u64| bytes as f64 * 8.0 / seconds / 1e6;
        let number = self.series.ap_queue_packets.len();
        for (app, rows) in self.rows.iter_mut().enumerate() {
            let count = std::mem::take(&mut self.counts[app]);
            let sample = tcp(app);
            let total = sample.map_or(self.retransmits[app], |sample| sample.retransmits);
            // A new connection counts from zero again.
            let retransmits = total.checked_sub(self.retransmits[app]).unwrap_or(total);
            self.retransmits[app] = total;
            let ip_mbps = mbps(count.ip_bytes);
            self.progress.flows[app].ip_mbps = ip_mbps;
            rows.push(FlowRow {
                ip_mbps,
                goodput_mbps: mbps(count.received_bytes),
                count,
                cwnd_segments: sample.map(|sample| sample.cwnd_segments),
                rtt_ms: sample.and_then(|sample| sample.rtt).map(|rtt| rtt.as_secs_f64() * 1e3),
                retransmits,
            });
            if rows.len() == ROWS {
                enter(&mut self.series.flows[app], number + 1 - ROWS, rows);
            }
        }
        self.series.ap_queue_packets.push(glance.queue_area as f64 / self.interval.as_nanos() as f64);
        self.series.service_rate_mbps.push(glance.service_rate_mbps);
    }

    /// The series of the run; the senders' are still to come.
    pub(crate) fn finish(self, scenario: &Scenario) -> Series {
        let mut series = self.series;
        let intervals = series.ap_queue_packets.len();
        for (flow, mut rows) in series.flows.iter_mut().zip(self.rows) {
            enter(flow, intervals - rows.len(), &mut rows);
            fill(&mut flow.sent_packets, intervals);
            fill(&mut flow.received_packets, intervals);
        }
        series.places = self.places.finish(scenario);
        series
    }

    /// How the run stands after the last interval.
    pub(crate) fn progress(&mut self, glance: &Glance) -> &Progress {
        let progress = &mut self.progress;
        progress.at_s = glance.at.as_secs_f64();
        if progress.mode != glance.mode {
            progress.mode = glance.mode.to_owned();
        }
        progress.total_ip_mbps = progress.flows.iter().map(|flow| flow.ip_mbps).sum();
        progress.ap_queue_packets = glance.queue_packets as u64;
        progress.service_rate_mbps = glance.service_rate_mbps;
        progress
    }
}

/// Enters rows into a series, the first of which is that of interval `first`.
fn enter(flow: &mut FlowSeries, first: usize, rows: &mut Vec<FlowRow>) {
    for (number, row) in (first..).zip(rows.drain(..)) {
        flow.ip_mbps.push(row.ip_mbps);
        flow.goodput_mbps.push(row.goodput_mbps);
        flow.data_packets.push(row.count.data_packets);
        flow.ack_packets.push(row.count.ack_packets);
        put(&mut flow.sent_packets, number, row.count.sent_packets);
        put(&mut flow.received_packets, number, row.count.received_packets);
        flow.cwnd_segments.push(row.cwnd_segments);
        flow.rtt_ms.push(row.rtt_ms);
        flow.retransmits.push(row.retransmits);
    }
}

/// Which way an application's data flow.
pub(crate) fn data_direction(app: &App) -> Direction {
    match app.kind {
        AppKind::Web { .. } => Direction::Down,
        AppKind::Ping { .. } => Direction::Up,
        AppKind::Bulk { .. } | AppKind::Udp(_) | AppKind::Voip(_) | AppKind::Flows(_) | AppKind::OnOff(_) => {
            app.direction
        }
    }
}
