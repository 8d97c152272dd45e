//! Queue of undelivered messages: their order, retries and expiry.
//!
//! Failed deliveries are retried after 30 s, 1 min, 2 min and so on up to an hour, with a random jitter of a fifth, for 24 h. The next
//! message to the same receiver waits, so that a recovery does not come before its alert; but no longer than about an hour, so that a
//! message that a receiver never accepts does not block the others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::notice::Notice;

/// Delay of the first retry, in seconds.
const FIRST_S: u64 = 30;
/// Longest delay between two attempts, in seconds.
const LONGEST_S: u64 = 60 * 60;
/// Age at which a message is given up, in seconds.
pub(crate) const GIVEN_UP_S: u64 = 24 * 60 * 60;
/// Maximum number of queued messages; further ones drop the oldest. The state is a file of at most a megabyte.
const MOST: usize = 64;
/// Failed attempts, about an hour of them, after which a message no longer blocks others.
const PATIENCE: u32 = 8;
/// Minimum number of attempts before a message is given up, whatever its age: a machine without a clock starts in 1970 and jumps ahead.
const FEWEST: u32 = 10;
/// Maximum number of reasons in a message.
pub(crate) const MOST_ITEMS: usize = 8;

/// A message to a receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Delivery {
    /// Id, for deduplication by the receiver.
    pub(crate) id: String,
    pub(crate) receiver: String,
    /// When it was created, in seconds since 1970.
    pub(crate) made_s: u64,
    /// Number of failed attempts.
    pub(crate) failed: u32,
    /// Time of the next attempt, in seconds since 1970.
    pub(crate) next_s: u64,
    pub(crate) notice: Notice,
}

/// A receiver whose last attempt failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Failing {
    /// Since when, in seconds since 1970.
    pub(crate) since_s: u64,
    /// Error of the last attempt.
    pub(crate) why: String,
    /// Number of messages given up.
    pub(crate) lost: u64,
}

/// All queued messages, the oldest first, and the failing receivers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Queue {
    deliveries: Vec<Delivery>,
    pub(crate) failing: BTreeMap<String, Failing>,
}

/// A message that was given up.
#[derive(Debug, PartialEq)]
pub(crate) struct GivenUp {
    pub(crate) receiver: String,
    pub(crate) made_s: u64,
    pub(crate) why: String,
}

impl Queue {
    /// Adds a message. Returns the one that was dropped for it.
    pub(crate) fn add(&mut self, delivery: Delivery) -> Option<GivenUp> {
        self.deliveries.push(delivery);
        if self.deliveries.len() <= MOST {
            return None;
        }
        Some(self.give_up(0, format!("there are more than {MOST} messages on their way")))
    }

    /// The message that is due now.
    pub(crate) fn due(&self, now_s: u64) -> Option<&Delivery> {
        let is_first = |index: usize, delivery: &Delivery| {
            let mut before = self.deliveries[..index].iter();
            before.all(|before| before.receiver != delivery.receiver || before.failed >= PATIENCE)
        };
        let mut deliveries = self.deliveries.iter().enumerate();
        // A clock that was set back delays a message by the longest delay at most.
        let is_due = |delivery: &Delivery| delivery.next_s <= now_s || delivery.next_s > now_s + 2 * LONGEST_S;
        deliveries
            .find(|(index, delivery)| is_due(delivery) && is_first(*index, delivery))
            .map(|(_, delivery)| delivery)
    }

    /// Removes a delivered message. Further ones to the same receiver are due at once.
    pub(crate) fn delivered(&mut self, id: &str, now_s: u64) {
        let Some(index) = self.place(id) else { return };
        let Delivery { receiver, .. } = self.deliveries.remove(index);
        self.failing.remove(&receiver);
        for delivery in self.deliveries.iter_mut().filter(|delivery| delivery.receiver == receiver) {
            delivery.next_s = delivery.next_s.min(now_s);
        }
    }

    /// Records a failed attempt; `chance` is a random number from 0 to 1. Returns the message if it was given up.
    pub(crate) fn failed(&mut self, id: &str, why: &str, now_s: u64, chance: f64) -> Option<GivenUp> {
        let index = self.place(id)?;
        let delivery = &mut self.deliveries[index];
        let failing = Failing { since_s: now_s, why: String::new(), lost: 0 };
        let failing = self.failing.entry(delivery.receiver.clone()).or_insert(failing);
        failing.why = why.to_owned();
        if now_s.saturating_sub(delivery.made_s) >= GIVEN_UP_S && delivery.failed >= FEWEST {
            return Some(self.give_up(index, why.to_owned()));
        }
        let pause_s = FIRST_S.saturating_mul(1 << delivery.failed.min(20)).min(LONGEST_S);
        delivery.failed += 1;
        delivery.next_s = now_s + (pause_s as f64 * (0.8 + 0.4 * chance)) as u64;
        None
    }

    /// Drops messages and failures of receivers that no longer exist.
    pub(crate) fn keep_only(&mut self, is_there: impl Fn(&str) -> bool) {
        self.deliveries.retain(|delivery| is_there(&delivery.receiver));
        self.failing.retain(|receiver, _| is_there(receiver));
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.deliveries.iter().position(|delivery| delivery.id == id)
    }

    fn give_up(&mut self, index: usize, why: String) -> GivenUp {
        let Delivery { receiver, made_s, .. } = self.deliveries.remove(index);
        if let Some(failing) = self.failing.get_mut(&receiver) {
            failing.lost += 1;
        }
        GivenUp { receiver, made_s, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(id: &str, receiver: &str, made_s: u64) -> Delivery {
        Delivery { id: id.into(), receiver: receiver.into(), made_s, failed: 0, next_s: made_s, notice: Notice::Test }
    }

    fn due(queue: &Queue, now_s: u64) -> Option<&str> {
        queue.due(now_s).map(|delivery| &*delivery.id)
    }

    #[test]
    fn attempts_get_rarer_for_a_day_and_then_end() {
        let mut queue = Queue::default();
        queue.add(delivery("a", "ops", 1000));
        let (mut now_s, mut pauses, mut lost) = (1000, Vec::new(), None);
        while lost.is_none() {
            assert_eq!(due(&queue, now_s), Some("a"));
            lost = queue.failed("a", "refused", now_s, 0.5);
            let next_s = queue.deliveries.first().map_or(now_s, |delivery| delivery.next_s);
            assert!(due(&queue, next_s.saturating_sub(1).max(now_s)).is_none() || lost.is_some());
            pauses.push(next_s - now_s);
            now_s = next_s;
        }
        assert_eq!(pauses[..8], [30, 60, 120, 240, 480, 960, 1920, 3600]);
        assert!((GIVEN_UP_S..GIVEN_UP_S + LONGEST_S).contains(&(now_s - 1000)), "{now_s}");
        assert_eq!(lost, Some(GivenUp { receiver: "ops".into(), made_s: 1000, why: "refused".into() }));
        assert_eq!(queue.failing["ops"], Failing { since_s: 1000, why: "refused".into(), lost: 1 });
    }

    #[test]
    fn chance_moves_an_attempt_by_a_fifth() {
        for (chance, next_s) in [(0.0, 24), (0.5, 30), (1.0, 36)] {
            let mut queue = Queue::default();
            queue.add(delivery("a", "ops", 0));
            queue.failed("a", "refused", 0, chance);
            assert_eq!(queue.deliveries[0].next_s, next_s);
        }
    }

    #[test]
    fn a_receiver_gets_messages_in_order_and_others_do_not_wait() {
        let mut queue = Queue::default();
        queue.add(delivery("a", "ops", 0));
        queue.add(delivery("b", "ops", 1));
        queue.add(delivery("c", "chat", 2));
        assert_eq!(due(&queue, 5), Some("a"));
        queue.failed("a", "refused", 5, 0.5);
        assert_eq!(due(&queue, 5), Some("c"));
        queue.delivered("c", 5);
        assert_eq!(due(&queue, 34), None);
        assert_eq!(due(&queue, 35), Some("a"));
        queue.delivered("a", 35);
        assert!(queue.failing.is_empty());
        assert_eq!(due(&queue, 35), Some("b"));
        queue.delivered("b", 35);
        assert_eq!(due(&queue, 1_000_000), None);
    }

    #[test]
    fn a_message_that_is_never_taken_does_not_hold_up_the_others() {
        let mut queue = Queue::default();
        queue.add(delivery("a", "ops", 0));
        queue.add(delivery("b", "ops", 1));
        let mut now_s = 0;
        while due(&queue, now_s) != Some("b") {
            if due(&queue, now_s) == Some("a") {
                queue.failed("a", "refused", now_s, 0.5);
            }
            now_s += 1;
        }
        assert!((3600..3 * 3600).contains(&now_s), "{now_s}");
        queue.delivered("b", now_s);
        // The receiver responds, so the first message is due at once.
        assert_eq!((due(&queue, now_s), queue.failing.is_empty()), (Some("a"), true));
    }

    #[test]
    fn a_clock_that_jumps_ahead_gives_up_nothing() {
        let mut queue = Queue::default();
        queue.add(delivery("a", "ops", 5));
        assert_eq!(queue.failed("a", "refused", 1_772_431_200, 0.5), None);
        assert_eq!(due(&queue, 1_772_431_230), Some("a"));
    }

    #[test]
    fn the_queue_is_bounded() {
        let mut queue = Queue::default();
        for n in 0..MOST {
            assert_eq!(queue.add(delivery(&n.to_string(), "ops", 0)), None);
        }
        let lost = queue.add(delivery("last", "ops", 1)).expect("the oldest goes");
        assert!(lost.why.contains("64") && due(&queue, 1) == Some("1"), "{lost:?}");
    }

    #[test]
    fn a_clock_that_was_set_back_delays_no_message_for_long() {
        let mut queue = Queue::default();
        queue.add(delivery("a", "ops", 1_000_000));
        assert_eq!(due(&queue, 1000), Some("a"));
    }
}
