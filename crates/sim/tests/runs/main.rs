//! Runs of the simulator as a library: stepped, observed, traced, by their measures, and of random scenarios.

mod measures;
#[path = "../../../scenario/tests/it/mutate.rs"]
mod mutate;
mod nonsense;
mod packets;
mod shortened;
mod simulation;
mod trace;
