//! The JSON schema of a kind of file, for editors.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// The schema of files that are read as a `T`: keys, kinds of values, units, and descriptions. What only the checks know
/// (names that must exist, instants inside the run) is not in it.
pub fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    without_null(&mut schema);
    schema["title"] = json!(title);
    schema
}

/// A key that may be left out is optional in TOML, which has no null.
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
