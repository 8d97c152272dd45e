//! `evenair calibrate sink`: the receiver, on the station.

use std::net::{IpAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use clap::Args;
use evenair_study::calibration::WINDOW;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::PORT;
use crate::calibrate::receive;

/// Arguments of `evenair calibrate sink`.
#[derive(Args)]
pub struct SinkArgs {
    /// The address on which it receives
    #[arg(long, default_value = "::", value_name = "ADDRESS")]
    listen: IpAddr,
    /// The port
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// Packets per window; each window gives a pair of signal and goodput
    #[arg(long, default_value_t = WINDOW, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    window: u64,
}

/// Receives until it is interrupted.
pub fn sink(args: &SinkArgs) -> Result<ExitCode> {
    let at = (args.listen, args.port);
    let socket =
        UdpSocket::bind(at).with_context(|| format!("cannot listen on {}, port {}", args.listen, args.port))?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("install a signal handler")?;
    }
    println!("receiving on {}; Ctrl-C ends it", socket.local_addr()?);
    receive(&socket, args.window, &stop, |from| println!("a measurement begins, from {from}"))?;
    Ok(ExitCode::SUCCESS)
}
