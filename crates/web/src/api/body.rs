//! Bodies of requests: JSON, validated by the schema of the OpenAPI document, so that all problems are reported together.

use axum::extract::Request;
use axum::http::{StatusCode, header};
use evenair_reader::{closest, did_you_mean};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::problem::{InputError, Problem, shortened};
use crate::connections::read_body;

/// MAC addresses, as a pattern of JSON Schema.
pub(crate) const MAC: &str = "^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$";
/// Maximum number of errors in a response.
const MOST_ERRORS: usize = 100;

/// Whether a text is a MAC address as of [`MAC`].
pub(crate) fn is_mac(text: &str) -> bool {
    let is_byte = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split(':').count() == 6 && text.split(':').all(is_byte)
}

/// The schema of a type for deserialization, with references resolved.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.into()
}

/// Reads the body of a request, validated by the operation's schema; `None`: the operation has no body.
///
/// # Errors
/// It is too long, too late or no JSON; or all its problems.
pub(crate) async fn read(request: Request, schema: Option<&Value>) -> Result<Value, Problem> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_json = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    let body = read_body(request.into_body()).await.map_err(|(status, why)| Problem::new(status, why))?;
    let Some(schema) = schema else {
        let wrong = || Problem::of_input(vec![InputError::new("body", "this path has no body")]);
        return if body.is_empty() { Ok(Value::Null) } else { Err(wrong()) };
    };
    if body.is_empty() && may_be_missing(schema) {
        return Ok(json!({}));
    }
    if !is_json {
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body has to be of type application/json"));
    }
    let value = serde_json::from_slice(&body)
        .map_err(|error| Problem::of_input(vec![InputError::new("body", format!("it is not JSON: {error}"))]))?;
    let errors = faults(&value, schema);
    if errors.is_empty() { Ok(value) } else { Err(Problem::of_input(errors)) }
}

/// Whether values of this schema must not appear in responses and logs.
pub(crate) fn is_secret(schema: &Value) -> bool {
    schema["writeOnly"] == true
}

/// Whether a body of this schema is optional: all its members have defaults.
pub(crate) fn may_be_missing(schema: &Value) -> bool {
    schema["required"].is_null() && schema["minProperties"].is_null()
}

/// All problems of a value, each with the member concerned.
fn faults(value: &Value, schema: &Value) -> Vec<InputError> {
    let mut faults = Faults(vec![]);
    faults.check("body", value, schema);
    faults.0
}

struct Faults(Vec<InputError>);

impl Faults {
    fn add(&mut self, place: &str, what: String) {
        if self.0.len() < MOST_ERRORS {
            self.0.push(InputError::new(place, what));
        }
    }

    /// Checks the keywords that our types use.
    fn check(&mut self, place: &str, value: &Value, schema: &Value) {
        match (schema["type"].as_str().expect("each schema has a type"), value) {
            ("object", Value::Object(members)) => self.object(place, members, schema),
            ("array", Value::Array(items)) => self.array(place, items, schema),
            ("string", Value::String(text)) => self.text(place, text, schema),
            ("number", Value::Number(_)) => self.number(place, value, schema),
            ("integer", Value::Number(_)) if value.is_u64() || value.is_i64() => self.number(place, value, schema),
            ("boolean", Value::Bool(_)) => {}
            (kind, _) if is_secret(schema) => self.add(place, format!("it is no {kind}")),
            (kind, _) => self.add(place, format!("{} is no {kind}", shortened(&value.to_string()))),
        }
    }

    fn object(&mut self, place: &str, members: &Map<String, Value>, schema: &Value) {
        let within = |key: &str| if place == "body" { shortened(key) } else { format!("{place}.{}", shortened(key)) };
        let properties = schema["properties"].as_object().expect("objects have members");
        let names: Vec<_> = properties.keys().map(String::as_str).collect();
        for (key, value) in members {
            let Some(schema) = properties.get(key) else {
                let near = closest(key, names.iter().copied());
                let what = format!("there is no such member, but {}{}", names.join(", "), did_you_mean(near));
                if self.0.len() < MOST_ERRORS {
                    self.0.push(InputError { nearest: near.map(Into::into), ..InputError::new(&within(key), what) });
                }
                continue;
            };
            self.check(&within(key), value, schema);
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for key in required.filter(|key| !members.contains_key(*key)) {
            self.add(&within(key), "it is missing".into());
        }
        if schema["minProperties"] == 1 && members.is_empty() || schema["maxProperties"] == 1 && members.len() > 1 {
            self.add(place, format!("it has to have one of {}", names.join(", ")));
        }
    }

    fn array(&mut self, place: &str, items: &[Value], schema: &Value) {
        if (items.len() as u64) < schema["minItems"].as_u64().unwrap_or(0) {
            self.add(place, "it is empty".into());
        }
        for (index, item) in items.iter().enumerate() {
            self.check(&format!("{place}[{index}]"), item, &schema["items"]);
        }
    }

    fn text(&mut self, place: &str, text: &str, schema: &Value) {
        let shown = if is_secret(schema) { "it".into() } else { format!("{:?}", shortened(text)) };
        let length = text.chars().count() as u64;
        let (least, most) =
            (schema["minLength"].as_u64().unwrap_or(0), schema["maxLength"].as_u64().unwrap_or(u64::MAX));
        if !(least..=most).contains(&length) {
            self.add(place, format!("{shown} has {length} characters, and not {least} to {most}"));
        }
        if let Some(pattern) = schema["pattern"].as_str() {
            assert_eq!(pattern, MAC, "the only one");
            if !is_mac(text) {
                self.add(place, format!("{shown} is no MAC address, such as 02:00:00:00:00:01"));
            }
        }
    }

    fn number(&mut self, place: &str, value: &Value, schema: &Value) {
        let at = value.as_f64().unwrap_or(f64::NAN);
        let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
        if least.is_some_and(|least| at < least) {
            self.add(place, format!("{value} is less than {}", schema["minimum"]));
        }
        if most.is_some_and(|most| at > most) {
            self.add(place, format!("{value} is more than {}", schema["maximum"]));
        }
    }
}
