//! How measurements make their runs: all at once on all cores.

use anyhow::Result;
use indicatif::ProgressBar;
use rayon::prelude::*;

/// Makes each run, with a progress bar where there is a terminal; the results are in the order of the jobs.
///
/// # Errors
/// That of a run.
pub fn in_parallel<T: Sync, R: Send>(jobs: &[T], run: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let bar = ProgressBar::new(jobs.len() as u64);
    let one = |job: &T| {
        let result = run(job);
        bar.inc(1);
        result
    };
    let results = jobs.par_iter().map(one).collect();
    bar.finish_and_clear();
    results
}
