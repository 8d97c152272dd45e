//! Measures of airtime.

use super::{Declaration, measure};

pub(super) const LIST: &[Declaration] = &[
    measure(
        "phase.*.measured_airtime.jain",
        "",
        "Jain's index of the measured airtime, both directions together, of stations with an application that is active in the phase",
    ),
    measure(
        "phase.*.measured_airtime.jain_backlogged",
        "",
        "Jain's index of the measured airtime, both directions together, of the backlogged stations",
    ),
    measure("phase.*.measured_airtime.groups_share", "", "part of the phase that beacons and group frames took"),
    measure("phase.*.measured_airtime.neighbours_share", "", "part of the phase that other networks took"),
    measure(
        "phase.*.measured_airtime.departed_share",
        "",
        "part of the phase that frames to and from stations took after these had left",
    ),
    measure(
        "phase.*.measured_airtime.back_off_share",
        "",
        "part of the phase in silence while some node had a frame, without inter-frame spaces",
    ),
    measure(
        "phase.*.measured_airtime.idle_share",
        "",
        "part of the phase in silence with nothing to send, without inter-frame spaces",
    ),
    measure(
        "phase.*.measured_airtime.collisions_share",
        "",
        "part of the phase, out of all airtime, in which several exchanges were under way",
    ),
    measure(
        "phase.*.measured_airtime.station.*.down_share",
        "",
        "part of the phase that frames to the station took, with answers and fixed gaps",
    ),
    measure(
        "phase.*.measured_airtime.station.*.up_share",
        "",
        "part of the phase that frames from the station took, with answers and fixed gaps",
    ),
    measure(
        "phase.*.measured_airtime.station.*.collisions_share",
        "",
        "of both, its part of time in which several exchanges were under way",
    ),
    measure(
        "phase.*.charged_airtime.station.*.down_share",
        "",
        "part of the phase that the box charged the station for packets to it: an estimate",
    ),
    measure(
        "phase.*.charged_airtime.station.*.up_share",
        "",
        "part of the phase that the box charged the station for packets from it: an estimate",
    ),
];
