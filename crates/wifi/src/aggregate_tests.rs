//! Aggregates against a second implementation of the standard's arithmetic, and against published sizes.

extern crate std;
use std::format;

use evenair_units::{Bytes, Span};

use super::*;
use crate::{PhyMode, Standard};

fn ax() -> Phy {
    Phy::default_for(Standard::Dot11ax)
}

/// "HE 7, 80, 2, 0.8": format, MCS (the index of HT), MHz, streams, guard interval.
fn mode(text: &str) -> PhyMode {
    let wanted: std::vec::Vec<&str> = text.split([' ', ',']).filter(|part| !part.is_empty()).collect();
    let is_wanted = |mode: &PhyMode| {
        let mcs = mode.ht_index().unwrap_or(mode.mcs());
        let guard = mode.guard_interval().span().as_nanos();
        let is = [
            format!("{}", mode.format()),
            format!("{mcs}"),
            format!("{}", mode.width().mhz()),
            format!("{}", mode.streams()),
            format!("{}.{}", guard / 1_000, guard % 1_000 / 100),
        ];
        is.iter().map(|part| part.as_str()).eq(wanted.iter().copied())
    };
    Format::ALL.into_iter().flat_map(PhyMode::all).find(is_wanted).expect("a mode")
}

/// Size of an A-MPDU, subframe by subframe, each at the next multiple of four.
fn slow_a_mpdu(n: u64, mpdu: u64) -> u64 {
    let mut at = 0;
    for _ in 0..n {
        while at % 4 != 0 {
            at += 1;
        }
        at += 4 + mpdu;
    }
    at
}

#[test]
fn sizes_of_a_mpdus() {
    assert_eq!(a_mpdu_bytes(37, Bytes(1_538)), Bytes(57_126));
    assert_eq!(a_mpdu_bytes(0, Bytes(1_538)), Bytes(0));
    assert_eq!(a_mpdu_bytes(1, Bytes(1_538)), Bytes(1_542));
    for mpdu in (28..48).chain([90, 1_538, 3_839, 11_454]) {
        let mut size = AggregateSize::default();
        for n in 1..300 {
            assert_eq!(a_mpdu_bytes(n, Bytes(mpdu)), Bytes(slow_a_mpdu(n.into(), mpdu)), "{n} of {mpdu}");
            assert_eq!(size.push(Bytes(mpdu)), a_mpdu_bytes(n, Bytes(mpdu)));
            assert_eq!((size.frames(), size.bytes()), (n, a_mpdu_bytes(n, Bytes(mpdu))));
        }
    }
}

#[test]
fn sizes_of_a_msdus() {
    let packets = |sizes: &[u64]| a_msdu_bytes(sizes.iter().map(|&ip| Bytes(ip + 8)));
    assert_eq!(packets(&[]), Bytes(0));
    assert_eq!(packets(&[1_500]), Bytes(1_522));
    // 1522 is 2 short of a multiple of four.
    assert_eq!(packets(&[1_500, 1_500, 52]), Bytes(1_524 + 1_524 + 74));
    assert_eq!(packets(&[52, 1_500]), Bytes(76 + 1_522));
}

#[test]
fn full_aggregates_of_1500_byte_packets() {
    // PhyMode, frames, duration of the PPDU in whole us.
    let rows = [
        ("HT 0, 20, 1, 0.8", 2, 3_840),
        ("HT 7, 20, 1, 0.8", 28, 5_360),
        ("HT 15, 40, 2, 0.4", 42, 1_772),
        ("VHT 8, 20, 1, 0.8", 34, 5_428),
        ("VHT 9, 80, 1, 0.8", 64, 2_068),
        ("VHT 8, 80, 2, 0.8", 64, 1_172),
        ("VHT 9, 160, 4, 0.4", 64, 284),
        ("HE 0, 20, 1, 0.8", 3, 4_354),
        ("HE 7, 20, 1, 0.8", 37, 5_361),
        ("HE 11, 20, 1, 0.8", 63, 5_483),
        ("HE 7, 80, 1, 0.8", 158, 5_470),
        ("HE 11, 80, 2, 0.8", 256, 2_689),
        ("HE 11, 160, 2, 0.8", 256, 1_370),
    ];
    for (text, frames, us) in rows {
        let mode = mode(text);
        let limits = AggregateLimits::of(mode.format());
        assert_eq!(full_aggregate(&ax(), mode.into(), Bytes(1_538), &limits), frames, "{text}");
        let got_ns = ax().ppdu(a_mpdu_bytes(frames, Bytes(1_538)), mode.into()).as_nanos();
        assert_eq!((got_ns + 500) / 1_000, us, "{text}: {got_ns} ns");
    }
}

#[test]
fn a_full_aggregate_fits_and_one_frame_more_does_not() {
    let windows = [1, 17, 64, 256];
    for mode in Format::ALL.into_iter().flat_map(PhyMode::all) {
        for (index, mpdu) in [30, 90, 91, 1_538, 3_839].into_iter().enumerate() {
            let limits = AggregateLimits {
                frames: windows[index % windows.len()],
                max_ppdu: Span::from_micros([5_484, 4_000, 1_000][index % 3]),
                min_spacing: Span::from_nanos([0, 250, 4_000, 16_000][(index + usize::from(mode.mcs())) % 4]),
                ..AggregateLimits::of(mode.format())
            };
            let at = limits.at(&ax(), mode.into());
            let n = full_aggregate(&ax(), mode.into(), Bytes(mpdu), &limits);
            let mut size = at.empty();
            for _ in 0..n {
                size.push(Bytes(mpdu));
            }
            let is_within = |size: AggregateSize| {
                let ppdu = ax().ppdu(size.bytes(), mode.into());
                size.frames() <= limits.frames && size.bytes().0 <= limits.bytes.into() && ppdu <= limits.max_ppdu
            };
            assert_eq!(limits.fits(&ax(), mode.into(), size), is_within(size), "{mode}, {n} of {mpdu}");
            assert!(n == 1 || is_within(size), "{mode}, {n} of {mpdu}");
            size.push(Bytes(mpdu));
            assert!(!is_within(size) && !at.fits(size), "{mode}, {n} of {mpdu}");
        }
    }
}

#[test]
fn short_frames_are_padded_to_the_spacing() {
    // 86.0 Mb/s: 1170 bits in 13.6 us; 4 us are 43.01 bytes, so 44; 16 us are 172.06 bytes, so 176.
    let mode = mode("HE 7, 20, 1, 0.8");
    let limits = |us| AggregateLimits { min_spacing: Span::from_micros(us), ..AggregateLimits::of(Format::He) };
    assert_eq!(limits(4).at(&ax(), mode.into()).spacing, Bytes(44));
    let at = limits(16).at(&ax(), mode.into());
    assert_eq!(at.spacing, Bytes(176));
    let mut size = at.empty();
    assert_eq!(
        [90, 1_538, 90, 90].map(|mpdu| size.push(Bytes(mpdu)).0),
        [94, 176 + 1_542, 176 + 1_544 + 94, 176 + 1_544 + 176 + 94]
    );
}

#[test]
fn a_frame_above_the_limits_is_sent_alone() {
    let mode = mode("HT 0, 20, 1, 0.8");
    let limits = AggregateLimits { max_ppdu: Span::from_micros(1_000), ..AggregateLimits::of(Format::Ht) };
    assert_eq!(full_aggregate(&ax(), mode.into(), Bytes(1_538), &limits), 1);
    let mut size = AggregateSize::default();
    size.push(Bytes(1_538));
    assert!(!limits.fits(&ax(), mode.into(), size));
}
