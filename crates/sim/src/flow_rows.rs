//! Rows of each application by interval.

use evenair_results::FlowSeries;
use evenair_units::Span;

use crate::rows::{Interval, Rows, Sorted, fill, put};

/// Traffic of one application in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) ip_bytes: u64,
    pub(crate) data_packets: u64,
    pub(crate) ack_packets: u64,
    pub(crate) received_bytes: u64,
    /// Datagrams and echo requests.
    pub(crate) sent_packets: u64,
    pub(crate) received_packets: u64,
}

/// State of an application's TCP sender at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderRow {
    pub(crate) cwnd_segments: f64,
    /// Zero before the first sample.
    pub(crate) rtt: Span,
    /// Retransmissions in the interval.
    pub(crate) retransmits: u32,
}

/// Interval rows of the applications.
#[derive(Debug, Default)]
pub(crate) struct FlowRows {
    counts: Rows<Count>,
    senders: Rows<SenderRow>,
}

/// The rows at the end of the run, sorted by application.
#[derive(Debug)]
pub(crate) struct SortedFlowRows {
    counts: Sorted<Count>,
    senders: Sorted<SenderRow>,
}

/// A rate over an interval.
pub(crate) fn mbps(bytes: u64, interval: Span) -> f64 {
    bytes as f64 * 8.0 / interval.as_secs_f64() / 1e6
}

impl FlowRows {
    #[inline]
    pub(crate) fn push(&mut self, app: usize, interval: usize, count: Count) {
        self.counts.push(app, interval, count);
    }

    #[inline]
    pub(crate) fn push_sender(&mut self, app: usize, interval: usize, sender: SenderRow) {
        self.senders.push(app, interval, sender);
    }

    /// Sorts the rows of this many applications.
    pub(crate) fn sort(self, apps: usize) -> SortedFlowRows {
        SortedFlowRows { counts: self.counts.sort(apps), senders: self.senders.sort(apps) }
    }
}

impl SortedFlowRows {
    /// Fills an application's series to the length of the run; a quantity that never occurred has no series.
    pub(crate) fn finish(&self, app: usize, mut flow: FlowSeries, intervals: usize, interval: Span) -> FlowSeries {
        for (number, count) in self.counts.of(app) {
            let at = Interval { number, intervals };
            put(&mut flow.ip_mbps, at, mbps(count.ip_bytes, interval));
            put(&mut flow.goodput_mbps, at, mbps(count.received_bytes, interval));
            put(&mut flow.data_packets, at, count.data_packets);
            put(&mut flow.ack_packets, at, count.ack_packets);
            put(&mut flow.sent_packets, at, count.sent_packets);
            put(&mut flow.received_packets, at, count.received_packets);
        }
        for (number, sender) in self.senders.of(app) {
            let at = Interval { number, intervals };
            put(&mut flow.cwnd_segments, at, Some(sender.cwnd_segments));
            let rtt = Some(sender.rtt).filter(|&rtt| rtt > Span::ZERO);
            put(&mut flow.rtt_ms, at, rtt.map(|rtt| rtt.as_secs_f64() * 1e3));
            put(&mut flow.retransmits, at, sender.retransmits.into());
        }
        fill(&mut flow.sent_packets, intervals);
        fill(&mut flow.received_packets, intervals);
        for values in [&mut flow.ip_mbps, &mut flow.goodput_mbps] {
            values.resize(intervals, 0.0);
        }
        for values in [&mut flow.cwnd_segments, &mut flow.rtt_ms] {
            values.resize(intervals, None);
        }
        for counts in [&mut flow.data_packets, &mut flow.ack_packets, &mut flow.retransmits] {
            counts.resize(intervals, 0);
        }
        flow
    }
}
