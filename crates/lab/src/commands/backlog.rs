//! `evenair backlog`: the number of backlogged nodes, from captures.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_study::backlog::infer;

/// Arguments of `evenair backlog`.
#[derive(Args)]
pub struct BacklogArgs {
    /// Capture of a monitor interface: pcap or pcapng with radiotap headers
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
    println!("unresolved         {:.2} %", part(inferred.unresolved, inferred.frames));
    println!("mean               {mean:.3} backlogged, the access point included");
    println!("mean + 2 sigma     {mean_plus_2_sigma:.3}");
    for (state, visits) in inferred.chain.states() {
        let next: Vec<_> = inferred.chain.transitions().filter(|&(from, ..)| from == state).collect();
        let left: u64 = next.iter().map(|&(_, _, times)| times).sum();
        let next: Vec<_> =
            next.iter().map(|&(_, to, times)| format!("{to}: {:.3}", times as f64 / left as f64)).collect();
        println!("state {state:<4} {:>6.2} %   next {}", part(visits, total), next.join("  "));
    }
    Ok(ExitCode::SUCCESS)
}
