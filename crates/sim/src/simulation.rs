//! A run that its caller holds: stepped to any instant, commanded, observed, and ended.
//!
//! The result depends on the scenario, its seed and the commands with their instants, and on nothing else: not on how the run is
//! stepped, observed or interrupted. A command at an instant is the scenario's event at that instant, ahead of whatever else is due
//! then.

use std::ops::ControlFlow;
use std::sync::Arc;

use evenair_manager::Report;
use evenair_results::{PacketRecord, Progress, RunResult};
use evenair_scenario::{Action, AirPlan, Event, Scenario};
use evenair_units::{Instant, Span};
use evenair_workload::Direction;

use crate::observation::Observation;
use crate::watch::Second;
use crate::wlan_record::{WlanSegments, WlanTime};
use crate::world::World;
use crate::{CommandError, SimError, SimOptions, connections, report};

/// Between two checks whether to go on: the maximum number of events, each a few microseconds of CPU time at most, ...
const EVENTS: u32 = 10_000;
/// ... and of virtual time, in which a medium without an event for the world makes some thousand steps.
const LONGEST_STEP: Span = Span::from_millis(100);

/// A run of a scenario in virtual time. It advances only when it is called.
///
/// ```
/// use std::sync::Arc;
///
/// use evenair_scenario::Scenario;
/// use evenair_sim::{SimOptions, Simulation};
/// use evenair_units::Span;
///
/// let text = r#"
///     version = 1
///     name = "stepped"
///     duration = "3 s"
///     radio = { standard = "802.11g" }
///     station = [{ name = "near", rate = "54 Mb/s" }]
///     server = [{ name = "server" }]
///     bulk = [{ name = "bulk", stations = ["near"], server = "server", direction = "down" }]
/// "#;
/// let scenario = Arc::new(Scenario::parse(text, "stepped.toml")?);
/// let mut simulation = Simulation::new(scenario, &SimOptions { has_box: true, ..SimOptions::default() })?;
/// simulation.step_until(Span::from_millis(1_500));
/// simulation.command(r#"do = "insert""#)?;
/// simulation.step_until(Span::from_secs(2));
/// assert!(simulation.observe().flows[0].delivered_bytes > 1_000_000);
/// let result = simulation.result()?;
/// assert_eq!(result.duration_s, 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Simulation {
    world: World,
    /// The last interval has ended, and nothing is due any more.
    is_over: bool,
}

impl Simulation {
    /// A run at its start.
    ///
    /// # Errors
    /// If the scenario or the options ask for something that is not simulated, or a trace cannot be written.
    pub fn new(scenario: Arc<Scenario>, options: &SimOptions) -> Result<Self, SimError> {
        let tcp = match &options.tcp {
            Some(config) => config.clone(),
            None => connections::tcp_config(&scenario.tcp)?,
        };
        let mut world = World::new(scenario, &tcp, options)?;
        if let Some(folder) = &options.trace {
            world.trace_into(folder)?;
        }
        if options.record_packets {
            world.record_packets();
        }
        Ok(Self { world, is_over: false })
    }

    /// Runs until `at`, relative to the start of the run: processes everything that is due before `at`, and nothing that is due
    /// at it. Does nothing if `at` is past; the run ends at the scenario's duration.
    pub fn step_until(&mut self, at: Span) {
        // Never breaks.
        let _ = self.step_while(at, |_| ControlFlow::Continue(()));
    }

    /// As [`Simulation::step_until`], while `go_on` continues. It gets the progress at the end of each interval, and `None`
    /// in between, several times in a tenth of a second of wall-clock time. After a break the run is between two events, and
    /// can be stepped further.
    pub fn step_while(
        &mut self,
        at: Span,
        mut go_on: impl FnMut(Option<&Progress>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let at = (Instant::ZERO + at).min(self.end());
        while !self.is_over {
            let stop = at.min(self.world.next_tick()).min(self.world.now + LONGEST_STEP);
            if !self.world.run_before(stop, EVENTS) {
                go_on(None)?;
                continue;
            }
            self.world.come_to(stop.max(self.world.now));
            let ends_interval = stop == self.world.next_tick();
            if ends_interval {
                self.world.end_interval();
            }
            self.is_over = stop == self.end();
            go_on(ends_interval.then(|| self.progress()))?;
            if stop >= at {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    /// Performs now what the scenario's `[[event]]` with these keys would do: TOML such as `do = "leave"` and `stations = ["near"]`,
    /// one key per line, without `at`.
    ///
    /// # Errors
    /// If the event would be wrong in the scenario's file, the run is over or has no box to command ([`SimOptions::has_box`]), or
    /// a station would roam out of the hearing of another one, which the medium must know at the start. A refused command changes
    /// nothing.
    pub fn command(&mut self, text: &str) -> Result<(), CommandError> {
        if self.is_over {
            return Err(CommandError::Over);
        }
        let events = self.world.scenario.command(self.now(), self.world.next_event, text)?;
        let is_of_box = |event: &Event| matches!(event.action, Action::Insert | Action::Bypass);
        if self.world.middlebox.is_none() && events.iter().any(is_of_box) {
            return Err(CommandError::NoBox);
        }
        self.refuse_hiding(&events)?;
        self.world.obey(events);
        Ok(())
    }

    /// Refuses a roam that would hide nodes from each other on a medium built without hidden nodes.
    fn refuse_hiding(&self, events: &[Event]) -> Result<(), CommandError> {
        if !events.iter().any(|event| matches!(event.action, Action::Roam { .. })) {
            return Ok(());
        }
        let scenario = &*self.world.scenario;
        let mut then = scenario.clone();
        then.events.extend_from_slice(events);
        let hidden = |scenario: &Scenario| AirPlan::all(scenario).iter().map(AirPlan::has_hidden).collect::<Vec<_>>();
        if hidden(scenario) == hidden(&then) { Ok(()) } else { Err(CommandError::Hidden) }
    }

    /// The state now.
    pub fn observe(&self) -> Observation {
        Observation::of(&self.world)
    }

    /// Time since the start of the run.
    pub fn now(&self) -> Span {
        self.world.now.saturating_since(Instant::ZERO)
    }

    /// Whether the run has come to the end of the scenario's duration.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The state at the end of the last completed interval.
    pub fn progress(&self) -> &Progress {
        self.world.meter.progress()
    }

    /// The scenario, with the commands so far among its events.
    pub fn scenario(&self) -> &Scenario {
        &self.world.scenario
    }

    /// The seconds of the box since the last call, if it is watched ([`SimOptions::watching`]).
    pub(crate) fn take_seconds(&mut self) -> Vec<Second> {
        self.world.watch.as_mut().map(|watch| watch.take_seconds()).unwrap_or_default()
    }

    /// The packets on the WLAN that were delivered or lost since the last call, if they are recorded ([`SimOptions::record_packets`]).
    pub(crate) fn take_packets(&mut self) -> Vec<PacketRecord> {
        self.world.take_packets()
    }

    /// The present report of the box's manager, if the run has a box.
    pub fn box_report(&self) -> Option<Report> {
        self.world.middlebox.as_ref().map(|middlebox| middlebox.report(self.world.now))
    }

    /// The TCP packets that stations have acknowledged so far, if they are recorded ([`SimOptions::record_wlan`]).
    pub fn wlan_times(&self) -> &[WlanTime] {
        self.world.wlan_record.as_ref().map_or(&[], |record| record.times())
    }

    /// TCP DATA between the box and an application's station so far, if they are recorded ([`SimOptions::record_wlan`]).
    ///
    /// # Panics
    /// If the scenario has no application of this number.
    pub fn wlan_segments(&self, app: usize, way: Direction) -> WlanSegments {
        self.world.wlan_record.as_ref().map_or(WlanSegments::default(), |record| record.segments(app, way))
    }

    /// Runs to the end, and gives the result.
    ///
    /// # Errors
    /// If a trace cannot be written.
    pub fn result(mut self) -> Result<RunResult, SimError> {
        self.step_until(self.world.scenario.duration);
        self.world.cut_transfers();
        self.world.check_conservation();
        self.world.finish_trace()?;
        Ok(report::report(self.world))
    }

    fn end(&self) -> Instant {
        Instant::ZERO + self.world.scenario.duration
    }
}
