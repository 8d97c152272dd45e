//! Tables as Apache Parquet: columns with their types, for pandas, polars and DuckDB.
//!
//! A table of results is one uncompressed row group: it is small, and every reader supports that. Tables with a row for each
//! number are long: they are written in parts, a row group each, compressed with zstd, with dictionaries for words.

use std::borrow::Cow;
use std::io::Write;
use std::iter;
use std::sync::Arc;

use evenair_results::{Table, Values};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

/// A table as a Parquet document. Absent values are null.
///
/// # Panics
/// Never: writing to memory does not fail, and the schema is made from the columns.
pub fn to_parquet(table: &Table) -> Vec<u8> {
    let plain = WriterProperties::builder();
    write_groups(table, iter::once(Cow::Borrowed(table)), plain).expect("memory takes it")
}

/// The parts of a long table as one compressed Parquet document; `None` without parts. Absent values are null.
///
/// # Panics
/// If the parts have different columns.
pub fn to_compressed_parquet(parts: impl IntoIterator<Item = Table>) -> Option<Vec<u8>> {
    let mut parts = parts.into_iter();
    let first = parts.next()?;
    let compressed = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let groups = iter::once(Cow::Borrowed(&first)).chain(parts.map(Cow::Owned));
    Some(
        write_groups(&first, groups, compressed).expect("memory takes it, and all parts have the columns of the first"),
    )
}

/// Writes tables with the columns of `model`, a row group each.
fn write_groups<'a>(
    model: &Table,
    groups: impl Iterator<Item = Cow<'a, Table>>,
    properties: WriterPropertiesBuilder,
) -> Result<Vec<u8>> {
    let columns: Result<Vec<TypePtr>> =
        model.columns.iter().map(|column| field(&column.name, &column.values)).collect();
    let schema = Type::group_type_builder("results").with_fields(columns?).build()?;
    let properties = properties.set_created_by(format!("evenair version {}", env!("CARGO_PKG_VERSION"))).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    for table in groups {
        let names = |table: &Table| table.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&table), names(model), "parts of one table have the same columns");
        let mut group = writer.next_row_group()?;
        table.columns.iter().try_for_each(|column| write_column(&mut group, &column.values))?;
        group.close()?;
    }
    writer.into_inner()
}

fn write_column<W: Write + Send>(group: &mut SerializedRowGroupWriter<'_, W>, values: &Values) -> Result<()> {
    match values {
        Values::Text(values) => {
            write::<ByteArrayType, _>(group, values.iter().map(|text| Some(text.as_deref()?.into())))
        }
        // Counts are written as unsigned 64-bit integers, which have the same encoding as signed ones.
        Values::Count(values) => write::<Int64Type, _>(group, values.iter().map(|n| n.map(u64::cast_signed))),
        Values::Number(values) => write::<DoubleType, _>(group, values.iter().copied()),
    }
}

/// The schema of a column.
fn field(name: &str, values: &Values) -> Result<TypePtr> {
    let (physical, logical) = match values {
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Count(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Values::Number(_) => (Physical::DOUBLE, None),
    };
    let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
    Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?))
}

/// Writes the next column of a row group.
pub(crate) fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    let (mut known, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        known.extend(value);
    }
    column.typed::<T>().write_batch(&known, Some(&levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    fn sample() -> Table {
        let mut table = Table::default();
        table.push("radio_ap_buffer", Values::Text(vec![Some("50 packets".into()), Some("a, \"b\"".into()), None]));
        table.push("replications", Values::Count(vec![Some(3), None, Some(u64::MAX)]));
        table.push("total_ip_mbps", Values::Number(vec![Some(0.1), Some(-2.5e-9), None]));
        table
    }

    #[test]
    fn written_tables_are_read_back() {
        let bytes = to_parquet(&sample());
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<Vec<(String, Field)>> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns()).collect();
        let text = |text: &str| Field::Str(text.into());
        let names: Vec<_> = rows[0].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["radio_ap_buffer", "replications", "total_ip_mbps"]);
        let values: Vec<Vec<Field>> =
            rows.into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect()).collect();
        assert_eq!(values[0], [text("50 packets"), Field::ULong(3), Field::Double(0.1)]);
        assert_eq!(values[1], [text("a, \"b\""), Field::Null, Field::Double(-2.5e-9)]);
        assert_eq!(values[2], [Field::Null, Field::ULong(u64::MAX), Field::Null]);
    }

    #[test]
    fn names_with_dots_are_one_column() {
        let mut table = Table::default();
        table.push("phase.all.total_ip_mbps", Values::Number(vec![Some(1.5)]));
        let reader = SerializedFileReader::new(bytes::Bytes::from(to_parquet(&table))).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        assert_eq!((schema.num_columns(), schema.column(0).name()), (1, "phase.all.total_ip_mbps"));
        let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
        assert_eq!(row.into_columns()[0].1, Field::Double(1.5));
    }

    #[test]
    fn parts_are_one_table_in_little_room() {
        let part = |number: u64| {
            let mut table = Table::default();
            let words = (0..10_000).map(|row| (row % 3 > 0).then(|| format!("a-measure-with-a-long-name-{}", row % 3)));
            table.push("seed", Values::Count(vec![Some(number); 10_000]));
            table.push("measure", Values::Text(words.collect()));
            table
        };
        let bytes = to_compressed_parquet([part(1), part(2)]).unwrap();
        assert!(bytes.len() < 10_000, "{} bytes: words are not in a dictionary", bytes.len());
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let column = reader.metadata().row_group(0).column(1);
        assert!(column.dictionary_page_offset().is_some());
        assert!(matches!(column.compression(), Compression::ZSTD(_)));
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns()).collect();
        assert_eq!(rows.len(), 20_000);
        assert_eq!((&rows[10_000][0].1, &rows[10_000][1].1), (&Field::ULong(2), &Field::Null));
        assert_eq!(rows[19_999][1].1, Field::Null);
        assert_eq!(rows[19_998][1].1, Field::Str("a-measure-with-a-long-name-2".into()));
        assert_eq!(to_compressed_parquet([]), None);
    }
}
