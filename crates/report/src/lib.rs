//! Output of results: plots, pages with them, and tables as Parquet.
//!
//! It is a separate crate so that the box and studies do not depend on plotting libraries. Plots are SVG and PNG, pages
//! self-contained HTML. The same results give the same bytes.
//!
//! One file per concern: `chart` the drawing; `run`, `airtime` and `many` the plots of one run and of many; `page` pages;
//! `parquet` tables as files; `packets` the packets of a run; `series` the table of a run; `folder` the folder of its results.

mod airtime;
mod chart;
mod folder;
mod many;
mod packets;
mod page;
mod parquet;
mod run;
mod series;

pub use chart::{Picture, Screen, Shade};
pub use folder::{new_directory, write_file, write_pictures, write_run, write_table};
pub use many::{Difference, differences, draw_curves};
pub use packets::PacketWriter;
pub use page::{Page, run_page};
pub use parquet::{to_compressed_parquet, to_parquet};
pub use run::run_pictures;
pub use series::measures_table;
