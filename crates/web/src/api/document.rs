//! The OpenAPI document, version 3.1, made from a table of operations. Its schemas are JSON Schema 2020-12 of the response types.

use evenair_api::watch::Line;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::body::may_be_missing;
use super::operation::{Act, Answer, Operation};
use super::parameter::{Parameter, meaning_of_variable};
use super::problem::{self, Problem};
use crate::account::Role;

const DESCRIPTION: &str = "What a box says of itself, for programs, and its commands. Errors are problem details (RFC 9457). Lists come in pages, in \
     the order of their items' keys. Every answer that reads but live data has an ETag: with `If-None-Match` an unchanged one is 304. Readers \
     ignore fields that they do not know.";

/// Error responses: status, name, and meaning.
const REFUSALS: [(&str, &str, &str); 14] = [
    ("304", "NotModified", "It is as the client has it."),
    ("400", "Wrong", "The input is wrong: everything that is wrong with it."),
    ("401", "Unauthorized", "There is no valid token or session."),
    ("403", "Forbidden", "The role does not suffice, or this program may not command the box."),
    ("404", "Missing", "There is none of this name: the nearest one."),
    ("405", "NotAllowed", "The path has other methods."),
    ("408", "Late", "The body has not come in time."),
    ("409", "Refused", "The box refuses, and says why."),
    ("413", "TooLong", "The body is longer than 64 kB."),
    ("415", "NotJson", "The body is not of type application/json."),
    ("429", "Often", "Too many logins failed; the header Retry-After says when to try again."),
    ("500", "Failed", "The state directory of this program cannot be read or written."),
    ("502", "NoBox", "The box is not there, or does not answer."),
    ("503", "Away", "The box does not answer, or too many clients are there."),
];

/// Whether an operation may have this response.
fn is_possible(status: &str, operation: &Operation) -> bool {
    let (act, has_role) = (act_of(operation), operation.role == Role::Admin);
    match status {
        "304" => matches!(operation.answer, Answer::Json { .. }),
        "404" => {
            act.is_none()
                && (operation.variables().next().is_some() || operation.parameters.contains(&Parameter::Subject))
        }
        "408" => act.is_some(),
        "409" | "502" => operation.is_command,
        "415" => act.is_some_and(|act| act.body.is_some()),
        "429" => act.is_some() && !operation.is_command,
        "500" => act.is_some() || has_role,
        "503" => !operation.is_command,
        _ => true,
    }
}

fn act_of(operation: &Operation) -> Option<&Act> {
    match &operation.answer {
        Answer::Done(act) => Some(act),
        _ => None,
    }
}

/// The document of these operations; `base`: the path that they are below.
pub(crate) fn of(base: &str, operations: &[Operation]) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schemas =
        settings.with(|settings| settings.definitions_path = "/components/schemas".into()).into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations {
        let path = paths.entry(format!("{base}{}", operation.path)).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_lowercase()] = described(operation, &mut schemas);
    }
    let responses = responses(&mut schemas);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Evenair", "version": "1", "description": DESCRIPTION,
            "license": { "name": "Apache-2.0 or MIT", "identifier": env!("CARGO_PKG_LICENSE") },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }, { "session": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "responses": responses,
            "headers": { "ETag": { "description": "Names this state of the answer.", "schema": { "type": "string" } } },
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "A token, which `evenair web token add` makes." },
                "session": {
                    "type": "apiKey", "in": "cookie", "name": "__Host-evenair",
                    "description": "The session of a browser that has logged in; `evenair` without TLS. While there is no account, \
                         neither is needed.",
                },
            },
        },
    })
}

fn described(operation: &Operation, schemas: &mut SchemaGenerator) -> Value {
    let variables = operation.variables().map(|name| {
        json!({ "name": name, "in": "path", "required": true, "description": meaning_of_variable(name), "schema": { "type": "string" } })
    });
    let parameters = operation.parameters.iter().map(|parameter| {
        json!({ "name": parameter.name(), "in": "query", "description": parameter.meaning(), "schema": parameter.schema() })
    });
    let parameters: Vec<_> = variables.chain(parameters).collect();
    let (status, answered) = answered(&operation.answer, schemas);
    let mut responses = Map::from_iter([(status.to_owned(), answered)]);
    for (status, name, _) in REFUSALS.into_iter().filter(|(status, ..)| is_possible(status, operation)) {
        responses.insert(status.into(), json!({ "$ref": format!("#/components/responses/{name}") }));
    }
    let mut described = json!({
        "operationId": id(operation),
        "summary": operation.summary,
        "description": format!("For role {} and above.", operation.role.name()),
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(schema) = act_of(operation).and_then(|act| act.body.as_ref()) {
        let content = json!({ "application/json": { "schema": schema } });
        described["requestBody"] = json!({ "required": !may_be_missing(schema), "content": content });
    }
    described
}

/// "get_stations_station_flows" of GET /stations/{station}/flows.
fn id(operation: &Operation) -> String {
    let words = operation.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let method = operation.method.as_str().to_lowercase();
    words.fold(method, |id, word| id + "_" + word)
}

/// The response of success, and its status.
fn answered(answer: &Answer, schemas: &mut SchemaGenerator) -> (&'static str, Value) {
    let answered = match answer {
        Answer::Done(_) => return ("204", json!({ "description": "It is done." })),
        Answer::Json { schema, .. } => json!({
            "description": "What was asked for.",
            "headers": { "ETag": { "$ref": "#/components/headers/ETag" } },
            "content": { "application/json": { "schema": schema(schemas) } },
        }),
        Answer::Live => json!({
            "description": "Server-sent events, each with JSON: `events` (a list of those before, once), `line` (each second, of all \
                parts), `away` (the box cannot be reached: `why`), `end` (it has ended for good: `why`).",
            "content": { "text/event-stream": { "schema": {
                "type": "string", "contentMediaType": "application/json", "contentSchema": schemas.subschema_for::<Line>(),
            } } },
        }),
    };
    ("200", answered)
}

fn responses(schemas: &mut SchemaGenerator) -> Map<String, Value> {
    let schema = schemas.subschema_for::<Problem>();
    let response = |status: &str, meaning: &str| match status {
        "304" => json!({ "description": meaning, "headers": { "ETag": { "$ref": "#/components/headers/ETag" } } }),
        _ => json!({ "description": meaning, "content": { problem::MEDIA_TYPE: { "schema": schema } } }),
    };
    REFUSALS.into_iter().map(|(status, name, meaning)| (name.to_owned(), response(status, meaning))).collect()
}
