//! Checks the structure of a file against the raw form's JSON schema: known keys, required keys, tables and lists. Later
//! checks validate the values.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Problems;
use crate::renames::{Kind, now_called};
use crate::spelling::closest;

/// One walk over a file.
struct Walk<'s, 'p> {
    schema: &'s Value,
    problems: &'p mut Problems,
    kind: Kind,
    /// Whether the raw form can be built.
    sound: bool,
}

/// Notes what is wrong with the keys of `root` and takes unknown ones out. Returns whether the raw form can be built
/// from what is left.
pub(crate) fn check(root: &mut DeTable<'_>, span: Range<usize>, schema: &Value, problems: &mut Problems) -> bool {
    let kind = Kind::of(|table| schema["properties"].get(table).is_some());
    let mut walk = Walk { schema, problems, kind, sound: true };
    walk.table(root, "", span, schema);
    walk.sound
}

impl<'s> Walk<'s, '_> {
    /// The entries of a list are at the path of the list.
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
        let mut unknown = Vec::new();
        for (key, value) in table.iter_mut() {
            match properties.get(&**key.get_ref()) {
                Some(schema) => {
                    let key = key.get_ref();
                    let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
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
                (Some(near), _) => format!("; did you mean \"{near}\"?"),
                (None, Some(home)) => format!("; it belongs into {home}"),
                (None, None) => String::new(),
            };
            let allowed: Vec<_> = properties.keys().map(String::as_str).collect();
            self.problems.add(span, format!("no such key{hint}"), allowed.join(", "));
        }
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !table.contains_key(key) {
                let description = properties[key]["description"].as_str().unwrap_or_default();
                let first = description.split(['\n', ';']).next().unwrap_or_default().trim_end_matches('.');
                self.problems.add(span.clone(), format!("the key \"{key}\" is missing ({first})"), "");
                self.sound = false;
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

    /// Follows references, and takes the alternative that is not null.
    fn resolve<'a>(&self, schema: &'a Value) -> &'a Value
    where
        's: 'a,
    {
        if let Some(path) = schema["$ref"].as_str() {
            let target = path.strip_prefix('#').and_then(|pointer| self.schema.pointer(pointer));
            return self.resolve(target.expect("a schema's references point into it"));
        }
        match schema["anyOf"].as_array() {
            Some(any) => any.iter().find(|one| one["type"] != "null").map_or(schema, |one| self.resolve(one)),
            None => schema,
        }
    }
}
