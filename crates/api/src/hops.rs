//! Waiting times in the box.

use evenair_manager::{DelayReport, Hop};
use evenair_units::Span;
use serde::{Deserialize, Serialize};

/// How long packets waited in the box for one hop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HopResult {
    /// "wlan", "internet down" or "internet up".
    pub hop: String,
    /// Packets that left.
    pub packets: u64,
    /// Mean.
    pub mean_ms: f64,
    /// Median; the upper end of a class a quarter wide, as the next.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// Longest.
    pub max_ms: f64,
}

impl HopResult {
    /// From a manager's report.
    pub fn new(hop: Hop, delays: &DelayReport) -> Self {
        let ms = |span: Span| span.as_secs_f64() * 1e3;
        Self {
            hop: hop_word(hop).to_owned(),
            packets: delays.packets,
            mean_ms: ms(delays.mean),
            p50_ms: ms(delays.p50),
            p95_ms: ms(delays.p95),
            max_ms: ms(delays.most),
        }
    }
}

/// The word for a hop.
const fn hop_word(hop: Hop) -> &'static str {
    match hop {
        Hop::Wlan => "wlan",
        Hop::InternetDown => "internet down",
        Hop::InternetUp => "internet up",
    }
}
