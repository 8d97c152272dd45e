//! Accounts, sessions, TLS, audit log and alerts of the page, and the API, over real connections.

mod accounts;
mod act;
mod alert_sinks;
mod alerts;
mod api;
mod audit;
mod backup;
mod commands;
mod history;
mod logins;
mod passwords;
mod proxies;
mod random;
mod sample_box;
mod sample_control;
mod schema;
mod second_factor;
mod site;
mod tls;
mod tokens;
