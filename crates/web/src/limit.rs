//! Rate limit of failed logins.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// Failed logins per account and per address within [`WINDOW`].
const MOST_FAILURES: usize = 5;
/// Time window of the limit.
const WINDOW: Duration = Duration::from_secs(60);
/// Maximum number of accounts and addresses tracked. With more, logins are refused until some expire: evicting them early would
/// lift the limit.
const MOST_KEYS: usize = 4096;

/// Key by which failures are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Account(String),
    /// An IPv4 address, or the /64 network of an IPv6 address, all of whose addresses a host may use.
    Network(IpAddr),
}

/// An attempt, which counts as failed until it is taken back.
#[derive(Debug)]
pub(crate) struct Attempt {
    keys: [Key; 2],
    at: Duration,
}

/// Recent attempts that failed or are pending.
#[derive(Debug, Default)]
pub(crate) struct Limit {
    attempts: HashMap<Key, VecDeque<Duration>>,
}

impl Limit {
    /// Begins an attempt; `now`: time since the start.
    ///
    /// # Errors
    /// Too many have failed; the time to wait.
    pub(crate) fn begin(&mut self, account: &str, address: IpAddr, now: Duration) -> Result<Attempt, Duration> {
        let keys = [Key::Account(account.to_lowercase()), Key::Network(network(address))];
        if self.attempts.len() + keys.len() > MOST_KEYS {
            self.attempts.retain(|_, times| times.back().is_some_and(|at| now < *at + WINDOW));
        }
        let mut wait = Duration::ZERO;
        for key in &keys {
            let Some(times) = self.attempts.get_mut(key) else { continue };
            while times.front().is_some_and(|at| *at + WINDOW <= now) {
                times.pop_front();
            }
            if times.len() >= MOST_FAILURES {
                wait = wait.max(times[times.len() - MOST_FAILURES] + WINDOW - now);
            }
        }
        if wait.is_zero() && self.attempts.len() + keys.len() > MOST_KEYS {
            wait = WINDOW;
        }
        if !wait.is_zero() {
            return Err(wait);
        }
        for key in &keys {
            self.attempts.entry(key.clone()).or_default().push_back(now);
        }
        Ok(Attempt { keys, at: now })
    }

    /// Does not count an attempt: the password was right, or was not checked.
    pub(crate) fn take_back(&mut self, attempt: &Attempt) {
        for key in &attempt.keys {
            let Some(times) = self.attempts.get_mut(key) else { continue };
            if let Some(index) = times.iter().position(|at| *at == attempt.at) {
                times.remove(index);
            }
            if times.is_empty() {
                self.attempts.remove(key);
            }
        }
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn five_failures_a_minute_by_account_from_any_address() {
        let mut limit = Limit::default();
        for host in 1..=5 {
            limit.begin("anna", address(&format!("192.0.2.{host}")), SECOND * host).expect("not yet");
        }
        assert_eq!(limit.begin("Anna", address("192.0.2.6"), SECOND * 6).expect_err("a sixth"), SECOND * 55);
        limit.begin("berta", address("192.0.2.6"), SECOND * 6).expect("another account");
        limit.begin("anna", address("192.0.2.6"), SECOND * 61).expect("the first is forgotten");
    }

    #[test]
    fn five_failures_a_minute_by_address_and_network_of_any_account() {
        let mut limit = Limit::default();
        for host in 1..=5 {
            limit.begin(&format!("a{host}"), address(&format!("2001:db8::{host}:1")), SECOND).expect("not yet");
        }
        limit.begin("b", address("2001:db8::ffff:0:0:1"), SECOND).expect_err("the same /64");
        limit.begin("b", address("2001:db8:0:1::1"), SECOND).expect("another");
        for host in 1..=5 {
            limit.begin(&format!("c{host}"), address("::ffff:192.0.2.1"), SECOND).expect("not yet");
        }
        limit.begin("d", address("192.0.2.1"), SECOND).expect_err("the same address");
    }

    #[test]
    fn attempts_that_succeed_do_not_count() {
        let mut limit = Limit::default();
        for _ in 0..20 {
            let attempt = limit.begin("anna", address("192.0.2.1"), SECOND).expect("none has failed");
            limit.take_back(&attempt);
        }
        assert!(limit.attempts.is_empty());
    }

    #[test]
    fn the_number_of_tracked_keys_is_bounded() {
        let mut limit = Limit::default();
        let try_all = |limit: &mut Limit, now| {
            (0..2100_u32).filter(|k| limit.begin(&format!("a{k}"), IpAddr::V4((*k).into()), now).is_ok()).count()
        };
        assert_eq!(try_all(&mut limit, SECOND), MOST_KEYS / 2);
        assert_eq!(limit.attempts.len(), MOST_KEYS);
        assert_eq!(try_all(&mut limit, SECOND * 61), MOST_KEYS / 2, "after a minute they are forgotten");
    }
}
