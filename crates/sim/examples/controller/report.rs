//! Tables in Markdown: rows of cells, columns of figures with their bars, and how many cells miss each.

use crate::runs::{Series, mean, measure};
use crate::site::{Control, Site};
use crate::{Failure, Options};

/// A cell as it was measured.
#[derive(Clone, Debug)]
pub struct Row {
    pub site: Site,
    pub without: Series,
    pub with: Series,
    /// The total at equal airtime, Mb/s, where it is asked for.
    pub equal: f64,
}

/// What a value is to meet: its words, and whether it does.
type Bar = (&'static str, fn(&Site, f64) -> bool);

/// A column: its heading, the decimals that it shows, its value in a row, and the bars for it.
#[derive(Clone)]
pub struct Column {
    head: &'static str,
    decimals: usize,
    of: fn(&Row) -> f64,
    bars: Vec<Bar>,
}

impl Column {
    pub fn bar(mut self, words: &'static str, is_met: fn(&Site, f64) -> bool) -> Self {
        self.bars.push((words, is_met));
        self
    }
}

pub fn column(head: &'static str, decimals: usize, of: fn(&Row) -> f64) -> Column {
    Column { head, decimals, of, bars: Vec::new() }
}

/// Throughput with over that without the box, paired by seed.
pub fn ratio(row: &Row) -> f64 {
    mean(row.with.ratios(&row.without))
}

pub fn mbps() -> [Column; 2] {
    [
        column("without, Mb/s", 1, |row| row.without.mean(|at| at.mbps)),
        column("with, Mb/s", 1, |row| row.with.mean(|at| at.mbps)),
    ]
}

pub fn p95() -> [Column; 2] {
    [
        column("AP p95 without, ms", 1, |row| row.without.mean(|at| at.p95_ms)),
        column("AP p95 with, ms", 1, |row| row.with.mean(|at| at.p95_ms)),
    ]
}

/// Measures the sites that `--only` leaves, without and with the box.
pub fn rows(sites: Vec<Site>, options: &Options) -> Result<Vec<Row>, Failure> {
    let sites = chosen(sites, options);
    let control = if options.reported { Control::Reported } else { Control::Unreported };
    let series = measure(&sites, [Control::Without, control], options)?;
    let row = |(site, [without, with]): (Site, [Series; 2])| Row { site, without, with, equal: f64::NAN };
    Ok(sites.into_iter().zip(series).map(row).collect())
}

/// Those sites that `--only` leaves.
pub fn chosen(sites: Vec<Site>, options: &Options) -> Vec<Site> {
    sites.into_iter().filter(|site| site.name.contains(&options.only)).collect()
}

/// Prints the table, and a line for each bar.
pub fn print(rows: &[Row], columns: &[Column]) {
    let heads: Vec<&str> = columns.iter().map(|column| column.head).collect();
    println!("| cell | {} |\n|---|{}", heads.join(" | "), "---|".repeat(heads.len()));
    for row in rows {
        let value = |Column { decimals, of, bars, .. }: &Column| {
            let value = of(row);
            let is_met = bars.iter().all(|(_, is_met)| is_met(&row.site, value));
            format!(" {value:.decimals$}{} |", if is_met { "" } else { " MISSED" })
        };
        println!("| {} |{}", row.site.name, columns.iter().map(value).collect::<String>());
    }
    println!();
    for Column { head, of, bars, .. } in columns {
        for (words, is_met) in bars {
            let missed = rows.iter().filter(|row| !is_met(&row.site, of(row))).count();
            println!("missed {missed} of {}: {head}: {words}", rows.len());
        }
    }
}
