//! Server of the control socket.

use std::fs;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use evenair_api::{Json, ModeCommand, Request, Response, Status};
use evenair_boxfile::BoxConfig;
use evenair_config::RateSpec;
use evenair_live::FailOpen;
use evenair_live::control::{Answer, ControlHandle, ControlRequest, HostSettings};
use evenair_live::events::{Commanded, EventSink};
use evenair_manager::{Label, Observation, Place};
use evenair_packet::MacAddr;
use evenair_reader::{ConfigError, Located};
use evenair_sys::peer;
use evenair_units::BitRate;
use tracing::{debug, warn};

use super::door::{Door, End, Purpose, Timed};
use super::requests::{Line, MAX_LINE, Requests};
use super::slots::{self, Slot, Slots};
use super::status::status_of;
use crate::names::{NameRequests, Names};
use crate::persisted_mode::PersistedMode;
use crate::users;
use crate::vitals::Vitals;

/// Bound of PHY rates in a request, in Mb/s: more than any.
const MAX_RATE_MBPS: f64 = 10_000.0;
/// Places in a file that a reply names, at most.
const MOST_PLACES: usize = 20;
/// Time within which a client's next request has to be complete.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Time within which a client has to read a reply.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Write access includes the right to bypass the box.
const PURPOSE: Purpose = Purpose { name: "control socket", key: "[control] socket", group: None };
/// Time that the end waits for the last replies to be written.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves the control socket until dropped.
pub(crate) struct Server {
    path: PathBuf,
    slots: Slots,
    /// Set and woken when the box ends.
    end: Arc<End>,
    thread: Option<JoinHandle<()>>,
}

/// Context of each client's thread.
#[derive(Clone)]
struct Client {
    /// The configuration at the start of the box.
    config: Arc<BoxConfig>,
    control: ControlHandle,
    /// The file of the persisted mode for the next process.
    persisted_mode: Option<PersistedMode>,
    parts: Parts,
}

/// Parts of the box beside the loop that requests concern.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    /// Whether the bridge can carry the traffic.
    pub(crate) fail_open: Option<Arc<FailOpen>>,
    /// Sink of events, for the authors of commands.
    pub(crate) events: Option<EventSink>,
    /// Names of stations.
    pub(crate) names: Names,
    /// Health, shown in the status.
    pub(crate) vitals: Vitals,
}

impl Server {
    /// Listens at `path`, whose directory is created if needed. A socket left by a dead box is replaced.
    ///
    /// # Errors
    /// A running box replies there already, or the directory or the socket cannot be created.
    pub(crate) fn start(path: &Path, config: &BoxConfig, control: ControlHandle, parts: Parts) -> Result<Self> {
        let door = Door::open(path, PURPOSE)?;
        let slots = Slots::default();
        let persisted_mode = PersistedMode::of(config);
        let context = Client { config: Arc::new(config.clone()), control, persisted_mode, parts };
        let (accepting, end) = (slots.clone(), Arc::new(End::new()?));
        let ended = Arc::clone(&end);
        let accept = move || {
            if let Err(error) = door.accept(&ended, |stream| admit(stream, &accepting, &context)) {
                warn!("the control socket is not served any more: {error}");
            }
        };
        let thread = thread::Builder::new().name("control".into()).spawn(accept).context("start the control thread")?;
        Ok(Self { path: path.to_owned(), slots, end, thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let start = Instant::now();
        while self.slots.busy() > 0 && start.elapsed() < LAST_WORDS {
            thread::sleep(Duration::from_millis(1));
        }
        self.end.reach();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // A remaining file is harmless: the next box replaces it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Serves a client in its own thread, if there is a free slot.
fn admit(stream: UnixStream, slots: &Slots, context: &Client) {
    let Some(slot) = slots.take(stream) else { return };
    let context = context.clone();
    let work = move || {
        if let Err(error) = serve(&slot, &context) {
            debug!("control client: {error}");
        }
    };
    if let Err(error) = thread::Builder::new().name("control client".into()).spawn(work) {
        warn!("no thread for a control client: {error}");
    }
}

/// Replies to a client until it hangs up, or is silent for too long.
fn serve(slot: &Slot, context: &Client) -> io::Result<()> {
    let stream = slot.stream();
    let mut requests = Requests::new(Timed { stream, deadline: Instant::now() });
    let mut names = NameRequests::new(context.parts.names.clone());
    loop {
        requests.stream_mut().deadline = Instant::now() + REQUEST_TIME;
        let Some(line) = requests.read()? else { return Ok(()) };
        let _busy = slot.begin();
        let (answer, is_last) = match line {
            Line::Whole(request) => {
                let about_names =
                    request.as_ref().ok().filter(|_| !slot.is_bypass_only()).and_then(|one| names.answer(one));
                (about_names.unwrap_or_else(|| commanded(request, context, slot)), false)
            }
            Line::TooLong => (refused(format!("not a request: a line is longer than {MAX_LINE} bytes")), true),
        };
        let mut answer = answer.to_json().into_bytes();
        answer.push(b'\n');
        Timed { stream, deadline: Instant::now() + ANSWER_TIME }.write_all(&answer)?;
        if is_last {
            return Ok(());
        }
    }
}

/// Replies to a request, and records the author of a command as an event.
fn commanded(request: Result<Request, String>, context: &Client, slot: &Slot) -> Response {
    let command = request.as_ref().ok().and_then(Commanded::of);
    let (Some(command), Some(events)) = (command, &context.parts.events) else {
        return answer(request, context, slot.is_bypass_only());
    };
    let author = peer::uid_of(slot.stream()).ok().map(users::author);
    if let (Commanded::Mode(command), Some(author)) = (command, &author) {
        events.begin(command, author.clone());
    }
    let answer = answer(request, context, slot.is_bypass_only());
    if answer.ok {
        events.leave_done(command, author);
    }
    answer
}

fn refused(error: String) -> Response {
    Response { ok: false, error: Some(error), status: None, names: None }
}

fn answer(request: Result<Request, String>, context: &Client, bypass_only: bool) -> Response {
    if bypass_only && !matches!(request, Ok(Request::Bypass { .. })) {
        return refused(format!(
            "{} requests wait for their answers: until then there is bypass alone",
            slots::MOST - 1
        ));
    }
    let leaves = matches!(
        request,
        Ok(Request::Bypass { force: false } | Request::Observe { force: false } | Request::Shutdown { force: false })
    );
    if leaves && let Some(why) = context.parts.fail_open.as_ref().and_then(|fail_open| fail_open.refusal()) {
        return refused(why);
    }
    let request = match request.and_then(|request| check(request, &context.config)) {
        Ok(request) => request,
        Err(error) => return refused(error),
    };
    let keep = |request: &ControlRequest| {
        context.persisted_mode.iter().for_each(|mode| mode.keep(request));
        mode_command(request).into_iter().for_each(|command| context.parts.vitals.running().command(command));
    };
    // An insertion may be refused; the other commands are not, and may take a while.
    let inserts = matches!(request, ControlRequest::Insert);
    if !inserts {
        keep(&request);
    }
    let answer = context.control.ask(request);
    if inserts && matches!(answer, Ok(Answer::Done)) {
        keep(&ControlRequest::Insert);
    }
    match answer {
        Ok(Answer::Done | Answer::Mode(_)) => Response { ok: true, error: None, status: None, names: None },
        Ok(Answer::Refused(error)) => refused(error),
        Ok(Answer::Status(snapshot)) => {
            let Parts { names, vitals, .. } = &context.parts;
            let (health, run) = (vitals.latest(), Some(vitals.running().status()));
            let status = Status { health, run, ..status_of(&snapshot, names) };
            Response { ok: true, error: None, status: Some(Box::new(status)), names: None }
        }
        Err(error) => refused(error.into()),
    }
}

/// The mode that a request commands, if any.
pub(crate) const fn mode_command(request: &ControlRequest) -> Option<ModeCommand> {
    match request {
        ControlRequest::Insert => Some(ModeCommand::Insert),
        ControlRequest::Bypass => Some(ModeCommand::Bypass),
        ControlRequest::Observe => Some(ModeCommand::Observe),
        _ => None,
    }
}

/// Checks a request, and reads the file that it names.
pub(super) fn check(request: Request, config: &BoxConfig) -> Result<ControlRequest, String> {
    Ok(match request {
        Request::Insert => ControlRequest::Insert,
        Request::Bypass { .. } => ControlRequest::Bypass,
        Request::Observe { .. } => ControlRequest::Observe,
        Request::Status => ControlRequest::Status,
        Request::Name { .. } | Request::Names | Request::ImportNames { .. } => {
            return Err("names of stations are not the packet loop's".into());
        }
        Request::Shutdown { .. } => ControlRequest::Shutdown,
        Request::SetRate { mac, rate_mbps, mode } => {
            ControlRequest::SetRate(mac_address("mac", &mac)?, station_rate(rate_mbps, mode.as_deref())?)
        }
        Request::Losses { access_point, total } => {
            ControlRequest::Losses(mac_address("access_point", &access_point)?, total)
        }
        Request::Network { mac, ssid } => {
            let (mac, ssid) = (mac_address("mac", &mac)?, ssid.map(|ssid| label("ssid", &ssid)).transpose()?);
            ControlRequest::Membership(Observation::StationNetwork { mac, ssid })
        }
        Request::At { mac, access_point } => {
            let place = |text: String| {
                text.parse().map(Place::Radio).or_else(|_| label("access_point", &text).map(Place::Named))
            };
            let (mac, place) = (mac_address("mac", &mac)?, access_point.map(place).transpose()?);
            ControlRequest::Membership(Observation::StationAt { mac, place })
        }
        Request::Group { mac, group } => {
            let (mac, group) = (mac_address("mac", &mac)?, group.map(|group| label("group", &group)).transpose()?);
            ControlRequest::Membership(Observation::StationGroup { mac, group })
        }
        Request::Reconfigure { file, check } => {
            let path = file.or_else(|| config.file.clone()).ok_or("file: the box was started without one; name one")?;
            let is_own = config.file.as_ref() == Some(&path);
            let new =
                BoxConfig::load(&path).map_err(|error| if is_own { without_lines(error) } else { bare(error) })?;
            let listen = |config: &BoxConfig| config.metrics.map(|metrics| metrics.listen);
            let changed = [
                ("ports.wlan", new.wlan != config.wlan),
                ("ports.wire", new.wire != config.wire),
                ("ports.bridge", new.bridge != config.bridge),
                ("ports.mode", (new.inserted, new.observing) != (config.inserted, config.observing)),
                ("ports.io", new.io != config.io),
                ("ports.ring_packets", new.ring_frames != config.ring_frames),
                ("ports.pool_frames", new.pool_frames != config.pool_frames),
                ("control.socket", new.control != config.control),
                ("control.watch", new.watch != config.watch),
                ("record.file", new.record != config.record),
                ("metrics.listen", listen(&new) != listen(config)),
                ("metrics.stations", new.metrics != config.metrics),
                ("history", new.history != config.history),
                ("shards.count", new.shards != config.shards),
                ("manager.access_point: which VLAN is whose shard's", new.plan() != config.plan()),
            ];
            if let Some((key, _)) = changed.iter().find(|(_, changed)| *changed) {
                return Err(format!("{}: {key} cannot change while the box runs; restart it", path.display()));
            }
            let host = HostSettings { telemetry: new.telemetry, names: new.names, health: new.health };
            if check { ControlRequest::Nothing } else { ControlRequest::Reconfigure(Box::new(new.manager), host) }
        }
    })
}

/// An error of the box's own configuration, without the lines of the file.
fn without_lines(error: ConfigError) -> String {
    match error {
        ConfigError::Invalid(problems) => {
            let bare = |problem| Located { source_line: None, ..problem };
            ConfigError::Invalid(problems.into_iter().map(bare).collect()).to_string()
        }
        error => error.to_string(),
    }
}

/// An error of a file that a request names, with places only: the box may be able to read files that its client may not, and keys, values
/// and allowed values may all come from the file.
fn bare(error: ConfigError) -> String {
    let ConfigError::Invalid(problems) = error else { return error.to_string() };
    let places: Vec<_> = problems.iter().take(MOST_PLACES).map(|problem| problem.place.to_string()).collect();
    let more = if problems.len() > MOST_PLACES { " and more" } else { "" };
    format!(
        "{}{more}: it is no configuration of a box; `evenair config check FILE` shows the keys and what would be right, to a user \
         who may read the file",
        places.join(", ")
    )
}

fn mac_address(key: &str, text: &str) -> Result<MacAddr, String> {
    text.parse().map_err(|_| format!("{key}: {text:?} is not a MAC address such as \"02:00:00:00:00:01\""))
}

fn label(key: &str, text: &str) -> Result<Label, String> {
    text.parse().map_err(|error| format!("{key}: {text:?} is no name: {error}"))
}

/// A station's rate, given in one of two forms or not at all.
fn station_rate(rate_mbps: Option<f64>, mode: Option<&str>) -> Result<Option<RateSpec>, String> {
    match (rate_mbps, mode) {
        (None, None) => Ok(None),
        (Some(mbps), None) => phy_rate(mbps).map(|rate| Some(RateSpec::BitRate(rate))),
        (None, Some(mode)) => match mode.parse() {
            Ok(mode) => Ok(Some(RateSpec::Mode(mode))),
            Err(error) => Err(format!("mode: {mode:?}: {error}")),
        },
        (Some(_), Some(_)) => Err("rate_mbps and mode: one of them says all".into()),
    }
}

/// PHY rates are multiples of 100 kb/s.
fn phy_rate(mbps: f64) -> Result<BitRate, String> {
    if (0.0..=MAX_RATE_MBPS).contains(&mbps) {
        Ok(BitRate::from_kbps((mbps * 10.0).round() as u64 * 100))
    } else {
        Err(format!("rate_mbps: {mbps} is not a PHY rate in Mb/s: 0 to {MAX_RATE_MBPS}"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::sync::mpsc;

    use evenair_live::control::QueuedRequest;
    use evenair_manager::Config;
    use evenair_wifi::{Phy, Standard};

    use super::*;
    use crate::tests_support;

    const FILE: &str = "[ports]\nwlan = \"a\"\nwire = \"b\"\n[radio]\nstandard = \"802.11g\"\n";

    fn reconfigure(text: &str) -> Result<ControlRequest, String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(&file, text).expect("writable");
        let config = BoxConfig::new("a", "b", Config::new(Phy::default_for(Standard::Dot11b)));
        let config = BoxConfig { file: Some(file.path().to_owned()), ..config };
        check(Request::Reconfigure { file: None, check: false }, &config)
    }

    fn start(path: &Path) -> Result<Server> {
        let config = BoxConfig::new("a", "b", Config::new(Phy::default_for(Standard::Dot11b)));
        Server::start(path, &config, tests_support::control().0, Parts::default())
    }

    #[test]
    fn the_sockets_directory_is_created() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run/evenair/control.sock");
        let server = start(&path).expect("the directory can be made");
        UnixStream::connect(&path).expect("the box listens");
        drop(server);
        let file = dir.path().join("file");
        fs::write(&file, "").expect("writable");
        let error = start(&file.join("below/control.sock")).err().expect("refused");
        assert!(format!("{error:#}").contains("make the directory"), "{error:#}");
    }

    #[test]
    fn a_deleted_socket_is_created_again() {
        let (_folder, path, server, _inbox) = served();
        let reached = || {
            let begin = Instant::now();
            while UnixStream::connect(&path).is_err() {
                assert!(begin.elapsed() < Duration::from_secs(60), "nobody can reach the box any more");
                thread::sleep(Duration::from_millis(20));
            }
        };
        fs::remove_file(&path).expect("it is there");
        reached();
        fs::remove_file(&path).expect("it is there again");
        // Another file in its place is replaced, as at the start.
        fs::write(&path, "").expect("writable");
        reached();
        drop(server);
        assert!(!path.exists());
    }

    #[test]
    fn only_small_regular_files_are_read_and_their_content_is_not_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let (fifo, secret, long) =
            (folder.path().join("fifo"), folder.path().join("shadow"), folder.path().join("long"));
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("started").success());
        fs::write(&long, "#".repeat(2 << 20)).expect("writable");
        let config = BoxConfig::new("a", "b", Config::new(Phy::default_for(Standard::Dot11b)));
        let refusal = |file: &Path| {
            let request = Request::Reconfigure { file: Some(file.to_owned()), check: true };
            check(request, &config).err().expect("refused")
        };
        for path in [Path::new("/dev/zero"), &fifo, folder.path()] {
            assert!(refusal(path).contains("it is not a regular file"), "{}", refusal(path));
        }
        assert!(refusal(&long).contains("it is longer than 1048576 bytes"));
        for text in [
            "root:$6$hush$hush:19000:0:99999:7:::\n",
            "password = \"hush\"\n",
            "password = hush\n",
            "[ports]\nwlan = \"a\"\nwire = \"b\"\npassword = \"hush\"\n",
        ] {
            fs::write(&secret, text).expect("writable");
            let error = refusal(&secret);
            assert!(error.contains("shadow:") && !error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn of_a_file_named_in_a_request_only_places_are_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret.toml");
        let config = BoxConfig::new("a", "b", Config::new(Phy::default_for(Standard::Dot11b)));
        let own = BoxConfig { file: Some(file.clone()), ..config.clone() };
        let refusal = |config: &BoxConfig, file: Option<&Path>| {
            check(Request::Reconfigure { file: file.map(Path::to_owned), check: true }, config).err().expect("refused")
        };
        let good = "[ports]\nwlan = \"a\"\nwire = \"b\"\n[radio]\nstandard = \"802.11g\"\n";
        for (line, text) in [
            (1, "hushkey = 1\n".to_owned()),
            (1, "[hushtable]\nx = 1\n".to_owned()),
            (1, "[ports.hushtable]\nx = 1\n".to_owned()),
            (3, "[ports]\nwlan = \"a\"\nhushkey = \"b\"\n".to_owned()),
            (6, format!("{good}[manager]\ncontroller = \"hushvalue\"\n")),
            (7, format!("{good}\n[[telemetry]]\nkind = \"hushkind\"\n")),
            (2, "[ports]\nwlan = 1\nwlan = \"hush\"\n".to_owned()),
            (1, "hush hush\n".to_owned()),
        ] {
            fs::write(&file, &text).expect("writable");
            let error = refusal(&config, Some(&file));
            assert!(!error.contains("hush") && error.contains("evenair config check"), "{error}");
            let shown =
                error.split("secret.toml:").nth(1).and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
            assert!(shown.is_some_and(|shown| shown.abs_diff(line) <= 2), "line {line}: {error}");
        }
        // The operator of the box sees the errors of its own configuration.
        fs::write(&file, "[ports]\nwlam = \"a\"\n").expect("writable");
        for named in [None, Some(file.as_path())] {
            let error = refusal(&own, named);
            assert!(error.contains("secret.toml:2:") && error.contains("wlam"), "{error}");
        }
    }

    /// A served socket with its folder, and the requests to the loop.
    fn served() -> (tempfile::TempDir, PathBuf, Server, mpsc::Receiver<QueuedRequest>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("box.sock");
        let config = BoxConfig::new("a", "b", Config::new(Phy::default_for(Standard::Dot11b)));
        let (control, inbox) = tests_support::control();
        let server = Server::start(&path, &config, control, Parts::default()).expect("free");
        (folder, path, server, inbox)
    }

    fn connect(path: &Path) -> UnixStream {
        let stream = UnixStream::connect(path).expect("the box listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a setting");
        stream
    }

    /// The first line that the box sends.
    fn line(stream: &UnixStream) -> String {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("an answer, or the end");
        line
    }

    #[test]
    fn a_bypass_gets_through_while_all_slots_are_taken() {
        let (_folder, path, _server, inbox) = served();
        let _idle: Vec<_> = (0..4 * slots::MOST).map(|_| connect(&path)).collect();
        let mut operator = connect(&path);
        operator.write_all(b"{\"command\":\"bypass\"}\n").expect("taken");
        let asked = inbox.recv_timeout(Duration::from_secs(5)).expect("it is asked at once");
        assert!(matches!(asked.request, ControlRequest::Bypass));
        asked.reply.send(Answer::Done).expect("somebody waits");
        assert_eq!(line(&operator), "{\"ok\":true}\n");
        drop(operator);

        // Nor do clients hinder it that wait for a reply.
        let ask = |request: &str| {
            let mut stream = connect(&path);
            stream.write_all(request.as_bytes()).expect("taken");
            stream
        };
        let waiting: Vec<_> = (0..slots::MOST - 1)
            .map(|_| (ask("{\"command\":\"status\"}\n"), inbox.recv_timeout(Duration::from_secs(60)).expect("asked")))
            .collect();
        let refusal = line(&ask("{\"command\":\"status\"}\n"));
        assert!(refusal.contains("31 requests wait") && refusal.contains("bypass alone"), "{refusal}");
        let operator = ask("{\"command\":\"bypass\"}\n");
        let asked = inbox.recv_timeout(Duration::from_secs(5)).expect("it is asked at once");
        assert!(matches!(asked.request, ControlRequest::Bypass));
        asked.reply.send(Answer::Done).expect("somebody waits");
        assert_eq!(line(&operator), "{\"ok\":true}\n");
        drop(waiting);
    }

    #[test]
    fn a_client_with_an_incomplete_request_is_disconnected() {
        let (_folder, path, _server, _inbox) = served();
        let (silent, mut slow, mut long) = (connect(&path), connect(&path), connect(&path));
        slow.write_all(b"{\"command\"").expect("taken");
        let endless = vec![b'x'; MAX_LINE];
        long.write_all(&endless).expect("taken");
        assert!(line(&long).contains("a line is longer than 65536 bytes"));
        assert_eq!((line(&long), line(&silent), line(&slow)), Default::default());
    }

    #[test]
    fn a_disconnected_client_connects_again() {
        let (_folder, path, _server, inbox) = served();
        let answering = thread::spawn(move || {
            while let Ok(asked) = inbox.recv() {
                let _ = asked.reply.send(Answer::Done);
            }
        });
        let mut client = evenair_client::control::Client::connect(&path).expect("it listens");
        client.bypass().expect("done");
        let _others: Vec<_> = (0..2 * slots::MOST).map(|_| connect(&path)).collect();
        client.bypass().expect("done on a new connection");
        drop((client, _server));
        drop(answering);
    }

    #[test]
    fn a_reconfiguration_is_checked_before_it_reaches_the_loop() {
        assert!(
            matches!(reconfigure(FILE), Ok(ControlRequest::Reconfigure(config, _)) if config.phy.standard() == Standard::Dot11g)
        );
        let error = reconfigure(&FILE.replace("802.11g", "802.11z")).err().expect("refused");
        assert!(error.contains(":5:12: radio.standard"), "{error}");
        let error = reconfigure(&FILE.replace("\"b\"", "\"c\"")).err().expect("refused");
        assert!(error.contains("ports.wire cannot change"), "{error}");
    }

    #[test]
    fn settings_that_need_a_restart_are_refused() {
        let ports = |line: &str| FILE.replace("[radio]", &format!("{line}\n[radio]"));
        for (text, key) in [
            (ports("bridge = \"br0\""), "ports.bridge"),
            (ports("mode = \"inserted\""), "ports.mode"),
            (ports("io = \"af-xdp\""), "ports.io"),
            (ports("ring_packets = 64"), "ports.ring_packets"),
            (ports("pool_frames = 64"), "ports.pool_frames"),
            (format!("{FILE}[control]\nsocket = \"s\"\n"), "control.socket"),
            (format!("{FILE}[record]\nfile = \"f\"\n"), "record.file"),
            (format!("{FILE}[history]\n"), "history"),
            (format!("{FILE}[metrics]\nlisten = \"127.0.0.1:9100\"\n"), "metrics.listen"),
        ] {
            let error = reconfigure(&text).err().expect("refused");
            assert!(error.contains(&format!("{key} cannot change while the box runs")), "{error}");
        }
    }

    #[test]
    fn an_observation_needs_a_mac_address() {
        let config = BoxConfig::new("a", "b", Config::new(Phy::default_for(Standard::Dot11b)));
        let observe = |rate_mbps, mode: Option<&str>| {
            let (mac, mode) = ("02:00:00:00:00:01".into(), mode.map(str::to_owned));
            check(Request::SetRate { mac, rate_mbps, mode }, &config)
        };
        let rate = |request| match request {
            Ok(ControlRequest::SetRate(_, rate)) => Ok(rate),
            Ok(_) => panic!("another request"),
            Err(error) => Err(error),
        };
        assert_eq!(rate(observe(Some(5.5), None)), Ok(Some(RateSpec::BitRate(BitRate::from_kbps(5_500)))));
        let mode = "VHT MCS 8, 80 MHz";
        assert_eq!(rate(observe(None, Some(mode))), Ok(mode.parse().ok().map(RateSpec::Mode)));
        assert_eq!(rate(observe(None, None)), Ok(None));
        assert!(rate(observe(Some(5.5), Some(mode))).unwrap_err().contains("one of them"));
        assert!(rate(observe(None, Some("VHT MCS 9"))).unwrap_err().contains("VHT has no MCS 9"));
        let losses = |mac: &str| check(Request::Losses { access_point: mac.into(), total: 7 }, &config);
        assert!(matches!(losses("02:00:00:00:00:01"), Ok(ControlRequest::Losses(_, 7))));
        assert!(losses("02:00").err().expect("refused").contains("access_point: \"02:00\" is not a MAC address"));
        let group =
            |group: &str| check(Request::Group { mac: "02:00:00:00:00:01".into(), group: Some(group.into()) }, &config);
        assert!(matches!(
            group("staff"),
            Ok(ControlRequest::Membership(Observation::StationGroup { group: Some(_), .. }))
        ));
        let at = |place: Option<&str>| {
            let request = Request::At { mac: "02:00:00:00:00:01".into(), access_point: place.map(str::to_owned) };
            match check(request, &config) {
                Ok(ControlRequest::Membership(Observation::StationAt { place, .. })) => Ok(place),
                Ok(_) => panic!("another request"),
                Err(error) => Err(error),
            }
        };
        assert!(matches!(at(Some("hall")), Ok(Some(Place::Named(_)))));
        assert!(matches!(at(Some("02:00:00:00:09:01")), Ok(Some(Place::Radio(_)))));
        assert_eq!(at(None), Ok(None));
        assert!(at(Some("")).unwrap_err().starts_with("access_point: "));
        assert!(group("").err().expect("refused").contains("1 to 32 bytes"));
        let nobody = check(Request::SetRate { mac: "02:00".into(), rate_mbps: None, mode: None }, &config);
        assert!(nobody.err().expect("refused").contains("\"02:00\" is not a MAC address"));
        for wrong in [1e300, -1.0, f64::NAN, f64::INFINITY, 10_001.0] {
            let error = observe(Some(wrong), None).err().expect("refused");
            assert!(error.contains("is not a PHY rate"), "{error}");
        }
    }
}
