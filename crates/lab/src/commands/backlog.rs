//! `evenair backlog`: the number of backlogged nodes, from captures.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_study::backlog::{Inferred, infer};

/// Arguments of `evenair backlog`.
#[derive(Args)]
pub struct BacklogArgs {
    /// Capture of a monitor interface: pcap or pcapng with radiotap headers, gzipped or not; - is standard input
    air: PathBuf,
    /// Capture of the access point's wired side, at the same time and with the same clock: pcap or pcapng of Ethernet
    wire: PathBuf,
}

/// Prints the chain of backlogged nodes.
pub fn backlog(args: &BacklogArgs) -> Result<ExitCode> {
    let inferred = infer(&args.air, &args.wire)?;
    inferred.cuts.iter().for_each(|cut| eprintln!("warning: {cut}"));
    let total: u64 = inferred.chain.states().map(|(_, visits)| visits).sum();
    if total == 0 {
        bail!("{}: no two frames whose states are known follow one another", args.air.display());
    }
    let (mean, mean_plus_2_sigma) = inferred.mean_and_2_sigma();
    let part = |of: u64, all: u64| 100.0 * of as f64 / all as f64;
    println!("frames received    {}", inferred.frames);
    println!("not in the capture {:.2} %", part(inferred.lost, inferred.frames));
    println!("unresolved         {:.2} %", part(inferred.unresolved, inferred.frames));
    let (low, high) = inferred.mean_interval();
    let interval = if inferred.lost > 0 { format!(" ({low:.3} to {high:.3})") } else { String::new() };
    println!("mean               {mean:.3}{interval} backlogged, the access point included");
    println!("mean + 2 sigma     {mean_plus_2_sigma:.3}");
    for (state, visits) in inferred.chain.states() {
        println!("state {state:<4} {:>6.2} %   next {}", part(visits, total), next(&inferred, state).join("  "));
    }
    Ok(ExitCode::SUCCESS)
}

/// How often a state is followed by which: with intervals where frames are not in the capture.
fn next(inferred: &Inferred, state: u32) -> Vec<String> {
    let nexts = inferred.chain.transitions().filter(|&(from, ..)| from == state);
    let shown = nexts.map(|(_, next, _)| {
        let (rate, half) = inferred.rate(state, next);
        if inferred.lost > 0 { format!("{next}: {rate:.3} ± {half:.3}") } else { format!("{next}: {rate:.3}") }
    });
    shown.collect()
}
