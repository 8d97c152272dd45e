//! Scenario files: reading, errors, and documentation.

mod access_points;
mod aggregation;
mod anomaly;
mod defaults;
mod files;
mod hidden;
mod keys;
mod migrate;
mod mutate;
mod nonsense;
mod queues;
mod radio;
mod schema;
mod shortened;
mod traffic;
mod wrong;
