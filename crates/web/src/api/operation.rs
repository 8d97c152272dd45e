//! Operations of the API: path, required role, parameters, and response of each. Routes and the OpenAPI document are made from
//! the same operations.

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

/// A checked request of an operation.
pub(crate) struct Asked {
    /// The shared state.
    pub shared: Shared,
    /// The client's access.
    pub access: Access,
    /// The client's address.
    pub address: IpAddr,
    /// The variables of its path.
    variables: Vec<(String, String)>,
    /// The parameters of its query.
    pub query: Query,
}

impl Asked {
    /// A request with these variables of its path.
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

    /// A variable of its path.
    ///
    /// # Panics
    /// The path has no such variable.
    pub(crate) fn variable(&self, name: &str) -> &str {
        let value = self.variables.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        value.unwrap_or_else(|| panic!("the path has {{{name}}}"))
    }
}

/// A future response in JSON.
type Body = Pin<Box<dyn Future<Output = Result<String, Problem>> + Send>>;
/// A future change.
type Doing = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send>>;

/// The implementation of a change.
pub(crate) struct Act {
    /// The schema of its request body; `None` without one.
    pub body: Option<Value>,
    /// Performs it with a validated body.
    pub act: Box<dyn Fn(Asked, Value) -> Doing + Send + Sync>,
}

/// The response of an operation.
pub(crate) enum Answer {
    /// JSON.
    Json {
        /// The schema of its type.
        schema: fn(&mut SchemaGenerator) -> Schema,
        /// Makes the response.
        make: Box<dyn Fn(Asked) -> Body + Send + Sync>,
    },
    /// Server-sent events.
    Live,
    /// No content: something is changed.
    Done(Act),
}

/// An operation.
pub(crate) struct Operation {
    /// Its method: all except GET change something.
    pub method: Method,
    /// Its path below that of the API.
    pub path: &'static str,
    /// Its summary in the document.
    pub summary: &'static str,
    /// The least role that it requires.
    pub role: Role,
    /// The parameters of its query.
    pub parameters: &'static [Parameter],
    /// Whether it is a request to the control socket.
    pub is_command: bool,
    /// Its response.
    pub answer: Answer,
}

impl Operation {
    /// An operation that reads something, as JSON of this type.
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

    /// An operation that streams live data.
    pub(crate) fn live(path: &'static str, summary: &'static str) -> Self {
        Self::new(Method::GET, path, summary, Answer::Live)
    }

    /// An operation that commands the box, without a body.
    pub(crate) fn act<F>(method: Method, path: &'static str, summary: &'static str, act: fn(Asked) -> F) -> Self
    where
        F: Future<Output = Result<(), Problem>> + Send + 'static,
    {
        let act = Act { body: None, act: Box::new(move |asked, _| Box::pin(act(asked))) };
        Self::new(method, path, summary, Answer::Done(act)).by_command().for_role(Role::Operate)
    }

    /// An operation that commands the box, with a body of this type.
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

    /// An operation that changes state of this program, with a body of this type.
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

    /// Marks it as a request to the control socket.
    pub(crate) fn by_command(self) -> Self {
        Self { is_command: true, ..self }
    }

    /// Sets its parameters.
    pub(crate) fn with(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    /// Sets the required role.
    pub(crate) fn for_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// The variables of its path.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}
