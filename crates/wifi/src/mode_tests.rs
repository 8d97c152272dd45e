//! Modes against a second implementation of the standard's formulas, in whole tenths of a microsecond, for every MCS,
//! width, number of streams and guard interval. Expected values do not use the code under test.

extern crate std;
use std::collections::BTreeSet;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::phy::Phy;
use crate::{Band, Standard};

/// A mode as numbers: format, MCS of a stream, streams, MHz, guard interval in ns.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    format: &'static str,
    mcs: u32,
    streams: u32,
    mhz: u32,
    guard_ns: u64,
}

/// Every combination of numbers, including those of no format.
fn combinations() -> impl Iterator<Item = Numbers> {
    ["HT", "VHT", "HE"].into_iter().flat_map(|format| {
        (0..=12).flat_map(move |mcs| {
            (0..=9).flat_map(move |streams| {
                [20, 40, 80, 160].into_iter().flat_map(move |mhz| {
                    [400, 800, 1_600, 3_200].map(move |guard_ns| Numbers { format, mcs, streams, mhz, guard_ns })
                })
            })
        })
    })
}

impl Numbers {
    fn mode(self) -> Result<PhyMode, ModeError> {
        let format = match self.format {
            "HT" => Format::Ht,
            "VHT" => Format::Vht,
            _ => Format::He,
        };
        let width = Width::ALL.into_iter().find(|width| width.to_string() == format!("{} MHz", self.mhz)).unwrap();
        let guard = match self.guard_ns {
            400 => GuardInterval::Ns400,
            800 => GuardInterval::Ns800,
            1_600 => GuardInterval::Ns1600,
            _ => GuardInterval::Ns3200,
        };
        PhyMode::new(format, self.mcs as u8, self.streams as u8, width, guard)
    }

    /// Whether the standard has the mode, written as one condition.
    fn is_of_the_standard(self) -> bool {
        let Self { format, mcs, streams, mhz, guard_ns } = self;
        let excluded_from_vht =
            matches!((mcs, mhz, streams), (9, 20, 1 | 2 | 4 | 5 | 7 | 8) | (6, 80, 3 | 7) | (9, 80, 6) | (9, 160, 3));
        match format {
            "HT" => mcs < 8 && (1..=4).contains(&streams) && mhz <= 40 && guard_ns <= 800,
            "VHT" => mcs < 10 && (1..=8).contains(&streams) && guard_ns <= 800 && !excluded_from_vht,
            _ => mcs < 12 && (1..=8).contains(&streams) && guard_ns >= 800,
        }
    }

    fn data_bits(self) -> u64 {
        // Coded bits per subcarrier times the code rate, in twelfths.
        let twelfths = match self.mcs {
            0 => 6,
            1 => 12,
            2 => 18,
            3 => 24,
            4 => 36,
            5 => 48,
            6 => 54,
            7 => 60,
            8 => 72,
            9 => 80,
            10 => 90,
            _ => 100,
        };
        let subcarriers = match (self.format, self.mhz) {
            ("HE", 20) => 234,
            ("HE", 40) => 468,
            ("HE", 80) => 980,
            ("HE", _) => 2 * 980,
            (_, 20) => 52,
            (_, 40) => 108,
            (_, 80) => 234,
            _ => 2 * 234,
        };
        subcarriers * twelfths * u64::from(self.streams) / 12
    }

    fn symbol_ns(self) -> u64 {
        self.guard_ns + if self.format == "HE" { 12_800 } else { 3_200 }
    }

    fn preamble_ns(self, ns3: bool) -> u64 {
        let training = [1, 2, 4, 4, 6, 6, 8, 8][self.streams as usize - 1];
        match (self.format, self.guard_ns) {
            // L-STF, L-LTF, L-SIG, HT-SIG, HT-STF.
            ("HT", _) => 1_000 * (8 + 8 + 4 + 8 + 4) + 4_000 * training,
            // VHT-SIG-A and -STF, training, VHT-SIG-B.
            ("VHT", _) => 1_000 * (20 + 8 + 4) + 4_000 * training + if ns3 { 0 } else { 4_000 },
            // RL-SIG, HE-SIG-A, HE-STF.
            (_, guard) => {
                let each = if ns3 || guard == 1_600 {
                    8_000
                } else if guard == 800 {
                    7_200
                } else {
                    16_000
                };
                1_000 * (20 + 4 + 8 + 4) + each * training
            }
        }
    }

    /// `ceil(rate / limit)`, where the rate is a fraction, by counting up.
    fn encoders(self) -> u64 {
        let limit_mbps = match (self.format, self.guard_ns) {
            ("HE", _) => return 1,
            ("HT", 400) => 350,
            ("HT", _) => 320,
            (_, 400) => 600,
            _ => 540,
        };
        (1..).find(|n| self.data_bits() * 1_000 <= n * limit_mbps * self.symbol_ns()).unwrap()
    }

    fn ppdu_ns(self, bytes: u64, at_2_4: bool, ns3: bool) -> u64 {
        let bits = 16 + 8 * bytes + 6 * self.encoders();
        let symbols = bits / self.data_bits() + u64::from(!bits.is_multiple_of(self.data_bits()));
        let mut payload = symbols * self.symbol_ns();
        while self.guard_ns == 400 && !ns3 && !payload.is_multiple_of(4_000) {
            payload += 400;
        }
        self.preamble_ns(ns3) + payload + if at_2_4 { 6_000 } else { 0 }
    }
}

#[test]
fn only_modes_of_the_standard_can_be_constructed() {
    let mut made = [0; 3];
    for numbers in combinations() {
        assert_eq!(numbers.mode().is_ok(), numbers.is_of_the_standard(), "{numbers:?}: {:?}", numbers.mode());
        if let Ok(mode) = numbers.mode() {
            made[mode.format() as usize] += 1;
        }
    }
    for format in Format::ALL {
        let all: BTreeSet<PhyMode> = PhyMode::all(format).collect();
        assert_eq!((PhyMode::all(format).count(), all.len()), (made[format as usize], made[format as usize]));
    }
    // 8 MCS, 4 streams, 2 widths, 2 guard intervals; the exclusions are 6 + 2 + 1 + 1 of each guard interval.
    assert_eq!(made, [8 * 4 * 2 * 2, (10 * 8 * 4 - 10) * 2, 12 * 8 * 4 * 3]);
}

#[test]
fn bits_rates_and_durations_are_those_of_the_formulas() {
    let of = |standard, band| Phy::default_for(standard).in_band(band).unwrap();
    let five = of(Standard::Dot11ax, Band::Ghz5);
    let two = of(Standard::Dot11ax, Band::Ghz2_4);
    let ns3 = five.clone().with_ns3_durations();
    for numbers in combinations().filter(|numbers| numbers.is_of_the_standard()) {
        let mode = numbers.mode().unwrap();
        assert_eq!(u64::from(mode.bits_per_symbol()), numbers.data_bits(), "{mode}");
        assert_eq!(mode.symbol().as_nanos(), numbers.symbol_ns(), "{mode}");
        assert_eq!(mode.preamble().as_nanos(), numbers.preamble_ns(false), "{mode}");
        let bps = mode.bit_rate().as_bps();
        let exact = numbers.data_bits() * 1_000_000_000;
        assert!(bps * numbers.symbol_ns() <= exact && exact < (bps + 1) * numbers.symbol_ns(), "{mode}: {bps}");
        for bytes in [0, 1, 14, 90, 1_538, 3_839, 57_126, 65_535, 1_048_575, 6_500_631] {
            let got = |phy: &Phy| phy.ppdu(Bytes(bytes), mode.into()).as_nanos();
            assert_eq!(got(&five), numbers.ppdu_ns(bytes, false, false), "{mode}, {bytes}");
            assert_eq!(got(&two), numbers.ppdu_ns(bytes, true, false), "{mode}, {bytes}");
            assert_eq!(got(&ns3), numbers.ppdu_ns(bytes, false, true), "{mode}, {bytes}");
        }
    }
}

#[test]
fn rates_agree_with_those_of_products() {
    use GuardInterval::{Ns400, Ns800, Ns1600, Ns3200};
    use Width::{Mhz20, Mhz40, Mhz80, Mhz160};
    let rate = |format, mcs, streams, width, guard| {
        PhyRate::from(PhyMode::new(format, mcs, streams, width, guard).unwrap()).to_string()
    };
    assert_eq!(rate(Format::Ht, 0, 1, Mhz20, Ns800), "6.5");
    assert_eq!(rate(Format::Ht, 7, 1, Mhz20, Ns400), "72.2");
    assert_eq!(rate(Format::Ht, 7, 2, Mhz40, Ns400), "300");
    assert_eq!(rate(Format::Ht, 7, 4, Mhz40, Ns400), "600");
    assert_eq!(rate(Format::Vht, 9, 1, Mhz80, Ns400), "433.3");
    assert_eq!(rate(Format::Vht, 9, 2, Mhz80, Ns400), "866.7");
    assert_eq!(rate(Format::Vht, 9, 4, Mhz160, Ns400), "3466.7");
    assert_eq!(rate(Format::He, 0, 1, Mhz20, Ns800), "8.6");
    assert_eq!(rate(Format::He, 7, 1, Mhz20, Ns800), "86");
    assert_eq!(rate(Format::He, 11, 1, Mhz20, Ns800), "143.4");
    assert_eq!(rate(Format::He, 11, 1, Mhz20, Ns1600), "135.4");
    assert_eq!(rate(Format::He, 11, 1, Mhz20, Ns3200), "121.9");
    assert_eq!(rate(Format::He, 11, 2, Mhz80, Ns800), "1201");
    assert_eq!(rate(Format::He, 11, 8, Mhz160, Ns800), "9607.8");
}

#[test]
fn reference_rates_follow_the_mcs() {
    let of = |format, mcs| {
        let mode = PhyMode::new(format, mcs, 3, Width::Mhz40, GuardInterval::Ns800).unwrap();
        mode.reference_rate().bit_rate().as_bps() / 1_000_000
    };
    let he: Vec<_> = (0..12).map(|mcs| of(Format::He, mcs)).collect();
    assert_eq!(he, [6, 12, 18, 24, 36, 48, 54, 54, 54, 54, 54, 54]);
    assert!((0..8).all(|mcs| of(Format::Ht, mcs) == he[usize::from(mcs)]));
    assert!((0..10).all(|mcs| of(Format::Vht, mcs) == he[usize::from(mcs)]));
}

#[test]
fn modes_have_the_common_notation() {
    let text =
        |format, mcs, streams, width, guard| PhyMode::new(format, mcs, streams, width, guard).unwrap().to_string();
    let he = text(Format::He, 7, 2, Width::Mhz80, GuardInterval::Ns800);
    assert_eq!(he, "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us");
    assert_eq!(text(Format::Ht, 7, 2, Width::Mhz40, GuardInterval::Ns400), "HT MCS 15, 40 MHz, 2 streams, GI 0.4 us");
    assert_eq!(text(Format::Vht, 8, 1, Width::Mhz160, GuardInterval::Ns400), "VHT MCS 8, 160 MHz, 1 stream, GI 0.4 us");
    let texts: BTreeSet<String> = Format::ALL.into_iter().flat_map(PhyMode::all).map(|mode| mode.to_string()).collect();
    assert_eq!(texts.len(), Format::ALL.into_iter().flat_map(PhyMode::all).count());
}

#[test]
fn errors_list_the_permitted_values() {
    use GuardInterval::{Ns400, Ns800};
    use Width::{Mhz20, Mhz80};
    let error =
        |format, mcs, streams, width, guard| PhyMode::new(format, mcs, streams, width, guard).unwrap_err().to_string();
    assert_eq!(
        error(Format::Ht, 15, 2, Mhz20, Ns800),
        "HT has no MCS 15 for a stream, only 0 to 7: index 15 is MCS 7 with 2 streams"
    );
    assert_eq!(error(Format::He, 12, 1, Mhz20, Ns800), "HE has no MCS 12 for a stream, only 0 to 11");
    assert_eq!(error(Format::Ht, 7, 5, Mhz20, Ns800), "HT has 1 to 4 streams, not 5");
    assert_eq!(error(Format::Vht, 7, 0, Mhz20, Ns800), "VHT has 1 to 8 streams, not 0");
    assert_eq!(error(Format::Ht, 7, 1, Mhz80, Ns800), "HT is not sent in 80 MHz, only in 20 MHz and 40 MHz");
    assert_eq!(
        error(Format::He, 7, 1, Mhz80, Ns400),
        "HE has no guard interval of 0.4 us, only 0.8 us, 1.6 us and 3.2 us"
    );
    assert_eq!(error(Format::Vht, 9, 1, Mhz20, Ns800), "VHT has no MCS 9 in 20 MHz with 1 streams, only with 3, 6");
}

#[test]
fn modes_and_rates_are_small() {
    assert!(
        size_of::<PhyMode>() <= 8 && size_of::<PhyRate>() <= 8,
        "{} {}",
        size_of::<PhyMode>(),
        size_of::<PhyRate>()
    );
}

#[test]
fn rates_have_unique_indices_and_are_ordered_by_bit_rate() {
    let legacy = [Standard::Dot11b, Standard::Dot11a].into_iter().flat_map(|standard| standard.rates()).copied();
    let mut rates: Vec<PhyRate> =
        legacy.chain(Format::ALL.into_iter().flat_map(PhyMode::all).map(PhyRate::from)).collect();
    let indices: BTreeSet<u32> = rates.iter().map(|rate| rate.index()).collect();
    assert_eq!(indices.len(), rates.len());
    rates.sort();
    assert!(rates.is_sorted_by_key(|rate| rate.bit_rate()));
    // Equal only to itself, even if bit rates are the same.
    assert!(rates.windows(2).all(|pair| pair[0] < pair[1] && pair[0] != pair[1]));
}

#[test]
fn modes_read_back_and_wrong_ones_are_refused() {
    for mode in Format::ALL.into_iter().flat_map(PhyMode::all) {
        let mut bytes = Vec::new();
        minicbor::encode(PhyRate::from(mode), &mut bytes).unwrap();
        assert_eq!(decode::<PhyRate>(&bytes).unwrap().mode(), Some(mode));
        for len in 0..bytes.len() {
            assert!(decode::<PhyRate>(&bytes[..len]).is_err(), "{mode}, {len} of {}", bytes.len());
        }
    }
    // Each number of a mode varied separately, far beyond the valid range.
    for numbers in combinations() {
        let format = ["HT", "VHT", "HE"].iter().position(|&name| name == numbers.format).unwrap() as u8;
        let width = (numbers.mhz / 20).ilog2() as u8;
        let guard = (numbers.guard_ns / 400).ilog2() as u8;
        let bytes = [0x82, 2, 0x85, format, numbers.mcs as u8, numbers.streams as u8, width, guard];
        assert_eq!(decode::<PhyRate>(&bytes).is_ok(), numbers.is_of_the_standard(), "{numbers:?}");
    }
    for wrong in [[3, 0, 1, 0, 1], [2, 0, 1, 4, 1], [2, 0, 1, 0, 4]] {
        let bytes: Vec<u8> = [0x82, 2, 0x85].into_iter().chain(wrong).collect();
        assert!(decode::<PhyRate>(&bytes).is_err(), "{wrong:?}");
    }
}
