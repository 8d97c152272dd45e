//! The machine that a box runs on: how its ports and its bridge are set up, and kept over restarts ([`setup`], for `evenair init`), and
//! whether all is as the box needs it ([`doctor`], for `evenair doctor`).
//!
//! Nothing here is part of the running box.

pub mod doctor;
pub mod setup;
