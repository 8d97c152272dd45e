//! The box between the access point and the wire: the deployed program, started in its namespace with a configuration made
//! from the scenario, and controlled over its control socket by the scenario's events.
//!
//! The box replies to "bypass" only when its queues have drained, so commands and queries each have their own connection
//! and thread. The protocol is one JSON object per line, as in its documentation.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::{Json, Mode, Request, Response, Status};
use evenair_boxfile::{BoxFile, ControlSpec, PortsSpec, RecordSpec, StationSpec};
use evenair_packet::MacAddr;
use evenair_reader::Written;
use evenair_scenario::{Place, Scenario};
use evenair_sys::process::{signal, tie};
use evenair_wifi::PhyRate;

use crate::error::TestbedError;
use crate::fleet::{LastWords, child_died};
use crate::machine::Machine;
use crate::options::TestbedOptions;
use crate::plan;
use crate::rundir::RunDir;
use crate::topology::{BOX_BRIDGE, BOX_WIRE_PORT, BOX_WLAN_PORT};

/// Time within which the box must answer after its start.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Time within which a command must be answered, in addition to the draining of the queues.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Time within which the box must end after its queues have drained.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// A running box program. Dropping it ends it.
#[derive(Debug)]
pub struct Middlebox {
    child: Child,
    last_words: LastWords,
    /// Longest time for which its queues may drain.
    drain_limit: Duration,
    commands: Sender<Request>,
    questions: Sender<usize>,
    answers: Receiver<Answer>,
}

/// A message of the box.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Its status at the end of this interval.
    Status(usize, Box<Status>),
    /// A command was executed.
    Done(String),
    /// A command was refused, or the box does not answer.
    Failed(String),
}

/// Removes from a status what happened after the moment it is for, at which the box was bypassed and had charged nothing.
pub fn as_before_insertion(status: &mut Status) {
    status.mode = Mode::Bypassed;
    for station in &mut status.stations {
        (station.charged_airtime_down_s, station.charged_airtime_up_s) = (0.0, 0.0);
    }
}

/// The service rate in Mb/s, while the box manages.
pub fn managing_rate_mbps(status: &Status) -> Option<f64> {
    (status.mode != Mode::Bypassed).then_some(status.service_rate_mbps)
}

/// A rate in the syntax of the box's configuration: a mode with all its parts, as several modes have the same bit rate.
fn rate_text(rate: PhyRate) -> String {
    rate.mode().map_or_else(|| format!("{} Mb/s", rate.bit_rate().as_mbps_f64()), |mode| mode.to_string())
}

/// The configuration file of the box for a scenario.
pub fn config_file(scenario: &Scenario, socket: &Path, options: &TestbedOptions) -> String {
    let path = |path: &Path| Written::new(path.display().to_string());
    let ports = PortsSpec {
        bridge: Some(Written::new(BOX_BRIDGE)),
        mode: options.watch.is_some().then(|| Written::new("observing")),
        ..PortsSpec::new(BOX_WLAN_PORT, BOX_WIRE_PORT)
    };
    let (radio, manager) = scenario.box_tables();
    let file = BoxFile {
        control: Some(ControlSpec { socket: path(socket), watch: options.watch.as_deref().map(path) }),
        record: options.record.as_deref().map(|file| RecordSpec { file: path(file) }),
        station: if scenario.telemetry.stations { stations(scenario).collect() } else { Vec::new() },
        ..BoxFile::new(ports, radio, manager)
    };
    file.to_toml()
}

/// The stations of a scenario for the box's configuration.
fn stations(scenario: &Scenario) -> impl Iterator<Item = StationSpec> {
    scenario.hosts.iter().enumerate().filter_map(|(index, host)| match host.place {
        Place::Station { rate, weight, .. } => Some(StationSpec {
            mac: Written::new(plan::host(scenario, index).mac.to_string()),
            name: Some(Written::new(host.name.as_str())),
            rate: scenario.telemetry.rates.then(|| Written::new(rate_text(rate))),
            // A queue discipline refuses weights.
            weight: (weight != 1).then(|| Written::new(weight)),
            class: scenario.class_of(index).map(Written::new),
        }),
        Place::Lan | Place::Wan => None,
    })
}

impl Middlebox {
    /// Starts the box in `machine` by the command of the options with the path of its configuration appended, and waits until it
    /// answers. The process is tied to the calling thread.
    ///
    /// # Errors
    /// If it cannot be started or does not come up.
    pub fn start(
        scenario: &Scenario,
        machine: &Machine,
        run: &RunDir,
        options: &TestbedOptions,
    ) -> Result<Self, TestbedError> {
        let socket = run.path().join("box.sock");
        let config = run.write("box.toml", &config_file(scenario, &socket, options))?;
        let (program, arguments) = options.box_command.split_first().ok_or_else(|| failed("its command is empty"))?;
        let mut start = Command::new(program);
        start.args(arguments).arg(config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // In its own process group: Ctrl-C at the terminal is for the run, which ends the box itself.
        let started = tie(start.process_group(0), Some(machine.netns.as_fd())).spawn();
        let mut child = started.map_err(|source| TestbedError::Child { who: format!("start {program}"), source })?;
        let last_words = LastWords::of(child.stderr.take().expect("piped"));
        let drain_limit = drain_limit(scenario);
        if let Err(error) = await_socket(&socket, &mut child, &last_words) {
            // It is of no use any more; errors mean that it has ended already.
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        let (commands, questions, answers) = talk(Control { socket, answer_timeout: drain_limit + ANSWER_TIMEOUT });
        Ok(Self { child, last_words, drain_limit, commands, questions, answers })
    }

    /// Inserts the box.
    pub fn insert(&self) {
        self.tell(Request::Insert);
    }

    /// Bypasses the box after draining it.
    pub fn bypass(&self) {
        self.tell(Request::Bypass { force: false });
    }

    /// Reports a station's PHY rate, or with `None` that it has left.
    pub fn observe(&self, mac: MacAddr, rate: Option<PhyRate>) {
        let mode = rate.and_then(PhyRate::mode);
        let rate_mbps = rate.filter(|_| mode.is_none()).map(|rate| rate.bit_rate().as_mbps_f64());
        self.tell(Request::SetRate { mac: mac.to_string(), rate_mbps, mode: mode.map(|mode| mode.to_string()) });
    }

    /// Reports a station's access point.
    pub fn place(&self, mac: MacAddr, access_point: &str) {
        self.tell(Request::At { mac: mac.to_string(), access_point: Some(access_point.to_owned()) });
    }

    /// Requests the status at the end of interval `index`.
    pub fn ask(&self, index: usize) {
        // A box that has ended is reported through `answers`.
        let _ = self.questions.send(index);
    }

    /// The messages since the last call.
    pub fn answers(&self) -> impl Iterator<Item = Answer> + '_ {
        self.answers.try_iter()
    }

    /// Checks that the box is running.
    ///
    /// # Errors
    /// If it has ended, with the end of its standard error.
    pub fn check_alive(&mut self) -> Result<(), TestbedError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(child_died("the box".to_owned(), &mut self.child, &self.last_words)),
        }
    }

    fn tell(&self, command: Request) {
        let _ = self.commands.send(command);
    }
}

impl Drop for Middlebox {
    fn drop(&mut self) {
        // Errors here mean that it has ended already.
        let _ = signal(self.child.id(), libc::SIGTERM);
        let deadline = Instant::now() + self.drain_limit + END_TIMEOUT;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed(what: &str) -> TestbedError {
    TestbedError::Protocol { who: "the box".to_owned(), what: what.to_owned() }
}

/// Longest time for which the box of this scenario drains its queues.
fn drain_limit(scenario: &Scenario) -> Duration {
    Duration::from_nanos(scenario.manager.drain_limit.as_nanos())
}

fn await_socket(socket: &Path, child: &mut Child, last_words: &LastWords) -> Result<(), TestbedError> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        match UnixStream::connect(socket) {
            Ok(_) => return Ok(()),
            Err(_) if !matches!(child.try_wait(), Ok(None)) => {
                return Err(child_died("the box".to_owned(), child, last_words));
            }
            Err(error) if Instant::now() > deadline => {
                return Err(failed(&format!("does not open its control socket: {error}")));
            }
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// The box's control socket. It closes connections that are silent for long, so each request has its own connection.
#[derive(Clone)]
struct Control {
    socket: PathBuf,
    answer_timeout: Duration,
}

impl Control {
    fn ask(&self, request: &Request) -> Result<Response, String> {
        let line = self.exchange(request).map_err(|e| e.to_string())?;
        let response: Response = Response::from_json(line.as_bytes()).map_err(|e| format!("answered {line:?}: {e}"))?;
        if response.ok {
            Ok(response)
        } else {
            Err(response.error.unwrap_or_else(|| "refused without a reason".into()))
        }
    }

    fn exchange(&self, request: &Request) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(self.answer_timeout))?;
        stream.write_all(format!("{}\n", request.to_json()).as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    }
}

/// Name of a request on the control socket.
fn name_of(request: &Request) -> String {
    let written: serde_json::Value = serde_json::from_str(&request.to_json()).unwrap_or_default();
    written["command"].as_str().unwrap_or_default().to_owned()
}

/// Starts the two threads of the communication; they end when the channels close.
fn talk(control: Control) -> (Sender<Request>, Sender<usize>, Receiver<Answer>) {
    let (commands, commands_out) = channel::<Request>();
    let (questions, questions_out) = channel::<usize>();
    let (answer, answers) = channel();
    let (answer_command, control_commands) = (answer.clone(), control.clone());
    thread::spawn(move || {
        for command in commands_out {
            let name = name_of(&command);
            let said = match control_commands.ask(&command) {
                Ok(_) => Answer::Done(name),
                Err(error) => Answer::Failed(format!("{name}: {error}")),
            };
            if answer_command.send(said).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for index in questions_out {
            let status = control.ask(&Request::Status).map(|response| response.status);
            let said = match status {
                Ok(Some(status)) => Answer::Status(index, status),
                Ok(None) => Answer::Failed("status: it answered without one".into()),
                Err(error) => Answer::Failed(format!("status: {error}")),
            };
            if answer.send(said).is_err() {
                return;
            }
        }
    });
    (commands, questions, answers)
}

#[cfg(test)]
mod tests {
    use evenair_api::StationStatus;
    use evenair_boxfile::BoxConfig;

    use super::*;

    #[test]
    fn a_late_status_excludes_what_followed_the_insertion() {
        let station =
            StationStatus { charged_airtime_down_s: 0.1, charged_airtime_up_s: 0.2, ..StationStatus::default() };
        let mut status =
            Status { mode: Mode::Inserted, service_rate_mbps: 5.0, stations: vec![station], ..Status::default() };
        assert_eq!(managing_rate_mbps(&status), Some(5.0));
        as_before_insertion(&mut status);
        assert_eq!((managing_rate_mbps(&status), &status.stations[0]), (None, &StationStatus::default()));
    }

    #[test]
    fn the_box_configuration_has_modes_classes_and_the_band() {
        let text = "version = 1\nname = \"modes\"\nduration = \"2 s\"\n\
             radio = { standard = \"802.11ax\", band = \"2.4 GHz\", width = \"40 MHz\" }\n\
             station = [{ name = \"he\", mcs = 7, streams = 2, class = \"gold\" }, { name = \"old\", rate = \"54 Mb/s\" }]\n\
             server = [{ name = \"server\" }]\ntelemetry = { stations = true, rates = true }\n\
             manager = { class = [{ name = \"gold\" }] }\n\
             ping = [{ name = \"ping\", stations = [\"he\", \"old\"], server = \"server\", interval = \"1 s\" }]\n";
        let scenario = Scenario::parse(text, "modes.toml").unwrap_or_else(|error| panic!("{error}"));
        let file = config_file(&scenario, Path::new("/run/socket"), &TestbedOptions::new("agent", "box"));
        for line in ["rate = \"HE MCS 7, 40 MHz, 2 streams, GI 0.8 us\"", "rate = \"54 Mb/s\"", "band = \"2.4 GHz\""] {
            assert!(file.contains(line), "{line} is missing in:\n{file}");
        }
        let config = BoxConfig::parse(&file, "box.toml").unwrap_or_else(|error| panic!("{error}\n{file}"));
        assert_eq!((config.wlan.as_str(), config.wire.as_str()), (BOX_WLAN_PORT, BOX_WIRE_PORT));
        assert_eq!(
            (config.bridge.as_deref(), config.control.as_deref()),
            (Some(BOX_BRIDGE), Some(Path::new("/run/socket")))
        );
        assert_eq!(config.names.into_values().collect::<Vec<_>>(), ["he", "old"]);
        assert_eq!(config.manager.stations[0].class.map(|class| class.0), Some(0));
    }

    #[test]
    fn a_box_may_drain_for_the_time_in_the_scenario() {
        let limit = |manager: &str| {
            let text = format!(
                "version = 1\nname = \"plain\"\nduration = \"2 s\"\nradio = {{ standard = \"802.11b\" }}\n\
                 station = [{{ name = \"sta\", rate = \"11 Mb/s\" }}]\nserver = [{{ name = \"server\" }}]\n\
                 ping = [{{ name = \"ping\", stations = [\"sta\"], server = \"server\", interval = \"1 s\" }}]\n{manager}"
            );
            drain_limit(&Scenario::parse(&text, "plain.toml").expect("a right scenario"))
        };
        assert_eq!(limit(""), Duration::from_secs(1));
        assert_eq!(limit("manager = { drain_limit = \"20 s\" }\n"), Duration::from_secs(20));
    }
}
