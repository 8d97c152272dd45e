//! A run as a flat list of named numbers, for sweeps, comparisons, replications and published values.
//!
//! [`evenair_scenario::measures`] defines the names. Measures without a value in a run are not in its list.

use super::stats::{mean, share};
use super::{
    AccessResult, CallResult, ChargedAirtime, Distribution, FlowResult, MediumAirtime, NodeResult, PhaseResult,
    RunResult,
};

/// Every measure of a run by its full name, phases first, in an order that depends on the scenario alone.
pub fn scalars(run: &RunResult) -> Vec<(String, f64)> {
    let mut list = List::default();
    for phase in &run.phases {
        list.inside(&format!("phase.{}", phase.name), |list| {
            phase_scalars(phase, list);
            page_scalars(run, phase, list);
            transfer_scalars(run, phase, list);
            call_scalars(run, phase, list);
            application_scalars(run, phase, list);
        });
    }
    list.inside("run", |list| run_scalars(run, list));
    list.scalars
}

/// The list as it grows, and the path that names are put under.
#[derive(Default)]
struct List {
    path: String,
    scalars: Vec<(String, f64)>,
}

impl List {
    fn inside(&mut self, part: &str, fill: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(part);
        self.path.push('.');
        fill(self);
        self.path.truncate(length);
    }

    fn add(&mut self, name: &str, value: f64) {
        self.scalars.push((format!("{}{name}", self.path), value));
    }

    fn add_known(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }
}

fn phase_scalars(phase: &PhaseResult, list: &mut List) {
    list.add_known("transient_s", phase.transient_s);
    list.add("total_ip_mbps", phase.total_ip_mbps);
    list.add("total_goodput_mbps", phase.total_goodput_mbps);
    list.add("up_ip_mbps", phase.directions.up_ip_mbps);
    list.add("down_ip_mbps", phase.directions.down_ip_mbps);
    list.add_known("capacity_cstar_mbps", phase.capacity_cstar_mbps);
    list.add_known("service_rate_mbps", phase.service_rate_mbps);
    list.add_known("jain_flows", phase.jain_flows);
    list.add("flows_not_started", phase.flows_not_started as f64);
    list.add_known("backlogged_stations", phase.backlogged_stations.as_ref().map(|stations| stations.len() as f64));
    let evenness = [
        ("up", &phase.evenness_up),
        ("down", &phase.evenness_down),
        ("stations", &phase.evenness_stations),
        ("backlogged", &phase.evenness_backlogged),
    ];
    for (of, evenness) in evenness {
        let Some(evenness) = evenness else { continue };
        list.inside(&format!("fairness.{of}"), |list| {
            list.add_known("jain", evenness.jain);
            list.add_known("sigma_over_mean", evenness.sigma_over_mean);
            list.add_known("min_over_max", evenness.min_over_max);
        });
    }
    air_scalars(phase, list);
    if let Some(measured) = &phase.measured_airtime {
        list.inside("measured_airtime", |list| airtime_scalars(measured, list));
    }
    charged_scalars(&phase.charged_airtime, list);
    groups(phase, list);
    for flow in &phase.flows {
        list.inside(&format!("flow.{}", flow.app), |list| flow_scalars(flow, list));
    }
    for station in &phase.stations {
        list.inside(&format!("station.{}", station.station), |list| {
            list.add("ip_mbps", station.ip_mbps);
            list.add("goodput_mbps", station.goodput_mbps);
            list.add("share", station.share);
            list.add_known("variation", station.variation);
        });
    }
}

/// The medium, its senders, and the other places where packets are lost.
fn air_scalars(phase: &PhaseResult, list: &mut List) {
    if let Some(medium) = &phase.medium {
        list.inside("medium", |list| {
            list.add("busy_share", medium.busy_share);
            list.add("contending_share", medium.contending_share);
            list.add("idle_share", medium.idle_share);
            list.add("transmissions", medium.transmissions as f64);
            list.add("collisions", medium.collisions as f64);
        });
        access(&medium.access, list);
        list.add("active_stations", medium.active_stations);
    }
    if let Some(backlog) = &phase.backlog {
        list.inside("backlog", |list| {
            list.add("mean", backlog.mean);
            list.add("mean_plus_2_sigma", backlog.mean_plus_2_sigma);
            list.add("max", backlog.max as f64);
        });
    }
    let has_access_point = phase.nodes.iter().any(|node| node.node == "ap" && !node.access_point);
    for node in &phase.nodes {
        let path = match node.node.as_str() {
            name if node.access_point => format!("access_point.{name}"),
            "ap" => "ap".to_owned(),
            name => format!("station.{name}"),
        };
        list.inside(&path, |list| node_scalars(node, list));
    }
    if !has_access_point {
        list.add("ap.queue_mean_packets", phase.ap_queue_mean_packets);
        list.add("ap.queue_max_packets", phase.ap_queue_max_packets);
    }
    for point in &phase.access_points {
        list.inside(&format!("access_point.{}", point.access_point), |list| {
            list.add("ip_mbps", point.ip_mbps);
            list.add("cell_airtime_share", point.airtime_share);
        });
    }
    for domain in &phase.domains {
        list.inside(&format!("domain.{}", domain.domain), |list| {
            list.add("ip_mbps", domain.ip_mbps);
            list.add_known("capacity_cstar_mbps", domain.capacity_cstar_mbps);
            list.add("busy_share", domain.busy_share);
            list.add("contending_share", domain.contending_share);
            list.add("idle_share", domain.idle_share);
            list.add("transmissions", domain.transmissions as f64);
            list.add("collisions", domain.collisions as f64);
            list.add_known("active_stations", domain.active_stations);
        });
    }
    for place in &phase.places {
        list.inside(&format!("place.{}", as_part(&place.place)), |list| {
            list.add("offered_packets", place.offered_packets as f64);
            list.add("lost_packets", place.lost_packets.iter().map(|lost| lost.packets).sum::<u64>() as f64);
            list.add_known("loss_rate", place.loss_rate);
        });
    }
}

fn access(access: &AccessResult, list: &mut List) {
    list.add("attempts", access.attempts as f64);
    list.add_known("collision_rate", access.collision_rate);
    list.add_known("failure_rate", access.failure_rate);
    list.add("retries", access.retries as f64);
    list.add("retry_drops", access.retry_drops as f64);
    list.add_known("attempts_per_frame", access.attempts_per_frame);
    list.add_known("back_to_back_share", access.back_to_back_share);
    list.add_known("slowed_share", access.slowed_share);
    let all: u64 = access.by_rate.iter().map(|used| used.attempts).sum();
    // Modes of one rate follow one another.
    for same in access.by_rate.chunk_by(|a, b| a.rate_mbps == b.rate_mbps) {
        let rate = as_part(&same[0].rate_mbps.to_string());
        let attempts: u64 = same.iter().map(|used| used.attempts).sum();
        list.add(&format!("rate_used.{rate}.share"), share(attempts as f64, all as f64));
    }
}

fn node_scalars(node: &NodeResult, list: &mut List) {
    list.add("offered_frames", node.offered_frames as f64);
    list.add("delivered_frames", node.delivered_frames as f64);
    list.add("lost_frames", node.lost_frames.iter().map(|lost| lost.packets).sum::<u64>() as f64);
    list.add_known("loss_rate", node.loss_rate);
    for lost in &node.lost_frames {
        list.add(&format!("lost.{}.frames", as_part(&lost.reason)), lost.packets as f64);
    }
    access(&node.access, list);
    list.add("airtime_share", node.airtime_share);
    list.add("queue_mean_packets", node.queue_mean_packets);
    list.add("queue_max_packets", node.queue_max_packets as f64);
    if let Some(levels) = &node.queue {
        list.add("queue_p50_packets", levels.p50_packets);
        list.add("queue_p90_packets", levels.p90_packets);
        list.add("queue_p99_packets", levels.p99_packets);
    }
    distribution("sojourn", &node.sojourn, list);
    for category in &node.categories {
        list.inside(&format!("category.{}", category.category), |list| {
            list.add("offered_frames", category.offered_frames as f64);
            list.add("delivered_frames", category.delivered_frames as f64);
            list.add("lost_frames", category.lost_frames as f64);
            list.add_known("loss_rate", category.loss_rate);
            list.add("queue_mean_packets", category.queue_mean_packets);
            list.add("queue_max_packets", category.queue_max_packets as f64);
            distribution("sojourn", &category.sojourn, list);
        });
    }
}

/// What is said of times by the name `of`.
fn distribution(of: &str, times: &Option<Distribution>, list: &mut List) {
    let Some(times) = times else { return };
    for (what, ms) in spread(times) {
        list.add(&format!("{of}_{what}_ms"), ms);
    }
}

/// What is said of times, in milliseconds.
fn spread(times: &Distribution) -> [(&'static str, f64); 6] {
    [
        ("mean", times.mean_ms),
        ("p10", times.p10_ms),
        ("p50", times.p50_ms),
        ("p90", times.p90_ms),
        ("p99", times.p99_ms),
        ("max", times.max_ms),
    ]
}

/// Flows by direction, class and PHY rate.
fn groups(phase: &PhaseResult, list: &mut List) {
    let kinds = [("direction", &phase.groups_direction), ("class", &phase.groups_class), ("rate", &phase.groups_rate)];
    for (kind, groups) in kinds {
        for group in groups {
            list.inside(&format!("{kind}.{}", as_part(&group.group)), |list| {
                list.add("ip_mbps", group.ip_mbps);
                list.add("goodput_mbps", group.goodput_mbps);
                list.add("share", group.share);
                distribution("rtt", &group.rtt, list);
                distribution("delay", &group.delay, list);
            });
        }
    }
}

fn flow_scalars(flow: &FlowResult, list: &mut List) {
    list.add("ip_mbps", flow.ip_mbps);
    list.add("goodput_mbps", flow.goodput_mbps);
    list.add("share", flow.share);
    list.add_known("variation", flow.variation);
    list.add_known("d", flow.d);
    list.add_known("cwnd_segments", flow.cwnd_segments);
    list.add_known("rtt_ms", flow.rtt_ms);
    list.add("retransmits", flow.retransmits as f64);
    distribution("rtt", &flow.rtt, list);
    distribution("delay", &flow.delay, list);
    list.add_known("jitter_ms", flow.jitter_ms);
    if flow.sent_packets > 0 {
        list.add("sent_packets", flow.sent_packets as f64);
        list.add("received_packets", flow.received_packets as f64);
        list.add("loss_rate", flow.loss_rate());
    }
}

fn page_scalars(run: &RunResult, phase: &PhaseResult, list: &mut List) {
    if run.pages.is_empty() {
        return;
    }
    let pages = run.pages_of(phase);
    list.inside("page", |list| {
        list.add("count", pages.count as f64);
        list.add_known("mean_s", pages.mean_s);
        list.add_known("p50_s", pages.p50_s);
        list.add_known("p90_s", pages.p90_s);
        list.add_known("max_s", pages.max_s);
    });
}

fn transfer_scalars(run: &RunResult, phase: &PhaseResult, list: &mut List) {
    for sizes in run.transfers.by_size.iter().filter(|sizes| sizes.phase == phase.name) {
        list.inside(&format!("transfer.{}.{}", sizes.direction, sizes.sizes), |list| {
            list.add("count", sizes.complete as f64);
            list.add("unfinished", sizes.unfinished as f64);
            let Some(time) = &sizes.time else { return };
            for (what, ms) in spread(time) {
                list.add(&format!("{what}_s"), ms / 1e3);
            }
        });
    }
}

fn call_scalars(run: &RunResult, phase: &PhaseResult, list: &mut List) {
    let calls: Vec<_> = run.calls.iter().filter(|call| call.phase == phase.name).collect();
    for call in &calls {
        let heard = &call.heard;
        list.inside(&format!("call.{}", call.app), |list| {
            list.add("r_factor", heard.r_factor);
            list.add("mos", heard.mos);
            if heard.sent > heard.lost {
                list.add("mouth_to_ear_ms", heard.mouth_to_ear_ms);
                list.add("delay_mean_ms", heard.delay_mean_ms);
                list.add("delay_p50_ms", heard.delay_p50_ms);
                list.add("delay_p95_ms", heard.delay_p95_ms);
                list.add("delay_p99_ms", heard.delay_p99_ms);
                list.add("delay_max_ms", heard.delay_max_ms);
                list.add("jitter_ms", heard.jitter_ms);
            }
            list.add("sent_packets", heard.sent as f64);
            list.add("loss_rate", share(heard.lost as f64, heard.sent as f64));
            list.add("late_rate", share(heard.late as f64, heard.sent as f64));
        });
    }
    if calls.is_empty() {
        return;
    }
    list.inside("calls", |list| {
        let ratings = || calls.iter().map(|call| call.heard.r_factor);
        let scores = || calls.iter().map(|call| call.heard.mos);
        list.add("count", calls.len() as f64);
        list.add_known("r_factor_mean", mean(ratings()));
        list.add_known("r_factor_min", ratings().reduce(f64::min));
        list.add_known("mos_mean", mean(scores()));
        list.add_known("mos_min", scores().reduce(f64::min));
        let reached = calls.iter().filter(|call| call.heard.sent > call.heard.lost);
        list.add_known("delay_mean_ms", mean(reached.map(|call| call.heard.delay_mean_ms)));
        let sum = |of: &dyn Fn(&CallResult) -> u64| calls.iter().map(|call| of(call)).sum::<u64>() as f64;
        list.add("loss_rate", share(sum(&|call| call.heard.lost), sum(&|call| call.heard.sent)));
    });
}

fn application_scalars(run: &RunResult, phase: &PhaseResult, list: &mut List) {
    for application in &phase.applications {
        let quality = application.quality(run, phase);
        list.inside(&format!("application.{}", application.application), |list| {
            list.add_known("delay_mean_ms", application.delay.as_ref().map(|delay| delay.mean_ms));
            list.add_known("delay_p95_ms", application.delay.as_ref().map(|delay| delay.p95_ms));
            list.add_known("rtt_p50_ms", application.rtt.as_ref().map(|rtt| rtt.p50_ms));
            list.add_known("rtt_p95_ms", application.rtt.as_ref().map(|rtt| rtt.p95_ms));
            list.add_known("loss_rate", quality.loss_rate);
            list.add_known("r_factor_mean", quality.r_factor_mean);
            list.add_known("r_factor_min", quality.r_factor_min);
        });
    }
}

fn airtime_scalars(measured: &MediumAirtime, list: &mut List) {
    list.add_known("jain", measured.jain);
    list.add_known("jain_backlogged", measured.jain_backlogged);
    list.add("groups_share", measured.groups_share);
    list.add("neighbours_share", measured.neighbours_share);
    list.add("departed_share", measured.departed_share);
    list.add("back_off_share", measured.back_off_share);
    list.add("idle_share", measured.idle_share);
    list.add("collisions_share", measured.collisions_share);
    for station in &measured.stations {
        list.inside(&format!("station.{}", station.station), |list| {
            list.add("down_share", station.down_share);
            list.add("up_share", station.up_share);
            list.add("collisions_share", station.collisions_share);
        });
    }
}

fn charged_scalars(charged: &[ChargedAirtime], list: &mut List) {
    for charged in charged {
        list.inside(&format!("charged_airtime.station.{}", charged.station), |list| {
            list.add("down_share", charged.down_share);
            list.add("up_share", charged.up_share);
        });
    }
}

fn run_scalars(run: &RunResult, list: &mut List) {
    if let Some(medium) = &run.medium {
        list.inside("medium", |list| {
            list.add("busy_share", medium.busy_share);
            list.add("contending_share", medium.contending_share);
            list.add("idle_share", medium.idle_share);
            list.add("transmissions", medium.transmissions as f64);
            list.add("collisions", medium.collisions as f64);
            list.add_known("management_share", Some(medium.management_share).filter(|&share| share > 0.0));
            list.add_known("group_share", Some(medium.group_share).filter(|&share| share > 0.0));
            list.add_known("foreign_share", Some(medium.foreign_share).filter(|&share| share > 0.0));
            list.add("attempts", medium.attempts as f64);
            list.add("repeated_failures", medium.repeated_failures as f64);
            list.add("duplicates", medium.duplicates as f64);
            list.add("slowed", medium.slowed as f64);
            list.add("ap_attempts", medium.ap_attempts as f64);
            list.add("ap_repeated_failures", medium.ap_repeated_failures as f64);
            list.add("ap_slowed", medium.ap_slowed as f64);
            for airtime in &medium.airtime {
                list.add(&format!("airtime.{}.share", airtime.sender), airtime.share);
            }
            if let Some(measured) = &medium.measured_airtime {
                list.inside("measured_airtime", |list| airtime_scalars(measured, list));
            }
            charged_scalars(&medium.charged_airtime, list);
        });
    }
    for loss in &run.losses {
        list.add(&format!("loss.{}.{}.frames", as_part(&loss.place), as_part(&loss.reason)), loss.frames as f64);
    }
    for echo in &run.echoes {
        list.inside(&format!("echo.{}", echo.app), |list| {
            list.add("answers", echo.answers as f64);
            list.add("p50_ms", echo.p50_ms);
            list.add("p99_ms", echo.p99_ms);
            list.add("max_ms", echo.max_ms);
        });
    }
}

/// Words of the results as a part of a name: "internet link" becomes `internet_link`.
fn as_part(words: &str) -> String {
    words.replace([' ', '.'], "_")
}

/// One measure of a run by its full name; `None` where the run has none of that name.
pub fn scalar(run: &RunResult, name: &str) -> Option<f64> {
    scalars(run).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use evenair_scenario::measures::{full_name, measure_named};

    use super::*;
    use crate::sample;

    #[test]
    fn names_are_of_listed_kinds_and_come_once() {
        let (_, run) = sample::two_flows();
        let list = scalars(&run);
        let mut names: Vec<_> = list.iter().map(|(name, _)| name.as_str()).collect();
        for name in &names {
            assert!(measure_named(name).is_some(), "{name} is of no listed kind");
        }
        names.sort_unstable();
        names.windows(2).for_each(|pair| assert_ne!(pair[0], pair[1]));
        assert_eq!(scalar(&run, "phase.inserted.up_ip_mbps"), Some(2.0));
        assert_eq!(scalar(&run, &full_name("flow.upload.ip_mbps", "bypassed")), Some(4.0));
        assert_eq!(scalar(&run, "phase.inserted.flow.nobody.ip_mbps"), None);
    }
}
