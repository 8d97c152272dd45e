//! The page of a box, and its API for programs: for a browser on the same machine, through a tunnel, or with TLS and a login from
//! elsewhere.
//!
//! The program may only read the box's watch socket; it may open the control socket only after `evenair-web setup` for an account that
//! commands the box. The box does not depend on it. Without an account the page needs no login and is for this machine alone; from the
//! first account on each browser logs in.
//!
//! Not here: accounts of other programs (LDAP, OpenID Connect), and the header `Forwarded` of reverse proxies.

mod account;
mod alerts;
mod api;
mod audit;
mod auth;
mod backup;
mod clock;
mod config;
mod connections;
mod control;
mod dropin;
mod feed;
mod history;
mod limit;
mod link;
mod live;
mod login;
mod network;
mod password;
mod password_page;
mod proxy;
mod receiver;
mod second_factor;
mod secret;
mod server;
mod session;
mod setup;
mod shared;
mod state_lock;
mod tls;
mod token;
mod totp;

pub use account::Role;
pub use alerts::{Mute, MuteRequest, check_alerts, list_mutes, mute, test_alerts, unmute};
pub use api::api_document;
pub use audit::{Actor, AuditEntry, Doer, newest_entries};
pub use backup::{Backup, BackupTo, Restored, back_up, restore};
pub use clock::Clock;
pub use config::{CONFIG, HistoryConfig, TlsConfig, WebConfig};
pub use dropin::{Permit, drop_in, permit_commands, undo};
pub use history::{Series, SeriesPoint, SeriesRequest, series_of};
pub use link::Grant;
pub use network::Network;
pub use password::PasswordCost;
pub use receiver::{MailServer, ReceiverConfig};
pub use second_factor::{NewFactor, remove_factor};
pub use server::{Web, has_page, serve};
pub use setup::setup_link;
pub use tls::{check_certificate, self_signed_fingerprint};
pub use token::{TokenEntry, TokenGrant, add_token, list_tokens, remove_token};
