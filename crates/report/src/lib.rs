//! Output of results: tables for programs, plots, and pages with both.
//!
//! It is a separate crate so that the box does not depend on plotting libraries. Plots are SVG and PNG, tables CSV, JSON and
//! Parquet, pages self-contained HTML. The same results give the same bytes.
//!
//! One file per concern: `chart` the drawing; `run`, `airtime` and `many` the plots of one run and of many; `page` pages;
//! `table` and `parquet` tables; `series` the tables of a run.

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
