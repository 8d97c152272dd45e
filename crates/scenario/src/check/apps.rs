//! Applications: one per station and instance.

use std::collections::BTreeSet;
use std::path::Path;

use evenair_reader::{CodePoint, Count, OrDefault, Problems, name};
use evenair_units::{Bytes, Span};
use evenair_workload::{Direction, Distribution};

use super::hosts::{Hosts, members};
use super::tcp::congestion_control;
use super::traffic;
use crate::raw::{BulkRaw, Common, PingRaw, ScenarioRaw, VoipRaw, WebRaw};
use crate::traffic_words::Speech;
use crate::{Action, App, AppKind, Event, IpVersion, Tool};

/// Maximum number of applications in a scenario.
const MAX_APPS: usize = 10_000;
/// All applications, and their names.
pub(super) struct Apps {
    /// In the order of the file, kind by kind.
    pub list: Vec<App>,
    /// Oddities of files that applications name, which do not prevent a run.
    pub warnings: Vec<String>,
    names: BTreeSet<String>,
}

/// Checks the applications.
pub(super) struct Checker<'a> {
    apps: Apps,
    hosts: &'a Hosts,
    events: &'a [Event],
    duration: Span,
}

impl<'a> Checker<'a> {
    /// A checker for a run of this length with these hosts and events.
    pub fn new(hosts: &'a Hosts, events: &'a [Event], duration: Span) -> Self {
        Self { apps: Apps { list: Vec::new(), warnings: Vec::new(), names: BTreeSet::new() }, hosts, events, duration }
    }

    /// All applications; files that they name are in `folder`.
    pub fn check(mut self, raw: &ScenarioRaw, folder: &Path, problems: &mut Problems) -> Apps {
        for bulk in &raw.bulk {
            let direction = bulk.direction.get(problems).unwrap_or(Direction::Up);
            let kind = bulk_kind(bulk, problems);
            self.add(&bulk.common(), direction, &kind, problems);
        }
        for udp in &raw.udp {
            let direction = udp.direction.get(problems).unwrap_or(Direction::Up);
            let kind = traffic::udp(udp, folder, problems);
            let first = self.apps.list.len();
            self.add(&udp.common(), direction, &kind, problems);
            if traffic::to_group(udp, raw, problems) {
                self.apps.list[first..].iter_mut().for_each(|app| app.group = true);
            }
        }
        for replay in &raw.replay {
            let direction = replay.direction.get(problems).unwrap_or(Direction::Up);
            let kind = traffic::replay(replay, direction, folder, &mut self.apps.warnings, problems);
            self.add(&replay.common(), direction, &kind, problems);
        }
        for call in &raw.voip {
            self.add_call(call, problems);
        }
        for flows in &raw.flows {
            let direction = flows.direction.get(problems).unwrap_or(Direction::Up);
            let kind = traffic::flows(flows, folder, self.duration, problems);
            self.add(&flows.common(), direction, &kind, problems);
        }
        for source in &raw.onoff {
            let direction = source.direction.get(problems).unwrap_or(Direction::Up);
            let kind = traffic::onoff(source, folder, problems);
            self.add(&source.common(), direction, &kind, problems);
        }
        for web in &raw.web {
            let kind = web_kind(web, problems);
            self.add(&web.common(), Direction::Down, &kind, problems);
        }
        for ping in &raw.ping {
            let kind = ping_kind(ping, problems);
            self.add(&ping.common(), Direction::Up, &kind, problems);
        }
        let entries = [
            raw.bulk.len(),
            raw.udp.len(),
            raw.replay.len(),
            raw.voip.len(),
            raw.flows.len(),
            raw.onoff.len(),
            raw.web.len(),
            raw.ping.len(),
        ];
        if entries.iter().all(|&entries| entries == 0) {
            problems.add(
                0..0,
                "there is no application",
                "at least one, such as [[bulk]], [[udp]], [[web]] or [[ping]]",
            );
        }
        self.apps
    }
}

impl Apps {
    /// Indices of the applications of this name, or of the group of this name.
    pub fn named(&self, name: &str) -> Vec<u32> {
        let numbered = |app: &App| {
            let rest = app.name.strip_prefix(name);
            self.names.contains(name) && rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
        };
        match self.list.iter().position(|app| app.name == name) {
            Some(app) => vec![app as u32],
            None => (0..).zip(&self.list).filter(|(_, app)| numbered(app)).map(|(number, _)| number).collect(),
        }
    }

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
        // Speech is marked by default: EF, RFC 3246.
        let usual = if matches!(kind, AppKind::Voip(_)) { CodePoint(46) } else { CodePoint(0) };
        let dscp = raw.dscp.get_or(usual, problems).unwrap_or(usual).0;
        let times = self.times(raw, total, problems);
        let Some(name) = name(raw.name, problems) else { return };
        // Placeholders, so that references to this application by name are still checked.
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
        let kind = in_group(kind, self.apps.list.len(), names.len());
        let entry = name.clone();
        for (i, name) in names.iter().enumerate() {
            let station = stations[i % stations.len()];
            let start = start + stagger * i as u64;
            self.check_presence(raw, station, start, problems);
            self.apps.names.insert(name.clone());
            let streams = match kind {
                AppKind::Flows(_) => format!("application {entry}"),
                _ => format!("application {entry} of {} {}", self.hosts.list[station].name, i / stations.len()),
            };
            let (name, entry, kind) = (name.clone(), entry.clone(), kind.clone());
            let group = false;
            let app = App { name, entry, streams, station, peer, direction, kind, start, stop, ip, dscp, group };
            self.apps.list.push(app);
        }
        self.apps.names.insert(name);
    }

    /// Each direction of a call is an application; with two directions, names have a suffix.
    fn add_call(&mut self, raw: &VoipRaw, problems: &mut Problems) {
        let kind = traffic::voip(raw, problems);
        let directions = match raw.direction.get_or(Speech::Both, problems) {
            Some(Speech::Up) => return self.add(&raw.common(), Direction::Up, &kind, problems),
            Some(Speech::Down) => return self.add(&raw.common(), Direction::Down, &kind, problems),
            Some(Speech::Both) | None => [(Direction::Up, "up"), (Direction::Down, "down")],
        };
        let Some(entry) = name(&raw.name, problems) else { return };
        let before = self.apps.list.len();
        for (direction, way) in directions {
            let name = raw.name.with(format!("{entry}-{way}"));
            self.add(&Common { name: &name, ..raw.common() }, direction, &kind, problems);
        }
        self.apps.list[before..].iter_mut().for_each(|app| app.entry.clone_from(&entry));
    }

    /// First start, interval between starts, stop.
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
        // Both are below a day, and there are at most some thousand.
        let last = start + stagger * u64::from(total.saturating_sub(1));
        let span = if raw.stop.is_some() { raw.stop.place() } else { raw.stagger.place() };
        if last >= stop.unwrap_or(duration) {
            let what = format!("the last would start at {} and never run", seconds(last));
            problems.add(span, what, "a start before the stop");
            return None;
        }
        Some((start, stagger, stop))
    }

    /// An application cannot run on a station that joins later.
    fn check_presence(&self, raw: &Common<'_>, station: usize, start: Span, problems: &mut Problems) {
        let first = self.events.iter().find(|event| match event.action {
            Action::Join(host) | Action::Leave(host) => host == station,
            Action::Insert | Action::Bypass | Action::Rate(..) | Action::Roam { .. } => false,
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

/// Gives an application of a group the list of the others.
fn in_group(kind: &AppKind, first: usize, members: usize) -> AppKind {
    let mut kind = kind.clone();
    if let AppKind::Flows(spec) = &mut kind {
        (spec.first, spec.members) = (first as u32, members as u32);
    }
    kind
}

fn bulk_kind(raw: &BulkRaw, problems: &mut Problems) -> AppKind {
    let size = raw.size.as_ref().and_then(|size| size.get(problems));
    AppKind::Bulk {
        tool: raw.tool.get_or(Tool::Builtin, problems).unwrap_or(Tool::Builtin),
        congestion_control: congestion_control(raw.congestion_control.as_ref(), problems),
        bytes: size,
    }
}

fn web_kind(raw: &WebRaw, problems: &mut Problems) -> AppKind {
    let fewest = raw.objects_min.get_or(1, problems).unwrap_or(0);
    let most = raw.objects_max.get_or(6, problems).unwrap_or(100);
    if fewest > most {
        problems.add(raw.objects_min.place(), format!("{fewest} is more than objects_max, {most}"), "");
    }
    let alpha = raw.size_alpha.get_or(1.1, problems).unwrap_or(1.1);
    let mean = raw.size_mean.get_or(Bytes(20_000), problems);
    let cap = raw.size_cap.get_or(Bytes(10_000_000), problems);
    let (mean, cap) = (mean.unwrap_or(Bytes(1)), cap.unwrap_or(Bytes(10_000_000_000)));
    if cap < mean {
        let span = if raw.size_cap.is_some() { raw.size_cap.place() } else { raw.size_mean.place() };
        problems.add(span, format!("the largest object, {cap}, is below the mean, {mean}"), "");
    }
    let size = Distribution::pareto_of_mean(alpha, mean.0 as f64, Some(cap.0 as f64));
    let second = Span::from_secs(1);
    let think = raw.think.get_or(second, problems);
    AppKind::Web { objects: (fewest, most), size, think: think.unwrap_or(second) }
}

fn ping_kind(raw: &PingRaw, problems: &mut Problems) -> AppKind {
    let default = Span::from_millis(200);
    let interval = raw.interval.get_or(default, problems);
    AppKind::Ping { interval: interval.unwrap_or(default) }
}

/// An instant in an error message.
pub(super) fn seconds(span: Span) -> String {
    format!("{} s", span.as_secs_f64())
}
