//! One experiment under several policies.

use evenair_scenario::{Axis, Policy};
use evenair_study::{
    Comparison, Experiment, Plan, PlanError, Source, Store, SweepResult, against_first, point_rows, run, run_rows,
};

const SCENARIO: &str = r#"version = 1
name = "both-ways"
duration = "30 s"
[radio]
standard = "802.11b"
ap_buffer = "100 packets"
[[station]]
name = "u"
count = 3
rate = "11 Mb/s"
[[station]]
name = "d"
count = 3
rate = "11 Mb/s"
[[server]]
name = "server"
[[bulk]]
name = "upload"
stations = ["u"]
server = "server"
direction = "up"
[[bulk]]
name = "download"
stations = ["d"]
server = "server"
direction = "down"
[[phase]]
name = "all"
from = "10 s"
to = "30 s"
"#;

fn experiment(axes: &[&str], policies: Vec<Policy>) -> Experiment {
    let source = Source { file: "both-ways.toml".into(), text: SCENARIO.into() };
    let axes = axes.iter().map(|axis| Axis::parse(axis).unwrap()).collect();
    Experiment { source, sets: vec![], axes: Some(axes), policies }
}

#[test]
fn each_policy_does_what_it_is_known_for() {
    let folder = tempfile::tempdir().unwrap();
    let policies = ["fifo", "las-ack", "adwiser", "evenair"].map(|name| Policy::named(name).unwrap());
    let plan = Plan::of(&experiment(&[], policies.to_vec()), 3, "test").unwrap();
    let mut store = Store::open(&folder.path().join("runs.jsonl")).unwrap();
    assert!(run(&plan, &mut store, 2, |_| true).unwrap().is_complete());
    let result = SweepResult::collect(&plan, &store);
    let mean = |policy: usize, name: &str| {
        result.points[policy].estimate(&format!("phase.all.{name}")).unwrap_or_else(|| panic!("no {name}")).mean
    };
    let share = |policy| mean(policy, "down_ip_mbps") / mean(policy, "total_ip_mbps");
    assert!(share(0) < 0.1, "without a box downloads starve: {}", share(0));
    assert!((share(3) - 0.5).abs() < 0.03, "ours shares equally: {}", share(3));
    assert!((share(2) - 0.5).abs() < 0.05, "so does the published box: {}", share(2));
    assert!(share(1) > 0.3, "least attained service evens out: {}", share(1));
    assert!(mean(3, "ap.sojourn_p50_ms") * 10.0 < mean(2, "ap.sojourn_p50_ms"), "ours needs no queue there");
    assert!(mean(0, "ap.sojourn_p50_ms") > 100.0);

    let differences = against_first(&plan, &store);
    assert_eq!(differences.len(), 3);
    let down = |list: &[Comparison]| list.iter().find(|c| c.name == "phase.all.down_ip_mbps").cloned().unwrap();
    assert!(differences.iter().all(|list| down(list).is_significant() && down(list).difference > 1.0));
    assert!(
        evenair_report::draw_curves(&result.curves("phase.all.down_ip_mbps").unwrap())
            .unwrap()
            .svg()
            .contains("las-ack")
    );
}

#[test]
fn a_policy_that_the_scenario_cannot_have_is_reported_by_its_name() {
    let wrong = Policy::written("mine", "[manager]\nqueue = { discipline = \"red\" }\n").unwrap();
    let error = Plan::of(&experiment(&[], vec![wrong]), 2, "test").unwrap_err();
    assert!(
        matches!(&error, PlanError::Axes(what) if what.contains("mine:2:") && what.contains("manager.queue.discipline") && what.contains("red")),
        "{error}"
    );
}

#[test]
fn policies_are_the_last_axis_of_a_sweep() {
    let policies = ["fifo", "evenair"].map(|name| Policy::named(name).unwrap()).to_vec();
    let mut swept = experiment(&["station.u.count=1,2"], policies.clone());
    swept.sets = vec![
        ("duration".into(), "2 s".into()),
        ("phase.all.from".into(), "1 s".into()),
        ("phase.all.to".into(), "2 s".into()),
    ];
    let plan = Plan::of(&swept, 2, "test").unwrap();
    let axes: Vec<_> = plan.axes.iter().map(|axis| axis.key.as_str()).collect();
    assert_eq!(axes, ["station.u.count", "policy"]);
    let varied: Vec<Vec<&str>> =
        plan.points.iter().map(|point| point.varied.iter().map(|(_, value)| value.as_str()).collect()).collect();
    assert_eq!(varied, [["1", "fifo"], ["1", "evenair"], ["2", "fifo"], ["2", "evenair"]]);
    // One text for each policy, and the same seeds under both.
    assert_eq!(plan.sources.len(), 2);
    assert!(plan.points.iter().all(|point| point.seed == plan.points[0].seed));

    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.jsonl")).unwrap();
    assert!(run(&plan, &mut store, 2, |_| true).unwrap().is_complete());
    // The runs equal those of an experiment with only the policies and the same key set.
    let mut alone = experiment(&[], policies);
    alone.sets = swept.sets.iter().cloned().chain([("station.u.count".to_owned(), "2".to_owned())]).collect();
    let keys: Vec<_> = Plan::of(&alone, 2, "test").unwrap().runs().into_iter().map(|run| run.key).collect();
    assert!(keys.iter().all(|key| store.get(key).is_some()), "{keys:?}");
    let rows: Vec<_> = run_rows(&plan, &store).collect();
    let points = point_rows(&SweepResult::collect(&plan, &store));
    for table in [&rows[0], &points] {
        let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).take(2).collect();
        assert_eq!(names, ["station_u_count", "policy"]);
    }
}

#[test]
fn invalid_axes_beside_policies_are_refused() {
    let fifo = || Policy::named("fifo").unwrap();
    let twice = Plan::of(&experiment(&[], vec![fifo(), fifo()]), 2, "test").unwrap_err();
    assert_eq!(twice.to_string(), "the policy fifo is named twice");
    let both = Plan::of(&experiment(&["policy=1,2"], vec![fifo()]), 2, "test").unwrap_err();
    assert!(both.to_string().contains("cannot be varied"), "{both}");
}
