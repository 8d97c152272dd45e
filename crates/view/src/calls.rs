//! Calls and their quality in the status.
//!
//! The rating R is that of the E-model (ITU-T G.107) with its default values, by the same formula as in the simulator
//! ([`evenair_workload::voice`]). It covers what the box can measure: packets lost before the box or dropped in it, the
//! waiting time here and in the access point, the codec, and a receiver with a playout delay of 60 ms. The rest of the path
//! is not included: for a call over a slow or lossy path beyond the box, R is an upper bound.

use evenair_api::{CallStatus, SpeechStatus};
use evenair_manager::{CallReport, Codec, Refusal, SpeechReport};
use evenair_units::{Instant, Span};
use evenair_workload::voice;

use crate::milliseconds;

pub(crate) fn call(report: &CallReport, now: Instant) -> CallStatus {
    CallStatus {
        station: report.station.to_string(),
        peer: report.peer.to_string(),
        codec: codec(report.codec),
        refused: report.refused.map(|why| refusal_word(why).to_owned()),
        lasts_s: now.saturating_since(report.since).as_secs_f64(),
        to_station: report.to_station.packets,
        from_station: report.from_station.packets,
        down: speech(&report.to_station, report.codec),
        up: speech(&report.from_station, report.codec),
    }
}

/// Quality of one direction of a call.
pub fn speech(report: &SpeechReport, codec: Codec) -> SpeechStatus {
    let lost = report.lost.unwrap_or(0) + report.dropped;
    let expected = report.packets + report.lost.unwrap_or(0);
    let loss = if expected == 0 { 0.0 } else { lost.min(expected) as f64 / expected as f64 };
    let hearing = spoken(codec).hearing(report.gap);
    let delay = hearing.coding + hearing.playout + report.waited_mean + report.hop_mean.unwrap_or(Span::ZERO);
    let rating = voice::rating(milliseconds(delay), loss, &hearing).clamp(0.0, 100.0);
    let r_factor = (report.packets > 0).then_some(rating);
    SpeechStatus {
        packets: report.packets,
        lost: report.lost,
        dropped: report.dropped,
        loss_percent: loss * 100.0,
        jitter_ms: report.jitter.map(milliseconds),
        waited_mean_ms: milliseconds(report.waited_mean),
        waited_max_ms: milliseconds(report.waited_most),
        wlan_mean_ms: report.hop_mean.map(milliseconds),
        r_factor,
        mos: r_factor.map(voice::opinion),
    }
}

/// Maps a codec that the box distinguishes to its published parameters. Unknown codecs count as Opus.
const fn spoken(codec: Codec) -> voice::Codec {
    match codec {
        Codec::G711 => voice::Codec::G711,
        Codec::G729 => voice::Codec::G729,
        Codec::Other => voice::Codec::Opus,
    }
}

/// A codec in the status.
pub const fn codec(codec: Codec) -> evenair_api::Codec {
    match codec {
        Codec::G711 => evenair_api::Codec::G711,
        Codec::G729 => evenair_api::Codec::G729,
        Codec::Other => evenair_api::Codec::Other,
    }
}

/// Why a call was refused, in words.
pub const fn refusal_word(why: Refusal) -> &'static str {
    match why {
        Refusal::Calls => "as many calls as may be go on",
        Refusal::Codec => "as many calls of its codec as may be go on",
        Refusal::Combination => "no combination of codecs has room for one more of its codec",
        Refusal::DataPart => "calls would take from what is left to all else",
        Refusal::Station => "as many calls of its station as may be go on",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_rated_by_the_formula_of_the_simulator() {
        let perfect = SpeechReport {
            packets: 1000,
            lost: Some(0),
            gap: Span::from_millis(20),
            waited_mean: Span::from_millis(1),
            hop_mean: Some(Span::from_millis(4)),
            jitter: Some(Span::from_millis(2)),
            ..SpeechReport::default()
        };
        let status = speech(&perfect, Codec::G711);
        // 20 ms per frame, 60 ms playout delay, 5 ms queueing delay: 93.2 - 0.024 * 85.
        let r = status.r_factor.expect("it is heard");
        assert!((r - (93.2 - 0.024 * 85.0)).abs() < 1e-9 && status.mos.expect("it is heard") > 4.3, "{status:?}");
        // 50 of 1000 lost before the box, 50 dropped in it: Ie-eff of G.711 is 95 * 10 / (10 + 25.1).
        let lossy = SpeechReport { packets: 950, lost: Some(50), dropped: 50, ..perfect };
        let lossy = speech(&lossy, Codec::G711);
        assert!((lossy.loss_percent - 10.0).abs() < 1e-9);
        assert!((lossy.r_factor.expect("it is heard") - (r - 950.0 / 35.1)).abs() < 1e-9, "{lossy:?}");
        let g729 = speech(&perfect, Codec::G729);
        assert!((g729.r_factor.expect("it is heard") - (r - 11.0 - 0.024 * 5.0)).abs() < 1e-9, "{g729:?}");
    }

    #[test]
    fn a_call_without_packets_has_no_rating() {
        let status = speech(&SpeechReport::default(), Codec::Other);
        assert_eq!((status.r_factor, status.mos, status.loss_percent), (None, None, 0.0));
        assert!(status.in_short().starts_with("R - MOS - loss 0.0 %"), "{}", status.in_short());
    }
}
