//! Writes the packets of a run to a Parquet document during the run.
//!
//! Rows are buffered until a row group is full, so that memory does not grow with the run, except for the footer with some kilobytes per
//! group. Columns are compressed with zstd, and words are in dictionaries. Times are signed integers in nanoseconds of virtual time:
//! exact, with negative differences where appropriate.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use evenair_results::{PacketRecord, UsedRate};
use evenair_scenario::Scenario;
use evenair_units::Instant;
use evenair_wifi::PhyRate;
use evenair_workload::Direction;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::parquet::write;

/// Rows of a row group.
const ROWS: usize = 65_536;

/// Writes the packets of a run.
///
/// A document without [`PacketWriter::finish`] has no footer, and cannot be read.
pub struct PacketWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    words: Words,
    pending: Vec<PacketRecord>,
    rows: u64,
}

/// The words of the rows; copies share their bytes.
struct Words {
    /// Names of hosts, access points and applications, by their numbers in the scenario.
    hosts: Vec<ByteArray>,
    access_points: Vec<ByteArray>,
    apps: Vec<ByteArray>,
    up: ByteArray,
    down: ByteArray,
    outcomes: HashMap<&'static str, ByteArray>,
    modes: HashMap<PhyRate, Option<ByteArray>>,
}

impl PacketWriter<BufWriter<File>> {
    /// Creates a file, replacing an existing one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path, scenario: &Scenario, version: &str) -> io::Result<Self> {
        Self::new(BufWriter::new(File::create(path)?), scenario, version)
    }
}

impl<W: Write + Send> PacketWriter<W> {
    /// A document of the packets of `scenario`. Its metadata are `scenario` (the name), `seed` and `version`.
    ///
    /// # Errors
    /// `to` cannot be written.
    pub fn new(to: W, scenario: &Scenario, version: &str) -> io::Result<Self> {
        let about =
            [("scenario", scenario.name.clone()), ("seed", scenario.seed.to_string()), ("version", version.to_owned())];
        let about = about.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("evenair version {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(about))
            .build();
        let schema = schema().map_err(io_error)?;
        let file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties)).map_err(io_error)?;
        Ok(Self { file, words: Words::new(scenario), pending: Vec::new(), rows: 0 })
    }

    /// Adds packets, which are written when a row group is full.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn add(&mut self, packets: &[PacketRecord]) -> io::Result<()> {
        self.rows += packets.len() as u64;
        let mut rest = packets;
        while self.pending.len() + rest.len() >= ROWS {
            let (now, later) = rest.split_at(ROWS - self.pending.len());
            self.pending.extend_from_slice(now);
            self.flush().map_err(io_error)?;
            rest = later;
        }
        self.pending.extend_from_slice(rest);
        Ok(())
    }

    /// Writes the remaining rows and the footer. Returns the number of rows.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> io::Result<u64> {
        self.close().map_err(io_error)?;
        Ok(self.rows)
    }

    fn close(&mut self) -> Result<()> {
        if !self.pending.is_empty() {
            self.flush()?;
        }
        self.file.finish()?;
        self.file.inner_mut().flush()?;
        Ok(())
    }

    /// Writes the pending rows as a group.
    fn flush(&mut self) -> Result<()> {
        let Self { file, words, pending, .. } = self;
        let mut group = file.next_row_group()?;
        write_rows(&mut group, words, pending)?;
        group.close()?;
        pending.clear();
        Ok(())
    }
}

impl Words {
    fn new(scenario: &Scenario) -> Self {
        let Scenario { hosts, access_points, apps, .. } = scenario;
        Self {
            hosts: hosts.iter().map(|host| word(&host.name)).collect(),
            access_points: access_points.iter().map(|point| word(&point.name)).collect(),
            apps: apps.iter().map(|app| word(&app.name)).collect(),
            up: word("up"),
            down: word("down"),
            outcomes: HashMap::new(),
            modes: HashMap::new(),
        }
    }

    fn direction(&self, direction: Direction) -> ByteArray {
        match direction {
            Direction::Up => self.up.clone(),
            Direction::Down => self.down.clone(),
        }
    }

    fn outcome(&mut self, outcome: &'static str) -> ByteArray {
        self.outcomes.entry(outcome).or_insert_with(|| word(outcome)).clone()
    }

    /// The modulation and coding scheme, if the standard has one, named as in other results.
    fn mode(&mut self, rate: PhyRate) -> Option<ByteArray> {
        let name = || Some(word(&UsedRate::from(rate).scheme?.to_string()));
        self.modes.entry(rate).or_insert_with(name).clone()
    }
}

fn word(text: &str) -> ByteArray {
    text.into()
}

/// Types of columns of words and of integers.
const WORD: (Physical, Option<LogicalType>) = (Physical::BYTE_ARRAY, Some(LogicalType::String));
const INTEGER: (Physical, Option<LogicalType>) = (Physical::INT64, None);
const NUMBER: (Physical, Option<LogicalType>) = (Physical::DOUBLE, None);

/// The columns, in the order of [`write_rows`].
const COLUMNS: [(&str, (Physical, Option<LogicalType>)); 13] = [
    ("station", WORD),
    ("access_point", WORD),
    ("direction", WORD),
    ("app", WORD),
    ("sequence", INTEGER),
    ("ip_bytes", INTEGER),
    ("enqueued_ns", INTEGER),
    ("first_tx_ns", INTEGER),
    ("done_ns", INTEGER),
    ("outcome", WORD),
    ("attempts", INTEGER),
    ("rate_mbps", NUMBER),
    ("mode", WORD),
];

fn schema() -> Result<Type> {
    let field = |(name, (physical, logical))| -> Result<_> {
        let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?))
    };
    let fields: Result<Vec<_>> = COLUMNS.into_iter().map(field).collect();
    Type::group_type_builder("packets").with_fields(fields?).build()
}

fn write_rows<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    words: &mut Words,
    rows: &[PacketRecord],
) -> Result<()> {
    write::<ByteArrayType, _>(group, rows.iter().map(|row| words.hosts.get(row.station as usize).cloned()))?;
    write::<ByteArrayType, _>(
        group,
        rows.iter().map(|row| words.access_points.get(row.access_point as usize).cloned()),
    )?;
    write::<ByteArrayType, _>(group, rows.iter().map(|row| Some(words.direction(row.direction))))?;
    write::<ByteArrayType, _>(group, rows.iter().map(|row| words.apps.get(row.app? as usize).cloned()))?;
    write::<Int64Type, _>(group, rows.iter().map(|row| row.sequence.map(u64::cast_signed)))?;
    write::<Int64Type, _>(group, rows.iter().map(|row| Some(row.ip.0.cast_signed())))?;
    write::<Int64Type, _>(group, rows.iter().map(|row| Some(nanoseconds(row.enqueued))))?;
    write::<Int64Type, _>(group, rows.iter().map(|row| row.first_tx.map(nanoseconds)))?;
    write::<Int64Type, _>(group, rows.iter().map(|row| Some(nanoseconds(row.done))))?;
    write::<ByteArrayType, _>(group, rows.iter().map(|row| Some(words.outcome(row.outcome))))?;
    write::<Int64Type, _>(group, rows.iter().map(|row| Some(row.attempts.into())))?;
    write::<DoubleType, _>(group, rows.iter().map(|row| Some(row.rate?.bit_rate().as_mbps_f64())))?;
    write::<ByteArrayType, _>(group, rows.iter().map(|row| words.mode(row.rate?)))
}

/// Nanoseconds since the start of the run.
fn nanoseconds(at: Instant) -> i64 {
    at.as_nanos().cast_signed()
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}
