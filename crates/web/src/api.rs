//! The API for programs, `/api/v1`: the box's data as JSON, with an OpenAPI document. Routes and document are made from one table of
//! operations (`api/routes.rs`), with the schemas of the response types. Operations that change something are requests to the box's
//! control socket (`api/commands.rs`), and leave a line in the audit log.

mod body;
mod call;
mod change;
mod commands;
mod document;
mod list;
mod operation;
mod own;
mod parameter;
mod problem;
mod routes;
mod stored;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use evenair_reader::nearest;
use serde_json::Value;
use sha2::{Digest, Sha256};

use self::call::{Call, Variables};
use self::operation::{Answer, Operation};
use self::parameter::BASE;
use self::problem::shortened;
use self::routes::operations;
use crate::auth::Access;
use crate::connections::{LONGEST_BODY, Peer};
use crate::live;
use crate::secret::hex;
use crate::shared::Shared;

pub(crate) use self::problem::Problem;

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

/// Whether a path belongs to the API.
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

/// The problem for an unknown path: names the nearest one. Names in the path are kept.
pub(crate) fn missing(path: &str) -> Problem {
    let given: Vec<_> = path.split('/').collect();
    let paths: Vec<_> =
        operations().iter().map(|operation| named(&format!("{BASE}{}", operation.path), &given)).collect();
    let near = nearest(path, paths.iter().map(String::as_str), 1);
    let problem = Problem::missing("path", path, near.first().copied());
    Problem { detail: format!("{}; {BASE}/openapi.json has all", problem.detail), ..problem }
}

/// A path template with its variables replaced by the parts of a given path.
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
    let (access, peer) = (extensions.get::<Access>().copied(), extensions.get::<Peer>().cloned());
    let (Some(access), Some(peer)) = (access, peer) else { unreachable!("every request has both") };
    let call = Call { operation, shared, access, address: peer.address, variables, request };
    if matches!(call.operation.answer, Answer::Done(_)) {
        return Ok(change::answer(call).await);
    }
    let asked = call.admitted()?;
    match &call.operation.answer {
        Answer::Json { make, .. } => Ok(tagged(make(asked).await?, call.request.headers())),
        Answer::Live => live::stream(call.shared, &peer, access).map_err(Problem::away),
        Answer::Done(_) => unreachable!("answered above"),
    }
}

/// A response with its ETag, or 304 if the client has it.
fn tagged(json: String, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", hex(&Sha256::digest(json.as_bytes())[..16]));
    let is_same = has_tag(headers, &tag);
    let fixed = [(header::ETAG, &*tag), (header::CACHE_CONTROL, "private, no-cache")];
    if is_same {
        return (StatusCode::NOT_MODIFIED, fixed).into_response();
    }
    (fixed, [(header::CONTENT_TYPE, "application/json")], json).into_response()
}

/// Whether `If-None-Match` has this tag, or `*` (RFC 9110, section 13.1.2).
fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|other| other == "*" || other.trim_start_matches("W/") == tag)
}

/// Whether a request announces a body that is too long.
pub(crate) fn is_too_long(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    length.is_some_and(|length: usize| length > LONGEST_BODY)
}
