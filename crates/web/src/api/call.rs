//! A request of an operation as received, and its authorization.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::StatusCode;

use super::operation::{Asked, Operation};
use super::parameter::Query;
use super::problem::{InputError, Problem};
use crate::auth::Access;
use crate::shared::Shared;

/// The variables of a path, or why they are not UTF-8.
pub(crate) type Variables = Result<RawPathParams, RawPathParamsRejection>;

/// A request of an operation.
pub(crate) struct Call {
    pub operation: Arc<Operation>,
    pub shared: Shared,
    pub access: Access,
    /// Address of the client.
    pub address: IpAddr,
    pub variables: Variables,
    pub request: Request,
}

impl Call {
    /// The checked request.
    ///
    /// # Errors
    /// The role is insufficient, or path or query is wrong.
    pub(crate) fn admitted(&self) -> Result<Asked, Problem> {
        let (role, least) = (self.shared.auth.role(self.access), self.operation.role);
        if role.is_none_or(|role| role < least) {
            let yours = role.map_or_else(String::new, |role| format!(", and yours is {}", role.name()));
            return Err(Problem::new(StatusCode::FORBIDDEN, format!("this is for role {}{yours}", least.name())));
        }
        let wrong =
            |error: &RawPathParamsRejection| Problem::of_input(vec![InputError::new("path", error.body_text())]);
        let variables = self.variables.as_ref().map_err(wrong)?;
        let query = Query::parse(self.request.uri().query().unwrap_or_default(), self.operation.parameters)?;
        Ok(Asked::new(self.shared.clone(), self.access, self.address, variables, query))
    }
}
