//! The PHY rates that stations may have.

use evenair_reader::{OrDefault, Problems, Written};
use evenair_units::BitRate;
use evenair_wifi::{Format, GuardInterval, Phy, PhyMode, PhyRate, Standard, Width};

use crate::raw::{RadioRaw, StationRaw};

/// The rates of a BSS: those of its standard, and with 802.11n and later the modes of its channel width.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    phy: Phy,
    width: Width,
    guard: GuardInterval,
}

/// Maximum difference in b/s between two notations of a mode's bit rate.
const SAME: u64 = 60_000;

impl Rates {
    /// The rates of a radio with this PHY.
    pub fn of(raw: &RadioRaw, phy: &Phy, problems: &mut Problems) -> Self {
        let aggregates = !phy.standard().formats().is_empty();
        for place in [raw.width.place(), raw.guard_interval.place()].into_iter().filter(|place| *place != (0..0)) {
            if !aggregates {
                problems.add(place, format!("{} has one width and one guard interval", phy.standard()), "no such key");
            }
        }
        let newest = phy.standard().formats().last();
        let fits_width = |width: &Width| newest.is_none_or(|format| format.widths().contains(width));
        let widths = newest.map_or(&[Width::Mhz20][..], |format| format.widths());
        let width = raw.width.get_or_if(
            Width::Mhz20,
            problems,
            fits_width,
            each(widths, |width| format!("{} MHz", width.mhz())),
        );
        let fits_guard = |guard: &GuardInterval| newest.is_none_or(|format| format.guard_intervals().contains(guard));
        let guards = newest.map_or(&[GuardInterval::Ns800][..], |format| format.guard_intervals());
        let micros = |guard: &GuardInterval| format!("{:.1} us", guard.span().as_nanos() as f64 / 1e3);
        let guard = raw.guard_interval.get_or_if(GuardInterval::Ns800, problems, fits_guard, each(guards, micros));
        Self { phy: phy.clone(), width: width.unwrap_or(Width::Mhz20), guard: guard.unwrap_or(GuardInterval::Ns800) }
    }

    /// Width of the channel.
    pub(super) fn width(&self) -> Width {
        self.width
    }

    /// The rate of a station, by its bit rate or by MCS and streams.
    pub fn of_station(&self, raw: &StationRaw, problems: &mut Problems) -> Option<PhyRate> {
        match (&raw.rate, &raw.mcs) {
            (Some(rate), None) => {
                for place in [raw.streams.place(), raw.standard.place()].into_iter().filter(|place| *place != (0..0)) {
                    problems.add(place, "the rate says all", "mcs in place of rate, or no such key");
                }
                self.find(rate, problems)
            }
            (None, Some(mcs)) => self.of_mcs(raw, mcs, problems),
            (Some(_), Some(mcs)) => {
                problems.add(mcs.span(), "the rate is given twice", "either rate or mcs");
                None
            }
            (None, None) => {
                problems.add(
                    raw.name.span(),
                    "the station has no rate",
                    "rate, such as \"54 Mb/s\", or mcs and streams",
                );
                None
            }
        }
    }

    fn of_mcs(&self, raw: &StationRaw, mcs: &Written<u32>, problems: &mut Problems) -> Option<PhyRate> {
        let own = raw.standard.get_or(self.phy.standard(), problems)?;
        let Some(&format) = own.formats().last() else {
            problems.add(mcs.span(), format!("{own} has no MCS"), "rate, such as \"54 Mb/s\"");
            return None;
        };
        let streams = raw.streams.get_or(1, problems)?;
        let mode = match self.mode(format, mcs.get(problems)?, streams) {
            Ok(mode) => mode,
            Err(error) => {
                problems.add(mcs.span(), error, format!("an MCS that {own} has with so many streams and this width"));
                return None;
            }
        };
        let rate = PhyRate::from(mode);
        if !self.phy.takes(rate) {
            let what = format!("stations of {own} do not send so in a BSS of {}", self.phy.standard());
            problems.add(raw.standard.place(), what, "an older standard, or another one of the BSS");
            return None;
        }
        Some(rate)
    }

    /// A mode on this channel; a station of an older standard has the widest channel and the guard interval that it supports.
    fn mode(&self, format: Format, mcs: u32, streams: u32) -> Result<PhyMode, String> {
        let mut widths = format.widths().iter().copied().filter(|width| width.mhz() <= self.width.mhz());
        let width = widths.next_back().unwrap_or(Width::Mhz20);
        let guard = if format.guard_intervals().contains(&self.guard) { self.guard } else { GuardInterval::Ns800 };
        let small = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        PhyMode::new(format, small(mcs), small(streams), width, guard).map_err(|error| error.to_string())
    }

    /// The rate with this bit rate: one without aggregation, or the mode of the newest format with the fewest streams.
    pub fn find(&self, written: &Written<BitRate>, problems: &mut Problems) -> Option<PhyRate> {
        let standard = self.phy.standard();
        if standard.formats().is_empty() {
            return evenair_config::phy_rate(standard, written, problems);
        }
        let rate = written.get(problems)?;
        let found = standard.rate(rate).or_else(|| self.mode_of(rate));
        if found.is_none() {
            let what = format!("{written} is not a rate of {standard} at {} MHz", self.width.mhz());
            problems.add(
                written.span(),
                what,
                "6 to 54 Mb/s of 802.11a, or one of a mode; or mcs and streams of the station",
            );
        }
        found
    }

    fn mode_of(&self, rate: BitRate) -> Option<PhyRate> {
        let formats = self.phy.standard().formats().iter().rev();
        let modes = formats.flat_map(|&format| {
            (1..=u32::from(format.most_streams())).flat_map(move |streams| {
                (0..=u32::from(format.highest_mcs())).filter_map(move |mcs| self.mode(format, mcs, streams).ok())
            })
        });
        let mut rates = modes.map(PhyRate::from).filter(|&mode| self.phy.takes(mode));
        rates.find(|mode| mode.bit_rate().as_bps().abs_diff(rate.as_bps()) < SAME)
    }

    /// A placeholder for an invalid rate.
    pub fn stand_in() -> PhyRate {
        Standard::Dot11b.rates()[0]
    }
}

fn each<T>(all: &[T], text: impl Fn(&T) -> String) -> String {
    all.iter().map(|one| format!("\"{}\"", text(one))).collect::<Vec<_>>().join(", ")
}
