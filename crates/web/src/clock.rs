//! The clock for logins, sessions and links. Tests can advance it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// The clock of a server; clones share it.
#[derive(Clone, Debug)]
pub struct Clock {
    began: Instant,
    /// How far the clock was advanced, in seconds.
    ahead: Arc<AtomicU64>,
}

impl Clock {
    /// The clock of this machine.
    pub fn new() -> Self {
        Self { began: Instant::now(), ahead: Arc::default() }
    }

    /// Advances it, for tests.
    #[doc(hidden)]
    pub fn advance(&self, by: Duration) {
        self.ahead.fetch_add(by.as_secs(), Ordering::Relaxed);
    }

    /// Time since the server started; monotonic.
    pub(crate) fn uptime(&self) -> Duration {
        self.began.elapsed() + self.ahead()
    }

    /// Seconds since 1970 by the machine's clock, which may be set.
    pub fn unix(&self) -> u64 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        (now + self.ahead()).as_secs()
    }

    fn ahead(&self) -> Duration {
        Duration::from_secs(self.ahead.load(Ordering::Relaxed))
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
