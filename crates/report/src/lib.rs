//! What people look at: tables for programs to read, pictures, and pages that show them all.
//!
//! A crate of its own so that the box, which draws nothing, does not carry what drawing needs. Pictures are SVG and PNG,
//! tables CSV, JSON and Parquet, pages HTML that need nothing else. The same results give the same bytes.
//!
//! One file a concern: `chart` what is drawn and how it looks; `run`, `airtime` and `many` the pictures of one run and of many;
//! `page` pages; `table` and `parquet` tables; `series` the tables of a run.

mod airtime;
mod chart;
mod many;
mod page;
mod parquet;
mod run;
mod series;
mod table;

pub use chart::Picture;
pub use many::{Curve, Curves, Difference, differences};
pub use page::{Page, run_page};
pub use run::run_pictures;
pub use series::{measures_table, series_table};
pub use table::{Column, Table, Values};
