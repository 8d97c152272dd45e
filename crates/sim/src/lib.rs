//! The discrete-event simulator: hosts, applications, wires and air of a scenario in virtual time.
//!
//! The network itself is in crates that the testbed and the box use too: the medium (`evenair-medium`), the wired links
//! (`evenair-link`), the inline manager (`evenair-manager`). Here are the hosts: a [`tcp`] endpoint and applications, the order
//! of events, and the counting. The results have the format and definitions of the testbed's, so that both can run one scenario
//! file and be compared.
//!
//! A run depends only on the scenario (including its seed) and the version: the results are identical byte for byte on any
//! machine. Each component has its own named random stream, so that an additional station does not change the draws of another.
//! Memory grows with the packets in flight and the number of reported intervals, not with the packets sent, the transfers made
//! or the pages loaded: these are counted in histograms, and the first of them are listed (`tests/memory`).
//!
//! One file per concern: `simulation` a run that its caller holds, and `observation` its state; `world` the event loop and
//! the hops of a packet; `event_queue` the event queue and `events` the scenario's events; `packet` the packets; `domain`
//! and `domains` (one contention domain, and all), `paths`, `wire` and `middlebox` the path; `connections`, `apps`, `call`,
//! `flows` and `web` the hosts; `meter`, `medium_counters`, `bss`, `occupancy`, `categories`, `site_counters`, `run_log`
//! and `report` the results, of which `records`, `senders`, `rows` and `flow_rows` keep the counters. `trace` writes pcap
//! files, `packet_log` records the packets on the WLAN, `watch` observes the box and raises its reasons of health, and
//! `wlan_record` is what its latencies are compared with.
//!
//! Not here: ARP and neighbour discovery, association frames, ECN, auto-tuned receive buffers, traffic between stations.
//!
//! ```
//! use evenair_scenario::Scenario;
//!
//! let text = r#"
//!     version = 1
//!     name = "two-downloads"
//!     duration = "3 s"
//!     radio = { standard = "802.11g" }
//!     station = [{ name = "near", rate = "54 Mb/s" }, { name = "far", rate = "6 Mb/s" }]
//!     server = [{ name = "server" }]
//!     bulk = [{ name = "bulk", stations = ["near", "far"], server = "server", direction = "down" }]
//!     phase = [{ name = "all", from = "1 s", to = "3 s" }]
//! "#;
//! let scenario = Scenario::parse(text, "two-downloads.toml")?;
//! let result = evenair_sim::run(&scenario, |_progress| {})?;
//! // The far station drags both to its rate.
//! assert!(result.phases[0].total_ip_mbps < 12.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apps;
mod backlogged;
mod bss;
mod call;
mod categories;
mod connections;
mod domain;
mod domains;
mod error;
mod event_queue;
mod events;
mod flow_rows;
mod flows;
mod medium_counters;
mod meter;
mod middlebox;
mod observation;
mod occupancy;
mod packet;
mod packet_log;
mod paths;
mod prefetch;
mod probes;
mod records;
mod report;
mod rows;
mod run_log;
mod senders;
mod simulation;
mod site_counters;
pub mod tcp;
mod trace;
mod watch;
mod web;
mod wire;
mod wlan_record;
mod world;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use evenair_results::{PacketRecord, Progress, RunResult};
use evenair_scenario::Scenario;
use evenair_units::Span;

pub use error::{CommandError, SimError};
pub use evenair_manager::{Mechanism, Without};
pub use observation::{FlowState, Observation, StationState};
pub use simulation::Simulation;
pub use watch::{LossyRing, Second, Watching};
pub use wlan_record::{WlanSegments, WlanTime};

/// Options of a run beside its scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimOptions {
    /// Settings of every host's TCP in place of those that the scenario's `[tcp]` gives, for comparisons with other
    /// stacks. An application's own congestion control still counts.
    pub tcp: Option<tcp::Config>,
    /// Where to write what crosses the air and the wire, as pcap files; nothing is written where absent.
    pub trace: Option<PathBuf>,
    /// How many transfers, web pages and notes are listed individually, of each kind; [`LISTED`](evenair_results::LISTED) if
    /// absent. All are counted.
    pub listed: Option<usize>,
    /// The run has a box, bypassed at first, though no event of the scenario inserts it: for [`Simulation::command`].
    pub has_box: bool,
    /// How the box is observed each second ([`run_watched`]); the run has a box then, inserted or not.
    pub watching: Option<Watching>,
    /// Records each TCP packet between the box and a station ([`Simulation::wlan_times`]), in memory that grows with their number.
    pub record_wlan: bool,
    /// Records each packet on the WLAN, in memory until the records are taken: for [`run_recorded`].
    pub record_packets: bool,
    /// Mechanisms of the box's controller that are left out, to see what they are good for.
    pub without: Without,
}

/// Everything in the scenario that cannot be simulated.
pub fn refusals(scenario: &Scenario) -> Vec<SimError> {
    let mut found: Vec<_> = connections::tcp_config(&scenario.tcp).err().into_iter().collect();
    let own = scenario.apps.iter().filter_map(|app| app.kind.congestion_control());
    for error in own.filter_map(|name| connections::algorithm(name, &scenario.tcp).err()) {
        if !found.contains(&error) {
            found.push(error);
        }
    }
    found
}

/// Runs a scenario to its end; `progress` is called at the end of each interval.
///
/// # Errors
/// If the scenario asks for something that is not simulated.
pub fn run(scenario: &Scenario, mut progress: impl FnMut(&Progress)) -> Result<RunResult, SimError> {
    run_with(scenario, &SimOptions::default(), |now| {
        now.into_iter().for_each(&mut progress);
        ControlFlow::Continue(())
    })
}

/// [`run`], with options. `progress` gets the progress at the end of each interval, and `None` in between, several times in a
/// tenth of a second of wall-clock time; a break stops the run.
///
/// # Errors
/// If the scenario or the options ask for something that is not simulated, or a trace cannot be written;
/// [`SimError::Stopped`] after a break.
pub fn run_with(
    scenario: &Scenario,
    options: &SimOptions,
    progress: impl FnMut(Option<&Progress>) -> ControlFlow<()>,
) -> Result<RunResult, SimError> {
    let mut simulation = Simulation::new(Arc::new(scenario.clone()), options)?;
    if simulation.step_while(scenario.duration, progress).is_break() {
        return Err(SimError::Stopped);
    }
    simulation.result()
}

/// Virtual time between two hand-overs of recorded packets: fewer than 10,000 packets of 1,500 bytes at 10 Gb/s.
const HANDED_OVER: Span = Span::from_millis(10);

/// [`run_with`] with a record of each packet on the WLAN, in the order of their completion. `packets` gets the records in batches, all
/// before the end of the run, and may break to stop it. The result is that of [`run_with`].
///
/// # Errors
/// As [`run_with`].
pub fn run_recorded(
    scenario: &Scenario,
    options: &SimOptions,
    mut packets: impl FnMut(Vec<PacketRecord>) -> ControlFlow<()>,
    mut progress: impl FnMut(Option<&Progress>) -> ControlFlow<()>,
) -> Result<RunResult, SimError> {
    let options = SimOptions { record_packets: true, ..options.clone() };
    let mut simulation = Simulation::new(Arc::new(scenario.clone()), &options)?;
    while !simulation.is_over() {
        let goes_on = simulation.step_while(simulation.now() + HANDED_OVER, &mut progress);
        if packets(simulation.take_packets()).is_break() || goes_on.is_break() {
            return Err(SimError::Stopped);
        }
    }
    simulation.result()
}

/// Runs a scenario to its end and observes the box; `second` gets each second, in order.
///
/// # Errors
/// As [`run_with`].
pub fn run_watched(
    scenario: &Scenario,
    options: &SimOptions,
    mut second: impl FnMut(Second),
) -> Result<RunResult, SimError> {
    let options = SimOptions { watching: options.watching.or(Some(Watching::default())), ..options.clone() };
    let mut simulation = Simulation::new(Arc::new(scenario.clone()), &options)?;
    while !simulation.is_over() {
        simulation.step_until(simulation.now() + scenario.measure.interval);
        simulation.take_seconds().into_iter().for_each(&mut second);
    }
    simulation.result()
}
