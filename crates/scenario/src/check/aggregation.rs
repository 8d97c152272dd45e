//! How nodes of 802.11n and later aggregate.

use evenair_medium::Aggregation;
use evenair_reader::{OrDefault, Problems};
use evenair_units::Bytes;
use evenair_wifi::Phy;

use crate::profile::{Profile, Quirks};
use crate::raw::{AggregationRaw, RadioRaw};
use crate::words::{DeliverWord, EncryptionWord, OrderWord, RecoverWord, Timeout};

/// `None` before 802.11n.
pub(super) fn check(raw: &RadioRaw, phy: &Phy, quirks: &Quirks, problems: &mut Problems) -> Option<Aggregation> {
    let written = &raw.aggregation;
    if phy.standard().formats().is_empty() {
        if let Some(place) = written.first_place() {
            problems.add(place, format!("{} does not aggregate", phy.standard()), "802.11n, 802.11ac or 802.11ax");
        }
        return None;
    }
    let default = if quirks.profile == Profile::Ns3 { Aggregation::ns3() } else { Aggregation::new() };
    let AggregationRaw { bytes, window, max_ppdu, min_spacing, a_msdu, .. } = written;
    let bytes = bytes.get_or(default.bytes, problems);
    let window = window.get_or(u32::from(default.window), problems);
    let timeout = written.reorder_timeout.get_or(Timeout(default.reorder_timeout), problems);
    let crypto = match written.encryption.get_or(EncryptionWord::None, problems) {
        Some(EncryptionWord::Ccmp) => Bytes(16),
        Some(EncryptionWord::None) | None => Bytes::ZERO,
    };
    Some(Aggregation {
        bytes: bytes?,
        window: u16::try_from(window?).unwrap_or(u16::MAX),
        max_ppdu: max_ppdu.get_or(default.max_ppdu, problems)?,
        min_spacing: min_spacing.get_or(default.min_spacing, problems)?,
        a_msdu: a_msdu.get_or(default.a_msdu, problems)?,
        crypto,
        recover: written.recover.get_or(RecoverWord(default.recover), problems)?.0,
        attempts: written.attempts.get_or(default.attempts, problems)?,
        request_after_drop: written.request_after_drop.get_or(default.request_after_drop, problems)?,
        reorder_timeout: timeout?.0,
        order: written.order.get_or(OrderWord(default.order), problems)?.0,
        deliver_each: written.deliver.get_or(DeliverWord(default.deliver_each), problems)?.0,
        cf_end: default.cf_end,
        narrow_after_request: default.narrow_after_request,
    })
}
