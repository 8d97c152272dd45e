//! The JSON schema of a kind of file, for editors.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::keys::{NEEDED_WITH, ONLY_WITH};

/// The schema of files that are read as a `T`: keys, kinds of values, units, and descriptions. Rules that only the
/// checks know (names that must exist, instants inside the run) are not in it.
pub fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    without_null(&mut schema);
    conditions(&mut schema);
    schema["title"] = json!(title);
    schema
}

/// Adds the conditions between keys, for editors.
fn conditions(schema: &mut Value) {
    for table in schema["$defs"].as_object_mut().into_iter().flat_map(|tables| tables.values_mut()) {
        let Some(properties) = table["properties"].as_object() else { continue };
        let when = |of: &String, with: &Value| {
            let by_default = with.as_array().is_some_and(|with| with.contains(&properties[of]["default"]));
            let mut condition = json!({ "properties": { of: { "enum": with } } });
            if !by_default {
                condition["required"] = json!([of]);
            }
            condition
        };
        let of_key = |(key, property): (&String, &Value), what: &str, then: fn(&String) -> Value| {
            let others = property[what].as_object().into_iter().flatten().filter(|(of, _)| !of.starts_with("../"));
            let condition = |(of, with)| {
                let mut condition = then(key);
                condition["if"] = when(of, with);
                condition
            };
            others.map(condition).collect::<Vec<_>>()
        };
        let conditions: Vec<_> = properties
            .iter()
            .flat_map(|property| {
                let only = of_key(property, ONLY_WITH, |key| json!({ "else": { "properties": { key: false } } }));
                let needed = of_key(property, NEEDED_WITH, |key| json!({ "then": { "required": [key] } }));
                [only, needed].concat()
            })
            .collect();
        if !conditions.is_empty() {
            table["allOf"] = Value::Array(conditions);
        }
    }
}

/// Removes null from optional keys: TOML has no null.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.retain(|key, value| !(key == "default" && value.is_null()));
            for key in ["type", "enum", "anyOf"] {
                let Some(Value::Array(kinds)) = object.get_mut(key) else { continue };
                kinds.retain(|kind| !kind.is_null() && kind != "null" && kind["type"] != "null");
                match (key, kinds.as_slice()) {
                    ("type", [one]) => {
                        let one = one.clone();
                        object.insert("type".into(), one);
                    }
                    ("anyOf", [Value::Object(one)]) => {
                        let one = one.clone();
                        object.remove("anyOf");
                        object.extend(one);
                    }
                    _ => {}
                }
            }
            object.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}
