//! `evenair history`: the stored history of a box.
//!
//! It reads the box's files, whether or not the box runs, and prints while reading, so that it needs little memory for a
//! history of any length.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use evenair_boxfile::HistoryConfig;
use evenair_cli::{WEB, become_program, find_program, moment_s};
use evenair_client::control::Client;
use evenair_client::history::{Format as Notation, Printer, Reader, Selection, time};
use evenair_client::lookup::Directory;

/// Arguments of `evenair history`.
#[derive(Args)]
pub struct HistoryArgs {
    /// The directory of the history
    #[arg(long, default_value = HistoryConfig::PATH, value_name = "DIR")]
    path: PathBuf,
    /// Start of the period: "2026-03-01 08:00" (UTC), or how long ago: "2h", "30 min", "1day"
    #[arg(long, value_parser = moment_s, value_name = "TIME")]
    from: Option<f64>,
    /// End of the period, in the same format
    #[arg(long, value_parser = moment_s, value_name = "TIME")]
    to: Option<f64>,
    /// Only this station, by its MAC address, its latest IP address or its name: the present one, or one in the history
    #[arg(long, value_name = "STATION")]
    station: Option<String>,
    /// The control socket of the box, which is asked for present names if it runs
    #[arg(long, default_value = super::SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Only events
    #[arg(long)]
    events: bool,
    /// Output format
    #[arg(long, default_value = "text", value_name = "FORM")]
    format: Format,
    /// A measure of the history that evenair-web keeps, such as wlan-p95: a value for each step of --every
    #[arg(long, value_name = "MEASURE", conflicts_with_all = ["events", "path"])]
    measure: Option<String>,
    /// Length of the steps of --measure, in whole minutes: "15min", "1h", "1day"
    #[arg(long, value_name = "TIME", default_value = "1h", requires = "measure")]
    every: String,
    /// Print JSON, the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// How history is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table: a line for each interval, or each interval of a station, and for each event
    Text,
    /// A line for each station and interval; of events, a line for each
    Csv,
    /// One JSON object per line: all stored records
    Json,
}

impl HistoryArgs {
    fn selection(&self, station: Option<String>) -> Selection {
        let format = match self.format {
            Format::Text => Notation::Text,
            Format::Csv => Notation::Csv,
            Format::Json => Notation::Json,
        };
        let format = if self.json { Notation::Json } else { format };
        let (from_s, to_s) = (self.from, self.to);
        Selection { from_s, to_s, station, events: self.events, format }
    }
}

/// The requested station, by its MAC or IP address. A name needs one more pass over the whole history.
fn station(args: &HistoryArgs) -> Result<Option<String>> {
    let Some(text) = &args.station else { return Ok(None) };
    if text.parse::<IpAddr>().is_ok() {
        return Ok(Some(text.clone()));
    }
    let of_box = Client::connect(&args.socket).and_then(|mut client| Directory::of_box(&mut client));
    let mut directory = of_box.unwrap_or_else(|_| Directory::kept());
    // Read errors are reported when the history is printed.
    let reader = Reader::open(&args.path).with_context(|| format!("read the history in {}", args.path.display()))?;
    reader.filter_map(Result::ok).for_each(|record| directory.note(&record));
    Ok(Some(directory.find(text)?.to_string()))
}

/// Arguments of `evenair-web history` that ask for a measure.
fn series(args: &HistoryArgs, measure: &str) -> Vec<OsString> {
    let date = |at_s: f64| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs_f64(at_s)).to_string();
    let form = match args.format {
        _ if args.json => "json",
        Format::Text => "text",
        Format::Csv => "csv",
        Format::Json => "json",
    };
    let options = [
        ("--measure", Some(measure.to_owned())),
        ("--every", Some(args.every.clone())),
        ("--from", args.from.map(date)),
        ("--to", args.to.map(date)),
        ("--station", args.station.clone()),
        ("--format", Some(form.to_owned())),
    ];
    let given = options.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?]));
    ["history".to_owned()].into_iter().chain(given.flatten()).map(OsString::from).collect()
}

/// Prints the history; for a measure by `evenair-web history`, if that is installed.
pub fn history(args: &HistoryArgs) -> Result<ExitCode> {
    if let Some(measure) = &args.measure {
        if find_program(WEB).is_some() {
            return become_program(WEB, WEB, WEB, series(args, measure));
        }
        let begins = Reader::open(&args.path).ok().and_then(|mut reader| reader.find_map(Result::ok));
        let begins =
            begins.map_or_else(|| "it is empty".into(), |first| format!("it begins at {}", time(first.at_s())));
        eprintln!("evenair: measures need {WEB}, which is not installed; this is the box's own history, {begins}");
    }
    let read = || format!("read the history in {}", args.path.display());
    let mut reader = Reader::open(&args.path).with_context(read)?;
    let station = station(args)?;
    let selection = args.selection(station.clone());
    let mut printer = Printer::new(&selection, io::stdout().lock());
    for record in reader.by_ref() {
        printer.print(record.with_context(read)?)?;
    }
    let printed = printer.end()?;
    let seen = reader.seen();
    if seen.skipped > 0 {
        eprintln!("evenair: {} lines were no records, and were skipped", seen.skipped);
    }
    if let (Some(station), 0) = (&station, printed) {
        let wanted = args.station.as_deref().filter(|wanted| wanted != station);
        let name = wanted.map_or_else(String::new, |wanted| format!(" ({wanted:?})"));
        eprintln!("evenair: the history in {} has no such record of {station}{name}", args.path.display());
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
