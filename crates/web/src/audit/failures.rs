//! Limits the lines of the audit log for failed attempts, whose number only the network limits.

use std::time::Duration;

/// Maximum number of lines about failures within [`WINDOW`]: 15 kB.
const MOST: u32 = 60;
/// Time window of the limit.
const WINDOW: Duration = Duration::from_secs(60);

/// Failures of the current window, and the number without a line.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// Start of the window, since the start of the program.
    began: Duration,
    lines: u32,
    left_out: u64,
}

impl Failures {
    /// Whether one more failure gets a line; otherwise counts it.
    pub(super) fn has_room(&mut self, now: Duration) -> bool {
        if now >= self.began + WINDOW {
            (self.began, self.lines) = (now, 0);
        }
        if self.lines >= MOST {
            self.left_out += 1;
            return false;
        }
        self.lines += 1;
        true
    }

    /// The number of failures without a line, which the next line reports.
    pub(super) fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}
