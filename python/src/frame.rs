//! Tables of results as Arrow record batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use evenair_results::{Table, Values};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

/// Number of rows that a notebook shows.
const SHOWN: usize = 10;

/// Named columns of equal length, which data frames take over without a copy.
#[pyclass(frozen, module = "evenair")]
pub struct Frame {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Frame {
    pub fn new(table: Table) -> Self {
        Self::of_parts([table])
    }

    /// A frame of the parts of one table, at least one, all with the same columns.
    pub fn of_parts(parts: impl IntoIterator<Item = Table>) -> Self {
        let batches: Vec<RecordBatch> = parts.into_iter().map(|part| batch(&part)).collect();
        let schema = batches.first().expect("a table has a part").schema();
        Self { schema, batches }
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The first rows, at most `rows`.
    fn head(&self, rows: usize) -> Table {
        let mut table = Table::default();
        for (at, field) in self.schema.fields().iter().enumerate() {
            let mut left = rows;
            let arrays: Vec<ArrayRef> = self
                .batches
                .iter()
                .map(|batch| {
                    let taken = left.min(batch.num_rows());
                    left -= taken;
                    batch.column(at).slice(0, taken)
                })
                .collect();
            table.push(field.name(), values(&arrays));
        }
        table
    }
}

fn batch(table: &Table) -> RecordBatch {
    let arrays: Vec<ArrayRef> = table.columns.iter().map(|column| array(&column.values)).collect();
    let field = |(name, array): (&String, &ArrayRef)| Field::new(name, array.data_type().clone(), true);
    let names = table.columns.iter().map(|column| &column.name);
    let schema = Schema::new(names.zip(&arrays).map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), arrays).expect("columns of equal length, as declared")
}

/// The values as an Arrow array: text as a dictionary, since names repeat in most rows.
fn array(values: &Values) -> ArrayRef {
    match values {
        Values::Text(values) => Arc::new(dictionary(values)),
        Values::Count(values) => Arc::new(UInt64Array::from_iter(values.iter().copied())),
        Values::Number(values) => Arc::new(Float64Array::from_iter(values.iter().copied())),
    }
}

/// The values of a column made by [`array`], in parts.
fn values(arrays: &[ArrayRef]) -> Values {
    match arrays[0].data_type() {
        DataType::UInt64 => Values::Count(arrays.iter().flat_map(|part| part.as_primitive::<UInt64Type>()).collect()),
        DataType::Float64 => {
            Values::Number(arrays.iter().flat_map(|part| part.as_primitive::<Float64Type>()).collect())
        }
        _ => Values::Text(arrays.iter().flat_map(texts).collect()),
    }
}

fn texts(array: &ArrayRef) -> Vec<Option<String>> {
    let dictionary = array.as_dictionary::<Int32Type>();
    let words = dictionary.values().as_string::<i32>();
    dictionary.keys().iter().map(|key| Some(words.value(usize::try_from(key?).ok()?).to_owned())).collect()
}

fn dictionary(values: &[Option<String>]) -> DictionaryArray<Int32Type> {
    let mut places: HashMap<&str, i32> = HashMap::new();
    let mut words: Vec<&str> = Vec::new();
    let mut keys = Vec::with_capacity(values.len());
    for word in values {
        keys.push(word.as_deref().map(|word| {
            *places.entry(word).or_insert_with(|| {
                words.push(word);
                i32::try_from(words.len() - 1).expect("fewer words than 2^31")
            })
        }));
    }
    DictionaryArray::try_new(Int32Array::from(keys), Arc::new(StringArray::from(words))).expect("keys of these words")
}

#[pymethods]
impl Frame {
    /// Names of the columns, from left to right; units are at their ends.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    /// The values of a column, `None` where a row has none.
    fn __getitem__<'py>(&self, python: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        let Ok(found) = self.schema.index_of(column) else {
            let names = self.schema.fields().iter().map(|field| field.name().as_str());
            let near = evenair_reader::nearest(column, names, 3).join(", ");
            return Err(PyKeyError::new_err(format!("no column {column:?}; the nearest are {near}")));
        };
        let arrays: Vec<ArrayRef> = self.batches.iter().map(|batch| Arc::clone(batch.column(found))).collect();
        match &values(&arrays) {
            Values::Text(values) => PyList::new(python, values),
            Values::Count(values) => PyList::new(python, values),
            Values::Number(values) => PyList::new(python, values),
        }
    }

    /// The rows, each a `dict`.
    fn to_dicts<'py>(&self, python: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let table = self.head(usize::MAX);
        (0..table.rows())
            .map(|row| {
                let dict = PyDict::new(python);
                for column in &table.columns {
                    match &column.values {
                        Values::Text(values) => dict.set_item(&column.name, &values[row])?,
                        Values::Count(values) => dict.set_item(&column.name, values[row])?,
                        Values::Number(values) => dict.set_item(&column.name, values[row])?,
                    }
                }
                Ok(dict)
            })
            .collect()
    }

    /// RFC 4180, with a heading.
    fn to_csv(&self) -> String {
        self.head(usize::MAX).to_csv()
    }

    /// As a `polars.DataFrame`; needs polars.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.getattr("DataFrame")?.call1((slf,))
    }

    /// As a `pyarrow.Table`; needs pyarrow.
    fn to_arrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.getattr("table")?.call1((slf,))
    }

    /// As a `pandas.DataFrame`; needs pandas and pyarrow.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_arrow(slf)?.call_method0("to_pandas")
    }

    /// The Arrow PyCapsule interface: the rows. No other schema than the frame's own is made.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        python: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets the producer ignore it.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let batches = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(python, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The Arrow PyCapsule interface: the types of the columns.
    fn __arrow_c_schema__<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).expect("types that the interface has");
        PyCapsule::new_with_value(python, schema, c"arrow_schema")
    }

    fn __repr__(&self) -> String {
        format!("Frame({} rows: {})", self.rows(), self.columns().join(", "))
    }

    fn _repr_html_(&self) -> String {
        let cell = |tag: &str, text: &str| format!("<{tag}>{}</{tag}>", escaped(text));
        let row = |tag: &str, cells: Vec<String>| {
            format!("<tr>{}</tr>", cells.iter().map(|text| cell(tag, text)).collect::<String>())
        };
        let table = self.head(SHOWN);
        let of_row = |at: usize| table.columns.iter().map(|column| column.values.text(at)).collect();
        let rows: String = (0..table.rows()).map(|at| row("td", of_row(at))).collect();
        let more = self.rows() - table.rows();
        let more = if more > 0 { format!("<p>... and {more} more rows</p>") } else { String::new() };
        format!("<table>{}{rows}</table>{more}", row("th", self.columns()))
    }
}

/// Text escaped for HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
