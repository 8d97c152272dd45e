//! Accounts, sessions and TLS of the page, and tokens, over real connections.

mod accounts;
mod commands;
mod logins;
mod site;
mod tls;
mod tokens;
