//! Tables as Apache Parquet: columns with their types, for pandas, polars and DuckDB.
//!
//! One row group, without compression: tables of results are small, and every reader takes that.

use std::sync::Arc;

use evenair_results::{Table, Values};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

/// A table as a Parquet document. Absent values are null.
///
/// # Panics
/// Never: writing to memory does not fail, and the schema is made from the columns.
pub fn to_parquet(table: &Table) -> Vec<u8> {
    try_parquet(table).expect("memory takes it")
}

fn try_parquet(table: &Table) -> Result<Vec<u8>> {
    let columns: Result<Vec<TypePtr>> =
        table.columns.iter().map(|column| field(&column.name, &column.values)).collect();
    let schema = Type::group_type_builder("results").with_fields(columns?).build()?;
    let properties =
        WriterProperties::builder().set_created_by(format!("evenair version {}", env!("CARGO_PKG_VERSION"))).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in &table.columns {
        match &column.values {
            Values::Text(values) => {
                write::<ByteArrayType>(&mut group, values.iter().map(|text| Some(text.as_deref()?.into())))?;
            }
            // Counts are written as unsigned numbers of 64 bits, whose form on disk is that of signed ones.
            Values::Count(values) => {
                write::<Int64Type>(&mut group, values.iter().map(|n| n.map(u64::cast_signed)))?;
            }
            Values::Number(values) => write::<DoubleType>(&mut group, values.iter().copied())?,
        }
    }
    group.close()?;
    writer.into_inner()
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

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
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
    fn what_is_written_is_read_back() {
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
}
