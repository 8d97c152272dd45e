//! The machine that a box runs on: setup of its ports and bridge that survives reboots ([`setup`], for `evenair init`), and checks of
//! the box's requirements ([`doctor`], for `evenair doctor`).
//!
//! Nothing here is part of the running box.

pub mod doctor;
pub mod setup;
