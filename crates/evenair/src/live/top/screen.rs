//! The terminal: handles keys and lines of the feed.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use evenair_api::watch::Line;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line as Styled;
use ratatui::widgets::Paragraph;
use ratatui::{DefaultTerminal, Frame};

use super::PARTS;
use super::view::{Look, View};
use evenair_client::watch::Feed;

/// Polling interval of the feed's lines.
const TICK: Duration = Duration::from_millis(100);
/// Pause before reconnecting.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows a box until the operator quits; `every`: interval between updates of the screen.
pub fn show(socket: &Path, feed: Feed, every: Duration) -> Result<()> {
    let (sender, lines) = channel();
    let path = socket.to_owned();
    thread::Builder::new().name("feed".into()).spawn(move || read(feed, &path, &sender)).context("start a thread")?;
    let mut terminal = ratatui::try_init().context("open the terminal")?;
    let outcome = run(&mut terminal, socket, &lines, every);
    ratatui::restore();
    outcome
}

/// Reads lines until the receiver is dropped; reconnects when a connection ends.
fn read(feed: Feed, socket: &Path, sender: &Sender<Result<Line, String>>) {
    let mut feed = Ok(feed);
    loop {
        let why = match feed.map(|feed| follow(feed, sender)) {
            Ok(None) => return,
            Ok(Some(why)) | Err(why) => why,
        };
        if sender.send(Err(why.to_string())).is_err() {
            return;
        }
        thread::sleep(PAUSE);
        feed = Feed::open(socket, &PARTS, 1);
    }
}

/// Forwards lines until the connection ends, and returns why; `None`: the receiver was dropped.
fn follow(mut feed: Feed, sender: &Sender<Result<Line, String>>) -> Option<anyhow::Error> {
    loop {
        match feed.read() {
            Ok((_, line)) => sender.send(Ok(line)).ok()?,
            Err(why) => return Some(why),
        }
    }
}

fn run(
    terminal: &mut DefaultTerminal,
    socket: &Path,
    lines: &Receiver<Result<Line, String>>,
    every: Duration,
) -> Result<()> {
    let mut view = View::default();
    view.take(lines.recv().context("the feed has ended")?);
    let mut next = Instant::now() + every;
    loop {
        terminal.draw(|frame| draw(frame, &view))?;
        loop {
            let key = event::poll(TICK)?.then(event::read).transpose()?;
            if let Some(Event::Key(key)) = key
                && key.kind != KeyEventKind::Release
            {
                if !view.handle_key(key) {
                    return Ok(());
                }
                if key.code == KeyCode::Enter {
                    view.ask_for_flows(socket);
                }
            }
            let came = lines.try_iter().map(|line| view.take(line)).count() > 0;
            let due = came && Instant::now() + TICK >= next;
            if due {
                next = Instant::now() + every;
                view.ask_for_flows(socket);
            }
            if due || key.is_some() {
                break;
            }
        }
    }
}

/// Draws the lines in their colours.
pub fn draw(frame: &mut Frame<'_>, view: &View) {
    let area = frame.area();
    let lines = view.lines(area.width.into(), area.height.into());
    let lines: Vec<_> = lines.into_iter().map(|(text, look)| Styled::styled(text, style(look))).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn style(look: Look) -> Style {
    use evenair_api::health::Level;
    match look {
        Look::Plain => Style::new(),
        Look::Bold => Style::new().add_modifier(Modifier::BOLD),
        Look::Chosen => Style::new().add_modifier(Modifier::REVERSED),
        Look::Health(Level::Good) => Style::new().fg(Color::Green),
        Look::Health(Level::Watch) => Style::new().fg(Color::Yellow),
        Look::Health(Level::Bad) => Style::new().fg(Color::Red),
    }
}
