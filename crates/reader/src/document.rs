//! Parses text into the raw form, and maps a position to the text that its author sees there.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, DeserializeOwned};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{ConfigError, Located, Place, Problem, Problems};
use crate::keys;
use crate::renames::Kind;
use crate::settings::{self, File, Set, element_name};

/// A parsed file, which maps spans to keys and lines.
#[derive(Clone, Debug)]
pub struct Document {
    file: String,
    text: String,
    sets: Vec<Set>,
    /// Every key's and every value's span with the path of the key.
    places: Vec<(Range<usize>, String)>,
}

/// Longest part of a source line that is shown with a problem, in characters.
const SHOWN_COLUMNS: usize = 120;

/// Reads `text` as a `T`, after setting each `(key, value)` of `sets` in it as if the file said so.
///
/// A key is a path such as `radio.ap_buffer`, `station.slow.rate` (the entry of `[[station]]` named `slow`), or `event.1.at`
/// (the first `[[event]]`). A value that is not TOML by itself is read as text. Unknown keys are returned as problems with the
/// value, so that all problems can be reported together.
///
/// # Errors
/// Syntax errors, missing keys, and tables in place of values or the other way round.
pub fn read<T: DeserializeOwned + JsonSchema>(
    text: &str,
    file: &str,
    sets: &[(&str, &str)],
) -> Result<(T, Document, Problems), ConfigError> {
    let mut document = Document { file: file.to_owned(), text: text.to_owned(), sets: vec![], places: vec![] };
    let mut problems = Problems::default();

    let (mut root, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        problems.add(error.span().unwrap_or_default(), format!("not TOML: {}", error.message()), "");
    }
    let schema = schema_of::<T>();
    if let Some(what) = Kind::mistaken(root.get_ref(), schema.as_value(), file) {
        problems.add(root_span(text), what, "");
        return Err(document.invalid(problems));
    }
    document.sets = Set::all(sets, text.len());
    let padded: Vec<String> = document.sets.iter().map(Set::padded).collect();
    for (set, padded) in document.sets.iter().zip(&padded) {
        if let Err((what, allowed)) =
            settings::apply(root.get_mut(), set, padded, &File { name: file, schema: schema.as_value() })
        {
            problems.add(set.span(), what, allowed);
        }
    }
    document.places = places(root.get_ref());
    if !problems.is_empty() {
        return Err(document.invalid(problems));
    }

    if !keys::check(root.get_mut(), root_span(text), schema.as_value(), &mut problems) {
        return Err(document.invalid(problems));
    }
    match T::deserialize(toml::Deserializer::from(root)) {
        Ok(raw) => Ok((raw, document, problems)),
        Err(error) => {
            problems.add(error.span().unwrap_or_default(), error.message(), "");
            Err(document.invalid(problems))
        }
    }
}

/// The schema of a `T`, made once per process: making that of a scenario takes longer than reading one.
fn schema_of<T: JsonSchema>() -> Arc<Schema> {
    static MADE: Mutex<BTreeMap<Cow<'static, str>, Arc<Schema>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || Arc::new(SchemaGenerator::default().into_root_schema_for::<T>());
    made.entry(T::schema_id()).or_insert_with(make).clone()
}

/// The tables of `text`, after setting each `(key, value)` of `sets` in it as [`read`] does. Keys are not checked.
///
/// # Errors
/// Syntax errors, and entries of lists that are not there.
pub fn with_settings(text: &str, file: &str, sets: &[(&str, &str)]) -> Result<toml::Table, ConfigError> {
    let mut document = Document::of(text, file)?;
    document.sets = Set::all(sets, text.len());
    let padded: Vec<String> = document.sets.iter().map(Set::padded).collect();
    let mut problems = Problems::default();
    let (mut root, _) = DeTable::parse_recoverable(text);
    for (set, padded) in document.sets.iter().zip(&padded) {
        if let Err((what, allowed)) =
            settings::apply(root.get_mut(), set, padded, &File { name: file, schema: &serde_json::Value::Null })
        {
            problems.add(set.span(), what, allowed);
        }
    }
    document.verdict(problems)?;
    toml::Table::deserialize(toml::Deserializer::from(root)).map_err(|error| {
        let mut problems = Problems::default();
        problems.add(error.span().unwrap_or_default(), error.message(), "");
        document.invalid(problems)
    })
}

/// Where a problem of the whole file is shown: its first line.
fn root_span(text: &str) -> Range<usize> {
    0..text.lines().next().map_or(0, str::len)
}

impl Document {
    /// Parses a text without checking its keys.
    ///
    /// # Errors
    /// Syntax errors.
    pub fn of(text: &str, file: &str) -> Result<Self, ConfigError> {
        let mut document = Self { file: file.to_owned(), text: text.to_owned(), sets: vec![], places: vec![] };
        let (root, errors) = DeTable::parse_recoverable(text);
        let mut problems = Problems::default();
        for error in errors {
            problems.add(error.span().unwrap_or_default(), format!("not TOML: {}", error.message()), "");
        }
        document.places = places(root.get_ref());
        document.verdict(problems)?;
        Ok(document)
    }

    /// The position of a key's value, by its path.
    pub fn place_of(&self, key: &str) -> Option<Range<usize>> {
        // A key's own span precedes that of its value.
        self.places.iter().rfind(|(_, path)| path == key).map(|(place, _)| place.clone())
    }

    /// A problem of another text, moved to the same key of this one; without a position if the key does not exist here.
    pub fn relocate(&self, problem: &Located) -> Located {
        let Located { key, what, allowed, .. } = problem.clone();
        match self.place_of(&key) {
            Some(span) => self.locate(Problem { span, what, allowed }),
            None => Located { place: Place::whole(&self.file), key, what, allowed, source_line: None },
        }
    }

    /// Nothing, or the error that lists all problems.
    ///
    /// # Errors
    /// When there are problems.
    pub fn verdict(&self, problems: Problems) -> Result<(), ConfigError> {
        if problems.is_empty() { Ok(()) } else { Err(self.invalid(problems)) }
    }

    fn invalid(&self, problems: Problems) -> ConfigError {
        ConfigError::Invalid(problems.into_sorted().into_iter().map(|problem| self.locate(problem)).collect())
    }

    fn locate(&self, problem: Problem) -> Located {
        let Problem { span, what, allowed } = problem;
        if let Some(set) = self.sets.iter().rfind(|set| set.start <= span.start) {
            let place = Place::whole(format!("--set {}={}", set.key, set.value));
            return Located { place, key: String::new(), what, allowed, source_line: None };
        }
        if span.end == 0 {
            let key = String::new();
            return Located { place: Place::whole(&self.file), key, what, allowed, source_line: None };
        }
        let start = floor_char(&self.text, span.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let line_number = self.text[..start].matches('\n').count() + 1;
        let column = self.text[line_start..start].chars().count();
        let end = floor_char(&self.text, span.end.clamp(start, line_end));
        let width = self.text[start..end].chars().count();
        Located {
            place: Place { file: self.file.clone(), position: Some((line_number, column + 1)) },
            key: self.key_at(&span),
            what,
            allowed,
            source_line: Some(excerpt(&self.text[line_start..line_end], column, width)),
        }
    }

    /// The path of the innermost key whose key or value covers `span`.
    fn key_at(&self, span: &Range<usize>) -> String {
        self.places
            .iter()
            .filter(|(place, _)| place.start <= span.start && span.end <= place.end)
            .min_by_key(|(place, path)| (place.len(), Reverse(path.len())))
            .map_or_else(String::new, |(_, path)| path.clone())
    }
}

/// The part of a line around a column, without tabs and control characters, and the columns to underline in it.
fn excerpt(line: &str, column: usize, width: usize) -> (String, Range<usize>) {
    let skipped = column.saturating_sub(SHOWN_COLUMNS / 2);
    let shown = line.chars().skip(skipped).take(SHOWN_COLUMNS);
    let shown: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
    let from = column - skipped;
    (shown, from..(from + width.max(1)).min(SHOWN_COLUMNS.max(from + 1)))
}

/// The largest character boundary of `text` that is not beyond `at`.
fn floor_char(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The spans of every key and value below `table`.
fn places(table: &DeTable<'_>) -> Vec<(Range<usize>, String)> {
    fn visit(value: &Spanned<DeValue<'_>>, path: &str, out: &mut Vec<(Range<usize>, String)>) {
        out.push((value.span(), path.to_owned()));
        match value.get_ref() {
            DeValue::Table(table) => visit_table(table, path, out),
            DeValue::Array(array) => {
                for (i, element) in array.iter().enumerate() {
                    visit(element, &format!("{path}.{}", element_name(element.get_ref(), i)), out);
                }
            }
            _ => {}
        }
    }

    fn visit_table(table: &DeTable<'_>, path: &str, out: &mut Vec<(Range<usize>, String)>) {
        for (key, value) in table {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{}", key.get_ref());
            out.push((key.span(), path.clone()));
            visit(value, &path, out);
        }
    }

    let mut out = Vec::new();
    visit_table(table, "", &mut out);
    out
}
