//! A list of tables with its position and theirs.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use serde::{Serialize, Serializer};
use toml::Spanned;

use crate::Problems;

/// A list of tables, at least one, for keys where an empty list is a mistake or a problem concerns a table as a whole. Two
/// are equal when their tables are.
#[derive(Clone, Debug)]
pub struct Tables<T> {
    tables: Vec<(Range<usize>, T)>,
    span: Range<usize>,
}

impl<T> Tables<T> {
    /// Its position.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The tables, at least one, each with its position; or `None` and a further problem.
    pub fn get(&self, problems: &mut Problems) -> Option<&[(Range<usize>, T)]> {
        if self.tables.is_empty() {
            problems.add(self.span(), "the list is empty", "at least one table");
            return None;
        }
        Some(&self.tables)
    }
}

impl<T: PartialEq> PartialEq for Tables<T> {
    fn eq(&self, other: &Self) -> bool {
        self.tables.iter().map(|(_, table)| table).eq(other.tables.iter().map(|(_, table)| table))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Tables<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Vec<Spanned<T>>>::deserialize(deserializer)?;
        let span = spanned.span();
        let tables = spanned.into_inner().into_iter().map(|table| (table.span(), table.into_inner())).collect();
        Ok(Self { tables, span })
    }
}

impl<T: Serialize> Serialize for Tables<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.tables.iter().map(|(_, table)| table))
    }
}

impl<T: JsonSchema> JsonSchema for Tables<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Tables".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": generator.subschema_for::<T>(), "minItems": 1 })
    }
}
