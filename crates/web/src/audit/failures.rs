//! How many failed attempts have a line of the audit log: who is refused may try as often as the network allows.

use std::time::Duration;

/// Lines about failures in [`WINDOW`]: 15 kB.
const MOST: u32 = 60;
/// The time in which they count.
const WINDOW: Duration = Duration::from_secs(60);

/// Failures of the present window, and those without a line.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// When the window began, since the start of the program.
    began: Duration,
    lines: u32,
    left_out: u64,
}

impl Failures {
    /// Whether one more has a line; otherwise it is counted.
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

    /// How many were left out, which the line that is written now says.
    pub(super) fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}
