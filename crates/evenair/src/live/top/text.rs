//! Formats numbers and names for a table of fixed columns.

use evenair_api::watch::{Times, Value};

/// Placeholder for unknown values.
pub const UNKNOWN: &str = "-";

/// Truncates a text to `room` characters, with an ellipsis in its middle.
pub fn shortened(text: &str, room: usize) -> String {
    let letters: Vec<char> = text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    if letters.len() <= room {
        return letters.into_iter().collect();
    }
    let Some(kept) = room.checked_sub(1) else { return String::new() };
    let (front, back) = (kept.div_ceil(2), kept / 2);
    let end = &letters[letters.len() - back..];
    letters[..front].iter().chain(&['\u{2026}']).chain(end).collect()
}

/// A number with as many decimals as fit into six characters.
pub fn number(value: impl Into<Option<f64>>) -> String {
    match value.into() {
        None => UNKNOWN.into(),
        Some(value) if value >= 999.95 => format!("{value:.0}"),
        Some(value) if value >= 9.995 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// Milliseconds.
pub fn ms(value: Option<f64>) -> String {
    match value {
        None => UNKNOWN.into(),
        Some(value) if value >= 99.95 => format!("{value:.0}"),
        Some(value) => format!("{value:.1}"),
    }
}

/// The 95th percentile.
pub fn p95(times: Option<Times>) -> String {
    ms(times.map(|times| times.p95_ms))
}

/// A proportion as whole percent.
pub fn percent(part: Option<f64>) -> String {
    part.map_or_else(|| UNKNOWN.into(), |part| format!("{:.0}", 100.0 * part))
}

/// The sum of values; unknown if all are unknown.
pub fn sum(values: &[Value]) -> Option<f64> {
    values.iter().filter_map(|value| value.value).reduce(|a, b| a + b)
}

/// A time in its largest units.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_loses_its_middle() {
        assert_eq!(shortened("annes-laptop", 12), "annes-laptop");
        assert_eq!(shortened("annes-laptop-in-the-hall", 12), "annes-\u{2026}-hall");
        assert_eq!(shortened("Jürgens Gerät", 6), "Jür\u{2026}ät");
        assert_eq!((shortened("ab", 1), shortened("ab", 0)), ("\u{2026}".to_owned(), String::new()));
        assert_eq!(shortened("a\x1b[2J", 9), "a?[2J", "a name cannot command the terminal");
    }

    #[test]
    fn numbers_fit_their_columns() {
        for value in [0.0, 9.994, 9.995, 99.96, 999.94, 999.95, 12_345.6] {
            assert!(number(value).len() <= 6, "{}", number(value));
        }
        assert_eq!([number(None), number(0.004), ms(Some(0.0)), ms(None)], ["-", "0.00", "0.0", "-"]);
    }

    #[test]
    fn a_duration_has_two_units_at_most() {
        let texts = [59.9, 60.0, 3660.0, 90_000.0].map(duration);
        assert_eq!(texts, ["59 s", "1 min", "1 h 1 min", "1 d 1 h"]);
    }
}
