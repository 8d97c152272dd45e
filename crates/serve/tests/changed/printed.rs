//! Printed records of any content: as text they are lines without control characters, as CSV rows of equal length, as JSON the same
//! records.
//!
//! `fuzz/fuzz_targets/printed.rs` does the same with inputs from libFuzzer.

use evenair_api::history::Record;
use evenair_client::history::{Format, Printer, Selection};

fn print(records: &[Record], selection: &Selection) -> String {
    let mut out = Vec::new();
    let mut printer = Printer::new(selection, &mut out);
    records.iter().cloned().try_for_each(|record| printer.print(record)).expect("memory is writable");
    printer.end().expect("memory is writable");
    String::from_utf8(out).expect("text")
}

/// A station of the records, if there is one.
fn station(records: &[Record]) -> Option<String> {
    records.iter().find_map(|record| match record {
        Record::Sample(sample) => sample.stations.first().map(|station| station.mac.clone()),
        Record::Event(record) => record.event.station().map(str::to_owned),
        Record::Start { .. } => None,
    })
}

/// Prints the records among these lines in every format. Returns their number.
pub fn printed(bytes: &[u8]) -> usize {
    let lines = bytes.split(|byte| *byte == b'\n');
    let records: Vec<Record> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    for station in [None, station(&records)] {
        for events in [false, true] {
            let selection = |format| Selection { station: station.clone(), events, format, ..Selection::default() };
            let text = print(&records, &selection(Format::Text));
            assert!(text.lines().all(|line| !line.contains(char::is_control)), "{text:?}");
            let rows = print(&records, &selection(Format::Csv));
            for row in csv::ReaderBuilder::new().from_reader(rows.as_bytes()).records() {
                row.unwrap_or_else(|error| panic!("{error}\n{rows}"));
            }
            let json = print(&records, &selection(Format::Json));
            for line in json.lines() {
                let record: Record = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}\n{line}"));
                assert_eq!(serde_json::to_string(&record).expect("JSON"), line);
            }
            if station.is_none() && !events {
                assert_eq!(json.lines().count(), records.len());
            }
        }
    }
    // A time selects only by time.
    if let Some(at_s) = records.first().map(Record::at_s).filter(|at| at.is_finite()) {
        let at = Selection { from_s: Some(at_s), to_s: Some(at_s), format: Format::Json, ..Selection::default() };
        let same = records.iter().filter(|record| record.at_s() == at_s).count();
        assert_eq!(print(&records, &at).lines().count(), same);
    }
    records.len()
}
