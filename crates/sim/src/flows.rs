//! Transfers that arrive: arrivals of sized flows, and sources of file after file.
//!
//! A flow has its own connection: the station opens it, the sender sends its bytes and closes, and the flow is complete
//! when its receiver has all bytes. The first application of a group draws the arrivals for all. Flows that are active when
//! their application or the run ends are aborted, and counted as such.

use std::collections::BTreeMap;

use evenair_units::{Bytes, Instant, Span, Streams};
use evenair_workload::{FileSource, FlowArrival, FlowArrivals, FlowSpec, OnOffSpec};

use crate::apps::Kind;
use crate::connections::Ticket;
use crate::event_queue::{Side, Task};
use crate::tcp::{self, CloseReason, State};
use crate::world::World;

/// A transfer in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) began: Instant,
    pub(crate) bytes: Bytes,
    /// Bytes that the receiver does not have yet.
    left: Bytes,
}

/// One station's share of a group of flows.
#[derive(Debug)]
pub(crate) struct Flows {
    limit: usize,
    /// Arrivals of the whole group, kept by its first application.
    arrivals: Option<FlowArrivals>,
    next: Option<FlowArrival>,
    started: Instant,
    /// Transfers in progress, by index of the connection.
    under_way: BTreeMap<u32, Transfer>,
}

/// A source of file after file.
#[derive(Debug)]
pub(crate) struct OnOff {
    source: FileSource,
    persistent: bool,
    connection: Option<Ticket>,
    file: Option<Transfer>,
}

impl Transfer {
    pub(crate) fn new(began: Instant, bytes: Bytes) -> Self {
        Self { began, bytes, left: bytes }
    }

    /// Counts received bytes; returns whether the transfer is complete.
    pub(crate) fn receive(&mut self, bytes: Bytes) -> bool {
        self.left = self.left.saturating_sub(bytes);
        self.left == Bytes::ZERO
    }
}

impl Flows {
    pub(crate) fn new(spec: &FlowSpec, number: usize, streams: &Streams) -> Self {
        let mut arrivals = (spec.first as usize == number).then(|| FlowArrivals::new(spec, streams));
        let next = arrivals.as_mut().and_then(Iterator::next);
        Self { limit: spec.limit as usize, arrivals, next, started: Instant::ZERO, under_way: BTreeMap::new() }
    }
}

impl OnOff {
    pub(crate) fn new(spec: &OnOffSpec, streams: &Streams) -> Self {
        let source = FileSource::new(spec, streams);
        Self { source, persistent: spec.persistent, connection: None, file: None }
    }
}

/// Arrivals of flows.
impl World {
    /// At the end of the run: aborts the transfers in progress.
    pub(crate) fn cut_transfers(&mut self) {
        for (number, app) in self.apps.iter_mut().enumerate() {
            let transfers: Vec<Transfer> = match &mut app.kind {
                Kind::Bulk { sized, .. } => {
                    sized.as_mut().and_then(|sized| sized.transfer.take()).into_iter().collect()
                }
                Kind::Flows(flows) => std::mem::take(&mut flows.under_way).into_values().collect(),
                Kind::OnOff(source) => source.file.take().into_iter().collect(),
                Kind::Datagrams { .. } | Kind::Call(_) | Kind::Web(_) | Kind::Ping { .. } => Vec::new(),
            };
            transfers.iter().for_each(|transfer| {
                self.transfers.cut(number, since_start(transfer.began), transfer.bytes);
            });
        }
    }

    fn flows(&mut self, number: u32) -> &mut Flows {
        match &mut self.apps[number as usize].kind {
            Kind::Flows(flows) => flows,
            kind => unreachable!("{kind:?} has no flows"),
        }
    }

    pub(crate) fn start_flows(&mut self, number: u32) {
        let now = self.now;
        let flows = self.flows(number);
        flows.started = now;
        if let Some(next) = flows.next {
            self.event_queue.schedule(now + next.at, Task::App(number));
        }
    }

    /// Opens the flows of the group that are due.
    pub(crate) fn open_flows(&mut self, first: u32) {
        loop {
            let now = self.now;
            let flows = self.flows(first);
            let Some(next) = flows.next else { return };
            let at = flows.started + next.at;
            if at > now {
                self.event_queue.schedule(at, Task::App(first));
                return;
            }
            flows.next = flows.arrivals.as_mut().and_then(Iterator::next);
            self.open_flow(first + next.member, next.bytes);
        }
    }

    fn open_flow(&mut self, number: u32, bytes: Bytes) {
        let flows = self.flows(number);
        if flows.under_way.len() >= flows.limit {
            self.transfers.refuse(number as usize);
            return;
        }
        let connection = self.open_sending(number, bytes, true);
        let transfer = Transfer::new(self.now, bytes);
        self.flows(number).under_way.insert(connection, transfer);
        self.pump(connection, Side::Station);
    }

    /// Opens a connection whose sender has `bytes` to send. Its SYN is not sent yet.
    fn open_sending(&mut self, number: u32, bytes: Bytes, closes: bool) -> u32 {
        let app = &self.apps[number as usize];
        let connection = self.connections.open(number, app.sender(), &app.tcp);
        let sender = self.connections.tcp_mut(connection, app.sender());
        sender.write(bytes);
        if closes {
            sender.close();
        }
        connection
    }

    pub(crate) fn cut_flows(&mut self, number: u32) {
        let flows = self.flows(number);
        flows.next = None;
        for (connection, transfer) in std::mem::take(&mut flows.under_way) {
            self.transfers.cut(number as usize, since_start(transfer.began), transfer.bytes);
            self.cut(connection);
        }
    }

    pub(crate) fn on_flow_event(&mut self, number: u32, connection: u32, side: Side, event: tcp::Event) {
        match event {
            tcp::Event::Received(bytes) => {
                self.meter.receive(number, bytes.0);
                let transfers = &mut self.flows(number).under_way;
                if transfers.get_mut(&connection).is_some_and(|transfer| transfer.receive(bytes)) {
                    let transfer = transfers.remove(&connection).expect("it is there");
                    self.complete_transfer(number, transfer);
                }
            }
            tcp::Event::PeerFinished => self.connections.tcp_mut(connection, side).close(),
            tcp::Event::Closed(reason) => {
                if let Some(transfer) = self.flows(number).under_way.remove(&connection) {
                    self.fail_transfer(number, transfer, reason);
                }
                self.close_rest(connection, side, reason);
            }
            tcp::Event::Established | tcp::Event::Drained => {}
        }
    }

    pub(crate) fn complete_transfer(&mut self, number: u32, transfer: Transfer) {
        let took = self.now.saturating_since(transfer.began);
        self.transfers.complete(number as usize, since_start(transfer.began), transfer.bytes, took);
    }

    fn fail_transfer(&mut self, number: u32, transfer: Transfer, reason: CloseReason) {
        self.transfers.fail(number as usize, since_start(transfer.began), transfer.bytes);
        let name = &self.scenario.apps[number as usize].name;
        self.note("note", format!("{name}: a transfer failed: {reason:?}"));
    }

    /// One end of a connection has closed. The other end is closed, too, if this one gave up, or if it only waits in
    /// TIME-WAIT.
    fn close_rest(&mut self, connection: u32, side: Side, reason: CloseReason) {
        let other = match side {
            Side::Station => Side::Server,
            Side::Server => Side::Station,
        };
        if reason != CloseReason::Normal || self.connections.tcp(connection, other).state() == State::TimeWait {
            self.connections.forget(connection);
        }
    }
}

/// File after file.
impl World {
    fn on_off(&mut self, number: u32) -> &mut OnOff {
        match &mut self.apps[number as usize].kind {
            Kind::OnOff(source) => source,
            kind => unreachable!("{kind:?} sends no files"),
        }
    }

    /// Schedules the next file after a pause.
    pub(crate) fn pause(&mut self, number: u32) {
        let pause = self.on_off(number).source.pause();
        self.event_queue.schedule(self.now + pause, Task::App(number));
    }

    pub(crate) fn send_file(&mut self, number: u32) {
        let now = self.now;
        let source = self.on_off(number);
        let bytes = source.source.file();
        source.file = Some(Transfer::new(now, bytes));
        let (persistent, ticket) = (source.persistent, source.connection);
        if let Some(connection) = ticket.filter(|_| persistent).and_then(|ticket| self.connections.find(ticket)) {
            let side = self.apps[number as usize].sender();
            self.connections.tcp_mut(connection, side).write(bytes);
            self.pump(connection, side);
            return;
        }
        let connection = self.open_sending(number, bytes, !persistent);
        self.on_off(number).connection = Some(self.connections.ticket(connection));
        self.pump(connection, Side::Station);
    }

    pub(crate) fn cut_file(&mut self, number: u32) {
        let source = self.on_off(number);
        let (file, ticket) = (source.file.take(), source.connection.take());
        if let Some(file) = file {
            self.transfers.cut(number as usize, since_start(file.began), file.bytes);
        }
        if let Some(connection) = ticket.and_then(|ticket| self.connections.find(ticket)) {
            self.cut(connection);
        }
    }

    pub(crate) fn on_file_event(&mut self, number: u32, connection: u32, side: Side, event: tcp::Event) {
        let sender = self.apps[number as usize].sender();
        let ticket = self.on_off(number).connection;
        // Connections of earlier files close by themselves.
        let is_present = ticket.and_then(|ticket| self.connections.find(ticket)) == Some(connection);
        match event {
            tcp::Event::Received(bytes) => {
                self.meter.receive(number, bytes.0);
                let file = &mut self.on_off(number).file;
                if is_present && file.as_mut().is_some_and(|file| file.receive(bytes)) {
                    let file = file.take().expect("it is there");
                    self.complete_transfer(number, file);
                }
            }
            tcp::Event::Drained if is_present && side == sender => self.pause(number),
            tcp::Event::PeerFinished => self.connections.tcp_mut(connection, side).close(),
            tcp::Event::Closed(reason) => {
                if is_present && reason != CloseReason::Normal {
                    let source = self.on_off(number);
                    source.connection = None;
                    if let Some(file) = source.file.take() {
                        self.fail_transfer(number, file, reason);
                    }
                    self.connections.forget(connection);
                    self.pause(number);
                } else {
                    self.close_rest(connection, side, reason);
                }
            }
            tcp::Event::Established | tcp::Event::Drained => {}
        }
    }
}

pub(crate) fn since_start(at: Instant) -> Span {
    at.saturating_since(Instant::ZERO)
}
