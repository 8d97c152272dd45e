//! Receiver control on the path of packets: see `receiver`.

use alloc::vec::Vec;

use evenair_packet::{Edits, Port, TcpFlags, TcpMeta};
use evenair_units::{Bytes, Instant, Span};

use super::Manager;
use crate::domain::Domain;
use crate::held::{Arrived, Held};
use crate::ids::{Direction, FlowId};
use crate::latency::Leg;
use crate::receiver::Steered;
use crate::receiver::steering::Steering;
use crate::{Counter, Mode, Output, ReceiverConfig, ReceiverReport, StationCounter};

/// Idle time after which a flow no longer counts as sharing a buffer.
const UNUSED: Span = Span::from_secs(10);
/// Flows counted, at most: the share of one of so many is a segment, whatever the buffer.
const MOST_COUNTED: usize = 4096;

impl<P: Send + 'static> Manager<P> {
    /// The settings of receiver control, while it is in force.
    const fn receiver_config(&self) -> Option<ReceiverConfig> {
        match self.mode {
            Mode::Inserted => self.config.receiver,
            Mode::Bypassed | Mode::Draining => None,
        }
    }

    /// Measures the access point's queueing by a TCP packet from the WLAN.
    pub(super) fn time_answer(&mut self, now: Instant, arrived: &Arrived<P>, tcp: &TcpMeta) {
        if !tcp.flags.contains(TcpFlags::ACK) {
            return;
        }
        let config = self.receiver_config();
        let flow = self.flows.get_mut(arrived.flow);
        let domain = flow.domain;
        self.time_wlan(now, arrived.flow, tcp);
        let flow = self.flows.get_mut(arrived.flow);
        let Some(took) = flow.receiver.timed.note_ack(now, tcp.ack) else { return };
        flow.watched.note_trip(took);
        let Some(config) = config else { return };
        const FULL_SIZE: Bytes = Bytes(1500);
        let station = self.stations.get(flow.station);
        let airtime = |ip_len| self.models[station.domain].packet_airtime(ip_len, station.rate);
        let own = airtime(FULL_SIZE) + airtime(arrived.ip_len);
        self.domains.touch(domain).receiver.steering.note_sample(now, took, own, config.aim());
    }

    /// Times the round trip over the WLAN of what a segment from there acknowledges.
    fn time_wlan(&mut self, now: Instant, id: FlowId, tcp: &TcpMeta) {
        let next =
            |this: &mut Self| this.flows.get_mut(id).watched.seen_so_far()?.stopwatch.come_from_station(now, tcp);
        if let Some(seen) = self.flows.get_mut(id).watched.seen_so_far() {
            seen.stopwatch.note_from_station(tcp);
        }
        while let Some(took) = next(self) {
            self.note_time(id, Leg::Wlan, took);
        }
    }

    /// Times the round trip beyond the wire port of what a packet from there answers.
    pub(super) fn time_internet(&mut self, now: Instant, held: &Held<P>) {
        let id = held.flow;
        let watched = &mut self.flows.get_mut(id).watched;
        let first = watched.answer(now);
        if let (Some(seen), Some(tcp)) = (watched.seen_so_far(), &held.tcp) {
            seen.stopwatch.note_from_wire(now, tcp);
        }
        let next = |this: &mut Self| {
            let seen = this.flows.get_mut(id).watched.seen_so_far()?;
            seen.stopwatch.come_from_wire(now, held.tcp.as_ref()?)
        };
        if let Some(took) = first {
            self.note_time(id, Leg::Internet, took);
        }
        while let Some(took) = next(self) {
            self.note_time(id, Leg::Internet, took);
        }
    }

    /// A packet leaves: starts timing it to its answer.
    fn time_release(&mut self, now: Instant, held: &Held<P>, port: Port) {
        let flow = self.flows.get_mut(held.flow);
        let watched = &mut flow.watched;
        match (&held.tcp, port) {
            (Some(tcp), Port::Wire) if tcp.begins() => watched.ask(now),
            (None, Port::Wire) if flow.from_wlan == held.ip_len && flow.released == Bytes::ZERO => watched.ask(now),
            (None, _) => {}
            (Some(tcp), _) => {
                let Some(seen) = watched.seen_so_far() else { return };
                match port {
                    Port::Wire => seen.stopwatch.leave_by_wire(now, tcp),
                    Port::Wlan => seen.stopwatch.release(now, tcp),
                }
            }
        }
    }

    /// Sends or holds a packet from the WLAN: an ACK of a download for its delay, others behind the held packets of
    /// their flow. Packets before the first DATA of a download, as the last ACK of a handshake, are not held.
    pub(super) fn delay_or_leave(&mut self, now: Instant, held: Held<P>) {
        let law = self.receiver_config().and_then(|config| config.delay);
        let flow = self.flows.get(held.flow);
        let answers = flow.direction == Direction::Down && flow.has_downloaded();
        let is_ack = answers && held.tcp.as_ref().is_some_and(TcpMeta::is_pure_ack);
        let steered = &self.domains[flow.domain].receiver;
        let own = law.filter(|_| is_ack).map_or(Span::ZERO, |law| steered.delay(law));
        let due = flow.receiver.line.due(now.saturating_add(own));
        if due <= now && flow.receiver.line.held == 0 {
            return self.leave_by_wire(now, held);
        }
        let full = self.config.held_limit.is_some_and(|limit| self.held() >= limit as usize);
        if full {
            // Without room for another packet, the first one leaves before its time.
            match self.receiver.line.pop(Instant::MAX) {
                Some(first) => self.leave_line(now, first),
                None => return self.leave_by_wire(now, held),
            }
        }
        let line = &mut self.flows.get_mut(held.flow).receiver.line;
        let due = line.due(due);
        self.receiver.line.push(due, held, line);
    }

    /// Sends packets whose delay has ended.
    pub(super) fn serve_line(&mut self, now: Instant) {
        while let Some(held) = self.receiver.line.pop(now) {
            self.leave_line(now, held);
        }
    }

    /// The drain limit has ended: sends all held packets.
    pub(super) fn release_line(&mut self, now: Instant) {
        while let Some(held) = self.receiver.line.pop(Instant::MAX) {
            self.leave_line(now, held);
        }
    }

    fn leave_line(&mut self, now: Instant, held: Held<P>) {
        self.flows.get_mut(held.flow).receiver.line.held -= 1;
        self.counters[Counter::AcksDelayed] += u64::from(held.tcp.as_ref().is_some_and(TcpMeta::is_pure_ack));
        self.leave_by_wire(now, held);
    }

    /// Packets held, for any reason.
    pub(super) fn held(&self) -> usize {
        self.held_for_wlan() + self.held_beside()
    }

    /// Sends a packet of a flow, with a lowered window if receiver control requires it.
    pub(super) fn send(&mut self, now: Instant, held: Held<P>, port: Port) {
        self.note_speech(now, &held, port);
        if let Some(tcp) = held.tcp.as_ref().filter(|tcp| port == Port::Wlan && tcp.payload > Bytes::ZERO) {
            let flow = self.flows.get_mut(held.flow);
            let is_new = flow.receiver.timed.note_release(now, tcp.seq_end());
            flow.watched.again[0] += u64::from(!is_new);
        }
        self.time_release(now, &held, port);
        if held.marked {
            self.count_for_station(held.flow, StationCounter::Marked);
        }
        let window = held.tcp.as_ref().and_then(|tcp| self.lower_window(&held, port, tcp));
        self.counters[Counter::WindowsLowered] += u64::from(window.is_some());
        let dscp = if port == Port::Wlan { self.code_point(held.flow) } else { None };
        self.output(held.packet, port, Edits { congestion: held.marked, window, dscp });
    }

    fn lower_window(&mut self, held: &Held<P>, port: Port, tcp: &TcpMeta) -> Option<u16> {
        let config = self.receiver_config()?;
        let flow = self.flows.get_mut(held.flow);
        let law = config.window.filter(|_| port == Port::Wire || config.uploads)?;
        let steered = &mut self.domains.touch(flow.domain).receiver;
        let session = self.receiver.session;
        let flow = &mut flow.receiver;
        let window = flow.windows.lower(port.opposite(), tcp, session, |segment| steered.most(law, segment));
        flow.lowered = window.is_some();
        if window.is_some() {
            steered.steering.note_lowered();
        }
        window
    }

    /// Hands out a packet to be sent.
    pub(super) fn output(&mut self, packet: P, port: Port, edits: Edits) {
        self.counters[Counter::Marked] += u64::from(edits.congestion);
        self.counters.released += 1;
        self.outputs.push_back(Output::Release { packet, port, edits });
    }

    /// Receiver control begins: earlier offers of windows are unknown.
    pub(super) fn begin_receiver(&mut self, now: Instant) {
        self.receiver.session = self.receiver.session.wrapping_add(1);
        self.steer_anew(now);
    }

    /// Restarts the closed loops under another law.
    pub(super) fn steer_anew(&mut self, now: Instant) {
        self.domains.iter_mut().for_each(|domain| domain.receiver.steering = Steering::new(now));
    }

    /// Periodically counts the flows that share the access points' buffers.
    pub(super) fn count_receivers(&mut self, now: Instant) {
        if self.config.receiver.is_none() {
            return;
        }
        let used = self.flows.used_since(now.saturating_sub(UNUSED)).take(MOST_COUNTED);
        let open = used.filter(|flow| flow.is_tcp() && flow.receiver.is_open());
        let mut counted: Vec<(u32, u32)> = self.domains.iter().map(|_| (0, 0)).collect();
        for flow in open {
            let (flows, clamped) = &mut counted[flow.domain.index()];
            (*flows, *clamped) = (*flows + 1, *clamped + u32::from(flow.receiver.lowered));
        }
        for (domain, counted) in self.domains.iter_mut().zip(counted) {
            (domain.receiver.flows, domain.receiver.clamped_flows) = counted;
        }
    }

    /// The report of one domain.
    pub(super) fn report_steered(&self, steered: &Steered) -> Option<ReceiverReport> {
        let config = self.config.receiver?;
        Some(ReceiverReport {
            clamped_flows: steered.clamped_flows,
            flows: steered.flows,
            window: config.window.map(|law| Bytes(steered.most_bytes(law))),
            delay: config.delay.map(|law| steered.delay(law)),
            held: 0,
            ap_queueing: steered.steering.queueing(),
        })
    }

    /// The report of all domains in use: the smallest window, the longest times.
    pub(super) fn report_receiver(&self) -> Option<ReceiverReport> {
        let held = self.receiver.line.len() as u64;
        if self.config.receiver.is_none() && held == 0 {
            return None;
        }
        let none = ReceiverReport { clamped_flows: 0, flows: 0, window: None, delay: None, held, ap_queueing: None };
        let alone = self.domains.iter().count() == 1;
        let of = |domain: &Domain<P>| self.report_steered(&domain.receiver);
        let in_use = |report: &ReceiverReport| alone || report.flows > 0;
        let both = |a: ReceiverReport, b: ReceiverReport| ReceiverReport {
            clamped_flows: a.clamped_flows + b.clamped_flows,
            flows: a.flows + b.flows,
            window: a.window.into_iter().chain(b.window).min(),
            delay: a.delay.max(b.delay),
            held,
            ap_queueing: a.ap_queueing.max(b.ap_queueing),
        };
        Some(self.domains.iter().filter_map(of).filter(in_use).fold(none, both))
    }
}
