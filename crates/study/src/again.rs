//! Compares repeated runs with the stored ones.

use std::fmt;

use crate::merge::{first_measure, value_text};
use crate::{Plan, PlannedRun, Store};

/// The first difference between a stored run and its repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDifference {
    /// The varied keys, and the seed.
    pub run: String,
    /// The measure, or `failed` if one of the two failed.
    pub measure: String,
    /// The value in the stored run and in its repetition.
    pub values: [String; 2],
}

impl fmt::Display for RunDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kept, again] = &self.values;
        write!(f, "run {}: {} is {kept} as kept and {again} made again", self.run, self.measure)
    }
}

/// Compares the runs of a plan in `kept` with those in `again`, bit by bit, in the plan's order; run times are not compared. `None`
/// if all are equal.
pub fn first_difference(plan: &Plan, kept: &Store, again: &Store) -> Option<RunDifference> {
    plan.runs().iter().find_map(|run| {
        let (measure, values) = difference(run, kept, again)?;
        let varied = plan.points[run.point].varied.iter().map(|(key, value)| format!("{key}={value}, "));
        Some(RunDifference { run: format!("{}seed {}", varied.collect::<String>(), run.seed), measure, values })
    })
}

fn difference(run: &PlannedRun, kept: &Store, again: &Store) -> Option<(String, [String; 2])> {
    let key = &run.key;
    match (kept.get(key), again.get(key)) {
        (Some(a), Some(b)) if a.scalars == b.scalars && first_measure(&a.scalars, &b.scalars).1 == [None, None] => None,
        (Some(a), Some(b)) => {
            let (measure, values) = first_measure(&a.scalars, &b.scalars);
            Some((measure, values.map(value_text)))
        }
        (None, None) if kept.failure(key) == again.failure(key) => None,
        _ => Some(("failed".to_owned(), [kept, again].map(|store| outcome(store, key)))),
    }
}

/// How a run ended.
fn outcome(store: &Store, key: &str) -> String {
    match (store.get(key), store.failure(key)) {
        (Some(_), _) => "no".to_owned(),
        (None, Some(why)) => format!("{why:?}"),
        (None, None) => "absent".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::RunSeries;
    use crate::{Record, Source, Variant};

    #[test]
    fn a_changed_bit_a_failure_and_an_absent_run_are_differences() {
        let text = include_str!("../../../scenarios/smoke.toml").to_owned();
        let variant =
            || Variant { source: Source { file: "smoke.toml".into(), text: text.clone() }, settings: Vec::new() };
        let plan = Plan::of_variants([variant(), variant()], 1, "p").unwrap();
        let key = &plan.runs()[0].key;
        let folder = tempfile::tempdir().unwrap();
        let store = |name: &str, scalars: &[f64], failed: Option<&str>| {
            let mut store = Store::open(&folder.path().join(name)).unwrap();
            let scalars = scalars.iter().map(|value| ("a_ms".to_owned(), *value)).collect();
            let failed = failed.map(str::to_owned);
            store
                .add(Record {
                    key: key.clone(),
                    varied: vec![],
                    seed: 1,
                    failed,
                    scalars,
                    took_s: 0.5,
                    series: RunSeries::new(),
                })
                .unwrap();
            store
        };
        let kept = store("kept", &[0.1], None);
        assert_eq!(first_difference(&plan, &kept, &store("same", &[0.1], None)), None);
        let found = |again: &Store| first_difference(&plan, &kept, again).unwrap();
        let bit = found(&store("bit", &[f64::from_bits(0.1_f64.to_bits() ^ 1)], None)).to_string();
        assert!(bit.contains("a_ms is 0.1 as kept and 0.10000000000000002 made again"), "{bit}");
        let zero = first_difference(&plan, &store("zero", &[0.0], None), &store("minus", &[-0.0], None)).unwrap();
        assert_eq!(zero.values, ["0.0", "-0.0"]);
        assert_eq!(found(&store("failed", &[], Some("why"))).values, ["no", "\"why\""]);
        assert_eq!(found(&Store::open(&folder.path().join("none")).unwrap()).values, ["no", "absent"]);
    }
}
