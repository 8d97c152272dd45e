//! Accounts, sessions and TLS of the page, and the API, over real connections.

mod accounts;
mod api;
mod commands;
mod history;
mod logins;
mod sample_box;
mod schema;
mod site;
mod tls;
mod tokens;
