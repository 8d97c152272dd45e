//! Both ends of an agreement under losses of any pattern.

use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Span};
use proptest::prelude::*;

use super::{Completion, Load, Originator, Recipient};

const LOAD: Load = Load { arrival: 0, packets: 1, bytes: Bytes(1_500) };
const LIMIT: u32 = 4;
const WINDOW: usize = 8;
const TIMEOUT: Span = Span::from_millis(100);

/// What becomes of one access: which MPDUs are lost, whether its answer is, and how long it takes.
#[derive(Clone, Debug)]
struct Fate {
    lost: u16,
    answered: bool,
    takes: Span,
    /// A BlockAckReq follows where MPDUs were given up.
    requests: bool,
}

fn fate() -> impl Strategy<Value = Fate> {
    let lost = prop_oneof![2 => Just(0u16), 3 => any::<u16>(), 1 => Just(u16::MAX)];
    (lost, prop::bool::weighted(0.8), 1..60u64, any::<bool>()).prop_map(|(lost, answered, ms, requests)| Fate {
        lost,
        answered,
        takes: Span::from_millis(ms),
        requests,
    })
}

proptest! {
    #[test]
    fn all_come_up_in_order_and_once_but_those_given_up_and_none_is_held_longer_than_the_timeout(
        fates in prop::collection::vec(fate(), 1..80),
    ) {
        let (mut originator, mut recipient) = (Originator::new(), Recipient::new());
        recipient.window = WINDOW as u16;
        let (mut now, mut next) = (Instant::ZERO, 0u64);
        let (mut up, mut given_up) = (Vec::<(u64, Instant)>::new(), Vec::new());
        let mut late = Vec::new();
        let mut came = alloc::collections::BTreeMap::new();
        for fate in fates {
            // Whatever is due before the next access.
            let until = now + fate.takes;
            while let Some(due) = recipient.deadline(TIMEOUT).filter(|&due| due <= until) {
                recipient.expire(due, TIMEOUT, |payload| up.push((payload, due)));
            }
            now = until;
            while originator.len() < WINDOW {
                originator.push(next, Bytes(1_538), LOAD);
                next += 1;
            }
            let burst: Vec<usize> = (0..originator.len()).filter(|&place| originator.slot(place).is_due()).collect();
            burst.iter().for_each(|&place| originator.begin(place));
            let mut any = false;
            for &place in burst.iter().filter(|&&place| fate.lost & (1 << place) == 0) {
                any = true;
                let number = originator.start() + place as u64;
                if let Some(payload) = originator.slot_mut(place).payload.take() {
                    prop_assert_eq!(payload, number);
                    came.insert(payload, now);
                    late.extend(recipient.receive(now, number, payload, |payload| up.push((payload, now))));
                }
            }
            let before = given_up.len();
            originator.end_access(any && fate.answered, LIMIT, |_, completion| {
                if let Completion::GivenUp(payload) = completion {
                    given_up.push(payload);
                }
            });
            if given_up.len() > before && fate.requests {
                recipient.move_to(originator.start(), |payload| up.push((payload, now)));
            }
            prop_assert!(originator.len() <= WINDOW);
        }
        prop_assert!(up.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order and once: {:?}", up);
        for &(payload, at) in &up {
            let held = at - came[&payload];
            prop_assert!(held <= TIMEOUT, "{} was held for {:?}", payload, held);
        }
        // Each is up, held, given up, came too late, or is still to be sent.
        let held: Vec<u64> = recipient.abandon().collect();
        let mut all: Vec<u64> = up.iter().map(|&(payload, _)| payload).chain(held).chain(given_up).chain(late).collect();
        all.extend(originator.abandon().filter_map(|(_, payload)| payload));
        all.sort_unstable();
        prop_assert_eq!(all, (0..next).collect::<Vec<_>>(), "each once, none missing");
    }
}

#[test]
fn an_mpdu_is_given_up_after_its_last_transmission() {
    let mut originator = Originator::new();
    originator.push('a', Bytes(100), LOAD);
    originator.push('b', Bytes(100), LOAD);
    for attempt in 1..=LIMIT {
        originator.begin(0);
        let mut given_up = None;
        originator.end_access(true, LIMIT, |_, completion| {
            let Completion::GivenUp(payload) = completion else { panic!("it was not received") };
            given_up = Some(payload);
        });
        assert_eq!(given_up, (attempt == LIMIT).then_some('a'));
    }
    assert_eq!((originator.start(), originator.len()), (1, 1));
}

#[test]
fn what_was_received_without_an_answer_is_acknowledged_by_the_next_one() {
    let mut originator = Originator::new();
    (0..3).for_each(|number| originator.push(number, Bytes(100), LOAD));
    (0..3).for_each(|place| originator.begin(place));
    [0, 2].into_iter().for_each(|place| originator.slot_mut(place).payload = None);
    originator.end_access(false, LIMIT, |_, _| unreachable!());
    assert_eq!((originator.start(), originator.slots().filter(|slot| slot.is_due()).count()), (0, 3));
    originator.begin(1);
    originator.slot_mut(1).payload.take();
    let mut acknowledged = 0;
    originator
        .end_access(true, LIMIT, |_, completion| acknowledged += u32::from(matches!(completion, Completion::Received)));
    assert_eq!((acknowledged, originator.len()), (3, 0));
    assert_eq!(originator.start(), 3);
}

#[test]
fn a_request_gives_up_what_is_missing_before_it() {
    let mut recipient = Recipient::new();
    let mut up = Vec::new();
    [0, 2, 3, 5]
        .into_iter()
        .for_each(|n| assert_eq!(recipient.receive(Instant::ZERO, n, n, |payload| up.push(payload)), None));
    assert_eq!(up, [0]);
    recipient.move_to(2, |payload| up.push(payload));
    assert_eq!(up, [0, 2, 3]);
    recipient.move_to(9, |payload| up.push(payload));
    assert_eq!(up, [0, 2, 3, 5]);
    let late = recipient.receive(Instant::ZERO, 4, 4, |_| panic!("it lies behind the window"));
    assert_eq!(late, Some(4));
}
