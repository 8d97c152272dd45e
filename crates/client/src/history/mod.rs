//! Readers of a box's history: its files, and its records as text, CSV or JSON.

mod printer;
mod reader;

pub use printer::{Format, Printer, Selection, time};
pub use reader::{Reader, Seen};
