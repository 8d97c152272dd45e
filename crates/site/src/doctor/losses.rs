//! Check whether the running box loses packets, with causes and remedies.
//!
//! Packets that the manager drops do not count. Losses are those of the last hour, from the history; without history, or
//! if the box has run for less, those since its start.

use std::path::Path;

use evenair_api::Status;
use evenair_api::causes::{Cause, LossReason, Losses, lost};
use evenair_api::history::Record;
use evenair_client::history::Reader;

use super::Finding;

const SUBJECT: &str = "packet loss";
/// Period of the check, in seconds.
const LATELY_S: f64 = 3600.0;
/// Reciprocal of the largest acceptable loss rate, 0.1 %: far below the loss at which TCP slows down noticeably on a
/// WLAN's round-trip times, and far above the few packets lost at a restart.
const ONE_IN: u64 = 1000;

/// Packets received and lost in a period.
struct Period {
    since: &'static str,
    received: u64,
    losses: Losses,
}

/// Examines the running box; `now_s`: seconds since 1970, `history`: directory of its history.
pub(super) fn examine(status: &Status, history: Option<&Path>, now_s: f64) -> Finding {
    let last_hour = history.filter(|_| status.uptime_s > LATELY_S).and_then(|path| Period::of_history(path, now_s));
    last_hour.unwrap_or_else(|| Period::of_status(status)).judge()
}

impl Period {
    fn of_status(status: &Status) -> Self {
        Self { since: "since it started", received: status.packets.received, losses: status.packets.losses }
    }

    /// The last hour; `None` without samples.
    fn of_history(directory: &Path, now_s: f64) -> Option<Self> {
        let mut period = Self { since: "in the last hour", received: 0, losses: Losses::default() };
        let mut samples = 0;
        for record in Reader::open(directory).ok()? {
            match record.ok()? {
                Record::Sample(sample) if sample.at_s > now_s - LATELY_S => {
                    samples += 1;
                    period.received += sample.packets;
                    period.losses = period.losses + sample.lost_by;
                }
                _ => {}
            }
        }
        (samples > 0).then_some(period)
    }

    fn judge(&self) -> Finding {
        let Self { since, received, losses } = self;
        let came = received + lost(losses, false);
        let found = format!("{} of {came} packets were lost in the box {since}", losses.total());
        if losses.is_zero() {
            return Finding::fine(SUBJECT, found);
        }
        let found = format!("{found}: {losses}");
        if losses.total().saturating_mul(ONE_IN) <= came {
            return Finding::fine(SUBJECT, found);
        }
        Finding::warning(SUBJECT, found, remedies(losses))
    }
}

/// Remedies for the losses, the most frequent reason first.
fn remedies(losses: &Losses) -> String {
    let mut reasons: Vec<(LossReason, u64)> = losses.iter().filter(|(_, packets)| *packets > 0).collect();
    reasons.sort_by_key(|&(_, packets)| std::cmp::Reverse(packets));
    let mut remedies: Vec<String> = Vec::new();
    for (reason, _) in reasons {
        // Reasons of one kind share a remedy.
        if !remedies.iter().any(|said| said.ends_with(reason.remedy())) {
            remedies.push(format!("{}: {}", reason.word(), reason.remedy()));
        }
    }
    remedies.join("; ")
}

#[cfg(test)]
mod tests {
    use evenair_api::history::Sample;
    use evenair_serve::history::{Files, Keeper};

    use super::*;
    use crate::doctor::Verdict;

    const NOW_S: f64 = 1_772_323_200.0;

    fn losing(reason: LossReason, packets: u64, received: u64) -> Status {
        let mut status = Status::default();
        status.packets.received = received;
        status.packets.losses = Losses::default();
        status.packets.losses[reason] = packets;
        status
    }

    #[test]
    fn each_reason_is_named_with_its_remedy_above_one_in_a_thousand() {
        for &reason in LossReason::ALL {
            let finding = examine(&losing(reason, 11, 10_000), None, NOW_S);
            assert_eq!(finding.verdict, Verdict::Warning, "{finding:?}");
            assert!(finding.found.contains(&format!("since it started: {} 11", reason.word())), "{finding:?}");
            assert_eq!(finding.mend, Some(format!("{}: {}", reason.word(), reason.remedy())));
            let finding = examine(&losing(reason, 10, 10_000), None, NOW_S);
            assert_eq!((finding.verdict, finding.mend), (Verdict::Fine, None), "exactly 0.1 % or less");
            assert!(finding.found.contains(reason.word()), "{}", finding.found);
        }
    }

    #[test]
    fn all_is_fine_where_nothing_is_lost() {
        let none = examine(&losing(LossReason::RingFull, 0, 0), None, NOW_S);
        assert_eq!(
            (none.verdict, none.found.as_str()),
            (Verdict::Fine, "0 of 0 packets were lost in the box since it started")
        );
        let all = examine(&losing(LossReason::PoolFull, 5, 0), None, NOW_S);
        assert_eq!(all.verdict, Verdict::Warning, "all that came: {all:?}");
    }

    #[test]
    fn the_last_hour_counts_where_it_was_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let keep = |minutes_ago: f64, lost: u64| {
            let mut sample = Sample { at_s: NOW_S - 60.0 * minutes_ago, packets: 10_000, ..Sample::default() };
            sample.lost_by[LossReason::RingFull] = lost;
            let mut files = Files::open(directory.path(), 100_000).expect("a place");
            files.keep(&Record::Sample(sample.into())).expect("kept");
        };
        let mut running = losing(LossReason::PoolFull, 1_000, 10_000);
        running.uptime_s = 86_400.0;
        let examine = |status: &Status| examine(status, Some(directory.path()), NOW_S);
        assert!(examine(&running).found.contains("since it started: pool full 1000"), "no history yet");
        keep(61.0, 5_000);
        keep(30.0, 4);
        let finding = examine(&running);
        assert_eq!(finding.verdict, Verdict::Fine, "{finding:?}");
        assert_eq!(finding.found, "4 of 10004 packets were lost in the box in the last hour: ring full 4");
        keep(1.0, 40);
        assert_eq!(examine(&running).verdict, Verdict::Warning);
        running.uptime_s = 600.0;
        assert!(examine(&running).found.contains("pool full"), "the history is of the box before");
    }

    #[test]
    fn the_keys_that_remedies_name_are_there() {
        let reference = evenair_boxfile::reference();
        for word in LossReason::ALL.iter().flat_map(|reason| reason.remedy().split_whitespace()) {
            let word = word.trim_matches([',', ';', ')', '(']);
            let is_of_ip = ["gso_max_segs", "group_fwd_mask"].contains(&word);
            if word.starts_with('[') || word.contains('_') && !is_of_ip {
                let key = word.trim_matches(['[', ']']);
                assert!(reference.contains(key), "{word}");
            }
        }
    }

    #[test]
    fn a_remedy_is_printed_once() {
        let mut losses = Losses::default();
        losses[LossReason::Stale] = 1;
        losses[LossReason::StaleReleased] = 2;
        losses[LossReason::PoolFull] = 3;
        let said = remedies(&losses);
        assert!(said.starts_with("pool full: raise"), "{said}");
        assert_eq!(said.matches(LossReason::Stale.remedy()).count(), 1, "{said}");
    }
}
