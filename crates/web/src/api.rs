//! The API for programs, `/api/v1`: what the box says, as JSON, with an OpenAPI document. Routes and document are made from one table
//! of operations (`api/routes.rs`), whose schemas are those of the types that are answered.
//!
//! Not here: operations that change something. The table has a place for their method and role.

mod document;
mod list;
mod operation;
mod parameter;
mod problem;
mod routes;
mod stored;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use evenair_reader::nearest;
use serde_json::Value;
use sha2::{Digest, Sha256};

use self::operation::{Answer, Asked, Operation};
use self::parameter::Query;
use self::problem::{InputError, shortened};
use self::routes::{BASE, operations};
use crate::auth::Access;
use crate::connections::{LONGEST_BODY, Peer};
use crate::live;
use crate::secret::hex;
use crate::shared::Shared;

pub(crate) use self::problem::Problem;

/// The names in a path, or why they are no text.
type Variables = Result<RawPathParams, RawPathParamsRejection>;

/// The OpenAPI document of the API.
pub fn api_document() -> &'static Value {
    &routes::DOCUMENT
}

/// The routes.
pub(crate) fn routes() -> Router<Shared> {
    let router = operations().into_iter().fold(Router::new(), |router, operation| {
        let path = format!("{BASE}{}", operation.path);
        let method = MethodFilter::try_from(operation.method.clone()).expect("a method of HTTP");
        let operation = Arc::new(operation);
        let handler = move |State(shared): State<Shared>, variables: Variables, request: Request| {
            answer(operation, shared, variables, request)
        };
        router.route(&path, on(method, handler))
    });
    router.method_not_allowed_fallback(not_allowed)
}

/// Whether a path is of the API.
pub(crate) fn has(path: &str) -> bool {
    path == "/api" || path.starts_with("/api/")
}

async fn not_allowed(method: Method, uri: Uri) -> Problem {
    let path = shortened(uri.path());
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{path} has no method {method}; the header Allow has those that it has"),
    )
}

/// There is no such path: the nearest one. Names in it are taken as they are.
pub(crate) fn missing(path: &str) -> Problem {
    let given: Vec<_> = path.split('/').collect();
    let paths: Vec<_> =
        operations().iter().map(|operation| named(&format!("{BASE}{}", operation.path), &given)).collect();
    let near = nearest(path, paths.iter().map(String::as_str), 1);
    let problem = Problem::missing("path", path, near.first().copied());
    Problem { detail: format!("{}; {BASE}/openapi.json has all", problem.detail), ..problem }
}

/// A path in whose variables the parts of a given path stand.
fn named(path: &str, given: &[&str]) -> String {
    let mut given = given.iter().copied();
    let mut named = |part: &str| match given.next() {
        Some(given) if part.starts_with('{') && !given.is_empty() => shortened(given),
        _ => part.to_owned(),
    };
    path.split('/').map(&mut named).collect::<Vec<_>>().join("/")
}

async fn answer(
    operation: Arc<Operation>,
    shared: Shared,
    variables: Variables,
    request: Request,
) -> Result<Response, Problem> {
    let extensions = request.extensions();
    let (access, peer) = (extensions.get::<Access>().copied(), extensions.get::<Peer>());
    let (Some(access), Some(peer)) = (access, peer) else { unreachable!("every request has both") };
    let role = shared.auth.role(access);
    if role.is_none_or(|role| role < operation.role) {
        let yours = role.map_or_else(String::new, |role| format!(", and yours is {}", role.name()));
        return Err(Problem::new(StatusCode::FORBIDDEN, format!("this is for role {}{yours}", operation.role.name())));
    }
    let variables = variables.map_err(|error| Problem::of_input(vec![InputError::new("path", error.body_text())]))?;
    let query = Query::parse(request.uri().query().unwrap_or_default(), operation.parameters)?;
    match &operation.answer {
        Answer::Json { make, .. } => Ok(tagged(make(Asked::new(shared, &variables, query)).await?, request.headers())),
        Answer::Live => live::stream(shared, peer, access).map_err(Problem::away),
    }
}

/// An answer with its ETag, or 304 if the client has it.
fn tagged(json: String, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", hex(&Sha256::digest(json.as_bytes())[..16]));
    let is_same = has_tag(headers, &tag);
    let fixed = [(header::ETAG, &*tag), (header::CACHE_CONTROL, "private, no-cache")];
    if is_same {
        return (StatusCode::NOT_MODIFIED, fixed).into_response();
    }
    (fixed, [(header::CONTENT_TYPE, "application/json")], json).into_response()
}

/// Whether `If-None-Match` has this tag, or any (RFC 9110, section 13.1.2).
fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|other| other == "*" || other.trim_start_matches("W/") == tag)
}

/// Whether a request says that its body is too long.
pub(crate) fn is_too_long(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    length.is_some_and(|length: usize| length > LONGEST_BODY)
}
