//! Wall-clock times of events and samples, for other machines.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970, rounded to milliseconds.
pub(crate) fn seconds(at: SystemTime) -> f64 {
    // A clock before 1970 is not set.
    at.duration_since(UNIX_EPOCH).map_or(0.0, |since| (since.as_secs_f64() * 1e3).round() / 1e3)
}
