//! The box between the access point and the wire: the deployed program, started in its namespace with a configuration made
//! from the scenario, and controlled over its control socket by the scenario's events.
//!
//! The box replies to "bypass" only when its queues have drained, so commands and queries each have their own connection
//! and thread. The protocol is one JSON object per line, as in its documentation.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::HopResult;
use evenair_api::causes::{self, Drops, Losses};
use evenair_config::{ManagerSpec, PhySpec};
use evenair_packet::MacAddr;
use evenair_reader::Problems;
use evenair_scenario::{Place, Scenario};
use evenair_sys::process::{signal, tie};
use evenair_units::BitRate;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::TestbedError;
use crate::fleet::{LastWords, child_died};
use crate::machine::Machine;
use crate::plan;
use crate::rundir::RunDir;
use crate::topology::{BOX_BRIDGE, BOX_WIRE_PORT, BOX_WLAN_PORT};

/// A box that does not answer after this long will not.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// For an answer to a command, beside the time that draining the queues may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an ending box may take after its queues have drained.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// A running box program. Dropping it ends it.
#[derive(Debug)]
pub struct Middlebox {
    child: Child,
    last_words: LastWords,
    /// The longest that its queues may take to drain.
    drain_limit: Duration,
    commands: Sender<Value>,
    questions: Sender<usize>,
    answers: Receiver<Answer>,
}

/// What the box said.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Its state, asked for at the end of an interval.
    Status(usize, Box<Status>),
    /// A command was done.
    Done(String),
    /// A command was refused, or the box does not answer.
    Failed(String),
}

/// What the testbed wants to know of a box; it says more.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Status {
    /// "bypassed", "inserted" or "draining".
    pub mode: String,
    /// Service rate C.
    pub service_rate_mbps: f64,
    /// Capacity C* by the formula, of the stations that the box sees active.
    pub capacity_mbps: f64,
    /// What became of every packet.
    pub packets: Packets,
    /// Its guard against harm.
    pub guard: Guard,
    /// Its hold on the path.
    pub hold: Hold,
    /// How long packets waited in it.
    pub hops: Vec<HopResult>,
    /// Stations that it knows.
    pub stations: Vec<SeenStation>,
}

/// What the box says of a station.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SeenStation {
    /// Its address.
    pub mac: String,
    /// It takes more than its share, and nothing that the box can do makes it take less.
    pub over_share: bool,
    /// Seconds of medium time that it is charged for packets to it: an estimate.
    pub charged_airtime_down_s: f64,
    /// The same for packets from it.
    pub charged_airtime_up_s: f64,
}

/// The box's guard against harm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Guard {
    /// "watching", "loosened" or "bypassed".
    pub state: String,
    /// The contention domain.
    pub domain: String,
    /// How often it has bypassed the box.
    pub bypasses: u64,
}

/// The box's hold on the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Hold {
    /// How often it ran out because the box was late.
    pub lapses: u64,
}

/// The box's account of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Packets {
    /// Lost by the box, by reason.
    #[serde(flatten, with = "causes::flat")]
    pub losses: Losses,
    /// Handed to the manager.
    pub received: u64,
    /// Released by it.
    pub released: u64,
    /// Dropped by it, by reason.
    #[serde(flatten, with = "causes::flat")]
    pub drops: Drops,
    /// In its queues.
    pub held: u64,
    /// Calls that it has found and let go first.
    pub calls_admitted: u64,
    /// Calls that it has found and refused.
    pub calls_refused: u64,
    /// The sums are right.
    pub conserved: bool,
}

impl Status {
    /// Takes back what an answer may say that comes after the moment it is for, at which the box was bypassed and had charged nothing.
    pub fn as_before_insertion(&mut self) {
        "bypassed".clone_into(&mut self.mode);
        for station in &mut self.stations {
            (station.charged_airtime_down_s, station.charged_airtime_up_s) = (0.0, 0.0);
        }
    }

    /// The service rate, while the box manages.
    pub fn managing_rate_mbps(&self) -> Option<f64> {
        (self.mode != "bypassed").then_some(self.service_rate_mbps)
    }
}

#[derive(Serialize)]
struct ConfigFile<'a> {
    ports: BTreeMap<&'static str, &'static str>,
    control: BTreeMap<&'static str, &'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<BTreeMap<&'static str, &'a Path>>,
    radio: &'a PhySpec,
    manager: &'a ManagerSpec,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    station: Vec<StationEntry>,
}

#[derive(Serialize)]
struct StationEntry {
    mac: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<String>,
    weight: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
}

/// The configuration file of the box for a scenario.
pub fn config_file(scenario: &Scenario, socket: &Path, record: Option<&Path>) -> String {
    let stations = scenario.hosts.iter().enumerate().filter_map(|(index, host)| match host.place {
        Place::Station { rate, weight, class, .. } => Some(StationEntry {
            mac: plan::host(scenario, index).mac.to_string(),
            rate: scenario.telemetry.rates.then(|| format!("{} Mb/s", rate.bit_rate().as_mbps_f64())),
            weight,
            class: class.map(|class| scenario.manager.class[usize::from(class.0)].name.to_string()),
        }),
        Place::Lan | Place::Wan => None,
    });
    let file = ConfigFile {
        ports: BTreeMap::from([("wlan", BOX_WLAN_PORT), ("wire", BOX_WIRE_PORT), ("bridge", BOX_BRIDGE)]),
        control: BTreeMap::from([("socket", socket)]),
        record: record.map(|path| BTreeMap::from([("file", path)])),
        radio: &scenario.radio.phy_spec,
        manager: &scenario.manager,
        station: if scenario.telemetry.stations { stations.collect() } else { Vec::new() },
    };
    toml::to_string(&file).expect("the forms are made to be written back")
}

impl Middlebox {
    /// Starts the box in `machine` by `command` with the path of its configuration appended, and waits until it
    /// answers. It is tied to the calling thread.
    ///
    /// # Errors
    /// Where it cannot be started or does not come up.
    pub fn start(
        scenario: &Scenario,
        machine: &Machine,
        run: &RunDir,
        command: &[String],
        record: Option<&Path>,
    ) -> Result<Self, TestbedError> {
        let socket = run.path().join("box.sock");
        let config = run.write("box.toml", &config_file(scenario, &socket, record))?;
        let (program, arguments) = command.split_first().ok_or_else(|| failed("its command is empty"))?;
        let mut start = Command::new(program);
        start.args(arguments).arg(config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // In a process group of its own: Ctrl-C at the terminal is for the run, which ends the box itself.
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

    /// Starts to manage.
    pub fn insert(&self) {
        self.tell(json!({"command": "insert"}));
    }

    /// Drains and stops to manage.
    pub fn bypass(&self) {
        self.tell(json!({"command": "bypass"}));
    }

    /// Reports a station's PHY rate; without one: it has left.
    pub fn observe(&self, mac: MacAddr, rate: Option<BitRate>) {
        let mut command = json!({"command": "set-rate", "mac": mac.to_string()});
        if let Some(rate) = rate {
            command["rate_mbps"] = rate.as_mbps_f64().into();
        }
        self.tell(command);
    }

    /// Reports a station's access point.
    pub fn place(&self, mac: MacAddr, access_point: &str) {
        self.tell(json!({"command": "at", "mac": mac.to_string(), "access_point": access_point}));
    }

    /// Asks for the state at the end of interval `index`.
    pub fn ask(&self, index: usize) {
        // A box that no longer listens has said so through `answers`.
        let _ = self.questions.send(index);
    }

    /// What it has said since.
    pub fn answers(&self) -> impl Iterator<Item = Answer> + '_ {
        self.answers.try_iter()
    }

    /// An error if it has ended.
    ///
    /// # Errors
    /// Its last words.
    pub fn check_alive(&mut self) -> Result<(), TestbedError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(child_died("the box".to_owned(), &mut self.child, &self.last_words)),
        }
    }

    fn tell(&self, command: Value) {
        let _ = self.commands.send(command);
    }
}

impl Drop for Middlebox {
    fn drop(&mut self) {
        // Errors in here mean that it has ended already.
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

/// The longest that the box of this scenario drains its queues.
fn drain_limit(scenario: &Scenario) -> Duration {
    let radio = &scenario.radio;
    let config = scenario.manager.check(&radio.phy, radio.rts_threshold, &mut Problems::default());
    Duration::from_nanos(config.expect("a scenario is checked when it is read").drain_limit.as_nanos())
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

/// The box's control socket. It hangs up on clients that are silent for long, and so each request has a connection of its own.
#[derive(Clone)]
struct Control {
    socket: PathBuf,
    answer_timeout: Duration,
}

impl Control {
    fn ask(&self, request: &Value) -> Result<Value, String> {
        let line = self.exchange(request).map_err(|e| e.to_string())?;
        let answer: Value = serde_json::from_str(&line).map_err(|e| format!("answered {line:?}: {e}"))?;
        match answer["ok"].as_bool() {
            Some(true) => Ok(answer),
            _ => Err(answer["error"].as_str().unwrap_or("refused without a reason").to_owned()),
        }
    }

    fn exchange(&self, request: &Value) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(self.answer_timeout))?;
        stream.write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    }
}

/// Starts the two threads that talk; they end when the channels do.
fn talk(control: Control) -> (Sender<Value>, Sender<usize>, Receiver<Answer>) {
    let (commands, commands_out) = channel::<Value>();
    let (questions, questions_out) = channel::<usize>();
    let (answer, answers) = channel();
    let (answer_command, control_commands) = (answer.clone(), control.clone());
    thread::spawn(move || {
        for command in commands_out {
            let name = command["command"].as_str().unwrap_or_default().to_owned();
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
            let status = control.ask(&json!({"command": "status"})).and_then(|mut answer| {
                serde_json::from_value(answer["status"].take()).map_err(|error| error.to_string())
            });
            let said = match status {
                Ok(status) => Answer::Status(index, Box::new(status)),
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
    use evenair_api::causes::{Cause, DropReason, LossReason};

    use super::*;

    #[test]
    fn a_late_answer_says_nothing_of_what_came_after_the_insertion() {
        let station = SeenStation { charged_airtime_down_s: 0.1, charged_airtime_up_s: 0.2, ..SeenStation::default() };
        let mut status =
            Status { mode: "inserted".into(), service_rate_mbps: 5.0, stations: vec![station], ..Status::default() };
        assert_eq!(status.managing_rate_mbps(), Some(5.0));
        status.as_before_insertion();
        assert_eq!((status.managing_rate_mbps(), &status.stations[0]), (None, &SeenStation::default()));
    }

    #[test]
    fn a_box_may_drain_as_long_as_the_scenario_says() {
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

    #[test]
    fn every_cause_that_the_box_counts_is_read() {
        for (reason, packets) in LossReason::ALL.iter().zip(1..) {
            let status: Status = read(json!({"packets": {(reason.key()): packets, "sent": 5}}));
            assert_eq!((status.packets.losses[*reason], status.packets.losses.total()), (packets, packets));
        }
        for (reason, packets) in DropReason::ALL.iter().zip(1..) {
            let status: Status = read(json!({"packets": {(reason.key()): packets}}));
            assert_eq!((status.packets.drops[*reason], status.packets.drops.total()), (packets, packets));
        }
    }

    fn read(said: Value) -> Status {
        serde_json::from_value(said).expect("a status")
    }
}
