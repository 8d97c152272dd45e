//! C_max: the highest total goodput of a constant service rate within the bounds of delay and fairness: that of a controller
//! that knows the medium from the start.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::cases::{self, Case};
use super::figures::{self, Figures};

/// The values that were found.
pub const CSV: &str = include_str!("cmax.csv");

/// First line of the file.
const HEAD: &str = "case,service_rate_mbps,goodput_mbps,p95_ms,jain";

/// Number of geometric steps of the coarse search, from half of the highest throughput to a little more than it.
const COARSE: u32 = 12;

/// Lowest and highest service rate, relative to the highest throughput.
const FROM_TO: (f64, f64) = (0.5, 1.1);

/// Number of service rates between the best one and the next higher one: a coarse step is 7 %, and the bars are for 3 %.
const FINE: u32 = 5;

/// Minimum of Jain's index of a valid setting.
const JAIN: f64 = 0.95;

/// The best constant service rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The service rate, Mb/s.
    pub rate: f64,
    /// The total goodput with it, Mb/s.
    pub goodput: f64,
    /// The 95th percentile of the time in the access point, ms.
    pub p95: f64,
    /// Jain's index.
    pub jain: f64,
}

/// `low` to `high` in `steps` equal ratios, both included.
fn geometric(low: f64, high: f64, steps: u32) -> impl Iterator<Item = f64> {
    (0..=steps).map(move |step| low * (high / low).powf(f64::from(step) / f64::from(steps)))
}

/// Searches the best service rate; `None` if no setting is within the bounds.
pub fn search(case: &Case, seeds: u32) -> Result<Option<Best>> {
    let carried = figures::of(case, seeds, "")?.ip.max(figures::of(case, seeds, figures::DEFAULT)?.ip);
    let coarse: Vec<f64> = geometric(FROM_TO.0 * carried, FROM_TO.1 * carried, COARSE - 1).collect();
    let best = best_of(case, seeds, &coarse)?;
    let around = best.and_then(|best| Some((best, *coarse.iter().find(|rate| **rate > best.rate)?)));
    let Some((best, next)) = around else { return Ok(best) };
    let fine: Vec<f64> = geometric(best.rate, next, FINE + 1).skip(1).take(FINE as usize).collect();
    let finer = best_of(case, seeds, &fine)?.filter(|finer| finer.goodput > best.goodput);
    Ok(Some(finer.unwrap_or(best)))
}

/// The best one of these service rates.
fn best_of(case: &Case, seeds: u32, rates: &[f64]) -> Result<Option<Best>> {
    let mut best = None;
    for rate in rates {
        let tables = format!("[manager.controller]\nkind = \"fixed\"\nrate = \"{rate:.4} Mb/s\"\n");
        best = better(best, *rate, case, figures::of(case, seeds, &tables)?);
    }
    Ok(best)
}

fn better(best: Option<Best>, rate: f64, case: &Case, found: Figures) -> Option<Best> {
    let counts = found.p95 <= case.delay_bound_ms() && found.jain >= JAIN;
    let new = Best { rate, goodput: found.goodput, p95: found.p95, jain: found.jain };
    if counts && best.is_none_or(|best| found.goodput > best.goodput) { Some(new) } else { best }
}

/// Results by name of the case; a case without a setting within the bounds has a line without numbers.
pub type Values = BTreeMap<String, Option<Best>>;

/// Reads what [`csv`] wrote.
pub fn read(text: &str) -> Result<Values> {
    let line = |line: &str| {
        let mut fields = line.split(',');
        let name = fields.next().unwrap_or_default().to_owned();
        let numbers: Vec<f64> = fields.filter(|f| !f.is_empty()).map(str::parse).collect::<Result<_, _>>()?;
        match numbers[..] {
            [] => Ok((name, None)),
            [rate, goodput, p95, jain] => Ok((name, Some(Best { rate, goodput, p95, jain }))),
            _ => bail!("cmax.csv: {line}"),
        }
    };
    text.lines().skip(1).map(line).collect()
}

/// The file, in the order of the cases; lines of former cases are dropped.
pub fn csv(values: &Values) -> String {
    let line = |name: String| {
        let value = values.get(&name)?;
        let numbers = value.map_or(",,,".to_owned(), |Best { rate, goodput, p95, jain }| {
            format!("{rate:.3},{goodput:.3},{p95:.2},{jain:.4}")
        });
        Some(format!("{name},{numbers}\n"))
    };
    let lines = cases::all().into_iter().filter_map(|case| line(case.to_string()));
    format!("{HEAD}\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_file_has_each_case_and_is_as_written() {
        let values = read(CSV).expect("it is well-formed");
        let names: Vec<String> = cases::all().iter().map(Case::to_string).collect();
        assert!(names.iter().all(|name| values.contains_key(name)), "left: --search");
        assert_eq!(csv(&values), CSV);
    }

    #[test]
    fn the_service_rates_are_in_equal_ratios() {
        let rates: Vec<f64> = geometric(2.0, 16.0, 3).collect();
        assert_eq!(rates.len(), 4);
        assert!(rates.iter().zip([2.0, 4.0, 8.0, 16.0]).all(|(got, right)| (got - right).abs() < 1e-9), "{rates:?}");
    }

    #[test]
    fn a_setting_is_valid_only_within_both_bounds() {
        let case = &cases::all()[0];
        let within = Figures { goodput: 20.0, p95: case.delay_bound_ms(), jain: JAIN, ..Figures::default() };
        let best = better(None, 21.0, case, within);
        assert_eq!(best.map(|best| best.goodput), Some(20.0));
        let slow = Figures { goodput: 22.0, p95: case.delay_bound_ms() + 0.1, ..within };
        let unfair = Figures { goodput: 22.0, jain: JAIN - 0.01, ..within };
        assert_eq!(better(best, 23.0, case, slow), best);
        assert_eq!(better(best, 23.0, case, unfair), best);
        assert_eq!(better(None, 23.0, case, unfair), None);
    }
}
