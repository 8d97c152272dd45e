//! The packet path: rings, pool, manager and senders, moved forward one bounded round at a time.
//!
//! A round takes a batch from each ring, calls the manager at its deadline, carries out the decisions and sends. It never waits;
//! [`crate::run`] does the waiting.
//!
//! The box forwards as a repeater: each frame that arrives at one port leaves by the other, for any address, except frames for
//! the bridge itself and for link-local groups that the bridge does not forward ([`port::group_mask`]). The kernel's bridge filters
//! more: it does not forward frames to a station on the side that they came from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use evenair_api::{HoldStatus, PoolStatus, PortStatus};
use evenair_boxfile::{BoxConfig, Plan};
use evenair_manager::{Collection, Command, Event, Manager, Mode, Observation, Output, Part, Report};
use evenair_packet::{MacAddr, PacketMeta, Port as Side};
use evenair_sys::fail_open::{FailOpenGate, PortId};
use evenair_sys::rt;
use evenair_units::{Instant, Span};
use evenair_view::{codec as codec_of, refusal_word, speech as speech_status};
use tracing::{info, warn};

use crate::events::{EventSink, event_of};
use crate::fail_open::{self, FailOpen};
use crate::log_limit::LogLimit;
use crate::offloads::restore_offloads;
use crate::pacing::Pacing;
use crate::pool::{FrameId, Pool, Put};
use crate::port::{self, Port};
use crate::probes;
use crate::recording::Recording;
use crate::shards::Leases;
use crate::slices::Source;
use crate::snapshot::Snapshot;
use crate::switchover::{DataPath, Switchover};
use crate::{clock, other_programs, packet_io};

/// Packets taken from one ring in one round. A round of two such batches takes well below a millisecond.
const BATCH: usize = 64;
/// Packets that may arrive between reading a ring's counters and the gate's, at most: a few milliseconds of them.
const BETWEEN_COUNTS: u64 = 4096;
/// Longest time of a reload: for each station, flow and held packet, and in total. About four times the time on a slow core
/// (`cargo run --release -p evenair-manager --example stations`).
const RECONFIGURE_EACH: Span = Span::from_micros(5);
const RECONFIGURE_LONGEST: Span = Span::from_secs(1);
/// Packets that processors may be handling between the ring and the gate, at most: one each.
const AT_PROCESSORS: u64 = 64;
/// Longest time that a copy of a packet is on its way to a ring.
const COPIES_UNDERWAY: std::time::Duration = std::time::Duration::from_millis(5);
/// Time after which a card has sent what it was given.
const SENT_BY_THEN: Span = Span::from_millis(100);
/// Time after which a frame that the kernel refused for want of room is offered again.
const SEND_AGAIN: Span = Span::from_micros(200);

/// Least time between two deadlines of the manager. A timer for each packet would cost more than the packet where tens of thousands are
/// released per second; releases to a WLAN are further apart, and are not delayed.
const DEADLINES_APART: Span = Span::from_micros(100);

/// The packet path, or one shard's part of it.
pub struct Engine {
    /// Number of the shard.
    shard: usize,
    manager: Manager<FrameId>,
    mode: Mode,
    pool: Pool,
    /// Packets from a ring, until they are handed in; kept to reuse its memory.
    batch: Vec<(FrameId, PacketMeta)>,
    wlan: Port,
    wire: Port,
    /// The ports' identifiers in the gate: WLAN side, wired side.
    held: [PortId; 2],
    switchover: Switchover,
    /// Whether the bridge can carry the traffic.
    fail_open: Arc<FailOpen>,
    /// Whether the last bypass was commanded; otherwise the harm guard has bypassed the box.
    bypass_commanded: bool,
    /// The bridge's address that the gate uses.
    own_address: u64,
    pacing: Pacing,
    recording: Option<Recording>,
    /// Its leases of the Internet link, if there are other shards.
    leases: Option<Leases>,
    /// MAC address from which probes are sent.
    probe_source: MacAddr,
    /// Probes queued for sending.
    probes: u64,
    /// Observation of packets that the bridge carries.
    watch: Watch,
    /// Since when the kernel has had frames to send, as of the last check.
    sending_since: Option<Instant>,
    /// Reason for the packet I/O in use, if it was left to the box, or differs from the configuration.
    io_why: Option<String>,
    /// Why the manager refused its last input.
    refused: Option<String>,
    /// Sink of events.
    history: Option<EventSink>,
    /// Limit of log lines that stations and their calls cause.
    log_limit: LogLimit,
    /// When a deadline of the manager was last met.
    met: Instant,
    started: Instant,
    /// The locks of both ports, which all shards share. The last field, so that the ports are released after all else is closed.
    locks: Option<Arc<other_programs::Locks>>,
}

/// Observation of packets that the bridge carries.
#[derive(Debug, Default)]
struct Watch {
    /// Whether an operator wants it, once the bridge carries the traffic.
    wanted: bool,
    /// Whether the manager's harm guard needs it for its baseline. Not with several shards, whose guards would each bypass alone.
    for_guard: bool,
    on: bool,
    /// Packets that each ring had received at its start: WLAN side, wired side.
    base: [u64; 2],
    /// Copies received by each ring in earlier observations.
    copied: [u64; 2],
    /// Copies that the manager has released.
    done: u64,
}

/// System resources of a shard.
struct ShardIo {
    /// Number of the shard, from zero.
    number: usize,
    /// WLAN side, wired side.
    ports: [Port; 2],
    gate: FailOpenGate,
}

impl Engine {
    /// Opens the ports for each shard and installs their gates, which do not take packets yet.
    ///
    /// # Errors
    /// A missing interface or privilege, and the remedy.
    pub fn open_all(config: &BoxConfig, plan: &Plan, now: Instant) -> Result<Vec<Self>> {
        let (bridge, [wlan, wire]) = port::look_up_all(config)?;
        match &bridge {
            Some(bridge) => port::log_bridge(bridge),
            None => warn!("[ports] bridge is not set: nothing passes while the box is bypassed, hangs or is not there"),
        }
        let fail_open = FailOpen::new(bridge.clone(), [wlan.clone(), wire.clone()]);
        clock::check()?;
        restore_offloads();
        let locks = Arc::new(other_programs::lock([&wlan, &wire])?);
        other_programs::refuse([&config.wlan, &config.wire])?;
        let open = |side, interface| Port::open(side, interface, config.ring_frames);
        let ports = (0..plan.shards()).map(|_| Ok([open(Side::Wlan, &wlan)?, open(Side::Wire, &wire)?]));
        let ports = ports.collect::<Result<Vec<_>>>()?;
        // Last, so that a killed process loses its gate before its rings: descriptors are closed newest first.
        let gates = FailOpenGate::of_shards(bridge, plan.steering())?;
        let shards = ports.into_iter().zip(gates).enumerate();
        let shards = shards
            .map(|(number, (ports, gate))| Self::open(config, plan, ShardIo { number, ports, gate }, &fail_open, now));
        let mut shards = shards.collect::<Result<Vec<_>>>()?;
        if plan.shards() > 1 {
            let leases = Leases::of_shards(plan.shards(), config.manager.pacing_slack, now);
            shards.iter_mut().zip(leases).for_each(|(shard, leases)| shard.leases = Some(leases));
        }
        shards.iter_mut().for_each(|shard| shard.locks = Some(Arc::clone(&locks)));
        for port in shards.iter().flat_map(Self::ports) {
            port.start()?;
        }
        Ok(shards)
    }

    fn open(config: &BoxConfig, plan: &Plan, io: ShardIo, fail_open: &Arc<FailOpen>, now: Instant) -> Result<Self> {
        let ShardIo { number: shard, ports: [mut wlan, mut wire], mut gate } = io;
        let frame_len = wlan.ring().max_frame_len().max(wire.ring().max_frame_len());
        let (pool, io_why) = packet_io::open(config, &gate, [&mut wlan, &mut wire], frame_len)?;
        let held = [wlan.attach(&mut gate)?, wire.attach(&mut gate)?];
        [&mut wlan, &mut wire].into_iter().try_for_each(Port::open_xdp)?;
        let mut manager = plan.config_of(shard, &config.manager);
        let probe_source = probes::source_of(wlan.interface().address);
        probes::set_source(&mut manager, probe_source);
        let record = |path: &PathBuf| Recording::start(&recording_of(path, shard), &manager, now);
        let recording = config.record.as_ref().map(record).transpose()?;
        Ok(Self {
            shard,
            manager: Manager::new(manager, now),
            mode: Mode::Bypassed,
            pool,
            batch: Vec::with_capacity(BATCH),
            wlan,
            wire,
            held,
            switchover: Switchover::new(gate),
            own_address: fail_open.address(),
            fail_open: Arc::clone(fail_open),
            bypass_commanded: false,
            pacing: Pacing::default(),
            recording,
            leases: None,
            probe_source,
            probes: 0,
            watch: Watch { for_guard: plan.shards() == 1, ..Watch::default() },
            sending_since: None,
            io_why,
            refused: None,
            history: None,
            log_limit: LogLimit::new(now),
            met: Instant::ZERO,
            started: now,
            locks: None,
        })
    }

    /// Sends events to this sink from now on.
    pub(crate) fn keep_events(&mut self, history: Option<EventSink>) {
        self.history = history;
    }

    /// The ports, for waiting: WLAN side, wired side.
    pub fn ports(&self) -> [&Port; 2] {
        [&self.wlan, &self.wire]
    }

    /// Whether the bridge can carry the traffic.
    pub(crate) fn fail_open(&self) -> &Arc<FailOpen> {
        &self.fail_open
    }

    /// The locks of the ports.
    pub(crate) fn locks(&self) -> Option<&Arc<other_programs::Locks>> {
        self.locks.as_ref()
    }

    /// The manager's mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Who carries the traffic.
    pub fn data_path(&self) -> DataPath {
        self.switchover.data_path()
    }

    /// Observes packets while the bridge carries them, as soon as it does.
    pub fn observe_traffic(&mut self, now: Instant) {
        // Cannot be refused.
        let _ = self.command(now, Command::Bypass);
        self.watch.wanted = true;
        self.end_watch(now);
        self.begin_watch(now);
    }

    /// Whether packets are observed for an operator while the bridge carries them.
    pub fn is_observing(&self) -> bool {
        self.watch.on && self.watch.wanted
    }

    /// Starts or stops managing, or changes the configuration.
    ///
    /// # Errors
    /// The manager's reason for a refusal.
    pub fn command(&mut self, now: Instant, mut command: Command) -> Result<(), String> {
        let insert = command == Command::Insert;
        if insert || command == Command::Bypass {
            self.watch.wanted = false;
            self.bypass_commanded = !insert;
        }
        if insert {
            self.end_watch(now);
        }
        if let Command::Reconfigure(config) = &mut command {
            probes::set_source(config, self.probe_source);
        }
        if let Some(recording) = &mut self.recording {
            recording.command(now, &command);
        }
        if matches!(command, Command::Reconfigure(_)) {
            let longest = RECONFIGURE_EACH * self.manager.entries() as u64;
            self.switchover.extend(now, longest.min(RECONFIGURE_LONGEST));
        }
        self.manager.handle_command(now, command);
        self.carry_out(now);
        // A command without effect has no event.
        self.mode = self.manager.mode();
        self.take_over(now);
        self.refused.take().map_or(Ok(()), Err)
    }

    /// Passes a station's report to the manager.
    ///
    /// # Errors
    /// The manager's reason for a refusal.
    pub fn observe(&mut self, now: Instant, observation: Observation) -> Result<(), String> {
        if let Some(recording) = &mut self.recording {
            recording.observation(now, &observation);
        }
        self.manager.handle_observation(now, observation);
        self.carry_out(now);
        self.refused.take().map_or(Ok(()), Err)
    }

    /// One round. Returns the number of packets from the rings.
    ///
    /// # Errors
    /// A refused system call.
    pub fn round(&mut self, now: Instant) -> Result<usize> {
        if self.switchover.has_expired(now) {
            self.outdate();
        }
        let taken = self.take_in(now);
        self.end_watch_in_time(now);
        if let Some((deadline, _)) = self.manager.poll_deadline()
            && let Some(late) = now.checked_since(deadline)
        {
            self.pacing.add(late);
            if let Some(recording) = &mut self.recording {
                recording.timeout(now);
            }
            self.manager.handle_timeout(now);
            self.met = now;
        }
        self.share_link(now);
        self.carry_out(now);
        self.flush();
        self.hand_over(now)?;
        Ok(taken)
    }

    /// Sends queued frames.
    fn flush(&mut self) {
        let (mut wlan, mut wire) = (true, true);
        while wlan || wire {
            // The process may have been stopped in between. Without frames to send the clock is not read.
            let is_queued = self.wlan.queued() + self.wire.queued() > 0;
            if is_queued && self.switchover.has_expired(crate::run::now()) {
                self.outdate();
            }
            if wlan {
                wlan = self.wlan.flush(&mut self.pool);
            } else {
                wire = self.wire.flush(&mut self.pool);
            }
        }
    }

    /// Discards packets that came in before the bridge took over from an expired lease: they would be reordered behind those that the
    /// bridge has forwarded since, or are too late to be of use.
    fn outdate(&mut self) {
        for port in [&mut self.wlan, &mut self.wire] {
            port.discard(&mut self.pool);
        }
        self.pool.outdate();
    }

    /// Updates the leases of the Internet link.
    fn share_link(&mut self, now: Instant) {
        let (recording, manager) = (&mut self.recording, &mut self.manager);
        let Some(leases) = &mut self.leases else { return };
        leases.tend(now, manager, |hop, lease| {
            if let Some(recording) = recording {
                recording.lease(now, hop, lease);
            }
        });
    }

    /// Takes a batch from each ring. Returns the number of packets.
    fn take_in(&mut self, now: Instant) -> usize {
        let mut all = 0;
        let af_xdp = self.switchover.is_clear(now);
        // Copies are not forwarded, and so not dropped.
        let groups = if self.watch.on { [u16::MAX; 2] } else { self.fail_open.groups() };
        for (port, groups) in [&mut self.wlan, &mut self.wire].into_iter().zip(groups) {
            let taken = port.receive(BATCH, af_xdp, &mut self.pool, &mut self.batch);
            self.manager.foresee(self.batch.iter().map(|(_, meta)| meta));
            for (id, meta) in self.batch.drain(..) {
                if port::link_local_group(self.pool.get(&id)).is_some_and(|group| groups >> group & 1 == 0) {
                    port.give_up_link_local(id, &mut self.pool);
                    continue;
                }
                if let Some(recording) = &mut self.recording {
                    recording.packet(now, &id, &meta);
                }
                self.manager.handle_packet(now, id, &meta);
            }
            all += taken;
        }
        all
    }

    /// Ends the observation once nothing needs it, or before the guard inserts the box for a trial.
    fn end_watch_in_time(&mut self, now: Instant) {
        if !self.is_watch_wanted(now) {
            self.end_watch(now);
        }
    }

    fn is_watch_wanted(&self, now: Instant) -> bool {
        let for_guard = self.watch.for_guard && self.manager.wants_copies();
        (self.watch.wanted || for_guard) && !self.manager.is_trial_due(now)
    }

    /// Ends the observation. Waits for copies in flight, so that none is taken for a packet that the box has to send; the bridge carries
    /// the traffic meanwhile.
    fn end_watch(&mut self, now: Instant) {
        if !self.watch.on {
            return;
        }
        self.switchover.gate().watch(false);
        std::thread::sleep(COPIES_UNDERWAY);
        while self.take_in(now) > 0 {
            self.carry_out(now);
        }
        self.watch.copied = self.copied();
        self.watch.on = false;
    }

    /// Begins the observation, if it is wanted and the bridge carries the traffic.
    fn begin_watch(&mut self, now: Instant) {
        if self.watch.on
            || self.mode != Mode::Bypassed
            || self.data_path() != DataPath::Bridge
            || !self.is_watch_wanted(now)
        {
            return;
        }
        self.watch.on = true;
        self.watch.base = self.given();
        self.switchover.gate().watch(true);
        if self.shard == 0 && self.watch.wanted {
            self.fail_open.say_bypassed("observing, nothing is shaped: ");
        }
    }

    /// Packets that each ring has received so far.
    fn given(&mut self) -> [u64; 2] {
        let given = |port: &mut Port| port.ring_counters().map_or(0, |counters| counters.consumed + counters.dropped);
        [given(&mut self.wlan), given(&mut self.wire)]
    }

    /// Copies among these packets.
    fn copied(&mut self) -> [u64; 2] {
        if !self.watch.on {
            return self.watch.copied;
        }
        let (given, Watch { base, copied, .. }) = (self.given(), &self.watch);
        [copied[0] + given[0] - base[0], copied[1] + given[1] - base[1]]
    }

    /// Carries out the manager's decisions.
    fn carry_out(&mut self, now: Instant) {
        while let Some(output) = self.manager.poll_output() {
            if let Some(recording) = &mut self.recording {
                recording.decision(now, &output);
            }
            match output {
                Output::Release { packet, port, .. } if self.pool.is_stale(&packet) => {
                    let out = match port {
                        Side::Wlan => &mut self.wlan,
                        Side::Wire => &mut self.wire,
                    };
                    out.give_up_stale(packet, &mut self.pool);
                }
                Output::Release { packet, .. } if self.watch.on => {
                    self.watch.done += 1;
                    self.pool.free(packet);
                }
                Output::Release { packet, port, edits } => {
                    edits.apply(self.pool.get_mut(&packet));
                    match port {
                        Side::Wlan => self.wlan.queue(packet),
                        Side::Wire => self.wire.queue(packet),
                    }
                }
                Output::Drop { packet, .. } | Output::Consume { packet } => self.pool.free(packet),
                Output::Probe { station, vlan, address } => {
                    let frame = probes::frame(self.probe_source, station, vlan, address);
                    self.send_probe(&frame);
                }
                Output::Event(event) => self.note(now, event),
            }
        }
    }

    /// Queues a probe behind other frames. Without room for it, it is lost, as it may be on the medium.
    fn send_probe(&mut self, frame: &[u8]) {
        let put = self.pool.put(|place| {
            place.get_mut(..frame.len())?.copy_from_slice(frame);
            Some(frame.len())
        });
        if let Put::Stored(id) = put {
            self.probes += 1;
            self.wlan.queue(id);
        }
    }

    fn note(&mut self, now: Instant, event: Event) {
        // Shards change their modes together: the first one logs for all.
        let speaks = self.shard == 0 || !matches!(event, Event::ModeChanged(_));
        if let Some(history) = self.history.as_ref().filter(|_| speaks) {
            history.leave(&event);
        }
        match event {
            Event::ModeChanged(mode) => {
                self.mode = mode;
                if speaks {
                    info!("mode: {}", evenair_view::mode(mode));
                }
            }
            Event::ConfigRefused(error) => self.refused = Some(format!("{error}; the old configuration stays")),
            Event::ObservationRefused(observation) => {
                self.refused = Some(format!("the manager does not take this observation: {observation:?}"));
            }
            Event::DomainsChanged { .. } => {
                info!("{}", event_of(&event).map_or_else(String::new, |event| event.text()))
            }
            Event::RateChanged { .. } => {}
            of_a_station => match self.log_limit.admits(now) {
                Some(0) => self.log(now, of_a_station),
                Some(unlogged) => {
                    warn!("{unlogged} lines about stations and calls were left out of the log: too many at once");
                    self.log(now, of_a_station);
                }
                None => {}
            },
        }
    }

    /// Logs an event caused by a station or a call, within the limit.
    fn log(&self, now: Instant, event: Event) {
        match event {
            Event::StationLearned(mac) => info!("station {mac} seen at {}", now.saturating_since(self.started)),
            Event::StationOverShare { mac, over: true } => {
                warn!("station {mac} takes more than its share of the medium, and cannot be held back");
            }
            Event::StationOverShare { mac, over: false } => info!("station {mac} takes no more than its share again"),
            Event::Guard { .. } => warn!("{}", event_of(&event).map_or_else(String::new, |event| event.text())),
            Event::GroupLimited { group, sender, .. } => warn!(
                "{sender} sends more to the group {group} than groups may take of the medium: some frames are dropped ([manager.group_share])"
            ),
            Event::ReportContradicted { mac, rate } => {
                let rate = rate.map_or("a rate".into(), |rate| format!("{rate} Mb/s"));
                warn!(
                    "station {mac} is reported at {rate}, which the observed traffic contradicts: the report is set aside for a while"
                );
            }
            Event::AddressContested { address, holder, claimant } => {
                warn!("{claimant} claims the address {address}, which {holder} uses: it is not believed");
            }
            Event::CallAdmitted { station, peer, codec } => {
                info!("call of {station} with {peer} ({}): admitted", codec_of(codec));
            }
            Event::CallRefused { station, peer, codec, why } => {
                warn!("call of {station} with {peer} ({}): refused, {}", codec_of(codec), refusal_word(why));
            }
            Event::CallRoamed { station, peer, domain, over: None, .. } => {
                info!("call of {station} with {peer}: roamed to {domain}");
            }
            Event::CallRoamed { station, peer, domain, over: Some(why), .. } => {
                let why = refusal_word(why);
                warn!(
                    "call of {station} with {peer}: roamed to {domain}, where it is one too many ({why}): it goes on"
                );
            }
            Event::CallEnded { station, peer, codec, lasted, speech, .. } => {
                let [down, up] = speech.map(|speech| speech_status(&speech, codec).in_short());
                info!("call of {station} with {peer}: ended after {lasted}; to the station: {down}; from it: {up}");
            }
            Event::ModeChanged(_)
            | Event::ConfigRefused(_)
            | Event::ObservationRefused(_)
            | Event::DomainsChanged { .. }
            | Event::RateChanged { .. } => {}
        }
    }

    /// Whether everything given to the kernel has been sent, or has had time to be. A card may not report what it has sent.
    fn is_sent(&mut self, now: Instant) -> bool {
        if self.wlan.sending() + self.wire.sending() == 0 {
            self.sending_since = None;
            return true;
        }
        now > *self.sending_since.get_or_insert(now) + SENT_BY_THEN
    }

    /// Whether the traffic may be handed to the bridge. A bypass command was checked, or forced, where it was given. If the guard bypasses
    /// and the bridge cannot carry the traffic, packets keep passing through the box.
    fn may_let_go(&self) -> bool {
        self.bypass_commanded || self.fail_open.status().available
    }

    /// Takes the traffic once the box is inserted: by a command, or by the guard for a trial.
    fn take_over(&mut self, now: Instant) {
        if self.mode == Mode::Inserted && self.data_path() != DataPath::Box {
            self.switchover.acquire(now);
            self.fail_open.set_bypassed(false);
        }
    }

    /// Switches the traffic over when it is time.
    fn hand_over(&mut self, now: Instant) -> Result<()> {
        self.take_over(now);
        let empty = self.pool.used() == 0 && self.is_sent(now);
        if self.mode == Mode::Bypassed && empty && self.data_path() == DataPath::Box && self.may_let_go() {
            self.switchover.release();
        }
        let mut drained = empty && matches!(self.data_path(), DataPath::Releasing { .. });
        if drained {
            // Each port is released separately: it does not wait for the other's packets.
            let ports = [&mut self.wlan, &mut self.wire].into_iter().zip(self.held).zip(self.watch.copied);
            for ((port, id), copied) in ports {
                drained &= port.report_sent(self.switchover.gate(), id, copied)?;
            }
        }
        if self.switchover.step(now, drained) {
            self.fail_open.set_bypassed(true);
            if self.shard == 0 {
                self.fail_open.say_bypassed("");
            }
        }
        let address = self.fail_open.address();
        if address != self.own_address {
            self.own_address = address;
            self.switchover.gate().set_own_address(fail_open::address_of(address));
        }
        self.begin_watch(now);
        Ok(())
    }

    /// Latest time of the next round, if no packet comes.
    pub fn deadline(&mut self, now: Instant) -> Option<Instant> {
        let unsent = self.wlan.unsent() + self.wire.unsent() > 0;
        let leaving = self.mode == Mode::Bypassed && self.wlan.sending() + self.wire.sending() > 0;
        let sending = unsent || leaving || self.wlan.queued() + self.wire.queued() > 0;
        let again = sending.then(|| now + SEND_AGAIN);
        let manager = self.manager.poll_deadline().map(|(deadline, _)| deadline.max(self.met + DEADLINES_APART));
        let lease = self.leases.as_ref().and_then(Leases::deadline);
        [manager, again, lease, self.switchover.deadline(now)].into_iter().flatten().min()
    }

    /// Checks a port that was reported ready and had no packet.
    ///
    /// # Errors
    /// Its interface is gone.
    pub fn check_ports(&mut self) -> Result<()> {
        self.wlan.check()?;
        self.wire.check()
    }

    /// Ends the recording, if there is one.
    pub fn finish_recording(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.finish();
        }
    }
}

impl Source for Engine {
    fn collect(&mut self, now: Instant, collection: &mut Collection, most: usize, part: &mut Part) -> bool {
        self.manager.collect(now, collection, most, part)
    }

    fn report(&self, now: Instant) -> Report {
        self.manager.report_totals(now)
    }

    fn state(&mut self, now: Instant, report: Report) -> Result<Snapshot> {
        let copied = self.copied().iter().sum();
        let fail_open = self.fail_open.status();
        let report = Report {
            mode: self.manager.mode(),
            counters: self.manager.counters(),
            guard: self.manager.report_guard(),
            ..report
        };
        Ok(Snapshot {
            observing: self.is_observing(),
            kinds: self.wlan.kinds() + self.wire.kinds(),
            copied: (copied, self.watch.done),
            carrier: match self.data_path() {
                DataPath::Bridge if !fail_open.available => evenair_api::Carrier::Nobody,
                DataPath::Bridge => evenair_api::Carrier::Bridge,
                DataPath::Box => evenair_api::Carrier::Box,
                DataPath::Releasing { .. } => evenair_api::Carrier::Releasing,
            },
            fail_open,
            uptime_s: now.saturating_since(self.started).as_secs_f64(),
            wlan: port_status(&mut self.wlan, self.switchover.gate(), self.held[0], self.io_why.as_ref())?,
            wire: port_status(&mut self.wire, self.switchover.gate(), self.held[1], self.io_why.as_ref())?,
            more_segments: self.wlan.counters().more_segments + self.wire.counters().more_segments,
            underway: match self.data_path() {
                DataPath::Bridge => (0, 0),
                DataPath::Box | DataPath::Releasing { .. } => {
                    (self.wlan.room() + self.wire.room() + BETWEEN_COUNTS, AT_PROCESSORS)
                }
            },
            sending: (self.wlan.queued() + self.wire.queued()) as u64,
            probes: self.probes,
            pool: PoolStatus { used: self.pool.used(), peak: self.pool.peak_used(), size: self.pool.size() },
            hold: HoldStatus { lapses: self.switchover.expiries() },
            pacing: self.pacing.status(),
            recording: self.recording.as_ref().map(Recording::status),
            cpu: Span::from_nanos(rt::thread_cpu_ns()),
            ..Snapshot::new(report, now)
        })
    }
}

/// Recording file of a shard.
fn recording_of(path: &Path, shard: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    if shard > 0 {
        name.push(format!(".{shard}"));
    }
    name.into()
}

fn port_status(port: &mut Port, gate: &FailOpenGate, id: PortId, io_why: Option<&String>) -> Result<PortStatus> {
    let (losses, counters) = (port.losses()?, port.counters());
    // After those counters, so that packets counted there are counted here.
    let taken = port.taken(gate, id);
    let (io, why) = port.io();
    Ok(PortStatus {
        interface: port.name().into(),
        io,
        io_why: io_why.cloned().or(why),
        taken,
        super_packets: counters.super_packets,
        sent: counters.sent,
        sent_bytes: counters.sent_bytes,
        losses,
    })
}
