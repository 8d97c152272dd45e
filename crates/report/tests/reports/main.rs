//! Reports of runs and of packets.

mod packets;
mod run;
