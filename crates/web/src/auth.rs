//! Access to the page: accounts, sessions and setup links together.

use std::fmt::{self, Display};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::http::StatusCode;

use crate::account::{Account, Accounts, Role};
use crate::audit::{Actor, Doer};
use crate::clock::Clock;
use crate::limit::Limit;
use crate::link::{Grant, Link};
use crate::password::{Busy, PasswordCost, Passwords};
use crate::second_factor::{Factor, SecondFactors};
use crate::secret::{Digest256, digest};
use crate::session::{LIFETIME, Sessions};
use crate::token::{TokenEntry, Tokens, id_of};

/// Time limit for the code of an app after the password.
const CODE_TIME: Duration = Duration::from_secs(5 * 60);

/// How a client has access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Without a session: no account exists.
    Open,
    /// With the session of this digest.
    Session(Digest256),
    /// With the API token of this digest.
    Token(Digest256),
}

/// Why a login failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Wrong name, password or code; the response does not say which.
    Wrong,
    /// The second factor of the account cannot be read or written.
    Factor,
    /// Too many failed logins; the time to wait.
    Often(Duration),
    /// Too many passwords are being checked.
    Busy,
}

impl From<Busy> for Refused {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

/// Next step after a correct password.
#[derive(Debug)]
pub(crate) enum Login {
    /// A session with this id.
    Session(String),
    /// A code is required, with this ticket.
    Code(String),
}

/// Result of a code for a ticket.
#[derive(Debug)]
pub(crate) struct Confirmed {
    /// The account; `None`: the ticket is invalid.
    pub name: Option<String>,
    /// Id of the session and the factor used, or the refusal.
    pub result: Result<(String, Factor), Refused>,
}

/// Why a password was not changed.
#[derive(Debug)]
pub(crate) enum NotChanged {
    /// The session has ended.
    NoSession,
    /// The old password is wrong.
    Wrong,
    /// Too many failed logins; the time to wait.
    Often(Duration),
    /// Too many passwords are being checked.
    Busy,
    /// The state directory cannot be written.
    Write(std::io::Error),
}

impl From<Busy> for NotChanged {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

impl NotChanged {
    /// HTTP status of the failure.
    pub(crate) const fn status(&self) -> StatusCode {
        match self {
            Self::NoSession => StatusCode::UNAUTHORIZED,
            Self::Wrong => StatusCode::FORBIDDEN,
            Self::Often(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Write(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl Display for NotChanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSession => "the session has ended",
            Self::Wrong => "the old password is wrong",
            Self::Often(_) => "too many logins failed",
            Self::Busy => "too many passwords are checked at once",
            Self::Write(_) => "the state directory cannot be written; the log of evenair-web says why",
        })
    }
}

/// Why a link made no account.
#[derive(Debug)]
pub(crate) enum NotMade {
    /// The link is invalid.
    Link,
    /// The link is for a new account, and the name is taken.
    Taken,
    /// Too many passwords are being hashed.
    Busy,
    /// The state directory cannot be written.
    Write(std::io::Error),
}

impl From<Busy> for NotMade {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

/// Accounts, sessions and link of a server; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Auth {
    passwords: Passwords,
    clock: Clock,
    tokens: Tokens,
    factors: SecondFactors,
    state: Arc<Mutex<AuthState>>,
}

#[derive(Debug)]
struct AuthState {
    accounts: Accounts,
    sessions: Sessions,
    /// Logins with a correct password that wait for a code.
    tickets: Sessions,
    limit: Limit,
    link: Link,
}

impl Auth {
    /// Reads the accounts of this state directory.
    ///
    /// # Errors
    /// Their file exists but cannot be used.
    pub(crate) fn load(state: &Path, clock: Clock, cost: PasswordCost) -> Result<Self> {
        let accounts = Accounts::load(state)?;
        let (sessions, tickets) = (Sessions::lasting(LIFETIME), Sessions::lasting(CODE_TIME));
        let (limit, link, factors) = (Limit::default(), Link::of(state), SecondFactors::of(state));
        let locked = Arc::new(Mutex::new(AuthState { accounts, sessions, tickets, limit, link }));
        Ok(Self { passwords: Passwords::new(cost), clock, tokens: Tokens::of(state), factors, state: locked })
    }

    fn state(&self) -> MutexGuard<'_, AuthState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an account exists, so that a login is required.
    pub(crate) fn has_accounts(&self) -> bool {
        !self.state().accounts.is_empty()
    }

    /// Name and role of a valid session's account.
    pub(crate) fn account(&self, session: &Digest256) -> Option<(String, Role)> {
        let state = self.state();
        let name = state.sessions.account(session, self.clock.uptime())?;
        state.accounts.find(name).map(|account| (account.name.clone(), account.role))
    }

    /// Role of a client with this access; `None`: no access. Without accounts everybody may see the page.
    pub(crate) fn role(&self, access: Access) -> Option<Role> {
        match access {
            Access::Open => (!self.has_accounts()).then_some(Role::View),
            Access::Session(session) => self.account(&session).map(|(_, role)| role),
            Access::Token(token) => self.tokens.role(&token, &self.clock),
        }
    }

    /// The doer of requests with this access.
    pub(crate) fn doer(&self, access: Access) -> Doer {
        match access {
            Access::Open => Doer { role: self.role(access), ..Doer::anonymous() },
            Access::Session(session) => {
                self.account(&session).map_or_else(Doer::anonymous, |(name, role)| Doer::account(&name, Some(role)))
            }
            Access::Token(token) => Doer { by: Actor::Token, who: id_of(&token), role: self.role(access) },
        }
    }

    /// The account of this name as a doer. An unknown name is not logged, since it may be a password typed into the wrong field.
    pub(crate) fn known(&self, name: &str) -> Doer {
        let role = self.state().accounts.find(name).map(|account| account.role);
        if role.is_some() { Doer::account(name, role) } else { Doer { by: Actor::Account, ..Doer::anonymous() } }
    }

    /// Whether the access is still valid, for long streams.
    pub(crate) fn lasts(&self, access: Access) -> bool {
        self.role(access).is_some()
    }

    /// All tokens.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn tokens(&self) -> Result<Vec<TokenEntry>> {
        self.tokens.list()
    }

    /// Logs in, or asks for the code of an account that has a second factor.
    ///
    /// # Errors
    /// See [`Refused`].
    pub(crate) async fn log_in(&self, name: &str, password: String, from: IpAddr) -> Result<Login, Refused> {
        let (attempt, hash) = {
            let mut state = self.state();
            // Counted before the password is checked, so that concurrent attempts do not all pass.
            let attempt = state.limit.begin(name, from, self.clock.uptime()).map_err(Refused::Often)?;
            (attempt, state.accounts.find(name).map(|account| account.password.clone()))
        };
        let matches = self.passwords.matches(password, hash.clone()).await;
        let mut state = self.state();
        if matches != Ok(false) {
            state.limit.take_back(&attempt);
        }
        // The password may have been changed meanwhile.
        let is_same = state.accounts.find(name).map(|account| &account.password) == hash.as_ref();
        if !matches? || !is_same {
            return Err(Refused::Wrong);
        }
        let now = self.clock.uptime();
        match self.factors.has(name) {
            Ok(false) => Ok(Login::Session(state.sessions.begin(name, now))),
            Ok(true) => Ok(Login::Code(state.tickets.begin(name, now))),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// Completes a login that waits for a code. A ticket allows one code; a wrong one counts as a failed login, and takes as long as a
    /// wrong password.
    pub(crate) async fn confirm(&self, ticket: &str, code: &str, from: IpAddr) -> Confirmed {
        let (name, attempt) = {
            let mut state = self.state();
            let now = self.clock.uptime();
            let name = state.tickets.account(&digest(ticket), now).map(str::to_owned);
            let attempt = state.limit.begin(name.as_deref().unwrap_or_default(), from, now);
            (name, attempt)
        };
        let attempt = match attempt {
            Ok(attempt) => attempt,
            Err(wait) => return Confirmed { name, result: Err(Refused::Often(wait)) },
        };
        let result = match self.passwords.matches(String::new(), None).await {
            Err(busy) => Err(busy.into()),
            Ok(_) => self.take_code(ticket, code),
        };
        if result != Err(Refused::Wrong) {
            self.state().limit.take_back(&attempt);
        }
        Confirmed { name, result }
    }

    fn take_code(&self, ticket: &str, code: &str) -> Result<(String, Factor), Refused> {
        let name = self.state().tickets.take(&digest(ticket), self.clock.uptime()).ok_or(Refused::Wrong)?;
        match self.factors.take(&name, code, self.clock.unix()) {
            Ok(None) => Err(Refused::Wrong),
            Ok(Some(factor)) => Ok((self.state().sessions.begin(&name, self.clock.uptime()), factor)),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// Changes the password of a session's account. Ends its other sessions. A wrong old password counts as a failed login.
    ///
    /// # Errors
    /// See [`NotChanged`].
    pub(crate) async fn change_password(
        &self,
        session: &Digest256,
        old: String,
        new: String,
        from: IpAddr,
    ) -> Result<(), NotChanged> {
        let (name, _) = self.account(session).ok_or(NotChanged::NoSession)?;
        let (attempt, hash) = {
            let mut state = self.state();
            let attempt = state.limit.begin(&name, from, self.clock.uptime()).map_err(NotChanged::Often)?;
            (attempt, state.accounts.find(&name).map(|account| account.password.clone()))
        };
        let matches = self.passwords.matches(old, hash.clone()).await;
        if matches != Ok(false) {
            self.state().limit.take_back(&attempt);
        }
        if !matches? {
            return Err(NotChanged::Wrong);
        }
        let password = self.passwords.hash(new).await?;
        let mut state = self.state();
        // The session or the password may have changed meanwhile.
        let is_open = state.sessions.account(session, self.clock.uptime()).is_some();
        let Some(account) =
            state.accounts.find(&name).filter(|account| is_open && Some(&account.password) == hash.as_ref())
        else {
            return Err(NotChanged::NoSession);
        };
        let account = Account { password, ..account.clone() };
        state.accounts.put(account).map_err(NotChanged::Write)?;
        state.sessions.end_others_of(&name, session);
        state.tickets.end_all_of(&name);
        Ok(())
    }

    /// Ends a session.
    pub(crate) fn log_out(&self, session: &Digest256) {
        self.state().sessions.end(session);
    }

    /// The grant of a link with this token.
    pub(crate) fn grant(&self, token: &str) -> Option<Grant> {
        self.state().link.grant(token, &self.clock)
    }

    /// Makes an account by a link, or gives the existing one of this name the link's role and this password. Ends its sessions.
    ///
    /// # Errors
    /// See [`NotMade`].
    pub(crate) async fn make_account(&self, token: &str, name: &str, password: String) -> Result<(), NotMade> {
        self.state().may_make(token, name, &self.clock)?;
        let password = self.passwords.hash(password).await?;
        let mut state = self.state();
        // Another browser may have used the link meanwhile.
        let Grant { role, .. } = state.may_make(token, name, &self.clock)?;
        state.link.remove().map_err(NotMade::Write)?;
        let account = Account { name: name.to_owned(), role, password };
        state.accounts.put(account).map_err(NotMade::Write)?;
        state.end_all_of(name);
        Ok(())
    }
}

impl AuthState {
    /// Ends the sessions of an account, and its logins that wait for a code.
    fn end_all_of(&mut self, name: &str) {
        self.sessions.end_all_of(name);
        self.tickets.end_all_of(name);
    }

    /// The grant of a link, if it applies to this name. A link that names no account and is not for an admin gives no access to an
    /// existing account.
    fn may_make(&self, token: &str, name: &str, clock: &Clock) -> Result<Grant, NotMade> {
        let grant = self.link.grant(token, clock).ok_or(NotMade::Link)?;
        match &grant.name {
            Some(named) if named != name => Err(NotMade::Link),
            None if grant.role != Role::Admin && self.accounts.find(name).is_some() => Err(NotMade::Taken),
            _ => Ok(grant),
        }
    }
}

fn unusable(error: &anyhow::Error) -> Refused {
    eprintln!("a login is refused, since the second factor cannot be used: {error:#}");
    Refused::Factor
}

/// The digest of a session's id, as the cookie has it.
pub(crate) fn session_of(id: &str) -> Digest256 {
    digest(id)
}
