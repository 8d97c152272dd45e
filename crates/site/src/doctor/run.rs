//! Check whether the box is in the mode that was commanded last.

use std::time::{Duration, UNIX_EPOCH};

use evenair_api::Status;
use evenair_api::health::{Code, Level};

use super::{Finding, Verdict};

const MEND: &str = "run: evenair insert; to have it inserted at each start: mode = \"inserted\" in [ports]";

/// Why the box is not inserted although `insert` was the last command; `None` if it is, or the last command was another.
pub fn not_inserted(status: &Status) -> Option<String> {
    let start = status.not_inserted_since()?;
    let end = if start.clean { "after a stop or a reboot" } else { "after an unclean end" };
    let since = UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(start.at_s).ok()?)?;
    let since = humantime::format_rfc3339_seconds(since);
    Some(format!("{} although the last command was insert (since {since}, {end})", status.mode))
}

/// The finding about it, with the severity of the box's health.
pub(super) fn examine(status: &Status) -> Option<Finding> {
    let finding = Finding::warning("mode", not_inserted(status)?, MEND);
    let reasons = || status.health.iter().flat_map(|health| &health.reasons);
    let is_bad = reasons().any(|reason| reason.code == Code::NotManaging && reason.level == Level::Bad);
    Some(if is_bad { Finding { verdict: Verdict::Wrong, ..finding } } else { finding })
}

#[cfg(test)]
mod tests {
    use evenair_api::health::{HealthStatus, Reason};
    use evenair_api::{ModeCommand, RunStatus, StartedOtherwise};

    use super::*;

    #[test]
    fn a_box_that_is_bypassed_although_it_was_inserted_is_a_finding() {
        let started_otherwise = Some(StartedOtherwise { at_s: 1_772_323_200.5, clean: false });
        let run = RunStatus { last_command: Some(ModeCommand::Insert), started_otherwise, ..RunStatus::default() };
        let mut status = Status { run: Some(run), ..Status::default() };
        let finding = examine(&status).expect("a finding");
        assert_eq!(
            finding.found,
            "bypassed although the last command was insert (since 2026-03-01T00:00:00Z, after an unclean end)"
        );
        assert_eq!(finding.verdict, Verdict::Warning);
        let bad = Reason { code: Code::NotManaging, level: Level::Bad, ..Reason::default() };
        status.health = Some(HealthStatus::of(vec![bad]));
        assert_eq!(examine(&status).map(|finding| finding.verdict), Some(Verdict::Wrong));
        assert_eq!(examine(&Status::default()), None);
    }
}
