//! A manager's report as types of the box's API ([`evenair_api`]), which does not depend on the manager; the box and the
//! simulator share them. [`status`] is the state at one instant, [`line()`] makes a line of the watch feed from two of them.
//!
//! Not here: what only the box reports; `evenair_serve::control` converts that.

mod calls;
mod difference;
mod domains;
mod latencies;
mod limits;
mod reports;
mod status;
mod traffic;

pub use calls::{codec, refusal_word, speech};
pub use difference::{Beside, Taken, line};
pub use domains::label_text;
pub use status::{packets, status};

use evenair_api::{Hop, HopResult, Mode};
use evenair_manager::{self as manager, DelayReport};
use evenair_units::Span;

/// The mode in the status. A manager that observes counts as bypassed.
pub const fn mode(mode: manager::Mode) -> Mode {
    match mode {
        manager::Mode::Bypassed => Mode::Bypassed,
        manager::Mode::Inserted => Mode::Inserted,
        manager::Mode::Draining => Mode::Draining,
    }
}

pub(crate) const fn milliseconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// Waiting times of packets at a hop.
pub fn hop_result(hop: manager::Hop, delays: &DelayReport) -> HopResult {
    HopResult {
        hop: match hop {
            manager::Hop::Wlan => Hop::Wlan,
            manager::Hop::InternetDown => Hop::InternetDown,
            manager::Hop::InternetUp => Hop::InternetUp,
        },
        packets: delays.packets,
        mean_ms: milliseconds(delays.mean),
        p50_ms: milliseconds(delays.p50),
        p95_ms: milliseconds(delays.p95),
        max_ms: milliseconds(delays.most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_are_in_milliseconds() {
        let delays = DelayReport {
            packets: 3,
            mean: Span::from_micros(1500),
            p50: Span::from_millis(1),
            p95: Span::from_millis(2),
            most: Span::from_millis(4),
        };
        let hop = HopResult { hop: Hop::InternetUp, packets: 3, mean_ms: 1.5, p50_ms: 1.0, p95_ms: 2.0, max_ms: 4.0 };
        assert_eq!(hop_result(manager::Hop::InternetUp, &delays), hop);
    }
}
