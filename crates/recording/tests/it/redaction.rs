//! Redacted recordings: the same decisions, and nothing that identifies people and places.

use std::mem::discriminant;

use evenair_manager::{Manager, Output};
use evenair_recording::{Input, Player, ReplayError, decide_alike, redact};
use minicbor::Decoder;
use minicbor::data::Type;

use crate::{CORPUS, record_sample};

const KEY: [u8; 32] = [7; 32];

fn outputs(recording: &[u8]) -> Vec<Output<u64>> {
    let mut player = Player::new(recording).expect("a recording");
    let mut manager = Manager::<u64>::new(player.config().clone(), player.start());
    let mut outputs = Vec::new();
    while let Some((now, input)) = player.next_input().expect("whole") {
        match input {
            Input::Packet(number, meta) => manager.handle_packet(now, number, &meta),
            Input::Timeout => manager.handle_timeout(now),
            Input::Command(command) => manager.handle_command(now, command),
            Input::Observation(observation) => manager.handle_observation(now, observation),
            Input::Lease(hop, lease) => manager.handle_lease(now, hop, lease),
        }
        outputs.extend(std::iter::from_fn(|| manager.poll_output()));
    }
    outputs
}

/// Whether two decisions are equal apart from addresses and names of events.
fn is_alike(before: &Output<u64>, after: &Output<u64>) -> bool {
    match (before, after) {
        (Output::Event(before), Output::Event(after)) => discriminant(before) == discriminant(after),
        (Output::Probe { vlan: before, .. }, Output::Probe { vlan: after, .. }) => before == after,
        _ => before == after,
    }
}

#[test]
fn decisions_are_the_same() {
    let (sample, _) = record_sample();
    for (name, recording) in CORPUS.into_iter().chain([("sample", &sample[..])]) {
        let redacted = redact(recording, &KEY).expect("a recording");
        assert_eq!(redacted.cut, None, "{name}");
        let (before, after) = (outputs(recording), outputs(&redacted.bytes));
        assert_eq!(before.len(), after.len(), "{name}");
        let other = before.iter().zip(&after).find(|(before, after)| !is_alike(before, after));
        assert_eq!(decide_alike(recording, &redacted.bytes), Ok(true), "{name}");
        assert!(before.len() > 20 && other.is_none(), "{name}: {} outputs, {other:?}", before.len());
    }
}

/// Every address and text of a recording, in order.
fn values(recording: &[u8]) -> Vec<Vec<u8>> {
    let mut decoder = Decoder::new(recording);
    decoder.set_position(8);
    let mut values = Vec::new();
    while decoder.position() < recording.len() {
        match decoder.datatype().expect("an item") {
            Type::Bytes => values.push(decoder.bytes().expect("bytes").to_vec()),
            Type::String => values.push(decoder.str().expect("text").as_bytes().to_vec()),
            Type::Array => drop(decoder.array().expect("a list")),
            Type::Map => drop(decoder.map().expect("a map")),
            _ => decoder.skip().expect("a value"),
        }
    }
    values
}

/// Addresses that exist in every network: groups, broadcast, unspecified, loopback.
fn is_common(value: &[u8]) -> bool {
    match value {
        [first, _, _, _, _, _] => first & 1 == 1 || value == [0; 6],
        [first, _, _, _] => matches!(first, 0 | 127 | 224..),
        [first, ..] if value.len() == 16 => matches!(first, 0 | 0xff),
        _ => value.is_empty() || value == b"default",
    }
}

#[test]
fn no_address_and_no_name_is_left() {
    let (sample, _) = record_sample();
    let redacted = redact(&sample, &KEY).expect("a recording");
    let (before, after) = (values(&sample), values(&redacted.bytes));
    assert_eq!(before.len(), after.len());
    assert!(before.iter().filter(|value| !is_common(value)).count() > 50);
    for (before, after) in before.iter().zip(&after) {
        assert!(before != after || is_common(before), "{before:?} is left");
    }
}

#[test]
fn the_key_decides() {
    let (sample, _) = record_sample();
    let with = |key: u8| redact(&sample, &[key; 32]).expect("a recording").bytes;
    assert_eq!(with(1), with(1));
    assert_ne!(with(1), with(2));
}

#[test]
fn a_recording_that_is_cut_short_is_redacted_as_far_as_it_can_be_read() {
    let (sample, _) = record_sample();
    let redacted = redact(&sample[..sample.len() - 3], &KEY).expect("it begins as one");
    assert!(matches!(redacted.cut, Some(ReplayError::Broken { .. })), "{:?}", redacted.cut);
    assert!(outputs(&redacted.bytes).len() > 20);
    assert_eq!(redact(b"evenair?", &KEY), Err(ReplayError::Version(b'?')));
}
