//! `evenair calibrate link`: the measuring end on the wired side.

use std::net::{IpAddr, UdpSocket};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use evenair_boxfile::{BoxConfig, CONFIG, SourceConfig};
use evenair_packet::MacAddr;
use evenair_reader::{FromWritten, Scalar};
use evenair_study::calibration::Calibration;
use evenair_units::{BitRate, Span};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::PORT;
use crate::calibrate::{LEAST_PAYLOAD, Link, LinkSample, Pairs, measure};

/// UDP payload over IPv4 over Ethernet without fragments.
const LONGEST_PAYLOAD: usize = 1472;

/// Arguments of `evenair calibrate link`.
#[derive(Args)]
pub struct LinkArgs {
    /// The station's IP address, where `evenair calibrate sink` runs
    address: IpAddr,
    /// The station's MAC address
    #[arg(long, value_name = "MAC")]
    station: MacAddr,
    /// The box's configuration file, with the `[[telemetry]]` that reports the signal
    #[arg(long, default_value = CONFIG, value_name = "FILE")]
    config: PathBuf,
    /// The station's port
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// How long to measure; Ctrl-C ends the measurement early
    #[arg(long = "for", default_value = "2 min", value_name = "TIME", value_parser = time)]
    lasts: Span,
    /// Sending rate; must saturate the link at its best signal
    #[arg(long, default_value = "40 Mb/s", value_name = "RATE", value_parser = rate)]
    rate: BitRate,
    /// Bytes of UDP payload of a packet
    #[arg(long, default_value_t = 1024, value_name = "BYTES")]
    payload: usize,
    /// The noise level in dBm, which access points rarely report
    #[arg(long, default_value_t = -95.0, value_name = "DBM", allow_hyphen_values = true)]
    noise: f64,
    /// Step in dB by which signals are grouped
    #[arg(long, default_value_t = 1.0, value_name = "DB")]
    step: f64,
    /// Parent directory of the table
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
}

/// Measures, writes and prints the table.
pub fn link(args: &LinkArgs) -> Result<ExitCode> {
    check(args)?;
    let (source, interval) = source_of(args)?;
    let local = if args.address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(local).context("cannot open a socket")?;
    let peer = (args.address, args.port);
    socket.connect(peer).with_context(|| format!("there is no way to {}", args.address))?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("install a signal handler")?;
    }
    let name = source.name();
    let link = Link {
        station: args.station,
        rate_bps: args.rate.as_bps(),
        payload: args.payload,
        lasts: duration(args.lasts),
        ask_every: interval,
    };
    println!(
        "measuring for {} s, signals from {name}; move the station, slowly, so that many signals occur",
        link.lasts.as_secs()
    );
    let measured = measure(&socket, &link, source.open()?, &stop, |sample| println!("{}", line(&sample)))?;
    let pairs = measured.pairs();
    let remark = remark(&pairs, args.rate);
    if pairs.pairs.is_empty() {
        bail!("there is no pair of signal and goodput: {remark}");
    }
    let over_noise: Vec<_> = pairs.pairs.iter().map(|&(signal, kbps)| (signal - args.noise, kbps)).collect();
    let calibration = Calibration::of_pairs(&over_noise, args.step);
    let facts = format!("{}, signals from {name} over {} dBm of noise", args.station, args.noise);
    super::write(&calibration, &args.out, "calibration", &facts, &remark)?;
    Ok(ExitCode::SUCCESS)
}

fn check(args: &LinkArgs) -> Result<()> {
    if !(LEAST_PAYLOAD..=LONGEST_PAYLOAD).contains(&args.payload) {
        bail!("--payload {}: {LEAST_PAYLOAD} to {LONGEST_PAYLOAD} bytes are possible", args.payload);
    }
    if !(0.1..=20.0).contains(&args.step) {
        bail!("--step {}: 0.1 to 20 decibels are possible", args.step);
    }
    if !(-200.0..=0.0).contains(&args.noise) {
        bail!("--noise {}: -200 to 0 dBm are possible", args.noise);
    }
    Ok(())
}

/// The first source of the file that reports the station's signal.
fn source_of(args: &LinkArgs) -> Result<(SourceConfig, Duration)> {
    let config = args.config.display();
    let sources = BoxConfig::load(&args.config)?.telemetry;
    let reports = |source: &SourceConfig| {
        let reading = source.ask().map_err(|error| eprintln!("{}: {error}", source.name())).ok()?;
        let reported = reading.stations.iter().find(|known| known.mac == args.station)?;
        reported.signal_dbm
    };
    let Some(source) = sources.iter().find(|source| reports(source).is_some()) else {
        bail!(
            "no [[telemetry]] of {config} tells the signal of {}; `evenair telemetry {config}` shows what they tell",
            args.station
        );
    };
    Ok((source.clone(), duration(source.interval)))
}

fn line(sample: &LinkSample) -> String {
    let LinkSample { elapsed, signal_dbm, goodput_kbps, windows } = sample;
    let signal = signal_dbm.map_or_else(|| "signal unknown".to_owned(), |dbm| format!("signal {dbm} dBm"));
    let goodput = goodput_kbps.map_or_else(|| "nothing arrived yet".to_owned(), |kbps| format!("{kbps:.0} kb/s"));
    format!("{:>5} s  {signal}  {goodput}  {windows} windows", elapsed.as_secs())
}

/// What the table leaves out, and the remedy.
fn remark(pairs: &Pairs, rate: BitRate) -> String {
    let mut remark = format!("{} windows are in the table.", pairs.pairs.len());
    if pairs.not_full > 0 {
        remark += &format!(
            " In {} nothing was lost, so that the medium may not have been full: send more than {rate}.",
            pairs.not_full
        );
    }
    if pairs.unsteady > 0 {
        remark += &format!(" During {} the signal changed by more than 3 dB.", pairs.unsteady);
    }
    if pairs.without_signal > 0 {
        remark += &format!(" For {} no signal was reported near them in time.", pairs.without_signal);
    }
    remark
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}

/// As in configuration files.
fn written<T: FromWritten>(text: &str) -> Result<T, String> {
    T::from_written(&Scalar::from(text)).map_err(|wrong| format!("{wrong}; it is to be {}", T::allowed()))
}

fn time(text: &str) -> Result<Span, String> {
    let span = written::<Span>(text)?;
    let sensible = (Span::from_secs(1)..=Span::from_secs(86_400)).contains(&span);
    sensible.then_some(span).ok_or(format!("{text} is not from 1 s to 24 hours"))
}

fn rate(text: &str) -> Result<BitRate, String> {
    let rate = written::<BitRate>(text)?;
    let sensible = (BitRate::from_kbps(10)..=BitRate::from_mbps(10_000)).contains(&rate);
    sensible.then_some(rate).ok_or(format!("{text} is not from 10 kb/s to 10 Gb/s"))
}
