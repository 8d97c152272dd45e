//! The form to change an account's password: plain HTML that works without script, like the login.

use axum::Router;
use axum::extract::{Extension, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;

use crate::audit::{AuditEntry, DONE};
use crate::auth::{Access, NotChanged};
use crate::connections::Peer;
use crate::login::{Form, page, paragraph, retry_after};
use crate::password::{Busy, SHORTEST, fault};
use crate::secret::Digest256;
use crate::shared::Shared;

/// The routes.
pub(crate) fn routes() -> Router<Shared> {
    Router::new().route("/password", get(password_page).post(change))
}

/// The session of a request, and the name of its account.
fn account(shared: &Shared, access: Access) -> Option<(Digest256, String)> {
    match access {
        Access::Session(session) => shared.auth.account(&session).map(|(name, _)| (session, name)),
        Access::Open | Access::Token(_) => None,
    }
}

fn no_account() -> Response {
    let text = "<p>There is no account yet, and so no password. <a href=\"./\">To the page</a></p>";
    page(StatusCode::FORBIDDEN, "No account", text)
}

async fn password_page(State(shared): State<Shared>, Extension(access): Extension<Access>) -> Response {
    account(&shared, access).map_or_else(no_account, |(_, name)| form(StatusCode::OK, &name, ""))
}

async fn change(
    State(shared): State<Shared>,
    Extension(access): Extension<Access>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Response {
    let Some((session, name)) = account(&shared, access) else { return no_account() };
    let sent = match Form::read(request).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    let (old, new) = (sent.get("old"), sent.get("new"));
    let problem = if new == sent.get("again") { fault(new) } else { Some("The two new passwords differ.".into()) };
    if let Some(problem) = problem {
        return form(StatusCode::UNPROCESSABLE_ENTITY, &name, &problem);
    }
    if let Err(error) = shared.audit.check() {
        return not_written(&format!("{error:#}"));
    }
    let entry = AuditEntry::request(shared.auth.doer(access), peer.address, "POST /password");
    let result = shared.auth.change_password(&session, old.to_owned(), new.to_owned(), peer.address).await;
    let (status, why) = match &result {
        Ok(()) => (200, DONE.to_owned()),
        Err(refused) => (refused.status().as_u16(), refused.to_string()),
    };
    let entry = entry.ended(status, why);
    let Err(refused) = result else {
        shared.audit.note(entry);
        let text =
            "<p>Your password is changed, and your other sessions have ended. <a href=\"./\">To the page</a></p>";
        return page(StatusCode::OK, "Changed", text);
    };
    shared.audit.note_failure(entry);
    let again = |why| form(refused.status(), &name, why);
    match &refused {
        NotChanged::Wrong => again("The old password is wrong."),
        NotChanged::Often(wait) => retry_after(wait.as_secs() + 1, again("Too many logins failed.")),
        NotChanged::Busy => retry_after(Busy::RETRY_S, again("Too many log in at once.")),
        NotChanged::NoSession => again("Your session has ended: log in again."),
        NotChanged::Write(error) => not_written(&format!("{}: {error}", shared.config.state.display())),
    }
}

fn not_written(why: &str) -> Response {
    eprintln!("the password was not changed: {why}");
    let text =
        "<p>The password was not changed: the state directory of evenair-web cannot be written (its log says why).</p>";
    page(StatusCode::INTERNAL_SERVER_ERROR, "Not changed", text)
}

fn form(status: StatusCode, name: &str, why: &str) -> Response {
    let form = format!(
        "<form method=\"post\" action=\"password\">\n\
         <label for=\"name\">Account</label>\n\
         <input id=\"name\" name=\"name\" autocomplete=\"username\" value=\"{name}\" readonly>\n\
         <label for=\"old\">Old password</label>\n\
         <input id=\"old\" name=\"old\" type=\"password\" autocomplete=\"current-password\" required>\n\
         <label for=\"new\">New password, at least {SHORTEST} characters</label>\n\
         <input id=\"new\" name=\"new\" type=\"password\" autocomplete=\"new-password\" minlength=\"{SHORTEST}\" required>\n\
         <label for=\"again\">New password again</label>\n\
         <input id=\"again\" name=\"again\" type=\"password\" autocomplete=\"new-password\" minlength=\"{SHORTEST}\" required>\n\
         <button>Change the password</button>\n</form>\n\
         <p class=\"hint\">Your other sessions end. <a href=\"./\">Back to the page</a></p>"
    );
    page(status, "Password of Evenair", &(paragraph(why) + &form))
}
