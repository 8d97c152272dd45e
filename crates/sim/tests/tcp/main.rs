//! Two TCP endpoints in virtual time, checked against the RFCs' rules and the literature's laws.

mod acks;
mod chaos;
mod handshake;
mod kernel;
mod laws;
mod loss;
mod net;
mod windows;
