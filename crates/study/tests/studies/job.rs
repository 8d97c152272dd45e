//! A job is a function of its bytes.

use std::ops::ControlFlow;
use std::thread;

use evenair_study::{Job, Record, run_job};

const TEXT: &str = "version = 1\nname = \"job\"\nduration = \"2 s\"\nradio = { standard = \"802.11b\" }\n\
    station = [{ name = \"sta\", rate = \"11 Mb/s\", count = 2 }]\nserver = [{ name = \"server\" }]\n\
    bulk = [{ name = \"up\", stations = [\"sta\"], server = \"server\", direction = \"up\" }]\n";

fn job(seed: u64) -> Job {
    Job {
        program: "test".into(),
        file: "job.toml".into(),
        text: TEXT.into(),
        settings: vec![("station.sta.count".into(), "3".into())],
        varied: vec![("station.sta.count".into(), "3".into())],
        seed,
        measures: None,
        series: vec![],
    }
}

fn whole(job: &Job) -> Record {
    let record = run_job(job, |_| ControlFlow::Continue(())).expect("it is not stopped");
    Record { took_s: 0.0, ..record }
}

#[test]
fn a_record_depends_on_the_bytes_of_its_job_alone() {
    let first = whole(&job(7));
    assert!(first.failed.is_none() && first.scalars.len() > 20 && first.seed == 7);
    let bytes = serde_json::to_vec(&job(7)).unwrap();
    let elsewhere = thread::spawn(move || whole(&serde_json::from_slice(&bytes).unwrap())).join().unwrap();
    assert_eq!(serde_json::to_string(&elsewhere).unwrap(), serde_json::to_string(&first).unwrap());
    assert_ne!(whole(&job(8)).scalars, first.scalars);
}

#[test]
fn the_key_depends_on_all_inputs_of_the_run() {
    let key = job(7).key();
    let other = |change: fn(&mut Job)| {
        let mut job = job(7);
        change(&mut job);
        job.key() != key
    };
    assert!(other(|job| job.program.push('x')) && other(|job| job.text.push('\n')) && other(|job| job.seed = 8));
    assert!(other(|job| job.settings.push(("lan.delay".into(), "5 ms".into()))));
    assert!(!other(|job| job.settings.insert(0, ("station.sta.count".into(), "2".into()))));
    assert!(!other(|job| job.file.push('x')) && !other(|job| job.measures = Some(vec![])));
}

#[test]
fn a_record_has_the_wanted_measures() {
    let name = "phase.all.total_ip_mbps";
    let some = whole(&Job { measures: Some(vec![name.into()]), ..job(7) });
    let all = whole(&job(7)).scalars;
    assert_eq!(some.scalars, all.into_iter().filter(|(known, _)| known == name).collect::<Vec<_>>());
    assert_eq!(some.scalars.len(), 1);
}

#[test]
fn the_reason_of_a_failure_is_in_the_record() {
    let wrong = whole(&Job { settings: vec![("station.sta.rate".into(), "7 Mb/s".into())], ..job(7) });
    assert!(wrong.failed.is_some_and(|why| why.contains("7 Mb/s")) && wrong.scalars.is_empty());
    let unknown = whole(&Job { settings: vec![("tcp.congestion_control".into(), "bbr".into())], ..job(7) });
    assert!(unknown.failed.is_some_and(|why| why.contains("bbr")));
}

#[test]
fn a_panic_is_a_reason_and_a_stop_is_no_record() {
    let panicked = run_job(&job(7), |_| panic!("a planted fault")).expect("a record");
    assert!(panicked.failed.is_some_and(|why| why.contains("a planted fault")));
    let mut asked = 0;
    let stopped = run_job(&job(7), |_| {
        asked += 1;
        ControlFlow::Break(())
    });
    assert_eq!((stopped, asked), (None, 1));
}
