//! Upper limits that several settings share.

use evenair_units::{BitRate, Span};

/// Upper limit of service rates and steps: 1 Tb/s, far above any WLAN.
pub(crate) const MAX_RATE: BitRate = BitRate::from_mbps(1_000_000);
/// Upper limit of intervals, slack and drain limit: a day.
pub(crate) const MAX_SPAN: Span = Span::from_secs(86_400);
/// Upper limit of flows: two million, up to 4 GB of memory.
pub(crate) const MAX_FLOWS: u32 = 1 << 21;
/// Upper limit of probes a second: at 54 Mb/s so many take a thirtieth of the medium.
pub(crate) const MAX_PROBES: u32 = 100;
