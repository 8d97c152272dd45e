//! The error models against published points, and the codes' spectra against the codes themselves.

extern crate std;

use std::collections::BTreeMap;
use std::vec::Vec;

use evenair_units::BitRate;

use super::*;
use crate::{Format, GuardInterval, PhyMode, Standard, Width, thermal_noise};

fn decibels(db: f64) -> Db {
    Db::from_milli(libm::round(db * 1e3) as i32)
}

fn rate(standard: Standard, kbps: u64) -> PhyRate {
    standard.rate(BitRate::from_kbps(kbps)).unwrap()
}

/// Points from the validation of ns-3's DSSS model (its test suite wifi-error-rate-models, by T. R. Henderson): 1078 bytes at
/// a received power in dBm, with a noise figure of 7 dB in 22 MHz.
#[test]
fn dsss_and_cck_agree_with_published_points() {
    let points: [(u64, f64, f64, f64); 25] = [
        (1_000, -100.0, 1.5e-13, 1e-13),
        (1_000, -99.0, 0.0003, 0.0001),
        (1_000, -98.0, 0.202, 0.005),
        (1_000, -97.0, 0.813, 0.005),
        (1_000, -96.0, 0.984, 0.005),
        (1_000, -95.0, 0.999, 0.001),
        (2_000, -95.0, 4.5e-6, 1e-6),
        (2_000, -94.0, 0.036, 0.005),
        (2_000, -93.0, 0.519, 0.005),
        (2_000, -92.0, 0.915, 0.005),
        (2_000, -91.0, 0.993, 0.005),
        (2_000, -89.0, 1.0, 0.001),
        (5_500, -93.0, 6.6e-14, 5e-14),
        (5_500, -92.0, 0.0001, 0.00005),
        (5_500, -91.0, 0.132, 0.005),
        (5_500, -90.0, 0.744, 0.005),
        (5_500, -89.0, 0.974, 0.005),
        (5_500, -88.0, 0.999, 0.001),
        (11_000, -90.0, 4.7e-14, 1e-14),
        (11_000, -89.0, 8.85e-5, 1e-5),
        (11_000, -88.0, 0.128, 0.005),
        (11_000, -87.0, 0.739, 0.005),
        (11_000, -86.0, 0.973, 0.005),
        (11_000, -85.0, 0.999, 0.001),
        (11_000, -84.0, 1.0, 0.001),
    ];
    let noise_dbm = f64::from(thermal_noise(Standard::Dot11b, Width::Mhz20).as_milli()) / 1e3 + 7.0;
    let phy = Phy::default_for(Standard::Dot11b);
    for (kbps, dbm, success, within) in points {
        let got = payload_success(&phy, rate(Standard::Dot11b, kbps), Bytes(1_078), decibels(dbm - noise_dbm));
        assert!((got - success).abs() <= within, "{kbps} kb/s at {dbm} dBm: {got}, published {success}");
    }
}

/// Points of ns-3's NIST model (same test suite): 2000 bytes.
#[test]
fn ofdm_agrees_with_published_points() {
    let points: [(u64, f64, f64, f64); 28] = [
        (6, 2.5, 2.04e-10, 1e-10),
        (6, 3.0, 0.020, 0.001),
        (6, 4.0, 0.885, 0.001),
        (6, 5.0, 0.997, 0.001),
        (9, 6.0, 0.097, 0.001),
        (9, 7.0, 0.918, 0.001),
        (9, 8.0, 0.998, 0.001),
        (12, 6.0, 0.0174, 0.001),
        (12, 7.0, 0.881, 0.001),
        (12, 8.0, 0.997, 0.001),
        (18, 8.5, 2.85e-6, 1e-6),
        (18, 9.5, 0.623, 0.001),
        (18, 10.5, 0.985, 0.001),
        (24, 12.0, 2.22e-7, 1e-7),
        (24, 13.0, 0.495, 0.001),
        (24, 14.0, 0.974, 0.001),
        (24, 15.0, 0.999, 0.001),
        (36, 15.5, 0.012, 0.001),
        (36, 16.5, 0.818, 0.001),
        (36, 17.5, 0.993, 0.001),
        (48, 20.0, 1.3e-4, 1e-4),
        (48, 21.0, 0.649, 0.001),
        (48, 22.0, 0.983, 0.001),
        (48, 23.0, 0.999, 0.001),
        (54, 21.0, 5.44e-8, 1e-8),
        (54, 22.0, 0.410, 0.001),
        (54, 23.0, 0.958, 0.001),
        (54, 24.0, 0.999, 0.001),
    ];
    let phy = Phy::default_for(Standard::Dot11a).with_hard_decisions();
    for (mbps, db, success, within) in points {
        let got = payload_success(&phy, rate(Standard::Dot11a, mbps * 1_000), Bytes(2_000), decibels(db));
        assert!((got - success).abs() <= within, "{mbps} Mb/s at {db} dB: {got}, published {success}");
    }
}

/// Information bits in error over all paths that leave the zero path in each phase of the puncturing and return with each
/// distance, counted on the trellis.
fn spectrum(puncture: &[(bool, bool)], most: u32) -> BTreeMap<u32, u64> {
    let mut total = BTreeMap::new();
    for phase in 0..puncture.len() {
        // (state, distance) -> (paths, information bits on all of them)
        let mut paths = BTreeMap::from([((0u32, 0u32), (1u64, 0u64))]);
        for step in 0.. {
            let kept = puncture[(phase + step) % puncture.len()];
            let mut next: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
            for (&(state, distance), &(count, bits)) in &paths {
                // A path leaves the zero path at the first step, and does not take it again.
                for input in if step == 0 { 1..=1 } else { 0..=1u32 } {
                    let register = input << 6 | state;
                    let sent = |generator: u32, kept: bool| u32::from(kept) * ((register & generator).count_ones() & 1);
                    let distance = distance + sent(0o133, kept.0) + sent(0o171, kept.1);
                    if distance > most {
                        continue;
                    }
                    let bits = bits + u64::from(input) * count;
                    let state = register >> 1;
                    if state == 0 {
                        *total.entry(distance).or_insert(0) += bits;
                    } else {
                        let entry = next.entry((state, distance)).or_default();
                        *entry = (entry.0 + count, entry.1 + bits);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            paths = next;
        }
    }
    total
}

#[test]
fn published_spectra_are_those_of_the_codes() {
    let both = (true, true);
    let (first, second) = ((true, false), (false, true));
    let codes: [(&Code, &[(bool, bool)]); 3] =
        [(&HALF, &[both]), (&TWO_THIRDS, &[both, first]), (&THREE_QUARTERS, &[both, first, second])];
    for (code, puncture) in codes {
        let most = code.free_distance + 4 * code.step;
        let counted = spectrum(puncture, most);
        let published: Vec<(u32, u64)> =
            (code.free_distance..).step_by(code.step as usize).zip(code.spectrum.iter().map(|&w| w as u64)).collect();
        let counted: Vec<(u32, u64)> = counted.into_iter().collect();
        assert_eq!(counted, published[..counted.len()], "period {}", code.period);
        assert!(counted.len() >= 5);
    }
}

#[test]
fn better_signals_and_shorter_frames_are_lost_less() {
    for standard in Standard::ALL {
        let phy = Phy::default_for(standard);
        let modes = modes().filter(|_| standard == Standard::Dot11ax);
        for rate in standard.rates().iter().copied().chain(modes) {
            let error = |db: i32, bytes| frame_error_per_billion(&phy, rate, Bytes(bytes), Db::from_milli(db * 1_000));
            let by_snr: Vec<_> = (-20..60).map(|db| error(db, 1_500)).collect();
            assert!(by_snr.is_sorted_by(|a, b| a >= b), "{rate}: {by_snr:?}");
            assert_eq!((by_snr[0], *by_snr.last().unwrap()), (1_000_000_000, 0), "{rate}");
            assert!((-20..60).all(|db| error(db, 100) <= error(db, 1_500)), "{rate}");
            let header = |db: i32| header_error_per_billion(&phy, rate, Db::from_milli(db * 1_000));
            assert!((-20..60).all(|db| header(db) <= error(db, 14)), "{rate}");
        }
    }
}

/// One mode of HE for each MCS, lowest first.
fn modes() -> impl Iterator<Item = PhyRate> {
    let mode = |mcs| PhyMode::new(Format::He, mcs, 1, Width::Mhz20, GuardInterval::Ns800).expect("a mode of HE");
    (0..12).map(move |mcs| mode(mcs).into())
}

/// The least SNR, in tenths of a dB, at which at most one of ten frames of 4,096 bytes is lost.
fn needed(phy: &Phy, rate: PhyRate) -> i32 {
    let is_received = |tenth_db: &i32| {
        frame_error_per_billion(phy, rate, Bytes(4_096), Db::from_milli(tenth_db * 100)) <= 100_000_000
    };
    (-100..600).find(is_received).expect("60 dB are enough")
}

#[test]
fn each_mcs_needs_a_better_signal_than_the_one_below() {
    let phy = Phy::default_for(Standard::Dot11ax);
    let of_modes: Vec<i32> = modes().map(|rate| needed(&phy, rate)).collect();
    assert!(of_modes.is_sorted_by(|a, b| a < b), "{of_modes:?}");
    // Rates of OFDM with the same code and constellation need the same SNR in the same network.
    let ofdm = |mbps: u64| needed(&phy, rate(Standard::Dot11ax, mbps * 1_000));
    for (mcs, mbps) in [(0, 6), (1, 12), (2, 18), (3, 24), (4, 36), (5, 48), (6, 54)] {
        assert_eq!(of_modes[mcs], ofdm(mbps), "MCS {mcs}");
    }
    assert!(ofdm(6) < ofdm(9) && ofdm(9) < ofdm(12));
}

/// SNR gain of soft decisions at each constellation.
#[test]
fn hard_decisions_need_a_better_signal() {
    let [soft, modern] = [Standard::Dot11a, Standard::Dot11ax].map(Phy::default_for);
    let hard = soft.clone().with_hard_decisions();
    for (mbps, db) in [(6, 3.1), (12, 3.1), (24, 3.9), (54, 4.3)] {
        let [more, less] = [&hard, &soft].map(|phy| needed(phy, rate(Standard::Dot11a, mbps * 1_000)));
        assert_eq!(less, needed(&modern, rate(Standard::Dot11ax, mbps * 1_000)), "one physics whatever the standard");
        let worth = f64::from(more - less) / 10.0;
        assert!((worth - db).abs() < 0.25, "{mbps} Mb/s: {worth} dB");
    }
}

/// Minimum sensitivity: the signals at which a receiver must lose fewer than one of ten frames of 4,096 bytes (IEEE Std
/// 802.11-2020, table 19-23 for HT in 20 MHz, and 802.11ax-2021, table 27-51, for the highest two). They allow for a noise
/// figure of 10 dB and 5 dB of losses.
#[test]
fn receivers_exceed_the_minimum_sensitivity() {
    let phy = Phy::default_for(Standard::Dot11ax);
    let least = [-82, -79, -77, -74, -70, -66, -65, -64, -59, -57, -54, -52];
    let noise = thermal_noise(Standard::Dot11ax, Width::Mhz20).as_milli();
    for (rate, dbm) in modes().zip(least) {
        let margin = f64::from(dbm * 1_000 - noise - 15_000) / 1e3 - f64::from(needed(&phy, rate)) / 10.0;
        assert!((1.0..5.5).contains(&margin), "{rate}: {margin} dB less than asked for");
    }
}

/// Four times the bandwidth, four times the noise.
#[test]
fn wider_channels_have_more_noise() {
    let of = |width| thermal_noise(Standard::Dot11ax, width).as_milli();
    assert_eq!(of(Width::Mhz20), -100_965);
    assert_eq!(of(Width::Mhz80) - of(Width::Mhz20), 6_021);
}

#[test]
fn plain_bit_errors_hit_each_bit() {
    let ber = BitErrorRate::new(1e-4).unwrap();
    // 1 - (1 - 1e-4)^8000 = 0.5507...
    assert_eq!(ber.frame_error_per_billion(Bytes(1_000)), 550_689_010);
    assert_eq!(BitErrorRate::ZERO.frame_error_per_billion(Bytes(1_000)), 0);
    // Nearly linear where errors are rare: 1536 bytes at 1e-6.
    assert_eq!(BitErrorRate::new(1e-6).unwrap().frame_error_per_billion(Bytes(1_536)), 12_212_817);
    assert_eq!(BitErrorRate::new(1.0), None);
    assert_eq!(BitErrorRate::new(-0.1), None);
    assert_eq!(BitErrorRate::new(f64::NAN), None);
}

#[test]
fn a_short_preamble_is_lost_sooner() {
    let eleven = rate(Standard::Dot11b, 11_000);
    let of = |preamble| {
        let phy = Phy::new(Standard::Dot11b, preamble, Standard::Dot11b.rates()).expect("it has both preambles");
        header_error_per_billion(&phy, eleven, decibels(-4.0))
    };
    assert!(of(Preamble::Short) > of(Preamble::Long), "{} {}", of(Preamble::Short), of(Preamble::Long));
}
