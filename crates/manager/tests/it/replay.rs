//! A recording replayed gives the same decisions, to the byte.

use evenair_manager::{Config, ConfigError, Manager, Output};
use evenair_recording::{DecisionLog, Player, Recorder, ReplayError, replay};
use evenair_units::{Instant, Span};

use crate::conservation::{Session, Step, apply};

/// A recording of a random session and the decisions made in it. `change` may alter one step.
fn record(seed: u64, change: impl Fn(usize, &mut Step)) -> (Vec<u8>, DecisionLog, usize) {
    record_steps(20_000, seed, change)
}

fn record_steps(steps: usize, seed: u64, change: impl Fn(usize, &mut Step)) -> (Vec<u8>, DecisionLog, usize) {
    let mut session = Session::new(seed);
    let config = session.config();
    let mut recorder = Recorder::new(&config, session.now);
    let mut manager = Manager::new(config, session.now);
    let mut log = DecisionLog::default();
    let mut bytes = Vec::new();
    let mut drops = 0;
    for i in 0..steps {
        let mut step = session.step();
        change(i, &mut step);
        match &step {
            Step::Packet(number, meta) => recorder.packet(session.now, *number, meta),
            Step::Timeout => recorder.timeout(session.now),
            Step::Command(command) => recorder.command(session.now, command),
            Step::Observation(observation) => recorder.observation(session.now, observation),
        }
        apply(&mut manager, session.now, &step);
        while let Some(output) = manager.poll_output() {
            log.decision(session.now, &output, |number| *number);
            drops += usize::from(matches!(output, Output::Drop { .. }));
        }
        bytes.extend(recorder.take());
    }
    (bytes, log, drops)
}

#[test]
fn replays_are_identical() {
    for seed in 0..8 {
        let (bytes, log, drops) = record(seed, |_, _| {});
        let (replayed, end) = replay(&bytes).unwrap();
        assert_eq!(end, Ok(()));
        assert_eq!(replayed.as_bytes(), log.as_bytes());
        assert_eq!(replayed.digest(), log.digest());
        assert!(log.as_bytes().len() > 100_000 && drops > 0, "the session did something");
    }
}

#[test]
fn one_changed_input_changes_the_digest() {
    let (_, plain, _) = record(3, |_, _| {});
    for which in [0, 7_000, 19_000] {
        let changed = std::cell::Cell::new(false);
        let (bytes, other, _) = record(3, |i, step| {
            if let Step::Packet(_, meta) = step
                && i >= which
                && !changed.replace(true)
            {
                meta.ingress = meta.ingress.opposite();
            }
        });
        assert!(changed.get());
        assert_ne!(plain.digest(), other.digest(), "step {which}");
        assert_eq!(replay(&bytes).unwrap().0.digest(), other.digest());
    }
}

#[test]
fn broken_recordings_are_refused_where_they_break() {
    let (bytes, log, _) = record(5, |_, _| {});
    assert!(Player::new(b"not a recording").is_err());
    assert!(matches!(replay(&bytes[..20]), Err(ReplayError::Broken { .. })));
    let cut = bytes.len() - 3;
    let (part, end) = replay(&bytes[..cut]).unwrap();
    assert!(matches!(end, Err(ReplayError::Broken { at, .. }) if at < cut));
    assert!(log.as_bytes().starts_with(part.as_bytes()));
}

#[test]
fn a_damaged_recording_is_an_error_or_another_recording_but_no_panic() {
    for seed in [1, 6] {
        let (mut bytes, ..) = record_steps(40, seed, |i, step| {
            if i == 0 {
                *step = Step::Command(Box::new(evenair_manager::Command::Insert));
            }
        });
        for at in 0..bytes.len() {
            for mask in [0x01, 0x80, 0xff] {
                bytes[at] ^= mask;
                let outcome = std::panic::catch_unwind(|| replay(&bytes).is_ok());
                assert!(outcome.is_ok(), "seed {seed}, byte {at} of {}, mask {mask:#x}", bytes.len());
                bytes[at] ^= mask;
            }
        }
    }
}

#[test]
fn a_recording_that_no_manager_can_have_made_is_refused() {
    let (good, ..) = record_steps(1, 1, |_, _| {});
    let config = Player::new(&good).unwrap().config().clone();
    let refused = Config { drain_limit: Span::ZERO, ..config.clone() };
    let bytes = Recorder::new(&refused, Instant::ZERO).take();
    assert_eq!(replay(&bytes), Err(ReplayError::Config(ConfigError::ZeroSpan)));
    let mut recorder = Recorder::new(&config, Instant::from_nanos(2));
    recorder.timeout(Instant::from_nanos(2));
    let at = {
        let begun = recorder.clone().take().len();
        recorder.timeout(Instant::from_nanos(1));
        begun
    };
    assert_eq!(replay(&recorder.take()).unwrap().1, Err(ReplayError::TimeGoesBack { at }));
}
