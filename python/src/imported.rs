//! Data frames of other libraries as tables, by the Arrow PyCapsule interface.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use evenair_results::{Table, Values};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

/// Calls `each` with the rows of a data frame, part by part.
pub fn for_each_part(frame: &Bound<'_, PyAny>, mut each: impl FnMut(&Table) -> PyResult<()>) -> PyResult<()> {
    const METHOD: &str = "__arrow_c_stream__";
    if !frame.hasattr(METHOD)? {
        let kind = frame.get_type();
        let text =
            format!("{kind} is no data frame with {METHOD}; allowed: a Frame, a frame of polars, pandas or pyarrow");
        return Err(PyTypeError::new_err(text));
    }
    let capsule = frame.call_method0(METHOD)?.cast_into::<PyCapsule>().map_err(PyErr::from)?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name points to a stream, by the interface; it is moved out, and the one left behind is marked so.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    let wrong = |error: arrow_schema::ArrowError| PyValueError::new_err(error.to_string());
    for batch in RecordBatchStreamReader::try_new(stream).map_err(wrong)? {
        each(&table(&batch.map_err(wrong)?)?)?;
    }
    Ok(())
}

fn table(batch: &RecordBatch) -> PyResult<Table> {
    let mut table = Table::default();
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let values = values(array.as_ref()).ok_or_else(|| {
            let (name, kind) = (field.name(), field.data_type());
            PyTypeError::new_err(format!(
                "the column {name:?} is of type {kind}; allowed: text, whole numbers, numbers"
            ))
        })?;
        if table.column(field.name()).is_some() {
            return Err(PyValueError::new_err(format!("two columns are called {:?}", field.name())));
        }
        table.push(field.name(), values);
    }
    Ok(table)
}

/// The values of a column; `None` if tables of results do not have its type.
fn values(array: &dyn Array) -> Option<Values> {
    macro_rules! whole {
        ($of:ty) => {{
            let values = array.as_primitive::<$of>();
            let counts = values.iter().map(|value| value.map(u64::try_from).transpose());
            let counts: Result<Vec<_>, _> = counts.collect();
            let numbers = || values.iter().map(|value| value.map(|value| value as f64)).collect();
            counts.map_or_else(|_| Values::Number(numbers()), Values::Count)
        }};
    }
    Some(match array.data_type() {
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => Values::Count(array.as_primitive::<UInt64Type>().iter().collect()),
        DataType::Float32 => {
            Values::Number(array.as_primitive::<Float32Type>().iter().map(|value| value.map(f64::from)).collect())
        }
        DataType::Float64 => Values::Number(array.as_primitive::<Float64Type>().iter().collect()),
        _ => Values::Text(texts(array)?),
    })
}

fn texts(array: &dyn Array) -> Option<Vec<Option<String>>> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(owned).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(owned).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(owned).collect(),
        DataType::Boolean => array.as_boolean().iter().map(|value| value.map(|value| value.to_string())).collect(),
        DataType::Null => vec![None; array.len()],
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let words = texts(dictionary.values().as_ref())?;
            let keys = dictionary.normalized_keys();
            let known = |(row, &key): (usize, &usize)| (!array.is_null(row)).then(|| words[key].clone()).flatten();
            keys.iter().enumerate().map(known).collect()
        }
        _ => return None,
    })
}
