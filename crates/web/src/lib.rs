//! The page of a box, for a browser on the same machine or through a tunnel.
//!
//! The program has no rights on the box: it reads the watch socket, and never the control socket. The box does not notice whether
//! it runs.

mod config;
mod feed;
mod server;

pub use config::{CONFIG, WebConfig};
pub use server::{has_page, serve};
