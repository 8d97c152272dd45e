//! `evenair measure grid`: the default controller on a grid of networks that differ in all relevant factors, each without a box, with
//! the default controller, and with the best constant service rate.
//!
//! The best constant service rates are in `cmax.csv` beside this file; `--search` finds them anew.

mod cases;
mod cmax;
mod figures;
mod table;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::jobs::in_parallel;
use super::page::Measured;
use cases::Case;
use table::Row;

/// Seeds of each case, and of the search of its best constant service rate.
const SEEDS: u32 = 3;

/// Arguments of `evenair measure grid`.
#[derive(Args)]
pub struct GridArgs {
    /// Only cases with this in their names
    #[arg(value_name = "PART", default_value = "")]
    part: String,
    /// Seeds of each case, whose figures are averaged
    #[arg(long, value_name = "N", default_value_t = SEEDS, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Search the best constant service rates, and write them to this file (grid/cmax.csv in the sources)
    #[arg(long, value_name = "FILE")]
    search: Option<PathBuf>,
}

/// Measures the cases, or searches their best constant service rates.
pub fn measure(args: &GridArgs) -> Result<Measured> {
    let cases: Vec<Case> = cases::all().into_iter().filter(|case| case.to_string().contains(&args.part)).collect();
    let known = cmax::read(cmax::CSV)?;
    if let Some(file) = &args.search {
        return search(&cases, known, file.clone());
    }
    let rows = in_parallel(&cases, |case| {
        let best = known.get(&case.to_string()).copied().context("not in cmax.csv: search it")?;
        Row::measure(case, best, args.seeds).with_context(|| case.to_string())
    })?;
    Ok(table::markdown(&rows).into())
}

fn search(cases: &[Case], mut known: cmax::Values, file: PathBuf) -> Result<Measured> {
    let found = in_parallel(cases, |case| Ok((case.to_string(), cmax::search(case, SEEDS)?)))?;
    let without = found.iter().filter(|(_, best)| best.is_none()).map(|(case, _)| format!("- {case}\n"));
    let without: String = without.collect();
    known.extend(found);
    fs::write(&file, cmax::csv(&known)).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(format!("Searched: {} cases. Without a service rate within the bounds:\n\n{without}", cases.len()).into())
}
