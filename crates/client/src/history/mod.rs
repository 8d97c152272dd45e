//! Readers of the history of a box: its files, and their records in words, as CSV or as JSON.

mod printer;
mod reader;

pub use printer::{Format, Printer, Selection, time};
pub use reader::{Reader, Seen};
