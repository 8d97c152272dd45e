//! Accounts, sessions and TLS of the page, over real connections.

mod accounts;
mod commands;
mod logins;
mod site;
mod tls;
