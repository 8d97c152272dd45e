//! The tables of one run.

use evenair_results::{RunResult, Table, Values, measures};

/// The time series, one row for each flow and interval ("long" form): `time_s` is the end of the interval.
pub fn series_table(run: &RunResult) -> Table {
    let series = &run.series;
    let rows = || series.flows.iter().flat_map(|flow| (0..flow.ip_mbps.len()).map(move |k| (flow, k)));
    let mut table = Table::default();
    let number = |value: &dyn Fn(&evenair_results::FlowSeries, usize) -> Option<f64>| {
        Values::Number(rows().map(|(flow, k)| value(flow, k).filter(|x| x.is_finite())).collect())
    };
    let count = |value: &dyn Fn(&evenair_results::FlowSeries) -> &[u64]| {
        Values::Count(rows().map(|(flow, k)| value(flow).get(k).copied()).collect())
    };
    table.push("time_s", number(&|_, k| Some((k + 1) as f64 * series.interval_s)));
    table.push("app", Values::Text(rows().map(|(flow, _)| Some(flow.app.clone())).collect()));
    table.push("station", Values::Text(rows().map(|(flow, _)| Some(flow.station.clone())).collect()));
    let direction = |flow: &evenair_results::FlowSeries| match flow.direction {
        evenair_workload::Direction::Up => "up".to_owned(),
        evenair_workload::Direction::Down => "down".to_owned(),
    };
    table.push("direction", Values::Text(rows().map(|(flow, _)| Some(direction(flow))).collect()));
    table.push("class", Values::Text(rows().map(|(flow, _)| flow.class.clone()).collect()));
    table.push("rate_mbps", number(&|flow, _| Some(flow.rate_mbps)));
    table.push("ip_mbps", number(&|flow, k| flow.ip_mbps.get(k).copied()));
    table.push("goodput_mbps", number(&|flow, k| flow.goodput_mbps.get(k).copied()));
    table.push("data_packets", count(&|flow| &flow.data_packets));
    table.push("ack_packets", count(&|flow| &flow.ack_packets));
    table.push("cwnd_segments", number(&|flow, k| *flow.cwnd_segments.get(k)?));
    table.push("rtt_ms", number(&|flow, k| *flow.rtt_ms.get(k)?));
    table.push("retransmits", count(&|flow| &flow.retransmits));
    table.push("ap_queue_packets", number(&|_, k| series.ap_queue_packets.get(k).copied()));
    table.push("service_rate_mbps", number(&|_, k| *series.service_rate_mbps.get(k)?));
    table
}

/// Every measure of the run: its name, its value and its unit.
pub fn measures_table(run: &RunResult) -> Table {
    let measures = measures(run);
    let unit = |unit: &str| (!unit.is_empty()).then(|| unit.to_owned());
    let mut table = Table::default();
    table.push("measure", Values::Text(measures.iter().map(|measure| Some(measure.full_name())).collect()));
    table.push("value", Values::Number(measures.iter().map(|measure| Some(measure.value)).collect()));
    table.push("unit", Values::Text(measures.iter().map(|measure| unit(measure.unit)).collect()));
    table
}
