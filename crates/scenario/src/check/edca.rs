//! The access categories' parameters.

use evenair_reader::{OrDefault, Problems, Written};
use evenair_wifi::{AccessCategory, EdcaParameters, EdcaProfile, EdcaSet, Phy};

use crate::Edca;
use crate::profile::{Profile, Quirks};
use crate::ranges::ContentionWindows;
use crate::raw::{CategoriesRaw, CategoryRaw, RadioRaw};
use crate::words::EdcaProfileWord;

/// `None` with DCF.
pub(super) fn check(raw: &RadioRaw, phy: &Phy, quirks: &Quirks, problems: &mut Problems) -> Option<Edca> {
    let aggregates = !phy.standard().formats().is_empty();
    let on = raw.edca.get_or(aggregates, problems)?;
    if !on {
        if aggregates {
            problems.add(raw.edca.place(), format!("{} has EDCA", phy.standard()), "true, or no such key");
        }
        return None;
    }
    let usual = match quirks.profile {
        Profile::Ns3 if aggregates => EdcaProfile::Ns3,
        _ => EdcaProfile::Standard,
    };
    let profile = raw.edca_parameters.get_or(EdcaProfileWord(usual), problems)?.0;
    let (of_stations, of_access_point) = phy.edca_of(profile);
    let stations = set(&raw.ac, &of_stations, 2, problems);
    // Without its own parameters, the access point has those for all nodes.
    let default = if of_stations == of_access_point { stations } else { set(&raw.ac, &of_access_point, 1, problems) };
    Some(Edca { stations, access_point: set(&raw.ap_ac, &default, 1, problems) })
}

fn categories(raw: &CategoriesRaw) -> [&CategoryRaw; 4] {
    [&raw.bk, &raw.be, &raw.vi, &raw.vo]
}

fn set(raw: &CategoriesRaw, default: &EdcaSet, least_aifsn: u32, problems: &mut Problems) -> EdcaSet {
    let raw = categories(raw);
    AccessCategory::ALL.map(|category| one(raw[category.index()], default[category.index()], least_aifsn, problems))
}

fn one(raw: &CategoryRaw, default: EdcaParameters, least_aifsn: u32, problems: &mut Problems) -> EdcaParameters {
    let allowed = format!("{least_aifsn} to 15");
    let aifsn = raw.aifsn.get_or_if(default.aifsn.into(), problems, |&n| n >= least_aifsn, allowed);
    let mut window = |written: &Option<Written<u32, ContentionWindows>>, default| {
        written.get_or(default, problems).unwrap_or(default)
    };
    let (cw_min, cw_max) = (window(&raw.cw_min, default.cw_min), window(&raw.cw_max, default.cw_max));
    if cw_min > cw_max {
        let place = if raw.cw_min.is_some() { raw.cw_min.place() } else { raw.cw_max.place() };
        problems.add(place, format!("cw_min, {cw_min}, is more than cw_max, {cw_max}"), "cw_min up to cw_max");
    }
    let txop = raw.txop.get_or(default.txop, problems);
    EdcaParameters {
        aifsn: aifsn.map_or(default.aifsn, |n| n as u8),
        cw_min,
        cw_max,
        txop: txop.unwrap_or(default.txop),
    }
}
