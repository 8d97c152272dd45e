//! History of any bytes: records are read, everything else is skipped, and new records are appended.
//!
//! `fuzz/fuzz_targets/history.rs` does the same with inputs from libFuzzer.

use std::fs;
use std::path::Path;

use evenair_api::history::{Event, EventRecord, Record};
use evenair_client::history::Reader;
use evenair_serve::history::{Files, Keeper};

/// Reads a history of these bytes, and appends to it. Returns the number of records.
pub fn history(folder: &Path, bytes: &[u8]) -> u64 {
    let file = |number: u8| {
        folder.join(if number == 0 { "history.ndjson".into() } else { format!("history.{number}.ndjson") })
    };
    let (old, new) = bytes.split_at(bytes.len() / 3);
    for (number, bytes) in [(0, new), (1, old), (2, &[][..]), (3, &[])] {
        fs::write(file(number), bytes).expect("writable");
    }
    let read = || {
        let mut reader = Reader::open(folder).expect("a folder");
        let records: Vec<_> = reader.by_ref().map(|record| record.expect("readable")).collect();
        assert_eq!(reader.seen().records, records.len() as u64);
        records
    };
    let before = read();
    let added = Record::Event(EventRecord { at_s: 1.0, event: Event::Ports { text: "new".into() } });
    Files::open(folder, 1 << 20).and_then(|mut files| files.keep(&added)).expect("there is room");
    let after = read();
    // The newest line may have been complete except for its end, and is cut off.
    assert!(after.len() >= before.len() && after.len() <= before.len() + 1, "{} of {}", after.len(), before.len());
    let added = |record: &Record| matches!(record, Record::Event(record) if record.event.text() == "new");
    assert!(after.last().is_some_and(added), "what is kept can be read");
    // Appended records can be read again, unchanged.
    for record in &before {
        let text = serde_json::to_string(record).expect("a record is JSON");
        let again: Record = serde_json::from_str(&text).expect("just written");
        assert_eq!(serde_json::to_string(&again).expect("a record is JSON"), text);
    }
    before.len() as u64
}
