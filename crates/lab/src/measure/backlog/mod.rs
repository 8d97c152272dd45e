//! `evenair measure backlog`: the number of backlogged nodes from captures, beside the number that the runs counted, of sixteen mixes of
//! traffic.

mod mixes;

use anyhow::Result;
use clap::Args;

use super::jobs::in_parallel;
use super::page::Measured;
use mixes::Mix;

/// Tolerance: how far outside of the interval a run's mean may be, in nodes.
const OUTSIDE: f64 = 0.05;

/// Arguments of `evenair measure backlog`.
#[derive(Args)]
pub struct BacklogArgs {
    /// Seeds of each mix
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
}

/// Measures all mixes. A bound is missed where an interval does not contain the mean to within the tolerance, or is wider than its mix
/// allows.
pub fn measure(args: &BacklogArgs) -> Result<Measured> {
    let mixes = mixes::mixes();
    let jobs: Vec<(&Mix, u64)> = mixes.iter().flat_map(|mix| (1..=args.seeds).map(move |seed| (mix, seed))).collect();
    let rows = in_parallel(&jobs, |&(mix, seed)| row(mix, seed))?;
    let head = "| mix | counted | from | to | width | widest | unresolved | |\n|---|---|---|---|---|---|---|---|\n";
    let text = rows.iter().fold(head.to_owned(), |text, row| text + &row.text);
    Ok(Measured { text, is_met: rows.iter().all(|row| row.is_met) })
}

/// A mix with one seed, beside its bounds.
fn row(mix: &Mix, seed: u64) -> Result<Measured> {
    let folder = tempfile::tempdir()?;
    let (counted, inferred) = mix.run(seed, folder.path())?;
    let (low, high) = inferred.mean_interval();
    let (width, widest) = (high - low, mix.widest);
    let is_met = low - OUTSIDE <= counted && counted <= high + OUTSIDE && width <= widest;
    let unresolved = 100.0 * inferred.unresolved as f64 / inferred.frames as f64;
    let text = format!(
        "| {} | {counted:.3} | {low:.3} | {high:.3} | {width:.3} | {widest:.1} | {unresolved:.1} % | {} |\n",
        mix.name,
        if is_met { "" } else { "MISSED" }
    );
    Ok(Measured { text, is_met })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_mean_of_the_run() {
        let measured = measure(&BacklogArgs { seeds: 1 }).expect("it can be simulated");
        assert!(measured.is_met, "{}", measured.text);
    }
}
