//! Validates values by the JSON Schema of an OpenAPI document, for the keywords that our types use. Strictly: unknown keys of objects
//! are errors.

use serde_json::Value;

/// All violations of a value, each with its position.
pub fn faults(value: &Value, schema: &Value, document: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(value, schema, &mut Place { document, path: String::new(), faults: &mut faults });
    faults
}

struct Place<'a> {
    document: &'a Value,
    path: String,
    faults: &'a mut Vec<String>,
}

impl Place<'_> {
    fn fault(&mut self, what: &str) {
        self.faults.push(format!("{}: {what}", self.path));
    }

    fn within(&mut self, key: &str, check: impl FnOnce(&mut Place)) {
        let path = format!("{}/{key}", self.path);
        check(&mut Place { document: self.document, path, faults: self.faults });
    }
}

/// The schema of a reference.
pub fn resolve<'a>(reference: &str, document: &'a Value) -> &'a Value {
    let pointer = reference.strip_prefix('#').expect("within the document");
    document.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"))
}

fn check(value: &Value, schema: &Value, place: &mut Place) {
    let Some(keywords) = schema.as_object() else {
        assert_eq!(schema, true, "{}: no schema", place.path);
        return;
    };
    for (keyword, of) in keywords {
        match &**keyword {
            "$ref" => check(value, resolve(of.as_str().expect("text"), place.document), place),
            "anyOf" | "oneOf" => {
                let choices = of.as_array().expect("a list").iter();
                let fits = choices.filter(|choice| faults(value, choice, place.document).is_empty()).count();
                if fits == 0 || (keyword == "oneOf" && fits > 1) {
                    place.fault(&format!("{value} is {fits} of {keyword}"));
                }
            }
            "const" if value != of => place.fault(&format!("{value} is not {of}")),
            "enum" if !of.as_array().expect("a list").contains(value) => {
                place.fault(&format!("{value} is none of {of}"))
            }
            "type" if !has_type(value, of) => place.fault(&format!("{value} is no {of}")),
            "minimum" if value.is_number() && value.as_f64() < of.as_f64() => {
                place.fault(&format!("{value} is less than {of}"))
            }
            "required" => {
                let missing =
                    of.as_array().expect("a list").iter().filter(|key| value.get(key.as_str().unwrap()).is_none());
                missing.for_each(|key| place.fault(&format!("{key} is missing")));
            }
            "properties" => properties(value, schema, place),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    place.within(&index.to_string(), |place| check(item, of, place));
                }
            }
            "const"
            | "enum"
            | "type"
            | "minimum"
            | "description"
            | "default"
            | "format"
            | "additionalProperties"
            | "pattern"
            | "title"
            | "maximum" => {}
            other => panic!("{}: this check does not know the keyword {other}", place.path),
        }
    }
}

fn properties(value: &Value, schema: &Value, place: &mut Place) {
    for (key, member) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(key) {
            Some(schema) => place.within(key, |place| check(member, schema, place)),
            None if schema["additionalProperties"] == true => {}
            None => place.fault(&format!("{key} is not in the schema")),
        }
    }
}

fn has_type(value: &Value, of: &Value) -> bool {
    let is = |name: &Value| match name.as_str().expect("text") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    };
    of.as_array().map_or_else(|| is(of), |types| types.iter().any(is))
}

#[test]
fn violations_are_found() {
    use serde_json::json;
    let document = json!({"s": {"type": "object", "properties": {"a": {"type": ["integer", "null"], "minimum": 0},
        "b": {"type": "array", "items": {"oneOf": [{"const": "x"}, {"enum": ["y"]}]}}}, "required": ["a"]}});
    let schema = json!({"$ref": "#/s"});
    assert_eq!(faults(&json!({"a": null, "b": ["x", "y"]}), &schema, &document), Vec::<String>::new());
    for wrong in [
        json!({}),
        json!({"a": 0.5}),
        json!({"a": -1}),
        json!({"a": 1, "c": 2}),
        json!({"a": 1, "b": ["z"]}),
        json!([]),
    ] {
        assert!(!faults(&wrong, &schema, &document).is_empty(), "{wrong}");
    }
}
