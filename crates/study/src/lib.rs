//! Experiments of many simulated runs: a scenario at many points, each point with several seeds.
//!
//! A [`Plan`] lists the runs. [`run`] makes them on all cores, one thread for a run, and keeps the measures of each in a
//! [`Store`] as soon as it has ended, so that an interrupted experiment resumes: the key of a run is a hash of the scenario's
//! text, its settings, its seed and the program, which determine every byte of its result. Points use the same seeds (common
//! random numbers), so that two points differ by their settings and not by the draws. A wrong setting or a failed run of one
//! point does not affect the others.
//!
//! Several machines share an experiment by [`Part`]s, each of which a process keeps in a file of its own; [`merge`] joins them.
//!
//! [`backlog`] infers the number of backlogged stations from captures.
//!
//! [`calibration`] makes the table from signal to goodput that a channel-aware scheduler uses.
//!
//! Not here: how a run is made (`evenair-sim`), plots and files of tables (`evenair-report`).

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
