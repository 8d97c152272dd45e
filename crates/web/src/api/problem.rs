//! Errors of the API, as problem details (RFC 9457), with all problems of an input together.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use evenair_reader::{closest, did_you_mean};
use schemars::JsonSchema;
use serde::Serialize;

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";
/// `Retry-After` while the box is away, in seconds.
const RETRY_S: u64 = 1;
/// Maximum number of characters of the client's input that a response repeats.
const REPEATED: usize = 64;

/// Why a request was not done: problem details of RFC 9457, of type "about:blank".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// What the status means in general.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What is wrong here, and what would be right.
    pub detail: String,
    /// Of a path or name that there is not: the nearest that there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// Everything that is wrong with the input.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<InputError>,
    /// When to try again, in seconds; the header Retry-After has it.
    #[serde(skip)]
    pub retry_s: Option<u64>,
}

/// Something that is wrong with the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct InputError {
    /// The parameter, or the member of the body.
    pub parameter: String,
    /// What is wrong with it, and what would be right.
    pub detail: String,
    /// The nearest name or value that would be right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or_default().to_owned();
        Self { title, status: status.as_u16(), detail: detail.into(), nearest: None, errors: vec![], retry_s: None }
    }

    /// Sets the time to wait before the next attempt, in seconds.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_s: Some(seconds), ..self }
    }

    /// All problems of an input.
    pub(crate) fn of_input(errors: Vec<InputError>) -> Self {
        let details: Vec<_> = errors.iter().map(|error| format!("{}: {}", error.parameter, error.detail)).collect();
        Self { errors, ..Self::new(StatusCode::BAD_REQUEST, details.join("; ")) }
    }

    /// The box does not respond.
    pub(crate) fn away(why: String) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, why)
    }

    /// There is no item of this name.
    pub(crate) fn missing(what: &str, name: &str, nearest: Option<&str>) -> Self {
        let offered = did_you_mean(nearest);
        let detail = format!("there is no {what} {:?}{offered}", shortened(name));
        Self { nearest: nearest.map(Into::into), ..Self::new(StatusCode::NOT_FOUND, detail) }
    }
}

impl InputError {
    pub(crate) fn new(parameter: &str, detail: impl Into<String>) -> Self {
        Self { parameter: shortened(parameter), detail: detail.into(), nearest: None }
    }

    /// A word that is not allowed.
    pub(crate) fn not_one_of(parameter: &str, word: &str, words: &[&str]) -> Self {
        let near = closest(word, words.iter().copied());
        let offered = did_you_mean(near);
        let detail = format!("{:?} is none of {}{offered}", shortened(word), words.join(", "));
        Self { nearest: near.map(Into::into), ..Self::new(parameter, detail) }
    }
}

/// The beginning of the client's input.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(REPEATED).collect()
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).expect("made from one");
        let text = serde_json::to_string(&self).expect("texts and a number");
        let mut response = (status, [(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response();
        let headers = response.headers_mut();
        match status {
            StatusCode::UNAUTHORIZED => {
                _ = headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
            }
            StatusCode::SERVICE_UNAVAILABLE => _ = headers.insert(header::RETRY_AFTER, RETRY_S.into()),
            _ => {}
        }
        if let Some(seconds) = self.retry_s {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
