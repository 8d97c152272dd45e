//! A box for tests: responds on a watch socket, with constant values.

use std::path::Path;
use std::time::Duration;

use evenair_api::health::{Code, HealthStatus, Level, Reason};
use evenair_api::watch::{
    AccessPoint, Answer, Class, Content, Domain, Event, Histograms, History, Latency, LegHistograms, Line, Losses,
    Point, Request, Source, Station, Times, Totals, VERSION, Value,
};
use evenair_api::{CallStatus, FlowStatus, Json, Mode};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::sleep;

/// Number of stations: the last has the most airtime, and so comes first in the line.
pub const STATIONS: usize = 5;

/// Starts serving this socket.
pub fn start(socket: &Path) {
    accept(socket, serve);
}

/// Serves each connection to this socket.
pub fn accept<F: Future<Output = ()> + Send + 'static>(socket: &Path, serve: fn(UnixStream) -> F) {
    let listener = UnixListener::bind(socket).expect("a socket");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
}

async fn serve(stream: UnixStream) {
    let mut stream = BufReader::new(stream);
    let mut text = String::new();
    stream.read_line(&mut text).await.expect("a request");
    let content = match Request::from_json(text.as_bytes()).expect("a request") {
        Request::Watch { .. } => {
            let mut line = line();
            while stream.get_mut().write_all((line.to_json() + "\n").as_bytes()).await.is_ok() {
                line.events = Some(vec![]);
                sleep(Duration::from_millis(100)).await;
            }
            return;
        }
        Request::History { history, domain, station } => {
            // The rate reveals the requested range.
            let rate = if history == "24 h" { 24.0 } else { 10.0 };
            let whose = if domain.is_some() { 1000.0 } else { 0.0 } + if station.is_some() { 2000.0 } else { 0.0 };
            let down_mbps = Value::new(rate + whose, Source::Measured);
            let points = vec![Point { at: 1.0, down_mbps, ..Point::default() }, Point::default()];
            Content::History(History { every_s: 1, points })
        }
        Request::FlowsOf { flows_of } => Content::Flows(flows(&flows_of)),
    };
    stream.get_mut().write_all((content.answer().to_json() + "\n").as_bytes()).await.expect("written");
}

/// Two of four have the same endpoints: TCP and UDP.
fn flows(mac: &str) -> Vec<FlowStatus> {
    let flow = |low: &str, released_bytes| FlowStatus {
        low: low.into(),
        high: "192.0.2.1:443".into(),
        station: mac.into(),
        released_bytes,
        ..FlowStatus::default()
    };
    vec![flow("10.0.0.1:3", 1), flow("10.0.0.1:1", 2), flow("10.0.0.1:1", 3), flow("10.0.0.1:2", 4)]
}

/// MAC address of a station.
pub fn mac(index: usize) -> String {
    format!("02:00:00:00:00:{index:02x}")
}

fn station(index: usize) -> Station {
    Station {
        mac: mac(index),
        name: (index == 1).then(|| "Anne".into()),
        domain: "hall".into(),
        down_mbps: Value::new(1.5, Source::Measured),
        latency: Latency { wlan: Some(Times::default()), ..Latency::default() },
        losses: Some(Losses::default()),
        active: Some(true),
        ..Station::default()
    }
}

fn line() -> Line {
    let name = |name: &str| name.to_owned();
    let domain = Domain { name: name("hall"), access_points: vec![name("ap/1")], ..Domain::default() };
    let event = |at, text: &str| Event { at, event: name("reload"), text: name(text) };
    let reason = Reason { code: Code::SlowLink, level: Level::Watch, sentence: name("slow"), ..Reason::default() };
    Line {
        v: VERSION,
        seq: 7,
        at: 1_764_230_000.5,
        uptime_s: 60.0,
        health: Some(HealthStatus::of(vec![reason])),
        totals: Some(Totals { mode: Mode::Inserted, stations: STATIONS, ..Totals::default() }),
        domains: Some(vec![domain, Domain { name: name("yard 2"), ..Domain::default() }]),
        access_points: Some(vec![AccessPoint { name: name("ap/1"), domain: name("hall"), ..AccessPoint::default() }]),
        stations: Some((0..STATIONS).rev().map(station).collect()),
        classes: Some(vec![Class { name: name("guests"), ..Class::default() }]),
        calls: Some(vec![CallStatus { station: mac(1), refused: Some(name("no room")), ..CallStatus::default() }]),
        events: Some(vec![event(1_764_229_999.5, "b"), event(1_764_229_999.5, "a"), event(1_764_229_000.0, "c")]),
        histograms: Some(Histograms {
            totals: LegHistograms { wlan: vec![9, 2].into(), ..Default::default() },
            ..Default::default()
        }),
    }
}

/// The sample parses as a box's response.
#[test]
fn the_sample_is_read_as_it_was_written() {
    assert_eq!(Line::from_json(line().to_json().as_bytes()).expect("reads"), line());
    let answer = Content::Flows(flows("x")).answer();
    assert_eq!(Answer::from_json(answer.to_json().as_bytes()).expect("reads"), answer);
}
