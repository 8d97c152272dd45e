//! The discrete-event world: what runs on the hosts of a simulated network, in virtual time.

pub mod tcp;
