//! The content of the screen as lines of text, and its keys.

use std::path::Path;

use evenair_api::health::Level;
use evenair_api::watch::Line;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::samples::Samples;
use super::station::{self, Flows};
use super::table::{self, Order, Row};
use super::text::shortened;
use super::{calls, head};
use evenair_client::watch;

/// Maximum number of lines of calls.
const MOST_CALLS: usize = 6;
/// Maximum number of lines of contention domains and classes.
const MOST_GROUPS: usize = 8;

/// Maximum scroll offset: a station's page has at most its flows and a few lines more.
const MOST_SCROLLED: usize = evenair_api::watch::MOST_FLOWS + 20;

/// Legend of the table's marks and columns.
const NOTE: &str = "- = unknown  ~ = inferred  air: charged  p95: Wi-Fi (TCP)  loss: last 10 s";
/// Help on keys and columns.
const HELP: [&str; 18] = [
    "a d u l         order by air, down, up, latency",
    "up down, k j    choose a station",
    "Enter           all of the chosen station",
    "/               search by name or MAC address; Enter keeps it, Esc ends it",
    "Esc, q          back; end",
    "",
    "Wi-Fi 5.0 + 8.4 95 of 100 packets waited at most 5.0 ms in the box, and took at",
    "                most 8.4 ms for access point and air (TCP)",
    "Internet        the same, beyond the wire port and back",
    "air             charged for packets to and from a station, % of the time;",
    "                above the table, of the busiest contention domain",
    "down, up        Mb/s of IP packets, in the last second",
    "p95 ms          access point and air took 95 of 100 packets no longer (TCP)",
    "loss %          in the box, on the Wi-Fi and beyond it, in the last 10 s (TCP)",
    "rate            PHY rate, Mb/s; ~ is inferred, not reported; - is unknown",
    "dBm, held, MAC  signal, packets in the box: from 90, 96, 116 columns on",
    "!               health is about the station: evenair status says what to do",
    "[name], class   a contention domain, and a class, with all its stations",
];

/// Style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Plain.
    Plain,
    /// In bold.
    Bold,
    /// The chosen station.
    Chosen,
    /// Health of this level.
    Health(Level),
}

/// Content of the middle of the screen.
#[derive(Clone, Debug, Default, PartialEq)]
enum Page {
    #[default]
    Table,
    /// The station with this MAC address.
    Station(String),
    Help,
}

/// State of the screen.
pub struct View {
    samples: Samples,
    order: Order,
    search: String,
    /// Whether keys are typed into the search.
    types: bool,
    /// Number of the page's lines above the screen.
    scrolled: usize,
    /// MAC address of the chosen station; `None`: the first one.
    chosen: Option<String>,
    page: Page,
    flows: Flows,
    /// Why there is no line of this second.
    away: Option<String>,
}

impl Default for View {
    fn default() -> Self {
        let (samples, order, page) = <(Samples, Order, Page)>::default();
        Self {
            samples,
            order,
            search: String::new(),
            types: false,
            scrolled: 0,
            chosen: None,
            page,
            flows: Ok(vec![]),
            away: None,
        }
    }
}

impl View {
    /// Handles the next line of the feed, or its error.
    pub fn take(&mut self, line: Result<Line, String>) {
        match line {
            Ok(line) => {
                self.samples.take(line);
                self.away = None;
            }
            Err(why) => self.away = Some(why),
        }
    }

    /// Requests the flows of the station on the screen, if any.
    pub fn ask_for_flows(&mut self, socket: &Path) {
        if let Page::Station(mac) = &self.page {
            self.set_flows(watch::flows_of(socket, mac).map_err(|error| error.to_string()));
        }
    }

    /// Sets the flows of the station on the screen.
    pub fn set_flows(&mut self, flows: Flows) {
        self.flows = flows;
    }

    /// Handles a key; `false`: quit.
    pub fn handle_key(&mut self, key: KeyEvent) -> bool {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return false;
        }
        match (key.code, self.types) {
            (KeyCode::Up, _) | (KeyCode::Char('k'), false) => self.step(-1),
            (KeyCode::Down, _) | (KeyCode::Char('j'), false) => self.step(1),
            (code, true) => self.handle_typing(code),
            (KeyCode::Char('q'), false) => return false,
            (KeyCode::Esc, false) if self.page != Page::Table => self.page = Page::Table,
            (KeyCode::Esc, false) => self.search.clear(),
            (KeyCode::Char('?'), false) => (self.page, self.scrolled) = (Page::Help, 0),
            (KeyCode::Char('/'), false) => (self.page, self.types) = (Page::Table, true),
            (KeyCode::Enter, false) => self.open(),
            (KeyCode::Char(key), false) => {
                let order = Order::ALL.iter().find(|(letter, ..)| *letter == key);
                self.order = order.map_or(self.order, |(_, order, _)| *order);
            }
            _ => {}
        }
        true
    }

    fn handle_typing(&mut self, code: KeyCode) {
        match code {
            KeyCode::Esc => {
                self.types = false;
                self.search.clear();
            }
            KeyCode::Enter => self.types = false,
            KeyCode::Backspace => drop(self.search.pop()),
            KeyCode::Char(letter) => self.search.push(letter),
            _ => {}
        }
    }

    fn stations(&self) -> Vec<Row> {
        table::stations(&self.samples, &self.search, self.order)
    }

    /// Index of the chosen station in the table.
    fn position(&self, stations: &[Row]) -> usize {
        stations.iter().position(|row| row.mac.is_some() && row.mac == self.chosen).unwrap_or(0)
    }

    /// Moves down or up: to another station, or through the lines of a page.
    fn step(&mut self, by: isize) {
        if self.page != Page::Table {
            self.scrolled = self.scrolled.saturating_add_signed(by).min(MOST_SCROLLED);
            return;
        }
        let stations = self.stations();
        let next = self.position(&stations).saturating_add_signed(by).min(stations.len().saturating_sub(1));
        self.chosen = stations.get(next).and_then(|row| row.mac.clone());
    }

    fn open(&mut self) {
        let stations = self.stations();
        let chosen = stations.get(self.position(&stations)).and_then(|row| row.mac.clone());
        if let (Page::Table, Some(mac)) = (&self.page, chosen) {
            (self.page, self.scrolled) = (Page::Station(mac.clone()), 0);
            (self.chosen, self.flows) = (Some(mac), Ok(vec![]));
        }
    }

    /// The lines of a screen of this size.
    pub fn lines(&self, width: usize, height: usize) -> Vec<(String, Look)> {
        let mut lines = self.head(width);
        let foot = self.foot(width);
        let room = height.saturating_sub(lines.len() + foot.len());
        let mut middle = match &self.page {
            Page::Table => self.table(width, room),
            Page::Station(mac) => self.scroll(plain(station::lines(&self.samples, mac, &self.flows, width)), room),
            Page::Help => self.scroll(plain(HELP.map(|line| shortened(line, width))), room),
        };
        middle.resize(room, (String::new(), Look::Plain));
        lines.extend(middle);
        lines.extend(foot);
        lines.truncate(height);
        lines
    }

    /// The lines of a page from the scroll offset.
    fn scroll(&self, mut lines: Vec<(String, Look)>, room: usize) -> Vec<(String, Look)> {
        lines.drain(..self.scrolled.min(lines.len().saturating_sub(room)));
        lines
    }

    /// All lines for printing: every station, without keys.
    pub fn print(&self, width: usize) -> Vec<String> {
        let groups = table::groups(&self.samples);
        let mark = |row: &Row| if row.level.is_some() { " !" } else { "  " };
        let line = |row: &Row| format!("{}{}", mark(row), table::row(row, width));
        let rows: Vec<_> = groups.iter().chain(&self.stations()).map(line).collect();
        let calls = calls::lines(&self.samples.line, width);
        let head = self.head(width).into_iter().map(|(line, _)| line);
        let table = std::iter::once(format!("  {}", table::headings(width, table::STATIONS)))
            .chain(rows)
            .chain(calls)
            .chain([NOTE.to_owned()]);
        head.chain(table).map(|line| line.trim_end().to_owned()).collect()
    }

    fn head(&self, width: usize) -> Vec<(String, Look)> {
        let line = &self.samples.line;
        let level = Look::Health(head::level(line).unwrap_or(Level::Watch));
        let away = self.away.iter().map(|why| (shortened(&format!("NO DATA: {why}"), width), Look::Health(Level::Bad)));
        let health = head::health(line, width).into_iter().map(|text| (text, level));
        let sums = [head::state(line), head::sums(line)].map(|text| (shortened(&text, width), Look::Plain));
        away.chain(health).chain(sums).collect()
    }

    fn table(&self, width: usize, room: usize) -> Vec<(String, Look)> {
        let calls = calls::lines(&self.samples.line, width);
        let calls = &calls[..calls.len().min(MOST_CALLS).min(room / 4)];
        let groups = table::groups(&self.samples);
        let groups = &groups[..groups.len().min(MOST_GROUPS).min(room / 3)];
        let stations = self.stations();
        let room = room.saturating_sub(1 + calls.len() + groups.len());
        let chosen = self.position(&stations);
        // Keeps the chosen station on the screen.
        let first = (chosen + 1).saturating_sub(room);
        let shown = stations.iter().enumerate().skip(first).take(room);
        let line = |row: &Row, mark: &str| shortened(&format!("{mark}{}", table::row(row, width)), width);
        let mut lines = vec![(shortened(&format!("  {}", table::headings(width, table::STATIONS)), width), Look::Bold)];
        lines.extend(groups.iter().map(|row| (line(row, "  "), Look::Plain)));
        lines.extend(shown.map(|(number, row)| match (number == chosen, row.level) {
            (true, None) => (line(row, "> "), Look::Chosen),
            (true, Some(_)) => (line(row, ">!"), Look::Chosen),
            (false, None) => (line(row, "  "), Look::Plain),
            (false, Some(level)) => (line(row, " !"), Look::Health(level)),
        }));
        lines.resize(1 + groups.len() + room, (String::new(), Look::Plain));
        lines.extend(plain(calls));
        lines
    }

    fn foot(&self, width: usize) -> Vec<(String, Look)> {
        let orders = Order::ALL.iter().map(|&(key, order, word)| {
            let (open, close) = if order == self.order { ("[", "]") } else { (" ", " ") };
            format!("{open}{key} {word}{close}")
        });
        let keys = match (&self.page, self.types, self.search.is_empty()) {
            (Page::Table, true, _) => format!("search: {}_   Enter keeps it, Esc ends it", self.search),
            (Page::Table, false, false) => format!("only {:?}, Esc: all   Enter station  ? help  q end", self.search),
            (Page::Table, ..) => format!("q end  / search  Enter station  ? help   {}", orders.collect::<String>()),
            _ => "Esc back  up down, j k scroll  q end".into(),
        };
        plain([shortened(NOTE, width), shortened(&keys, width)])
    }
}

fn plain<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> Vec<(String, Look)> {
    lines.into_iter().map(|line| (line.as_ref().to_owned(), Look::Plain)).collect()
}
