//! The metrics of a box, scraped by a real Prometheus server: each query of the dashboard has data, and each alert is tested.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::health::Code;
use evenair_sys::process;
use serde_json::Value;

use crate::lab::{BoxProcess, Lab, ip};
use crate::outage::transfer;

const METRICS: &str = "127.0.0.1:9469";
const PROMETHEUS: &str = "127.0.0.1:9090";
const PORT: u16 = 6300;
/// Time limit: a health reason takes 5 s, a rate two scrapes, and the server one second to start.
const LIMIT: Duration = Duration::from_secs(40);

/// A server that is killed when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A query of the dashboard.
struct Query {
    panel: String,
    expression: String,
}

fn packaged(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// Whether the package `prometheus` is installed.
fn is_installed() -> bool {
    let starts = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let both = ["prometheus", "promtool"].into_iter().all(starts);
    if !both {
        eprintln!("skipped: needs prometheus and promtool: scripts/setup test");
    }
    both
}

/// Output of `promtool` with these arguments and input; fails unless it succeeds.
fn promtool(arguments: &[&str], input: &str) -> String {
    let mut command = Command::new("promtool");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = process::tie(&mut command, None).spawn().expect("it is installed");
    running.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
    let output = running.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "promtool {arguments:?}: {said}");
    said
}

/// The body of the reply to a request in the namespace of the box; `None`: the connection is refused.
fn get(lab: &Lab, address: &str, path: &str) -> Option<String> {
    let mut stream = lab.middle.run(|| TcpStream::connect(address)).expect("entered").ok()?;
    stream.set_read_timeout(Some(LIMIT)).expect("a socket");
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.split_once("\r\n\r\n")?.1.to_owned())
}

/// Text escaped for a URL.
fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// A box that holds the traffic without a bridge that could carry it instead, so that there is a health reason.
fn start_box(lab: &Lab) -> BoxProcess {
    ip(&lab.middle, "link del br0");
    ip(&lab.middle, "link set lo up");
    let file = lab.file("box.toml");
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nmode = \"inserted\"\nio = {:?}\n[control]\nsocket = {:?}\n\
         [metrics]\nlisten = \"{METRICS}\"\n[radio]\nstandard = \"802.11g\"\n\
         [[station]]\nmac = \"02:00:00:00:00:0a\"\nname = \"source\"\nrate = \"54 Mb/s\"\n",
        crate::IO,
        lab.file("box.sock")
    );
    fs::write(&file, text).expect("writable");
    lab.start_box(&format!("file={} controller=20", file.display()))
}

/// A Prometheus server beside the box, which scrapes it each second and has the alerts.
fn start_prometheus(lab: &Lab) -> Server {
    let file = lab.file("prometheus.yml");
    let text = format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [{:?}]\n\
         scrape_configs:\n  - job_name: evenair\n    static_configs: [{{ targets: [{METRICS:?}] }}]\n",
        packaged("prometheus/evenair-rules.yml").canonicalize().expect("there")
    );
    fs::write(&file, text).expect("writable");
    let mut command = Command::new("prometheus");
    command.arg(format!("--config.file={}", file.display()));
    command.arg(format!("--storage.tsdb.path={}", lab.file("tsdb").display()));
    command.args(["--web.listen-address", PROMETHEUS, "--log.level", "warn"]).stdout(Stdio::null());
    Server(process::tie(&mut command, Some(lab.middle.as_fd())).spawn().expect("it is installed"))
}

/// The queries of a panel and of the panels in it.
fn collect(panel: &Value, queries: &mut Vec<Query>) {
    let title = panel["title"].as_str().unwrap_or_default();
    for target in panel["targets"].as_array().into_iter().flatten() {
        let expression = target["expr"].as_str().expect("a query has an expression");
        let expression = expression.replace("$instance", ".*").replace("$__rate_interval", "5s");
        assert!(!expression.contains('$'), "{title}: a variable that this test does not know: {expression}");
        queries.push(Query { panel: title.into(), expression });
    }
    panel["panels"].as_array().into_iter().flatten().for_each(|inner| collect(inner, queries));
}

/// Whether a query has a series with a number now.
fn has_data(lab: &Lab, query: &Query) -> bool {
    let path = format!("/api/v1/query?query={}", escaped(&query.expression));
    let Some(answer) = get(lab, PROMETHEUS, &path) else { return false };
    let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    assert_eq!(answer["status"], "success", "{}: {}: {answer}", query.panel, query.expression);
    let results = answer["data"]["result"].as_array().expect("a vector");
    let number = |result: &Value| result["value"][1].as_str().and_then(|value| value.parse::<f64>().ok());
    results.iter().filter_map(number).any(f64::is_finite)
}

fn wait_for_data(lab: &Lab, queries: &[Query]) {
    let begin = Instant::now();
    loop {
        let without: Vec<_> = queries.iter().filter(|query| !has_data(lab, query)).collect();
        if without.is_empty() {
            println!("all {} queries have data after {:.1?}", queries.len(), begin.elapsed());
            return;
        }
        let list: Vec<_> = without.iter().map(|query| format!("{}: {}", query.panel, query.expression)).collect();
        assert!(begin.elapsed() < LIMIT, "no data for\n{}\nin\n{:?}", list.join("\n"), get(lab, METRICS, "/metrics"));
        thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn a_prometheus_server_has_data_for_each_query_of_the_dashboard() {
    if !is_installed() {
        return;
    }
    let dashboard = fs::read_to_string(packaged("grafana/evenair.json")).expect("there");
    let mut queries = Vec::new();
    collect(&serde_json::from_str(&dashboard).expect("JSON"), &mut queries);
    assert!(queries.len() > 10 && queries.iter().any(|query| query.expression.contains("histogram_quantile")));
    let Some(lab) = Lab::beside_others() else { return };
    let _running = start_box(&lab);
    let _server = start_prometheus(&lab);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for (k, sends) in [(0, false), (1, true)] {
            let (lab, over) = (&lab, &over);
            scope.spawn(move || transfer(&lab.source, &lab.sink, PORT + k, sends, over));
        }
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wait_for_data(&lab, &queries)));
        over.store(true, Relaxed);
        found.unwrap_or_else(|wrong| std::panic::resume_unwind(wrong));
    });
    let page = get(&lab, METRICS, "/metrics").expect("the box answers");
    assert_eq!(promtool(&["check", "metrics"], &page), "", "{page}");
    // The test can fail: a missing metric has no data.
    let wrong = Query { panel: String::new(), expression: "evenair_no_such_metric".into() };
    assert!(!has_data(&lab, &wrong));
}

#[test]
fn alerts_fire_when_they_should_and_there_is_one_for_each_code() {
    if !is_installed() {
        return;
    }
    let rules = packaged("prometheus/evenair-rules.yml");
    promtool(&["check", "rules", rules.to_str().expect("text")], "");
    promtool(&["test", "rules", packaged("prometheus/evenair-rules-test.yml").to_str().expect("text")], "");
    let rules = fs::read_to_string(rules).expect("readable");
    let tests = fs::read_to_string(packaged("prometheus/evenair-rules-test.yml")).expect("readable");
    for code in Code::ALL.iter().filter(|code| !matches!(code, Code::Other | Code::AlertFailing)) {
        let label = format!("code=\"{code}\"");
        assert!(rules.contains(&label) && tests.contains(&label), "{code} has no alert, or no test of it");
    }
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        let of_it = tests.split("- eval_time: ").filter(|part| part.contains(&format!("alertname: {alert}\n")));
        let fires: Vec<_> = of_it.map(|part| part.contains("exp_alerts:")).collect();
        assert!(fires.contains(&true) && fires.contains(&false), "{alert} is not tested both ways");
    }
}
