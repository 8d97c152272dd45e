//! The manager as a whole, in virtual time.

mod air;
mod behaviour;
mod calls;
mod classes;
mod closed_loop;
mod conservation;
mod disciplines;
mod domains;
mod guard;
mod hosts;
mod neighbours;
mod receiver;
mod replay;
mod shared_link;
mod told;
mod uplink;
mod world;
mod wrong_told;
