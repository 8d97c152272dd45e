//! `evenair top`: live view of a running box, station by station.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use evenair_api::causes::in_lines;
use evenair_api::health::{HealthStatus, Level};
use evenair_api::{
    CallStatus, ClassStatus, DomainStatus, FlowStatus, Mode, ShardStatus, SpeechStatus, StationStatus, Status,
};
use evenair_live::control::Client;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, Table};

/// Calls on the screen: those with the lowest quality. The rest of the screen is for stations.
const MOST_CALL_LINES: u16 = 8;

/// Arguments of `evenair top`.
#[derive(Args)]
pub struct TopArgs {
    /// The box's control socket
    #[arg(long, default_value = super::SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Seconds between two updates, 0.1 to 60
    #[arg(long, default_value_t = 1.0, value_parser = seconds, value_name = "S")]
    every: f64,
    /// Print this many updates as plain text and exit; also the default without a terminal
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    if (0.1..=60.0).contains(&number) { Ok(number) } else { Err(format!("{number} s is not 0.1 to 60 s")) }
}

/// A station's activity between two samples, or a class's; classes come first.
#[derive(Clone, Debug, Default, PartialEq)]
struct StationRow {
    mac: String,
    address: String,
    /// If it was reported.
    rate_mbps: Option<f64>,
    signal_dbm: Option<i8>,
    /// Charged airtime in both directions, in percent of the time.
    airtime: f64,
    /// The part for packets from the station; a class has no values by direction.
    airtime_up: Option<f64>,
    down_mbps: f64,
    up_mbps: f64,
    flows: usize,
    held: u64,
    dropped: u64,
    over_share: bool,
    is_class: bool,
    is_medium: bool,
}

/// The columns by which rows can be in order, and the key of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Air,
    Down,
    Up,
    Held,
    Mac,
}

const ORDERS: [(char, Order); 5] =
    [('a', Order::Air), ('d', Order::Down), ('u', Order::Up), ('h', Order::Held), ('m', Order::Mac)];

/// Two samples of a box, and the difference.
struct Looks {
    client: Client,
    before: Option<(Instant, Status)>,
}

/// Shows a running box until `q` is pressed, or a number of times.
pub fn top(args: &TopArgs) -> Result<ExitCode> {
    let mut looks = Looks { client: Client::connect(&args.socket)?, before: None };
    let every = Duration::from_secs_f64(args.every);
    if args.count.is_some() || !std::io::stdout().is_terminal() {
        return plain(&mut looks, every, args.count.unwrap_or(u64::MAX));
    }
    let mut terminal = ratatui::try_init().context("open the terminal")?;
    let outcome = screen(&mut terminal, &mut looks, every);
    ratatui::restore();
    outcome.map(|()| ExitCode::SUCCESS)
}

impl Looks {
    /// Samples the box, and computes the changes since the last sample.
    fn look(&mut self) -> Result<(Status, Vec<StationRow>)> {
        let status = self.client.status()?;
        let now = Instant::now();
        let (before, seconds) = match &self.before {
            Some((then, before)) => (before, now.duration_since(*then).as_secs_f64()),
            None => (&status, 1.0),
        };
        let mut rows = rows(before, &status, seconds);
        rows.extend(class_rows(before, &status, seconds));
        rows.extend(domain_rows(&status));
        rows.extend(shard_rows(before, &status, seconds));
        self.before = Some((now, status.clone()));
        Ok((status, rows))
    }
}

/// The classes' activity between two samples, as separate rows.
fn class_rows(before: &Status, now: &Status, seconds: f64) -> Vec<StationRow> {
    let earlier = |class: &ClassStatus| {
        let same = |other: &&ClassStatus| other.name == class.name;
        before.classes.iter().find(same)
    };
    let row = |class: &ClassStatus| {
        let before = earlier(class);
        let mbps = |now: u64, before: Option<u64>| since(now, before) as f64 * 8.0 / 1e6 / seconds;
        let airtime_before =
            before.map(|class| class.charged_airtime_s).filter(|&before| before <= class.charged_airtime_s);
        StationRow {
            mac: class.parent.as_ref().map_or_else(|| class.name.clone(), |_| format!("  {}", class.name)),
            address: if class.at_ceiling { "at its ceiling".into() } else { String::new() },
            airtime: (class.charged_airtime_s - airtime_before.unwrap_or(0.0)) / seconds * 100.0,
            down_mbps: mbps(class.released_bytes, before.map(|class| class.released_bytes)),
            up_mbps: mbps(class.from_wlan_bytes, before.map(|class| class.from_wlan_bytes)),
            held: class.held.into(),
            dropped: since(class.dropped, before.map(|class| class.dropped)),
            is_class: true,
            ..StationRow::default()
        }
    };
    now.classes.iter().map(row).collect()
}

/// Contention domains, if there are several, as separate rows.
fn domain_rows(now: &Status) -> Vec<StationRow> {
    let row = |domain: &DomainStatus| StationRow {
        mac: format!("[{}]", domain.name),
        address: format!("{:.1} of {:.1} Mb/s", domain.throughput_mbps, domain.capacity_mbps),
        held: domain.held,
        is_class: true,
        is_medium: true,
        ..StationRow::default()
    };
    now.domains.iter().filter(|_| now.domains.len() > 1).map(row).collect()
}

/// Packet loops, if there are several, as separate rows.
fn shard_rows(before: &Status, now: &Status, seconds: f64) -> Vec<StationRow> {
    let row = |(number, shard): (usize, &ShardStatus)| {
        let before = before.shards.get(number);
        let cpu = shard.cpu_s - before.map_or(shard.cpu_s, |before| before.cpu_s);
        let packets = since(shard.received, before.map(|before| before.received)) as f64 / seconds;
        StationRow {
            mac: format!("[shard {number}]"),
            address: format!("{:.0} % CPU, {packets:.0}/s", cpu / seconds * 100.0),
            held: shard.held,
            dropped: since(shard.lost, before.map(|before| before.lost)),
            is_class: true,
            is_medium: true,
            ..StationRow::default()
        }
    };
    now.shards.iter().enumerate().map(row).collect()
}

fn rows(before: &Status, now: &Status, seconds: f64) -> Vec<StationRow> {
    let earlier: BTreeMap<_, _> = before.stations.iter().map(|station| (station.mac.as_str(), station)).collect();
    let mut rows: BTreeMap<&str, StationRow> = now
        .stations
        .iter()
        .map(|station| (station.mac.as_str(), row(station, earlier.get(station.mac.as_str()).copied(), seconds)))
        .collect();
    let key = |flow: &FlowStatus| (flow.vlan, flow.inner_vlan, flow.low.clone(), flow.high.clone());
    let dropped_before: BTreeMap<_, _> = before.flows.iter().map(|flow| (key(flow), flow.dropped)).collect();
    for flow in &now.flows {
        let Some(row) = rows.get_mut(flow.station.as_str()) else { continue };
        row.flows += 1;
        row.held += u64::from(flow.backlog_packets);
        row.dropped += since(flow.dropped, dropped_before.get(&key(flow)).copied());
    }
    rows.into_values().collect()
}

fn row(now: &StationStatus, before: Option<&StationStatus>, seconds: f64) -> StationRow {
    let mbps = |now: u64, before: Option<u64>| since(now, before) as f64 * 8.0 / 1e6 / seconds;
    let counted = before.filter(|before| before.charged_airtime_s <= now.charged_airtime_s);
    let airtime = |of: fn(&StationStatus) -> f64| (of(now) - counted.map_or(0.0, of)) / seconds * 100.0;
    StationRow {
        mac: now.mac.clone(),
        address: name_or_address(now),
        rate_mbps: now.rate_reported.then_some(now.rate_mbps),
        signal_dbm: now.reported.as_ref().and_then(|reported| reported.signal_dbm),
        airtime: airtime(|station| station.charged_airtime_s),
        airtime_up: Some(airtime(|station| station.charged_airtime_up_s)),
        down_mbps: mbps(now.to_station_bytes, before.map(|station| station.to_station_bytes)),
        up_mbps: mbps(now.from_station_bytes, before.map(|station| station.from_station_bytes)),
        over_share: now.over_share,
        ..StationRow::default()
    }
}

/// Calls, one line each, those with the lowest quality first.
fn call_lines(status: &Status) -> Vec<String> {
    let worst = |call: &CallStatus| {
        let ratings = [call.down.r_factor, call.up.r_factor].into_iter().flatten();
        ratings.fold(f64::INFINITY, f64::min)
    };
    let mut calls: Vec<_> = status.calls.iter().collect();
    calls.sort_by(|a, b| worst(a).total_cmp(&worst(b)));
    let way = |speech: &SpeechStatus| {
        let or_dash = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.1}"));
        let (r, mos, jitter) = (or_dash(speech.r_factor), or_dash(speech.mos), or_dash(speech.jitter_ms));
        format!("R {r:>4} MOS {mos} loss {:>4.1} % jitter {jitter} ms", speech.loss_percent)
    };
    let line = |call: &CallStatus| {
        let state = if call.refused.is_some() { "REFUSED" } else { "call" };
        let CallStatus { station, peer, codec, lasts_s, down, up, .. } = call;
        format!("{state} {station} with {peer} {codec} {lasts_s:.0} s  down {}  up {}", way(down), way(up))
    };
    calls.into_iter().map(line).collect()
}

/// A station's host name, truncated to the column, or else its latest address; marked if its MAC address is a random one, which
/// may change.
fn name_or_address(station: &StationStatus) -> String {
    const ROOM: usize = 15;
    let known = station.name.as_ref().or(station.addresses.first()).cloned().unwrap_or_default();
    let mark = if station.random_mac { " ~" } else { "" };
    if known.chars().count() <= ROOM {
        return known + mark;
    }
    known.chars().take(ROOM - 1).chain(['\u{2026}']).collect::<String>() + mark
}

/// The increase of a counter. A counter that is new, or was forgotten in between, starts from zero.
fn since(now: u64, before: Option<u64>) -> u64 {
    now - before.filter(|&before| before <= now).unwrap_or(0)
}

fn put_in_order(rows: &mut [StationRow], order: Order) {
    rows.sort_by(|a, b| match order {
        // In the operator's order.
        _ if a.is_class || b.is_class => b.is_class.cmp(&a.is_class),
        Order::Air => b.airtime.total_cmp(&a.airtime),
        Order::Down => b.down_mbps.total_cmp(&a.down_mbps),
        Order::Up => b.up_mbps.total_cmp(&a.up_mbps),
        Order::Held => b.held.cmp(&a.held),
        Order::Mac => a.mac.cmp(&b.mac),
    });
}

/// What is wrong, in a line; none: the box does not say.
fn health_line(status: &Status) -> Option<String> {
    status.health.as_ref().map(HealthStatus::in_short)
}

const fn colour_of(level: Level) -> Color {
    match level {
        Level::Good => Color::Green,
        Level::Watch => Color::Yellow,
        Level::Bad => Color::Red,
    }
}

fn heading(status: &Status) -> String {
    let packets = &status.packets;
    let lost = if status.fail_open.available { "" } else { "NO FAIL-OPEN: " };
    let guard = status.guard.in_short().map_or_else(String::new, |guard| format!("{guard}  "));
    format!(
        "{lost}{guard}{} (carried by the {})  up {:.0} s  C {:.2} of C* {:.2} Mb/s  {} stations  {} packets held, {} dropped, {} marked",
        status.mode,
        status.carrier,
        status.uptime_s,
        status.service_rate_mbps,
        status.capacity_mbps,
        status.stations_known,
        packets.held,
        packets.dropped(),
        packets.marked
    )
}

/// Airtime is charged airtime, the box's estimate.
const COLUMNS: [&str; 11] = [
    "station",
    "name/address",
    "PHY Mb/s",
    "dBm",
    "charged %",
    "of it up",
    "down Mb/s",
    "up Mb/s",
    "flows",
    "held",
    "dropped",
];

fn cells(row: &StationRow) -> [String; 11] {
    let mark = if row.over_share { " !" } else { "" };
    [
        format!("{}{mark}", row.mac),
        row.address.clone(),
        unless(row.is_class, row.rate_mbps.map_or_else(|| "unknown".to_owned(), |mbps| mbps.to_string())),
        row.signal_dbm.map_or_else(|| if row.is_class { "" } else { "-" }.into(), |dbm| dbm.to_string()),
        unless(row.is_medium, format!("{:.1}", row.airtime)),
        row.airtime_up.map_or_else(String::new, |airtime| format!("{airtime:.1}")),
        unless(row.is_medium, format!("{:.2}", row.down_mbps)),
        unless(row.is_medium, format!("{:.2}", row.up_mbps)),
        if row.is_class { String::new() } else { row.flows.to_string() },
        row.held.to_string(),
        unless(row.is_medium, row.dropped.to_string()),
    ]
}

/// Nothing where that is not known.
fn unless(unknown: bool, text: String) -> String {
    if unknown { String::new() } else { text }
}

fn plain(looks: &mut Looks, every: Duration, count: u64) -> Result<ExitCode> {
    // Rates lie between two looks.
    looks.look()?;
    for _ in 0..count {
        std::thread::sleep(every);
        let (status, mut rows) = looks.look()?;
        put_in_order(&mut rows, Order::Air);
        health_line(&status).iter().for_each(|line| println!("{line}"));
        println!("{}", heading(&status));
        in_lines(&status.packets.drops, &status.packets.losses).iter().for_each(|line| println!("{line}"));
        println!("{}", line_of(COLUMNS.map(str::to_owned)));
        rows.iter().for_each(|row| println!("{}", line_of(cells(row))));
        call_lines(&status).iter().for_each(|line| println!("{line}"));
        println!();
    }
    Ok(ExitCode::SUCCESS)
}

fn line_of([mac, address, rest @ ..]: [String; 11]) -> String {
    rest.iter().fold(format!("{mac:<20}{address:<18}"), |line, cell| line + &format!(" {cell:>10}"))
}

fn screen(terminal: &mut ratatui::DefaultTerminal, looks: &mut Looks, every: Duration) -> Result<()> {
    let mut order = Order::Air;
    let (mut status, mut rows) = looks.look()?;
    let mut next = Instant::now() + every;
    loop {
        put_in_order(&mut rows, order);
        terminal.draw(|frame| draw(frame, &status, &rows, order))?;
        if event::poll(next.saturating_duration_since(Instant::now()))? {
            match event::read()? {
                Event::Key(key) if is_end(key) => return Ok(()),
                Event::Key(KeyEvent { code: KeyCode::Char(key), .. }) => {
                    order = ORDERS.iter().find(|(k, _)| *k == key).map_or(order, |(_, order)| *order);
                }
                _ => {}
            }
        }
        if Instant::now() >= next {
            (status, rows) = looks.look()?;
            next = Instant::now() + every;
        }
    }
}

fn is_end(key: KeyEvent) -> bool {
    let interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}

fn draw(frame: &mut Frame<'_>, status: &Status, stations: &[StationRow], order: Order) {
    let calls = call_lines(status);
    let lines = u16::try_from(calls.len()).map_or(MOST_CALL_LINES, |lines| lines.min(MOST_CALL_LINES));
    let causes = in_lines(&status.packets.drops, &status.packets.losses);
    let parts = [
        Constraint::Length(2 + causes.len() as u16 + u16::from(status.health.is_some())),
        Constraint::Fill(1),
        Constraint::Length(lines),
        Constraint::Length(1),
    ];
    let [top, middle, below, bottom] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(calls.into_iter().map(Line::raw).collect::<Vec<_>>()), below);
    let colour = if status.mode == Mode::Inserted { Color::Green } else { Color::Yellow };
    let level = status.health.as_ref().map_or(Level::Good, |health| health.level);
    let health = health_line(status).map(|line| Line::styled(line, Style::new().fg(colour_of(level))));
    let heading = health.into_iter().chain([Line::styled(heading(status), Style::new().fg(colour))]);
    let heading: Vec<_> = heading.chain(causes.into_iter().map(Line::raw)).collect();
    frame.render_widget(Paragraph::new(heading), top);
    let widths = [20, 17, 8, 5, 9, 8, 9, 9, 6, 6, 8].map(Constraint::Length);
    let header = Row::new(COLUMNS).style(Style::new().add_modifier(Modifier::BOLD));
    frame.render_widget(Table::new(stations.iter().map(|row| Row::new(cells(row))), widths).header(header), middle);
    let keys = ORDERS.iter().map(|&(key, o)| {
        let style = if o == order { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        Span::styled(format!(" {key} {o:?} ").to_lowercase(), style)
    });
    let line: Vec<_> =
        std::iter::once(Span::raw("q end  ! over its share  ~ made-up MAC  order by:")).chain(keys).collect();
    frame.render_widget(Paragraph::new(Line::from(line)), bottom);
}

#[cfg(test)]
mod tests {
    use evenair_api::causes::{Cause, DropReason, LossReason};
    use evenair_api::health::Reason;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn status(down_bytes: u64, dropped: u64) -> Status {
        let station = |mac: &str, to_station_bytes, charged_airtime_s| StationStatus {
            mac: mac.into(),
            to_station_bytes,
            charged_airtime_s,
            ..StationStatus::default()
        };
        let flow =
            FlowStatus { station: "02:00:00:00:00:01".into(), backlog_packets: 7, dropped, ..FlowStatus::default() };
        Status {
            mode: Mode::Inserted,
            stations: vec![
                station("02:00:00:00:00:02", 0, 0.0),
                station("02:00:00:00:00:01", down_bytes, down_bytes as f64 * 1e-6),
            ],
            flows: vec![flow],
            ..Status::default()
        }
    }

    #[test]
    fn the_heading_says_whose_bypass_it_is() {
        let mut status = status(0, 0);
        status.mode = Mode::Bypassed;
        assert!(!heading(&status).contains("GUARD"));
        status.guard.state = evenair_api::GuardState::Bypassed;
        assert!(heading(&status).contains("BYPASSED BY THE GUARD"), "{}", heading(&status));
    }

    #[test]
    fn rates_lie_between_two_looks() {
        let mut rows = rows(&status(1_000_000, 3), &status(1_500_000, 5), 2.0);
        put_in_order(&mut rows, Order::Air);
        let first = &rows[0];
        assert_eq!((first.mac.as_str(), first.down_mbps, first.up_mbps), ("02:00:00:00:00:01", 2.0, 0.0));
        assert_eq!((first.flows, first.held, first.dropped), (1, 7, 2));
        assert!((first.airtime - 25.0).abs() < 1e-9, "{}", first.airtime);
        assert_eq!(rows[1].flows, 0, "a station without connections is shown, too");
        put_in_order(&mut rows, Order::Mac);
        assert_eq!(rows[1].mac, "02:00:00:00:00:02");
    }

    #[test]
    fn airtime_is_charged_by_direction_and_an_unreported_rate_is_unknown() {
        let station = |seconds: f64, rate_reported| StationStatus {
            rate_mbps: 54.0,
            rate_reported,
            charged_airtime_s: seconds,
            charged_airtime_up_s: seconds / 4.0,
            ..StationStatus::default()
        };
        let shown = |rate_reported| cells(&row(&station(2.0, rate_reported), Some(&station(1.0, true)), 2.0));
        let [unknown, known] = [false, true].map(shown);
        assert_eq!([&unknown[2], &unknown[4], &unknown[5]], ["unknown", "50.0", "12.5"]);
        assert_eq!((known[2].as_str(), COLUMNS[4]), ("54", "charged %"));
    }

    #[test]
    fn media_are_shown_where_there_are_several() {
        let domain = |name: &str| DomainStatus {
            name: name.into(),
            throughput_mbps: 18.25,
            capacity_mbps: 22.5,
            ..DomainStatus::default()
        };
        let with = |names: &[&str]| Status { domains: names.iter().map(|name| domain(name)).collect(), ..status(0, 0) };
        assert_eq!(domain_rows(&with(&["default"])), []);
        let rows = domain_rows(&with(&["default", "hall"]));
        let cells = cells(&rows[1]);
        assert_eq!((cells[0].as_str(), cells[1].as_str(), cells[4].as_str()), ("[hall]", "18.2 of 22.5 Mb/s", ""));
    }

    #[test]
    fn shards_are_shown_with_what_they_use() {
        let shard = |cpu_s, received| ShardStatus { cpu_s, received, ..ShardStatus::default() };
        let with = |cpu, packets| Status { shards: vec![shard(cpu, packets); 2], ..status(0, 0) };
        let rows = shard_rows(&with(1.0, 100), &with(1.5, 2100), 2.0);
        let cells = cells(&rows[1]);
        assert_eq!((cells[0].as_str(), cells[1].as_str()), ("[shard 1]", "25 % CPU, 1000/s"));
        assert_eq!(shard_rows(&status(0, 0), &status(0, 0), 1.0), []);
    }

    #[test]
    fn classes_come_first_in_their_own_order() {
        let class = |name: &str, charged_airtime_s, held| ClassStatus {
            name: name.into(),
            charged_airtime_s,
            held,
            ..ClassStatus::default()
        };
        let with = |seconds| Status {
            classes: vec![
                class("staff", 1.0, 5),
                ClassStatus { parent: Some("staff".into()), ..class("phones", 1.0 + seconds, 2) },
            ],
            ..status(0, 0)
        };
        let mut rows = rows(&with(0.0), &with(0.5), 1.0);
        rows.extend(class_rows(&with(0.0), &with(0.5), 1.0));
        for order in [Order::Air, Order::Held, Order::Mac] {
            put_in_order(&mut rows, order);
            assert_eq!((rows[0].mac.as_str(), rows[1].mac.as_str(), rows.len()), ("staff", "  phones", 4));
        }
        assert_eq!((rows[0].airtime, rows[1].airtime, rows[1].held), (0.0, 50.0, 2));
    }

    #[test]
    fn a_station_that_began_anew_counts_whole() {
        let rows = rows(&status(1_000_000, 9), &status(500_000, 0), 1.0);
        assert_eq!((rows[0].down_mbps, rows[0].airtime, rows[0].dropped), (4.0, 50.0, 0));
    }

    #[test]
    fn a_small_screen_and_a_large_one_show_it() {
        for (width, height) in [(20, 4), (120, 30)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
            let mut status = status(0, 0);
            status.fail_open.available = true;
            let rows = rows(&status, &status, 1.0);
            terminal.draw(|frame| draw(frame, &status, &rows, Order::Up)).expect("drawn");
            let text: String = terminal.backend().buffer().content().iter().map(|cell| cell.symbol()).collect();
            assert!(text.contains("inserted"), "{text}");
            assert_eq!(text.contains("02:00:00:00:00:01"), height > 10, "{text}");
        }
    }

    #[test]
    fn health_is_the_first_line() {
        let reason = |sentence: &str| Reason { level: Level::Bad, sentence: sentence.into(), ..Reason::default() };
        let shown = |health: Option<HealthStatus>| -> String {
            let mut terminal = Terminal::new(TestBackend::new(120, 12)).expect("a screen");
            let status = Status { health, ..status(0, 0) };
            terminal.draw(|frame| draw(frame, &status, &[], Order::Up)).expect("drawn");
            terminal.backend().buffer().content().iter().map(|cell| cell.symbol()).collect()
        };
        let bad = HealthStatus::of(vec![reason("anne gets 0.4 Mb/s"), reason("max, too")]);
        assert!(shown(Some(bad)).starts_with("health: bad: anne gets 0.4 Mb/s (and 1 more)"));
        assert!(shown(Some(HealthStatus::default())).starts_with("health: good"));
        assert!(shown(None).starts_with("NO FAIL-OPEN"), "an older box");
    }

    #[test]
    fn every_cause_is_shown_when_it_occurred() {
        let shown = |status: &Status| -> String {
            let mut terminal = Terminal::new(TestBackend::new(120, 12)).expect("a screen");
            terminal.draw(|frame| draw(frame, status, &[], Order::Up)).expect("drawn");
            terminal.backend().buffer().content().iter().map(|cell| cell.symbol()).collect()
        };
        let without = shown(&status(0, 0));
        assert!(!without.contains("dropped:") && !without.contains("LOST"), "{without}");
        for &reason in DropReason::ALL {
            let mut status = status(0, 0);
            status.packets.drops[reason] = 77;
            let text = shown(&status);
            assert!(text.contains(&format!("dropped: {} 77", reason.word())) && !text.contains("LOST"), "{text}");
        }
        for &reason in LossReason::ALL {
            let mut status = status(0, 0);
            status.packets.losses[reason] = 77;
            let text = shown(&status);
            assert!(text.contains(&format!("LOST IN THE BOX: {} 77", reason.word())), "{text}");
            assert!(!text.contains("dropped:") && text.contains("charged %"), "{text}");
        }
    }

    #[test]
    fn the_call_that_is_heard_worst_comes_first() {
        let call = |peer: &str, r_factor| CallStatus {
            peer: peer.into(),
            down: SpeechStatus { r_factor: Some(90.0), ..SpeechStatus::default() },
            up: SpeechStatus { r_factor, mos: Some(3.0), ..SpeechStatus::default() },
            ..CallStatus::default()
        };
        let calls = vec![call("10.0.0.1", None), call("10.0.0.2", Some(61.25))];
        let status = Status { calls, ..status(0, 0) };
        let lines = call_lines(&status);
        assert!(lines[0].contains("10.0.0.2") && lines[0].contains("up R 61.2 MOS 3.0"), "{lines:?}");
        assert!(lines[1].contains("up R    - MOS 3.0"), "{lines:?}");
        let mut terminal = Terminal::new(TestBackend::new(120, 30)).expect("a screen");
        terminal.draw(|frame| draw(frame, &status, &[], Order::Up)).expect("drawn");
        let text: String = terminal.backend().buffer().content().iter().map(|cell| cell.symbol()).collect();
        assert!(text.contains("with 10.0.0.2"), "{text}");
    }

    #[test]
    fn a_station_is_shown_by_its_name_or_its_address() {
        let station = |name: Option<&str>, address: &str, random_mac| StationStatus {
            name: name.map(str::to_owned),
            addresses: vec![address.into()],
            random_mac,
            ..StationStatus::default()
        };
        assert_eq!(name_or_address(&station(None, "10.0.0.7", false)), "10.0.0.7");
        assert_eq!(name_or_address(&station(Some("phone"), "10.0.0.7", true)), "phone ~");
        assert_eq!(name_or_address(&station(None, "2001:db8:1:2:3:4:5:6", true)), "2001:db8:1:2:3\u{2026} ~");
    }

    #[test]
    fn the_time_between_two_looks_is_checked() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "61", "NaN", "often"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
