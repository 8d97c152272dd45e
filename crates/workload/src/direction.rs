//! Directions of data.

use evenair_reader::words;
use serde::{Deserialize, Serialize};

/// Direction of the data, seen from the station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the station to the wired side.
    Up,
    /// From the wired side to the station.
    Down,
}

words!(Direction { "up" => Self::Up, "down" => Self::Down });
