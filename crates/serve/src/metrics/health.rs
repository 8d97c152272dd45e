//! Problems of the network and the box, as in the watch feed.

use std::collections::BTreeMap;

use evenair_api::Status;
use evenair_api::health::{Level, Reason, SubjectKind};

use super::labels::Labels;
use super::page::{Kind, Page};

pub(super) fn write(page: &mut Page, status: &Status, labels: &Labels) {
    let Some(health) = &status.health else { return };
    let help = "1 for the level of the worst reason, good where there is none.";
    page.family("evenair_health_level", Kind::Gauge, help);
    for &level in Level::ALL {
        page.sample(&[("level", level.word())], health.level == level);
    }
    let help = "1 for each reason for which something is wrong now, by code, level (watch or bad), what it is about (kind: box, \
                domain, access-point, station or source), and whom: the name, or of a station its label mac. Where stations have no \
                labels, how many of them it is about.";
    page.family("evenair_health", Kind::Gauge, help);
    let mut counts = BTreeMap::new();
    for reason in &health.reasons {
        let of = [reason.code.word(), reason.level.word(), reason.subject.kind.word()];
        *counts.entry((of, subject(reason, labels))).or_insert(0_u64) += 1;
    }
    for (([code, level, kind], subject), count) in counts {
        page.sample(&[("code", code), ("level", level), ("kind", kind), ("subject", &subject)], count);
    }
}

fn subject(reason: &Reason, labels: &Labels) -> String {
    match reason.subject.kind {
        SubjectKind::Box => "box".into(),
        SubjectKind::Station => labels.of(&reason.subject.id).unwrap_or_default().into_owned(),
        _ => reason.subject.id.clone(),
    }
}
