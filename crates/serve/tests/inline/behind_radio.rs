//! Stations behind an access point with a radio, shared by the tests of traffic over the radio.

use evenair_sys::netns::Netns;

use crate::field_day::station;
use crate::lab::{Lab, ip};

/// Stations behind the switch `ap0`, which is the access point; `s0` leads to its cable, `r0` to its radio.
pub fn stations_behind_radio(lab: &Lab, count: usize) -> Vec<Netns> {
    ip(&lab.source, "addr flush dev s0");
    ip(&lab.source, "link add ap0 type bridge mcast_snooping 0");
    ip(&lab.source, "link add r0 type veth peer name r1");
    ip(&lab.source, "link set r1 master ap0");
    ["ap0", "r0", "r1"].iter().for_each(|name| ip(&lab.source, &format!("link set {name} up")));
    (0..count).map(|n| station(&lab.source, n)).collect()
}
