//! The cases by subject, in groups of at most 25 minutes each, with one table in `docs/measured` per group.

use anyhow::{Result, bail};

use super::case::Case;

/// A group of cases.
pub struct Group {
    /// Name on the command line, and of its table.
    pub name: &'static str,
    /// Its cases, with the default number of runs.
    cases: &'static [(&'static str, u32)],
}

const fn group(name: &'static str, cases: &'static [(&'static str, u32)]) -> Group {
    Group { name, cases }
}

/// All groups. Cases with runs of several minutes have fewer runs; numbers are odd, because the median counts.
pub const GROUPS: [Group; 28] = [
    group("radio", &[("radio-1", 5), ("radio-5", 5), ("radio-10", 5), ("late", 5), ("idle", 5)]),
    group("stations", &[("tenth-1-9", 5), ("tenth-5-5", 5), ("tenth-9-1", 5), ("both-ways", 5)]),
    group("lag", &[("lag-5", 5), ("short-54", 5)]),
    group("published", &[("a11", 5), ("a10", 5)]),
    group("uploads", &[("a03", 5), ("a13", 5)]),
    group("uplink-limit", &[("r11", 5), ("quic", 5)]),
    group("simulator", &[("sim-a11", 5), ("sim-a10", 5)]),
    group("simulator-54", &[("sim-a13", 5), ("sim-r1", 5), ("sim-r1-2", 5)]),
    group("switching", &[("flips", 3), ("telephone", 5)]),
    group("calls", &[("calls", 5)]),
    group("receiver", &[("i12-10", 5), ("i12-5", 5)]),
    group("receiver-held", &[("i13", 5), ("b05-ecn", 5)]),
    group("receiver-options", &[("b05-unscaled", 5), ("b05-no-sack", 5), ("b05-plain", 5)]),
    group("latency", &[("short-11", 5), ("a14", 5)]),
    group("weights", &[("weights-5", 3), ("weights-20", 3)]),
    group("internet", &[("gold", 3), ("internet", 3)]),
    group("population", &[("population", 5), ("flood", 5)]),
    group("pages", &[("pages", 1)]),
    group("best-6", &[("best-6", 1), ("best-12", 1)]),
    group("best-9", &[("best-9", 1)]),
    group("lan-and-internet", &[("a04", 3)]),
    group("pages-download", &[("a05", 3)]),
    group("pages-upload", &[("a06", 3)]),
    group("calls-by-and-by", &[("a07", 5)]),
    group("up-and-down", &[("a12", 3), ("a11-published", 3)]),
    group("classes", &[("a15", 3)]),
    group("published-rate", &[("a09-published", 3)]),
    group("window-and-load", &[("i12-target", 3), ("i12-buffer", 3), ("i14", 3)]),
];

/// Default number of runs of a case.
pub fn runs_of(case: &str) -> u32 {
    let cases = GROUPS.iter().flat_map(|group| group.cases);
    cases.into_iter().find(|(name, _)| *name == case).map_or(5, |&(_, runs)| runs)
}

/// The group of a case.
pub fn group_of(case: &str) -> &'static str {
    let has = |group: &&Group| group.cases.iter().any(|(name, _)| *name == case);
    GROUPS.iter().find(has).map_or("-", |group| group.name)
}

/// The cases of a group, in the group's order.
///
/// # Errors
/// Unknown group; the error lists the existing ones.
pub fn cases_of(name: &str, all: Vec<Case>) -> Result<Vec<Case>> {
    let Some(group) = GROUPS.iter().find(|group| group.name == name) else {
        let names: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
        bail!("there is no group called {name}; there are: {}", names.join(", "));
    };
    let mut cases: Vec<_> = all.into_iter().filter(|case| group_of(case.name) == group.name).collect();
    cases.sort_by_key(|case| group.cases.iter().position(|(name, _)| *name == case.name));
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::cases;
    use super::*;

    /// Duration of a run relative to its length, with start and end.
    const AROUND: f64 = 1.10;

    #[test]
    fn every_case_is_in_one_group() {
        let grouped: Vec<_> = GROUPS.iter().flat_map(|group| group.cases).map(|(name, _)| *name).collect();
        let all: BTreeSet<_> = cases::all().iter().map(|case| case.name).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), all);
        assert_eq!(grouped.len(), all.len(), "no case is in two");
    }

    #[test]
    fn no_group_takes_more_than_25_minutes() {
        for group in &GROUPS {
            let minutes: f64 = cases_of(group.name, cases::all())
                .expect("it is listed")
                .iter()
                .map(|case| {
                    let run = (case.make)(false).expect("a sound scenario").duration.as_secs_f64() / 60.0;
                    run * f64::from(runs_of(case.name) * case.runs_each) * AROUND
                })
                .sum();
            assert!(minutes <= 25.0, "{}: {minutes:.1} minutes", group.name);
        }
    }
}
