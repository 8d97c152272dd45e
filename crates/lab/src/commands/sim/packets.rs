//! `evenair sim run --packets`: the packets of a run as a table.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use evenair_report::PacketWriter;
use evenair_results::{Progress, RunResult};
use evenair_scenario::Scenario;
use evenair_sim::{SimError, SimOptions};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::output::VERSION;

/// Runs a scenario and writes its packets to `file`, which is complete even if an error or a signal ends the run early.
///
/// # Errors
/// The file cannot be written (a wrong path fails before the run); errors of [`evenair_sim::run_with`]; a signal.
pub fn run(
    scenario: &Scenario,
    options: &SimOptions,
    file: &Path,
    mut show: impl FnMut(&Progress),
) -> Result<RunResult> {
    let failed = || format!("cannot write the packets to {}", file.display());
    let mut writer = PacketWriter::create(file, scenario, VERSION).with_context(failed)?;
    let interrupted: Arc<AtomicBool> = Arc::default();
    for signal in [SIGINT, SIGTERM] {
        // A second signal ends the process at once.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let mut added = Ok(());
    let add = |packets: Vec<_>| {
        added = writer.add(&packets);
        if added.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let result = evenair_sim::run_recorded(scenario, options, add, |progress| {
        progress.into_iter().for_each(&mut show);
        if interrupted.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    added.with_context(failed)?;
    let rows = writer.finish().with_context(failed)?;
    if matches!(result, Err(SimError::Stopped)) {
        bail!("interrupted: {} has the {rows} packets until then", file.display());
    }
    Ok(result?)
}
