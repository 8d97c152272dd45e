//! Experiments of many simulated runs: a scenario at many points, each point with several seeds.
//!
//! A [`Plan`] says which runs there are. [`run`] makes them on all cores, one thread for a run, and keeps the measures
//! of each in a [`Store`] as soon as it has ended, so that an experiment that was interrupted goes on where it was: a
//! run is known by the scenario's text, its settings, its seed and the program that made it, since these decide every
//! byte of its result. Points use the same seeds (common random numbers), so that the difference of two points is that
//! of the settings and not of the draws. What becomes of a point (a wrong setting, a run that fails) does not touch the
//! others.
//!
//! Several machines share an experiment by [`Part`]s, each of which a process keeps in a file of its own; [`merge`] joins them.
//!
//! Beside runs it judges captures: [`backlog`] infers from them how many stations had something to send.
//!
//! And it makes the table from signal to goodput that a channel-aware scheduler works by: [`calibration`].
//!
//! Not here: how a run is made (`evenair-sim`), what is drawn of it and how tables are written (`evenair-report`).

mod again;
pub mod backlog;
pub mod calibration;
mod cell;
mod cite;
mod compare;
mod curves;
mod document;
mod folder;
mod job;
mod kept;
mod lock;
mod made;
mod merge;
mod packed;
mod pairs;
mod part;
mod plan;
mod question;
mod rank;
mod series;
mod store;
mod sweep;
mod tidy;
mod until;
mod variants;
mod workers;

pub use again::{RunDifference, first_difference};
pub use cite::{Citation, CitedSeeds};
pub use compare::{Comparison, against_first, compare, comparison_table};
pub use curves::{is_measure, near_measure};
pub use document::document;
pub use folder::{FolderError, claim, description, of_folder, open_folder, sweep_description};
pub use job::{Job, run_job};
pub use kept::{kept_experiment, kept_plan};
pub use lock::{Lock, LockError};
pub use made::Made;
pub use merge::{Conflict, LinePlace, MergeError, Merged, merge};
pub use packed::{PackedSeries, RunSeries};
pub use pairs::{Pairs, PairsError};
pub use part::{Part, RUNS, ended_keys, record_files};
pub use plan::{Experiment, Plan, PlanError, PlannedRun, Point, Source, program};
pub use question::Question;
pub use rank::{Constraint, Criterion};
pub use series::series_rows;
pub use store::{Record, Store, StoreError};
pub use sweep::{PointResult, SweepResult, key_column};
pub use tidy::{failed_rows, point_rows, run_rows};
pub use until::Until;
pub use variants::{Variant, variants_description};
pub use workers::{Status, run, run_some};
