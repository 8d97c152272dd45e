//! Applications: one per station and repetition.

use std::collections::BTreeSet;

use evenair_units::{BitRate, Bytes, Span};

use super::hosts::{Hosts, members};
use super::{congestion_control, name};
use crate::config::{OrDefault, Problems};
use crate::raw::{BulkRaw, Common, PingRaw, ScenarioRaw, UdpRaw, WebRaw};
use crate::words::Count;
use crate::{Action, App, AppKind, Direction, Event, IpVersion, Pareto, Tool};

/// The most applications in a scenario.
const MAX_APPS: usize = 1000;
/// UDP payload that fits an Ethernet frame: 1500 bytes less IPv6 (40) or IPv4 (20) and UDP (8) headers.
const MAX_PAYLOAD_V4: u64 = 1472;
const MAX_PAYLOAD_V6: u64 = 1452;

/// All applications, and their names.
pub(super) struct Apps {
    /// In the order of the file, kind by kind.
    pub list: Vec<App>,
    names: BTreeSet<String>,
}

struct Checker<'a> {
    apps: Apps,
    hosts: &'a Hosts,
    events: &'a [Event],
    duration: Span,
}

pub(super) fn check(
    raw: &ScenarioRaw,
    hosts: &Hosts,
    events: &[Event],
    duration: Span,
    problems: &mut Problems,
) -> Apps {
    let apps = Apps { list: Vec::new(), names: BTreeSet::new() };
    let mut checker = Checker { apps, hosts, events, duration };
    for bulk in &raw.bulk {
        let direction = bulk.direction.get(problems).unwrap_or(Direction::Up);
        let kind = bulk_kind(bulk, problems);
        checker.add(&bulk.common(), direction, &kind, problems);
    }
    for udp in &raw.udp {
        let direction = udp.direction.get(problems).unwrap_or(Direction::Up);
        let kind = udp_kind(udp, problems);
        checker.add(&udp.common(), direction, &kind, problems);
    }
    for web in &raw.web {
        let kind = web_kind(web, problems);
        checker.add(&web.common(), Direction::Down, &kind, problems);
    }
    for ping in &raw.ping {
        let kind = ping_kind(ping, problems);
        checker.add(&ping.common(), Direction::Up, &kind, problems);
    }
    if raw.bulk.is_empty() && raw.udp.is_empty() && raw.web.is_empty() && raw.ping.is_empty() {
        problems.add(0..0, "there is no application", "at least one [[bulk]], [[udp]], [[web]] or [[ping]]");
    }
    checker.apps
}

impl Apps {
    /// Whether there is an application of this name.
    pub fn has(&self, name: &str) -> bool {
        self.list.iter().any(|app| app.name == name)
    }
}

impl Checker<'_> {
    fn add(&mut self, raw: &Common<'_>, direction: Direction, kind: &AppKind, problems: &mut Problems) {
        let stations = self.hosts.stations(raw.stations, problems);
        let server = self.hosts.server(raw.server, problems);
        let per_station = raw.per_station.get_or(Count(1), problems).unwrap_or(Count(1)).0;
        let ip = raw.ip.get_or(IpVersion::V4, problems).unwrap_or(IpVersion::V4);
        let total = stations.len() as u32 * per_station;
        let times = self.times(raw, total, problems);
        let Some(name) = name(raw.name, problems) else { return };
        // Stand-ins: what refers to this application by name is to be judged as if all else were right.
        let peer = server.unwrap_or(0);
        let (start, stagger, stop) = times.unwrap_or_default();
        if self.apps.list.len() + total as usize > MAX_APPS {
            problems.add(raw.name.span(), "with these there are too many applications", format!("up to {MAX_APPS}"));
            return;
        }
        let names = members(&name, (total != 1).then_some(total));
        for known in names.iter().chain([&name]) {
            if self.apps.names.contains(known) {
                let what = format!("an application or group named \"{known}\" is there already");
                problems.add(raw.name.span(), what, "another name");
                return;
            }
        }
        for (i, name) in names.iter().enumerate() {
            let station = stations[i % stations.len()];
            let start = start + stagger * i as u64;
            self.check_presence(raw, station, start, problems);
            self.apps.names.insert(name.clone());
            let (name, kind) = (name.clone(), kind.clone());
            self.apps.list.push(App { name, station, peer, direction, kind, start, stop, ip });
        }
        self.apps.names.insert(name);
    }

    /// First start, step between starts, stop.
    fn times(&self, raw: &Common<'_>, total: u32, problems: &mut Problems) -> Option<(Span, Span, Option<Span>)> {
        let duration = self.duration;
        let allowed = format!("before the run's end at {}", seconds(duration));
        let start = raw.start.get_or_if(Span::ZERO, problems, |&start| start < duration, allowed);
        let stagger =
            raw.stagger.get_or_if(Span::ZERO, problems, |&step| step < duration, "less than the run's duration");
        let stop = match raw.stop {
            Some(stop) => {
                let allowed = format!("up to the run's end at {}", seconds(duration));
                Some(stop.get_if(problems, |&stop| stop <= duration, allowed)?)
            }
            None => None,
        };
        let (start, stagger) = (start?, stagger?);
        // Both are below a day, and there are at most thousands.
        let last = start + stagger * u64::from(total.saturating_sub(1));
        let span = if raw.stop.is_some() { raw.stop.place() } else { raw.stagger.place() };
        if last >= stop.unwrap_or(duration) {
            let what = format!("the last would start at {} and never run", seconds(last));
            problems.add(span, what, "a start before the stop");
            return None;
        }
        Some((start, stagger, stop))
    }

    /// A station that joins later cannot run an application yet.
    fn check_presence(&self, raw: &Common<'_>, station: usize, start: Span, problems: &mut Problems) {
        let first = self.events.iter().find(|event| match event.action {
            Action::Join(host) | Action::Leave(host) => host == station,
            Action::Insert | Action::Bypass | Action::Rate(..) => false,
        });
        if let Some(Event { at, action: Action::Join(_) }) = first
            && start < *at
        {
            let span = if raw.start.is_some() { raw.start.place() } else { raw.name.span() };
            let station = &self.hosts.list[station].name;
            let what = format!("it would start at {}, before \"{station}\" joins", seconds(start));
            problems.add(span, what, format!("{} or later", seconds(*at)));
        }
    }
}

fn bulk_kind(raw: &BulkRaw, problems: &mut Problems) -> AppKind {
    let size = raw.size.as_ref().and_then(|w| w.get_if(problems, |size| size.0 > 0, "one byte or more"));
    AppKind::Bulk {
        tool: raw.tool.get_or(Tool::Builtin, problems).unwrap_or(Tool::Builtin),
        congestion_control: congestion_control(raw.congestion_control.as_ref(), problems),
        bytes: size,
    }
}

fn udp_kind(raw: &UdpRaw, problems: &mut Problems) -> AppKind {
    let rates = BitRate::from_bps(1)..=BitRate::from_mbps(10_000);
    let rate = raw.rate.get_if(problems, |rate| rates.contains(rate), "1 b/s to 10 Gb/s");
    let v6 = raw.ip.get_or(IpVersion::V4, &mut Problems::default()) == Some(IpVersion::V6);
    let most = if v6 { MAX_PAYLOAD_V6 } else { MAX_PAYLOAD_V4 };
    let fits = |payload: &Bytes| (1..=most).contains(&payload.0);
    let payload = raw.payload.get_or_if(Bytes(1000), problems, fits, format!("1 to {most} bytes, one Ethernet frame"));
    AppKind::Udp { rate: rate.unwrap_or_default(), payload: payload.unwrap_or_default() }
}

fn web_kind(raw: &WebRaw, problems: &mut Problems) -> AppKind {
    let few = |n: &u32| *n <= 100;
    let fewest = raw.objects_min.get_or_if(1, problems, few, "0 to 100").unwrap_or(0);
    let most = raw.objects_max.get_or_if(6, problems, few, "0 to 100").unwrap_or(100);
    if fewest > most {
        problems.add(raw.objects_min.place(), format!("{fewest} is more than objects_max, {most}"), "");
    }
    let alphas = 1.01..=10.0;
    let alpha = raw.size_alpha.get_or_if(1.1, problems, |alpha| alphas.contains(alpha), "1.01 to 10").unwrap_or(1.1);
    let sizes = Bytes(1)..=Bytes(10_000_000_000);
    let mean = raw.size_mean.get_or_if(Bytes(20_000), problems, |size| sizes.contains(size), "1 byte to 10 GB");
    let cap = raw.size_cap.get_or_if(Bytes(10_000_000), problems, |size| sizes.contains(size), "1 byte to 10 GB");
    let size = Pareto { alpha, mean: mean.unwrap_or(Bytes(1)), cap: cap.unwrap_or(Bytes(10_000_000_000)) };
    if size.cap < size.mean {
        let span = if raw.size_cap.is_some() { raw.size_cap.place() } else { raw.size_mean.place() };
        problems.add(span, format!("the largest object, {}, is below the mean, {}", size.cap, size.mean), "");
    }
    let second = Span::from_secs(1);
    let think = raw.think.get_or_if(second, problems, |&think| think <= Span::from_secs(3600), "0 to 1 h");
    AppKind::Web { objects: (fewest, most), size, think: think.unwrap_or(second) }
}

fn ping_kind(raw: &PingRaw, problems: &mut Problems) -> AppKind {
    let default = Span::from_millis(200);
    let intervals = Span::from_millis(1)..=Span::from_secs(60);
    let interval = raw.interval.get_or_if(default, problems, |span| intervals.contains(span), "1 ms to 60 s");
    AppKind::Ping { interval: interval.unwrap_or(default) }
}

/// An instant for people.
pub(super) fn seconds(span: Span) -> String {
    format!("{} s", span.as_secs_f64())
}
