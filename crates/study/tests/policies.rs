//! One experiment under several policies.

use std::fs;

use evenair_scenario::Policy;
use evenair_study::{Comparison, Plan, PlanError, Store, SweepResult, against_first, run};

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

#[test]
fn each_policy_does_what_it_is_known_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("both-ways.toml");
    fs::write(&file, SCENARIO).unwrap();
    let policies = ["fifo", "las-ack", "adwiser", "evenair"].map(|name| Policy::named(name).unwrap());
    let plan = Plan::policies(&file, &vec![], &policies, 3, "test").unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    fs::write(&file, SCENARIO).unwrap();
    let wrong = Policy::written("mine", "[manager]\nqueue = { discipline = \"red\" }\n").unwrap();
    let error = Plan::policies(&file, &vec![], &[wrong], 2, "test").unwrap_err();
    assert!(
        matches!(&error, PlanError::Axes(what) if what.contains("mine:2:") && what.contains("manager.queue.discipline") && what.contains("red")),
        "{error}"
    );
}
