//! Throughput, fairness, flows, stations, groups of flows, and what users notice: pages, transfers, calls, echoes.

use evenair_scenario::measures::Kind;

use super::super::stats::{mean, share};
use super::super::{CallResult, FlowResult, PhaseResult, RunResult};
use super::rows::{Rows, as_part, spread};

/// Measures over all flows.
pub(super) fn of_phase(phase: &PhaseResult, rows: &mut Rows) {
    rows.add_known("transient_s", phase.transient_s);
    rows.add("total_ip_mbps", phase.total_ip_mbps);
    rows.add("total_goodput_mbps", phase.total_goodput_mbps);
    rows.add("up_ip_mbps", phase.directions.up_ip_mbps);
    rows.add("down_ip_mbps", phase.directions.down_ip_mbps);
    rows.add_known("capacity_cstar_mbps", phase.capacity_cstar_mbps);
    rows.add_known("service_rate_mbps", phase.service_rate_mbps);
    rows.add_known("jain_flows", phase.jain_flows);
    rows.add("flows_not_started", phase.flows_not_started as f64);
    rows.add_known("backlogged_stations", phase.backlogged_stations.as_ref().map(|stations| stations.len() as f64));
    let evenness = [
        ("up", &phase.evenness_up),
        ("down", &phase.evenness_down),
        ("stations", &phase.evenness_stations),
        ("backlogged", &phase.evenness_backlogged),
    ];
    for (of, evenness) in evenness {
        let Some(evenness) = evenness else { continue };
        rows.inside(&format!("fairness.{of}"), |rows| {
            rows.add_known("jain", evenness.jain);
            rows.add_known("sigma_over_mean", evenness.sigma_over_mean);
            rows.add_known("min_over_max", evenness.min_over_max);
        });
    }
}

/// Flows by direction, class and PHY rate, then each flow and the flows of each station.
pub(super) fn of_groups(phase: &PhaseResult, rows: &mut Rows) {
    let kinds = [
        (Kind::Direction, &phase.groups_direction),
        (Kind::Class, &phase.groups_class),
        (Kind::Rate, &phase.groups_rate),
    ];
    for (kind, groups) in kinds {
        for group in groups {
            rows.of(kind, Some(&as_part(&group.group)), |rows| {
                rows.add("ip_mbps", group.ip_mbps);
                rows.add("goodput_mbps", group.goodput_mbps);
                rows.add("share", group.share);
                rows.distribution("rtt", group.rtt.as_ref());
                rows.distribution("delay", group.delay.as_ref());
            });
        }
    }
    for flow in &phase.flows {
        rows.of(Kind::Flow, Some(&flow.app), |rows| of_flow(flow, rows));
    }
    for station in &phase.stations {
        rows.of(Kind::Station, Some(&station.station), |rows| {
            rows.add("ip_mbps", station.ip_mbps);
            rows.add("goodput_mbps", station.goodput_mbps);
            rows.add("share", station.share);
            rows.add_known("variation", station.variation);
        });
    }
}

fn of_flow(flow: &FlowResult, rows: &mut Rows) {
    rows.add("ip_mbps", flow.ip_mbps);
    rows.add("goodput_mbps", flow.goodput_mbps);
    rows.add("share", flow.share);
    rows.add_known("variation", flow.variation);
    rows.add_known("d", flow.d);
    rows.add_known("cwnd_segments", flow.cwnd_segments);
    rows.add_known("rtt_ms", flow.rtt_ms);
    rows.add("retransmits", flow.retransmits as f64);
    rows.distribution("rtt", flow.rtt.as_ref());
    rows.distribution("delay", flow.delay.as_ref());
    rows.add_known("jitter_ms", flow.jitter_ms);
    if flow.sent_packets > 0 {
        rows.add("sent_packets", flow.sent_packets as f64);
        rows.add("received_packets", flow.received_packets as f64);
        rows.add("loss_rate", flow.loss_rate());
    }
}

/// What users experience: pages, transfers and calls.
pub(super) fn of_users(run: &RunResult, phase: &PhaseResult, rows: &mut Rows) {
    pages(run, phase, rows);
    transfers(run, phase, rows);
    calls(run, phase, rows);
    applications(run, phase, rows);
}

fn pages(run: &RunResult, phase: &PhaseResult, rows: &mut Rows) {
    if run.pages.is_empty() {
        return;
    }
    let pages = run.pages_of(phase);
    rows.of(Kind::Page, None, |rows| {
        rows.add("count", pages.count as f64);
        rows.add_known("mean_s", pages.mean_s);
        rows.add_known("p50_s", pages.p50_s);
        rows.add_known("p90_s", pages.p90_s);
        rows.add_known("max_s", pages.max_s);
    });
}

fn transfers(run: &RunResult, phase: &PhaseResult, rows: &mut Rows) {
    for sizes in run.transfers.by_size.iter().filter(|sizes| sizes.phase == phase.name) {
        rows.of(Kind::Transfer, Some(&format!("{}.{}", sizes.direction, sizes.sizes)), |rows| {
            rows.add("count", sizes.complete as f64);
            rows.add("unfinished", sizes.unfinished as f64);
            let Some(time) = &sizes.time else { return };
            for (what, ms) in spread(time) {
                rows.add(&format!("{what}_s"), ms / 1e3);
            }
        });
    }
}

fn calls(run: &RunResult, phase: &PhaseResult, rows: &mut Rows) {
    let calls: Vec<_> = run.calls.iter().filter(|call| call.phase == phase.name).collect();
    for call in &calls {
        let heard = &call.heard;
        rows.of(Kind::Call, Some(&call.app), |rows| {
            rows.add("r_factor", heard.r_factor);
            rows.add("mos", heard.mos);
            if heard.sent > heard.lost {
                rows.add("mouth_to_ear_ms", heard.mouth_to_ear_ms);
                rows.add("delay_mean_ms", heard.delay_mean_ms);
                rows.add("delay_p50_ms", heard.delay_p50_ms);
                rows.add("delay_p95_ms", heard.delay_p95_ms);
                rows.add("delay_p99_ms", heard.delay_p99_ms);
                rows.add("delay_max_ms", heard.delay_max_ms);
                rows.add("jitter_ms", heard.jitter_ms);
            }
            rows.add("sent_packets", heard.sent as f64);
            rows.add("loss_rate", share(heard.lost as f64, heard.sent as f64));
            rows.add("late_rate", share(heard.late as f64, heard.sent as f64));
        });
    }
    if calls.is_empty() {
        return;
    }
    rows.of(Kind::Call, None, |rows| {
        let ratings = || calls.iter().map(|call| call.heard.r_factor);
        let scores = || calls.iter().map(|call| call.heard.mos);
        rows.add("count", calls.len() as f64);
        rows.add_known("r_factor_mean", mean(ratings()));
        rows.add_known("r_factor_min", ratings().reduce(f64::min));
        rows.add_known("mos_mean", mean(scores()));
        rows.add_known("mos_min", scores().reduce(f64::min));
        let reached = calls.iter().filter(|call| call.heard.sent > call.heard.lost);
        rows.add_known("delay_mean_ms", mean(reached.map(|call| call.heard.delay_mean_ms)));
        let sum = |of: &dyn Fn(&CallResult) -> u64| calls.iter().map(|call| of(call)).sum::<u64>() as f64;
        rows.add("loss_rate", share(sum(&|call| call.heard.lost), sum(&|call| call.heard.sent)));
    });
}

fn applications(run: &RunResult, phase: &PhaseResult, rows: &mut Rows) {
    for application in &phase.applications {
        let quality = application.quality(run, phase);
        rows.of(Kind::Application, Some(&application.application), |rows| {
            rows.add_known("delay_mean_ms", application.delay.as_ref().map(|delay| delay.mean_ms));
            rows.add_known("delay_p95_ms", application.delay.as_ref().map(|delay| delay.p95_ms));
            rows.add_known("rtt_p50_ms", application.rtt.as_ref().map(|rtt| rtt.p50_ms));
            rows.add_known("rtt_p95_ms", application.rtt.as_ref().map(|rtt| rtt.p95_ms));
            rows.add_known("loss_rate", quality.loss_rate);
            rows.add_known("r_factor_mean", quality.r_factor_mean);
            rows.add_known("r_factor_min", quality.r_factor_min);
        });
    }
}

/// The echoes of the whole run.
pub(super) fn of_echoes(run: &RunResult, rows: &mut Rows) {
    for echo in &run.echoes {
        rows.of(Kind::Echo, Some(&echo.app), |rows| {
            rows.add("answers", echo.answers as f64);
            rows.add("p50_ms", echo.p50_ms);
            rows.add("p99_ms", echo.p99_ms);
            rows.add("max_ms", echo.max_ms);
        });
    }
}
