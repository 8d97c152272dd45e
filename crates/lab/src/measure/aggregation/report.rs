//! Tables in Markdown: rows of cells, columns of figures with their bars, and the number of cells that miss each bar.

use super::runs::{Row, Window, mean};
use super::site::Site;

/// A bar of a value: its text, and whether a value meets it.
type Bar = (&'static str, fn(&Site, f64) -> bool);

/// A column: heading, decimals, value in a row, and bars.
#[derive(Clone, Copy)]
pub struct Column {
    head: &'static str,
    decimals: usize,
    of: fn(&Row) -> f64,
    bars: &'static [Bar],
}

impl Column {
    pub const fn bars(self, bars: &'static [Bar]) -> Self {
        Self { bars, ..self }
    }
}

pub const fn column(head: &'static str, decimals: usize, of: fn(&Row) -> f64) -> Column {
    Column { head, decimals, of, bars: &[] }
}

pub const WITHOUT: Column = column("without, Mb/s", 1, |row| row.without.mean(|at| at.mbps));
pub const WITH: Column = column("with, Mb/s", 1, |row| row.with.mean(|at| at.mbps));
/// Throughput with over that without the box, paired by seed.
pub const RATIO: Column = column("with / without", 3, ratio);
pub const P95_WITHOUT: Column = column("AP p95 without, ms", 1, |row| row.without.mean(|at| at.p95_ms));
pub const P95: Column = column("AP p95 with, ms", 1, |row| row.with.mean(|at| at.p95_ms));
pub const EQUAL: Column = column("equal, Mb/s", 1, |row| row.equal);
pub const JAIN_WITHOUT: Column = column("Jain without", 3, |row| row.without.mean(Window::jain));
pub const JAIN: Column = column("Jain with", 3, |row| row.with.mean(Window::jain));

pub const EXPLANATION: &str = "Jain's index is of the measured airtime, both ways, of stations with bulk transfers. \"equal\" is \
     the total at equal\nairtime: the mean over them of what each carries alone without a box, measured.\n";

/// Throughput and queue time, without and with the box.
pub const COMPARISON: [Column; 7] = [
    WITHOUT,
    WITH,
    RATIO.bars(&[(">= 0.95", |_, ratio| ratio >= 0.95)]),
    column("lowest seed", 3, |row| row.ratios().fold(f64::INFINITY, f64::min)),
    P95_WITHOUT,
    P95.bars(&[("<= 11 ms at 20 MHz (queues by station: 14), 7 ms at 40 and 80 MHz (10)", |site, ms| {
        ms <= site.p95_bar_ms()
    })]),
    column("runs in which the guard acted", 0, |row| row.with.0.iter().filter(|run| run[0].guard).count() as f64),
];

pub fn ratio(row: &Row) -> f64 {
    mean(row.ratios())
}

/// The table, and a line for each bar.
pub fn table(rows: &[Row], columns: &[Column]) -> String {
    let heads: Vec<&str> = columns.iter().map(|column| column.head).collect();
    let mut text = format!("| cell | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in rows {
        let value = |Column { decimals, of, bars, .. }: &Column| {
            let value = of(row);
            let is_met = bars.iter().all(|(_, is_met)| is_met(&row.site, value));
            format!(" {value:.decimals$}{} |", if is_met { "" } else { " MISSED" })
        };
        text += &format!("| {} |{}\n", row.site.name, columns.iter().map(value).collect::<String>());
    }
    text.push('\n');
    for Column { head, of, bars, .. } in columns {
        for (words, is_met) in *bars {
            let missed = rows.iter().filter(|row| !is_met(&row.site, of(row))).count();
            text += &format!("missed {missed} of {}: {head}: {words}\n", rows.len());
        }
    }
    text.push('\n');
    text
}
