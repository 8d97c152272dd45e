//! The stored history: from lines of the watch feed to a series of the API.

use std::process::Command;
use std::time::Duration;

use evenair_api::Json;
use evenair_api::histogram::Histogram;
use evenair_api::watch::{Event, Histograms, LegHistograms, Line, Request, Source, Station, Totals, VERSION, Value};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::sleep;

use crate::sample_box::accept;
use crate::site::{Answer, Site};

/// A full hour: 2026-03-01, 8:00.
const BEGIN: u64 = 1_772_352_000;
/// Number of lines of the box: two hours and a little more, ten seconds apart.
const LINES: u64 = 721;
const MAC: &str = "02:00:00:00:00:01";

/// Most packets take 10 ms, and in the second hour a tenth of them 100 ms.
fn latencies(seq: u64) -> LegHistograms {
    let slow = if seq * 10 < 3600 { 0 } else { 10 };
    let mut wlan = Histogram::default();
    wlan.add(18, 90);
    wlan.add(31, slow);
    LegHistograms { wlan, ..LegHistograms::default() }
}

fn line(seq: u64) -> Line {
    let mbps = Value::new(8.0, Source::Measured);
    let station = Station {
        mac: MAC.into(),
        name: Some("Anne".into()),
        down_mbps: mbps,
        air_down: Value::new(0.25, Source::Charged),
        active: Some(true),
        ..Station::default()
    };
    let stations = [(MAC.to_owned(), latencies(seq))].into();
    let event = Event { at: BEGIN as f64, event: "inserted".into(), text: "inserted by uid 0".into() };
    Line {
        v: VERSION,
        seq,
        at: (BEGIN + seq * 10) as f64 + 0.5,
        totals: Some(Totals { down_mbps: mbps, active: Some(1), ..Totals::default() }),
        // No traffic in the second hour.
        stations: Some(if seq * 10 < 3600 { vec![station] } else { vec![] }),
        events: Some(if seq == 0 { vec![event] } else { vec![] }),
        histograms: Some(Histograms { totals: latencies(seq), stations, ..Histograms::default() }),
        ..Line::default()
    }
}

async fn serve(stream: UnixStream) {
    let mut stream = BufReader::new(stream);
    let mut text = String::new();
    stream.read_line(&mut text).await.expect("a request");
    assert!(matches!(Request::from_json(text.as_bytes()), Ok(Request::Watch { .. })), "{text}");
    for seq in 0..LINES {
        stream.get_mut().write_all((line(seq).to_json() + "\n").as_bytes()).await.expect("written");
    }
    sleep(Duration::from_secs(60)).await;
}

async fn asked(site: &Site, query: &str) -> Answer {
    site.get(&format!("/api/v1/history?{query}"), "").await
}

async fn values(site: &Site, query: &str) -> Vec<(u64, f64)> {
    let answer = asked(site, &format!("from=2026-03-01T08:00:00Z&to=2026-03-01T10:00:00Z&{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    let json = answer.json();
    let points = json["points"].as_array().expect("a list").iter();
    let point = |point: &serde_json::Value| Some((point["at"].as_u64()? - BEGIN, point["value"].as_f64()?));
    points.map(|json| point(json).expect("a time and a number")).collect()
}

#[tokio::test]
async fn lines_of_the_box_become_a_series() {
    let site = Site::with(|config, folder| {
        config.socket = folder.path().join("watch.sock");
        config.history.files = folder.path().join("nothing");
    })
    .await;
    let problem = asked(&site, "measure=wlan-p95").await;
    assert_eq!(
        (problem.status, problem.header("content-type")),
        (503, Some("application/problem+json")),
        "{problem:?}"
    );
    accept(&site.config.socket, serve);
    // The last completed minute is the last of the second hour.
    let last = "measure=down-bytes&every=1min&from=2026-03-01T09:59:00Z&to=2026-03-01T10:00:00Z";
    for _ in 0..1000 {
        let answer = asked(&site, last).await;
        if answer.status == 200 && !answer.json()["points"].as_array().expect("a list").is_empty() {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    // Lines are ten seconds apart, and each counts for one second.
    assert_eq!(values(&site, "measure=down-bytes").await, [(0, 360e6), (3600, 360e6)]);
    assert_eq!(values(&site, "measure=down-mbps&every=30min").await.last(), Some(&(5400, 8.0)));
    assert_eq!(values(&site, "measure=wlan-p95&every=1min").await.len(), 120);
    // One in nineteen of all packets of the two hours was slow.
    let [first, second] = values(&site, "measure=wlan-p95").await[..] else { panic!("two hours") };
    assert!((10.0..15.0).contains(&first.1) && (98.0..115.0).contains(&second.1), "{first:?} {second:?}");
    let both = values(&site, "measure=wlan-p95&every=2h").await;
    assert!(both.len() == 1 && both[0].1 > 98.0, "{both:?}");
    assert!(values(&site, "measure=wlan-p50&every=2h").await[0].1 < 15.0);
    for station in [MAC, "Anne", "anne"] {
        assert_eq!(values(&site, &format!("measure=air&subject=station:{station}")).await, [(0, 0.25)], "{station}");
    }
    for (query, status, nearest, part) in [
        ("measure=wlan-95", 400, Some("wlan-p95"), "measure"),
        ("measure=wlan-p95&subject=station:ane", 404, Some("station:Anne"), "station:ane"),
        ("measure=wlan-p95&subject=domain:hall", 404, None, "domain:hall"),
        ("measure=wlan-p95&subject=hall", 400, None, "access-point:NAME"),
        ("measure=wlan-p95&from=yesterday", 400, None, "how long ago"),
        ("measure=wlan-p95&from=1h&to=2h", 400, None, "not before"),
        ("measure=wlan-p95&from=3000days&every=1min", 400, None, "too many steps"),
        ("measure=wlan-p95&every=90s", 400, None, "whole minutes"),
        ("measure=wlan-p95&span=24h", 400, None, "without a `measure`"),
        ("every=1h&from=2h", 400, None, "needs a `measure`"),
        ("busiest=true", 400, None, "needs a `measure`"),
        ("measure=wlan-p95&busiest=yes", 400, None, "true or false"),
    ] {
        let answer = asked(&site, query).await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (status, Some("application/problem+json")),
            "{query}"
        );
        let problem = answer.json();
        let near = if status == 404 { &problem["nearest"] } else { &problem["errors"][0]["nearest"] };
        assert!(nearest.is_none_or(|nearest| near == nearest), "{query}: {problem}");
        assert!(problem["detail"].as_str().expect("text").contains(part), "{query}: {problem}");
    }
    the_page_has_what_it_asks_for(&site).await;
    let printed = |measure: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenair-web"));
        command.args(["history", "--station", "Anne", "--format", "csv", "--measure", measure, "--state"]);
        command.arg(&site.config.state).args(["--from", "2026-03-01", "--to", "2026-03-02"]);
        command.output().expect("it runs")
    };
    let output = printed("down-mbps");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "time,down-mbps\n2026-03-01T08:00:00Z,8\n", "{output:?}");
    let wrong = String::from_utf8_lossy(&printed("down").stderr).into_owned();
    assert!(wrong.contains("no measure") && wrong.contains("wlan-p95"), "{wrong}");
}

/// Steps of any length, the busiest minutes, and events.
async fn the_page_has_what_it_asks_for(site: &Site) {
    // The station had traffic in the first hour only; the mean is over the time that the box has
    // seen.
    let span = "from=2026-03-01T08:30:00Z&to=2026-03-01T09:30:00Z";
    let whole = asked(site, &format!("measure=down-mbps&subject=station:Anne&every=all&{span}")).await.json();
    assert_eq!(
        (&whole["points"][0]["value"], &whole["data_s"], &whole["every_s"]),
        (&4.0.into(), &3600.into(), &3600.into())
    );
    assert_eq!(values(site, "measure=down-bytes&every=1h&busiest=true").await, [(0, 36e6), (3600, 36e6)]);
    let events = async |query: &str| site.get(&format!("/api/v1/events?{query}"), "").await;
    let stored = events("from=2026-03-01&to=2026-03-02").await.json();
    assert_eq!((&stored["total"], &stored["items"][0]["text"]), (&1.into(), &"inserted by uid 0".into()), "{stored}");
    assert_eq!(events("from=2026-03-02&to=2026-03-03").await.json()["total"], 0);
    assert_eq!(events("from=2026-03-02&to=2026-03-01").await.status, 400);
}
