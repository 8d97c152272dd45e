//! Checks the structure of a file against the raw form's JSON schema: known keys, required keys, keys that only go with some values
//! of others, tables and lists. Later checks validate the values.
//!
//! A key that has an effect only with some values of another declares so where it is declared:
//! `#[schemars(extend("x-only-with" = { "kind": ["pi"] }))]`, or `"../discipline"` for a key of the table above. The other
//! key declares its default, where it has one, as `#[schemars(extend("default" = "queue"))]`. A key that may not be left out with some
//! values of another declares these as `"x-needed-with"`.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Problems;
use crate::renames::{Kind, now_called};
use crate::spelling::{closest, did_you_mean};

/// State of a traversal of a file.
struct Walk<'s, 'p> {
    schema: &'s Value,
    problems: &'p mut Problems,
    kind: Kind,
    /// String enums and switches of the enclosing tables, the innermost last.
    words: Vec<Map<String, Value>>,
    /// Whether the raw form can be built.
    sound: bool,
}

/// Checks the keys of `root` and removes unknown ones. Returns whether the raw form can be built from the rest.
pub(crate) fn check(root: &mut DeTable<'_>, span: Range<usize>, schema: &Value, problems: &mut Problems) -> bool {
    let kind = Kind::of(|table| schema["properties"].get(table).is_some());
    let mut walk = Walk { schema, problems, kind, words: Vec::new(), sound: true };
    walk.table(root, "", span, schema);
    walk.sound
}

/// Condition for a key to have an effect: another key's name, and its values.
pub(crate) const ONLY_WITH: &str = "x-only-with";

/// Condition for a key to be required: another key's name, and its values.
pub(crate) const NEEDED_WITH: &str = "x-needed-with";

/// String enums and switches of a table with known values, including defaults of missing ones.
fn words(table: &DeTable<'_>, properties: &Map<String, Value>) -> Map<String, Value> {
    let word = |(key, schema): (&String, &Value)| {
        let word = match table.get(key.as_str()).map(Spanned::get_ref) {
            Some(DeValue::String(text)) => Value::from(text.as_ref()),
            Some(DeValue::Boolean(on)) => Value::from(*on),
            Some(_) => return None,
            None => schema.get("default").filter(|default| !default.is_null())?.clone(),
        };
        let known = schema["enum"].as_array().is_none_or(|words| words.contains(&word));
        known.then(|| (key.clone(), word))
    };
    properties.iter().filter_map(word).collect()
}

impl<'s> Walk<'s, '_> {
    /// Checks a value. The entries of a list have the path of the list.
    fn value(&mut self, value: &mut Spanned<DeValue<'_>>, path: &str, schema: &'s Value) {
        let schema = self.resolve(schema);
        let span = value.span();
        let (wants_table, wants_list) = (schema.get("properties").is_some(), schema.get("items").is_some());
        match value.get_mut() {
            DeValue::Table(table) if wants_table => self.table(table, path, span, schema),
            DeValue::Array(array) if wants_list => {
                for element in array.iter_mut() {
                    self.value(element, path, &schema["items"]);
                }
            }
            DeValue::Table(_) | DeValue::Array(_) => self.wrong_kind(span, value.get_ref(), schema),
            _ if wants_table || wants_list => self.wrong_kind(span, value.get_ref(), schema),
            _ => {}
        }
    }

    fn table(&mut self, table: &mut DeTable<'_>, path: &str, span: Range<usize>, schema: &'s Value) {
        let Some(properties) = schema["properties"].as_object() else { return };
        self.words.push(words(table, properties));
        let mut unknown = Vec::new();
        for (key, value) in table.iter_mut() {
            match properties.get(&**key.get_ref()) {
                Some(schema) if self.was_a_value(value.get_ref(), schema, path, key.get_ref()) => {
                    unknown.push((key.get_ref().to_string(), key.span()));
                }
                Some(schema) => {
                    let key = key.get_ref();
                    let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
                    // An empty list means the same as no list.
                    if !matches!(value.get_ref(), DeValue::Array(list) if list.is_empty()) {
                        self.only_with(&value.span(), schema);
                    }
                    self.value(value, &path, schema);
                }
                None => unknown.push((key.get_ref().to_string(), key.span())),
            }
        }
        for (key, span) in unknown {
            table.remove(key.as_str());
            if let Some(what) = now_called(self.kind, path, &key) {
                self.problems.add(span, what, "");
                continue;
            }
            let known = properties.keys().map(String::as_str);
            let hint = match (closest(&key, known), self.home_of(&key)) {
                (near @ Some(_), _) => did_you_mean(near),
                (None, Some(home)) => format!("; it belongs into {home}"),
                (None, None) => String::new(),
            };
            let allowed: Vec<_> = properties.keys().map(String::as_str).collect();
            self.problems.add(span, format!("no such key{hint}"), allowed.join(", "));
        }
        self.needed_with(table, &span, properties);
        self.words.pop();
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !table.contains_key(key) {
                let description = properties[key]["description"].as_str().unwrap_or_default();
                let first = description.split(['\n', ';']).next().unwrap_or_default().trim_end_matches('.');
                self.problems.add(span.clone(), format!("the key \"{key}\" is missing ({first})"), "");
                self.sound = false;
            }
        }
    }

    /// Whether a table has the name of a former single value, and this is such a value.
    fn was_a_value(&self, value: &DeValue<'_>, schema: &Value, path: &str, key: &str) -> bool {
        let is_table = matches!(value, DeValue::Table(_) | DeValue::Array(_));
        !is_table && self.resolve(schema).get("properties").is_some() && now_called(self.kind, path, key).is_some()
    }

    /// Reports a key that has no effect with the values of others: in the same table, or with `../` in the one above.
    fn only_with(&mut self, span: &Range<usize>, schema: &Value) {
        for (of, with) in schema[ONLY_WITH].as_object().into_iter().flatten() {
            let (above, of) = of.strip_prefix("../").map_or((0, of.as_str()), |of| (1, of));
            let Some(word) = self.words.iter().rev().nth(above).and_then(|words| words.get(of)) else { continue };
            let with = with.as_array().expect("a list of values");
            if !with.contains(word) {
                let with: Vec<_> = with.iter().map(Value::to_string).collect();
                let allowed = format!("only with {of} = {}", with.join(" or "));
                self.problems.add(span.clone(), format!("{of} = {word} does not use this"), allowed);
                return;
            }
        }
    }

    /// Reports missing keys that the values of others require.
    fn needed_with(&mut self, table: &DeTable<'_>, span: &Range<usize>, properties: &Map<String, Value>) {
        let Some(words) = self.words.last() else { return };
        for (key, schema) in properties.iter().filter(|(key, _)| !table.contains_key(key.as_str())) {
            for (of, with) in schema[NEEDED_WITH].as_object().into_iter().flatten() {
                let Some(word) = words.get(of).filter(|word| with.as_array().is_some_and(|with| with.contains(word)))
                else {
                    continue;
                };
                let span = table.get(of.as_str()).map_or_else(|| span.clone(), Spanned::span);
                let quoted = format!("\"{}\"", schema["examples"][0].as_str().unwrap_or("..."));
                let example = if schema["type"] == "array" { format!("[{quoted}]") } else { quoted };
                self.problems.add(span, format!("{of} = {word} without {key}"), format!("{key} = {example}"));
            }
        }
    }

    fn wrong_kind(&mut self, span: Range<usize>, value: &DeValue<'_>, schema: &Value) {
        let wanted = if schema.get("properties").is_some() {
            "a table of keys"
        } else if self.resolve(&schema["items"]).get("properties").is_some() {
            "tables in double brackets, such as [[station]]"
        } else if schema.get("items").is_some() {
            "a list in brackets, such as [\"a\", \"b\"]"
        } else {
            "a single value"
        };
        let is = match value {
            DeValue::Table(_) => "this is a table",
            DeValue::Array(_) => "this is a list",
            _ => "this is a single value",
        };
        self.problems.add(span, is, wanted);
        self.sound = false;
    }

    /// The table of the whole format in which `key` would be known, for keys put into the wrong one.
    fn home_of(&self, key: &str) -> Option<String> {
        let tables = self.schema["properties"].as_object()?;
        let homes = tables.iter().filter_map(|(name, schema)| {
            let schema = self.resolve(schema);
            let (brackets, inner) = match schema.get("items") {
                Some(items) => (("[[", "]]"), self.resolve(items)),
                None => (("[", "]"), schema),
            };
            inner["properties"].get(key).map(|_| format!("{}{name}{}", brackets.0, brackets.1))
        });
        let homes: Vec<_> = homes.collect();
        (!homes.is_empty()).then(|| homes.join(" or "))
    }

    fn resolve<'a>(&self, schema: &'a Value) -> &'a Value
    where
        's: 'a,
    {
        resolve(self.schema, schema)
    }
}

/// Follows references into `root`, and takes the alternative that is not null.
pub(crate) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(path) = schema["$ref"].as_str() {
        let target = path.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return resolve(root, target.expect("a schema's references point into it"));
    }
    match schema["anyOf"].as_array() {
        Some(any) => any.iter().find(|one| one["type"] != "null").map_or(schema, |one| resolve(root, one)),
        None => schema,
    }
}
