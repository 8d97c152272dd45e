//! Small tables of the measures of a run other than throughput, for its summary and its page. The first row is the heading; a
//! table without further rows is left out.

use super::stats::share;
use super::{
    ApplicationResult, CategoryResult, ChargedAirtime, Distribution, FlowResult, MediumAirtime, NodeResult,
    PhaseResult, RunResult, StationAirtime, TransferSizes,
};

/// Maximum number of flows that are listed individually: a longer table would hide what matters.
pub(super) const FLOWS_SHOWN: usize = 24;

/// Quality of calls, by phase.
pub fn call_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows = heading(["phase", "call", "R", "MOS", "delay ms: median", "99 %", "jitter ms", "lost", "too late"]);
    for call in run.calls.iter().take(FLOWS_SHOWN) {
        let heard = &call.heard;
        let arrived = heard.sent > heard.lost;
        let ms = |value: f64| cell(arrived.then_some(value), 1);
        let part = |packets: u64| percent(share(packets as f64, heard.sent as f64));
        rows.push(vec![
            call.phase.clone(),
            call.app.clone(),
            format!("{:.1}", heard.r_factor),
            format!("{:.2}", heard.mos),
            ms(heard.delay_p50_ms),
            ms(heard.delay_p99_ms),
            ms(heard.jitter_ms),
            part(heard.lost),
            part(heard.late),
        ]);
    }
    and_more(&mut rows, run.calls.len());
    rows
}

/// Delay, loss and quality of calls, datagrams and echoes, by phase and entry of the scenario.
pub fn application_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows = heading([
        "phase",
        "application",
        "sends",
        "flows",
        "delay ms: mean",
        "95 %",
        "round trip ms: median",
        "95 %",
        "lost",
        "R: mean",
        "worst",
    ]);
    for phase in &run.phases {
        rows.extend(phase.applications.iter().map(|application| application_row(run, phase, application)));
    }
    rows
}

fn application_row(run: &RunResult, phase: &PhaseResult, application: &ApplicationResult) -> Vec<String> {
    let quality = application.quality(run, phase);
    let ms = |times: &Option<Distribution>, of: fn(&Distribution) -> f64| cell(times.as_ref().map(of), 1);
    vec![
        phase.name.clone(),
        application.application.clone(),
        application.kind.word().to_owned(),
        application.flows.to_string(),
        ms(&application.delay, |times| times.mean_ms),
        ms(&application.delay, |times| times.p95_ms),
        ms(&application.rtt, |times| times.p50_ms),
        ms(&application.rtt, |times| times.p95_ms),
        quality.loss_rate.map_or_else(|| NONE.to_owned(), percent),
        cell(quality.r_factor_mean, 1),
        cell(quality.r_factor_min, 1),
    ]
}

/// Response times of transfers by their size and direction, by phase.
pub fn transfer_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows =
        heading(["phase", "direction", "size", "complete", "not complete", "median s", "90 % s", "99 % s", "worst s"]);
    let row = |sizes: &TransferSizes| {
        let of = |value: fn(&Distribution) -> f64| cell(sizes.time.as_ref().map(|time| value(time) / 1e3), 3);
        vec![
            sizes.phase.clone(),
            sizes.direction.clone(),
            sizes.sizes.replace('_', " "),
            sizes.complete.to_string(),
            sizes.unfinished.to_string(),
            of(|time| time.p50_ms),
            of(|time| time.p90_ms),
            of(|time| time.p99_ms),
            of(|time| time.max_ms),
        ]
    };
    rows.extend(run.transfers.by_size.iter().map(row));
    rows
}

/// The heading and the table of each phase's airtime.
pub fn airtime_tables(run: &RunResult) -> Vec<(String, Vec<Vec<String>>)> {
    let heading = |phase: &PhaseResult| {
        format!("Airtime, {}: measured on the medium, and charged by the box (its estimate)", phase.name)
    };
    run.phases.iter().map(|phase| (heading(phase), airtime_rows(phase))).collect()
}

/// Measured airtime in a phase: the stations with most airtime, the rest of the time, and the charged airtime.
fn airtime_rows(phase: &PhaseResult) -> Vec<Vec<String>> {
    let heading_cells =
        ["part of the phase", "measured: down", "up", "both", "of it collisions", "charged: down", "up"];
    let mut rows = heading(heading_cells);
    let Some(measured) = &phase.measured_airtime else { return rows };
    let both = |station: &StationAirtime| station.down_share + station.up_share;
    let mut stations: Vec<_> = measured.stations.iter().collect();
    stations.sort_by(|a, b| both(b).total_cmp(&both(a)));
    for station in stations.iter().take(FLOWS_SHOWN) {
        let charged = phase.charged_airtime.iter().find(|charged| charged.station == station.station);
        let charge = |of: fn(&ChargedAirtime) -> f64| charged.map_or_else(|| NONE.to_owned(), |it| percent(of(it)));
        rows.push(vec![
            station.station.clone(),
            percent(station.down_share),
            percent(station.up_share),
            percent(both(station)),
            percent(station.collisions_share),
            charge(|charged| charged.down_share),
            charge(|charged| charged.up_share),
        ]);
    }
    and_more(&mut rows, stations.len());
    let lines = airtime_lines(measured);
    for (line, share) in lines.into_iter().filter(|&(_, share)| share != 0.0) {
        let none = || NONE.to_owned();
        rows.push(vec![line.to_owned(), none(), none(), percent(share), none(), none(), none()]);
    }
    rows
}

/// Uses of a phase's time besides the airtime of stations, in the order of all tables and plots.
pub fn airtime_lines(measured: &MediumAirtime) -> [(&'static str, f64); 5] {
    [
        ("beacons and group frames", measured.groups_share),
        ("networks of others", measured.neighbours_share),
        ("stations that had left", measured.departed_share),
        ("back-off", measured.back_off_share),
        ("idle", measured.idle_share),
    ]
}

/// The access point's queues by access category, by phase; unused ones are left out.
pub fn category_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows =
        heading(["phase", "category", "delivered", "lost", "queue, packets", "delay ms: median", "99 %", "worst"]);
    for phase in &run.phases {
        let access_point = phase.nodes.iter().filter(|node| node.is_access_point());
        let categories = access_point.flat_map(|node| node.categories.iter().map(move |category| (node, category)));
        let used = categories.filter(|(_, category)| category.offered_frames > 0);
        rows.extend(used.map(|(node, category)| category_row(phase, node, category)));
    }
    rows
}

fn category_row(phase: &PhaseResult, node: &NodeResult, category: &CategoryResult) -> Vec<String> {
    let ms = |value: fn(&Distribution) -> f64| cell(category.sojourn.as_ref().map(value), 1);
    vec![
        phase.name.clone(),
        if node.access_point { format!("{} {}", node.node, category.category) } else { category.category.clone() },
        category.delivered_frames.to_string(),
        percent(category.loss_rate.unwrap_or(0.0)),
        format!("{:.1}", category.queue_mean_packets),
        ms(|times| times.p50_ms),
        ms(|times| times.p99_ms),
        ms(|times| times.max_ms),
    ]
}

/// Rates and delays of each flow in a phase.
pub fn flow_detail_rows(phase: &PhaseResult) -> Vec<Vec<String>> {
    let mut rows = heading([
        "flow",
        "Mb/s at IP level",
        "goodput",
        "share",
        "RTT or delay, ms: median",
        "99 %",
        "window, segments",
        "repeated",
        "lost",
    ]);
    let row = |flow: &FlowResult| {
        let times = flow.rtt.as_ref().or(flow.delay.as_ref());
        let ms = |value: fn(&Distribution) -> f64| cell(times.map(value), 1);
        vec![
            flow.app.clone(),
            format!("{:.3}", flow.ip_mbps),
            format!("{:.3}", flow.goodput_mbps),
            percent(flow.share),
            ms(|times| times.p50_ms),
            ms(|times| times.p99_ms),
            cell(flow.cwnd_segments, 1),
            if flow.cwnd_segments.is_some() { flow.retransmits.to_string() } else { NONE.to_owned() },
            if flow.sent_packets > 0 { percent(flow.loss_rate()) } else { NONE.to_owned() },
        ]
    };
    rows.extend(phase.flows.iter().take(FLOWS_SHOWN).map(row));
    and_more(&mut rows, phase.flows.len());
    rows
}

/// Results of each sender on the medium in a phase.
pub fn sender_rows(phase: &PhaseResult) -> Vec<Vec<String>> {
    let mut rows = heading([
        "sender",
        "medium time",
        "attempts",
        "collided",
        "delivered",
        "lost",
        "queue, packets",
        "delay ms: median",
        "99 %",
    ]);
    for node in phase.nodes.iter().take(FLOWS_SHOWN) {
        let ms = |value: fn(&Distribution) -> f64| cell(node.sojourn.as_ref().map(value), 1);
        rows.push(vec![
            node.node.clone(),
            percent(node.airtime_share),
            node.access.attempts.to_string(),
            percent(node.access.collision_rate.unwrap_or(0.0)),
            node.delivered_frames.to_string(),
            percent(node.loss_rate.unwrap_or(0.0)),
            format!("{:.1}", node.queue_mean_packets),
            ms(|times| times.p50_ms),
            ms(|times| times.p99_ms),
        ]);
    }
    and_more(&mut rows, phase.nodes.len());
    rows
}

const NONE: &str = "-";

pub(super) fn heading<const N: usize>(cells: [&str; N]) -> Vec<Vec<String>> {
    vec![cells.map(str::to_owned).to_vec()]
}

/// A number with `decimals` decimals, if there is one.
fn cell(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.decimals$}"))
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

fn and_more(rows: &mut Vec<Vec<String>>, all: usize) {
    if all > FLOWS_SHOWN {
        rows.push(vec![format!("and {} more", all - FLOWS_SHOWN)]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn unmeasured_values_have_no_rows() {
        let (_, run) = sample::two_flows();
        for rows in [call_rows(&run), transfer_rows(&run), category_rows(&run)] {
            assert_eq!(rows.len(), 1);
        }
        let flows = flow_detail_rows(&run.phases[0]);
        assert_eq!(flows[1][..5], ["upload", "4.000", "3.800", "88.9 %", "-"]);
    }

    #[test]
    fn airtime_has_a_table_for_each_phase() {
        let (_, mut run) = sample::two_flows();
        assert!(airtime_tables(&run).iter().all(|(_, rows)| rows.len() == 1));
        let station =
            StationAirtime { station: "a".into(), down_share: 0.5, up_share: 0.1, ..StationAirtime::default() };
        let measured = MediumAirtime { stations: vec![station], idle_share: 0.4, ..MediumAirtime::default() };
        run.phases[1].measured_airtime = Some(measured);
        run.phases[1].charged_airtime = vec![ChargedAirtime { station: "a".into(), down_share: 0.45, up_share: 0.2 }];
        let [(_, bypassed), (heading, inserted)] = &airtime_tables(&run)[..] else { panic!("two phases") };
        assert!(heading.starts_with("Airtime, inserted: ") && bypassed.len() == 1, "{heading}");
        assert_eq!(inserted[1], ["a", "50.0 %", "10.0 %", "60.0 %", "0.0 %", "45.0 %", "20.0 %"]);
        assert_eq!((inserted[2][0].as_str(), inserted[2][3].as_str(), inserted.len()), ("idle", "40.0 %", 3));
    }
}
