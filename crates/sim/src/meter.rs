//! Counters of traffic over the WLAN hop and of application data, by interval.
//!
//! They are defined as in the testbed: IP-level bytes at the moment of delivery over the air, in both directions of a flow;
//! DATA packets in the direction of the data, pure ACKs against it; goodput at the application.

use evenair_api::Mode;
use evenair_results::histogram::Histogram;
use evenair_results::period::{DelayRecord, FlowPeriod};
use evenair_results::{FlowProgress, FlowSeries, Progress, Series};
use evenair_scenario::{App, AppKind, Scenario};
use evenair_units::Span;
use evenair_units::hint::prefetch;
use evenair_workload::Direction;

use crate::connections::way_from;
use crate::event_queue::Side;
use crate::flow_rows::{Count, FlowRows, SenderRow, mbps};
use crate::packet::{Body, Carries, Packet};
use crate::records::{Record, Records};
use crate::rows::intervals;
use crate::site_counters::SiteCounters;
use crate::wire::Wire;

/// State of a TCP sender at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpSample {
    pub(crate) cwnd_segments: f64,
    pub(crate) rtt: Option<Span>,
    /// Retransmissions since the start of the connection.
    pub(crate) retransmits: u32,
}

/// State of the run at the end of an interval, beside the counters.
#[derive(Clone, Debug)]
pub(crate) struct IntervalSample {
    pub(crate) at: Span,
    pub(crate) mode: Mode,
    pub(crate) queue_packets: usize,
    /// Packet-nanoseconds in the access point's queue during the interval.
    pub(crate) queue_area: u128,
    pub(crate) service_rate_mbps: Option<f64>,
}

/// Traffic of an application since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    /// IP-level bytes over the WLAN hop, in both directions.
    pub(crate) ip_bytes: u64,
    /// Of these, from the station.
    pub(crate) up_bytes: u64,
    /// Payload bytes that reached the receiver.
    pub(crate) received_bytes: u64,
}

/// Counters of an application.
#[derive(Clone, Debug, Default)]
struct Counting {
    /// Traffic in the interval.
    count: Count,
    /// IP-level bytes from the station over the WLAN hop, since the start of the run.
    up_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Meter {
    interval: Span,
    /// Direction of each application's data.
    data: Vec<Direction>,
    counts: Vec<Counting>,
    /// Traffic of each application up to the start of the interval; `up_bytes` is in `counts`.
    moved: Vec<Moved>,
    rtts: Records<Histogram>,
    delays: Records<DelayRecord>,
    /// Retransmissions by application at the last interval, for those with a sampled TCP sender.
    retransmits: Vec<u32>,
    sites: SiteCounters,
    progress: Progress,
    flows: FlowRows,
    /// All series except the flows'.
    series: Series,
}

impl Meter {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let (apps, intervals) = (&scenario.apps, intervals(scenario));
        let interval = scenario.measure.interval;
        let progress =
            |app: &App| FlowProgress { app: app.name.clone(), direction: app.direction, ip_mbps: 0.0, rtt_ms: None };
        Self {
            progress: Progress {
                at_s: 0.0,
                mode: Mode::Bypassed,
                flows: apps.iter().map(progress).collect(),
                total_ip_mbps: 0.0,
                ap_queue_packets: 0,
                service_rate_mbps: None,
                lateness_p99_us: None,
                invalid_because: Vec::new(),
            },
            flows: FlowRows::default(),
            interval,
            data: apps.iter().map(data_direction).collect(),
            counts: vec![Counting::default(); apps.len()],
            moved: vec![Moved::default(); apps.len()],
            rtts: Records::new(apps.iter().map(|_| Histogram::default())),
            delays: Records::new(apps.iter().map(|_| DelayRecord::default())),
            retransmits: vec![0; apps.len()],
            sites: SiteCounters::new(intervals),
            series: Series { interval_s: interval.as_secs_f64(), ..Series::default() },
        }
    }

    /// Counts a packet that crossed the WLAN hop.
    pub(crate) fn count(&mut self, packet: &Packet) {
        let app = packet.app as usize;
        let Counting { count, up_bytes } = &mut self.counts[app];
        let with_data = packet.way == self.data[app];
        match &packet.body {
            Body::Probe => return,
            Body::Tcp { carries, .. } if with_data => count.data_packets += u64::from(*carries == Carries::Data),
            Body::Tcp { carries, .. } => count.ack_packets += u64::from(*carries == Carries::PureAck),
            Body::Datagram { .. } | Body::Speech { .. } | Body::Echo { .. } => {
                count.data_packets += u64::from(with_data)
            }
        }
        count.ip_bytes += packet.len.0;
        *up_bytes += if packet.way == Direction::Up { packet.len.0 } else { 0 };
    }

    /// Traffic of an application so far.
    pub(crate) fn moved(&self, app: usize) -> Moved {
        let (Counting { count, up_bytes }, before) = (&self.counts[app], self.moved[app]);
        Moved {
            ip_bytes: before.ip_bytes + count.ip_bytes,
            up_bytes: *up_bytes,
            received_bytes: before.received_bytes + count.received_bytes,
        }
    }

    /// Prefetches an application's counters.
    #[inline]
    pub(crate) fn prefetch(&self, app: u32) {
        let count = &self.counts[app as usize].count;
        prefetch(&raw const count.ip_bytes);
        prefetch(&raw const count.received_bytes);
    }

    /// Counts a packet that an application sends.
    pub(crate) fn send(&mut self, packet: &Packet) {
        match packet.body {
            Body::Tcp { .. } | Body::Probe => {}
            Body::Datagram { .. } | Body::Speech { .. } => self.counts[packet.app as usize].count.sent_packets += 1,
            Body::Echo { .. } => {
                self.counts[packet.app as usize].count.sent_packets += u64::from(packet.way == Direction::Up)
            }
        }
    }

    /// Counts datagrams that were lost before they were made.
    pub(crate) fn lose_unmade(&mut self, app: u32, datagrams: u64) {
        self.counts[app as usize].count.sent_packets += datagrams;
    }

    /// Records a datagram's one-way delay.
    #[inline(always)]
    pub(crate) fn delay(&mut self, app: u32, delay: Span) {
        self.counts[app as usize].count.received_packets += 1;
        self.delays.enter(app as usize, delay);
    }

    /// Records the round-trip time of an echo.
    pub(crate) fn echo(&mut self, app: u32, rtt: Span) {
        self.counts[app as usize].count.received_packets += 1;
        self.rtts.enter(app as usize, rtt);
    }

    /// Records a round-trip sample of a TCP endpoint. The few samples of the data's receiver are ignored.
    pub(crate) fn round_trip(&mut self, app: u32, side: Side, rtt: Span) {
        if way_from(side) == self.data[app as usize] {
            self.rtts.enter(app as usize, rtt);
        }
    }

    /// Values without series, since the last call.
    pub(crate) fn take_period(&mut self) -> Vec<FlowPeriod> {
        let records = self.rtts.all().iter_mut().zip(self.delays.all());
        let take = |(rtt, delay): (&mut Histogram, &mut DelayRecord)| {
            let (delay, jitter) = delay.take();
            FlowPeriod { rtt: rtt.take(), delay, jitter }
        };
        records.map(take).collect()
    }

    /// Ends an interval of the wired ports and the box.
    pub(crate) fn end_interval_of_sites(&mut self, wire: &Wire, middlebox: Option<evenair_manager::Counters>) {
        self.sites.end_interval(wire, middlebox);
    }

    /// Counts data that an application received.
    pub(crate) fn receive(&mut self, app: u32, bytes: u64) {
        self.counts[app as usize].count.received_bytes += bytes;
    }

    /// Ends an interval, given the state of the TCP senders with a connection, by application.
    pub(crate) fn end_interval(
        &mut self,
        interval_sample: &IntervalSample,
        tcp: impl Iterator<Item = (usize, TcpSample)>,
    ) {
        let number = self.series.ap_queue_packets.len();
        let mut total = 0.0;
        let all = self.counts.iter_mut().map(|counting| &mut counting.count).zip(&mut self.progress.flows);
        for (app, (count, progress)) in all.enumerate() {
            let mut ip_mbps = 0.0;
            if *count != Count::default() {
                let count = std::mem::take(count);
                ip_mbps = mbps(count.ip_bytes, self.interval);
                self.moved[app].ip_bytes += count.ip_bytes;
                self.moved[app].received_bytes += count.received_bytes;
                self.flows.push(app, number, count);
            }
            (progress.ip_mbps, progress.rtt_ms) = (ip_mbps, None);
            total += ip_mbps;
        }
        self.progress.total_ip_mbps = total;
        for (app, TcpSample { cwnd_segments, rtt, retransmits: total }) in tcp {
            // A new connection counts from zero.
            let retransmits = total.checked_sub(self.retransmits[app]).unwrap_or(total);
            self.retransmits[app] = total;
            self.progress.flows[app].rtt_ms = rtt.map(|rtt| rtt.as_secs_f64() * 1e3);
            let row = SenderRow { cwnd_segments, rtt: rtt.unwrap_or(Span::ZERO), retransmits };
            self.flows.push_sender(app, number, row);
        }
        self.series.ap_queue_packets.push(interval_sample.queue_area as f64 / self.interval.as_nanos() as f64);
        self.series.service_rate_mbps.push(interval_sample.service_rate_mbps);
    }

    /// The series of the run, without the senders'.
    pub(crate) fn finish(self, scenario: &Scenario) -> Series {
        let mut series = self.series;
        let intervals = series.ap_queue_packets.len();
        let rows = self.flows.sort(scenario.apps.len());
        let flows = scenario.apps.iter().enumerate();
        let finish = |(number, app)| rows.finish(number, FlowSeries::new(scenario, app), intervals, self.interval);
        series.flows = flows.map(finish).collect();
        series.places = self.sites.finish(scenario);
        series
    }

    /// The state of the run at the end of the last interval.
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Records the state at the end of an interval.
    pub(crate) fn note_progress(&mut self, interval_sample: &IntervalSample) {
        let progress = &mut self.progress;
        progress.at_s = interval_sample.at.as_secs_f64();
        progress.mode = interval_sample.mode;
        progress.ap_queue_packets = interval_sample.queue_packets as u64;
        progress.service_rate_mbps = interval_sample.service_rate_mbps;
    }
}

impl Record for Histogram {
    type Sample = Span;

    #[inline]
    fn enter(&mut self, time: Span) {
        self.record(time);
    }

    fn prefetch(&self, time: Span) {
        self.place(time).into_iter().for_each(|place| prefetch(place));
    }
}

impl Record for DelayRecord {
    type Sample = Span;

    #[inline]
    fn enter(&mut self, delay: Span) {
        self.record(delay);
    }

    fn prefetch(&self, delay: Span) {
        self.place(delay).into_iter().for_each(|place| prefetch(place));
    }
}

/// Direction of an application's data.
pub(crate) fn data_direction(app: &App) -> Direction {
    match app.kind {
        AppKind::Web { .. } => Direction::Down,
        AppKind::Ping { .. } => Direction::Up,
        AppKind::Bulk { .. } | AppKind::Udp(_) | AppKind::Voip(_) | AppKind::Flows(_) | AppKind::OnOff(_) => {
            app.direction
        }
    }
}
