//! A table of results as an Arrow record batch.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{Field, Schema};
use evenair_results::{Table, Values};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

/// Rows that a notebook shows.
const SHOWN: usize = 10;

/// Named columns of equal length, which data frames take over without a copy.
#[pyclass(frozen, module = "evenair")]
pub struct Frame {
    table: Arc<Table>,
    batch: RecordBatch,
}

impl Frame {
    pub fn new(table: Table) -> Self {
        let arrays: Vec<ArrayRef> = table.columns.iter().map(|column| array(&column.values)).collect();
        let field = |(name, array): (&String, &ArrayRef)| Field::new(name, array.data_type().clone(), true);
        let names = table.columns.iter().map(|column| &column.name);
        let schema = Schema::new(names.zip(&arrays).map(field).collect::<Vec<_>>());
        let batch = RecordBatch::try_new(Arc::new(schema), arrays).expect("columns of equal length, as declared");
        Self { table: Arc::new(table), batch }
    }
}

/// The values as Arrow has them: text as a dictionary, since names repeat in most rows.
fn array(values: &Values) -> ArrayRef {
    match values {
        Values::Text(values) => Arc::new(dictionary(values)),
        Values::Count(values) => Arc::new(UInt64Array::from_iter(values.iter().copied())),
        Values::Number(values) => Arc::new(Float64Array::from_iter(values.iter().copied())),
    }
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
        self.table.columns.iter().map(|column| column.name.clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.table.rows()
    }

    /// The values of a column, `None` where a row has none.
    fn __getitem__<'py>(&self, python: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(found) = self.table.column(column) else {
            let names = self.table.columns.iter().map(|column| column.name.as_str());
            let near = evenair_reader::nearest(column, names, 3).join(", ");
            return Err(PyKeyError::new_err(format!("no column {column:?}; the nearest are {near}")));
        };
        match &found.values {
            Values::Text(values) => PyList::new(python, values),
            Values::Count(values) => PyList::new(python, values),
            Values::Number(values) => PyList::new(python, values),
        }
    }

    /// The rows, each a `dict`.
    fn to_dicts<'py>(&self, python: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        (0..self.table.rows())
            .map(|row| {
                let dict = PyDict::new(python);
                for column in &self.table.columns {
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
        self.table.to_csv()
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
        // The interface leaves it to the producer whether it is heeded.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(python, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The Arrow PyCapsule interface: the types of the columns.
    fn __arrow_c_schema__<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).expect("types that the interface has");
        PyCapsule::new_with_value(python, schema, c"arrow_schema")
    }

    fn __repr__(&self) -> String {
        format!("Frame({} rows: {})", self.table.rows(), self.columns().join(", "))
    }

    fn _repr_html_(&self) -> String {
        let cell = |tag: &str, text: &str| format!("<{tag}>{}</{tag}>", escaped(text));
        let row = |tag: &str, cells: Vec<String>| {
            format!("<tr>{}</tr>", cells.iter().map(|text| cell(tag, text)).collect::<String>())
        };
        let shown = self.table.rows().min(SHOWN);
        let of_row = |at: usize| self.table.columns.iter().map(|column| column.values.text(at)).collect();
        let rows: String = (0..shown).map(|at| row("td", of_row(at))).collect();
        let more = self.table.rows() - shown;
        let more = if more > 0 { format!("<p>... and {more} more rows</p>") } else { String::new() };
        format!("<table>{}{rows}</table>{more}", row("th", self.columns()))
    }
}

/// Text within HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
