//! Operations of an account on itself.

use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use super::operation::{Asked, Operation};
use super::problem::{InputError, Problem};
use crate::auth::{Access, NotChanged};
use crate::password::{Busy, fault};

/// All operations.
pub(crate) fn operations() -> Vec<Operation> {
    let summary = "Change the password of the account that has logged in; its other sessions end";
    vec![Operation::write(Method::PUT, "/me/password", summary, change_password)]
}

/// A change of a password.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewPassword {
    /// The password of before; a wrong one counts as a failed login.
    #[schemars(length(max = 1024), extend("writeOnly" = true))]
    old: String,
    /// The new one: at most 1,024 bytes.
    #[schemars(length(min = 10, max = 1024), extend("writeOnly" = true))]
    new: String,
}

async fn change_password(asked: Asked, NewPassword { old, new }: NewPassword) -> Result<(), Problem> {
    let Access::Session(session) = asked.access else {
        let why =
            "only an account that has logged in has a password: a token has none, nor has a page without accounts";
        return Err(Problem::new(axum::http::StatusCode::FORBIDDEN, why));
    };
    if let Some(fault) = fault(&new) {
        return Err(Problem::of_input(vec![InputError::new("new", fault)]));
    }
    let state = asked.shared.config.state.clone();
    asked.shared.auth.change_password(&session, old, new, asked.address).await.map_err(|refused| {
        if let NotChanged::Write(error) = &refused {
            eprintln!("the password was not changed: {}: {error}", state.display());
        }
        let problem = Problem::new(refused.status(), refused.to_string());
        match refused {
            NotChanged::Often(wait) => problem.retry_after(wait.as_secs() + 1),
            NotChanged::Busy => problem.retry_after(Busy::RETRY_S),
            _ => problem,
        }
    })
}
