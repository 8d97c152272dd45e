//! A run as measures: one number each, with its keys.
//!
//! [`evenair_scenario::measures`] declares them, with unit and meaning. Measures without a value in a run are not in its list.

mod air;
mod measure;
mod rows;
mod traffic;

pub use measure::Measure;
use rows::Rows;

use super::RunResult;

/// Every measure of a run, phases first, in an order that depends on the scenario alone.
pub fn measures(run: &RunResult) -> Vec<Measure> {
    let mut rows = Rows::default();
    for phase in &run.phases {
        rows.phase = Some(phase.name.clone());
        traffic::of_phase(phase, &mut rows);
        air::of_phase(phase, &mut rows);
        traffic::of_groups(phase, &mut rows);
        traffic::of_users(run, phase, &mut rows);
    }
    rows.phase = None;
    air::of_run(run, &mut rows);
    traffic::of_echoes(run, &mut rows);
    rows.list
}

/// Full names and values of [`measures`].
pub fn scalars(run: &RunResult) -> Vec<(String, f64)> {
    measures(run).iter().map(|measure| (measure.full_name(), measure.value)).collect()
}

/// One measure of a run by its full name; `None` where the run has none of that name.
pub fn scalar(run: &RunResult, name: &str) -> Option<f64> {
    let wanted = Measure::named(name, 0.0);
    measures(run).into_iter().find(|measure| measure.key() == wanted.key()).map(|measure| measure.value)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use evenair_scenario::measures::{Kind, full_name, measure_named};

    use super::*;
    use crate::sample;

    #[test]
    fn names_are_declared_and_come_once() {
        let (_, run) = sample::two_flows();
        let mut seen = HashSet::new();
        for measure in measures(&run) {
            let name = measure.full_name();
            assert!(measure_named(&name).is_some(), "{name} is not declared");
            assert_eq!(Measure::named(&name, measure.value), measure);
            assert!(seen.insert(name), "{measure:?} comes twice");
        }
        assert_eq!(scalar(&run, "phase.inserted.up_ip_mbps"), Some(2.0));
        assert_eq!(scalar(&run, &full_name("flow.upload.ip_mbps", "bypassed")), Some(4.0));
        assert_eq!(scalar(&run, "phase.inserted.flow.unknown.ip_mbps"), None);
    }

    #[test]
    fn a_measure_has_its_keys_and_its_unit() {
        let (_, run) = sample::two_flows();
        let of_flow = |measure: &&Measure| measure.name.as_deref() == Some("upload") && measure.measure == "ip_mbps";
        let measures = measures(&run);
        let found: Vec<_> = measures.iter().filter(of_flow).collect();
        let phases: Vec<_> = found.iter().map(|measure| measure.phase.as_deref()).collect();
        assert_eq!(phases, [Some("bypassed"), Some("inserted")]);
        assert_eq!((found[0].kind, found[0].unit, found[0].value), (Kind::Flow, "Mb/s", 4.0));
        let unknown = Measure::named("nothing.known", 1.0);
        assert_eq!((unknown.kind, unknown.measure.as_str()), (Kind::Run, "nothing.known"));
    }
}
