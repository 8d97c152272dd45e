//! The box's watch feed: one connection for all browsers, re-established whenever it ends.
//!
//! Lines (JSON, one a second) are forwarded without parsing them. The last line and the last events are kept for new browsers.
//! While the box cannot be reached, browsers get the reason, and the feed reconnects.

use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evenair_api::health::{Code, Level, Reason};
use evenair_api::{Json, watch};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, broadcast};
use tokio::time::{sleep, timeout};

/// The request for the feed.
const REQUEST: &str = "{\"watch\":[\"health\",\"totals\",\"domains\",\"access_points\",\"stations\",\"classes\",\"calls\",\"events\"],\"every\":\"1 s\"}\n";
/// Longest line, in bytes: one with 256 stations has 100 kB.
const LONGEST_LINE: u64 = 4 << 20;
/// Timeout for the next line, after which the feed reconnects.
const SILENT: Duration = Duration::from_secs(10);
/// Pause before reconnecting.
const PAUSE: Duration = Duration::from_secs(1);
/// Lines that a slow browser may lag behind before it misses some.
const BEHIND: usize = 4;
/// Number of events kept.
const EVENTS: usize = 50;
/// Concurrent requests besides the feed; further ones wait. The box accepts 16 clients in all.
const AT_A_TIME: usize = 4;

/// A message to browsers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// "line": a line of the feed; "away": the box cannot be reached; "events": earlier events.
    pub kind: &'static str,
    /// Its JSON in one line, shared by all browsers.
    pub json: Arc<str>,
}

/// The feed for browsers.
#[derive(Clone, Debug)]
pub struct Feed {
    socket: PathBuf,
    /// Message once the box has ended for good.
    farewell: Option<String>,
    lines: broadcast::Sender<Message>,
    state: Arc<Mutex<State>>,
    asking: Arc<Semaphore>,
}

#[derive(Debug)]
struct State {
    /// The last message: a line, or why there is none.
    last: Message,
    /// The last line.
    line: Option<Message>,
    events: VecDeque<Value>,
    /// Health reasons of this program, added to those of the box.
    own: BTreeMap<Code, Vec<Reason>>,
}

/// Time range of a browser's charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// The last ten minutes, in seconds.
    TenMinutes,
    /// The last day, in minutes.
    Day,
}

impl Range {
    /// Its word in requests.
    pub const fn word(self) -> &'static str {
        match self {
            Self::TenMinutes => "10 min",
            Self::Day => "24 h",
        }
    }
}

impl Feed {
    /// Starts reading the feed of this socket, in a task of its own.
    pub fn start(socket: &Path, farewell: Option<String>) -> Self {
        let (lines, _) = broadcast::channel(BEHIND);
        let last = away("the box has not answered yet");
        let state = Arc::new(Mutex::new(State { last, line: None, events: VecDeque::new(), own: BTreeMap::new() }));
        let asking = Arc::new(Semaphore::new(AT_A_TIME));
        let feed = Self { socket: socket.to_owned(), farewell, lines, state, asking };
        tokio::spawn(feed.clone().go_on());
        feed
    }

    /// Joins the feed: the initial messages, and the receiver of the following ones.
    pub fn join(&self) -> (Vec<Message>, broadcast::Receiver<Message>) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let events = Message { kind: "events", json: json!(state.events).to_string().into() };
        let line = state.line.clone().filter(|_| state.last.kind == "end");
        (iter::once(events).chain(line).chain([state.last.clone()]).collect(), self.lines.subscribe())
    }

    /// The line of the last second.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn line(&self) -> Result<watch::Line, String> {
        let last = self.state.lock().unwrap_or_else(PoisonError::into_inner).last.clone();
        if last.kind != "line" {
            let why: Value = serde_json::from_str(&last.json).unwrap_or_default();
            return Err(why["why"].as_str().unwrap_or("the box is away").to_owned());
        }
        watch::Line::from_json(last.json.as_bytes()).map_err(|error| format!("not a line of the feed: {error}"))
    }

    /// The last events, the oldest first. Events of unknown form are left out.
    pub fn events(&self) -> Vec<watch::Event> {
        let events = self.state.lock().unwrap_or_else(PoisonError::into_inner).events.clone();
        events.into_iter().filter_map(|event| serde_json::from_value(event).ok()).collect()
    }

    /// The recent history from the box.
    ///
    /// # Errors
    /// The reason why the box does not respond.
    pub async fn history(&self, range: Range) -> Result<String, String> {
        self.ask(&watch::Request::History { history: range.word().into(), domain: None, station: None }).await
    }

    /// The box's response to a request for one line.
    ///
    /// # Errors
    /// The reason why the box does not respond.
    pub async fn ask(&self, request: &watch::Request) -> Result<String, String> {
        let ask = async {
            let _place = self.asking.acquire().await.map_err(|error| error.to_string())?;
            let mut stream = BufReader::new(self.connect().await?);
            let request = request.to_json() + "\n";
            stream.get_mut().write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
            next_line(&mut stream).await
        };
        timeout(SILENT, ask).await.unwrap_or_else(|_| Err("the box does not answer".into()))
    }

    async fn connect(&self) -> Result<UnixStream, String> {
        let failed = |error| format!("{}: {error}", self.socket.display());
        UnixStream::connect(&self.socket).await.map_err(failed)
    }

    async fn go_on(self) {
        loop {
            let Err(why) = self.read().await;
            let was_there = self.state.lock().unwrap_or_else(PoisonError::into_inner).line.is_some();
            if let Some(farewell) = self.farewell.as_deref().filter(|_| was_there) {
                return self.tell(Message { kind: "end", json: json!({ "why": farewell }).to_string().into() });
            }
            self.tell(away(&why));
            sleep(PAUSE).await;
        }
    }

    /// Reads until the connection ends. Returns the reason.
    async fn read(&self) -> Result<std::convert::Infallible, String> {
        let mut stream = BufReader::new(self.connect().await?);
        stream.get_mut().write_all(REQUEST.as_bytes()).await.map_err(|error| error.to_string())?;
        self.state.lock().unwrap_or_else(PoisonError::into_inner).events.clear();
        loop {
            let line = timeout(SILENT, next_line(&mut stream)).await;
            let line = line.map_err(|_| format!("the box has said nothing for {} s", SILENT.as_secs()))??;
            let value: Value =
                serde_json::from_str(&line).map_err(|error| format!("not a line of the feed: {error}"))?;
            if let Some(error) = value.get("error") {
                return Err(format!("the box refuses: {error}"));
            }
            self.keep_events(&value);
            let line = self.with_own(value).unwrap_or(line);
            self.tell(Message { kind: "line", json: line.into() });
        }
    }

    /// Sets this program's reasons of a code, from the next line on.
    pub(crate) fn set_own(&self, code: Code, reasons: Vec<Reason>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).own.insert(code, reasons);
    }

    /// A line with this program's reasons after those of the box; `None` without any.
    pub(crate) fn with_own(&self, mut line: Value) -> Option<String> {
        let own: Vec<_> =
            self.state.lock().unwrap_or_else(PoisonError::into_inner).own.values().flatten().cloned().collect();
        let worst = own.iter().map(|reason| reason.level).max()?;
        let health = line.get_mut("health")?;
        let level = health["level"].as_str().and_then(|level| level.parse::<Level>().ok()).unwrap_or_default();
        health["level"] = json!(level.max(worst));
        health["reasons"].as_array_mut()?.extend(own.iter().map(|reason| json!(reason)));
        Some(line.to_string())
    }

    fn keep_events(&self, line: &Value) {
        let events = line.get("events").and_then(Value::as_array);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.events.extend(events.into_iter().flatten().cloned());
        let excess = state.events.len().saturating_sub(EVENTS);
        state.events.drain(..excess);
    }

    fn tell(&self, message: Message) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if message.kind == "line" {
            state.line = Some(message.clone());
        }
        state.last = message.clone();
        drop(state);
        // An error means that no browser is listening.
        let _ = self.lines.send(message);
    }
}

fn away(why: &str) -> Message {
    Message { kind: "away", json: json!({ "why": why }).to_string().into() }
}

/// The next line, without its newline.
async fn next_line(stream: &mut BufReader<UnixStream>) -> Result<String, String> {
    let mut line = String::new();
    let length = stream.take(LONGEST_LINE).read_line(&mut line).await.map_err(|error| error.to_string())?;
    if length == 0 {
        return Err("the box has ended the connection".into());
    }
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.to_owned()),
        None => Err("the box sent a line without an end".into()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    async fn next(messages: &mut broadcast::Receiver<Message>) -> Message {
        timeout(Duration::from_secs(5), messages.recv()).await.expect("in time").expect("a message")
    }

    /// A box that has ended for good: later browsers still get its last line.
    #[tokio::test]
    async fn the_last_line_stays_after_the_farewell() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("watch.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let feed = Feed::start(&path, Some("The demo has ended.".into()));
        let (_, mut messages) = feed.join();
        let (mut client, _) = listener.accept().await.expect("it comes by itself");
        client.write_all(b"{\"v\":1,\"seq\":1}\n").await.expect("written");
        assert_eq!(next(&mut messages).await.kind, "line");
        drop(client);
        let end = next(&mut messages).await;
        assert_eq!((end.kind, &*end.json), ("end", "{\"why\":\"The demo has ended.\"}"));
        let kinds: Vec<_> = feed.join().0.iter().map(|message| message.kind).collect();
        assert_eq!(kinds, ["events", "line", "end"]);
    }

    /// A box that responds, disappears and returns.
    #[tokio::test]
    async fn the_feed_goes_on_by_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("watch.sock");
        let feed = Feed::start(&path, None);
        let (_, mut messages) = feed.join();
        let first = next(&mut messages).await;
        assert!(first.kind == "away" && first.json.contains("watch.sock"), "{first:?}");

        let listener = UnixListener::bind(&path).expect("a socket");
        let (mut client, _) = listener.accept().await.expect("it comes by itself");
        client.write_all(b"{\"v\":1,\"seq\":1,\"events\":[{\"at\":1}]}\n").await.expect("written");
        let line = loop {
            let message = next(&mut messages).await;
            if message.kind == "line" {
                break message;
            }
        };
        assert_eq!(&*line.json, "{\"v\":1,\"seq\":1,\"events\":[{\"at\":1}]}");
        let (begin, _) = feed.join();
        assert_eq!((begin[0].kind, &*begin[0].json), ("events", "[{\"at\":1}]"));
        assert_eq!(begin[1], line);

        drop(client);
        assert_eq!(next(&mut messages).await.kind, "away");
        let (mut client, _) = listener.accept().await.expect("it comes back");
        client.write_all(b"{\"v\":1,\"error\":\"no part\"}\n").await.expect("written");
        let refused = next(&mut messages).await;
        assert!(refused.kind == "away" && refused.json.contains("no part"), "{refused:?}");
    }
}
