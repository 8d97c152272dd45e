//! The configuration of a box as it is written.
//!
//! ```toml
//! [ports]
//! wlan = "eth1"                  # toward the access points
//! wire = "eth0"
//! bridge = "br0"                 # both are its ports; it carries the traffic when the box does not
//!
//! [control]
//! socket = "/run/evenair/control.sock"
//!
//! [radio]
//! standard = "802.11g"
//!
//! [[station]]                    # optional: others are learned
//! mac = "02:00:00:00:00:01"
//! name = "Anne's laptop"
//! rate = "54 Mb/s"
//! weight = 2
//! ```
//!
//! Further tables are `[shards]`, `[record]`, `[metrics]`, `[history]`, `[health]`, `[[telemetry]]` (sources of stations and rates) and
//! `[manager]`, with the keys of a scenario's manager. An invalid file is rejected as a whole, and each problem is reported
//! with its line.

mod health;
mod station;

use std::net::SocketAddr;

use evenair_api::Mode;
use evenair_api::health::Limits;
use evenair_config::{ManagerSpec, PhySpec};
use evenair_manager::{Config, StationConfig};
use evenair_reader::{OrDefault, Problems, Written, ranges, value_now_called};
use evenair_wifi::{Phy, Standard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checked::{BoxConfig, RouterConfig, held_limit};
use crate::history::HistorySpec;
use crate::io::Io;
use crate::metrics::{MetricsConfig, StationLabels};
use crate::shards::ShardsSpec;
pub use crate::sockets::ControlSpec;
use crate::telemetry::TelemetrySpec;
pub use health::HealthSpec;
pub use station::StationSpec;

/// The box's configuration as it is written. Programs may make one and write it, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxFile {
    /// The interfaces.
    pub ports: PortsSpec,
    /// The machine is the stations' gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<RouterSpec>,
    /// Parallel packet loops, one per core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<ShardsSpec>,
    /// The sockets of the running box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlSpec>,
    /// Recording of the manager's inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordSpec>,
    /// Metrics for a monitoring system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsSpec>,
    /// Stored statistics and events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistorySpec>,
    /// Limits beyond which something is wrong with the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthSpec>,
    /// Telemetry sources: access points and controllers that the box polls for stations and rates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub telemetry: Vec<TelemetrySpec>,
    /// The access points' radio.
    pub radio: PhySpec,
    /// Settings of the manager.
    #[serde(default)]
    pub manager: ManagerSpec,
    /// Configured stations; the box learns others from traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub station: Vec<StationSpec>,
}

ranges! {
    /// Capacities of a ring and of the packet memory.
    pub PacketCounts: u32 = "64 to 1048576 packets";
}

/// The interfaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortsSpec {
    /// Interface on the side of the access points.
    pub wlan: Written<String>,
    /// Interface on the wired side.
    pub wire: Written<String>,
    /// The bridge of both ports, which carries the traffic when the box does not. Default: none; then no traffic passes without
    /// the box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<Written<String>>,
    /// Mode in which the box starts: "inserted" (manage the traffic), "observing" (measure what the bridge carries, and change
    /// nothing) or "bypassed". Default: "bypassed".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Written<String>>,
    /// How the box receives and sends packets: "af-packet" (packet rings), "af-xdp" (AF_XDP sockets, in native mode if the
    /// driver supports it), "af-xdp-generic" (AF_XDP sockets in generic mode) or "auto": AF_XDP if both drivers support it, the
    /// MTU is at most 3,000, the box has the privileges, there is one shard and no super-packets can arrive; otherwise packet
    /// rings. Where AF_XDP is not available the box uses packet rings; the status shows the choice and its reason. Default:
    /// "auto".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<Written<String>>,
    /// Capacity of each receive ring, in packets. Default: 4096.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_packets: Option<Written<u32, PacketCounts>>,
    /// Capacity of the packet memory of the box, or of each shard, in packets. Default: 16384.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_frames: Option<Written<u32, PacketCounts>>,
}

/// The interfaces of a machine that is the stations' gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouterSpec {
    /// The stations' gateway: one end of a veth pair, whose other end is the wired side, a port of the bridge.
    pub gateway: Written<String>,
    /// Interface toward the Internet.
    pub uplink: Written<String>,
}

/// Metrics for a monitoring system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsSpec {
    /// A loopback address and port at which `/metrics` is served, as OpenMetrics or as text of Prometheus.
    pub listen: Written<String>,
    /// What the page says of single stations, at most 256 of them: "names" (MAC address, name and IP address), "mac" (MAC address),
    /// "hashed" (a keyed hash in place of the MAC address, which only this box can compute) or "none". Default: "names".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stations: Option<Written<StationLabels>>,
}

/// Recording of the manager's inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordSpec {
    /// Path of the recording; an existing file is replaced.
    pub file: Written<String>,
}

impl PortsSpec {
    /// Two interfaces, and defaults for everything else.
    pub fn new(wlan: &str, wire: &str) -> Self {
        let [wlan, wire] = [wlan, wire].map(Written::new);
        Self { wlan, wire, bridge: None, mode: None, io: None, ring_packets: None, pool_frames: None }
    }

    /// Mode of the box at its start.
    fn start(&self, problems: &mut Problems) -> Option<Mode> {
        let Some(written) = &self.mode else { return Some(Mode::Bypassed) };
        let word = written.get(problems)?;
        if let Ok(mode @ (Mode::Inserted | Mode::Observing | Mode::Bypassed)) = word.parse() {
            return Some(mode);
        }
        let what = match value_now_called("ports.mode", &word) {
            Some(now) => format!("the mode {written} is now \"{now}\"; `evenair config migrate FILE` rewrites it"),
            None => format!("there is no mode {written}"),
        };
        problems.add(written.span(), what, "\"inserted\", \"observing\" or \"bypassed\"");
        None
    }

    fn io(&self, problems: &mut Problems) -> Option<Io> {
        let Some(written) = &self.io else { return Some(Io::default()) };
        let word = written.get(problems)?;
        let io = Io::ALL.into_iter().find(|io| io.word() == word);
        if io.is_none() {
            let right = Io::ALL.map(|io| format!("\"{io}\"")).join(", ");
            problems.add(written.span(), format!("there is no way {written} for packets"), right);
        }
        io
    }
}

impl BoxFile {
    /// A file with these three tables, and defaults for everything else.
    pub const fn new(ports: PortsSpec, radio: PhySpec, manager: ManagerSpec) -> Self {
        Self {
            ports,
            router: None,
            shards: None,
            control: None,
            record: None,
            metrics: None,
            history: None,
            health: None,
            telemetry: Vec::new(),
            radio,
            manager,
            station: Vec::new(),
        }
    }

    /// The text of the file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("the forms are made to be written back")
    }

    /// Checks the file. The result counts only if there are no problems.
    pub fn check(&self, problems: &mut Problems) -> Option<BoxConfig> {
        let manager = self.radio.with_standard(problems, |standard, problems| self.manager(standard, problems));
        let (manager, names) = (manager.flatten(), station::names(&self.station, problems));
        let ports = &self.ports;
        let (wlan, wire) = (interface(&ports.wlan, problems), interface(&ports.wire, problems));
        let bridge = ports.bridge.as_ref().map(|bridge| interface(bridge, problems));
        let router = self.router.as_ref().map(|router| router.check(ports, problems));
        let start = ports.start(problems);
        let shards = self.shards.as_ref().map_or(Some(1), |shards| shards.check(manager.as_ref(), problems));
        let io = ports.io(problems);
        if let (Some(written), Some(2..), true) = (&ports.io, shards, io.is_some_and(Io::asks_for_xdp)) {
            let right = format!("\"{}\", \"{}\", or one shard", Io::Auto, Io::AfPacket);
            problems.add(written.span(), format!("{written} does not tell the packets of several shards apart"), right);
        }
        let ring_frames = ports.ring_packets.get_or(BoxConfig::RING_FRAMES, problems);
        let pool_frames = ports.pool_frames.get_or(BoxConfig::POOL_FRAMES, problems);
        let control = self.control.as_ref().map(|control| control.socket.get(problems));
        let watch = self.control.as_ref().and_then(|control| control.watch.as_ref()).map(|watch| watch.get(problems));
        let metrics = self.metrics.as_ref().map(|metrics| metrics.check(problems));
        let history = self.history.as_ref().map(|history| history.check(problems));
        let health = self.health.as_ref().map_or_else(|| Some(Limits::default()), |health| health.check(problems));
        let telemetry: Vec<_> = self.telemetry.iter().map(|source| source.check(problems)).collect();
        let record = self.record.as_ref().map(|record| record.file.get(problems));
        if wlan.is_some() && wlan == wire {
            problems.add(ports.wire.span(), "wlan and wire are the same interface", "two interfaces");
        }
        Some(BoxConfig {
            file: None,
            wlan: wlan?,
            wire: wire?,
            bridge: present(bridge)?,
            router: present(router)?,
            inserted: start? == Mode::Inserted,
            observing: start? == Mode::Observing,
            shards: shards?,
            io: io?,
            ring_frames: ring_frames?,
            pool_frames: pool_frames?,
            control: present(control)?.map(Into::into),
            watch: present(watch)?.map(Into::into),
            record: present(record)?.map(Into::into),
            metrics: present(metrics)?,
            history: present(history)?,
            telemetry: telemetry.into_iter().collect::<Option<_>>()?,
            manager: Config { held_limit: Some(held_limit(pool_frames?)), ..manager? },
            names,
            health: health?,
        })
    }

    fn manager(&self, standard: Standard, problems: &mut Problems) -> Option<Config> {
        let (phy, rts_threshold) = self.radio.check(standard, problems);
        let manager = self.manager.at_site([None; 2], &self.own_networks());
        let config = manager.check(&phy, rts_threshold, problems);
        let other = |standard: &Standard| *standard != phy.standard();
        let others = self.manager.standards(phy.standard()).into_iter().filter(other).map(Phy::default_for);
        let phys: Vec<Phy> = [phy.clone()].into_iter().chain(others).collect();
        let mut stations: Vec<StationConfig> = Vec::new();
        for spec in &self.station {
            let default_rate = config.as_ref().map_or(phy.lowest_basic(), |config| config.default_rate);
            let Some(station) = spec.check(&phys, default_rate, &self.manager, problems) else { continue };
            if stations.iter().any(|other| other.mac == station.mac) {
                problems.add(spec.mac.span(), format!("{} is there twice", spec.mac), "each station once");
            }
            stations.push(station);
        }
        Some(Config { stations, ..config? })
    }
}

impl BoxFile {
    /// Networks of the addresses of the bridge and the interfaces, if the Internet link is configured.
    fn own_networks(&self) -> Vec<String> {
        if self.manager.wan.is_none() {
            return Vec::new();
        }
        let PortsSpec { wlan, wire, bridge, .. } = &self.ports;
        let gateway = self.router.as_ref().map(|router| &router.gateway);
        let names = [bridge.as_ref(), Some(wlan), Some(wire), gateway].into_iter().flatten();
        let names = names.filter_map(|name| name.get(&mut Problems::default()));
        let networks = names.flat_map(|name| evenair_sys::networks::of(&name).unwrap_or_default());
        networks.map(|(address, prefix)| format!("{address}/{prefix}")).collect()
    }
}

/// Turns a present but invalid value into `None`.
fn present<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        Some(None) => None,
        Some(value) => Some(value),
        None => Some(None),
    }
}

fn interface(name: &Written<String>, problems: &mut Problems) -> Option<String> {
    let fits = |name: &String| !name.is_empty() && name.len() < 16 && !name.contains(['/', ' ']);
    name.get_if(problems, fits, "the name of an interface, up to 15 bytes, as `ip link` shows it")
}

impl RouterSpec {
    fn check(&self, ports: &PortsSpec, problems: &mut Problems) -> Option<RouterConfig> {
        let (gateway, uplink) = (interface(&self.gateway, problems)?, interface(&self.uplink, problems)?);
        let ports = [Some(&ports.wlan), Some(&ports.wire), ports.bridge.as_ref()].into_iter().flatten();
        let taken: Vec<_> = ports.filter_map(|port| port.get(&mut Problems::default())).collect();
        for (written, name) in [(&self.gateway, &gateway), (&self.uplink, &uplink)] {
            if taken.contains(name) {
                let right = "one beside those of [ports]: `evenair init --router` makes a gateway";
                problems.add(written.span(), format!("{written} is a port of the box or their bridge"), right);
                return None;
            }
        }
        if gateway == uplink {
            problems.add(self.uplink.span(), "gateway and uplink are the same interface", "two interfaces");
            return None;
        }
        if taken.len() < 3 {
            let right = "[ports] bridge = \"br0\", which joins wlan and the gateway's port";
            problems.add(self.gateway.span(), "nothing leads to the gateway when the box does not run", right);
            return None;
        }
        Some(RouterConfig { gateway, uplink })
    }
}

impl MetricsSpec {
    fn check(&self, problems: &mut Problems) -> Option<MetricsConfig> {
        let stations = self.stations.get_or(StationLabels::default(), problems);
        let listen = self.address(problems)?;
        Some(MetricsConfig { listen, stations: stations? })
    }

    fn address(&self, problems: &mut Problems) -> Option<SocketAddr> {
        let address: Option<SocketAddr> = self.listen.get(problems)?.parse().ok();
        let loopback = address.filter(|address| address.ip().is_loopback());
        if loopback.is_none() {
            let what = format!("{} is no loopback address with a port", self.listen);
            problems.add(
                self.listen.span(),
                what,
                "\"127.0.0.1:9469\", for instance; another server may put it elsewhere",
            );
        }
        loopback
    }
}

#[cfg(test)]
mod tests;
