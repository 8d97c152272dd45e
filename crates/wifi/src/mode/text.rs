//! Modes as text: "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us".

use core::fmt;
use core::str::FromStr;

use super::{Format, GuardInterval, ModeError, PhyMode, Width};

/// Why a text is not a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModeTextError {
    /// It does not have the syntax of a mode.
    NotAMode,
    /// The standard has no such mode.
    Mode(ModeError),
    /// The index of HT implies another number of streams than the text has.
    HtStreams {
        /// The index.
        index: u8,
        /// The number of streams in the text.
        streams: u8,
    },
}

/// Optional parts of the text. Defaults: 20 MHz, one stream, and the guard interval of 0.8 us.
#[derive(Default)]
struct Parts {
    width: Option<Width>,
    streams: Option<u8>,
    guard: Option<GuardInterval>,
}

impl Parts {
    /// Parses a part behind the MCS; each part may occur once.
    fn take(&mut self, part: &str) -> Option<()> {
        let words = part.split_once(' ')?;
        let is_new = match words {
            ("GI", span) => self.guard.replace(guard_interval(span)?).is_none(),
            (mhz, "MHz") => self.width.replace(Width::of_mhz(mhz.parse().ok()?)?).is_none(),
            (count, "stream" | "streams") => self.streams.replace(count.parse().ok()?).is_none(),
            _ => false,
        };
        is_new.then_some(())
    }
}

fn guard_interval(text: &str) -> Option<GuardInterval> {
    match text {
        "0.4 us" => Some(GuardInterval::Ns400),
        "0.8 us" => Some(GuardInterval::Ns800),
        "1.6 us" => Some(GuardInterval::Ns1600),
        "3.2 us" => Some(GuardInterval::Ns3200),
        _ => None,
    }
}

/// Parses format and MCS, the beginning of the text.
fn head(text: &str) -> Option<(Format, u8)> {
    let (format, mcs) = text.split_once(" MCS ")?;
    let format = match format {
        "HT" => Format::Ht,
        "VHT" => Format::Vht,
        "HE" => Format::He,
        _ => return None,
    };
    Some((format, mcs.parse().ok()?))
}

impl FromStr for PhyMode {
    type Err = ModeTextError;

    /// Parses the displayed form of [`PhyMode`]. The parts behind the MCS may come in any order; defaults are 20 MHz,
    /// one stream (with HT as many as its index implies), and the guard interval of 0.8 us.
    fn from_str(text: &str) -> Result<Self, ModeTextError> {
        let mut pieces = text.split(", ");
        let (format, mcs) = pieces.next().and_then(head).ok_or(ModeTextError::NotAMode)?;
        let mut parts = Parts::default();
        pieces.try_for_each(|part| parts.take(part)).ok_or(ModeTextError::NotAMode)?;
        let (width, guard) = (parts.width.unwrap_or(Width::Mhz20), parts.guard.unwrap_or(GuardInterval::Ns800));
        let mode = match format {
            Format::Ht => Self::of_ht_index(mcs, width, guard),
            Format::Vht | Format::He => Self::new(format, mcs, parts.streams.unwrap_or(1), width, guard),
        };
        let mode = mode.map_err(ModeTextError::Mode)?;
        match parts.streams {
            Some(streams) if streams != mode.streams() => Err(ModeTextError::HtStreams { index: mcs, streams }),
            _ => Ok(mode),
        }
    }
}

impl fmt::Display for ModeTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAMode => f.write_str("not a mode, such as \"HE MCS 7, 80 MHz, 2 streams, GI 0.8 us\""),
            Self::Mode(error) => error.fmt(f),
            Self::HtStreams { index, streams } => {
                let own = index / 8 + 1;
                let plural = if own == 1 { "" } else { "s" };
                write!(f, "the index {index} of HT means {own} stream{plural}, not {streams}")
            }
        }
    }
}

impl core::error::Error for ModeTextError {}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    #[test]
    fn every_mode_is_read_as_it_is_written() {
        for mode in Format::ALL.into_iter().flat_map(PhyMode::all) {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
    }

    #[test]
    fn parts_may_be_left_out_and_come_in_any_order() {
        let read = |text: &str| text.parse::<PhyMode>().map(|mode| mode.to_string());
        assert_eq!(read("VHT MCS 8"), Ok("VHT MCS 8, 20 MHz, 1 stream, GI 0.8 us".into()));
        assert_eq!(read("HT MCS 11, 40 MHz"), Ok("HT MCS 11, 40 MHz, 2 streams, GI 0.8 us".into()));
        assert_eq!(read("HE MCS 0, GI 3.2 us, 8 streams"), Ok("HE MCS 0, 20 MHz, 8 streams, GI 3.2 us".into()));
    }

    #[test]
    fn errors_name_the_mistake() {
        let error = |text: &str| text.parse::<PhyMode>().expect_err("no mode").to_string();
        for text in
            ["", "54 Mb/s", "EHT MCS 3", "HE MCS x", "HE MCS 3, 30 MHz", "HE MCS 3, 20 MHz, 40 MHz", "HE MCS 3,"]
        {
            assert!(error(text).starts_with("not a mode"), "{text}");
        }
        assert!(error("HE MCS 12").contains("no MCS 12"));
        assert!(error("HE MCS 11, GI 0.4 us").contains("guard interval"));
        assert!(error("VHT MCS 9, 20 MHz").contains("VHT has no MCS 9"));
        assert!(error("HT MCS 3, 2 streams").contains("means 1 stream, not 2"));
    }
}
