//! Measures of PPDUs and MPDUs by station and direction, where nodes aggregate.

use super::{Declaration, measure};

pub(super) const LIST: &[Declaration] = &[
    measure(
        "phase.*.station.*.*.ppdus",
        "",
        "PPDUs with MPDUs toward the station (down) or from it (up) whose accesses ended in the phase",
    ),
    measure("phase.*.station.*.*.mpdus", "", "MPDUs of these PPDUs, each as often as it was sent"),
    measure("phase.*.station.*.*.mpdus_per_ppdu", "", "mean number of MPDUs of such a PPDU"),
    measure(
        "phase.*.station.*.*.mpdus_per_ppdu.*.share",
        "",
        "part of these PPDUs with so many MPDUs: 1, 2_to_3, 4_to_7, 8_to_15, 16_to_31, 32_to_63, 64_to_127 or 128_or_more",
    ),
    measure(
        "phase.*.station.*.*.delivered_mpdus",
        "",
        "MPDUs that were delivered and acknowledged, or sent for the last time, in the phase",
    ),
    measure(
        "phase.*.station.*.*.retries_per_mpdu",
        "",
        "MPDUs sent again after their first transmission, for each that was delivered",
    ),
    measure(
        "phase.*.station.*.*.mpdu_loss_rate",
        "",
        "MPDUs given up after their last transmission, of those delivered or given up in the phase",
    ),
    measure("phase.*.station.*.*.block_ack_requests", "", "BlockAckReq frames sent"),
    measure(
        "phase.*.station.*.*.reorder_timeouts",
        "",
        "times that the receiver gave up to wait for a missing MPDU at its reorder timeout",
    ),
    measure("phase.*.station.*.*.rate_used.*.ppdu_share", "", "part of these PPDUs at the PHY rate"),
    measure(
        "phase.*.station.*.*.rate_used.*.airtime_share",
        "",
        "part at the PHY rate of the medium time of their accesses, with RTS, CTS, answer and SIFS",
    ),
];
