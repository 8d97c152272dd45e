//! `evenair sim merge`: merges the parts of a sweep.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_study::{LinePlace, Lock, RUNS, claim, merge, of_folder, record_files};

/// Arguments of `evenair sim merge`.
#[derive(Args)]
pub struct MergeArgs {
    /// The folder of `evenair sim sweep --store`, which gets all runs in runs.jsonl
    store: PathBuf,
    /// Other folders with runs of the same sweep, such as those of other machines
    others: Vec<PathBuf>,
}

/// Merges the runs of all folders into the first one.
pub fn run(args: &MergeArgs) -> Result<ExitCode> {
    if args.others.is_empty() && !args.store.is_dir() {
        bail!("{} is no folder", args.store.display());
    }
    let runs = args.store.join(RUNS);
    let _lock = Lock::of(&runs)?;
    let mut files = record_files(&args.store)?;
    if files.is_empty() && args.others.is_empty() {
        return no_runs(&args.store);
    }
    for other in &args.others {
        let found = record_files(other)?;
        if found.is_empty() {
            return no_runs(other);
        }
        files.extend(found);
    }
    check(&args.store, &args.others)?;
    let merged = merge(&files, &runs)?;
    for LinePlace { file, line, is_whole } in &merged.passed_over {
        let why = if *is_whole { "is no record" } else { "is cut short" };
        eprintln!("note: {}: line {line} {why}, and left out", file.display());
    }
    let failed = if merged.failed > 0 { format!(", {} FAILED", merged.failed) } else { String::new() };
    let repeated = match merged.repeated {
        0 => String::new(),
        count => format!("; {count} more records are equal to theirs"),
    };
    println!("{} runs of {} files are in {}{failed}{repeated}", merged.runs, files.len(), runs.display());
    println!("next: the same evenair sim sweep with --store {}, without --part", args.store.display());
    Ok(ExitCode::SUCCESS)
}

fn no_runs(folder: &Path) -> Result<ExitCode> {
    bail!("{} has no runs: neither {RUNS} nor part-K-of-N.jsonl", folder.display())
}

/// Checks that all folders belong to the same experiment; the first gets its description if it has
/// none.
fn check(store: &Path, others: &[PathBuf]) -> Result<()> {
    for other in others {
        let Some(experiment) = of_folder(other)? else { continue };
        if let Err(error) = claim(store, &experiment, "merge") {
            bail!("{}: {error}", other.display());
        }
    }
    Ok(())
}
