//! Clients of a running box, and readers of what it has kept: the control socket ([`control`]), the watch socket ([`watch`]), the
//! files of the history ([`history`]), and names of stations ([`lookup`]).
//!
//! Not here: the box itself, which answers on these sockets (`evenair-serve`).

pub mod control;
pub mod history;
pub mod lookup;
pub mod watch;
