//! The number of backlogged nodes from captures, beside the number that the runs counted: sixteen mixes of traffic, each with several seeds
//! (five by default).
//!
//! `cargo run --release -p evenair-study --example backlog -- [seeds]`. Exits with 1 if an interval does not contain the mean to within
//! 0.05, or is wider than its mix allows.

#[path = "../tests/captures/mixes.rs"]
mod mixes;

use std::process::ExitCode;

/// Tolerance: how far outside of the interval a run's mean may be, in nodes.
const OUTSIDE: f64 = 0.05;

fn main() -> ExitCode {
    let seeds = std::env::args().nth(1).map_or(5, |seeds| seeds.parse().expect("a number of seeds"));
    println!(
        "{:<32} {:>8} {:>8} {:>8} {:>7} {:>7} {:>11}",
        "mix", "counted", "from", "to", "width", "widest", "unresolved"
    );
    let mut missed = false;
    for mix in mixes::mixes() {
        for seed in 1..=seeds {
            let folder = tempfile::tempdir().expect("a folder");
            let (counted, inferred) = mix.run(seed, folder.path());
            let (low, high) = inferred.mean_interval();
            let right = low - OUTSIDE <= counted && counted <= high + OUTSIDE && high - low <= mix.widest;
            missed |= !right;
            println!(
                "{:<32} {counted:>8.3} {low:>8.3} {high:>8.3} {:>7.3} {:>7.1} {:>9.1} %{}",
                mix.name,
                high - low,
                mix.widest,
                100.0 * inferred.unresolved as f64 / inferred.frames as f64,
                if right { "" } else { "  MISSED" }
            );
        }
    }
    ExitCode::from(u8::from(missed))
}
