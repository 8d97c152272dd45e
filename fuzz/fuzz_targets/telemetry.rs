//! What access points and controllers answer: text of hostapd and of iw, JSON of UniFi, of ubus and of another evenair.
#![no_main]

use evenair_telemetry::{hostapd, nl80211, remote, ubus, unifi};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = hostapd::station(text);
    nl80211::parse(text);
    nl80211::own(text);
    if let Ok(json) = serde_json::from_str(text) {
        let _ = unifi::read(&json);
        let _ = remote::read(&json);
        ubus::stations(&json).flatten().count();
    }
});
