//! The settings that a box's configuration and a scenario have in common: those of the manager, of its queue disciplines and of the radio's
//! standard.
//!
//! Each setting is declared once, in the file of its user: with its unit, default and description, from which the schema for editors and
//! the reference are made, and with its range, which is part of its type (`Written<Span, AqmTimes>`). [`ManagerSpec::check`] turns them
//! into [`evenair_manager::Config`], or reports all problems with their positions.

mod aggregates;
pub mod manager;
mod phy;
pub mod queue;

use evenair_manager::Direction;

pub use aggregates::BrokenAggregates;
pub use manager::ManagerSpec;
pub use phy::{PhySpec, RateSpec, RtsThresholds, phy_rate, station_rate};

evenair_reader::words!(DirectionWord(Direction) { "up" => Direction::Up, "down" => Direction::Down });
