//! Frame durations, inter-frame spaces, and encoded profiles.

extern crate std;

use evenair_units::BitRate;
use proptest::prelude::*;

use super::*;
use crate::{GuardInterval, Width};

fn rate(standard: Standard, kbps: u64) -> PhyRate {
    standard.rate(BitRate::from_kbps(kbps)).unwrap()
}

fn us(n: u64) -> Span {
    Span::from_micros(n)
}

#[test]
fn inter_frame_spaces() {
    let of = |standard| {
        let phy = Phy::default_for(standard);
        [phy.slot(), phy.sifs(), phy.difs(), phy.eifs()].map(Span::as_micros)
    };
    assert_eq!(of(Standard::Dot11b), [20, 10, 50, 364]);
    assert_eq!(of(Standard::Dot11a), [9, 16, 34, 94]);
    assert_eq!(of(Standard::Dot11g), [9, 10, 28, 88]);
}

#[test]
fn dsss_frames_round_up_to_a_microsecond() {
    let phy = Phy::default_for(Standard::Dot11b);
    // 1536 bytes at 11 Mb/s: 1117.09 us.
    assert_eq!(phy.data(Bytes(1_500), rate(Standard::Dot11b, 11_000)), us(192 + 1_118));
    assert_eq!(phy.ack(rate(Standard::Dot11b, 11_000)), us(192 + 56));
    assert_eq!(phy.ack(rate(Standard::Dot11b, 1_000)), us(192 + 112));
}

#[test]
fn short_preamble_halves_the_header_except_at_1_mbps() {
    let phy = Phy::new(Standard::Dot11b, Preamble::Short, Standard::Dot11b.rates()).unwrap();
    assert_eq!(phy.ppdu(Bytes(14), rate(Standard::Dot11b, 2_000)), us(96 + 56));
    assert_eq!(phy.ppdu(Bytes(14), rate(Standard::Dot11b, 1_000)), us(192 + 112));
    assert_eq!(phy.response_timeout(), us(10 + 20 + 96));
}

#[test]
fn protection_is_a_cts_of_80211b_and_a_gap() {
    let phy = Phy::default_for(Standard::Dot11g);
    // 14 bytes at 11 Mb/s: 10.2 us.
    assert_eq!(phy.protection(Preamble::Short), us(96 + 11 + 10));
    assert_eq!(phy.protection(Preamble::Long), us(192 + 11 + 10));
}

#[test]
fn ofdm_frames_are_whole_symbols() {
    let phy = Phy::default_for(Standard::Dot11a);
    // 22 + 8 * 1536 = 12310 bits, 216 to a symbol: 57 symbols.
    assert_eq!(phy.data(Bytes(1_500), rate(Standard::Dot11a, 54_000)), us(20 + 57 * 4));
    // 22 + 8 * 14 = 134 bits, 24 and 96 to a symbol.
    assert_eq!(phy.ack(rate(Standard::Dot11a, 6_000)), us(44));
    assert_eq!(phy.ack(rate(Standard::Dot11a, 54_000)), us(28));
    let erp = Phy::default_for(Standard::Dot11g);
    assert_eq!(erp.ack(rate(Standard::Dot11g, 54_000)), us(28 + 6));
}

#[test]
fn responses_use_the_highest_basic_rate_that_is_not_higher() {
    let phy = Phy::default_for(Standard::Dot11a);
    let answer = |kbps| phy.control_rate(rate(Standard::Dot11a, kbps)).bit_rate().as_bps() / 1_000;
    assert_eq!([6_000, 9_000, 12_000, 18_000, 54_000].map(answer), [6_000, 6_000, 12_000, 12_000, 24_000]);
    let only_two = Phy::new(Standard::Dot11b, Preamble::Long, &[rate(Standard::Dot11b, 2_000)]).unwrap();
    assert_eq!(only_two.control_rate(rate(Standard::Dot11b, 1_000)), rate(Standard::Dot11b, 1_000));
    assert_eq!(only_two.lowest_basic(), rate(Standard::Dot11b, 2_000));
}

#[test]
fn wrong_profiles_are_refused() {
    let foreign = rate(Standard::Dot11a, 6_000);
    assert_eq!(Phy::new(Standard::Dot11b, Preamble::Long, &[]), Err(PhyError::NoBasicRate));
    assert_eq!(
        Phy::new(Standard::Dot11b, Preamble::Long, &[foreign]),
        Err(PhyError::NotARateOf(Standard::Dot11b, foreign))
    );
    assert_eq!(
        Phy::new(Standard::Dot11a, Preamble::Short, &[foreign]),
        Err(PhyError::NoShortPreamble(Standard::Dot11a))
    );
}

#[test]
fn profiles_and_rates_read_back_and_wrong_ones_are_refused() {
    fn written(value: &impl Encode<()>) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(value, &mut bytes).expect("a vector takes any bytes");
        bytes
    }
    let short = Phy::new(Standard::Dot11b, Preamble::Short, &Standard::Dot11b.rates()[1..3]).unwrap();
    let usual = Standard::ALL.map(Phy::default_for);
    for phy in
        usual.into_iter().chain([short.clone(), short.clone().with_windows(7, 15), short.clone().with_hard_decisions()])
    {
        assert_eq!(decode::<Phy>(&written(&phy)).unwrap(), phy);
        for &rate in phy.standard().rates() {
            assert_eq!(decode::<PhyRate>(&written(&rate)).unwrap(), rate);
        }
    }
    assert!(decode::<Phy>(&written(&short.with_windows(15, 7))).is_err());
    let (standard, preamble) = (Standard::Dot11a, Preamble::Long);
    for basic in [[].to_vec(), Standard::Dot11b.rates().to_vec()] {
        let encoded =
            EncodedPhy { standard, preamble, basic, windows: None, band: None, durations: None, decisions: None };
        assert!(decode::<Phy>(&written(&encoded)).is_err());
    }
    // OFDM at 11 Mb/s.
    assert!(decode::<PhyRate>(&written(&(1, 22))).is_err());
}

#[test]
fn one_saturated_station_with_1000_byte_frame_bodies_gets_5_136_mbps() {
    // Long preamble, ACK at 2 Mb/s. The published formula does not round the payload time up: 0.03 % apart.
    let phy = Phy::default_for(Standard::Dot11b);
    let cost = phy.access_cost(Bytes(1_000 - LLC_SNAP.0), rate(Standard::Dot11b, 11_000), false);
    let mbps = 8_000.0 / cost.0.as_secs_f64() / 1e6;
    assert!((mbps / 5.136 - 1.0).abs() < 0.000_5, "{mbps}");
}

#[test]
fn one_slow_station_pulls_a_fast_one_down() {
    // Heusse et al., INFOCOM 2003: each sends one packet in turn, so each gets one packet per sum of both
    // costs.
    let phy = Phy::default_for(Standard::Dot11b);
    let [fast, slow] = [11_000, 1_000].map(|kbps| phy.access_cost(Bytes(1_500), rate(Standard::Dot11b, kbps), false));
    let each_mbps = 12_000.0 / (fast + slow).0.as_secs_f64() / 1e6;
    assert!((each_mbps / 0.78 - 1.0).abs() < 0.04, "{each_mbps}");
}

/// All rates of all standards.
fn all_rates() -> impl Iterator<Item = PhyRate> {
    let legacy = [Standard::Dot11b, Standard::Dot11a].into_iter().flat_map(|standard| standard.rates()).copied();
    legacy.chain(Format::ALL.into_iter().flat_map(PhyMode::all).map(PhyRate::from))
}

fn he(mcs: u8) -> PhyRate {
    PhyMode::new(Format::He, mcs, 1, Width::Mhz20, GuardInterval::Ns800).unwrap().into()
}

#[test]
fn times_of_a_band() {
    for standard in [Standard::Dot11n, Standard::Dot11ac, Standard::Dot11ax] {
        let phy = Phy::default_for(standard);
        let times = [phy.slot(), phy.sifs(), phy.difs(), phy.eifs(), phy.response_timeout()].map(Span::as_micros);
        assert_eq!((phy.band(), times), (Band::Ghz5, [9, 16, 34, 94, 45]));
        assert_eq!((phy.cw_min(), phy.cw_max()), (15, 1023));
    }
    for standard in [Standard::Dot11n, Standard::Dot11ax] {
        let phy = Phy::default_for(standard).in_band(Band::Ghz2_4).unwrap();
        let times = [phy.slot(), phy.sifs(), phy.difs(), phy.eifs(), phy.response_timeout()].map(Span::as_micros);
        assert_eq!((phy.band(), times), (Band::Ghz2_4, [9, 10, 28, 88, 39]));
        // Six microseconds more for each frame.
        let data = phy.ppdu(Bytes(1_538), he(7)) - Phy::default_for(standard).ppdu(Bytes(1_538), he(7));
        assert_eq!((data, phy.ack(he(7))), (us(6), us(28 + 6)));
    }
    for (standard, band) in [
        (Standard::Dot11ac, Band::Ghz2_4),
        (Standard::Dot11a, Band::Ghz2_4),
        (Standard::Dot11g, Band::Ghz5),
        (Standard::Dot11b, Band::Ghz5),
    ] {
        assert_eq!(Phy::default_for(standard).in_band(band), Err(PhyError::NotInBand(standard, band)));
    }
}

#[test]
fn a_standard_takes_its_own_formats_and_older_ones() {
    let takes = |phy: &Phy| {
        let mut formats = Vec::new();
        for rate in all_rates() {
            let format = rate.mode().map(PhyMode::format);
            let is_dsss = format.is_none() && Standard::Dot11b.rates().contains(&rate);
            assert!(!(phy.takes(rate) && is_dsss) || phy.standard() == Standard::Dot11b, "{rate}");
            if phy.takes(rate) && !formats.contains(&format) {
                formats.push(format);
            }
        }
        formats
    };
    let (ht, vht, he) = (Some(Format::Ht), Some(Format::Vht), Some(Format::He));
    let five = Phy::default_for;
    assert_eq!(takes(&five(Standard::Dot11b)), [None]);
    assert_eq!(takes(&five(Standard::Dot11a)), [None]);
    assert_eq!(takes(&five(Standard::Dot11n)), [None, ht]);
    assert_eq!(takes(&five(Standard::Dot11ac)), [None, ht, vht]);
    assert_eq!(takes(&five(Standard::Dot11ax)), [None, ht, vht, he]);
    let two = |standard| five(standard).in_band(Band::Ghz2_4).unwrap();
    assert_eq!(takes(&two(Standard::Dot11n)), [None, ht]);
    assert_eq!(takes(&two(Standard::Dot11ax)), [None, ht, he]);
}

#[test]
fn control_frames_of_modes() {
    let phy = Phy::default_for(Standard::Dot11ax);
    // Responses to MCS 0 use 6, to MCS 1 12, and to MCS 3 and above 24 Mb/s.
    let of = |mcs| {
        let rate = he(mcs);
        let block_acks = [64, 256, 1_024].map(|window| phy.block_ack(rate, window));
        let others = [phy.ack(rate), phy.cts(rate), phy.rts(rate), phy.cf_end(rate), phy.block_ack_request(rate)];
        (others.map(Span::as_micros), block_acks.map(Span::as_micros))
    };
    assert_eq!(of(0), ([44, 44, 52, 52, 56], [68, 100, 228]));
    for mcs in [1, 2] {
        assert_eq!(of(mcs), ([32, 32, 36, 36, 40], [44, 60, 124]));
    }
    for mcs in 3..12 {
        assert_eq!(of(mcs), ([28, 28, 28, 28, 32], [32, 40, 72]));
    }
    // The bitmap is the smallest that has a bit for each frame.
    let windows = [1, 64, 65, 256, 257, u16::MAX].map(|window| phy.block_ack(he(7), window).as_micros());
    assert_eq!(windows, [32, 32, 40, 40, 72, 72]);
}

#[test]
fn ns3_reserves_at_the_highest_basic_rate_and_ends_at_the_lowest() {
    let standard = Phy::default_for(Standard::Dot11ax);
    let ns3 = standard.clone().with_ns3_durations();
    assert_eq!([ns3.rts(he(0)), ns3.cts(he(0)), ns3.ack(he(0)), ns3.cf_end(he(11))], [us(28), us(28), us(44), us(52)]);
    // Rates before 802.11n are unchanged.
    for &rate in Standard::Dot11ax.rates() {
        assert_eq!(ns3.rts(rate), standard.rts(rate));
        assert_eq!(ns3.ppdu(Bytes(1_538), rate), standard.ppdu(Bytes(1_538), rate));
    }
}

#[test]
fn encoded_forms_before_80211n_have_not_changed() {
    let written = |value: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        value(&mut bytes);
        bytes
    };
    let of = |rate: PhyRate| written(&|bytes| encode(rate, bytes).unwrap());
    assert_eq!(of(rate(Standard::Dot11b, 5_500)), [0x82, 0, 11]);
    assert_eq!(of(rate(Standard::Dot11b, 11_000)), [0x82, 0, 22]);
    assert_eq!(of(rate(Standard::Dot11a, 6_000)), [0x82, 1, 12]);
    assert_eq!(of(rate(Standard::Dot11g, 54_000)), [0x82, 1, 0x18, 108]);
    let phy = written(&|bytes| encode(Phy::default_for(Standard::Dot11b), bytes).unwrap());
    assert_eq!(phy, [0xa3, 0, 0x82, 0, 0x80, 1, 0, 2, 0x82, 0x82, 0, 2, 0x82, 0, 4]);
    // Fields of later versions are skipped, also in an array without a length.
    assert_eq!(decode::<PhyRate>(&[0x83, 0, 22, 7]).unwrap(), rate(Standard::Dot11b, 11_000));
    assert_eq!(decode::<PhyRate>(&[0x9f, 0, 22, 7, 0xff]).unwrap(), rate(Standard::Dot11b, 11_000));
}

#[test]
fn bands_and_durations_read_back() {
    let two = |standard| Phy::default_for(standard).in_band(Band::Ghz2_4).unwrap();
    for phy in [
        two(Standard::Dot11n),
        two(Standard::Dot11ax).with_ns3_durations(),
        Phy::default_for(Standard::Dot11ac).with_ns3_durations().with_windows(15, 63),
    ] {
        let mut bytes = Vec::new();
        encode(&phy, &mut bytes).unwrap();
        assert_eq!(decode::<Phy>(&bytes).unwrap(), phy);
    }
    // 802.11ac at 2.4 GHz.
    let mut bytes = Vec::new();
    let basic = Standard::Dot11ac.mandatory_rates().to_vec();
    let (standard, preamble, band) = (Standard::Dot11ac, Preamble::Long, Some(Band::Ghz2_4));
    encode(EncodedPhy { standard, preamble, basic, windows: None, band, durations: None, decisions: None }, &mut bytes)
        .unwrap();
    assert!(decode::<Phy>(&bytes).is_err());
}

/// Checks the inverse at one duration: the PSDU fits, and one byte more does not.
fn check_inverse(phy: &Phy, rate: PhyRate, max: Span) {
    let largest = phy.largest_psdu(rate, max);
    let takes = |psdu| phy.ppdu(psdu, rate);
    assert!(largest == Bytes::ZERO || takes(largest) <= max, "{rate}: {largest:?} in {max:?}");
    assert!(takes(Bytes(largest.0 + 1)) > max, "{rate}: more than {largest:?} in {max:?}");
}

#[test]
fn largest_psdu_is_the_inverse_at_and_beside_each_boundary() {
    let short = Phy::new(Standard::Dot11b, Preamble::Short, &Standard::Dot11b.rates()[..2]).unwrap();
    let ax = Phy::default_for(Standard::Dot11ax);
    let two = ax.clone().in_band(Band::Ghz2_4).unwrap();
    for phy in [short, Phy::default_for(Standard::Dot11b), two, ax.clone().with_ns3_durations(), ax] {
        let is_dsss = phy.standard() == Standard::Dot11b;
        for rate in all_rates().filter(|rate| Standard::Dot11b.rates().contains(rate) == is_dsss) {
            for psdu in [1, 14, 90, 1_538, 65_535] {
                let at = phy.ppdu(Bytes(psdu), rate).as_nanos();
                for ns in [at - 4_001, at - 1, at, at + 1, at + 3_999, at + 4_000] {
                    check_inverse(&phy, rate, Span::from_nanos(ns));
                }
            }
            check_inverse(&phy, rate, Span::ZERO);
            check_inverse(&phy, rate, Span::from_micros(5_484));
        }
    }
}

proptest! {
    #[test]
    fn largest_psdu_is_the_inverse(index in 0..all_rates().count(), ns in 0..20_000_000u64, ns3 in any::<bool>()) {
        let rate = all_rates().nth(index).unwrap();
        let is_dsss = Standard::Dot11b.rates().contains(&rate);
        let phy = Phy::default_for(if is_dsss { Standard::Dot11b } else { Standard::Dot11ax });
        check_inverse(&if ns3 { phy.with_ns3_durations() } else { phy }, rate, Span::from_nanos(ns));
    }
}

/// Every mode, at sizes around all multiples of a symbol of a PSDU of 70 kB, and at the largest PSDU.
#[test]
fn precomputed_ppdu_times_equal_single_ones() {
    let phys = [Phy::default_for(Standard::Dot11ax), Phy::default_for(Standard::Dot11ax).with_ns3_durations()];
    for (phy, mode) in
        phys.iter().flat_map(|phy| Format::ALL.into_iter().flat_map(PhyMode::all).map(move |mode| (phy, mode)))
    {
        let times = phy.ppdu_times(mode);
        let of_symbols = (1..).map(|symbols| symbols * u64::from(mode.bits_per_symbol()) / 8);
        let around = of_symbols
            .take_while(|&bytes| bytes < 70_000)
            .step_by(7)
            .flat_map(|bytes| bytes.saturating_sub(4)..bytes + 2);
        for bytes in around.chain([0, 1, 6_500_631]) {
            assert_eq!(times.of(Bytes(bytes)), phy.ppdu(Bytes(bytes), mode.into()), "{bytes} bytes at {mode:?}");
        }
    }
}

/// MPDUs of A-MPDUs, as printed by ns-3 3.44 with HE MCS 7 at 20 MHz (1,170 bits and 13.6 us per symbol, preamble 44 us): two TCP
/// ACKs in MPDUs of 90 bytes, the first handed up 53.182 us after the start of the PPDU; three MPDUs of 1,538 bytes, handed up
/// after 187.834, 331.412 (each part cut to whole ns) and 479.2 us. By the standard a symbol is decoded as a whole, and the preamble takes 43.2 us.
#[test]
fn mpdus_end_within_a_symbol_in_ns3_alone() {
    let mode = PhyMode::new(Format::He, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let phy = Phy::default_for(Standard::Dot11ax).in_band(Band::Ghz5).unwrap();
    let [standard, ns3] = [phy.clone(), phy.with_ns3_durations()].map(|phy| phy.ppdu_times(mode));
    for (offset, ns3_ns, symbols) in [(94, 53_182, 1), (1_542, 187_834, 11), (1_542 + 2 + 1_542, 331_413, 22)] {
        assert_eq!(ns3.mpdu_end(Bytes(offset)).as_nanos(), ns3_ns, "{offset} bytes");
        assert_eq!(standard.mpdu_end(Bytes(offset)).as_nanos(), 43_200 + symbols * 13_600, "{offset} bytes");
    }
    assert_eq!(ns3.of(Bytes(3 * 1_542 + 4)).as_nanos(), 479_200);
    // At 2.4 GHz the signal extension comes after the last MPDU.
    let at_2_4 = Phy::default_for(Standard::Dot11ax).in_band(Band::Ghz2_4).unwrap().with_ns3_durations();
    assert_eq!(at_2_4.ppdu_times(mode).mpdu_end(Bytes(94)).as_nanos(), 53_182);
}
