//! Sweeps: their runs, their stored results, and that threads and interruptions do not change the results.

use std::fs;
use std::path::{Path, PathBuf};

use evenair_report::draw_curves;
use evenair_results::estimate::half_width;
use evenair_results::{Measure, Table, Values};
use evenair_scenario::{Axis, Scenario};
use evenair_study::{Plan, PlanError, Store, SweepResult, compare, comparison_table, point_rows, run, run_rows};

const SCENARIO: &str = r#"version = 1
name = "small"
duration = "2 s"
[radio]
standard = "802.11b"
[[station]]
name = "sta"
count = 2
rate = "11 Mb/s"
[[server]]
name = "server"
[[bulk]]
name = "up"
stations = ["sta"]
server = "server"
direction = "up"
"#;

fn scenario_file(folder: &Path, more: &str) -> PathBuf {
    let file = folder.join("small.toml");
    fs::write(&file, format!("{SCENARIO}{more}")).unwrap();
    file
}

fn axes(texts: &[&str]) -> Vec<Axis> {
    texts.iter().map(|text| Axis::parse(text).unwrap()).collect()
}

/// Runs the whole plan on `threads` threads.
fn whole(plan: &Plan, threads: usize) -> SweepResult {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.jsonl")).unwrap();
    let status = run(plan, &mut store, threads, |_| true).unwrap();
    assert!(status.is_complete());
    SweepResult::collect(plan, &store)
}

#[test]
fn threads_and_interruptions_do_not_change_the_results() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario_file(folder.path(), "");
    let vary = axes(&["station.sta.count=1..3", "station.sta.rate=2 Mb/s, 11 Mb/s"]);
    let plan = Plan::new(&file, &vec![], vary, 2, "test").unwrap();
    let expected = whole(&plan, 1);
    assert_eq!(whole(&plan, 3), expected);

    let path = folder.path().join("runs.jsonl");
    let mut store = Store::open(&path).unwrap();
    let status = run(&plan, &mut store, 1, |status| status.ended < 5).unwrap();
    assert!(!status.is_complete() && status.ended == 5);
    assert!(SweepResult::collect(&plan, &store).points.iter().any(|point| point.runs == 0));
    drop(store);
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 9]).unwrap();
    let mut store = Store::open(&path).unwrap();
    let status = run(&plan, &mut store, 2, |_| true).unwrap();
    assert_eq!((status.known, status.ended), (4, 8));
    assert_eq!(SweepResult::collect(&plan, &store), expected);
    let status = run(&plan, &mut store, 2, |_| true).unwrap();
    assert_eq!((status.known, status.ended), (12, 0));
}

#[test]
fn a_point_is_the_mean_of_its_runs_with_common_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario_file(folder.path(), "[[sweep]]\nkey = \"station.sta.count\"\nvalues = \"1..2\"\n");
    let sets = vec![("seed".to_owned(), "40".to_owned())];
    let plan = Plan::new(&file, &sets, vec![], 2, "test").unwrap();
    assert_eq!(plan.runs().iter().map(|job| job.seed).collect::<Vec<_>>(), [40, 40, 41, 41]);
    let table = whole(&plan, 2).table();
    assert_eq!(table.column("station_sta_count").unwrap().values, Values::Count(vec![Some(1), Some(2)]));
    let total = |count: &str, seed: &str| {
        let sets = [("station.sta.count", count), ("seed", seed)];
        let scenario = Scenario::parse_with(SCENARIO, "small.toml", &sets).unwrap();
        evenair_sim::run(&scenario, |_| {}).unwrap().phases[0].total_ip_mbps
    };
    for (row, count) in ["1", "2"].into_iter().enumerate() {
        let (a, b) = (total(count, "40"), total(count, "41"));
        assert_ne!(a, b);
        let mean = table.column("phase.all.total_ip_mbps").unwrap().values.number(row).unwrap();
        assert!((mean - (a + b) / 2.0).abs() < 1e-12);
        let half_width = table.column("phase.all.total_ip_mbps_ci95").unwrap().values.number(row).unwrap();
        // Of two values: t(1) * |a - b| / 2.
        assert!((half_width / (12.7062 * (a - b).abs() / 2.0) - 1.0).abs() < 1e-4);
    }
}

#[test]
fn a_wrong_point_does_not_touch_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario_file(folder.path(), "");
    let plan = Plan::new(&file, &vec![], axes(&["station.sta.count=0,1"]), 1, "test").unwrap();
    let result = whole(&plan, 1);
    assert!(result.points[0].failed.as_ref().unwrap().contains("out of range"));
    assert_eq!((result.points[0].runs, result.points[1].runs), (0, 1));
    assert!(result.points[1].failed.is_none());
    let table = result.table();
    assert_eq!(table.column("phase.all.total_ip_mbps").unwrap().values.number(0), None);
    assert!(table.column("failed").is_some());

    let all_wrong = Plan::new(&file, &vec![], axes(&["station.stb.count=0,1"]), 1, "test");
    assert!(matches!(all_wrong, Err(PlanError::Scenario(_))), "{all_wrong:?}");
    let unequal = vec![axes(&["seed=1,2"]).remove(0), Axis { together: true, ..axes(&["lan.delay=1 ms"]).remove(0) }];
    assert!(matches!(Plan::new(&file, &vec![], unequal, 1, "test"), Err(PlanError::Axes(_))));
}

#[test]
fn the_key_of_a_run_depends_on_all_its_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario_file(folder.path(), "");
    let keys = |sets: &[(&str, &str)], vary: &[&str], program: &str| -> Vec<String> {
        let sets = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        Plan::new(&file, &sets, axes(vary), 1, program).unwrap().runs().into_iter().map(|job| job.key).collect()
    };
    let base = keys(&[], &["station.sta.count=1,2"], "a");
    assert_ne!(base[0], base[1]);
    assert_eq!(keys(&[], &["station.sta.count=2"], "a"), base[1..]);
    assert_ne!(keys(&[], &["station.sta.count=2"], "b"), base[1..]);
    assert_ne!(keys(&[("seed", "2")], &["station.sta.count=2"], "a"), base[1..]);
    assert_ne!(keys(&[("duration", "3 s")], &["station.sta.count=2"], "a"), base[1..]);
    // A setting that the point overrides has no effect.
    assert_eq!(keys(&[("station.sta.count", "9")], &["station.sta.count=2"], "a"), base[1..]);
}

#[test]
fn a_picture_has_a_line_for_each_setting_of_the_other_keys() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario_file(folder.path(), "");
    let vary = axes(&["station.sta.rate=11 Mb/s, 2 Mb/s", "station.sta.count=1,2"]);
    let result = whole(&Plan::new(&file, &vec![], vary, 2, "test").unwrap(), 2);
    assert_eq!(result.named("total_ip_mbps"), ["phase.all.total_ip_mbps"]);
    assert_eq!(result.named("collisions"), ["run.medium.collisions"]);
    assert!(result.named("nothing").is_empty());
    let curves = result.curves("phase.all.total_ip_mbps").unwrap();
    assert_eq!(curves.x_label, "rate of station sta, Mb/s");
    assert_eq!(curves.y_label, "DATA and ACKs of all flows over the WLAN hop, IP level, Mb/s");
    assert!(curves.subtitle.starts_with("phase.all.total_ip_mbps: mean of 2 runs"), "{}", curves.subtitle);
    let names: Vec<_> = curves.curves.iter().map(|curve| curve.name.clone().unwrap()).collect();
    assert_eq!(names, ["count 1", "count 2"]);
    let at: Vec<_> = curves.curves[0].points.iter().map(|point| point.0).collect();
    assert_eq!(at, [11.0, 2.0]);
    assert_eq!(curves.curves[0].points[1].1, result.points[2].estimate("phase.all.total_ip_mbps").unwrap().mean);
    assert!(draw_curves(&curves).unwrap().svg().contains("count 2"));

    let words = axes(&["radio.standard=802.11b, 802.11g"]);
    let sets = vec![("station.sta.rate".to_owned(), "11 Mb/s".to_owned())];
    let result = whole(&Plan::new(&file, &sets, words, 1, "test").unwrap(), 1);
    let curves = result.curves("phase.all.total_ip_mbps").unwrap();
    assert_eq!(curves.categories, Some(vec!["802.11b".to_owned(), "802.11g".to_owned()]));
    let drawn = draw_curves(&curves).unwrap().svg();
    assert!(drawn.contains(">802.11g<") && drawn.contains(">standard<"), "{drawn}");
    assert!(!drawn.contains("<polyline") && !drawn.contains("stroke-linejoin"), "categories are not joined: {drawn}");
}

#[test]
fn a_comparison_pairs_runs_of_one_seed() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario_file(folder.path(), "");
    let slower = vec![("station.sta.rate".to_owned(), "2 Mb/s".to_owned())];
    let none = vec![];
    let plan = Plan::pair([(&file, &none), (&file, &slower)], 4, "test").unwrap();
    let jobs = plan.runs();
    assert_eq!(jobs.iter().map(|job| (job.point, job.seed)).collect::<Vec<_>>()[..4], [(0, 1), (1, 1), (0, 2), (1, 2)]);
    let mut store = Store::open(&folder.path().join("runs.jsonl")).unwrap();
    run(&plan, &mut store, 2, |_| true).unwrap();
    let comparisons = compare(&plan, &store);
    let total = comparisons.iter().find(|comparison| comparison.name == "phase.all.total_ip_mbps").unwrap();
    assert!(total.is_significant() && total.difference < -1.0, "{total:?}");
    assert!((total.b - total.a - total.difference).abs() < 1e-9);
    let differences: Vec<f64> = (1..=4)
        .map(|seed| {
            let total = |rate: &str| {
                let sets = [("station.sta.rate", rate), ("seed", &*seed.to_string())];
                let scenario = Scenario::parse_with(SCENARIO, "small.toml", &sets).unwrap();
                evenair_sim::run(&scenario, |_| {}).unwrap().phases[0].total_ip_mbps
            };
            total("2 Mb/s") - total("11 Mb/s")
        })
        .collect();
    let half_width = half_width(&differences, 0.95).unwrap();
    assert!((total.half_width.unwrap() - half_width).abs() < 1e-9);
    let table = comparison_table(&comparisons);
    assert_eq!(table.rows(), comparisons.len());

    // A variant does not differ from itself, and a constant difference has an interval of width zero.
    let plan = Plan::pair([(&file, &none), (&file, &none)], 3, "test").unwrap();
    run(&plan, &mut store, 2, |_| true).unwrap();
    assert!(compare(&plan, &store).iter().all(|comparison| !comparison.is_significant()));
}

/// The values of a row as text, column by column.
fn row(table: &Table, row: usize) -> Vec<String> {
    table.columns.iter().map(|column| column.values.text(row)).collect()
}

fn names(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.name.as_str()).collect()
}

#[test]
fn every_number_of_every_run_has_a_row_with_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario_file(folder.path(), "");
    let vary = axes(&["station.sta.count=1,2", "lan.delay=1 ms,2 ms", "seed=7"]);
    let plan = Plan::new(&file, &vec![], vary, 2, "test").unwrap();
    let mut store = Store::open(&folder.path().join("runs.jsonl")).unwrap();
    run(&plan, &mut store, 2, |_| true).unwrap();
    let parts: Vec<_> = run_rows(&plan, &store).collect();
    let [table] = &parts[..] else { panic!("{} parts of a small table", parts.len()) };
    let varied = ["station_sta_count", "lan_delay_ms", "set_seed"];
    let keys = ["seed", "phase", "kind", "name", "measure", "unit", "value"];
    assert_eq!(names(table), [&varied[..], &keys[..]].concat());
    let mut jobs = plan.runs();
    jobs.sort_by_key(|job| job.point);
    let mut expected = Vec::new();
    for job in &jobs {
        expected.extend(store.get(&job.key).unwrap().scalars.iter().map(|(name, value)| (job.seed, name, *value)));
    }
    assert_eq!(table.rows(), expected.len());
    for (at, (seed, name, value)) in expected.into_iter().enumerate() {
        let measure = Measure::named(name, value);
        assert_eq!(measure.full_name(), *name);
        let of = |text: Option<String>| text.unwrap_or_default();
        let keys = [seed.to_string(), of(measure.phase), measure.kind.word().to_owned(), of(measure.name)];
        let rest = [measure.measure, measure.unit.to_owned(), value.to_string()];
        assert_eq!(row(table, at)[3..], [&keys[..], &rest[..]].concat());
    }
    let flow = (0..table.rows()).map(|at| row(table, at)).find(|texts| texts[5] == "flow" && texts[7] == "ip_mbps");
    let flow = flow.unwrap();
    assert_eq!((&flow[..5], flow[8].as_str()), (&["1", "1", "7", "7", "all"].map(str::to_owned)[..], "Mb/s"));

    let points = point_rows(&SweepResult::collect(&plan, &store));
    let described = ["phase", "kind", "name", "measure", "unit", "mean", "low", "high", "n", "sd"];
    assert_eq!(names(&points), [&varied[..], &described[..]].concat());
    let at =
        (0..points.rows()).find(|&at| points.column("measure").unwrap().values.text(at) == "total_ip_mbps").unwrap();
    let of = |name: &str| points.column(name).unwrap().values.number(at).unwrap();
    let values: Vec<f64> = (0..table.rows())
        .filter(|&at| table.column("measure").unwrap().values.text(at) == "total_ip_mbps")
        .filter_map(|at| table.column("value").unwrap().values.number(at))
        .take(2)
        .collect();
    let half_width = half_width(&values, 0.95).unwrap();
    assert!((of("mean") - (values[0] + values[1]) / 2.0).abs() < 1e-12 && of("n") == 2.0);
    assert!((of("high") - of("mean") - half_width).abs() < 1e-9 && (of("mean") - of("low") - half_width).abs() < 1e-9);
}

#[test]
fn a_table_without_runs_has_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario_file(folder.path(), "");
    let plan = Plan::new(&file, &vec![], axes(&["station.sta.count=1,2"]), 1, "test").unwrap();
    let store = Store::open(&folder.path().join("runs.jsonl")).unwrap();
    let parts: Vec<_> = run_rows(&plan, &store).collect();
    assert_eq!((parts.len(), parts[0].rows(), parts[0].columns.len()), (1, 0, 8));
    let none = vec![];
    let pair = Plan::pair([(&file, &none), (&file, &none)], 2, "test").unwrap();
    assert_eq!(names(&run_rows(&pair, &store).next().unwrap())[0], "variant");
}
