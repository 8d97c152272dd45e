//! The packet path at work: a thread that waits for packets, deadlines, requests and signals, and advances the [`Engine`]; or one
//! thread for each shard (see [`crate::shards`]).
//!
//! It sleeps until the next event. While the box carries the traffic it wakes up every few milliseconds to renew the
//! fail-open lease; while the bridge does, only for requests.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::{Result, anyhow};
use evenair_api::ModeCommand;
use evenair_api::history::Author;
use evenair_boxfile::{BoxConfig, Plan};
use evenair_config::RateSpec;
use evenair_manager::{Command, Config, Mode, Observation};
use evenair_packet::MacAddr;
use evenair_sys::rt::{self, Epoll, Waker};
use evenair_units::{Instant, Span};
use evenair_wifi::{Phy, Standard};
use tracing::{info, warn};

use crate::awaited::PortLost;
use crate::control::{Answer, ControlHandle, ControlRequest, HostSettings, QueuedRequest};
use crate::engine::Engine;
use crate::events::EventSink;
use crate::fail_open::FailOpen;
use crate::management::ManagementPlane;
use crate::other_programs::Ports;
use crate::port::Port;
use crate::real_time::RealTimeGuard;
use crate::service::ServiceManager;
use crate::shards::Coordinator;
use crate::slices::Slices;
use crate::snapshot::Snapshot;
use crate::switchover::DataPath;
use crate::telemetry::Telemetry;

const RINGS: u64 = 0;
const COMMANDS: u64 = 1;
const SIGNALS: u64 = 2;

/// Rounds in a row, as long as each finds packets, before commands and signals are checked: a round is cheaper than asking the kernel for
/// events. Together they take a few milliseconds at most.
const ROUNDS: usize = 16;

/// Result of a series of rounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Nothing,
    /// Packets, and the ports are empty now.
    All,
    /// Packets in each round, and there may be more.
    More,
}

/// Time beyond the manager's drain limit after which the end is forced.
const END_MARGIN: Span = Span::from_secs(2);

/// The packet path of a box: its ports are open, and the bridge carries the traffic until [`Self::run`].
pub struct PacketPath {
    engines: Vec<Engine>,
    plan: Plan,
    control: ControlHandle,
    requests: Requests,
    /// Real-time guard of the only loop, which runs on the thread that opened the ports.
    real_time: Option<RealTimeGuard>,
}

/// The receiving end of a packet path's control handles.
pub(crate) struct Requests {
    pub(crate) inbox: mpsc::Receiver<QueuedRequest>,
    /// Woken when there is a request.
    pub(crate) waker: Arc<Waker>,
}

/// Environment of a packet path beside its configuration.
pub struct Surroundings {
    /// Gets a byte for each signal to end.
    pub signals: UnixStream,
    /// Sink of events.
    pub events: Option<EventSink>,
    /// Receives new settings, and aliases reported by telemetry.
    pub management: Arc<dyn ManagementPlane>,
    /// Whether the path ends with [`PortLost`] when a port or the bridge was replaced.
    pub reopens: bool,
}

impl PacketPath {
    /// Opens the ports. [`Self::run`] must be called on this thread.
    ///
    /// # Errors
    /// A missing interface or privilege, or a configuration that shards do not support.
    pub fn open(config: &BoxConfig) -> Result<Self> {
        let plan = config.plan().map_err(|(what, right)| anyhow!("[shards] count: {what}; right would be: {right}"))?;
        let (sender, inbox) = mpsc::channel();
        let waker = Arc::new(Waker::new()?);
        // The coordinator of several shards is no packet loop.
        let real_time = (plan.shards() == 1).then(|| RealTimeGuard::ask(now()));
        let engines = Engine::open_all(config, &plan, now())?;
        let control = ControlHandle::new(sender, Arc::clone(&waker));
        Ok(Self { engines, plan, control, requests: Requests { inbox, waker }, real_time })
    }

    /// The control handle.
    pub fn control(&self) -> &ControlHandle {
        &self.control
    }

    /// Whether the bridge can carry the traffic.
    pub fn fail_open(&self) -> &Arc<FailOpen> {
        self.engines[0].fail_open()
    }

    /// Carries and manages the traffic, at first in the mode of `config`, until a signal or a request ends it; returns the final state.
    ///
    /// # Errors
    /// A refused system call, no room for a thread, an interface that has gone ([`PortLost`]).
    pub fn run(self, config: &BoxConfig, surroundings: Surroundings) -> Result<Snapshot> {
        let Self { mut engines, plan, control, requests, real_time } = self;
        let Surroundings { signals, events, management, reopens } = surroundings;
        let fail_open = Arc::clone(engines[0].fail_open());
        engines.iter_mut().for_each(|engine| engine.keep_events(events.clone()));
        let telemetry = Telemetry::start(config.telemetry.clone(), control.clone(), Arc::clone(&management));
        let ports = Ports::new(engines[0].ports().map(Port::interface), engines[0].locks().cloned());
        let watching = fail_open.watch(events.clone(), reopens.then_some(control), ports)?;
        let host = Host { telemetry, management, signals, service: None, fail_open, events };
        info!("between {} (WLAN) and {} (wired side)", config.wlan, config.wire);
        let end = match (real_time, engines.len()) {
            (Some(real_time), 1) => {
                Live::new(engines.remove(0), config.clone(), Some((host, real_time)), requests).work()
            }
            _ => Coordinator::start(engines, config, plan, host, requests).and_then(Coordinator::work),
        };
        drop(watching);
        end
    }
}

pub(crate) fn now() -> Instant {
    Instant::from_nanos(rt::monotonic_ns())
}

/// What a box has once, for all loops.
pub(crate) struct Host {
    pub(crate) telemetry: Telemetry,
    management: Arc<dyn ManagementPlane>,
    pub(crate) signals: UnixStream,
    /// `None` until the box is ready.
    service: Option<ServiceManager>,
    fail_open: Arc<FailOpen>,
    events: Option<EventSink>,
}

impl Host {
    /// Completes a loop's snapshot with what only the host knows.
    pub(crate) fn complete(&self, snapshot: Snapshot) -> Snapshot {
        Snapshot { telemetry: self.telemetry.health(), ..snapshot }
    }

    /// Applies the settings of a reload outside of the manager.
    pub(crate) fn take(&mut self, settings: HostSettings) {
        self.management.reconfigure(settings.names, settings.health);
        self.telemetry.change(settings.telemetry);
        info!("a new configuration is in force");
    }

    /// Notifies systemd that the box is ready.
    pub(crate) fn ready(&mut self, now: Instant) {
        self.service = Some(ServiceManager::ready(now));
    }

    /// Sends systemd the heartbeat, when it is due, and the status.
    pub(crate) fn tend(&mut self, now: Instant, mode: evenair_api::Mode) {
        self.service.iter_mut().for_each(|service| service.tend(now, mode.word()));
    }

    /// Latest time of the next call of [`Self::tend`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.service.as_ref().and_then(ServiceManager::deadline)
    }

    /// Reads pending signals. Returns whether there were any.
    pub(crate) fn signalled(&mut self) -> bool {
        let mut byte = [0; 16];
        let mut came = false;
        while let Ok(1..) = std::io::Read::read(&mut self.signals, &mut byte) {
            came = true;
        }
        if came {
            info!("asked to end by a signal");
            self.events.iter().for_each(|events| events.begin(ModeCommand::Bypass, Author::Signal));
            self.fail_open.warn_of_end();
        }
        came
    }
}

/// One packet loop.
pub(crate) struct Live {
    engine: Engine,
    config: BoxConfig,
    /// Set in the only loop.
    host: Option<Host>,
    real_time: Option<RealTimeGuard>,
    inbox: mpsc::Receiver<QueuedRequest>,
    waker: Arc<Waker>,
    /// Clients that wait for the bridge to take over.
    waiting: Vec<mpsc::Sender<Answer>>,
    /// Since when the box has been ending.
    ending: Option<Instant>,
    /// The client that requested the end.
    last: Option<mpsc::Sender<Answer>>,
}

impl Live {
    /// A loop; `alone`: the only one of its box, on the thread that has requested real-time priority already.
    pub(crate) fn new(
        engine: Engine,
        config: BoxConfig,
        alone: Option<(Host, RealTimeGuard)>,
        requests: Requests,
    ) -> Self {
        let Requests { inbox, waker } = requests;
        let (host, real_time) = alone.unzip();
        let (waiting, ending, last) = (Vec::new(), None, None);
        Self { engine, config, host, real_time, inbox, waker, waiting, ending, last }
    }

    /// Runs the loop to its end; returns the final state.
    ///
    /// # Errors
    /// A refused system call, an interface that has gone.
    pub(crate) fn work(mut self) -> Result<Snapshot> {
        let mut epoll = Epoll::new(8)?;
        for port in self.engine.ports() {
            for inlet in port.inlets() {
                epoll.add(inlet, RINGS)?;
            }
        }
        epoll.add(&*self.waker, COMMANDS)?;
        if let Some(host) = &self.host {
            epoll.add(&host.signals, SIGNALS)?;
        }
        let mut slices = Slices::start()?;
        let mut real_time = self.real_time.take().unwrap_or_else(|| RealTimeGuard::ask(now()));
        if self.config.observing {
            self.engine.observe_traffic(now());
        }
        if self.config.inserted {
            self.engine.command(now(), Command::Insert).map_err(anyhow::Error::msg)?;
        }
        self.host.iter_mut().for_each(|host| host.ready(now()));
        let mut pressed = false;
        loop {
            let time = now();
            real_time.tend(time);
            let mode = self.mode();
            self.host.iter_mut().for_each(|host| host.tend(time, mode));
            let service = self.host.as_ref().and_then(Host::deadline);
            let next = [self.engine.deadline(time), service, slices.deadline()].into_iter().flatten().min();
            let timeout = match next {
                _ if pressed => Some(Duration::ZERO),
                next => next.map(|at| Duration::from_nanos(at.saturating_since(time).as_nanos())),
            };
            let ready = epoll.wait(timeout)?.fold(0u64, |set, token| set | 1 << token);
            if ready & 1 << COMMANDS != 0 {
                self.waker.clear();
                self.obey(&mut slices);
                if let Some(why) = self.engine.fail_open().is_replaced() {
                    return Err(self.lost(why));
                }
            }
            if ready & 1 << SIGNALS != 0 && self.host.as_mut().is_some_and(Host::signalled) {
                self.end();
            }
            let taken = self.rounds()?;
            pressed = taken == Taken::More;
            if ready & 1 << RINGS != 0 && taken == Taken::Nothing {
                self.engine.check_ports().map_err(|error| self.lost(error.to_string()))?;
            }
            slices.advance(&mut self.engine, |totals| completed(self.host.as_ref(), totals))?;
            if self.answer_waiting()? {
                return self.finish(slices);
            }
        }
    }

    /// Rounds as long as packets arrive, at most [`ROUNDS`].
    fn rounds(&mut self) -> Result<Taken> {
        let mut taken = Taken::Nothing;
        for _ in 0..ROUNDS {
            if self.engine.round(now())? == 0 {
                return Ok(taken);
            }
            taken = Taken::All;
        }
        Ok(Taken::More)
    }

    fn lost(&self, why: String) -> anyhow::Error {
        PortLost { why, mode: self.mode() }.into()
    }

    /// The mode of the box.
    fn mode(&self) -> evenair_api::Mode {
        if self.engine.is_observing() { evenair_api::Mode::Observing } else { evenair_view::mode(self.engine.mode()) }
    }

    fn end(&mut self) {
        if self.ending.is_none() {
            let time = now();
            self.ending = Some(time);
            // Cannot be refused.
            let _ = self.engine.command(time, Command::Bypass);
        }
    }

    /// Replies to clients that wait for the bridge, once it carries the traffic. Returns whether the box has to end now.
    fn answer_waiting(&mut self) -> Result<bool> {
        if self.engine.mode() == Mode::Inserted {
            for reply in self.waiting.drain(..) {
                let _ = reply.send(Answer::Refused("the box was inserted again before it was bypassed".into()));
            }
        }
        if self.engine.data_path() == DataPath::Bridge {
            for reply in self.waiting.drain(..) {
                let _ = reply.send(Answer::Done);
            }
            return Ok(self.ending.is_some());
        }
        let Some(since) = self.ending else { return Ok(false) };
        let overdue = now() > since + self.config.manager.drain_limit + END_MARGIN;
        if overdue {
            warn!("the end is overdue: packets that could not be sent are lost");
        }
        Ok(overdue)
    }

    fn finish(mut self, slices: Slices) -> Result<Snapshot> {
        self.engine.finish_recording();
        let snapshot = slices.finish(&mut self.engine, |totals| completed(self.host.as_ref(), totals))?;
        if let Some(reply) = self.last.take() {
            let _ = reply.send(Answer::Status(Box::new(snapshot.clone())));
        }
        Ok(snapshot)
    }

    fn obey(&mut self, slices: &mut Slices) {
        while let Ok(QueuedRequest { request, reply }) = self.inbox.try_recv() {
            let answer = match request {
                _ if self.ending.is_some() => Answer::Refused("the box is ending".into()),
                ControlRequest::Insert => done(self.engine.command(now(), Command::Insert)),
                ControlRequest::Bypass => {
                    // Cannot be refused; the reply is sent once it is done.
                    let _ = self.engine.command(now(), Command::Bypass);
                    self.waiting.push(reply);
                    continue;
                }
                ControlRequest::Observe => {
                    self.engine.observe_traffic(now());
                    self.waiting.push(reply);
                    continue;
                }
                ControlRequest::Nothing => Answer::Done,
                ControlRequest::Mode => Answer::Mode(self.mode()),
                ControlRequest::Shutdown => {
                    self.last = Some(reply);
                    self.end();
                    continue;
                }
                ControlRequest::Status => {
                    slices.ask(reply);
                    continue;
                }
                ControlRequest::SetRate(mac, rate) => done(self.observe(mac, rate)),
                ControlRequest::Losses(access_point, total) => {
                    done(self.engine.observe(now(), Observation::AccessPointLosses { access_point, total }))
                }
                ControlRequest::Membership(observation) => done(self.engine.observe(now(), observation)),
                ControlRequest::Observations(observations) => {
                    observations.into_iter().for_each(|observation| _ = self.engine.observe(now(), observation));
                    Answer::Done
                }
                ControlRequest::Reconfigure(config, settings) => done(self.reconfigure(*config, settings)),
            };
            // A disconnected client needs no reply.
            let _ = reply.send(answer);
        }
    }

    fn observe(&mut self, mac: MacAddr, rate: Option<RateSpec>) -> Result<(), String> {
        let Some(said) = rate else { return self.engine.observe(now(), Observation::StationGone { mac }) };
        let phys = self.config.manager.phys();
        let Some(rate) = said.in_any(&phys) else {
            let standards: Vec<_> = phys.iter().map(Phy::standard).collect();
            return Err(not_of(&standards, said));
        };
        self.engine.observe(now(), Observation::StationRate { mac, rate })
    }

    fn reconfigure(&mut self, config: Config, settings: HostSettings) -> Result<(), String> {
        self.engine.command(now(), Command::Reconfigure(config.clone().into()))?;
        self.config.manager = config;
        if let Some(host) = &mut self.host {
            host.take(settings);
        }
        Ok(())
    }
}

/// Completes a snapshot with the host's part, if this is the only loop.
fn completed(host: Option<&Host>, totals: Snapshot) -> Snapshot {
    match host {
        Some(host) => host.complete(totals),
        None => totals,
    }
}

/// Why a rate is refused.
fn not_of(standards: &[Standard], said: RateSpec) -> String {
    let rates = |standard: &Standard| {
        let rates: Vec<_> = standard.rates().iter().map(ToString::to_string).collect();
        format!("{standard} has {}", rates.join(", "))
    };
    match said {
        RateSpec::BitRate(rate) => {
            let rates: Vec<_> = standards.iter().map(rates).collect();
            format!("rate_mbps: {}, not {}", rates.join("; "), rate.as_mbps_f64())
        }
        RateSpec::Mode(mode) => {
            let names: Vec<_> = standards.iter().map(ToString::to_string).collect();
            format!("mode: {mode} is not a mode of {} in its band", names.join(" or "))
        }
    }
}

fn done(result: Result<(), String>) -> Answer {
    match result {
        Ok(()) => Answer::Done,
        Err(why) => Answer::Refused(why),
    }
}
