//! What the API can do: each operation with its path, the role that it needs, its parameters, and what it answers. Routes and the
//! OpenAPI document are made from the same operations.

use std::pin::Pin;

use axum::extract::RawPathParams;
use axum::http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::parameter::{Parameter, Query};
use super::problem::Problem;
use crate::account::Role;
use crate::shared::Shared;

/// A request of an operation, checked.
pub(crate) struct Asked {
    /// What all requests share.
    pub shared: Shared,
    /// The names in its path.
    variables: Vec<(String, String)>,
    /// The parameters of its query.
    pub query: Query,
}

impl Asked {
    /// With the names of a path.
    pub(crate) fn new(shared: Shared, variables: &RawPathParams, query: Query) -> Self {
        let variables = variables.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { shared, variables, query }
    }

    /// A name in its path.
    ///
    /// # Panics
    /// The path has no such name.
    pub(crate) fn variable(&self, name: &str) -> &str {
        let value = self.variables.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        value.unwrap_or_else(|| panic!("the path has {{{name}}}"))
    }
}

/// JSON that is made later.
type Body = Pin<Box<dyn Future<Output = Result<String, Problem>> + Send>>;

/// What an operation answers.
pub(crate) enum Answer {
    /// JSON.
    Json {
        /// The schema of its type.
        schema: fn(&mut SchemaGenerator) -> Schema,
        /// Makes it.
        make: Box<dyn Fn(Asked) -> Body + Send + Sync>,
    },
    /// Server-sent events.
    Live,
}

/// An operation.
pub(crate) struct Operation {
    /// Its method: all but GET change something.
    pub method: Method,
    /// Its path, below that of the API.
    pub path: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// The least role that may do it.
    pub role: Role,
    /// The parameters of its query.
    pub parameters: &'static [Parameter],
    /// What it answers.
    pub answer: Answer,
}

impl Operation {
    /// Reads something, as JSON of this type.
    pub(crate) fn get<T, F>(path: &'static str, summary: &'static str, read: fn(Asked) -> F) -> Self
    where
        T: Serialize + JsonSchema,
        F: Future<Output = Result<T, Problem>> + Send + 'static,
    {
        let make = move |asked| -> Body {
            let read = read(asked);
            Box::pin(async move { Ok(serde_json::to_string(&read.await?).expect("keys are texts")) })
        };
        let answer = Answer::Json { schema: SchemaGenerator::subschema_for::<T>, make: Box::new(make) };
        Self { method: Method::GET, path, summary, role: Role::View, parameters: &[], answer }
    }

    /// Follows what the box says.
    pub(crate) fn live(path: &'static str, summary: &'static str) -> Self {
        Self { method: Method::GET, path, summary, role: Role::View, parameters: &[], answer: Answer::Live }
    }

    /// With these parameters.
    pub(crate) fn with(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    /// For this role, and those above it.
    pub(crate) fn for_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Names in its path.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}
