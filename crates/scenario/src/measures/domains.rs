//! Measures of access points and contention domains, for scenarios with named access points.

use super::{Declaration, measure};

pub(super) const LIST: &[Declaration] = &[
    measure(
        "phase.*.access_point.*.queue_mean_packets",
        "packets",
        "time average of one access point's queue: packets neither delivered nor lost yet",
    ),
    measure("phase.*.access_point.*.queue_max_packets", "packets", "the most that it held"),
    measure("phase.*.access_point.*.attempts", "", "accesses to the medium, of one access point"),
    measure(
        "phase.*.access_point.*.collision_rate",
        "",
        "collided of all attempts that ended in the phase, of one access point",
    ),
    measure(
        "phase.*.access_point.*.failure_rate",
        "",
        "failed of all attempts that ended in the phase, whatever the cause, of one access point",
    ),
    measure(
        "phase.*.access_point.*.retries",
        "",
        "failed attempts after which the frame was sent again, of one access point",
    ),
    measure("phase.*.access_point.*.retry_drops", "", "frames given up at a retry limit, of one access point"),
    measure(
        "phase.*.access_point.*.attempts_per_frame",
        "",
        "mean number of attempts of a delivered frame, of one access point",
    ),
    measure(
        "phase.*.access_point.*.back_to_back_share",
        "",
        "attempts that failed right after another of the same frame had failed, of all that ended in the phase, of one access point",
    ),
    measure(
        "phase.*.access_point.*.slowed_share",
        "",
        "attempts with DATA at a lower rate than the station's, of all attempts, of one access point",
    ),
    measure(
        "phase.*.access_point.*.airtime_share",
        "",
        "part of the phase that the accesses of one access point took, failed ones included",
    ),
    measure(
        "phase.*.access_point.*.offered_frames",
        "",
        "frames that came to the buffer of one access point, those included that found no room",
    ),
    measure("phase.*.access_point.*.delivered_frames", "", "frames that one access point delivered"),
    measure("phase.*.access_point.*.lost_frames", "", "frames that were lost at one access point"),
    measure(
        "phase.*.access_point.*.loss_rate",
        "",
        "lost of frames that were delivered or lost in the phase at one access point",
    ),
    measure("phase.*.access_point.*.lost.*.frames", "", "frames lost at one access point for a reason"),
    measure(
        "phase.*.access_point.*.queue_p50_packets",
        "packets",
        "level that the queue of one access point did not exceed for 50 % of the time",
    ),
    measure(
        "phase.*.access_point.*.queue_p90_packets",
        "packets",
        "level that the queue of one access point did not exceed for 90 % of the time",
    ),
    measure(
        "phase.*.access_point.*.queue_p99_packets",
        "packets",
        "level that the queue of one access point did not exceed for 99 % of the time",
    ),
    measure(
        "phase.*.access_point.*.sojourn_mean_ms",
        "ms",
        "mean of the time from a frame's arrival at one access point to its delivery",
    ),
    measure(
        "phase.*.access_point.*.sojourn_p10_ms",
        "ms",
        "10th percentile of the time from a frame's arrival at one access point to its delivery",
    ),
    measure(
        "phase.*.access_point.*.sojourn_p50_ms",
        "ms",
        "median of the time from a frame's arrival at one access point to its delivery",
    ),
    measure(
        "phase.*.access_point.*.sojourn_p90_ms",
        "ms",
        "90th percentile of the time from a frame's arrival at one access point to its delivery",
    ),
    measure(
        "phase.*.access_point.*.sojourn_p99_ms",
        "ms",
        "99th percentile of the time from a frame's arrival at one access point to its delivery",
    ),
    measure(
        "phase.*.access_point.*.sojourn_max_ms",
        "ms",
        "longest of the time from a frame's arrival at one access point to its delivery",
    ),
    measure("phase.*.access_point.*.rate_used.*.share", "", "part of one access point's attempts at a PHY rate"),
    measure(
        "phase.*.access_point.*.category.*.offered_frames",
        "",
        "frames of an access category that came to one access point",
    ),
    measure("phase.*.access_point.*.category.*.delivered_frames", "", "frames of it that one access point delivered"),
    measure("phase.*.access_point.*.category.*.lost_frames", "", "frames of it that were lost at one access point"),
    measure(
        "phase.*.access_point.*.category.*.loss_rate",
        "",
        "lost of its frames that were delivered or lost in the phase at one access point",
    ),
    measure(
        "phase.*.access_point.*.category.*.queue_mean_packets",
        "packets",
        "time average of its queue at one access point",
    ),
    measure("phase.*.access_point.*.category.*.queue_max_packets", "packets", "the most that this queue held"),
    measure(
        "phase.*.access_point.*.category.*.sojourn_mean_ms",
        "ms",
        "mean of the time from arrival there to delivery",
    ),
    measure(
        "phase.*.access_point.*.category.*.sojourn_p10_ms",
        "ms",
        "10th percentile of the time from arrival there to delivery",
    ),
    measure(
        "phase.*.access_point.*.category.*.sojourn_p50_ms",
        "ms",
        "median of the time from arrival there to delivery",
    ),
    measure(
        "phase.*.access_point.*.category.*.sojourn_p90_ms",
        "ms",
        "90th percentile of the time from arrival there to delivery",
    ),
    measure(
        "phase.*.access_point.*.category.*.sojourn_p99_ms",
        "ms",
        "99th percentile of the time from arrival there to delivery",
    ),
    measure(
        "phase.*.access_point.*.category.*.sojourn_max_ms",
        "ms",
        "longest of the time from arrival there to delivery",
    ),
    measure(
        "phase.*.access_point.*.ip_mbps",
        "Mb/s",
        "DATA and ACKs that one access point and its stations delivered to each other, IP level",
    ),
    measure(
        "phase.*.access_point.*.cell_airtime_share",
        "",
        "part of the phase that the accesses of one access point and of its stations took, failed ones included",
    ),
    measure("phase.*.domain.*.ip_mbps", "Mb/s", "DATA and ACKs over the medium of a contention domain, IP level"),
    measure("phase.*.domain.*.capacity_cstar_mbps", "Mb/s", "computed capacity C* for the domain's flows"),
    measure("phase.*.domain.*.busy_share", "", "part of the phase with frames on the domain's medium"),
    measure("phase.*.domain.*.contending_share", "", "part in silence while somebody in it had a frame to send"),
    measure("phase.*.domain.*.idle_share", "", "part in silence with nothing to send in the domain"),
    measure("phase.*.domain.*.transmissions", "", "times that the domain's medium became busy"),
    measure("phase.*.domain.*.collisions", "", "those in which two or more sent at once"),
    measure("phase.*.domain.*.active_stations", "", "time average of the domain's stations that had a frame to send"),
];
