//! Packets of a run as a table: written in groups, and read back.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use evenair_report::PacketWriter;
use evenair_results::PacketRecord;
use evenair_scenario::Scenario;
use evenair_units::{Bytes, Instant};
use evenair_workload::Direction;
use parquet::basic::{Compression, Type as Physical};
use parquet::file::reader::{FileReader, SerializedFileReader};

/// Rows of a row group.
const ROWS: usize = 65_536;

const SCENARIO: &str = "version = 1\nname = \"small\"\nduration = \"2 s\"\nseed = 7\nradio = { standard = \"802.11b\" }\n\
    station = [{ name = \"sta\", rate = \"11 Mb/s\" }]\nserver = [{ name = \"server\" }]\n\
    bulk = [{ name = \"up\", stations = [\"sta\"], server = \"server\", direction = \"up\" }]\n";

/// The bytes written so far, which a test can inspect meanwhile.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn scenario() -> Scenario {
    Scenario::parse(SCENARIO, "small.toml").unwrap()
}

/// A packet with this number.
fn packet(scenario: &Scenario, number: u64) -> PacketRecord {
    let at = |ns: u64| Instant::from_nanos(1_000 * number + ns);
    PacketRecord {
        station: scenario.apps[0].station as u32,
        access_point: 0,
        direction: Direction::Up,
        app: (!number.is_multiple_of(10)).then_some(0),
        sequence: Some(number),
        ip: Bytes(1500),
        enqueued: at(0),
        first_tx: Some(at(10)),
        done: at(20),
        attempts: 1 + (number % 7) as u32,
        rate: None,
        outcome: if number.is_multiple_of(3) { "retry limit" } else { "delivered" },
    }
}

#[test]
fn memory_does_not_grow_with_the_rows() {
    let (scenario, shared) = (scenario(), Shared::default());
    let mut writer = PacketWriter::new(shared.clone(), &scenario, "1.2").unwrap();
    let written = || shared.0.lock().unwrap().len();
    let all: u64 = 2 * ROWS as u64 + 1;
    let mut before = written();
    for first in (0..all).step_by(1000) {
        let part: Vec<_> = (first..all.min(first + 1000)).map(|number| packet(&scenario, number)).collect();
        writer.add(&part).unwrap();
        if (first + part.len() as u64) / ROWS as u64 > first / ROWS as u64 {
            assert!(written() > before + 1000, "a full group is written at once");
            before = written();
        } else {
            assert_eq!(written(), before);
        }
    }
    assert_eq!(writer.finish().unwrap(), all);

    let bytes = shared.0.lock().unwrap().clone();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let about = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let about: Vec<_> = about.iter().map(|pair| (pair.key.as_str(), pair.value.as_deref().unwrap())).collect();
    assert_eq!(about, [("scenario", "small"), ("seed", "7"), ("version", "1.2")]);
    assert_eq!(reader.metadata().num_row_groups(), 3);
    for column in reader.metadata().row_group(0).columns() {
        assert!(matches!(column.compression(), Compression::ZSTD(_)));
        let is_word = column.column_type() == Physical::BYTE_ARRAY;
        assert!(!is_word || column.dictionary_page_offset().is_some(), "{} has no dictionary", column.column_path());
    }
    let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap());
    let mut number = 0;
    for row in rows {
        let row: HashMap<String, String> =
            row.into_columns().into_iter().map(|(name, field)| (name, field.to_string())).collect();
        if number % 9973 == 0 || number + 1 == all {
            let app = if number.is_multiple_of(10) { "null" } else { "\"up\"" };
            let outcome = if number.is_multiple_of(3) { "\"retry limit\"" } else { "\"delivered\"" };
            assert_eq!((&*row["station"], &*row["access_point"]), ("\"sta\"", "\"ap\""));
            assert_eq!((&*row["app"], &*row["outcome"], &*row["direction"]), (app, outcome, "\"up\""));
            assert_eq!((&row["sequence"], &row["ip_bytes"]), (&number.to_string(), &"1500".to_owned()));
            assert_eq!(row["first_tx_ns"], (1000 * number + 10).to_string());
            assert_eq!((&*row["rate_mbps"], &*row["mode"]), ("null", "null"));
        }
        number += 1;
    }
    assert_eq!(number, all);
}

#[test]
fn no_packets_are_a_table_without_rows() {
    let shared = Shared::default();
    assert_eq!(PacketWriter::new(shared.clone(), &scenario(), "1.2").unwrap().finish().unwrap(), 0);
    let reader = SerializedFileReader::new(bytes::Bytes::from(shared.0.lock().unwrap().clone())).unwrap();
    assert_eq!((reader.metadata().num_row_groups(), reader.metadata().file_metadata().num_rows()), (0, 0));
    assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), 13);
}

#[test]
fn a_path_that_cannot_be_written_is_an_error_of_the_system() {
    let error = PacketWriter::create(Path::new("/dev/null/packets.parquet"), &scenario(), "1.2").err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
}
