//! Calls: detection, and admission of calls to strict priority.
//!
//! An admitted call has strict priority: its packets pass at once, with the code point that makes the access point
//! send them as voice, and the rest of the traffic loses the airtime that they take. So their number is limited, for
//! each contention domain by itself: up to the operator's limits, and as long as all calls together leave the
//! configured part of the medium to the rest. A call beyond that is refused visibly: it waits in
//! its turn like other traffic, its packets get code point 0, and the calls in progress do not notice.
//!
//! A call that roams to another domain is checked again there. If it exceeds the limit, it keeps its priority, and
//! the manager reports that: an admitted call is not cut off, and further calls are refused until there is room. A
//! refused call is admitted if there is room in the new domain.
//!
//! One stream alone is no call, since any host can send packets in the shape of speech. A call begins when both ends
//! send speech, or with its first packet if the telephones have agreed upon it in a SIP dialog that the box has seen
//! (see [`dialogs`]). Until then its stream waits in its turn, takes no room, and is not reported. A station has at
//! most [`CALLS_PER_STATION`] admitted calls.
//!
//! A call consists of at most one stream each way between a station and one address, in one flow or two; a second
//! pair of streams is a second call. It ends when its telephones end the dialog (see [`dialogs`]) or after
//! [`SILENCE`] without packets; a refused call ends in the same ways.
//!
//! The priority is bounded: a stream has it up to twice the packet rate at which it was admitted. Faster packets, or
//! large ones, wait in their turn.
//!
//! Source: Hegde, Kumar, Vasudev, Sowmya, Anand, Kumar, Kuri, IEEE/ACM ToN 21(2), 2013 (admission control of calls).
//! There the limit is a number of calls for each codec, which combinations of codecs give; the part of the medium left
//! to the rest is ours.
//!
//! What is not here: which packets are speech (see [`shape`]), the quality of a call (see [`quality`]).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use evenair_packet::RtpMeta;
use evenair_units::{Instant, Span};

use crate::ids::Direction;
use crate::ids::{DomainId, StationId};

mod config;
mod dialogs;
mod one_way;
mod quality;
mod report;
mod shape;

pub use config::{Combination, VoiceConfig, VoiceError};
pub(crate) use dialogs::Dialogs;
pub(crate) use one_way::OneWay;
pub(crate) use quality::Speech;
pub use report::{Codec, Refusal, SpeechReport};
pub(crate) use shape::{LARGEST, Sample, Shape, Stream};

/// Silence after which a call has ended: comfort noise comes more often, and a hang-up is noticed soon.
const SILENCE: Span = Span::from_secs(10);
/// Time after the end of a dialog in which its remaining packets make no new call.
const HUNG_UP: Span = Span::from_secs(2);
/// Admitted calls of a station, at most: a telephone has one, and one more that waits or is joined to it.
const CALLS_PER_STATION: usize = 3;
/// Calls, admitted or refused, that are tracked at most: of one station, and in total.
const MOST_OF_STATION: usize = 16;
const MOST_CALLS: usize = 4096;
/// Time by which a stream may be ahead of its pace: a burst after a gap in the network.
const AHEAD: Span = Span::from_millis(200);
/// Factor by which a stream may be faster than when it was admitted.
const PACE_FACTOR: u64 = 2;

/// A flow that may be voice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Talk {
    shapes: [Shape; 2],
    /// When each direction was last detected as a stream of voice.
    found: [Option<Instant>; 2],
    call: Option<u64>,
    /// How much it may still send now within its pace, and the instant of that.
    ahead: Span,
    at: Instant,
}

/// An ongoing call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) station: StationId,
    pub(crate) peer: IpAddr,
    pub(crate) codec: Codec,
    /// Why it was refused.
    pub(crate) refused: Option<Refusal>,
    pub(crate) since: Instant,
    /// Speech of each direction: to the station, from it.
    pub(crate) speech: [Speech; 2],
    /// The flow of each direction, by its serial.
    streams: [Option<u64>; 2],
    gap: Span,
    /// Clock rate of the codec, if it is RTP.
    clock_hz: Option<u32>,
    /// Medium time in a second, both ways.
    slice: Span,
    last: Instant,
    /// The dialog in which it was negotiated.
    dialog: Option<u64>,
    /// Whether it has ended, so that only its remaining packets are assigned to it.
    hung_up: bool,
}

/// All calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    by_number: BTreeMap<u64, Call>,
    numbers: u64,
    one_way: OneWay,
}

/// One direction of a flow between the two ends of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speaker {
    pub(crate) serial: u64,
    /// Packets of this direction of the flow that the box holds.
    pub(crate) held: u64,
    pub(crate) station: StationId,
    pub(crate) peer: IpAddr,
    pub(crate) direction: Direction,
}

/// A stream that may belong to a new call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    pub(crate) speaker: Speaker,
    pub(crate) stream: Stream,
    /// Medium time of one of its packets.
    pub(crate) airtime: Span,
    /// The dialog in which it was negotiated.
    pub(crate) dialog: Option<u64>,
    /// If the other direction of its flow is a stream as well: packets of that direction that the box holds.
    pub(crate) held_other: Option<u64>,
}

pub(crate) const fn index(direction: Direction) -> usize {
    match direction {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

impl Talk {
    pub(crate) fn shape(&mut self, direction: Direction) -> &mut Shape {
        &mut self.shapes[index(direction)]
    }

    /// Notes that a direction is a stream of voice. True: so is the other one, recently.
    pub(crate) fn found(&mut self, now: Instant, direction: Direction) -> bool {
        self.found[index(direction)] = Some(now);
        self.found[1 - index(direction)].is_some_and(|at| now.saturating_since(at) < SILENCE)
    }

    pub(crate) fn join(&mut self, call: u64) {
        self.call = Some(call);
    }

    pub(crate) fn leave(&mut self) -> Option<u64> {
        self.call.take()
    }

    pub(crate) const fn call(&self) -> Option<u64> {
        self.call
    }

    /// Whether one more packet is within the pace of its call.
    pub(crate) fn keeps_pace(&mut self, now: Instant, call: &Call) -> bool {
        let cost = call.gap / PACE_FACTOR;
        self.ahead = (self.ahead + now.saturating_since(self.at)).min(AHEAD);
        self.at = now;
        let keeps = self.ahead >= cost;
        if keeps {
            self.ahead = self.ahead.saturating_sub(cost);
        }
        keeps
    }
}

impl Calls {
    pub(crate) fn get(&self, call: u64) -> Option<&Call> {
        self.by_number.get(&call)
    }

    /// Notes a packet of a call. Returns whether its stream is not known yet.
    pub(crate) fn heard(&mut self, call: u64, now: Instant, speaker: Speaker, rtp: Option<&RtpMeta>) -> bool {
        let Some(call) = self.by_number.get_mut(&call) else { return false };
        if call.hung_up {
            return true;
        }
        let at = index(speaker.direction);
        if call.streams[at].is_none() {
            // The other direction of the same flow, probably with the same codec.
            call.streams[at] = Some(speaker.serial);
            call.speech[at] = Speech::begin(call.clock_hz, call.gap, speaker.held);
        }
        if call.streams[at] == Some(speaker.serial) {
            let leaves_evenly = speaker.direction == Direction::Up;
            call.speech[at].come(now, rtp, speaker.held, leaves_evenly);
        }
        call.last = now;
        true
    }

    /// The stream of a call in this direction, if this flow is it.
    pub(crate) fn speech(&mut self, call: u64, serial: u64, direction: Direction) -> Option<&mut Speech> {
        let call = self.by_number.get_mut(&call).filter(|call| !call.hung_up)?;
        let at = index(direction);
        (call.streams[at] == Some(serial)).then_some(&mut call.speech[at])
    }

    /// Begins a stream: returns its call, and whether that is new. `None`: the other direction is silent so far, or
    /// there are too many calls to track.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        config: &VoiceConfig,
        beginning: Beginning,
        medium_of: impl Fn(StationId) -> DomainId,
    ) -> Option<(u64, bool)> {
        let Beginning { speaker, stream, airtime, dialog, held_other } = beginning;
        let Speaker { serial, held, station, peer, direction } = speaker;
        let (own, other) = (index(direction), 1 - index(direction));
        let fits = |call: &Call| {
            let waits = call.streams[own].is_none() && call.streams[other].is_some_and(|flow| flow != serial);
            call.station == station && call.peer == peer && waits && !call.hung_up
        };
        if let Some((number, call)) = self.by_number.iter_mut().find(|(_, call)| fits(call)) {
            call.streams[own] = Some(serial);
            call.speech[own] = Speech::begin(stream.clock_hz, stream.gap, held);
            call.dialog = call.dialog.or(dialog);
            return Some((*number, false));
        }
        let agreed = held_other.is_some() || dialog.is_some() || self.one_way.meets(now, &speaker);
        let of_station = self.by_number.values().filter(|call| call.station == station).count();
        if !agreed || self.by_number.len() >= MOST_CALLS || of_station >= MOST_OF_STATION {
            return None;
        }
        const SECOND: Span = Span::from_secs(1);
        let slice = airtime.mul_div(2 * SECOND.as_nanos(), stream.gap.as_nanos().max(1));
        let medium = medium_of(station);
        let beside = self.iter().filter(|call| call.refused.is_none() && medium_of(call.station) == medium);
        let refused = refusal(config, station, stream.codec, slice, beside);
        let mut streams = [None; 2];
        streams[own] = Some(serial);
        streams[other] = held_other.map(|_| serial);
        self.one_way.leave(&speaker);
        let Stream { codec, gap, clock_hz, .. } = stream;
        let mut speech = [Speech::begin(clock_hz, gap, held); 2];
        speech[other] = Speech::begin(clock_hz, gap, held_other.unwrap_or(held));
        let since = now;
        let (last, hung_up) = (now, false);
        let call =
            Call { station, peer, codec, refused, since, speech, streams, gap, clock_hz, slice, last, dialog, hung_up };
        self.numbers += 1;
        self.by_number.insert(self.numbers, call);
        Some((self.numbers, true))
    }

    /// Checks the calls of a station after its move to another contention domain: returns those with priority there, as
    /// they were before, and the reason against each.
    pub(crate) fn ask_again(
        &mut self,
        config: &VoiceConfig,
        station: StationId,
        medium_of: impl Fn(StationId) -> DomainId,
    ) -> Vec<(Call, Option<Refusal>)> {
        let of_it = |(&number, call): (&u64, &Call)| (call.station == station && !call.hung_up).then_some(number);
        let numbers: Vec<u64> = self.by_number.iter().filter_map(of_it).collect();
        let medium = medium_of(station);
        let mut asked = Vec::new();
        for number in numbers {
            let Some(call) = self.by_number.get(&number).cloned() else { continue };
            let others = self.by_number.iter().filter(|&(&other, call)| other != number && !call.hung_up);
            let goes_first = |call: &&Call| call.refused.is_none() && medium_of(call.station) == medium;
            let beside = others.map(|(_, call)| call).filter(goes_first);
            let why = refusal(config, station, call.codec, call.slice, beside);
            if call.refused.is_some() && why.is_some() {
                continue;
            }
            let call = self.by_number.get_mut(&number).expect("it was there");
            let before = call.refused.take();
            asked.push((Call { refused: before, ..call.clone() }, why));
        }
        asked
    }

    /// Removes a flow from its call, since it turned out to be something else.
    pub(crate) fn leave(&mut self, call: u64, serial: u64) -> Option<Call> {
        let streams = &mut self.by_number.get_mut(&call)?.streams;
        streams.iter_mut().filter(|stream| **stream == Some(serial)).for_each(|stream| *stream = None);
        if streams.iter().any(Option::is_some) { None } else { self.by_number.remove(&call) }
    }

    /// Ends one of the calls that were negotiated in a dialog of a station; `None`: there is none left.
    pub(crate) fn hang_up(&mut self, now: Instant, station: StationId, dialog: u64) -> Option<Call> {
        let ends = |call: &&mut Call| call.station == station && call.dialog == Some(dialog) && !call.hung_up;
        let call = self.by_number.values_mut().find(ends)?;
        call.hung_up = true;
        call.last = now;
        Some(call.clone())
    }

    /// Removes a call that has been silent for long, unless its end was reported before.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Call> {
        self.by_number.retain(|_, call| !call.hung_up || now.saturating_since(call.last) < HUNG_UP);
        let silent = |call: &Call| !call.hung_up && now.saturating_since(call.last) >= SILENCE;
        let number = *self.by_number.iter().find(|(_, call)| silent(call))?.0;
        self.by_number.remove(&number)
    }

    /// Removes an ongoing call of a station; ended ones are forgotten on the way.
    pub(crate) fn take_of(&mut self, station: StationId) -> Option<Call> {
        self.one_way.forget(station);
        while let Some(number) =
            self.by_number.iter().find(|(_, call)| call.station == station).map(|(&number, _)| number)
        {
            let call = self.by_number.remove(&number).filter(|call| !call.hung_up);
            if call.is_some() {
                return call;
            }
        }
        None
    }

    /// Forgets all calls.
    pub(crate) fn clear(&mut self) {
        self.by_number.clear();
        self.one_way = OneWay::default();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Call> {
        self.by_number.values().filter(|call| !call.hung_up)
    }
}

/// Why one more call with this codec is refused, beside the admitted ones in the same contention domain.
fn refusal<'a>(
    config: &VoiceConfig,
    station: StationId,
    codec: Codec,
    slice: Span,
    beside: impl Iterator<Item = &'a Call>,
) -> Option<Refusal> {
    let (mut all, mut own, mut taken) = (0, 0, slice);
    let mut calls = Combination::default();
    for call in beside {
        all += 1;
        own += usize::from(call.station == station);
        calls.add(call.codec);
        taken += call.slice;
    }
    if own >= CALLS_PER_STATION {
        return Some(Refusal::Station);
    }
    if config.calls.is_some_and(|most| all >= most) {
        return Some(Refusal::Calls);
    }
    let of_codec = config.codecs.iter().find(|(limited, _)| *limited == codec);
    if of_codec.is_some_and(|(_, most)| calls.of(codec) >= *most) {
        return Some(Refusal::Codec);
    }
    calls.add(codec);
    if !config.combines(&calls) {
        return Some(Refusal::Combination);
    }
    let most = Span::from_millis(u64::from(1000 - config.data_permille));
    (taken > most).then_some(Refusal::DataPart)
}
