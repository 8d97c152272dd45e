//! Clients of a running box and readers of its files: the control socket ([`control`]), the watch socket ([`watch`]), the history
//! files ([`history`]), and names of stations ([`lookup`]).
//!
//! Not here: the box itself, which serves these sockets (`evenair-serve`).

pub mod control;
pub mod history;
pub mod lookup;
pub mod watch;
