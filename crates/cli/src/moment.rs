//! Moments as operators write them.

use std::time::{SystemTime, UNIX_EPOCH};

/// Parses a moment, in seconds since 1970, UTC: a time, or a time ago.
///
/// # Errors
/// The text is neither; the error lists the valid forms.
pub fn moment_s(text: &str) -> Result<f64, String> {
    let now = SystemTime::now();
    let ago = humantime::parse_duration(text).ok().and_then(|ago| now.checked_sub(ago));
    // The time of day may be missing, and so may its seconds.
    let padded = match text.len() {
        10 => format!("{text} 00:00:00"),
        16 => format!("{text}:00"),
        _ => text.to_owned(),
    };
    let at = ago.or_else(|| humantime::parse_rfc3339_weak(&padded).ok());
    let since = at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let right = "a time in UTC such as \"2026-03-01 08:00\", or how long ago, such as \"2h\" or \"30 min\"";
    since.map(|since| since.as_secs_f64()).ok_or_else(|| format!("{text:?} is not {right}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-01, midnight.
    const BEGIN: f64 = 1_772_323_200.0;

    #[test]
    fn moments_are_times_or_ago() {
        assert_eq!(moment_s("2026-03-01"), Ok(BEGIN));
        assert_eq!(moment_s("2026-03-01 08:00"), Ok(BEGIN + 8.0 * 3600.0));
        assert_eq!(moment_s("2026-03-01T08:00:01Z"), Ok(BEGIN + 8.0 * 3600.0 + 1.0));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
        assert!((moment_s("2h").expect("a while") - (now - 7200.0)).abs() < 5.0);
        for wrong in [
            "yesterday",
            "-1h",
            "2026-13-01",
            "",
            "99999999999 years",
            "18446744073709551615s",
            "9".repeat(400).as_str(),
        ] {
            assert!(moment_s(wrong).is_err_and(|error| error.contains("2026-03-01 08:00")), "{wrong}");
        }
    }
}
