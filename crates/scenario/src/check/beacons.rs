//! Beacons and power save.

use evenair_medium::{Beacons, PowerSave};
use evenair_reader::{OrDefault, Problems};
use evenair_units::Span;

use crate::raw::{ScenarioRaw, StationRaw};

/// 100 time units of 1024 us (IEEE Std 802.11-2016, 3.1), as in nearly all access points.
const USUAL_INTERVAL: Span = Span::from_micros(102_400);
/// Default of hostapd.
const USUAL_DTIM_PERIOD: u32 = 2;
/// Default of Linux's Wi-Fi stack (`dynamic_ps_timeout` in net/mac80211/mlme.c).
const USUAL_AWAKE: Span = Span::from_millis(100);

/// The access points' beacons: if they are configured, or stations sleep.
pub(super) fn check(raw: &ScenarioRaw, problems: &mut Problems) -> Option<Beacons> {
    let radio = &raw.radio;
    let interval = radio.beacon_interval.get_or(USUAL_INTERVAL, problems);
    let dtim_period = radio.dtim_period.get_or(USUAL_DTIM_PERIOD, problems);
    let sleeper = raw.station.iter().find(|station| station.listen_interval.is_some());
    if let Some(written) = radio.dtim_period.as_ref().filter(|_| radio.beacon_interval.is_none() && sleeper.is_none()) {
        problems.add(written.span(), "there are no beacons", "beacon_interval, or stations with listen_interval");
    }
    if let (Some(sleeper), Some(queue)) = (sleeper, &radio.ap_queue) {
        let what = format!("{} sleeps, and what waits in front of a MAC is not kept for it", sleeper.name);
        problems.add(queue.discipline.span(), what, "[radio.ap_queue], or stations with listen_interval");
    }
    let wanted = radio.beacon_interval.is_some() || sleeper.is_some();
    wanted.then_some(Beacons { interval: interval?, dtim_period: dtim_period? })
}

/// Power save of a station.
pub(super) fn power_save(raw: &StationRaw, problems: &mut Problems) -> Option<PowerSave> {
    let stays_awake = raw.stays_awake.get_or(USUAL_AWAKE, problems);
    if let Some(written) = raw.stays_awake.as_ref().filter(|_| raw.listen_interval.is_none()) {
        problems.add(written.span(), "a station that does not sleep is always awake", "listen_interval beside it");
    }
    let listen_interval = raw.listen_interval.as_ref()?.get(problems);
    Some(PowerSave { listen_interval: listen_interval?, stays_awake: stays_awake? })
}
