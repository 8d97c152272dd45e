//! Prints history as text, CSV or JSON, for `evenair history`.
//!
//! A record as text has no control characters, whatever its file contains, so that a damaged file cannot affect the
//! terminal.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use evenair_api::causes::in_lines;
use evenair_api::history::{Carried, EventRecord, Record, Sample, StationSample};
use evenair_api::{Hop, Json, Mode};

/// Which records are printed, and in which format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Only records at this time or later, in seconds since 1970, UTC.
    pub from_s: Option<f64>,
    /// Only records at this time or earlier, in seconds since 1970, UTC.
    pub to_s: Option<f64>,
    /// Only this station, by its MAC address, its latest IP address or its name.
    pub station: Option<String>,
    /// Only events.
    pub events: bool,
    /// The output format.
    pub format: Format,
}

/// An output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A table: a line per interval (or per interval of the station), and per event.
    #[default]
    Text,
    /// A line per station and interval; with events only, a line per event.
    Csv,
    /// One JSON object per line: all stored records.
    Json,
}

/// Prints the selected records.
#[derive(Debug)]
pub struct Printer<'a, W: Write> {
    selection: &'a Selection,
    out: W,
    /// Whether the heading has been printed.
    headed: bool,
    /// Number of records printed.
    printed: u64,
}

impl<'a, W: Write> Printer<'a, W> {
    /// A printer of the selected records to `out`.
    pub const fn new(selection: &'a Selection, out: W) -> Self {
        Self { selection, out, headed: false, printed: 0 }
    }

    /// Prints a record if it is selected.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn print(&mut self, record: Record) -> io::Result<()> {
        let at = record.at_s();
        let Selection { from_s, to_s, .. } = self.selection;
        if from_s.is_some_and(|from| at < from) || to_s.is_some_and(|to| at > to) {
            return Ok(());
        }
        let Some(record) = self.about_station(record) else { return Ok(()) };
        if self.selection.events && matches!(record, Record::Sample(_)) {
            return Ok(());
        }
        match self.selection.format {
            Format::Text => self.text(&record)?,
            Format::Csv => return self.csv(&record),
            Format::Json => writeln!(self.out, "{}", record.to_json())?,
        }
        self.printed += 1;
        Ok(())
    }

    /// The part of a record about the requested station, if there is one.
    fn about_station(&self, mut record: Record) -> Option<Record> {
        let Some(wanted) = self.selection.station.as_deref() else { return Some(record) };
        let is_mac = |mac: &str| mac.eq_ignore_ascii_case(wanted);
        let there = match &mut record {
            Record::Start { .. } => false,
            Record::Event(record) => record.event.station().is_some_and(is_mac),
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

    fn text(&mut self, record: &Record) -> io::Result<()> {
        let at = time(record.at_s());
        match record {
            Record::Start { version, .. } => self.line(&format!("{at}  the box started, version {version}")),
            Record::Event(EventRecord { event, .. }) => {
                let text = event.text();
                let words = [Some(event.name()), event.station(), Some(&text)];
                let words: Vec<_> = words.into_iter().flatten().collect();
                self.line(&format!("{at}  {}", words.join(" ")))
            }
            Record::Sample(sample) => self.sample(&at, sample),
        }
    }

    fn sample(&mut self, at: &str, sample: &Sample) -> io::Result<()> {
        if !std::mem::replace(&mut self.headed, true) {
            self.line(&row_of(HEADING.map(str::to_owned)))?;
        }
        let rows = match self.selection.station {
            None => vec![cells_of_all(sample)],
            Some(_) => sample.stations.iter().map(|station| cells_of(sample, station)).collect(),
        };
        rows.into_iter().try_for_each(|cells| self.line(&row_of(cells)))?;
        for call in &sample.calls {
            let refused = if call.refused.is_some() { " REFUSED" } else { "" };
            let (down, up) = (call.down.in_short(), call.up.in_short());
            let (station, peer) = (&call.station, &call.peer);
            self.line(&format!("{at}    call{refused} {station} with {peer}: down {down}; up {up}"))?;
        }
        if self.selection.station.is_none() {
            for line in in_lines(&sample.dropped_by, &sample.lost_by) {
                self.line(&format!("{at}    {line}"))?;
            }
        }
        if sample.events_left_out > 0 {
            let left_out = sample.events_left_out;
            self.line(&format!("{at}    {left_out} events about stations were too many, and were left out"))?;
        }
        if sample.lost > 0 {
            self.line(&format!("{at}    {} records were lost before this", sample.lost))?;
        }
        Ok(())
    }

    /// Prints a line, with control characters escaped.
    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", plain(text))
    }

    fn csv(&mut self, record: &Record) -> io::Result<()> {
        let mut rows = csv::Writer::from_writer(&mut self.out);
        let head = !self.headed;
        match record {
            Record::Event(EventRecord { at_s, event }) if self.selection.events => {
                if head {
                    rows.write_record(["time", "event", "mac", "text"])?;
                }
                let mac = event.station().unwrap_or_default();
                rows.write_record([&time(*at_s), event.name(), mac, &event.text()])?;
            }
            Record::Sample(sample) => {
                if head {
                    rows.write_record(COLUMNS)?;
                }
                if let Some(bytes) = bypassed_bytes(sample).filter(|_| self.selection.station.is_none()) {
                    rows.write_record(row_of_bypass(sample, bytes))?;
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
        self.printed += 1;
        Ok(())
    }

    /// Flushes the output, and returns the number of printed records.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.printed)
    }
}

const COLUMNS: [&str; 11] = [
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
    "name",
];

fn row(sample: &Sample, station: &StationSample) -> [String; 11] {
    [
        time(sample.at_s),
        format!("{:.3}", sample.seconds),
        station.mac.clone(),
        station.address.clone().unwrap_or_default(),
        station.reported_rate().map_or_else(|| "unknown".to_owned(), |mbps| mbps.to_string()),
        station.signal_dbm.map_or_else(String::new, |dbm| dbm.to_string()),
        format!("{:.6}", (station.charged_airtime_s - station.charged_airtime_up_s).max(0.0)),
        format!("{:.6}", station.charged_airtime_up_s),
        station.to_station_bytes.to_string(),
        station.from_station_bytes.to_string(),
        station.name.clone().unwrap_or_default(),
    ]
}

/// A CSV row for traffic that crossed the ports while the box was bypassed: without a MAC address.
fn row_of_bypass(sample: &Sample, bytes: [Option<u64>; 2]) -> [String; 11] {
    let [down, up] = bytes.map(|bytes| bytes.map_or_else(|| NOT_MEASURED.into(), |bytes| bytes.to_string()));
    let mut row = [const { String::new() }; 11];
    [row[0], row[1], row[8], row[9]] = [time(sample.at_s), format!("{:.3}", sample.seconds), down, up];
    row
}

const HEADING: [&str; 9] =
    ["time (UTC)", "mode", "down Mb/s", "up Mb/s", "charged airtime %", "stations", "held", "dropped", "wait ms"];

/// The text with control characters as escapes, such as `\n`.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        // Writing to a string does not fail.
        _ = if c.is_control() { write!(plain, "{}", c.escape_default()) } else { plain.write_char(c) };
    }
    plain
}

/// A line of the table, in aligned columns.
fn row_of([at, mode, rest @ ..]: [String; 9]) -> String {
    let [down, up, airtime, stations, held, dropped, wait] = rest;
    let line =
        format!("{at:<22}{mode:<10}{down:>14}{up:>14}{airtime:>19}  {stations:<18}{held:>7}{dropped:>9}{wait:>9}");
    line.trim_end().to_owned()
}

fn mbps(bytes: u64, seconds: f64) -> String {
    format!("{:.2}", if seconds > 0.0 { bytes as f64 * 8.0 / 1e6 / seconds } else { 0.0 })
}

/// Shown where no counter covers the interval.
const NOT_MEASURED: &str = "not measured";

/// Bytes toward the WLAN and from it in an interval with bypass; `None`: the sums over the stations are complete.
fn bypassed_bytes(sample: &Sample) -> Option<[Option<u64>; 2]> {
    let bytes = |carried: Carried| [carried.to_wlan_bytes, carried.from_wlan_bytes];
    sample.carried.map(bytes).or_else(|| (sample.mode == Mode::Bypassed).then_some([None; 2]))
}

fn percent(part_s: f64, seconds: f64) -> String {
    format!("{:.1}", if seconds > 0.0 { part_s / seconds * 100.0 } else { 0.0 })
}

fn cells_of_all(sample: &Sample) -> [String; 9] {
    // Starts from 0.0, because `sum()` of nothing is -0.0.
    let airtime = sample.stations.iter().fold(0.0, |sum, station| sum + station.charged_airtime_s);
    let all = [sample.to_station_bytes, sample.from_station_bytes].map(Some);
    let rate = |bytes: Option<u64>| bytes.map_or_else(|| NOT_MEASURED.into(), |bytes| mbps(bytes, sample.seconds));
    let [down, up] = bypassed_bytes(sample).unwrap_or(all).map(rate);
    let is_seen = sample.mode != Mode::Bypassed || airtime > 0.0;
    let wait = sample.hops.iter().find(|hop| hop.hop == Hop::Wlan).map_or(0.0, |hop| hop.mean_ms);
    [
        time(sample.at_s),
        sample.mode.to_string(),
        down,
        up,
        if is_seen { percent(airtime, sample.seconds) } else { "-".into() },
        format!("{} of {}", sample.stations.len(), sample.stations_known),
        sample.held.to_string(),
        sample.dropped.to_string(),
        if is_seen { format!("{wait:.2}") } else { "-".into() },
    ]
}

/// The cells of one station; those that concern the whole box stay empty.
fn cells_of(sample: &Sample, station: &StationSample) -> [String; 9] {
    let [held, dropped, wait] = [const { String::new() }; 3];
    [
        time(sample.at_s),
        sample.mode.to_string(),
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

/// A time in seconds since 1970 as a date. Outside of the years 1970 to 9999 it stays a number of seconds.
pub fn time(at_s: f64) -> String {
    let since = Some(at_s.floor()).filter(|at| (0.0..=LAST_DATE_S).contains(at));
    let at = since.and_then(|since| UNIX_EPOCH.checked_add(Duration::from_secs(since as u64)));
    at.map_or_else(|| format!("{at_s:e} s"), |at| humantime::format_rfc3339_seconds(at).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_api::causes::{Cause, DropReason, LossReason};
    use evenair_api::history::{CallRecord, Event, HopSample};
    use evenair_api::{Codec, RateSource};

    const MACS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
    /// 2026-03-01, midnight.
    const BEGIN: f64 = 1_772_323_200.0;

    fn kept() -> Vec<Record> {
        let station = |number: usize, bytes| StationSample {
            mac: MACS[number].into(),
            address: Some(format!("10.0.0.{number}")),
            rate_mbps: (number == 0).then_some(54.0),
            rate_source: if number == 0 { RateSource::Reported } else { RateSource::Unknown },
            charged_airtime_s: 6.0,
            to_station_bytes: bytes,
            ..StationSample::default()
        };
        let sample = |minute: u64| {
            Record::Sample(Box::new(Sample {
                at_s: BEGIN + minute as f64 * 60.0,
                seconds: 60.0,
                mode: Mode::Inserted,
                to_station_bytes: 7_500_000 * (minute + 1),
                stations: vec![station(0, 7_500_000), station(1, 7_500_000 * minute)],
                calls: vec![CallRecord { station: MACS[1].into(), peer: "192.0.2.7".into(), ..CallRecord::default() }],
                ..Sample::default()
            }))
        };
        let event = Record::Event(EventRecord {
            at_s: BEGIN + 90.0,
            event: Event::CallRefused {
                station: MACS[0].into(),
                peer: "192.0.2.9".into(),
                codec: Codec::G711,
                why: "one, too many".into(),
            },
        });
        vec![Record::Start { at_s: BEGIN, version: "1.2.3".into() }, sample(1), event, sample(2)]
    }

    fn printed(change: impl FnOnce(&mut Selection)) -> String {
        let mut selection = Selection::default();
        change(&mut selection);
        let mut out = Vec::new();
        let mut printer = Printer::new(&selection, &mut out);
        kept().into_iter().try_for_each(|record| printer.print(record)).expect("memory is writable");
        printer.end().expect("memory is writable");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn text_has_a_line_for_each_interval_and_event() {
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
            let selection = Selection::default();
            let mut out = Vec::new();
            let mut printer = Printer::new(&selection, &mut out);
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
    fn a_bypassed_interval_shows_the_kernels_bytes_or_none() {
        let shown = |carried, format| {
            let sample = Sample { at_s: BEGIN, seconds: 60.0, carried, ..Sample::default() };
            let selection = Selection { format, ..Selection::default() };
            let mut out = Vec::new();
            let mut printer = Printer::new(&selection, &mut out);
            printer.print(Record::Sample(sample.into())).expect("memory is writable");
            String::from_utf8(out).expect("text").lines().nth(1).expect("below the heading").to_owned()
        };
        let carried = Some(Carried { to_wlan_bytes: Some(150_000_000), from_wlan_bytes: None });
        let words = |line: String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        let line = words(shown(carried, Format::Text));
        assert_eq!(line, "2026-03-01T00:00:00Z bypassed 20.00 not measured - 0 of 0 0 0 -");
        let line = words(shown(None, Format::Text));
        assert!(line.contains("bypassed not measured not measured -"), "a record from before: {line}");
        assert_eq!(shown(carried, Format::Csv), "2026-03-01T00:00:00Z,60.000,,,,,,,150000000,not measured,");
        assert_eq!(shown(None, Format::Csv), "2026-03-01T00:00:00Z,60.000,,,,,,,not measured,not measured,");
    }

    #[test]
    fn a_time_and_a_station_can_be_asked_for() {
        let from = printed(|selection| selection.from_s = Some(BEGIN + 91.0));
        assert!(!from.contains("call-refused") && from.contains("00:02:00Z"), "{from}");
        let to = printed(|selection| selection.to_s = Some(BEGIN + 61.0));
        assert!(to.contains("00:01:00Z") && !to.contains("call-refused") && !to.contains("00:02:00Z"), "{to}");
        for station in [MACS[0], "02:00:00:00:00:01", "10.0.0.0"] {
            let text = printed(|selection| selection.station = Some(station.into()));
            assert!(text.contains(MACS[0]) && !text.contains(MACS[1]) && !text.contains("started"), "{text}");
        }
        let events = printed(|selection| selection.events = true);
        assert_eq!(events.lines().count(), 2, "{events}");
        assert_eq!(printed(|selection| selection.station = Some("10.9.9.9".into())), "");
    }

    #[test]
    fn programs_get_csv_and_json() {
        let csv_text = printed(|selection| selection.format = Format::Csv);
        let mut rows = csv::Reader::from_reader(csv_text.as_bytes());
        assert_eq!(rows.headers().expect("a heading").len(), COLUMNS.len());
        let rows: Vec<_> = rows.records().map(|row| row.expect("as wide as the heading")).collect();
        assert_eq!((rows.len(), &rows[3][2], &rows[3][8]), (4, MACS[1], "15000000"));
        let csv_text = printed(|selection| (selection.format, selection.events) = (Format::Csv, true));
        assert!(csv_text.contains("\"with 192.0.2.9, g711: one, too many\""), "{csv_text}");
        let json = printed(|selection| selection.format = Format::Json);
        let records: Vec<Record> =
            json.lines().map(|line| Record::from_json(line.as_bytes()).expect("a record")).collect();
        assert_eq!(records, kept());
    }

    #[test]
    fn a_time_beyond_the_dates_is_a_number_of_seconds() {
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
                rate_mbps: Some(value),
                rate_source: RateSource::Reported,
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
                hops: vec![HopSample { hop: Hop::Wlan, packets: 1, mean_ms: value, p95_ms: value }],
                ..Sample::default()
            };
            let event = EventRecord { at_s: value, event: Event::Mode { mode: Mode::Inserted, by: None } };
            let start = Record::Start { at_s: value, version: "1".into() };
            let records = [start, Record::Event(event), Record::Sample(sample.into())];
            for (format, events) in [Format::Text, Format::Csv, Format::Json].map(|f| [(f, false), (f, true)]).concat()
            {
                let selection = Selection { format, events, ..Selection::default() };
                let mut out = Vec::new();
                let mut printer = Printer::new(&selection, &mut out);
                records.iter().cloned().try_for_each(|record| printer.print(record)).expect("memory is writable");
                assert!(!out.is_empty(), "{value} {format:?} {events}");
            }
        }
    }

    #[test]
    fn control_characters_of_a_damaged_file_are_shown_escaped() {
        let [name, text] = ["a\u{1b}[2Jb", "two\nlines\u{9b}é"].map(str::to_owned);
        let event = Event::InWords { name, station: Some("\r".into()), text };
        let event = Record::Event(EventRecord { at_s: BEGIN, event });
        let (selection, mut out) = (Selection::default(), Vec::new());
        Printer::new(&selection, &mut out).print(event).expect("memory is writable");
        let wanted = "2026-03-01T00:00:00Z  a\\u{1b}[2Jb \\r two\\nlines\\u{9b}é\n";
        assert_eq!(String::from_utf8(out).expect("text"), wanted);
    }
}
