//! The table of statuses, for a terminal and as docs/reproduction.md.

use std::fmt::Write;

use evenair_scenario::Published;
use serde::{Deserialize, Serialize};

use super::judge::{Evidence, Judged, Verdict, is_figure};
use super::quantities;

/// A published figure or finding with its status: a row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `experiment/id`, unique.
    pub name: String,
    pub published: Published,
    pub verdict: Verdict,
    /// Our numbers as text, then why they are not comparable.
    pub ours: Vec<String>,
}

impl From<Judged> for Row {
    fn from(judged: Judged) -> Self {
        let Judged { name, published, verdict, evidence: lines, mark } = judged;
        let mut ours: Vec<_> = lines.iter().map(|line| evidence(line, &published)).collect();
        ours.extend(mark.map(|mark| mark.text().to_owned()));
        if ours.is_empty() {
            ours.push("not reproduced yet".to_owned());
        }
        Self { name, published, verdict, ours }
    }
}

/// The table for a terminal: outside first, within last.
pub fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    for verdict in Verdict::ALL {
        let of_it: Vec<_> = rows.iter().filter(|row| row.verdict == verdict).collect();
        if of_it.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{} ({})", verdict.word(), of_it.len());
        for row in of_it {
            let _ = writeln!(out, "  {:<28} {}", row.name, published(&row.published));
            for line in &row.ours {
                let _ = writeln!(out, "  {:<28}   {line}", "");
            }
        }
        out.push('\n');
    }
    let _ = writeln!(out, "{}", counts(rows));
    out
}

/// Numbers of each status, for figures and findings.
fn counts(rows: &[Row]) -> String {
    let part = |figures: bool| {
        let of = |verdict| {
            let is_it = |row: &&Row| is_figure(&row.published) == figures && row.verdict == verdict;
            rows.iter().filter(is_it).count()
        };
        let each = Verdict::ALL.iter().rev().map(|&verdict| format!("{} {}", of(verdict), verdict.word()));
        each.collect::<Vec<_>>().join(", ")
    };
    format!("Figures: {}. Findings: {}.\n\n{}", part(true), part(false), quantities::text(rows))
}

/// Published value, variant and text.
fn published(published: &Published) -> String {
    let value = value(published);
    let value = if value.is_empty() { String::new() } else { format!("{value}: ") };
    let at = published.at.as_ref().map_or_else(String::new, |at| format!(" [{at}]"));
    format!("{value}{}{at}", published.note)
}

fn value(published: &Published) -> String {
    published.value.map_or_else(String::new, |value| {
        let digits = format!("{value}");
        format!("{digits} {}", published.unit).trim_end().to_owned()
    })
}

/// One line of evidence.
fn evidence(line: &Evidence, published: &Published) -> String {
    let mut text = line.origin.text();
    if !line.what.is_empty() {
        let _ = write!(text, "{} ", line.what);
    }
    text.push_str(&line.ours.text());
    if let Some(bound) = line.bound {
        let _ = write!(text, " ({})", bound.text());
    } else if let Some(value) = published.value.filter(|&value| value != 0.0) {
        let _ = write!(text, " ({:+.1} %)", 100.0 * (line.ours.mean / value - 1.0));
    }
    if !line.inside {
        text.push_str(", outside");
    }
    text
}

const HEAD: &str = "\
# Reproduction

What others published of each experiment in [scenarios/](../scenarios/), beside what the simulator gets. This file is
written by `make reproduction` (`evenair reproduce --write`), which takes the published values from the scenario files
and runs everything anew; change those, and not this.

A **figure** is *within* where our mean is within 10 % of it, and its 95 % interval (after ±) is no wider than that. A
**finding**, a direction, an order or a threshold, is within where all numbers of ours lie in the bounds given in
parentheses, the interval against them. Where a source leaves a part of its set-up open, the row has more than one reading
(after `read as`), one of them for all rows of an experiment: what is within in every reading is within, and what is so in the
nearest one alone is *fitted*, and so is a row to which the set-up was fitted. What is neither is *explained* only where a run in
the same row changes one named cause and moves our number into the band; the *source* is *inconsistent* where its own numbers
contradict each other, and *sources contradict* each other where a number that was published elsewhere rules this one out, which
the row proves; a *real place* is a room with its cards and positions, which are not published. Everything else is *outside*.
A figure that was read off a plot as one digit holds within half a unit of that digit. Words in quotation marks are the source's.

A **quantity** is a number that was published, in however many rows it stands: a total and its halves are one. It has the worst of
its rows' verdicts.

";

/// Changes of readings, appended to the table.
const READINGS: &str = include_str!("readings.md");
/// Reasons why rows that were within are so no longer.
pub const REASONS: &str = include_str!("reasons.md");

/// The table as docs/reproduction.md.
pub fn markdown(rows: &[Row]) -> String {
    let mut out = HEAD.to_owned();
    let _ = writeln!(out, "Version {}, seeds counted up from each file's own (1).\n", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(out, "{}", counts(rows));
    for verdict in Verdict::ALL {
        let (first, rest) = verdict.word().split_at(1);
        let title = first.to_uppercase() + rest;
        let _ = writeln!(out, "\n## {title}\n\n| value | published | ours | verdict |\n|---|---|---|---|");
        for row in rows.iter().filter(|row| row.verdict == verdict) {
            let cell = |text: &str| text.replace('|', "\\|");
            let (words, ours) = (cell(&published(&row.published)), cell(&row.ours.join("<br>")));
            let _ = writeln!(out, "| `{}` | {words} | {ours} | {} |", row.name, verdict.word());
        }
    }
    out.push_str(READINGS);
    out.push_str(REASONS);
    out
}

#[cfg(test)]
/// The names in a table written by [`markdown`].
pub fn names_in(markdown: &str) -> impl Iterator<Item = &str> {
    markdown.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next())
}

/// The status of a name in such a table.
pub fn verdict_in(markdown: &str, name: &str) -> Option<Verdict> {
    let row = markdown.lines().find(|line| line.starts_with(&format!("| `{name}` |")))?;
    Verdict::ALL.into_iter().find(|verdict| row.ends_with(&format!("| {} |", verdict.word())))
}
