//! Clients of the watch socket: a bounded number, each with a thread.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::watch::Content;
use tracing::{debug, warn};

use super::feed::{Feed, as_line};
use super::request::{Parts, Wanted, parse};
use crate::control::{MAX_LINE, RawLine, Requests, Timed};

/// Clients at once, at most.
const MOST: usize = 16;
/// Time within which a client's next request has to be complete.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Time within which a client has to read a line.
const LINE_TIME: Duration = Duration::from_secs(5);
/// Time for a refused client to read the refusal, which its empty connection has room for.
const REFUSAL_TIME: Duration = Duration::from_millis(10);
/// Time of a check whether a client has hung up.
const LOOK: Duration = Duration::from_millis(1);

/// All clients.
pub(super) struct Clients {
    feed: Arc<Feed>,
    /// One reference for each client, and one here.
    slots: Arc<()>,
}

impl Clients {
    pub(super) fn new(feed: Arc<Feed>) -> Self {
        Self { feed, slots: Arc::new(()) }
    }

    /// Serves a client in its own thread, or refuses it if there are too many.
    pub(super) fn admit(&self, stream: UnixStream) {
        if Arc::strong_count(&self.slots) > MOST {
            let why = format!("{MOST} clients watch already; try again when one of them has ended");
            let _ = send(&stream, &as_line(&Content::Error(why).answer()), REFUSAL_TIME);
            return;
        }
        let (feed, slot) = (Arc::clone(&self.feed), Arc::clone(&self.slots));
        let work = move || {
            let _slot = slot;
            if let Err(error) = serve(&stream, &feed) {
                debug!("watch client: {error}");
            }
        };
        if let Err(error) = thread::Builder::new().name("watch client".into()).spawn(work) {
            warn!("no thread for a watch client: {error}");
        }
    }
}

fn send(stream: &UnixStream, line: &[u8], time: Duration) -> io::Result<()> {
    Timed { stream, deadline: Instant::now() + time }.write_all(line)
}

/// Replies to a client until it hangs up, is silent for too long or makes a wrong request.
fn serve(stream: &UnixStream, feed: &Feed) -> io::Result<()> {
    let mut requests = Requests::new(Timed { stream, deadline: Instant::now() });
    loop {
        requests.stream_mut().deadline = Instant::now() + REQUEST_TIME;
        let Some(line) = requests.read_raw()? else { return Ok(()) };
        let wanted = match line {
            RawLine::Whole(line) => parse(line),
            RawLine::TooLong => Err(format!("not a request: a line is longer than {MAX_LINE} bytes")),
        };
        let content = match wanted {
            Ok(Wanted::Lines(parts, every)) => return stream_lines(stream, feed, parts, every),
            Ok(Wanted::History(whose, range)) => feed.history(&whose, range).map(Content::History),
            Ok(Wanted::FlowsOf(mac)) => Ok(feed.flows_of(&mac)),
            Err(why) => Err(why),
        };
        let is_last = content.is_err();
        let content = content.unwrap_or_else(Content::Error);
        send(stream, &as_line(&content.answer()), LINE_TIME)?;
        if is_last {
            return Ok(());
        }
    }
}

/// Sends a line at once, and then one every `every` seconds, until the client hangs up or the box ends.
fn stream_lines(stream: &UnixStream, feed: &Feed, parts: Parts, every: u64) -> io::Result<()> {
    let (mut seen, mut due, mut events) = (None, 0, None);
    while let Some(seq) = feed.wait(seen) {
        seen = Some(seq);
        if has_hung_up(stream)? {
            return Ok(());
        }
        if seq < due {
            continue;
        }
        let Some(line) = feed.line(parts, events) else { continue };
        send(stream, &line.bytes, LINE_TIME)?;
        events = Some(line.next_event);
        due = seq + every;
    }
    Ok(())
}

/// Whether the client has ended its connection. Data beside its request is skipped.
fn has_hung_up(mut stream: &UnixStream) -> io::Result<bool> {
    stream.set_read_timeout(Some(LOOK))?;
    match stream.read(&mut [0; 4096]) {
        Ok(bytes) => Ok(bytes == 0),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use evenair_api::watch::{Answer, Line, Station, Totals};
    use evenair_api::{Json, Mode};

    use super::*;

    fn publish(feed: &Feed) {
        feed.publish(Line { totals: Some(Totals::default()), ..Line::default() }, Mode::Inserted, vec![]);
    }

    fn connect(clients: &Clients) -> BufReader<UnixStream> {
        let (here, there) = UnixStream::pair().expect("a pair");
        here.set_read_timeout(Some(Duration::from_secs(30))).expect("a setting");
        clients.admit(there);
        BufReader::new(here)
    }

    fn ask(client: &mut BufReader<UnixStream>, request: &str) -> String {
        // A refused connection is closed already.
        let _ = client.get_mut().write_all(format!("{request}\n").as_bytes());
        read(client)
    }

    fn read(client: &mut BufReader<UnixStream>) -> String {
        let mut line = String::new();
        client.read_line(&mut line).expect("a line");
        line
    }

    fn error(line: &str) -> String {
        match Answer::from_json(line.as_bytes()).expect("an answer").content {
            Content::Error(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lines_come_at_once_and_then_at_the_interval() {
        let feed = Arc::new(Feed::default());
        let clients = Clients::new(Arc::clone(&feed));
        publish(&feed);
        let mut client = connect(&clients);
        let seq = |line: String| Line::from_json(line.as_bytes()).expect("a line").seq;
        assert_eq!(seq(ask(&mut client, r#"{"watch":["totals"],"every":"2 s"}"#)), 0);
        for next in [2, 4] {
            for _ in 0..2 {
                publish(&feed);
                thread::sleep(Duration::from_millis(20));
            }
            assert_eq!(seq(read(&mut client)), next);
        }
        feed.end();
        assert_eq!(read(&mut client), "", "the end of the box ends the lines");
    }

    #[test]
    fn one_line_replies_leave_the_connection_and_errors_end_it() {
        let clients = Clients::new(Arc::new(Feed::default()));
        let mut client = connect(&clients);
        assert_eq!(ask(&mut client, r#"{"history":"24 h"}"#), "{\"v\":1,\"history\":{\"every_s\":60,\"points\":[]}}\n");
        assert_eq!(ask(&mut client, r#"{"flows_of":"02:00:00:00:00:01"}"#), "{\"v\":1,\"flows\":[]}\n");
        assert!(error(&ask(&mut client, r#"{"watch":["helth"]}"#)).contains("did you mean health?"));
        assert_eq!(read(&mut client), "");
        let mut client = connect(&clients);
        let long = "x".repeat(MAX_LINE);
        // The connection may end before all was written.
        let _ = client.get_mut().write_all(long.as_bytes());
        assert!(error(&read(&mut client)).contains("longer than 65536 bytes"));
    }

    #[test]
    fn one_client_too_many_is_refused_until_another_has_gone() {
        let feed = Arc::new(Feed::default());
        let clients = Clients::new(Arc::clone(&feed));
        publish(&feed);
        let mut all: Vec<_> = (0..MOST).map(|_| connect(&clients)).collect();
        all.iter_mut()
            .for_each(|client| assert!(ask(client, r#"{"watch":["totals"],"every":"60 s"}"#).contains("totals")));
        let mut one_more = connect(&clients);
        assert!(error(&read(&mut one_more)).contains("16 clients watch already"));
        all.pop();
        let begin = Instant::now();
        loop {
            // Disconnected clients are detected at the next second, whatever their interval.
            publish(&feed);
            thread::sleep(Duration::from_millis(20));
            let mut next = connect(&clients);
            if ask(&mut next, r#"{"watch":["totals"]}"#).contains("totals") {
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "no slot becomes free");
        }
    }

    #[test]
    fn a_client_that_does_not_read_is_dropped() {
        let feed = Arc::new(Feed::default());
        let clients = Clients::new(Arc::clone(&feed));
        let station = Station { mac: "x".repeat(1 << 20), ..Station::default() };
        feed.publish(Line { stations: Some(vec![station]), ..Line::default() }, Mode::Inserted, vec![]);
        let mut client = connect(&clients);
        client.get_mut().write_all(b"{\"watch\":[\"stations\"]}\n").expect("taken");
        let begin = Instant::now();
        while Arc::strong_count(&clients.slots) > 1 {
            assert!(begin.elapsed() < Duration::from_secs(30), "it keeps its slot");
            thread::sleep(Duration::from_millis(50));
        }
        assert!(begin.elapsed() > Duration::from_secs(4), "{:?}", begin.elapsed());
    }
}
