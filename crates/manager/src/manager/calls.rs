//! Packets of calls: detection, admission, and release with strict priority.

use alloc::vec::Vec;

use evenair_packet::{Content, IpMeta, PacketMeta, Port, SipMeta, Transport};
use evenair_units::{Bytes, Instant, Span};

use super::Manager;
use crate::api::CallReport;
use crate::held::Held;
use crate::ids::{Direction, FlowId, StationId};
use crate::pacer::standing::Ratio;
use crate::voice::{Beginning, Call, LARGEST, Sample, Speaker, index};
use crate::{Counter, Event, Mode, SpeechReport};

/// DSCPs of voice: EF (RFC 3246) and VA (RFC 5865).
const SAYS_VOICE: [u8; 2] = [46, 44];

impl<P: Send + 'static> Manager<P> {
    /// Notes a packet that may belong to a call.
    pub(super) fn note_voice(&mut self, now: Instant, id: FlowId, meta: &PacketMeta) {
        // An address from which no frame has come has no call.
        if self.config.voice.is_none() || self.stations.get(self.flows.get(id).station).is_shared {
            return;
        }
        if let Content::Sip(sip) = &meta.content {
            return self.note_dialog(now, id, sip);
        }
        let Some(ip) = meta.ip.as_ref().filter(|ip| matches!(ip.transport, Transport::Udp { .. })) else { return };
        let (direction, peer) = match meta.ingress {
            Port::Wlan => (Direction::Up, ip.dst),
            Port::Wire => (Direction::Down, ip.src),
        };
        let flow = self.flows.get_mut(id);
        let held = flow.held_toward(direction).into();
        let speaker = Speaker { serial: flow.serial, held, station: flow.station, peer, direction };
        let talk = flow.talk.get_or_insert_default();
        let (len, says_voice, rtp) = (ip.total_len, SAYS_VOICE.contains(&ip.dscp), meta.rtp());
        let sample = Sample { len, headers: headers(ip), says_voice, rtp: rtp.copied() };
        let stream = talk.shape(direction).note(now, &sample);
        if len > LARGEST {
            if let Some(call) = talk.leave().and_then(|call| self.calls.leave(call, speaker.serial)) {
                self.tell_end(now, &call);
            }
            return;
        }
        if talk.call().is_some_and(|call| self.calls.heard(call, now, speaker, rtp)) {
            return;
        }
        let other_speaks = stream.is_some() && talk.found(now, direction);
        let other = if direction == Direction::Up { Direction::Down } else { Direction::Up };
        let held_other = other_speaks.then(|| self.flows.get(id).held_toward(other).into());
        let agreed = rtp.and_then(|rtp| self.dialogs.expected(now, speaker.station, meta, rtp));
        let agreed = agreed.map(|(stream, dialog)| (stream, Some(dialog)));
        if let Some((stream, dialog)) = agreed.or(stream.map(|stream| (stream, None))) {
            let airtime = self.speech_airtime(speaker.station, stream.len);
            self.begin_call(now, id, Beginning { speaker, stream, airtime, dialog, held_other });
        }
    }

    /// Handles a SIP message that begins or ends a call.
    fn note_dialog(&mut self, now: Instant, id: FlowId, sip: &SipMeta) {
        let station = self.flows.get(id).station;
        if self.dialogs.note(now, station, sip) {
            while let Some(call) = self.calls.hang_up(now, station, sip.call) {
                self.tell_end(now, &call);
            }
        }
    }

    fn begin_call(&mut self, now: Instant, id: FlowId, beginning: Beginning) {
        let Some(config) = &self.config.voice else { return };
        let medium_of = |station| self.stations.get(station).domain;
        let begun = self.calls.begin(now, config, beginning, medium_of);
        let Some((number, is_new)) = begun else { return };
        self.flows.get_mut(id).talk.get_or_insert_default().join(number);
        let Some(call) = self.calls.get(number).filter(|_| is_new) else { return };
        let (station, peer, codec) = (self.stations.get(call.station).mac, call.peer, call.codec);
        match call.refused {
            None => {
                self.counters[Counter::CallsAdmitted] += 1;
                self.tell(Event::CallAdmitted { station, peer, codec });
            }
            Some(why) => {
                self.counters[Counter::CallsRefused] += 1;
                self.tell(Event::CallRefused { station, peer, codec, why });
            }
        }
    }

    /// Checks a station's calls again after its move to another contention domain: there may be no room for them there,
    /// or room for a refused one.
    pub(super) fn ask_calls_again(&mut self, id: StationId) {
        let Some(config) = &self.config.voice else { return };
        let domain = self.stations.get(id).domain;
        let medium_of = |station| self.stations.get(station).domain;
        let asked = self.calls.ask_again(config, id, medium_of);
        let domain = self.domains[domain].name;
        for (call, over) in asked {
            let (station, peer, codec) = (self.stations.get(call.station).mac, call.peer, call.codec);
            if call.refused.is_some() {
                self.counters[Counter::CallsAdmitted] += 1;
                self.tell(Event::CallAdmitted { station, peer, codec });
            } else {
                self.counters[Counter::CallsOverLimit] += u64::from(over.is_some());
                self.tell(Event::CallRoamed { station, peer, codec, domain, over });
            }
        }
    }

    /// Medium time of a packet of speech: at the station's rate and the measured speed of the medium, but no less than
    /// at the highest rate, since most of a small packet is overhead.
    fn speech_airtime(&self, station: StationId, len: Bytes) -> Span {
        let station = self.stations.get(station);
        let Ratio { numerator, denominator } = self.domains[station.domain].pacer.speed();
        let model = &self.models[station.domain];
        let believed = model.lone_airtime(len, station.rate);
        believed.mul_div(denominator, numerator).max(model.shortest_lone_airtime(len))
    }

    /// Measures a packet of a call that leaves the box by this port.
    pub(super) fn note_speech(&mut self, now: Instant, held: &Held<P>, port: Port) {
        let flow = self.flows.get(held.flow);
        let Some(call) = flow.talk.as_ref().and_then(|talk| talk.call()) else { return };
        let direction = if port == Port::Wlan { Direction::Down } else { Direction::Up };
        let (in_box, domain) = (flow.held_toward(direction).into(), flow.domain);
        let Some(speech) = self.calls.speech(call, flow.serial, direction) else { return };
        speech.leave(now.saturating_since(held.came), in_box);
        if port == Port::Wlan {
            speech.go(now, held.timestamp, self.domains[domain].pacer.backlog());
        }
    }

    fn tell_end(&mut self, now: Instant, call: &Call) {
        self.counters[Counter::CallsEnded] += 1;
        let speech = both_ways(call).into();
        self.tell(Event::CallEnded {
            station: self.stations.get(call.station).mac,
            peer: call.peer,
            codec: call.codec,
            admitted: call.refused.is_none(),
            lasted: now.saturating_since(call.since),
            speech,
        });
    }

    /// Ends the calls of a station that is forgotten, so that no later station gets them.
    pub(super) fn forget_calls(&mut self, now: Instant, id: StationId) {
        while let Some(call) = self.calls.take_of(id) {
            self.tell_end(now, &call);
        }
        self.dialogs.forget(id);
    }

    pub(super) fn expire_calls(&mut self, now: Instant) {
        if self.config.voice.is_none() {
            self.calls.clear();
            self.dialogs.clear();
        }
        self.dialogs.expire(now);
        while let Some(call) = self.calls.expire(now) {
            self.tell_end(now, &call);
        }
    }

    /// Whether a packet toward the WLAN has strict priority: one of an admitted call, within its pace, with no earlier
    /// packets waiting.
    pub(super) fn goes_first(&mut self, now: Instant, held: &Held<P>) -> bool {
        if self.mode != Mode::Inserted || held.ip_len > LARGEST {
            return false;
        }
        let flow = self.flows.get_mut(held.flow);
        let (0, Some(talk)) = (flow.held, &mut flow.talk) else { return false };
        let Some(call) = talk.call().and_then(|call| self.calls.get(call)) else { return false };
        call.refused.is_none() && talk.keeps_pace(now, call)
    }

    /// Lets a packet of a call pass. Held packets pay for its medium time.
    pub(super) fn pass_call(&mut self, now: Instant, held: Held<P>) {
        let load = self.account_release(now, &held);
        let flow = self.flows.get(held.flow);
        let station = self.stations.get(flow.station);
        self.domains.touch(flow.domain).pacer.on_unscheduled(&self.models[station.domain], &load, station.rate);
        self.counters[Counter::CallsPackets] += 1;
        self.send(now, held, Port::Wlan);
    }

    /// The code point to set on a packet toward the WLAN: that of voice in an admitted call, the default one in a
    /// refused call.
    pub(super) fn code_point(&self, id: FlowId) -> Option<u8> {
        let config = self.config.voice.as_ref().filter(|_| self.mode == Mode::Inserted)?;
        let call = self.flows.get(id).talk.as_ref()?.call()?;
        let call = self.calls.get(call)?;
        Some(if call.refused.is_none() { config.dscp } else { 0 })
    }

    pub(super) fn report_calls(&self) -> Vec<CallReport> {
        let report = |call: &Call| {
            let [to_station, from_station] = both_ways(call);
            CallReport {
                station: self.stations.get(call.station).mac,
                peer: call.peer,
                codec: call.codec,
                refused: call.refused,
                since: call.since,
                to_station,
                from_station,
            }
        };
        self.calls.iter().map(report).collect()
    }
}

/// Quality of a call's speech: to the station, from it.
fn both_ways(call: &Call) -> [SpeechReport; 2] {
    [Direction::Down, Direction::Up].map(|way| call.speech[index(way)].report(way == Direction::Down))
}

/// Bytes of a call's packet that are not speech: IP, UDP, RTP (RFC 3550).
const fn headers(ip: &IpMeta) -> Bytes {
    const UDP_AND_RTP: u64 = 8 + 12;
    Bytes(UDP_AND_RTP + if ip.src.is_ipv4() { 20 } else { 40 })
}
