//! `evenair backlog`: the number of backlogged nodes, inferred from captures.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_study::backlog::{Inferred, Unread, infer};

/// Arguments of `evenair backlog`.
#[derive(Args)]
pub struct BacklogArgs {
    /// Capture of a monitor interface: pcap or pcapng with radiotap headers, gzipped or not; - is standard input
    air: PathBuf,
    /// Capture of the access point's wired side, at the same time and with the same clock: pcap or pcapng of Ethernet
    wire: PathBuf,
}

/// Minimum proportion of certain frames for the chain to be shown.
const MOSTLY: f64 = 0.9;

/// Prints the number of backlogged nodes.
pub fn backlog(args: &BacklogArgs) -> Result<ExitCode> {
    let inferred = infer(&args.air, &args.wire)?;
    inferred.cuts.iter().for_each(|cut| eprintln!("warning: {cut}"));
    if inferred.frames == 0 {
        bail!("{}: no data frame with its ACK", args.air.display());
    }
    if inferred.wired == 0 {
        let (air, wire) = (args.air.display(), args.wire.display());
        eprintln!("warning: no packet of {air} is in {wire}: are they of the same access point, at the same time?");
    }
    let part = |of: u64| 100.0 * of as f64 / inferred.frames as f64;
    println!("frames received    {}", inferred.frames);
    println!("not in the capture {:.2} %", part(inferred.lost));
    unread(&inferred);
    println!("unresolved         {:.2} %", part(inferred.unresolved));
    let (low, high) = inferred.mean_interval();
    match inferred.mean() {
        Ok(mean) => {
            println!("mean               {mean:.3} ({low:.3} to {high:.3}) backlogged, the access point included")
        }
        Err(why) => println!("mean               not known: {why}"),
    }
    if inferred.mean().is_ok() && inferred.certain() >= MOSTLY {
        chain(&inferred);
    } else {
        println!("states             not shown: {:.0} % of them are certain", 100.0 * inferred.certain());
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints how many frames are known by their sender only, if any.
fn unread(inferred: &Inferred) {
    let Unread { encrypted, cut, format } = inferred.unread;
    let all = [
        (encrypted, "are encrypted"),
        (cut, "end within their headers: capture with a larger snap length (tcpdump -s 256)"),
        (format, "are A-MSDUs or have no LLC header"),
    ];
    for (frames, what) in all.into_iter().filter(|(frames, _)| *frames > 0) {
        println!("not read           {frames} data frames {what}");
    }
}

/// Prints the certain states and their transitions.
fn chain(inferred: &Inferred) {
    println!("mean + 2 sigma     {:.3}", inferred.mean_and_2_sigma().1);
    let total: u64 = inferred.chain.states().map(|(_, visits)| visits).sum();
    for (state, visits) in inferred.chain.states() {
        let part = 100.0 * visits as f64 / total as f64;
        println!("state {state:<4} {part:>6.2} %   next {}", next(inferred, state).join("  "));
    }
}

/// The transitions from a state, with intervals if the capture lacks frames.
fn next(inferred: &Inferred, state: u32) -> Vec<String> {
    let nexts = inferred.chain.transitions().filter(|&(from, ..)| from == state);
    let shown = nexts.map(|(_, next, _)| {
        let (rate, half) = inferred.rate(state, next);
        if inferred.lost > 0 { format!("{next}: {rate:.3} ± {half:.3}") } else { format!("{next}: {rate:.3}") }
    });
    shown.collect()
}
