//! The watch feed of a box with real traffic.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::watch::{Answer, Content, Line, Source};
use evenair_sys::traffic::{self, Directions};

use crate::guard::under_stream;
use crate::lab::{Lab, ensure, judged};

/// Bytes of an Ethernet header.
const HEADER: u64 = 14;
/// Generous: expected changes take three seconds at most.
const LIMIT: Duration = Duration::from_secs(30);

struct Watcher(BufReader<UnixStream>);

impl Watcher {
    /// Connects as soon as the socket is there, and sends a request.
    fn ask(socket: &Path, request: &str) -> Self {
        let begin = Instant::now();
        let mut stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) => assert!(begin.elapsed() < LIMIT, "{}: {error}", socket.display()),
            }
            thread::sleep(Duration::from_millis(20));
        };
        stream.set_read_timeout(Some(LIMIT)).expect("set");
        stream.write_all(format!("{request}\n").as_bytes()).expect("taken");
        Self(BufReader::new(stream))
    }

    fn text(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        line
    }

    fn line(&mut self) -> Line {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn answer(&mut self) -> Content {
        let text = self.text();
        serde_json::from_str::<Answer>(&text).unwrap_or_else(|error| panic!("{error}: {text}")).content
    }
}

/// The kernel's counters of the port of the access points.
fn port(lab: &Lab) -> Directions {
    lab.middle.run(|| traffic::by_direction("wl0")).expect("entered").expect("it is there")
}

fn start(lab: &Lab, mode: &str) -> (crate::lab::BoxProcess, PathBuf) {
    let (file, watch) = (lab.file("box.toml"), lab.file("box.watch.sock"));
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nmode = \"{mode}\"\nio = {:?}\n\
         [control]\nsocket = {:?}\n[radio]\nstandard = \"802.11g\"\n\
         [[station]]\nmac = \"02:00:00:00:00:0a\"\nrate = \"54 Mb/s\"\n",
        crate::IO,
        lab.file("box.sock")
    );
    fs::write(&file, text).expect("writable");
    (lab.start_box(&format!("file={}", file.display())), watch)
}

/// Compares three lines with the kernel's counters of the same time.
fn compare(lab: &Lab, watcher: &mut Watcher, mode: &str) -> Result<(), String> {
    let (before, begin) = (port(lab), Instant::now());
    let lines: Vec<_> = (0..3).map(|_| watcher.line()).collect();
    let (after, seconds) = (port(lab), begin.elapsed().as_secs_f64());
    let ip = |port: &Directions| port.sent.bytes - HEADER * port.sent.packets;
    let counted = (ip(&after) - ip(&before)) as f64 * 8e-6 / seconds;
    let totals: Vec<_> = lines.iter().map(|line| line.totals.as_ref().expect("asked for")).collect();
    let said: Vec<_> = totals.iter().map(|totals| totals.down_mbps.value.unwrap_or(0.0)).collect();
    let mean = said.iter().sum::<f64>() / 3.0;
    println!("{mode}: {said:.3?} Mb/s said, {counted:.3} Mb/s counted in {seconds:.2} s");
    ensure(totals.iter().all(|totals| totals.mode.word() == mode), || format!("{totals:?}"))?;
    ensure(lines.windows(2).all(|pair| pair[1].seq == pair[0].seq + 1), || format!("{lines:?}"))?;
    ensure(counted > 4.0, || format!("the stream does not arrive: {counted:.2} Mb/s"))?;
    ensure((mean / counted - 1.0).abs() < 0.05, || format!("{mean:.2} Mb/s said, {counted:.2} counted"))
}

#[test]
fn what_is_said_is_what_the_kernel_counts() {
    let Some(lab) = Lab::new() else { return };
    let (running, socket) = start(&lab, "inserted");
    under_stream(&lab, |_| {
        let all = r#"{"watch":["health","totals","domains","stations","classes","calls","events"],"every":"1 s"}"#;
        let mut watcher = Watcher::ask(&socket, all);
        let first = watcher.line();
        let events = first.events.expect("asked for");
        assert!(events.first().is_some_and(|event| event.event == "start"), "{events:?}");
        assert!(first.calls.is_none(), "the box does not look for calls");
        assert!(first.classes.is_some() && first.v == 1);
        watcher.line();
        judged(|| compare(&lab, &mut watcher, "inserted"));
        let line = watcher.line();
        let station = line.stations.expect("asked for").into_iter().find(|station| station.mac == "02:00:00:00:00:0a");
        let station = station.expect("it gets the stream");
        assert!(station.down_mbps.value.is_some_and(|mbps| mbps > 4.0), "{station:?}");
        assert_eq!(
            (station.air_down.source, station.active, &*station.domain),
            (Source::Charged, Some(true), "default")
        );
        assert!(station.air_down.value.is_some_and(|air| air > 0.02 && air < 1.0), "{station:?}");
        let domain = &line.domains.expect("asked for")[0];
        assert!(domain.down_mbps.value.is_some_and(|mbps| mbps > 4.0), "{domain:?}");

        running.client().bypass().expect("bypassed");
        let events = loop {
            let line = watcher.line();
            if line.totals.is_some_and(|totals| totals.mode.word() == "bypassed") {
                break line.events.expect("asked for");
            }
        };
        let event = events.iter().find(|event| event.event == "bypassed").expect("in the line that shows it");
        let own = fs::metadata("/proc/self").map(|file| std::os::unix::fs::MetadataExt::uid(&file)).expect("there");
        assert!(event.text.starts_with("bypassed by ") && event.text.contains(&format!("uid {own}")), "{event:?}");
        watcher.line();
        judged(|| compare(&lab, &mut watcher, "bypassed"));
        let line = watcher.line();
        assert_eq!(line.stations.expect("asked for")[0].down_mbps.source, Source::Unknown);
    });
}

#[test]
fn the_socket_comes_back_and_says_what_may_be_asked() {
    let Some(lab) = Lab::beside_others() else { return };
    let (_running, socket) = start(&lab, "bypassed");
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&socket).expect("it listens").permissions()) & 0o777,
        0o660
    );
    fs::remove_file(&socket).expect("it is there");
    assert!(Watcher::ask(&socket, r#"{"watch":["totals"]}"#).line().totals.is_some());
    let Content::Error(why) = Watcher::ask(&socket, r#"{"watch":["helth"]}"#).answer() else { panic!("an error") };
    let parts = "parts are: health, totals, domains, access_points, stations, classes, calls, events, histograms";
    assert_eq!(why, format!("no part \"helth\" (did you mean health?); {parts}"));
    let mut watcher = Watcher::ask(&socket, r#"{"watch":["totals"]}"#);
    (0..3).for_each(|_| drop(watcher.line()));
    let Content::History(history) = Watcher::ask(&socket, r#"{"history":"10 min"}"#).answer() else { panic!("points") };
    assert!(history.every_s == 1 && history.points.len() >= 3, "{history:?}");
    assert!(history.points.iter().all(|point| point.mode.word() == "bypassed"), "{history:?}");
    let flows = Watcher::ask(&socket, r#"{"flows_of":"02:00:00:00:00:0a"}"#).answer();
    assert_eq!(flows, Content::Flows(vec![]));
}
