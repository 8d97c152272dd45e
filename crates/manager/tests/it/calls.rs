//! Calls: detection, admission or refusal, and priority.

use std::ops::Range;

use evenair_manager::{
    AccessPoint, Codec, Combination, Command, Config, ConfigError, Controller, Counter, Event, Manager, Observation,
    Output, Place, Refusal, VoiceConfig, VoiceError,
};
use evenair_packet::{
    Content, Encoding, MacAddr, PacketMeta, Port, RtpMeta, SdpStream, SipMeta, SipStep, TcpFlags, Transport,
};
use evenair_units::{Bytes, Instant, Span};

use crate::world::{SEGMENT, Segment, config, mac, packet, rate};

/// Eight stations at 11 Mb/s behind a box that detects calls.
fn inserted(voice: VoiceConfig) -> Manager<u64> {
    let mut config = Config { controller: Controller::default(), ..config(&[rate(11_000); 8]) };
    config.voice = Some(voice.into());
    let mut manager = Manager::new(config, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    manager
}

fn speech(station: usize, ingress: Port, len: u64, dscp: u8) -> PacketMeta {
    let mut meta = packet(ingress, station, 5000, Segment::new(TcpFlags::ACK, 0, 0, 100));
    meta.frame_len = Bytes(len + 14);
    let ip = meta.ip.as_mut().unwrap();
    (ip.protocol, ip.dscp, ip.total_len) = (17, dscp, Bytes(len));
    let ports = if ingress == Port::Wlan { (20_000, 30_000) } else { (30_000, 20_000) };
    ip.transport = Transport::Udp { src_port: ports.0, dst_port: ports.1 };
    meta
}

/// The same as RTP with the timestamp of this instant: G.711 in packets of 20 ms.
fn spoken(station: usize, ingress: Port, len: u64, dscp: u8, ms: u64) -> PacketMeta {
    let (sequence, timestamp) = ((ms / 20) as u16, (ms / 20 * 160) as u32);
    let source = 1 + station as u32 * 2 + u32::from(ingress == Port::Wlan);
    let rtp = RtpMeta { payload_type: 0, marker: false, sequence, timestamp, source };
    PacketMeta { content: Content::Rtp(rtp), ..speech(station, ingress, len, dscp) }
}

/// What was released of speech and of other traffic.
#[derive(Default)]
struct Heard {
    events: Vec<Event>,
    /// Packet numbers toward the WLAN with their new code points.
    released: Vec<(u64, Option<u8>, Instant)>,
}

impl Heard {
    fn drain(&mut self, manager: &mut Manager<u64>, now: Instant) {
        while let Some(output) = manager.poll_output() {
            match output {
                Output::Release { packet, port: Port::Wlan, edits } => self.released.push((packet, edits.dscp, now)),
                Output::Event(event) => self.events.push(event),
                _ => {}
            }
        }
    }

    fn calls(&self) -> (usize, Vec<Refusal>, usize) {
        let count = |wanted: fn(&Event) -> bool| self.events.iter().filter(|event| wanted(event)).count();
        let refused = self.events.iter().filter_map(|event| match event {
            Event::CallRefused { why, .. } => Some(*why),
            _ => None,
        });
        let admitted = count(|event| matches!(event, Event::CallAdmitted { .. }));
        (admitted, refused.collect(), count(|event| matches!(event, Event::CallEnded { .. })))
    }
}

/// Runs so many ms with calls of stations 0 to `calls`, both ways, and a bulk download of station 7 that always waits.
/// Packets of speech have numbers below a million.
fn talk(manager: &mut Manager<u64>, period_ms: Range<u64>, calls: usize, dscp: u8, heard: &mut Heard) {
    for ms in period_ms {
        let now = Instant::ZERO + Span::from_millis(ms);
        manager.handle_timeout(now);
        if ms % 2 == 0 {
            let seq = 1 + ms as u32 * SEGMENT as u32;
            let bulk = packet(Port::Wire, 7, 1, Segment::new(TcpFlags::ACK, seq, 1, SEGMENT));
            manager.handle_packet(now, 1_000_000 + ms, &bulk);
        }
        for station in 0..calls {
            if ms % 20 == station as u64 {
                manager.handle_packet(now, ms, &spoken(station, Port::Wire, 200, dscp, ms));
                manager.handle_packet(now, 2_000_000 + ms, &spoken(station, Port::Wlan, 200, dscp, ms));
            }
        }
        heard.drain(manager, now);
    }
}

#[test]
fn a_call_without_marks_is_found_by_its_header_and_then_passes_at_once_as_voice() {
    let (mut manager, mut heard) = (inserted(VoiceConfig::default()), Heard::default());
    talk(&mut manager, 0..3_000, 1, 0, &mut heard);
    assert_eq!(heard.calls(), (1, vec![], 0));
    let report = manager.report(Instant::ZERO);
    assert_eq!((report.calls.len(), report.calls[0].codec), (1, Codec::G711));
    let marked: Vec<_> = heard.released.iter().filter(|(_, dscp, _)| *dscp == Some(46)).collect();
    assert!(marked.len() > 110 && marked.iter().all(|(number, ..)| *number < 1_000_000), "{}", marked.len());
    // At once: in the millisecond of arrival, except for packets that waited when the other end began to speak.
    let at_once = |(number, _, at): &&&(u64, Option<u8>, Instant)| *at == Instant::ZERO + Span::from_millis(*number);
    assert!(marked.iter().filter(at_once).count() + 1 >= marked.len());
    assert!(heard.released.iter().all(|(number, dscp, _)| *number < 1_000_000 || dscp.is_none()), "nothing else");
}

#[test]
fn one_call_too_many_is_refused_without_effect_on_others() {
    for (voice, why) in [
        (VoiceConfig { calls: Some(3), ..VoiceConfig::default() }, Refusal::Calls),
        (VoiceConfig { codecs: vec![(Codec::G711, 3)], ..VoiceConfig::default() }, Refusal::Codec),
        // A call takes some 75 ms of a second at 11 Mb/s, both ways.
        (VoiceConfig { data_permille: 740, ..VoiceConfig::default() }, Refusal::DataPart),
    ] {
        let (mut manager, mut heard) = (inserted(voice), Heard::default());
        talk(&mut manager, 0..2_000, 3, 46, &mut heard);
        let before = heard.calls();
        assert_eq!(before.1, vec![], "{why:?}");
        talk(&mut manager, 2_000..4_000, 4, 46, &mut heard);
        let (admitted, refused, ended) = heard.calls();
        assert_eq!((admitted, refused, ended), (3, vec![why], 0));
        // The refused one is re-marked as ordinary traffic; it came marked as voice.
        let late = Instant::ZERO + Span::from_secs(3);
        let of_fourth = |(number, dscp, at): &&(u64, Option<u8>, Instant)| {
            (*number < 1_000_000 && number % 20 == 3 && *at >= late).then_some(*dscp)
        };
        let code_points: Vec<_> = heard.released.iter().filter_map(|release| of_fourth(&release)).collect();
        assert!(code_points.len() > 30 && code_points.iter().all(|dscp| *dscp == Some(0)), "{code_points:?}");
    }
}

/// As [`spoken`], in this codec.
fn spoken_in(codec: Codec, station: usize, ingress: Port, ms: u64) -> PacketMeta {
    let (payload_type, len) = match codec {
        Codec::G711 => (0, 200),
        Codec::G729 => (18, 60),
        // Its packets vary in size.
        Codec::Other => (111, 100 + ms / 20 % 5 * 10),
    };
    let mut meta = spoken(station, ingress, len, 0, ms);
    if let Content::Rtp(rtp) = &mut meta.content {
        rtp.payload_type = payload_type;
    }
    meta
}

/// Each station begins a call in its codec, one a second.
fn one_after_the_other(manager: &mut Manager<u64>, codecs: &[Codec]) -> Heard {
    let mut heard = Heard::default();
    for ms in 0..codecs.len() as u64 * 1_000 {
        let now = Instant::ZERO + Span::from_millis(ms);
        manager.handle_timeout(now);
        for (station, codec) in codecs.iter().enumerate() {
            if ms >= station as u64 * 1_000 && ms % 20 == station as u64 {
                manager.handle_packet(now, ms, &spoken_in(*codec, station, Port::Wire, ms));
                manager.handle_packet(now, ms, &spoken_in(*codec, station, Port::Wlan, ms));
            }
        }
        heard.drain(manager, now);
    }
    heard
}

/// The outcome of each new call, in order: its codec, and why it was refused.
fn became(heard: &Heard) -> Vec<(Codec, Option<Refusal>)> {
    let of = |event: &Event| match event {
        Event::CallAdmitted { codec, .. } => Some((*codec, None)),
        Event::CallRefused { codec, why, .. } => Some((*codec, Some(*why))),
        _ => None,
    };
    heard.events.iter().filter_map(of).collect()
}

#[test]
fn a_call_is_admitted_where_one_combination_of_codecs_covers_it_with_the_others() {
    use Codec::{G711, G729, Other};
    let combination = |g711, g729, other| Combination { g711, g729, other };
    let voice = |combinations: &[Combination]| VoiceConfig {
        combinations: combinations.to_vec(),
        data_permille: 0,
        ..VoiceConfig::default()
    };
    let full = Some(Refusal::Combination);
    let rows = [combination(3, 0, 0), combination(1, 2, 0), combination(0, 0, 1)];
    // The corner of the second row: no more of either codec, nor of one that the row does not contain.
    let heard = one_after_the_other(&mut inserted(voice(&rows)), &[G711, G729, G711, G729, G729, Other]);
    let expected = [(G711, None), (G729, None), (G711, full), (G729, None), (G729, full), (Other, full)];
    assert_eq!(became(&heard), expected);
    // Halfway between the first two rows is covered by neither.
    let heard = one_after_the_other(&mut inserted(voice(&rows)), &[G711, G711, G729, G711, G711]);
    assert_eq!(became(&heard), [(G711, None), (G711, None), (G729, full), (G711, None), (G711, full)]);
    // The other limits hold as well, and are the reported reason where both refuse.
    let codecs = VoiceConfig { codecs: vec![(G729, 1)], ..voice(&rows) };
    let heard = one_after_the_other(&mut inserted(codecs), &[G729, G729, G711, G711]);
    let expected = [(G729, None), (G729, Some(Refusal::Codec)), (G711, None), (G711, full)];
    assert_eq!(became(&heard), expected);
    let calls = VoiceConfig { calls: Some(2), ..voice(&rows) };
    let heard = one_after_the_other(&mut inserted(calls), &[G711, G711, G711]);
    assert_eq!(became(&heard), [(G711, None), (G711, None), (G711, Some(Refusal::Calls))]);
}

#[test]
fn new_combinations_hold_for_new_calls_only() {
    let voice = |g711| VoiceConfig {
        combinations: vec![Combination { g711, ..Combination::default() }],
        data_permille: 0,
        ..VoiceConfig::default()
    };
    let (mut manager, mut heard) = (inserted(voice(2)), Heard::default());
    talk(&mut manager, 0..2_000, 2, 46, &mut heard);
    let with = |voice: VoiceConfig| Config { voice: Some(voice.into()), ..config(&[rate(11_000); 8]) };
    let soon = Instant::ZERO + Span::from_millis(2_000);
    manager.handle_command(soon, Command::Reconfigure(with(voice(1)).into()));
    talk(&mut manager, 2_000..4_000, 3, 46, &mut heard);
    assert_eq!(heard.calls(), (2, vec![Refusal::Combination], 0), "no call is cut off");
    assert_eq!(manager.report(soon).calls.iter().filter(|call| call.refused.is_none()).count(), 2);
}

#[test]
fn combinations_that_admit_nothing_more_are_refused() {
    let some = |g711, g729| Combination { g711, g729, other: 0 };
    let check = |combinations: &[Combination]| {
        let voice = VoiceConfig { combinations: combinations.to_vec(), ..VoiceConfig::default() };
        Config { voice: Some(voice.into()), ..config(&[]) }.check()
    };
    let wrong = |error| Err(ConfigError::Voice(error));
    assert_eq!(check(&[some(2, 0), some(0, 2), some(1, 1)]), Ok(()));
    assert_eq!(check(&[some(2, 0), some(0, 0)]), wrong(VoiceError::CombinationEmpty(1)));
    assert_eq!(check(&[some(2, 0), some(2, 1)]), wrong(VoiceError::CombinationCovered(0, 1)));
    assert_eq!(check(&[some(2, 0), some(2, 0)]), wrong(VoiceError::CombinationCovered(1, 0)));
    let many: Vec<_> = (0..101).map(|n| some(n, 100 - n)).collect();
    assert_eq!((check(&many[..100]), check(&many)), (Ok(()), wrong(VoiceError::Combinations(101))));
}

#[test]
fn each_contention_domain_has_its_own_room_for_calls() {
    for voice in [
        VoiceConfig { calls: Some(1), ..VoiceConfig::default() },
        // A call takes some 75 ms of a second at 11 Mb/s, both ways.
        VoiceConfig { data_permille: 900, ..VoiceConfig::default() },
    ] {
        let (mut manager, mut heard) = (inserted(voice.clone()), Heard::default());
        let name = |text: &str| text.parse().unwrap();
        let access_points = ["a", "b"].map(|text| AccessPoint::new(name(text))).into();
        let config = Config { access_points, voice: Some(voice.into()), ..config(&[rate(11_000); 8]) };
        manager.handle_command(Instant::ZERO, Command::Reconfigure(config.into()));
        for station in 0..4 {
            let place = Some(Place::Named(name(if station < 2 { "a" } else { "b" })));
            manager.handle_observation(Instant::ZERO, Observation::StationAt { mac: mac(station), place });
        }
        talk(&mut manager, 0..2_000, 4, 46, &mut heard);
        let (admitted, refused, ended) = heard.calls();
        assert_eq!((admitted, refused.len(), ended), (2, 2, 0), "{refused:?}");
        let of = |admitted: bool| {
            let calls = manager.report(Instant::ZERO).calls;
            let stations = calls.iter().filter(|call| call.refused.is_none() == admitted).map(|call| call.station);
            stations.collect::<Vec<_>>()
        };
        assert_eq!((of(true), of(false)), (vec![mac(0), mac(2)], vec![mac(1), mac(3)]));
    }
}

/// Two contention domains with room for one call each.
fn two_rooms() -> Manager<u64> {
    let voice = VoiceConfig { calls: Some(1), ..VoiceConfig::default() };
    let mut manager = inserted(voice.clone());
    let access_points = ["a", "b"].map(|text| AccessPoint::new(text.parse().unwrap())).into();
    let config = Config { access_points, voice: Some(voice.into()), ..config(&[rate(11_000); 8]) };
    manager.handle_command(Instant::ZERO, Command::Reconfigure(config.into()));
    manager
}

/// The stations of the calls with priority, and of the others.
fn callers(manager: &Manager<u64>) -> [Vec<MacAddr>; 2] {
    let calls = manager.report(Instant::ZERO).calls;
    let (first, others): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.refused.is_none());
    [first, others].map(|calls| calls.iter().map(|call| call.station).collect())
}

fn at_access_point(station: usize, place: &str) -> Observation {
    Observation::StationAt { mac: mac(station), place: Some(Place::Named(place.parse().unwrap())) }
}

#[test]
fn a_call_that_roams_is_checked_again_and_never_cut_off() {
    let (of, at) = (callers, at_access_point);
    let mut manager = two_rooms();
    let mut heard = Heard::default();
    for (station, place) in [(0, "a"), (1, "b"), (2, "b"), (3, "b")] {
        manager.handle_observation(Instant::ZERO, at(station, place));
    }
    talk(&mut manager, 0..2_000, 3, 46, &mut heard);
    assert_eq!(of(&manager), [vec![mac(0), mac(1)], vec![mac(2)]], "one on each medium, and one too many");
    let now = Instant::ZERO + Span::from_millis(2_000);
    let roamed = |heard: &Heard| {
        let over = heard.events.iter().filter_map(|event| match event {
            Event::CallRoamed { station, over, domain, .. } => Some((*station, domain.to_string(), *over)),
            _ => None,
        });
        over.collect::<Vec<_>>()
    };
    // There is no room in the new domain: this is reported, and the call keeps its priority.
    manager.handle_observation(now, at(0, "b"));
    heard.drain(&mut manager, now);
    assert_eq!(roamed(&heard), [(mac(0), "b".into(), Some(Refusal::Calls))]);
    assert_eq!(of(&manager), [vec![mac(0), mac(1)], vec![mac(2)]]);
    assert_eq!(manager.counters()[Counter::CallsOverLimit], 1);
    talk(&mut manager, 2_000..2_500, 4, 46, &mut heard);
    assert_eq!(of(&manager)[1], [mac(2), mac(3)], "whoever calls next is refused");
    // There is room in the old domain now: for one refused call, and not for a second one.
    let now = Instant::ZERO + Span::from_millis(2_500);
    manager.handle_observation(now, at(2, "a"));
    manager.handle_observation(now, at(3, "a"));
    heard.drain(&mut manager, now);
    assert_eq!(of(&manager), [vec![mac(0), mac(1), mac(2)], vec![mac(3)]]);
    assert_eq!(heard.calls().0, 3);
    // A call that roams to a domain with room is reported as well.
    manager.handle_observation(now, at(3, "default"));
    manager.handle_observation(now, at(1, "nowhere"));
    heard.drain(&mut manager, now);
    assert_eq!(roamed(&heard)[1..], [(mac(1), "default".into(), Some(Refusal::Calls))]);
}

#[test]
fn a_call_that_ends_makes_room_for_another() {
    let (mut manager, mut heard) =
        (inserted(VoiceConfig { calls: Some(1), ..VoiceConfig::default() }), Heard::default());
    talk(&mut manager, 0..1_000, 2, 46, &mut heard);
    assert_eq!(heard.calls(), (1, vec![Refusal::Calls], 0));
    talk(&mut manager, 1_000..13_000, 0, 46, &mut heard);
    assert_eq!(heard.calls().2, 2, "both have ended");
    talk(&mut manager, 13_000..14_000, 1, 46, &mut heard);
    assert_eq!(heard.calls().0, 2);
}

#[test]
fn two_flows_of_one_telephone_are_one_call_and_two_pairs_are_two() {
    let (mut manager, mut heard) = (inserted(VoiceConfig::default()), Heard::default());
    for n in 0..60 {
        let now = Instant::ZERO + Span::from_millis(20 * n);
        for (ingress, port) in [(Port::Wlan, 1), (Port::Wire, 2)] {
            let mut meta = spoken(0, ingress, 200, 0, 20 * n);
            let ports = if ingress == Port::Wlan { (20_000 + port, 30_000) } else { (30_000, 20_000 + port) };
            meta.ip.as_mut().unwrap().transport = Transport::Udp { src_port: ports.0, dst_port: ports.1 };
            manager.handle_packet(now, n, &meta);
        }
        heard.drain(&mut manager, now);
    }
    assert_eq!(heard.calls().0, 1);
    talk(&mut manager, 2_000..3_000, 1, 0, &mut heard);
    assert_eq!(heard.calls().0, 2, "a flow that goes both ways is one more");
}

#[test]
fn a_flood_in_the_shape_of_a_call_waits_its_turn() {
    let (mut manager, mut heard) = (inserted(VoiceConfig::default()), Heard::default());
    talk(&mut manager, 0..1_000, 1, 46, &mut heard);
    let now = Instant::ZERO + Span::from_millis(1_000);
    let passed = manager.counters()[Counter::CallsPackets];
    for n in 0..500 {
        manager.handle_packet(now, n, &speech(0, Port::Wire, 200, 46));
    }
    let burst = manager.counters()[Counter::CallsPackets] - passed;
    assert!((10..=21).contains(&burst), "200 ms at twice the pace pass, {burst} did");
    // Large packets end it.
    manager.handle_packet(now, 9_999, &speech(0, Port::Wire, 1_200, 46));
    heard.drain(&mut manager, now);
    assert_eq!(heard.calls().2, 1);
}

#[test]
fn without_settings_of_voice_no_call_is_detected() {
    let mut config = config(&[rate(11_000); 8]);
    config.voice = None;
    let mut manager = Manager::new(config, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    let mut heard = Heard::default();
    talk(&mut manager, 0..2_000, 2, 46, &mut heard);
    assert_eq!(heard.calls(), (0, vec![], 0));
    assert!(heard.released.iter().all(|(_, dscp, _)| dscp.is_none()));
}

#[test]
fn a_steady_pace_alone_is_no_call() {
    let (mut manager, mut heard) = (inserted(VoiceConfig::default()), Heard::default());
    for n in 0..500 {
        let now = Instant::ZERO + Span::from_millis(20 * n);
        manager.handle_packet(now, n, &speech(0, Port::Wire, 200, 0));
        manager.handle_packet(now, n, &speech(0, Port::Wlan, 200, 0));
        heard.drain(&mut manager, now);
    }
    assert_eq!(heard.calls(), (0, vec![], 0));
}

#[test]
fn the_quality_of_a_call_is_reported_both_ways() {
    let (mut manager, mut heard) = (inserted(VoiceConfig::default()), Heard::default());
    for n in 0..500u64 {
        let now = Instant::ZERO + Span::from_millis(20 * n);
        manager.handle_timeout(now);
        // From the wire every tenth packet is missing; from the station every other comes 4 ms late.
        if n % 10 != 9 {
            manager.handle_packet(now, n, &spoken(0, Port::Wire, 200, 0, 20 * n));
        }
        let late = now + Span::from_millis(if n % 2 == 0 { 0 } else { 4 });
        manager.handle_packet(late, n, &spoken(0, Port::Wlan, 200, 0, 20 * n));
        heard.drain(&mut manager, late);
    }
    let report = manager.report(Instant::ZERO).calls.remove(0);
    let (down, up) = (report.to_station, report.from_station);
    let found_after = 7;
    assert!(down.packets >= 450 - found_after - 2 && up.packets >= 500 - found_after - 2, "{report:?}");
    assert!((48..=50).contains(&down.lost.unwrap()), "{down:?}");
    assert_eq!((up.lost, down.dropped, up.dropped, up.hop_mean), (Some(0), 0, 0, None));
    assert_eq!((down.waited_most, down.gap), (Span::ZERO, Span::from_millis(20)));
    // Differences of 4 ms each come to a jitter of 4 ms.
    let jitter = up.jitter.unwrap();
    assert!(Span::from_millis(3) < jitter && jitter <= Span::from_millis(4), "{jitter}");
    assert!(down.jitter.unwrap() < Span::from_micros(100) && down.hop_mean.unwrap() > Span::ZERO, "{down:?}");
}

#[test]
fn a_refused_call_reports_its_losses_here_and_its_end_reports_all() {
    let voice = VoiceConfig { calls: Some(0), ..VoiceConfig::default() };
    let (mut manager, mut heard) = (inserted(voice), Heard::default());
    talk(&mut manager, 0..1_000, 1, 46, &mut heard);
    // Nothing is heard from the WLAN any more: its packets wait, and are dropped in the end.
    let mut now = Instant::ZERO + Span::from_millis(1_000);
    for n in 0..4_000u64 {
        now += Span::from_micros(500);
        let seq = 3_000_000 + n as u32 * SEGMENT as u32;
        manager.handle_packet(
            now,
            5_000_000 + n,
            &packet(Port::Wire, 7, 1, Segment::new(TcpFlags::ACK, seq, 1, SEGMENT)),
        );
        if n % 2 == 0 {
            manager.handle_packet(now, n, &spoken(0, Port::Wire, 200, 46, 1_000 + n / 2 * 20));
        }
        heard.drain(&mut manager, now);
    }
    talk(&mut manager, 4_000..20_000, 0, 0, &mut heard);
    let ended: Vec<_> = heard.events.iter().filter(|event| matches!(event, Event::CallEnded { .. })).collect();
    let [Event::CallEnded { admitted: false, speech, lasted, codec: Codec::G711, .. }] = ended[..] else {
        panic!("{ended:?}")
    };
    let [down, _] = **speech;
    assert!(down.packets > 2_000 && *lasted > Span::from_secs(10), "{down:?} {lasted}");
    assert!(down.dropped > 100 && down.dropped < down.packets, "{down:?}");
    assert!(down.waited_most > Span::from_millis(20), "{down:?}");
    assert_eq!(manager.counters()[Counter::CallsEnded], 1);
}

/// A SIP message of station 0 in which one end describes where it receives speech.
fn signal(ingress: Port, call: u64, step: SipStep, stream: Option<SdpStream>) -> PacketMeta {
    let mut meta = speech(0, ingress, 500, 0);
    meta.ip.as_mut().unwrap().transport = Transport::Udp { src_port: 5060, dst_port: 5060 };
    let streams = stream.into_iter().collect();
    PacketMeta { content: Content::Sip(SipMeta { call, step, streams }.into()), ..meta }
}

/// The station's receiving end, in G.729 with a dynamic payload type.
fn agreed() -> SdpStream {
    let address = speech(0, Port::Wire, 60, 0).ip.unwrap().dst;
    SdpStream { address, port: 20_000, payload_type: 101, encoding: Encoding::G729, clock_hz: 8_000, packet_ms: 20 }
}

/// One packet of that call, in either direction.
fn agreed_speech(ingress: Port, n: u64) -> PacketMeta {
    let mut meta = spoken(0, ingress, 60, 0, 20 * n);
    if let Content::Rtp(rtp) = &mut meta.content {
        rtp.payload_type = 101;
    }
    meta
}

#[test]
fn a_negotiated_call_is_admitted_at_its_first_packet_and_ends_with_its_dialog() {
    let (mut manager, mut heard) = (inserted(VoiceConfig::default()), Heard::default());
    let at = |ms| Instant::ZERO + Span::from_millis(ms);
    manager.handle_packet(at(0), 1, &signal(Port::Wlan, 77, SipStep::Offer, Some(agreed())));
    manager.handle_packet(at(500), 2, &signal(Port::Wire, 77, SipStep::Answer, None));
    heard.drain(&mut manager, at(500));
    assert_eq!(heard.calls(), (0, vec![], 0), "nobody speaks yet");
    manager.handle_packet(at(600), 3, &agreed_speech(Port::Wire, 0));
    heard.drain(&mut manager, at(600));
    assert_eq!(heard.calls(), (1, vec![], 0));
    let call = manager.report(at(600)).calls.remove(0);
    assert_eq!((call.codec, call.to_station.gap), (Codec::G729, Span::from_millis(20)));
    for n in 1..50 {
        manager.handle_packet(at(600 + 20 * n), 10 + n, &agreed_speech(Port::Wire, n));
        manager.handle_packet(at(600 + 20 * n), 100 + n, &agreed_speech(Port::Wlan, n));
    }
    let call = manager.report(at(1_600)).calls.remove(0);
    assert_eq!((call.to_station.lost, call.from_station.packets), (Some(0), 49));
    // The end of another dialog, or a message of another station, has no effect.
    manager.handle_packet(at(1_700), 5, &signal(Port::Wire, 78, SipStep::End, None));
    let mut foreign = signal(Port::Wlan, 77, SipStep::End, None);
    foreign.src = mac(3);
    foreign.ip.as_mut().unwrap().src = speech(3, Port::Wlan, 60, 0).ip.unwrap().src;
    manager.handle_packet(at(1_700), 6, &foreign);
    heard.drain(&mut manager, at(1_700));
    assert_eq!(heard.calls().2, 0);
    manager.handle_packet(at(1_800), 7, &signal(Port::Wire, 77, SipStep::End, None));
    heard.drain(&mut manager, at(1_800));
    assert_eq!((heard.calls().2, manager.report(at(1_800)).calls.len()), (1, 0));
    // Remaining packets make no new call; nor does the call end twice.
    for n in 60..90 {
        manager.handle_packet(at(600 + 20 * n), 200 + n, &agreed_speech(Port::Wlan, n));
    }
    (3..30).for_each(|s| manager.handle_timeout(at(1_000 * s)));
    heard.drain(&mut manager, at(30_000));
    assert_eq!(heard.calls(), (1, vec![], 1));
}

#[test]
fn a_description_makes_no_call_of_other_packets() {
    let (mut manager, mut heard) = (inserted(VoiceConfig::default()), Heard::default());
    manager.handle_packet(Instant::ZERO, 1, &signal(Port::Wlan, 77, SipStep::Offer, Some(agreed())));
    for n in 0..200 {
        let now = Instant::ZERO + Span::from_millis(20 * n);
        manager.handle_packet(now, 2 + n, &speech(0, Port::Wire, 60, 0));
        heard.drain(&mut manager, now);
    }
    // Much later the description has expired.
    let late = Instant::ZERO + Span::from_secs(400);
    manager.handle_timeout(late);
    manager.handle_packet(late, 900, &agreed_speech(Port::Wire, 1));
    heard.drain(&mut manager, late);
    assert_eq!(heard.calls(), (0, vec![], 0));
}

/// RTP of G.711 between station 0 and one port of the other end.
fn spoken_at(port: u16, ingress: Port, ms: u64) -> PacketMeta {
    let mut meta = spoken(0, ingress, 200, 46, ms);
    let (own, other) = (20_000 + port, 30_000 + port);
    let (src_port, dst_port) = if ingress == Port::Wlan { (own, other) } else { (other, own) };
    meta.ip.as_mut().unwrap().transport = Transport::Udp { src_port, dst_port };
    meta
}

#[test]
fn one_direction_alone_is_no_call_until_the_other_speaks_or_signals() {
    for alone in [Port::Wire, Port::Wlan] {
        let (mut manager, mut heard) = (inserted(VoiceConfig::default()), Heard::default());
        for n in 0..100 {
            let now = Instant::ZERO + Span::from_millis(20 * n);
            manager.handle_packet(now, n, &spoken_at(0, alone, 20 * n));
            heard.drain(&mut manager, now);
        }
        let now = Instant::ZERO + Span::from_secs(2);
        assert_eq!((heard.calls(), manager.report(now).calls.len()), ((0, vec![], 0), 0), "{alone:?}");
        assert_eq!(manager.counters()[Counter::CallsPackets], 0);
        // Replies that are not speech change nothing.
        for n in 100..200 {
            let now = Instant::ZERO + Span::from_millis(20 * n);
            manager.handle_packet(now, n, &spoken_at(0, alone, 20 * n));
            manager.handle_packet(now, n, &speech(0, alone.opposite(), 60, 0));
            heard.drain(&mut manager, now);
        }
        assert_eq!(heard.calls().0, 0, "{alone:?}");
        for n in 200..210 {
            let now = Instant::ZERO + Span::from_millis(20 * n);
            for ingress in [alone, alone.opposite()] {
                manager.handle_packet(now, n, &spoken_at(0, ingress, 20 * n));
            }
            heard.drain(&mut manager, now);
        }
        assert_eq!(heard.calls(), (1, vec![], 0), "{alone:?}");
    }
}

#[test]
fn a_fourth_call_of_a_station_is_refused_and_another_station_has_its_own() {
    let voice = VoiceConfig { data_permille: 0, ..VoiceConfig::default() };
    let (mut manager, mut heard) = (inserted(voice), Heard::default());
    for n in 0..50 {
        let now = Instant::ZERO + Span::from_millis(20 * n);
        for port in 0..5 {
            for ingress in [Port::Wire, Port::Wlan] {
                manager.handle_packet(now, n, &spoken_at(port, ingress, 20 * n));
            }
        }
        heard.drain(&mut manager, now);
    }
    assert_eq!(heard.calls(), (3, vec![Refusal::Station, Refusal::Station], 0));
    assert_eq!((manager.counters()[Counter::CallsAdmitted], manager.counters()[Counter::CallsRefused]), (3, 2));
    for ms in (1_000..2_000).step_by(20) {
        let now = Instant::ZERO + Span::from_millis(ms);
        for ingress in [Port::Wire, Port::Wlan] {
            manager.handle_packet(now, ms, &spoken(1, ingress, 200, 46, ms));
        }
        heard.drain(&mut manager, now);
    }
    assert_eq!(heard.calls().0, 4);
}
