//! Tables of the results.

use std::fmt::Write;

use super::judge::{Judged, Verdict};

/// One line per value, and the number of values that agree.
pub fn table(judged: &[Judged]) -> String {
    let wide = |text: fn(&Judged) -> &str| judged.iter().map(|value| text(value).len()).max().unwrap_or(0);
    let (case_wide, what_wide) = (wide(|value| &value.case), wide(|value| &value.what));
    let mut text = format!(
        "{:case_wide$}  {:what_wide$}  {:>18}  {:>18}  {:>16}  {:>6}  {:>6}  verdict\n",
        "case", "value", "ours", "ns-3", "difference", "+-", "band"
    );
    for value in judged {
        let relative = 100.0 * value.difference / value.ns3;
        let verdict = match value.verdict {
            Verdict::Agree => "agree",
            Verdict::Differ => "DIFFER",
            Verdict::NoCase => "NO CASE (the interval is wider than twice the band)",
        };
        let _ = writeln!(
            text,
            "{:case_wide$}  {:what_wide$}  {:>9.4} ±{:.4}  {:>9.4} ±{:.4}  {:+.4} ({relative:+.1} %)  {:.4}  {:.4}  {verdict}",
            value.case,
            value.what,
            value.ours,
            value.ours_half_width,
            value.ns3,
            value.ns3_half_width,
            value.difference,
            value.half_width,
            value.band,
        );
    }
    let agree = judged.iter().filter(|value| value.verdict == Verdict::Agree).count();
    let _ = writeln!(text, "{agree} of {} values agree", judged.len());
    text
}
