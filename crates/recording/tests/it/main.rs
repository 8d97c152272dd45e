//! Recordings stay readable: the corpus of recordings by earlier builds, and the compatibility of the format.
//!
//! The corpus is `tests/data/recordings`. Its last file is the output of this build for [`sample::inputs`], which has
//! every kind of input. When the format grows (a new field, input, observation, queue discipline, header of a packet):
//!
//! 1. give the new field a number of its own on its type, never one that was used before, and a value for recordings
//!    without it: an `Option` is `None`, `#[cbor(default)]` its type's default, `#[cbor(decode_with = .., nil = ..)]`
//!    any other;
//! 2. add it to [`sample`]; the compiler asks for it where it can;
//! 3. write a new file with `cargo test -p evenair-recording --test it -- --ignored write_a_recording` and add it to
//!    [`CORPUS`] with a number one higher.
//!
//! A file of the corpus is never changed and never deleted: it proves that recordings of its time can be read. When the
//! manager's decisions change, only the digest of the last file is rewritten, by the same command, which leaves an
//! unchanged recording alone.

mod packets;
mod redaction;
mod sample;

use evenair_manager::{Command, Config, Manager, Observation};
use evenair_packet::{Content, PacketMeta, Transport};
use evenair_recording::{DecisionLog, Input, Player, Recorder, ReplayError, replay};
use evenair_units::Instant;
use minicbor::data::Type;
use minicbor::{Decoder, Encoder};

/// Recordings, oldest first.
const CORPUS: [(&str, &[u8]); 11] = [
    ("15-1", include_bytes!("../data/recordings/15-1.recording")),
    ("15-2", include_bytes!("../data/recordings/15-2.recording")),
    ("15-3", include_bytes!("../data/recordings/15-3.recording")),
    ("15-4", include_bytes!("../data/recordings/15-4.recording")),
    ("15-5", include_bytes!("../data/recordings/15-5.recording")),
    ("15-6", include_bytes!("../data/recordings/15-6.recording")),
    ("15-7", include_bytes!("../data/recordings/15-7.recording")),
    ("15-8", include_bytes!("../data/recordings/15-8.recording")),
    ("15-9", include_bytes!("../data/recordings/15-9.recording")),
    ("15-10", include_bytes!("../data/recordings/15-10.recording")),
    ("15-11", include_bytes!("../data/recordings/15-11.recording")),
];

/// The digest of this build's decisions on the last of them.
const DIGEST: &str = include_str!("../data/recordings/last.digest");

/// The recording of the sample by this build, and the decisions.
fn record_sample() -> (Vec<u8>, DecisionLog) {
    let start = Instant::from_nanos(5_000_000_000);
    let config = sample::config();
    let mut recorder = Recorder::new(&config, start);
    let mut manager = Manager::new(config, start);
    let mut log = DecisionLog::default();
    let mut now = start;
    for (after, input) in sample::inputs(start) {
        now += after;
        match input {
            Input::Packet(number, meta) => {
                recorder.packet(now, number, &meta);
                manager.handle_packet(now, number, &meta);
            }
            Input::Timeout => {
                recorder.timeout(now);
                manager.handle_timeout(now);
            }
            Input::Command(command) => {
                recorder.command(now, &command);
                manager.handle_command(now, command);
            }
            Input::Observation(observation) => {
                recorder.observation(now, &observation);
                manager.handle_observation(now, observation);
            }
            Input::Lease(hop, lease) => {
                recorder.lease(now, hop, lease);
                manager.handle_lease(now, hop, lease);
            }
        }
        while let Some(output) = manager.poll_output() {
            log.decision(now, &output, |number| *number);
        }
    }
    (recorder.take(), log)
}

fn digest(log: &DecisionLog) -> String {
    format!("{}-{:016x}\n", log.as_bytes().len(), log.digest())
}

fn inputs(recording: &[u8]) -> Vec<Input> {
    let mut player = Player::new(recording).expect("it begins as a recording");
    std::iter::from_fn(|| player.next_input().expect("readable").map(|(_, input)| input)).collect()
}

#[test]
fn every_recording_of_the_corpus_is_read_and_replayed() {
    for (name, recording) in CORPUS {
        let (log, end) = replay(recording).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(end, Ok(()), "{name}");
        assert!(log.as_bytes().len() > 1_000, "{name}: the manager decided something");
    }
}

#[test]
fn the_last_recording_of_the_corpus_is_what_this_build_writes_and_decides() {
    let (recorded, log) = record_sample();
    let (name, last) = CORPUS[CORPUS.len() - 1];
    assert!(recorded == last, "{name} is not what this build writes: add a new recording (see the top of this file)");
    assert_eq!(replay(last).expect("a recording").0, log);
    assert_eq!(digest(&log), DIGEST, "the decisions on {name} are others than before: write its digest anew");
}

/// The kinds of inputs. The compiler requires a new one here; then the corpus needs it, too.
fn kind(input: &Input) -> &'static str {
    match input {
        Input::Timeout => "timeout",
        Input::Lease(..) => "lease",
        Input::Command(Command::Insert) => "insert",
        Input::Command(Command::Bypass) => "bypass",
        Input::Command(Command::Reconfigure(_)) => "reconfigure",
        Input::Observation(Observation::StationRate { .. }) => "rate",
        Input::Observation(Observation::AccessPointLosses { .. }) => "losses",
        Input::Observation(Observation::RateReport(_)) => "report",
        Input::Observation(Observation::Bridged { .. }) => "bridged",
        Input::Observation(Observation::StationNetwork { .. }) => "network",
        Input::Observation(Observation::StationGroup { .. }) => "group",
        Input::Observation(Observation::StationAt { .. }) => "place",
        Input::Observation(Observation::StationGone { .. }) => "gone",
        Input::Packet(_, PacketMeta { content: Content::Rtp(_), .. }) => "RTP",
        Input::Packet(_, PacketMeta { content: Content::Sip(_), .. }) => "SIP",
        Input::Packet(_, PacketMeta { content: Content::Claim(_), .. }) => "ARP",
        Input::Packet(_, PacketMeta { content: Content::Lease(_), .. }) => "DHCP",
        Input::Packet(_, PacketMeta { content: Content::Membership(_), .. }) => "membership",
        Input::Packet(_, PacketMeta { content: Content::Opaque, ip, .. }) => {
            match ip.as_ref().map(|ip| &ip.transport) {
                None => "no IP",
                Some(Transport::Tcp(_)) => "TCP",
                Some(Transport::Udp { .. }) => "UDP",
                Some(Transport::Icmp { .. }) => "ICMP",
                Some(Transport::Other) => "other",
            }
        }
    }
}

#[test]
fn the_last_recording_has_every_kind_of_input() {
    let found: std::collections::BTreeSet<_> = inputs(CORPUS[CORPUS.len() - 1].1).iter().map(kind).collect();
    let expected = [
        "timeout",
        "lease",
        "insert",
        "bypass",
        "reconfigure",
        "rate",
        "losses",
        "membership",
        "report",
        "bridged",
        "network",
        "group",
        "place",
        "gone",
        "RTP",
        "SIP",
        "ARP",
        "DHCP",
        "no IP",
        "TCP",
        "UDP",
        "ICMP",
        "other",
    ];
    assert_eq!(found, expected.into());
}

#[test]
fn a_damaged_recording_with_every_kind_of_input_is_an_error_or_another_recording_but_no_panic() {
    let mut bytes = CORPUS[CORPUS.len() - 1].1.to_vec();
    for (from, mask) in [0x01, 0x04, 0x20, 0x80, 0xff].into_iter().enumerate() {
        for at in (from..bytes.len()).step_by(5) {
            bytes[at] ^= mask;
            let outcome = std::panic::catch_unwind(|| replay(&bytes).is_ok());
            assert!(outcome.is_ok(), "byte {at} of {}, mask {mask:#x}", bytes.len());
            bytes[at] ^= mask;
        }
    }
}

/// The core's tests include these files at compile time; only this test writes one.
#[test]
#[ignore = "writes a file of the corpus"]
#[allow(clippy::disallowed_methods)] // not a part of the core
fn write_a_recording() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recordings");
    let (recorded, log) = record_sample();
    let (name, last) = CORPUS[CORPUS.len() - 1];
    if recorded != last {
        let (version, number) = name.split_once('-').expect("version and number");
        let number = number.parse::<u32>().expect("a number") + u32::from(!last.is_empty());
        std::fs::write(folder.join(format!("{version}-{number}.recording")), &recorded).expect("writable");
    }
    std::fs::write(folder.join("last.digest"), digest(&log)).expect("writable");
}

fn written(config: &Config) -> Vec<u8> {
    let mut bytes = Vec::new();
    minicbor::encode(config, &mut bytes).expect("a vector takes any bytes");
    bytes
}

#[test]
fn configurations_read_back_and_cut_ones_are_errors() {
    for config in sample::configs() {
        let bytes = written(&config);
        assert_eq!(minicbor::decode::<Config>(&bytes).expect("as written"), config);
        for cut in 0..bytes.len() {
            let error = minicbor::decode::<Config>(&bytes[..cut]).expect_err("cut");
            assert!(error.is_end_of_input(), "{cut} of {}: {error}", bytes.len());
        }
    }
}

#[test]
fn fields_of_later_builds_are_skipped() {
    let config = sample::config();
    let plain = written(&config);
    let mut decoder = Decoder::new(&plain);
    let fields = decoder.map().expect("a map").expect("of a known length");
    let mut later = Vec::new();
    let mut encoder = Encoder::new(&mut later);
    // In front of the others, so that these are read after it.
    encoder.map(fields + 1).unwrap().u32(999).unwrap().array(2).unwrap().str("a new key").unwrap().bool(true).unwrap();
    later.extend_from_slice(&plain[decoder.position()..]);
    assert_eq!(minicbor::decode::<Config>(&later).expect("readable"), config);
}

#[test]
fn optional_fields_that_an_earlier_build_did_not_write_are_absent() {
    let config = sample::config();
    let plain = written(&config);
    let mut decoder = Decoder::new(&plain);
    let fields = decoder.map().expect("a map").expect("of a known length");
    let (mut kept, mut count) = (Vec::new(), 0);
    for _ in 0..fields {
        let from = decoder.position();
        let number = decoder.u32().expect("a number");
        assert_ne!(decoder.datatype().expect("a value"), Type::Null, "an absent field is not written");
        decoder.skip().expect("a value");
        // The Internet link, and calls.
        if ![13, 14].contains(&number) {
            kept.extend_from_slice(&plain[from..decoder.position()]);
            count += 1;
        }
    }
    assert_eq!(count, fields - 2);
    let mut earlier = Vec::new();
    Encoder::new(&mut earlier).map(count).unwrap();
    earlier.extend(kept);
    let read = minicbor::decode::<Config>(&earlier).expect("readable");
    assert_eq!(read, Config { wan: None, voice: None, ..config });
}

#[test]
fn another_version_and_an_unknown_input_are_named() {
    let mut bytes = Recorder::new(&sample::config(), Instant::ZERO).take();
    let at = bytes.len();
    // An input of an unknown kind: [now, [99]].
    bytes.extend([0x82, 0, 0x81, 0x18, 99]);
    let (_, end) = replay(&bytes).expect("it begins as a recording");
    assert!(
        matches!(&end, Err(ReplayError::Broken { at: found, error }) if *found == at && error.contains("99")),
        "{end:?}"
    );
    bytes[7] = 14;
    assert_eq!(replay(&bytes), Err(ReplayError::Version(14)));
    assert_eq!(replay(&bytes[..7]), Err(ReplayError::NotARecording));
}

#[test]
fn an_unknown_queue_discipline_is_an_error() {
    let config = sample::configs().into_iter().find(|config| config.queue.is_some()).expect("one has a discipline");
    let mut recorder = Recorder::new(&sample::config(), Instant::ZERO);
    let at = recorder.clone().take().len();
    recorder.command(Instant::ZERO, &Command::Reconfigure(config.into()));
    let mut bytes = recorder.take();
    assert_eq!(replay(&bytes).expect("a recording").1, Ok(()));
    // FIFO without a limit.
    let known = [0x82, 0, 0x81, 0x82, 2, 0x80];
    let discipline = bytes.windows(known.len()).position(|bytes| bytes == known).expect("it is there");
    bytes[discipline + 1] = 23;
    let (_, end) = replay(&bytes).expect("it begins as a recording");
    assert!(matches!(&end, Err(ReplayError::Broken { at: found, .. }) if *found == at), "{end:?}");
}

#[test]
fn an_instant_that_no_clock_reaches_is_refused() {
    let late = Instant::from_nanos(11 * 365 * 86_400 * 1_000_000_000);
    let recorder = || Recorder::new(&sample::config(), Instant::ZERO);
    let mut timeout = recorder();
    timeout.timeout(late);
    let mut lease = recorder();
    let (from, until) = (Instant::ZERO, late);
    lease.lease(Instant::ZERO, evenair_manager::Hop::InternetUp, evenair_manager::Lease { from, until });
    for mut recorder in [timeout, lease] {
        let (_, end) = replay(&recorder.take()).expect("it begins as a recording");
        assert!(matches!(&end, Err(ReplayError::Broken { error, .. }) if error.contains("instant")), "{end:?}");
    }
    let mut begins = Recorder::new(&sample::config(), late);
    assert!(matches!(replay(&begins.take()), Err(ReplayError::Broken { at: 8, .. })));
}

#[test]
fn a_length_without_its_items_asks_for_no_memory() {
    let plain = written(&sample::config());
    let mut errors = 0;
    // An array of 2^63 items, a map of as many, or text or bytes of such a length, begins at each byte in turn:
    // allocating that capacity would panic.
    for at in 0..plain.len() {
        for begins in [0x9b, 0xbb, 0x7b, 0x5b] {
            let mut bytes = plain[..at].to_vec();
            bytes.push(begins);
            bytes.extend((1_u64 << 63).to_be_bytes());
            bytes.extend_from_slice(&plain[at..]);
            errors += usize::from(minicbor::decode::<Config>(&bytes).is_err());
        }
    }
    // All except those in the middle of a name, which may happen to be valid.
    assert!(errors > plain.len() * 4 * 9 / 10, "{errors} of {}", plain.len() * 4);
}
