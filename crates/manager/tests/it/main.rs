//! The manager as a whole, in virtual time.

mod age;
mod air;
mod behaviour;
mod calls;
mod changed;
mod classes;
mod closed_loop;
mod conservation;
mod disciplines;
mod domains;
mod faster;
mod flood;
mod frames;
mod guard;
mod hosts;
mod neighbours;
mod probes;
mod receiver;
mod replay;
mod reports;
mod shared_link;
mod standards;
mod unheard;
mod uplink;
mod world;
mod wrong_reports;
