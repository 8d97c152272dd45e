//! The medium, its senders, wired ports, airtime, losses.

use evenair_scenario::measures::Kind;
use evenair_workload::Direction;

use super::super::stats::share;
use super::super::{
    AccessResult, AirtimeShare, ChargedAirtime, DomainResult, MediumAirtime, MediumUse, NodeResult, PPDU_SIZES,
    PhaseResult, PpduRate, PpduResult, RunResult,
};
use super::rows::{Rows, as_part};

/// Measures of the medium, its senders, and the other sites of loss.
pub(super) fn of_phase(phase: &PhaseResult, rows: &mut Rows) {
    if let Some(medium) = &phase.medium {
        rows.of(Kind::Medium, None, |rows| {
            rows.add("busy_share", medium.busy_share);
            rows.add("contending_share", medium.contending_share);
            rows.add("idle_share", medium.idle_share);
            rows.add("transmissions", medium.transmissions as f64);
            rows.add("collisions", medium.collisions as f64);
        });
        of_access(&medium.access, rows);
        for (rate, share) in rates_used(&medium.access) {
            rows.of(Kind::Rate, Some(&rate), |rows| rows.add("rate_used.share", share));
        }
        rows.add("active_stations", medium.active_stations);
    }
    if let Some(backlog) = &phase.backlog {
        rows.inside("backlog", |rows| {
            rows.add("mean", backlog.mean);
            rows.add("mean_plus_2_sigma", backlog.mean_plus_2_sigma);
            rows.add("max", backlog.max as f64);
        });
    }
    let has_access_point = phase.nodes.iter().any(|node| node.node == "ap" && !node.access_point);
    for node in &phase.nodes {
        let (kind, name) = match node.node.as_str() {
            name if node.access_point => (Kind::AccessPoint, Some(name)),
            "ap" => (Kind::AccessPoint, None),
            name => (Kind::Station, Some(name)),
        };
        rows.of(kind, name, |rows| of_node(node, rows));
    }
    if !has_access_point {
        rows.of(Kind::AccessPoint, None, |rows| {
            rows.add("queue_mean_packets", phase.ap_queue_mean_packets);
            rows.add("queue_max_packets", phase.ap_queue_max_packets);
        });
    }
    for point in &phase.access_points {
        rows.of(Kind::AccessPoint, Some(&point.access_point), |rows| {
            rows.add("ip_mbps", point.ip_mbps);
            rows.add("cell_airtime_share", point.airtime_share);
        });
    }
    phase.domains.iter().for_each(|domain| of_domain(domain, rows));
    for place in &phase.places {
        rows.of(Kind::Place, Some(&as_part(&place.place)), |rows| {
            rows.add("offered_packets", place.offered_packets as f64);
            rows.add("lost_packets", place.lost_packets.iter().map(|lost| lost.packets).sum::<u64>() as f64);
            rows.add_known("loss_rate", place.loss_rate);
        });
    }
    if let Some(measured) = &phase.measured_airtime {
        measured_airtime(measured, rows);
    }
    charged_airtime(&phase.charged_airtime, rows);
}

fn of_domain(domain: &DomainResult, rows: &mut Rows) {
    rows.of(Kind::Domain, Some(&domain.domain), |rows| {
        rows.add("ip_mbps", domain.ip_mbps);
        rows.add_known("capacity_cstar_mbps", domain.capacity_cstar_mbps);
        rows.add("busy_share", domain.busy_share);
        rows.add("contending_share", domain.contending_share);
        rows.add("idle_share", domain.idle_share);
        rows.add("transmissions", domain.transmissions as f64);
        rows.add("collisions", domain.collisions as f64);
        rows.add_known("active_stations", domain.active_stations);
    });
}

fn of_access(access: &AccessResult, rows: &mut Rows) {
    rows.add("attempts", access.attempts as f64);
    rows.add_known("collision_rate", access.collision_rate);
    rows.add_known("failure_rate", access.failure_rate);
    rows.add("retries", access.retries as f64);
    rows.add("retry_drops", access.retry_drops as f64);
    rows.add_known("attempts_per_frame", access.attempts_per_frame);
    rows.add_known("back_to_back_share", access.back_to_back_share);
    rows.add_known("slowed_share", access.slowed_share);
}

/// Proportion of attempts at each rate, with the rate as part of a name.
fn rates_used(access: &AccessResult) -> impl Iterator<Item = (String, f64)> {
    let all: u64 = access.by_rate.iter().map(|used| used.attempts).sum();
    // Modes of one rate follow one another.
    access.by_rate.chunk_by(|a, b| a.rate_mbps == b.rate_mbps).map(move |same| {
        let attempts: u64 = same.iter().map(|used| used.attempts).sum();
        (as_part(&same[0].rate_mbps.to_string()), share(attempts as f64, all as f64))
    })
}

fn of_node(node: &NodeResult, rows: &mut Rows) {
    rows.add("offered_frames", node.offered_frames as f64);
    rows.add("delivered_frames", node.delivered_frames as f64);
    rows.add("lost_frames", node.lost_frames.iter().map(|lost| lost.packets).sum::<u64>() as f64);
    rows.add_known("loss_rate", node.loss_rate);
    for lost in &node.lost_frames {
        rows.add(&format!("lost.{}.frames", as_part(&lost.reason)), lost.packets as f64);
    }
    of_access(&node.access, rows);
    for (rate, share) in rates_used(&node.access) {
        rows.add(&format!("rate_used.{rate}.share"), share);
    }
    rows.add("airtime_share", node.airtime_share);
    rows.add("queue_mean_packets", node.queue_mean_packets);
    rows.add("queue_max_packets", node.queue_max_packets as f64);
    if let Some(levels) = &node.queue {
        rows.add("queue_p50_packets", levels.p50_packets);
        rows.add("queue_p90_packets", levels.p90_packets);
        rows.add("queue_p99_packets", levels.p99_packets);
    }
    rows.distribution("sojourn", node.sojourn.as_ref());
    node.ppdus.iter().for_each(|ppdus| of_ppdus(ppdus, rows));
    for category in &node.categories {
        rows.inside(&format!("category.{}", category.category), |rows| {
            rows.add("offered_frames", category.offered_frames as f64);
            rows.add("delivered_frames", category.delivered_frames as f64);
            rows.add("lost_frames", category.lost_frames as f64);
            rows.add_known("loss_rate", category.loss_rate);
            rows.add("queue_mean_packets", category.queue_mean_packets);
            rows.add("queue_max_packets", category.queue_max_packets as f64);
            rows.distribution("sojourn", category.sojourn.as_ref());
        });
    }
}

/// PPDUs of a station and direction.
fn of_ppdus(ppdus: &PpduResult, rows: &mut Rows) {
    let way = match ppdus.direction {
        Direction::Down => "down",
        Direction::Up => "up",
    };
    rows.inside(way, |rows| {
        rows.add("ppdus", ppdus.ppdus as f64);
        rows.add("mpdus", ppdus.mpdus as f64);
        rows.add_known("mpdus_per_ppdu", ppdus.mpdus_per_ppdu());
        for (size, &count) in PPDU_SIZES.iter().zip(&ppdus.by_size).filter(|(_, count)| **count > 0) {
            rows.add(&format!("mpdus_per_ppdu.{size}.share"), share(count as f64, ppdus.ppdus as f64));
        }
        rows.add("delivered_mpdus", ppdus.delivered_mpdus as f64);
        rows.add_known("retries_per_mpdu", ppdus.retries_per_mpdu());
        rows.add_known("mpdu_loss_rate", ppdus.mpdu_loss_rate());
        rows.add("block_ack_requests", ppdus.block_ack_requests as f64);
        rows.add("reorder_timeouts", ppdus.reorder_timeouts as f64);
        let airtime_ms: f64 = ppdus.by_rate.iter().map(|rate| rate.airtime_ms).sum();
        // Modes of one rate follow one another.
        for same in ppdus.by_rate.chunk_by(|a, b| a.rate_mbps == b.rate_mbps) {
            let sum = |of: fn(&PpduRate) -> f64| same.iter().map(of).sum::<f64>();
            rows.inside(&format!("rate_used.{}", as_part(&same[0].rate_mbps.to_string())), |rows| {
                rows.add("ppdu_share", share(sum(|rate| rate.ppdus as f64), ppdus.ppdus as f64));
                rows.add("airtime_share", share(sum(|rate| rate.airtime_ms), airtime_ms));
            });
        }
    });
}

fn measured_airtime(measured: &MediumAirtime, rows: &mut Rows) {
    rows.of(Kind::Medium, None, |rows| {
        rows.inside("measured_airtime", |rows| {
            rows.add_known("jain", measured.jain);
            rows.add_known("jain_backlogged", measured.jain_backlogged);
            rows.add("groups_share", measured.groups_share);
            rows.add("neighbours_share", measured.neighbours_share);
            rows.add("departed_share", measured.departed_share);
            rows.add("back_off_share", measured.back_off_share);
            rows.add("idle_share", measured.idle_share);
            rows.add("collisions_share", measured.collisions_share);
        });
    });
    for station in &measured.stations {
        rows.of(Kind::Station, Some(&station.station), |rows| {
            rows.inside("measured_airtime", |rows| {
                rows.add("down_share", station.down_share);
                rows.add("up_share", station.up_share);
                rows.add("collisions_share", station.collisions_share);
            });
        });
    }
}

fn charged_airtime(charged: &[ChargedAirtime], rows: &mut Rows) {
    for charged in charged {
        rows.of(Kind::Station, Some(&charged.station), |rows| {
            rows.inside("charged_airtime", |rows| {
                rows.add("down_share", charged.down_share);
                rows.add("up_share", charged.up_share);
            });
        });
    }
}

/// Measures of the whole run: its medium, and losses by site.
pub(super) fn of_run(run: &RunResult, rows: &mut Rows) {
    if let Some(medium) = &run.medium {
        rows.of(Kind::Medium, None, |rows| of_medium_use(medium, rows));
        medium.airtime.iter().for_each(|airtime| of_sender(airtime, rows));
        if let Some(measured) = &medium.measured_airtime {
            measured_airtime(measured, rows);
        }
        charged_airtime(&medium.charged_airtime, rows);
    }
    for loss in &run.losses {
        let name = format!("{}.{}", as_part(&loss.place), as_part(&loss.reason));
        rows.of(Kind::Loss, Some(&name), |rows| rows.add("frames", loss.frames as f64));
    }
}

fn of_medium_use(medium: &MediumUse, rows: &mut Rows) {
    rows.add("busy_share", medium.busy_share);
    rows.add("contending_share", medium.contending_share);
    rows.add("idle_share", medium.idle_share);
    rows.add("transmissions", medium.transmissions as f64);
    rows.add("collisions", medium.collisions as f64);
    rows.add_known("management_share", Some(medium.management_share).filter(|&share| share > 0.0));
    rows.add_known("group_share", Some(medium.group_share).filter(|&share| share > 0.0));
    rows.add_known("foreign_share", Some(medium.foreign_share).filter(|&share| share > 0.0));
    rows.add("attempts", medium.attempts as f64);
    rows.add("repeated_failures", medium.repeated_failures as f64);
    rows.add("duplicates", medium.duplicates as f64);
    rows.add("slowed", medium.slowed as f64);
    rows.add("ap_attempts", medium.ap_attempts as f64);
    rows.add("ap_repeated_failures", medium.ap_repeated_failures as f64);
    rows.add("ap_slowed", medium.ap_slowed as f64);
}

fn of_sender(airtime: &AirtimeShare, rows: &mut Rows) {
    rows.of(Kind::Sender, Some(&airtime.sender), |rows| rows.add("airtime.share", airtime.share));
}
