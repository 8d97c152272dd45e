//! `evenair history`: the stored history of a box.
//!
//! It reads the box's files, whether or not the box runs, and prints while reading, so that it needs little memory for a
//! history of any length.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use evenair_live::history::{HistoryConfig, Reader, Record, Sample, StationSample};

use super::causes;

/// Arguments of `evenair history`.
#[derive(Args)]
pub struct HistoryArgs {
    /// The directory of the history
    #[arg(long, default_value = HistoryConfig::PATH, value_name = "DIR")]
    path: PathBuf,
    /// Start of the period: "2026-03-01 08:00" (UTC), or how long ago: "2h", "30 min", "1day"
    #[arg(long, value_parser = moment, value_name = "TIME")]
    from: Option<Moment>,
    /// End of the period, in the same format
    #[arg(long, value_parser = moment, value_name = "TIME")]
    to: Option<Moment>,
    /// Only this station, by its MAC address, its latest IP address or its name
    #[arg(long, value_name = "STATION")]
    station: Option<String>,
    /// Only events
    #[arg(long)]
    events: bool,
    /// Output format
    #[arg(long, default_value = "text", value_name = "FORM")]
    format: Format,
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

/// A moment, in seconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment(f64);

fn moment(text: &str) -> Result<Moment, String> {
    let now = SystemTime::now();
    let ago = humantime::parse_duration(text).ok().and_then(|ago| now.checked_sub(ago));
    // Dates may be without a time, and times without seconds.
    let padded = match text.len() {
        10 => format!("{text} 00:00:00"),
        16 => format!("{text}:00"),
        _ => text.to_owned(),
    };
    let at = ago.or_else(|| humantime::parse_rfc3339_weak(&padded).ok());
    let since = at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let right = "a time in UTC such as \"2026-03-01 08:00\", or how long ago, such as \"2h\" or \"30 min\"";
    since.map(|since| Moment(since.as_secs_f64())).ok_or_else(|| format!("{text:?} is not {right}"))
}

/// Prints it.
pub fn history(args: &HistoryArgs) -> Result<ExitCode> {
    let read = || format!("read the history in {}", args.path.display());
    let mut reader = Reader::open(&args.path).with_context(read)?;
    let mut printer = Printer::new(args, io::stdout().lock());
    for record in reader.by_ref() {
        printer.print(record.with_context(read)?)?;
    }
    printer.end()?;
    let seen = reader.seen();
    if seen.skipped > 0 {
        eprintln!("evenair: {} lines were no records, and were skipped", seen.skipped);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the requested records.
struct Printer<'a, W: Write> {
    args: &'a HistoryArgs,
    out: W,
    /// A heading was printed.
    headed: bool,
}

impl<'a, W: Write> Printer<'a, W> {
    fn new(args: &'a HistoryArgs, out: W) -> Self {
        Self { args, out, headed: false }
    }

    fn print(&mut self, record: Record) -> Result<()> {
        let at = record.at_s();
        let HistoryArgs { from, to, .. } = self.args;
        if from.is_some_and(|from| at < from.0) || to.is_some_and(|to| at > to.0) {
            return Ok(());
        }
        let Some(record) = self.about_station(record) else { return Ok(()) };
        if self.args.events && matches!(record, Record::Sample(_)) {
            return Ok(());
        }
        match self.args.format {
            Format::Text => self.text(&record),
            Format::Csv => self.csv(&record),
            Format::Json => Ok(writeln!(self.out, "{}", serde_json::to_string(&record)?)?),
        }
    }

    /// The part of a record about the requested station, if there is one.
    fn about_station(&self, mut record: Record) -> Option<Record> {
        let Some(wanted) = self.args.station.as_deref() else { return Some(record) };
        let is_mac = |mac: &str| mac.eq_ignore_ascii_case(wanted);
        let there = match &mut record {
            Record::Start { .. } => false,
            Record::Event(event) => event.station.as_deref().is_some_and(is_mac),
            Record::Sample(sample) => {
                let known = |station: &StationSample| {
                    [&station.address, &station.name].map(|known| known.as_deref() == Some(wanted))
                };
                let is = |station: &StationSample| is_mac(&station.mac) || known(station).contains(&true);
                sample.stations.retain(is);
                let macs: Vec<_> = sample.stations.iter().map(|station| station.mac.clone()).collect();
                sample.calls.retain(|call| is_mac(&call.station) || macs.contains(&call.station));
                !sample.stations.is_empty() || !sample.calls.is_empty()
            }
        };
        there.then_some(record)
    }

    fn text(&mut self, record: &Record) -> Result<()> {
        let at = time(record.at_s());
        match record {
            Record::Start { version, .. } => writeln!(self.out, "{at}  the box started, version {version}")?,
            Record::Event(event) => {
                let words = [Some(event.name.as_str()), event.station.as_deref(), Some(&event.text)];
                let words: Vec<_> = words.into_iter().flatten().collect();
                writeln!(self.out, "{at}  {}", words.join(" "))?;
            }
            Record::Sample(sample) => {
                if !std::mem::replace(&mut self.headed, true) {
                    writeln!(self.out, "{}", line(HEADING.map(str::to_owned)))?;
                }
                let lines = match self.args.station {
                    None => vec![line_of_all(sample)],
                    Some(_) => sample.stations.iter().map(|station| line_of(sample, station)).collect(),
                };
                for cells in lines {
                    writeln!(self.out, "{}", line(cells))?;
                }
                for call in &sample.calls {
                    let refused = if call.refused.is_some() { " REFUSED" } else { "" };
                    let (down, up) = (call.down.in_short(), call.up.in_short());
                    let (station, peer) = (&call.station, &call.peer);
                    writeln!(self.out, "{at}    call{refused} {station} with {peer}: down {down}; up {up}")?;
                }
                if self.args.station.is_none() {
                    for line in causes(&sample.dropped_by, &sample.lost_by) {
                        writeln!(self.out, "{at}    {line}")?;
                    }
                }
                if sample.events_left_out > 0 {
                    let left_out = sample.events_left_out;
                    writeln!(self.out, "{at}    {left_out} events about stations were too many, and were left out")?;
                }
                if sample.lost > 0 {
                    writeln!(self.out, "{at}    {} records were lost before this", sample.lost)?;
                }
            }
        }
        Ok(())
    }

    fn csv(&mut self, record: &Record) -> Result<()> {
        let mut rows = csv::Writer::from_writer(&mut self.out);
        let head = !self.headed;
        match record {
            Record::Event(event) if self.args.events => {
                if head {
                    rows.write_record(["time", "event", "mac", "text"])?;
                }
                let mac = event.station.as_deref().unwrap_or_default();
                rows.write_record([&time(event.at_s), &event.name, mac, &event.text])?;
            }
            Record::Sample(sample) => {
                if head {
                    rows.write_record(COLUMNS)?;
                }
                for station in &sample.stations {
                    rows.write_record(row(sample, station))?;
                }
            }
            Record::Start { .. } | Record::Event(_) => return Ok(()),
        }
        rows.flush()?;
        drop(rows);
        self.headed = true;
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

const COLUMNS: [&str; 10] = [
    "time",
    "seconds",
    "mac",
    "address",
    "rate_mbps",
    "signal_dbm",
    "charged_airtime_down_s",
    "charged_airtime_up_s",
    "to_station_bytes",
    "from_station_bytes",
];

fn row(sample: &Sample, station: &StationSample) -> [String; 10] {
    [
        time(sample.at_s),
        format!("{:.3}", sample.seconds),
        station.mac.clone(),
        station.address.clone().unwrap_or_default(),
        if station.rate_reported { station.rate_mbps.to_string() } else { "unknown".to_owned() },
        station.signal_dbm.map_or_else(String::new, |dbm| dbm.to_string()),
        format!("{:.6}", (station.charged_airtime_s - station.charged_airtime_up_s).max(0.0)),
        format!("{:.6}", station.charged_airtime_up_s),
        station.to_station_bytes.to_string(),
        station.from_station_bytes.to_string(),
    ]
}

const HEADING: [&str; 9] =
    ["time (UTC)", "mode", "down Mb/s", "up Mb/s", "charged airtime %", "stations", "held", "dropped", "wait ms"];

/// Cells in their columns.
fn line([at, mode, rest @ ..]: [String; 9]) -> String {
    let [down, up, airtime, stations, held, dropped, wait] = rest;
    let line =
        format!("{at:<22}{mode:<10}{down:>10}{up:>10}{airtime:>19}  {stations:<18}{held:>7}{dropped:>9}{wait:>9}");
    line.trim_end().to_owned()
}

fn mbps(bytes: u64, seconds: f64) -> String {
    format!("{:.2}", if seconds > 0.0 { bytes as f64 * 8.0 / 1e6 / seconds } else { 0.0 })
}

fn percent(part_s: f64, seconds: f64) -> String {
    format!("{:.1}", if seconds > 0.0 { part_s / seconds * 100.0 } else { 0.0 })
}

fn line_of_all(sample: &Sample) -> [String; 9] {
    // A sum of nothing would be minus zero.
    let airtime = sample.stations.iter().fold(0.0, |sum, station| sum + station.charged_airtime_s);
    let wait = sample.hops.iter().find(|hop| hop.hop == "wlan").map_or(0.0, |hop| hop.mean_ms);
    [
        time(sample.at_s),
        sample.mode.clone(),
        mbps(sample.to_station_bytes, sample.seconds),
        mbps(sample.from_station_bytes, sample.seconds),
        percent(airtime, sample.seconds),
        format!("{} of {}", sample.stations.len(), sample.stations_known),
        sample.held.to_string(),
        sample.dropped.to_string(),
        format!("{wait:.2}"),
    ]
}

/// The same of one station; what is of all is left out.
fn line_of(sample: &Sample, station: &StationSample) -> [String; 9] {
    let [held, dropped, wait] = [const { String::new() }; 3];
    [
        time(sample.at_s),
        sample.mode.clone(),
        mbps(station.to_station_bytes, sample.seconds),
        mbps(station.from_station_bytes, sample.seconds),
        percent(station.charged_airtime_s, sample.seconds),
        station.mac.clone(),
        held,
        dropped,
        wait,
    ]
}

/// The last second that RFC 3339 can write: 9999-12-31T23:59:59Z.
const LAST_DATE_S: f64 = 253_402_300_799.0;

/// A time in seconds since 1970 as a date. What is not one of the years 1970 to 9999 is the number of seconds.
fn time(at_s: f64) -> String {
    let since = Some(at_s.floor()).filter(|at| (0.0..=LAST_DATE_S).contains(at));
    let at = since.and_then(|since| UNIX_EPOCH.checked_add(Duration::from_secs(since as u64)));
    at.map_or_else(|| format!("{at_s:e} s"), |at| humantime::format_rfc3339_seconds(at).to_string())
}

#[cfg(test)]
mod tests {
    use evenair_api::causes::{Cause, DropReason, LossReason};
    use evenair_live::history::{CallRecord, EventRecord, Files, HopSample, Keeper};

    use super::*;

    const MACS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
    /// 2026-03-01, midnight.
    const BEGIN: f64 = 1_772_323_200.0;

    fn kept() -> Vec<Record> {
        let station = |number: usize, bytes| StationSample {
            mac: MACS[number].into(),
            address: Some(format!("10.0.0.{number}")),
            rate_mbps: 54.0,
            rate_reported: number == 0,
            charged_airtime_s: 6.0,
            to_station_bytes: bytes,
            ..StationSample::default()
        };
        let sample = |minute: u64| {
            Record::Sample(Box::new(Sample {
                at_s: BEGIN + minute as f64 * 60.0,
                seconds: 60.0,
                mode: "inserted".into(),
                to_station_bytes: 7_500_000 * (minute + 1),
                stations: vec![station(0, 7_500_000), station(1, 7_500_000 * minute)],
                calls: vec![CallRecord { station: MACS[1].into(), peer: "192.0.2.7".into(), ..CallRecord::default() }],
                ..Sample::default()
            }))
        };
        let event = Record::Event(EventRecord {
            at_s: BEGIN + 90.0,
            name: "call-refused".into(),
            station: Some(MACS[0].into()),
            text: "with 192.0.2.9, g711: one, too many".into(),
        });
        vec![Record::Start { at_s: BEGIN, version: "1.2.3".into() }, sample(1), event, sample(2)]
    }

    fn all() -> HistoryArgs {
        let format = Format::Text;
        HistoryArgs { path: PathBuf::new(), from: None, to: None, station: None, events: false, format }
    }

    fn printed(change: impl FnOnce(&mut HistoryArgs)) -> String {
        let mut args = all();
        change(&mut args);
        let mut out = Vec::new();
        let mut printer = Printer::new(&args, &mut out);
        kept().into_iter().try_for_each(|record| printer.print(record)).expect("memory is writable");
        printer.end().expect("memory is writable");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn people_get_a_line_for_each_interval_and_event() {
        let text = printed(|_| {});
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 1 + 2 + 1 + 2, "{text}");
        assert!(lines[0].starts_with("2026-03-01T00:00:00Z  the box started, version 1.2.3"), "{text}");
        assert!(lines[1].starts_with("time (UTC)") && lines[1].contains("down Mb/s"), "{text}");
        assert!(lines[2].starts_with("2026-03-01T00:01:00Z  inserted") && lines[2].contains(" 2.00 "), "{text}");
        assert!(lines[2].contains("20.0") && lines[2].contains("2 of 0"), "{text}");
        assert!(lines[3].contains("call 02:00:00:00:00:02 with 192.0.2.7: down R -"), "{text}");
        assert!(lines[4].contains("call-refused 02:00:00:00:00:01 with 192.0.2.9"), "{text}");
    }

    #[test]
    fn every_cause_is_shown_of_the_interval_in_which_it_occurred() {
        let shown = |sample: Sample| {
            let args = all();
            let mut out = Vec::new();
            let mut printer = Printer::new(&args, &mut out);
            printer.print(Record::Sample(sample.into())).expect("memory is writable");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(shown(Sample::default()).lines().count(), 2, "no line without a cause");
        for &reason in DropReason::ALL {
            let mut sample = Sample::default();
            sample.dropped_by[reason] = 77;
            assert!(shown(sample).ends_with(&format!("    dropped: {} 77\n", reason.word())));
        }
        for &reason in LossReason::ALL {
            let mut sample = Sample::default();
            sample.lost_by[reason] = 77;
            assert!(shown(sample).ends_with(&format!("    LOST IN THE BOX: {} 77\n", reason.word())));
        }
    }

    #[test]
    fn a_time_and_a_station_can_be_asked_for() {
        let from = printed(|args| args.from = Some(Moment(BEGIN + 91.0)));
        assert!(!from.contains("call-refused") && from.contains("00:02:00Z"), "{from}");
        let to = printed(|args| args.to = Some(Moment(BEGIN + 61.0)));
        assert!(to.contains("00:01:00Z") && !to.contains("call-refused") && !to.contains("00:02:00Z"), "{to}");
        for station in [MACS[0], "02:00:00:00:00:01", "10.0.0.0"] {
            let text = printed(|args| args.station = Some(station.into()));
            assert!(text.contains(MACS[0]) && !text.contains(MACS[1]) && !text.contains("started"), "{text}");
        }
        let events = printed(|args| args.events = true);
        assert_eq!(events.lines().count(), 2, "{events}");
        assert_eq!(printed(|args| args.station = Some("10.9.9.9".into())), "");
    }

    #[test]
    fn programs_get_csv_and_json() {
        let csv_text = printed(|args| args.format = Format::Csv);
        let mut rows = csv::Reader::from_reader(csv_text.as_bytes());
        assert_eq!(rows.headers().expect("a heading").len(), COLUMNS.len());
        let rows: Vec<_> = rows.records().map(|row| row.expect("as wide as the heading")).collect();
        assert_eq!((rows.len(), &rows[3][2], &rows[3][8]), (4, MACS[1], "15000000"));
        let csv_text = printed(|args| (args.format, args.events) = (Format::Csv, true));
        assert!(csv_text.contains("\"with 192.0.2.9, g711: one, too many\""), "{csv_text}");
        let json = printed(|args| args.format = Format::Json);
        let records: Vec<Record> = json.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
        assert_eq!(records, kept());
    }

    #[test]
    fn a_time_that_is_no_date_is_a_number_of_seconds() {
        let dates = [
            (0.0, "1970-01-01T00:00:00Z"),
            (BEGIN + 0.999, "2026-03-01T00:00:00Z"),
            (253_402_300_799.9, "9999-12-31T23:59:59Z"),
        ];
        for (at_s, wanted) in dates {
            assert_eq!(time(at_s), wanted);
        }
        let others = [
            (253_402_300_800.0, "2.534023008e11 s"),
            (17_957_215_721_830.735, "1.7957215721830734e13 s"),
            (-1.0, "-1e0 s"),
            (f64::MAX, "1.7976931348623157e308 s"),
            (f64::NAN, "NaN s"),
            (f64::INFINITY, "inf s"),
        ];
        for (at_s, wanted) in others {
            assert_eq!(time(at_s), wanted);
        }
    }

    #[test]
    fn records_of_any_numbers_are_printed_in_every_form() {
        let extremes = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, -0.0, f64::MIN_POSITIVE, 3e11];
        for value in extremes {
            let station = StationSample {
                mac: MACS[0].into(),
                rate_mbps: value,
                charged_airtime_s: value,
                charged_airtime_up_s: value,
                to_station_bytes: u64::MAX,
                ..StationSample::default()
            };
            let sample = Sample {
                at_s: value,
                seconds: value,
                service_rate_mbps: value,
                to_station_bytes: u64::MAX,
                stations: vec![station],
                hops: vec![HopSample { hop: "wlan".into(), packets: 1, mean_ms: value, p95_ms: value }],
                ..Sample::default()
            };
            let event = EventRecord { at_s: value, name: "mode".into(), station: None, text: "inserted".into() };
            let start = Record::Start { at_s: value, version: "1".into() };
            let records = [start, Record::Event(event), Record::Sample(sample.into())];
            for (format, events) in [Format::Text, Format::Csv, Format::Json].map(|f| [(f, false), (f, true)]).concat()
            {
                let args = HistoryArgs { format, events, ..all() };
                let mut out = Vec::new();
                let mut printer = Printer::new(&args, &mut out);
                records.iter().cloned().try_for_each(|record| printer.print(record)).expect("memory is writable");
                assert!(!out.is_empty(), "{value} {format:?} {events}");
            }
        }
    }

    #[test]
    fn moments_are_times_or_ago() {
        assert_eq!(moment("2026-03-01"), Ok(Moment(BEGIN)));
        assert_eq!(moment("2026-03-01 08:00"), Ok(Moment(BEGIN + 8.0 * 3600.0)));
        assert_eq!(moment("2026-03-01T08:00:01Z"), Ok(Moment(BEGIN + 8.0 * 3600.0 + 1.0)));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
        assert!((moment("2h").expect("a while").0 - (now - 7200.0)).abs() < 5.0);
        for wrong in [
            "yesterday",
            "-1h",
            "2026-13-01",
            "",
            "99999999999 years",
            "18446744073709551615s",
            "9".repeat(400).as_str(),
        ] {
            assert!(moment(wrong).is_err_and(|error| error.contains("2026-03-01 08:00")), "{wrong}");
        }
    }

    #[test]
    fn it_reads_what_the_box_writes() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut files = Files::open(directory.path(), 100_000).expect("a place");
        kept().iter().try_for_each(|record| files.keep(record)).expect("there is room");
        let read: Vec<_> =
            Reader::open(directory.path()).expect("there").map(|record| record.expect("right")).collect();
        assert_eq!(read, kept());
    }
}
