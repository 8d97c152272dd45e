//! Telephone calls: each direction is an application with a speaker at one end and a listener at the other.

use evenair_scenario::Scenario;
use evenair_units::{Instant, Streams};
use evenair_workload::DatagramSource;
use evenair_workload::voice::{CallMeter, VoipSpec};

use crate::apps::{App, Kind, UDP_HEADER};
use crate::event_queue::Task;
use crate::packet::{Body, Packet};
use crate::world::World;

/// One direction of a call.
#[derive(Debug)]
pub(crate) struct Call {
    source: DatagramSource,
    started: Instant,
    /// Sequence number of the next packet, modulo 2^16.
    spoken: u16,
    meter: CallMeter,
}

impl Call {
    pub(crate) fn new(scenario: &Scenario, app: &evenair_scenario::App, spec: &VoipSpec, streams: &Streams) -> Self {
        let stop = app.stop.unwrap_or(scenario.duration);
        Self {
            source: DatagramSource::new(&spec.packets, streams),
            started: Instant::ZERO,
            spoken: 0,
            meter: CallMeter::new(spec.hearing, app.start, stop, &scenario.measure.phases),
        }
    }
}

impl App {
    /// Reception statistics, if the application is a call.
    pub(crate) fn call(&self) -> Option<&CallMeter> {
        match &self.kind {
            Kind::Call(call) => Some(&call.meter),
            _ => None,
        }
    }
}

impl World {
    fn call(&mut self, number: u32) -> &mut Call {
        match &mut self.apps[number as usize].kind {
            Kind::Call(call) => call,
            kind => unreachable!("{kind:?} is no call"),
        }
    }

    pub(crate) fn start_call(&mut self, number: u32) {
        let now = self.now;
        let call = self.call(number);
        call.started = now;
        let first = now + call.source.peek().at;
        self.event_queue.schedule(first, Task::App(number));
    }

    pub(crate) fn speak(&mut self, number: u32) {
        let now = self.now;
        let call = self.call(number);
        let payload = call.source.peek().payload;
        call.source.advance();
        call.meter.send(now.saturating_since(Instant::ZERO));
        let sequence = call.spoken;
        call.spoken = sequence.wrapping_add(1);
        let next = call.started + call.source.peek().at;
        let app = &self.apps[number as usize];
        let (way, len) = (app.data, app.ip_header() + UDP_HEADER + payload);
        self.send(Packet { app: number, way, len, body: Body::Speech { number: sequence, sent: now } });
        self.event_queue.schedule(next, Task::App(number));
    }

    pub(crate) fn receive_speech(&mut self, packet: &Packet, sent: Instant) {
        self.receive_datagram(packet);
        let (sent_at, delay) = (sent.saturating_since(Instant::ZERO), self.now.saturating_since(sent));
        self.call(packet.app).meter.receive(sent_at, delay);
    }
}
