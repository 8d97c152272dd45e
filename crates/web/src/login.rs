//! Login, logout and the form of the setup link: plain HTML that works without script.
//!
//! Requests that change something come from our own pages only: the session's cookie is not sent from other sites (`SameSite=Strict`),
//! and [`is_from_us`] checks the request's origin as browsers report it, which also prevents login CSRF.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::account::{NAMES, Role, is_name};
use crate::audit::{AuditEntry, Doer};
use crate::auth::{Confirmed, Login, NotMade, Refused, session_of};
use crate::connections::{Peer, read_body};
use crate::link::Grant;
use crate::password::{Busy, LONGEST, SHORTEST, fault};
use crate::secret::{Digest256, from_hex};
use crate::session::LIFETIME;
use crate::shared::Shared;

/// Names of the cookie. Browsers accept the prefixes only over TLS, and the first one only for this host and the path "/".
const COOKIE_OF_HOST: &str = "__Host-evenair";
const COOKIE_OF_PATH: &str = "__Secure-evenair";
const COOKIE: &str = "evenair";

/// Paths that need no session.
pub(crate) const OPEN: [&str; 3] = ["/login", "/login.css", "/setup"];

/// The routes.
pub(crate) fn routes() -> Router<Shared> {
    let style = ([(header::CONTENT_TYPE, "text/css")], include_str!("login.css"));
    Router::new()
        .route("/login", get(login_page).post(log_in))
        .route("/login.css", get(move || async move { style }))
        .route("/logout", post(log_out))
        .route("/setup", get(setup_page).post(set_up))
}

/// The name of the cookie for a page below this base path.
fn cookie_name(is_tls: bool, base: &str) -> &'static str {
    match (is_tls, base) {
        (false, _) => COOKIE,
        (true, "") => COOKIE_OF_HOST,
        (true, _) => COOKIE_OF_PATH,
    }
}

/// The session in a request's cookie, valid or not, for a page below this base path.
pub(crate) fn session(headers: &HeaderMap, is_tls: bool, base: &str) -> Option<Digest256> {
    let name = cookie_name(is_tls, base);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, id)| session_of(id))
}

/// Whether a request comes from our own page: by `Sec-Fetch-Site`, which browsers send over TLS and to loopback, otherwise by
/// `Origin`. A request with neither is refused.
pub(crate) fn is_from_us(headers: &HeaderMap, is_tls: bool) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if let Some(site) = text("sec-fetch-site") {
        return site == "same-origin";
    }
    let scheme = if is_tls { "https" } else { "http" };
    let ours = text("host").map(|host| format!("{scheme}://{host}"));
    text("origin").zip(ours).is_some_and(|(origin, ours)| origin.eq_ignore_ascii_case(&ours))
}

async fn login_page(State(shared): State<Shared>, Extension(peer): Extension<Peer>, headers: HeaderMap) -> Response {
    let account =
        session(&headers, peer.is_tls, &shared.config.base_path).and_then(|session| shared.auth.account(&session));
    match account {
        Some((name, role)) => page(StatusCode::OK, "Evenair", &logged_in_as(&name, role)),
        None => login_form(StatusCode::OK, ""),
    }
}

async fn log_in(State(shared): State<Shared>, Extension(peer): Extension<Peer>, request: Request) -> Response {
    let before = session(request.headers(), peer.is_tls, &shared.config.base_path);
    let form = match Form::read(request).await {
        Ok(form) => form,
        Err(refusal) => return refusal,
    };
    let (entry, result) = match form.get("ticket") {
        "" => match by_password(&shared, &peer, &form).await {
            Ok(known) => known,
            Err(form) => return form,
        },
        ticket => by_code(&shared, &peer, ticket, form.get("code")).await,
    };
    match result {
        Ok(id) => {
            shared.audit.note(entry);
            if let Some(before) = before {
                shared.auth.log_out(&before);
            }
            with_cookie(&cookie(&shared, &peer, &id, LIFETIME), go_to(&shared, "/"))
        }
        Err(refused) => not_logged_in(&shared, entry, refused),
    }
}

/// Audit entry of an attempt, and the id of the session or the refusal.
type Attempted = (AuditEntry, Result<String, Refused>);

/// The first step of a login.
///
/// # Errors
/// The form for the next step, or for another attempt.
async fn by_password(shared: &Shared, peer: &Peer, form: &Form) -> Result<Attempted, Response> {
    let (name, password) = (form.get("name"), form.get("password"));
    if password.len() > LONGEST {
        return Err(login_form(StatusCode::UNPROCESSABLE_ENTITY, "That password is too long."));
    }
    let result = shared.auth.log_in(name, password.to_owned(), peer.address).await;
    let entry = AuditEntry::request(shared.auth.known(name), peer.address, "POST /login");
    match result {
        Ok(Login::Code(ticket)) => {
            shared.audit.note(entry.ended(200, "the password is right, and a code is asked for"));
            Err(code_form(&ticket))
        }
        Ok(Login::Session(id)) => Ok((entry, Ok(id))),
        Err(refused) => Ok((entry, Err(refused))),
    }
}

/// The second step, for an account with a second factor.
async fn by_code(shared: &Shared, peer: &Peer, ticket: &str, code: &str) -> Attempted {
    let Confirmed { name, result } = shared.auth.confirm(ticket, code, peer.address).await;
    let doer = shared.auth.known(name.as_deref().unwrap_or_default());
    let entry = AuditEntry::request(doer, peer.address, "POST /login");
    match result {
        Ok((id, factor)) => (entry.with("second_factor", factor.name()), Ok(id)),
        Err(refused) => (entry, Err(refused)),
    }
}

fn not_logged_in(shared: &Shared, entry: AuditEntry, refused: Refused) -> Response {
    match refused {
        Refused::Wrong => {
            shared.audit.note_failure(entry.ended(401, "name, password or code is wrong"));
            login_form(StatusCode::UNAUTHORIZED, "Name, password or code is wrong.")
        }
        Refused::Factor => {
            shared.audit.note_failure(entry.ended(500, "the second factor cannot be used"));
            let why = "The second factor of this account cannot be read or written; the log of evenair-web says why.";
            login_form(StatusCode::INTERNAL_SERVER_ERROR, why)
        }
        Refused::Often(wait) => {
            retry_after(wait.as_secs() + 1, login_form(StatusCode::TOO_MANY_REQUESTS, "Too many logins failed."))
        }
        Refused::Busy => {
            retry_after(Busy::RETRY_S, login_form(StatusCode::TOO_MANY_REQUESTS, "Too many log in at once."))
        }
    }
}

async fn log_out(State(shared): State<Shared>, Extension(peer): Extension<Peer>, headers: HeaderMap) -> Response {
    if let Some(session) = session(&headers, peer.is_tls, &shared.config.base_path) {
        if let Some((name, role)) = shared.auth.account(&session) {
            shared.audit.note(AuditEntry::request(Doer::account(&name, Some(role)), peer.address, "POST /logout"));
        }
        shared.auth.log_out(&session);
    }
    with_cookie(&cookie(&shared, &peer, "", Duration::ZERO), go_to(&shared, "/login"))
}

async fn setup_page(State(shared): State<Shared>, uri: Uri) -> Response {
    let form = Form::parse(uri.query().unwrap_or_default().as_bytes());
    let token = form.get("token");
    shared.auth.grant(token).map_or_else(no_link, |grant| setup_form(StatusCode::OK, token, &grant, ""))
}

async fn set_up(State(shared): State<Shared>, Extension(peer): Extension<Peer>, request: Request) -> Response {
    let form = match Form::read(request).await {
        Ok(form) => form,
        Err(refusal) => return refusal,
    };
    let (token, name, password) = (form.get("token"), form.get("name"), form.get("password"));
    let Some(grant) = shared.auth.grant(token) else { return no_link() };
    let problem = match fault(password) {
        _ if !is_name(name) => Some(format!("A name is {NAMES}.")),
        None if password != form.get("again") => Some("The two passwords differ.".into()),
        problem => problem,
    };
    if let Some(problem) = problem {
        return setup_form(StatusCode::UNPROCESSABLE_ENTITY, token, &grant, &problem);
    }
    if let Err(error) = shared.audit.check() {
        return not_made(&format!("{error:#}"));
    }
    let doer = Doer::account(name, Some(grant.role));
    let entry = AuditEntry::request(doer, peer.address, "POST /setup").with("role", grant.role.name());
    match shared.auth.make_account(token, name, password.to_owned()).await {
        Ok(()) => {
            shared.audit.note(entry);
            go_to(&shared, "/login")
        }
        Err(NotMade::Link) => no_link(),
        Err(NotMade::Taken) => setup_form(StatusCode::CONFLICT, token, &grant, "There is an account of that name."),
        Err(NotMade::Busy) => {
            let form = setup_form(StatusCode::TOO_MANY_REQUESTS, token, &grant, "Too many log in at once.");
            retry_after(Busy::RETRY_S, form)
        }
        Err(NotMade::Write(error)) => not_made(&format!("{}: {error}", shared.config.state.display())),
    }
}

fn not_made(why: &str) -> Response {
    eprintln!("the account was not made: {why}");
    let text = "<p>The account was not made: the state directory of evenair-web cannot be written (its log says why). Run \
                <code>evenair-web setup</code> again after that.</p>";
    page(StatusCode::INTERNAL_SERVER_ERROR, "Not made", text)
}

/// A submitted form.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The value of a field; empty if missing.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.0.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value)
    }

    /// Reads a form, with limits of time and length; on failure the response.
    pub(crate) async fn read(request: Request) -> Result<Self, Response> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.split(';').next() != Some("application/x-www-form-urlencoded") {
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "only forms are understood\n").into_response());
        }
        let body = read_body(request.into_body()).await;
        let refused = |(status, why): (StatusCode, &str)| (status, format!("{why}\n")).into_response();
        body.map(|body| Self::parse(&body)).map_err(refused)
    }
}

/// The cookie of a session, valid for `age`.
fn cookie(shared: &Shared, peer: &Peer, id: &str, age: Duration) -> String {
    let base = &*shared.config.base_path;
    let (name, path) = (cookie_name(peer.is_tls, base), if base.is_empty() { "/" } else { base });
    let secure = if peer.is_tls { "; Secure" } else { "" };
    format!("{name}={id}; Path={path}; HttpOnly; SameSite=Strict; Max-Age={}{secure}", age.as_secs())
}

/// Redirects a browser to a path of the page.
fn go_to(shared: &Shared, path: &str) -> Response {
    let path = format!("{}{path}", shared.config.base_path);
    (StatusCode::SEE_OTHER, [(header::LOCATION, path)]).into_response()
}

fn with_cookie(cookie: &str, mut response: Response) -> Response {
    response.headers_mut().insert(header::SET_COOKIE, cookie.parse().expect("ASCII"));
    response
}

/// Adds `Retry-After`, in seconds, to a response.
pub(crate) fn retry_after(seconds: u64, mut response: Response) -> Response {
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response
}

/// A whole page. `content` must be ours, or checked to have no HTML characters.
pub(crate) fn page(status: StatusCode, title: &str, content: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><link rel=\"stylesheet\" href=\"login.css\"></head>\n\
         <body><main><h1>{title}</h1>\n{content}\n</main></body>\n</html>\n"
    );
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], Body::from(html)).into_response()
}

/// Why a form is shown again.
pub(crate) fn paragraph(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!("<p class=\"why\" role=\"alert\">{why}</p>\n") }
}

fn login_form(status: StatusCode, why: &str) -> Response {
    let form = "<form method=\"post\" action=\"login\">\n\
         <label for=\"name\">Name</label>\n\
         <input id=\"name\" name=\"name\" autocomplete=\"username\" autocapitalize=\"none\" required>\n\
         <label for=\"password\">Password</label>\n\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" required>\n\
         <button>Log in</button>\n</form>\n\
         <p class=\"hint\">No password any more? <code>sudo evenair web setup</code> on the box makes a link for a new one.</p>";
    page(status, "Log in to Evenair", &(paragraph(why) + form))
}

/// The form for the code, after a correct password.
fn code_form(ticket: &str) -> Response {
    let form = format!(
        "<form method=\"post\" action=\"login\">\n<input type=\"hidden\" name=\"ticket\" value=\"{ticket}\">\n\
         <label for=\"code\">Code of your authenticator app</label>\n\
         <input id=\"code\" name=\"code\" autocomplete=\"one-time-code\" autocapitalize=\"none\" maxlength=\"32\" autofocus required>\n\
         <button>Log in</button>\n</form>\n\
         <p class=\"hint\">Without the app: one of your recovery codes.</p>"
    );
    page(StatusCode::OK, "Log in to Evenair", &form)
}

fn logged_in_as(name: &str, role: Role) -> String {
    format!(
        "<p>You are logged in as {name} (role {}). <a href=\"./\">To the page</a> <a href=\"password\">Change the password</a></p>\n\
         <form method=\"post\" action=\"logout\"><button>Log out</button></form>",
        role.name()
    )
}

fn setup_form(status: StatusCode, token: &str, grant: &Grant, why: &str) -> Response {
    let Grant { role, name } = grant;
    let (role, name) =
        (role.name(), name.as_deref().map(|name| format!(" value=\"{name}\" readonly")).unwrap_or_default());
    // A valid token is hexadecimal.
    let token = from_hex::<32>(token).map(|_| token).unwrap_or_default();
    let form = format!(
        "<p>This makes an account of role {role}, or gives one a new password.</p>\n\
         <form method=\"post\" action=\"setup\">\n<input type=\"hidden\" name=\"token\" value=\"{token}\">\n\
         <label for=\"name\">Name</label>\n\
         <input id=\"name\" name=\"name\" autocomplete=\"username\" autocapitalize=\"none\" maxlength=\"32\"{name} required>\n\
         <label for=\"password\">Password, at least {SHORTEST} characters</label>\n\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"new-password\" minlength=\"{SHORTEST}\" required>\n\
         <label for=\"again\">Password again</label>\n\
         <input id=\"again\" name=\"again\" type=\"password\" autocomplete=\"new-password\" minlength=\"{SHORTEST}\" required>\n\
         <button>Make the account</button>\n</form>"
    );
    page(status, "Account of Evenair", &(paragraph(why) + &form))
}

fn no_link() -> Response {
    let text = "<p>A link makes one account, within 15 minutes. Run <code>sudo evenair web setup</code> on the box for \
                another.</p>";
    page(StatusCode::FORBIDDEN, "This link is not valid", text)
}
