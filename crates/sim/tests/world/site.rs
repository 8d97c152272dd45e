//! The text of a scenario from parts, so that a test says only what matters to it.
//!
//! Each method adds a table, or lines to one, in the words of docs/scenario-guide.md. `keys` are lines of TOML: with literal
//! strings (`mcs = 7`, `rate = '54 Mb/s'`) they need no escapes in Rust.

use std::fmt::Display;

use evenair_results::{PhaseResult, RunResult};
use evenair_scenario::Scenario;

/// The phase of this name.
pub fn phase<'a>(result: &'a RunResult, name: &str) -> &'a PhaseResult {
    result.phases.iter().find(|phase| phase.name == name).expect("the scenario has the phase")
}

/// A scenario with a server `server` on the LAN, if no other is named.
#[derive(Clone)]
pub struct Site {
    /// Keys before the first table.
    head: String,
    servers: String,
    /// The server of the applications that follow.
    server: String,
    tables: String,
}

impl Site {
    /// A run of this many seconds.
    pub fn new(name: &str, seconds: impl Display) -> Self {
        let head = format!("version = 1\nname = '{name}'\nduration = '{seconds} s'\n");
        Self { head, servers: String::new(), server: "server".to_owned(), tables: String::new() }
    }

    /// Seed of the run; 1 if none is given.
    pub fn seed(mut self, seed: impl Display) -> Self {
        self.head += &format!("seed = {seed}\n");
        self
    }

    /// Any tables.
    pub fn with(mut self, tables: &str) -> Self {
        self.tables += tables;
        self.tables.push('\n');
        self
    }

    /// Further keys of the table added last.
    pub fn and(self, keys: &str) -> Self {
        self.with(keys)
    }

    /// The radio of this standard: one table, to which [`Site::and`] may add.
    pub fn radio(self, standard: &str, keys: &str) -> Self {
        self.with("[radio]").and(&format!("standard = '{standard}'\n{keys}"))
    }

    /// The link between access points and servers, with its one-way delay.
    pub fn lan(self, rate: &str, delay: &str) -> Self {
        self.with(&format!("[lan]\nrate = '{rate}'\ndelay = '{delay}'"))
    }

    /// An Internet link that is the same in both directions.
    pub fn wan(self, rate: &str, delay: &str) -> Self {
        ["down", "up"]
            .into_iter()
            .fold(self, |site, way| site.with(&format!("[wan.{way}]\nrate = '{rate}'\ndelay = '{delay}'")))
    }

    /// Names a server, which the applications that follow use.
    pub fn server(mut self, name: &str, keys: &str) -> Self {
        self.servers += &format!("[[server]]\nname = '{name}'\n{keys}\n");
        self.to(name)
    }

    /// The applications that follow use this server.
    pub fn to(mut self, server: &str) -> Self {
        server.clone_into(&mut self.server);
        self
    }

    /// A station with its rate or MCS.
    pub fn station(self, name: &str, keys: &str) -> Self {
        self.with(&format!("[[station]]\nname = '{name}'\n{keys}"))
    }

    /// A group of stations.
    pub fn stations(self, name: &str, count: impl Display, keys: &str) -> Self {
        self.station(name, &format!("count = {count}\n{keys}"))
    }

    /// Reports neither stations nor rates to the box.
    pub fn without_telemetry(self) -> Self {
        self.with("[telemetry]\nstations = false\nrates = false")
    }

    /// An application of this kind: `bulk`, `web`, ... of these stations, with commas between their names.
    pub fn app(self, kind: &str, name: &str, stations: &str, keys: &str) -> Self {
        let (server, stations) = (self.server.clone(), stations.replace(", ", "', '"));
        self.with(&format!("[[{kind}]]\nname = '{name}'\nstations = ['{stations}']\nserver = '{server}'\n{keys}"))
    }

    /// A TCP transfer without end, `up` or `down`, of each of the stations.
    pub fn bulk(self, name: &str, stations: &str, direction: &str) -> Self {
        self.app("bulk", name, stations, &format!("direction = '{direction}'"))
    }

    /// Datagrams, `up` or `down`, at this rate for each of the stations.
    pub fn udp(self, name: &str, stations: &str, direction: &str, rate: &str) -> Self {
        self.app("udp", name, stations, &format!("direction = '{direction}'\nrate = '{rate}'"))
    }

    /// Echo requests of each of the stations.
    pub fn ping(self, name: &str, stations: &str) -> Self {
        self.app("ping", name, stations, "")
    }

    /// An event after this many seconds.
    pub fn event(self, at: impl Display, what: &str) -> Self {
        self.with(&format!("[[event]]\nat = '{at} s'\ndo = '{what}'"))
    }

    /// Inserts the box after this many seconds.
    pub fn insert(self, at: impl Display) -> Self {
        self.event(at, "insert")
    }

    /// A phase between these seconds.
    pub fn phase(self, name: &str, from: impl Display, to: impl Display) -> Self {
        self.with(&format!("[[phase]]\nname = '{name}'\nfrom = '{from} s'\nto = '{to} s'"))
    }

    /// Applies `add` if `condition` holds.
    pub fn when(self, condition: bool, add: impl FnOnce(Self) -> Self) -> Self {
        if condition { add(self) } else { self }
    }

    /// Applies `add` to each item in turn.
    pub fn each<T>(self, items: impl IntoIterator<Item = T>, add: impl Fn(Self, T) -> Self) -> Self {
        items.into_iter().fold(self, add)
    }

    /// The checked scenario.
    ///
    /// # Panics
    /// If the scenario is refused: the message has the error and the text.
    pub fn scenario(&self) -> Scenario {
        let servers = if self.servers.is_empty() { "[[server]]\nname = 'server'\n" } else { &self.servers };
        let text = format!("{}{servers}{}", self.head, self.tables);
        Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// The result of a run.
    pub fn run(&self) -> RunResult {
        evenair_sim::run(&self.scenario(), |_| ()).expect("it can be simulated")
    }
}
