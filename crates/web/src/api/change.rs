//! Requests that change something: each leaves a line in the audit log, whether it succeeds or not, and runs to completion even if its
//! client disconnects.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use super::body;
use super::call::{Call, Variables};
use super::operation::Answer;
use super::parameter::BASE;
use super::problem::{Problem, shortened};
use crate::audit::{AuditEntry, DONE};

/// Responds to a request for an operation that changes something.
pub(crate) async fn answer(call: Call) -> Response {
    // An abandoned future would be dropped, and the box might have acted without a line in the log.
    let work = tokio::spawn(async move {
        let (shared, doer) = (call.shared.clone(), call.shared.auth.doer(call.access));
        let what = format!("{} {BASE}{}", call.operation.method, call.operation.path);
        let entry = AuditEntry::request(doer, call.address, what);
        let mut values = named(&call.variables);
        if let Err(error) = shared.audit.check() {
            eprintln!("nothing is changed: {error:#}");
            let why = "nothing was done, since the audit log cannot be written: the log of evenair-web says why";
            return Problem::new(StatusCode::INTERNAL_SERVER_ERROR, why).into_response();
        }
        let outcome = attempt(call, &mut values).await;
        let entry = AuditEntry { values, ..entry };
        match outcome {
            Ok(()) => {
                shared.audit.note(entry.ended(204, DONE));
                StatusCode::NO_CONTENT.into_response()
            }
            Err(problem) => {
                shared.audit.note_failure(entry.ended(problem.status, why(&problem)));
                problem.into_response()
            }
        }
    });
    work.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// Performs the operation. Sets `values` to those of the request once validated: an invalid body may contain anything.
async fn attempt(call: Call, values: &mut Map<String, Value>) -> Result<(), Problem> {
    let asked = call.admitted()?;
    let Answer::Done(act) = &call.operation.answer else { unreachable!("it changes something") };
    let body = body::read(call.request, act.body.as_ref()).await?;
    let is_secret = |key: &str| act.body.as_ref().is_some_and(|schema| body::is_secret(&schema["properties"][key]));
    values.extend(body.as_object().cloned().unwrap_or_default().into_iter().filter(|(key, _)| !is_secret(key)));
    (act.act)(asked, body).await
}

/// The result for the log, without the client's invalid input.
fn why(problem: &Problem) -> String {
    if problem.errors.is_empty() { problem.detail.clone() } else { "the input is wrong".into() }
}

/// The variables of a path, as values of the log.
fn named(variables: &Variables) -> Map<String, Value> {
    let all = variables.as_ref().into_iter().flatten();
    all.map(|(name, value)| (name.to_owned(), shortened(value).into())).collect()
}
