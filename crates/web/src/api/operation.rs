//! What the API can do: each operation with its path, the role that it needs, its parameters, and what it answers. Routes and the
//! OpenAPI document are made from the same operations.

use std::net::IpAddr;
use std::pin::Pin;

use axum::extract::RawPathParams;
use axum::http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::body::schema_of;
use super::parameter::{Parameter, Query};
use super::problem::{InputError, Problem};
use crate::account::Role;
use crate::auth::Access;
use crate::shared::Shared;

/// A request of an operation, checked.
pub(crate) struct Asked {
    /// What all requests share.
    pub shared: Shared,
    /// How its client came.
    pub access: Access,
    /// Where from.
    pub address: IpAddr,
    /// The names in its path.
    variables: Vec<(String, String)>,
    /// The parameters of its query.
    pub query: Query,
}

impl Asked {
    /// With the names of a path.
    pub(crate) fn new(
        shared: Shared,
        access: Access,
        address: IpAddr,
        variables: &RawPathParams,
        query: Query,
    ) -> Self {
        let variables = variables.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { shared, access, address, variables, query }
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
/// What is done later.
type Doing = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send>>;

/// What changes something.
pub(crate) struct Act {
    /// The schema of the body of its requests; `None`: they have none.
    pub body: Option<Value>,
    /// Does it; the body is as the schema says.
    pub act: Box<dyn Fn(Asked, Value) -> Doing + Send + Sync>,
}

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
    /// Nothing: something is changed.
    Done(Act),
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
    /// Whether it is a request of the control socket.
    pub is_command: bool,
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
        Self::new(Method::GET, path, summary, answer)
    }

    /// Follows what the box says.
    pub(crate) fn live(path: &'static str, summary: &'static str) -> Self {
        Self::new(Method::GET, path, summary, Answer::Live)
    }

    /// Commands the box, by requests without a body.
    pub(crate) fn act<F>(method: Method, path: &'static str, summary: &'static str, act: fn(Asked) -> F) -> Self
    where
        F: Future<Output = Result<(), Problem>> + Send + 'static,
    {
        let act = Act { body: None, act: Box::new(move |asked, _| Box::pin(act(asked))) };
        Self::new(method, path, summary, Answer::Done(act)).by_command().for_role(Role::Operate)
    }

    /// Commands the box, by requests with a body of this type.
    pub(crate) fn change<T, F>(
        method: Method,
        path: &'static str,
        summary: &'static str,
        act: fn(Asked, T) -> F,
    ) -> Self
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
        F: Future<Output = Result<(), Problem>> + Send + 'static,
    {
        Self::write(method, path, summary, act).by_command().for_role(Role::Operate)
    }

    /// Changes what this program has, by requests with a body of this type.
    pub(crate) fn write<T, F>(method: Method, path: &'static str, summary: &'static str, act: fn(Asked, T) -> F) -> Self
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
        F: Future<Output = Result<(), Problem>> + Send + 'static,
    {
        let act = move |asked, body| -> Doing {
            let read = serde_json::from_value(body).map(|body| act(asked, body));
            let wrong = |error: serde_json::Error| Problem::of_input(vec![InputError::new("body", error.to_string())]);
            Box::pin(async move { read.map_err(wrong)?.await })
        };
        let act = Act { body: Some(schema_of::<T>()), act: Box::new(act) };
        Self::new(method, path, summary, Answer::Done(act))
    }

    fn new(method: Method, path: &'static str, summary: &'static str, answer: Answer) -> Self {
        Self { method, path, summary, role: Role::View, parameters: &[], is_command: false, answer }
    }

    /// As a request of the control socket.
    pub(crate) fn by_command(self) -> Self {
        Self { is_command: true, ..self }
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
