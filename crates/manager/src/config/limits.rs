//! Bounds that hold for several settings.

use evenair_units::{BitRate, Span};

/// The highest service rate or step: 1 Tb/s, far above any WLAN.
pub(crate) const MAX_RATE: BitRate = BitRate::from_mbps(1_000_000);
/// The longest interval, slack or drain limit: a day.
pub(crate) const MAX_SPAN: Span = Span::from_secs(86_400);
/// The most flows: two million, which are up to 4 GB.
pub(crate) const MAX_FLOWS: u32 = 1 << 21;
/// Probes a second: at 54 Mb/s they take a thirtieth of the medium.
pub(crate) const MAX_PROBES: u32 = 100;
