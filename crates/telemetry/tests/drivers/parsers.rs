//! Every parser of an answer, for changed answers in [`crate::changed`] and in `fuzz/fuzz_targets/telemetry.rs`.

use evenair_telemetry::{hostapd, nl80211, remote, routeros, ubus, unifi};

/// Parses a text by each of them. Returns the number of stations.
pub fn read(text: &str) -> usize {
    let json = serde_json::from_str(text).ok();
    let _ = nl80211::own(text);
    usize::from(matches!(hostapd::station(text), Ok(Some(_))))
        + nl80211::parse(text).stations.len()
        + json.as_ref().and_then(|json| unifi::read(json).ok()).map_or(0, |reading| reading.stations.len())
        + json.as_ref().and_then(|json| remote::read(json).ok()).map_or(0, |reading| reading.stations.len())
        + json.as_ref().and_then(|json| routeros::read(json).ok()).map_or(0, |read| read.iter().flatten().count())
        + json.as_ref().map_or(0, |json| routeros::interfaces(json).len())
        + json.as_ref().map_or(0, |json| ubus::stations(json).flatten().count())
}
