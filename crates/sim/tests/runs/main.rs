//! Runs of the simulator as programs hold them: stepped and observed, traced, by their measures, and of any scenario.

mod measures;
#[path = "../../../scenario/tests/it/mutate.rs"]
mod mutate;
mod nonsense;
mod packets;
mod shortened;
mod simulation;
mod trace;
