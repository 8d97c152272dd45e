//! Access methods: the contention window.

use evenair_medium::{Adaptation, BackOff, IdleSenseConfig};
use evenair_reader::{OrDefault, Problems, Written};
use evenair_wifi::{Phy, idle_sense};

use crate::raw::{RadioRaw, ScenarioRaw};
use crate::words::{AccessWord, AdaptationWord};

/// Checks the back-off of the access point and of the stations, and the target of Idle Sense.
pub(super) fn check(raw: &ScenarioRaw, phy: &Phy, problems: &mut Problems) -> ((BackOff, BackOff), IdleSenseConfig) {
    let (file, raw) = (raw, &raw.radio);
    let access = raw.access.get_or(AccessWord::Dcf, problems).unwrap_or(AccessWord::Dcf);
    if let Some(written) = raw.access.as_ref().filter(|_| access != AccessWord::Dcf) {
        refuse(written, file, problems);
    }
    let target = raw.idle_slots.get_or(idle_sense::target(phy.standard()), problems);
    let ratio = raw.ap_ratio.get_or(2.0, problems);
    let adaptation = raw
        .idle_adaptation
        .get_or(AdaptationWord(Adaptation::Proportional), problems)
        .map_or_else(Adaptation::default, |word| word.0);
    let (target, ratio) = (target.unwrap_or(5.68), ratio.unwrap_or(2.0));
    let config = IdleSenseConfig { target: (target * 100.0).round() as u32, adaptation };
    let back_off = match access {
        AccessWord::Dcf => (BackOff::Standard, BackOff::Standard),
        AccessWord::IdleSense => (BackOff::IdleSense, BackOff::IdleSense),
        AccessWord::Asymmetric => {
            let window = idle_sense::access_point_window(target, ratio, idle_sense::head_start(phy));
            let slots = window.floor();
            let more_per_billion = ((window - slots) * 1e9) as u32;
            (BackOff::Constant { slots: (slots as u32).min(16_383), more_per_billion }, BackOff::IdleSense)
        }
    };
    (back_off, config)
}

/// Refuses combinations with Idle Sense.
fn refuse(written: &Written<AccessWord>, file: &ScenarioRaw, problems: &mut Problems) {
    let raw: &RadioRaw = &file.radio;
    let may_hide = file.station.iter().any(|station| station.hidden_from.is_some() || station.position.is_some());
    if may_hide || raw.layout.is_some() {
        let what = "Idle Sense is for stations that all hear each other";
        problems.add(written.span(), what, "\"dcf\" with a layout, positions or hidden_from");
    }
    if raw.edca.as_ref().is_some_and(|edca| edca.get(&mut Problems::default()) == Some(true)) {
        problems.add(written.span(), "access categories have windows of their own", "\"dcf\" with edca = true");
    }
}
