//! The weekly summary: when it is due, and its text. A week ends on Monday at 6:00 UTC, and is summarized
//! ten minutes later.

use std::fmt::Write as _;

use super::notice::date;
use crate::history::Week;

/// Length of a week, in seconds.
const WEEK_S: u64 = 7 * 24 * 60 * 60;
/// The first Monday since 1970 at 6:00, in seconds.
const FIRST_S: u64 = (4 * 24 + 6) * 60 * 60;
/// Time that the history needs to merge the last hour, in seconds.
const MERGED_S: u64 = 10 * 60;
/// Deadline of a summary, in seconds after the week's end, since minutes are kept for a week only. A later
/// one is skipped.
pub(crate) const LATEST_S: u64 = 24 * 60 * 60;

/// The end of a week that has ended since the last summarized one; both in seconds since 1970.
pub(crate) fn ended(last_s: u64, now_s: u64) -> Option<u64> {
    let end_s = FIRST_S + now_s.checked_sub(FIRST_S + MERGED_S)? / WEEK_S * WEEK_S;
    (end_s > last_s).then_some(end_s)
}

/// The summary of a week, compared with the previous one; `names`: whether to list stations by name.
pub(crate) fn text(week: &Week, before: Option<&Week>, names: bool) -> String {
    let before = before.filter(|before| before.end_s + WEEK_S == week.end_s);
    let mut text =
        format!("{} to {} UTC, and the week before in brackets\n\n", date(week.end_s - WEEK_S), date(week.end_s));
    let hours = |s: u64| format!("{:.1} h", s as f64 / 3600.0);
    let unknown = |week: &Week| WEEK_S.saturating_sub(week.good_s + week.watch_s + week.bad_s);
    for (what, of) in [
        ("good", (|week| week.good_s) as fn(&Week) -> u64),
        ("watch", |week| week.watch_s),
        ("bad", |week| week.bad_s),
        ("not recorded", unknown),
    ] {
        line(&mut text, what, &hours(of(week)), before.map(|before| hours(of(before))));
    }
    text += "\nLatency in the busiest 10 % of the minutes\n\n";
    let ms = |value: Option<f64>| value.map_or_else(|| "unknown".into(), |ms| format!("{ms:.0} ms"));
    for (what, of) in [
        ("Wi-Fi, half", (|week| week.wlan.p50_ms) as fn(&Week) -> Option<f64>),
        ("Wi-Fi, 95 of 100", |week| week.wlan.p95_ms),
        ("Internet, half", |week| week.internet.p50_ms),
        ("Internet, 95 of 100", |week| week.internet.p95_ms),
    ] {
        line(&mut text, what, &ms(of(week)), before.map(|before| ms(of(before))));
    }
    if names && !week.stations.is_empty() {
        text += "\nStations with the highest Wi-Fi latency (95 of 100 packets took no longer)\n\n";
        for station in &week.stations {
            let name: String = station.name.chars().filter(|c| !c.is_control()).collect();
            let gigabytes = station.bytes as f64 / 1e9;
            _ = writeln!(text, "{name}: {:.0} ms, {gigabytes:.2} GB", station.p95_ms);
        }
    }
    text
}

fn line(text: &mut String, what: &str, value: &str, before: Option<String>) {
    let before = before.unwrap_or_else(|| "unknown".into());
    _ = writeln!(text, "{what:<20} {value:>10}  ({before})");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{WeekLatency, Worst};

    /// Monday 2026-03-02, 6:00.
    const END_S: u64 = 1_772_431_200;

    #[test]
    fn weeks_end_on_monday_at_six() {
        assert_eq!(date(END_S), "2026-03-02 06:00");
        assert_eq!(ended(END_S - WEEK_S, END_S + MERGED_S), Some(END_S));
        assert_eq!(ended(END_S - WEEK_S, END_S + MERGED_S - 1), None);
        assert_eq!(ended(END_S, END_S + WEEK_S - 1), None);
        assert_eq!(ended(0, END_S + MERGED_S + 5), Some(END_S));
        assert_eq!(ended(0, 5), None);
    }

    #[test]
    fn the_summary_is_beside_that_of_the_week_before() {
        let wlan = WeekLatency { p50_ms: Some(12.4), p95_ms: Some(80.0) };
        let stations = vec![Worst { name: "Anne".into(), p95_ms: 230.0, bytes: 1_200_000_000 }];
        let week =
            Week { end_s: END_S, good_s: 360_000, watch_s: 1800, bad_s: 3600, wlan, stations, ..Week::default() };
        let before = Week { end_s: END_S - WEEK_S, bad_s: 7200, ..Week::default() };
        let shown = text(&week, Some(&before), true);
        for part in [
            "2026-02-23 06:00 to 2026-03-02 06:00",
            "100.0 h",
            "1.0 h  (2.0 h)",
            "12 ms  (unknown)",
            "Anne: 230 ms, 1.20 GB",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let hidden = text(&week, None, false);
        assert!(!hidden.contains("Anne") && hidden.contains("1.0 h  (unknown)"), "{hidden}");
        // The week in between is missing.
        let old = Week { end_s: END_S - 2 * WEEK_S, ..before };
        assert_eq!(text(&week, Some(&old), false), hidden);
    }
}
