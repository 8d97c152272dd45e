//! Studies: jobs, sweeps, policies, stored results, and figures inferred from captures.

mod backlog;
mod captures;
mod job;
mod policies;
mod program;
mod sweep;
