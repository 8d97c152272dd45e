//! Sessions of browsers, in memory: they end with the program.

use std::collections::HashMap;
use std::time::Duration;

use crate::secret::{Digest256, digest, new_secret};

/// Lifetime of a session.
pub(crate) const LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// Maximum number of sessions: a further one ends the oldest.
const MOST_SESSIONS: usize = 1024;

#[derive(Debug)]
struct Session {
    account: String,
    /// Start of the session, since the start of the program.
    began: Duration,
}

/// All sessions, by the digest of their id, so that a memory dump is of no use to log in.
#[derive(Debug)]
pub(crate) struct Sessions {
    open: HashMap<Digest256, Session>,
    /// Lifetime of each session.
    lifetime: Duration,
}

impl Sessions {
    /// No sessions, with this lifetime.
    pub(crate) fn lasting(lifetime: Duration) -> Self {
        Self { open: HashMap::new(), lifetime }
    }

    /// Begins a session and returns its id: 256 random bits.
    pub(crate) fn begin(&mut self, account: &str, now: Duration) -> String {
        self.open.retain(|_, session| now < session.began + self.lifetime);
        if self.open.len() >= MOST_SESSIONS {
            let oldest = self.open.iter().min_by_key(|(_, session)| session.began).map(|(key, _)| *key);
            oldest.and_then(|key| self.open.remove(&key));
        }
        let id = new_secret();
        self.open.insert(digest(&id), Session { account: account.to_owned(), began: now });
        id
    }

    /// The account of a valid session.
    pub(crate) fn account(&self, key: &Digest256, now: Duration) -> Option<&str> {
        self.open.get(key).filter(|session| now < session.began + self.lifetime).map(|session| &*session.account)
    }

    /// Ends a session.
    pub(crate) fn end(&mut self, key: &Digest256) {
        self.open.remove(key);
    }

    /// Ends a valid session and returns its account.
    pub(crate) fn take(&mut self, key: &Digest256, now: Duration) -> Option<String> {
        let session = self.open.remove(key)?;
        (now < session.began + self.lifetime).then_some(session.account)
    }

    /// Ends all sessions of an account except one.
    pub(crate) fn end_others_of(&mut self, account: &str, kept: &Digest256) {
        self.open.retain(|key, session| session.account != account || key == kept);
    }

    /// Ends all sessions of an account.
    pub(crate) fn end_all_of(&mut self, account: &str) {
        self.open.retain(|_, session| session.account != account);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_end_after_twelve_hours_and_are_kept_by_digest() {
        let mut sessions = Sessions::lasting(LIFETIME);
        let id = sessions.begin("anna", Duration::ZERO);
        assert_eq!(id.len(), 64);
        assert_eq!(sessions.open.keys().collect::<Vec<_>>(), [&digest(&id)]);
        let almost = Duration::from_secs(12 * 3600 - 1);
        assert_eq!(sessions.account(&digest(&id), almost), Some("anna"));
        assert_eq!(sessions.account(&digest(&id), almost + Duration::from_secs(1)), None);
    }

    #[test]
    fn sessions_are_bounded_and_the_oldest_ends() {
        let mut sessions = Sessions::lasting(LIFETIME);
        let ids: Vec<_> = (0..=1024).map(|second| sessions.begin("anna", Duration::from_secs(second))).collect();
        assert_eq!(sessions.open.len(), MOST_SESSIONS);
        let now = Duration::from_secs(1025);
        assert_eq!(sessions.account(&digest(&ids[0]), now), None);
        assert_eq!(sessions.account(&digest(&ids[1]), now), Some("anna"));
    }
}
