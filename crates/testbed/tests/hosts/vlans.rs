//! Access points by VLAN: tags at the box's ports, and a station that roams to another VLAN with real TCP.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result, ensure};
use evenair_api::{Json, Request, Response};
use evenair_packet::MacAddr;
use evenair_results::RunResult;
use evenair_scenario::Scenario;
use evenair_sys::iface;
use evenair_sys::netns::Netns;
use evenair_sys::ring::Ring;
use evenair_testbed::topology::{BOX, BOX_WIRE_PORT, BOX_WLAN_PORT};
use evenair_testbed::vlan::layer_2_update;
use evenair_testbed::{plan, rundir};

use crate::common;

/// `sitter` at the hall and `out` in the yard, and `walker`, which goes from the hall to the yard at 5.5 s. All download, and
/// `sitter` uploads, over the bridge until 3 s and then through the box, to which only VLANs show where a station is. The
/// applications start after the capture.
const SITE: &str = r#"
    version = 1
    name = "vlans"
    duration = "10 s"
    [radio]
    standard = "802.11b"
    preamble = "short"
    [[access_point]]
    name = "hall"
    channel = 1
    vlan = 11
    [[access_point]]
    name = "yard"
    channel = 6
    vlan = 12
    [telemetry]
    associations = false
    [[manager.access_point]]
    name = "hall"
    vlan = [11]
    [[manager.access_point]]
    name = "yard"
    vlan = [12]
    [[station]]
    name = "sitter"
    rate = "11 Mb/s"
    access_point = "hall"
    [[station]]
    name = "walker"
    rate = "11 Mb/s"
    access_point = "hall"
    [[station]]
    name = "out"
    rate = "11 Mb/s"
    access_point = "yard"
    [[server]]
    name = "server"
    [[bulk]]
    name = "down"
    stations = ["sitter", "walker", "out"]
    server = "server"
    direction = "down"
    start = "1200 ms"
    [[bulk]]
    name = "up"
    stations = ["sitter"]
    server = "server"
    direction = "up"
    start = "1200 ms"
    [[event]]
    at = "3 s"
    do = "insert"
    [[event]]
    at = "5500 ms"
    do = "roam"
    stations = ["walker"]
    access_point = "yard"
    gap = "100 ms"
    [[phase]]
    name = "bridged"
    from = "2 s"
    to = "3 s"
    [[phase]]
    name = "before"
    from = "4 s"
    to = "5 s"
    [[phase]]
    name = "after"
    from = "7 s"
    to = "10 s"
"#;
/// The roam, and ends of the intervals at which VLANs are compared before and after it, in seconds.
const ROAM_S: f64 = 5.5;
const BEFORE_S: f64 = 5.0;
const AFTER_S: f64 = 8.0;
/// Slots of a capture's ring: ten seconds of both channels in one direction.
const SLOTS: u32 = 8192;

/// Number of frames by station and VLAN; `None`: untagged.
type Counted = BTreeMap<(MacAddr, Option<u16>), u64>;

/// What the box's ports receive, and what the box shows.
struct Observer {
    run: String,
    /// At the ports toward the access points and toward the wire.
    rings: [Ring; 2],
    /// Frames from each station, and to each station or group, since the last comparison.
    frames: [Counted; 2],
    /// Layer 2 Updates by VLAN.
    updates: Vec<Option<u16>>,
}

impl Observer {
    /// Starts to capture in the box's namespace of this process's run.
    fn start() -> Result<Self> {
        let own = format!("{}-", std::process::id());
        let hosts = rundir::running_hosts();
        let machine = hosts.into_iter().find(|(run, name, _)| run.starts_with(&own) && name == BOX);
        let (run, _, namespace) = machine.context("there is no box")?;
        let namespace = Netns::open(&namespace)?;
        let open = |port| -> Result<Ring> {
            let ring = namespace.run(|| Ring::open(&iface::find(port)?, SLOTS))??;
            ring.start()?;
            Ok(ring)
        };
        let rings = [open(BOX_WLAN_PORT)?, open(BOX_WIRE_PORT)?];
        Ok(Self { run, rings, frames: Default::default(), updates: Vec::new() })
    }

    /// Counts the frames received since the last call.
    fn count(&mut self) {
        for (ring, (frames, address_at)) in self.rings.iter_mut().zip(self.frames.iter_mut().zip([6, 0])) {
            while let Some(frame) = ring.next_frame() {
                let (bytes, vlan) = (frame.bytes(), frame.vlan().map(|tag| tag.control));
                let mac = MacAddr(bytes[address_at..address_at + 6].try_into().expect("six bytes"));
                *frames.entry((mac, vlan)).or_default() += 1;
                if bytes[12..] == layer_2_update(mac)[12..] {
                    self.updates.push(vlan);
                }
            }
        }
    }

    /// Access point of each station by the box's status.
    fn access_points(&self) -> Result<BTreeMap<String, Option<String>>> {
        let sockets = rundir::bases().into_iter().map(|base| base.join(&self.run).join("box.sock"));
        let socket = sockets.into_iter().find(|socket| socket.exists()).context("there is no control socket")?;
        let mut stream = UnixStream::connect(socket)?;
        writeln!(stream, "{}", Request::Status.to_json())?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        let status = Response::from_json(line.as_bytes())?.status.context("there is no status")?;
        Ok(status.stations.into_iter().map(|station| (station.mac, station.access_point)).collect())
    }

    /// Checks that frames of each station since the last comparison were in the VLAN of its access point, and that the box shows
    /// that access point.
    fn compare(&mut self, scenario: &Scenario, at: [(&str, &str, u16); 3]) -> Result<()> {
        let frames = std::mem::take(&mut self.frames);
        let shown = self.access_points()?;
        for (name, access_point, vlan) in at {
            let host = scenario.hosts.iter().position(|host| host.name == name).context("a station")?;
            let mac = plan::host(scenario, host).mac;
            for counted in &frames {
                let of_station: Counted =
                    counted.range((mac, None)..=(mac, Some(u16::MAX))).map(|(&k, &n)| (k, n)).collect();
                let in_its = of_station.get(&(mac, Some(vlan))).copied().unwrap_or_default();
                ensure!(in_its > 50, "{name} has {in_its} frames in its VLAN: {of_station:?}");
                ensure!(of_station.len() == 1, "{name} has frames elsewhere than in VLAN {vlan}: {of_station:?}");
            }
            let shown = shown.get(&mac.to_string()).context("the box does not know the station")?;
            ensure!(shown.as_deref() == Some(access_point), "{name} at {shown:?}");
        }
        for counted in &frames {
            ensure!(counted.keys().all(|(_, vlan)| vlan.is_some()), "untagged: {counted:?}");
        }
        Ok(())
    }
}

/// The checks of a run at the end of an interval.
fn at_end_of(observer: &mut Option<Observer>, scenario: &Scenario, at_s: f64) -> Result<()> {
    let Some(observer) = observer else {
        *observer = Some(Observer::start()?);
        return Ok(());
    };
    observer.count();
    let walker = if at_s < ROAM_S { ("walker", "hall", 11) } else { ("walker", "yard", 12) };
    let at = [("sitter", "hall", 11), walker, ("out", "yard", 12)];
    if at_s == BEFORE_S || at_s == AFTER_S {
        observer.compare(scenario, at).with_context(|| format!("at {at_s} s"))?;
        ensure!(observer.updates.len() == usize::from(at_s == AFTER_S), "{:?}", observer.updates);
    } else if at_s > BEFORE_S && at_s < AFTER_S {
        // Frames of the walker are in both VLANs.
        observer.frames = Default::default();
    }
    Ok(())
}

#[test]
fn stations_are_in_the_vlan_of_their_access_point_and_roam_to_another() {
    let Some(_turn) = common::turn_with_box() else { return };
    let scenario = common::parse(SITE);
    let (mut observer, mut checked) = (None, Ok(()));
    let result = evenair_testbed::run(&scenario, &common::options(), |progress| {
        if checked.is_ok() {
            checked = at_end_of(&mut observer, &scenario, progress.at_s);
        }
    });
    let result = result.unwrap_or_else(|error| panic!("it runs: {error}"));
    let judged = checked.and_then(|()| judge(&result));
    judged.unwrap_or_else(|why| panic!("{why:#}; {:?}, {:?}", result.lateness, result.invalid_because));
    assert_eq!(observer.expect("the run made progress").updates, [Some(12)], "that of the walker");
    assert!(result.box_faults.is_empty(), "{:?}", result.box_faults);
}

/// Both channels are full over the bridge and through the box, before and after the roam; through the box all connections go on.
fn judge(result: &RunResult) -> Result<()> {
    ensure!(result.phases.len() == 3, "not three phases");
    for phase in &result.phases {
        let mbps: Vec<_> = phase.access_points.iter().map(|point| point.ip_mbps).collect();
        eprintln!("{}: {mbps:?} Mb/s", phase.name);
        ensure!(mbps.iter().all(|&mbps| mbps > 4.0), "{}: {mbps:?} Mb/s", phase.name);
        let stopped = phase.flows.iter().find(|flow| flow.goodput_mbps < 0.5);
        ensure!(phase.name == "bridged" || stopped.is_none(), "{}: {stopped:?}", phase.name);
    }
    Ok(())
}
