//! Errors for modes that the standard does not have, with the permitted values.

use core::fmt;

use super::{Format, GuardInterval, Width, vht_lacks};

/// Why a mode does not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModeError {
    /// The format has no such MCS for a stream.
    Mcs(Format, u8),
    /// The format does not have this many streams.
    Streams(Format, u8),
    /// The format does not have this channel width.
    Width(Format, Width),
    /// The format has no such guard interval.
    GuardInterval(Format, GuardInterval),
    /// VHT excludes this MCS at this width with this many streams, since its bits do not fill whole symbols
    /// evenly.
    Excluded {
        /// The MCS.
        mcs: u8,
        /// Width.
        width: Width,
        /// Number of streams.
        streams: u8,
    },
}

/// "a", "a and b", "a, b and c".
fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        let gap = match index {
            0 => "",
            _ if index + 1 == items.len() => " and ",
            _ => ", ",
        };
        write!(f, "{gap}{item}")?;
    }
    Ok(())
}

impl fmt::Display for ModeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Mcs(format, mcs) => {
                write!(f, "{format} has no MCS {mcs} for a stream, only 0 to {}", format.highest_mcs())?;
                if format == Format::Ht && mcs < 32 {
                    write!(f, ": index {mcs} is MCS {} with {} streams", mcs % 8, mcs / 8 + 1)?;
                }
                Ok(())
            }
            Self::Streams(format, streams) => {
                write!(f, "{format} has 1 to {} streams, not {streams}", format.most_streams())
            }
            Self::Width(format, width) => {
                write!(f, "{format} is not sent in {width}, only in ")?;
                list(f, format.widths())
            }
            Self::GuardInterval(format, guard) => {
                write!(f, "{format} has no guard interval of {guard}, only ")?;
                list(f, format.guard_intervals())
            }
            Self::Excluded { mcs, width, streams } => {
                write!(f, "VHT has no MCS {mcs} in {width} with {streams} streams, only with ")?;
                let mut others = (1..=Format::Vht.most_streams()).filter(|&n| !vht_lacks(mcs, width, n));
                others.next().map_or(Ok(()), |first| write!(f, "{first}"))?;
                others.try_for_each(|n| write!(f, ", {n}"))
            }
        }
    }
}

impl core::error::Error for ModeError {}
