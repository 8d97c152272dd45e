//! A web client: a main object, then further objects over parallel connections, then a pause.
//!
//! The connection of the main object also fetches the first of the others; each further object has its own connection,
//! which is closed after it. The last one to end completes the page. Requests and responses have the sizes of the testbed's
//! HTTP, and the draws come from the same random stream, so that both load the same pages.

use evenair_results::PageLoad;
use evenair_units::{Bytes, Instant, Rng, Span};
use evenair_workload::Distribution;

use crate::apps::Kind;
use crate::event_queue::{Side, Task};
use crate::flows::since_start;
use crate::tcp;
use crate::world::World;

/// Request without the digits of the size: `GET /` ` HTTP/1.1` `Host: server` and the empty line, with line ends.
const REQUEST: u64 = 5 + 11 + 14 + 2;
/// Response header without the digits of the size: `HTTP/1.1 200 OK`, `Content-Length: ` and the empty line, with line ends.
const ANSWER: u64 = 17 + 16 + 4;

#[derive(Debug)]
pub(crate) struct Reader {
    objects: (u32, u32),
    size: Distribution,
    think: Span,
    draws: Rng,
    page: Page,
}

/// The page being read.
#[derive(Debug, Default)]
struct Page {
    began: Instant,
    /// Sizes of all objects in bytes, the main one first.
    sizes: Vec<u64>,
    fetches: Vec<Fetch>,
    /// Number of complete objects.
    complete: usize,
}

/// An object being fetched.
#[derive(Debug)]
struct Fetch {
    connection: u32,
    /// Index of the object in the page.
    object: usize,
    /// Bytes of the request that the server has not yet received.
    request_left: u64,
    /// Bytes of the response header and of the object that the station has not yet received.
    head_left: u64,
    body_left: u64,
}

impl Reader {
    pub(crate) fn new(objects: (u32, u32), size: Distribution, think: Span, draws: Rng) -> Self {
        Self { objects, size, think, draws, page: Page::default() }
    }

    fn turn_page(&mut self, now: Instant) {
        let (fewest, most) = self.objects;
        let further = u64::from(fewest) + self.draws.below(u64::from(most.saturating_sub(fewest)) + 1);
        let sizes = (0..=further).map(|_| self.size.draw_bytes(&mut self.draws).0).collect();
        self.page = Page { began: now, sizes, fetches: Vec::new(), complete: 0 };
    }
}

impl Fetch {
    fn new(connection: u32, object: usize, size: u64) -> Self {
        let digits = u64::from(size.checked_ilog10().unwrap_or(0)) + 1;
        Self { connection, object, request_left: REQUEST + digits, head_left: ANSWER + digits, body_left: size }
    }

    /// Counts bytes that reach the station; returns how many of them belong to the object.
    fn receive(&mut self, bytes: u64) -> u64 {
        let head = bytes.min(self.head_left);
        self.head_left -= head;
        let body = (bytes - head).min(self.body_left);
        self.body_left -= body;
        body
    }

    fn is_complete(&self) -> bool {
        self.head_left == 0 && self.body_left == 0
    }
}

impl World {
    pub(crate) fn begin_page(&mut self, number: u32) {
        let now = self.now;
        self.reader(number).turn_page(now);
        self.fetch(number, 0, None);
    }

    /// Aborts the rest of a page.
    pub(crate) fn abandon_page(&mut self, number: u32) {
        let fetches = std::mem::take(&mut self.reader(number).page.fetches);
        fetches.into_iter().for_each(|fetch| self.cut(fetch.connection));
    }

    fn reader(&mut self, number: u32) -> &mut Reader {
        match &mut self.apps[number as usize].kind {
            Kind::Web(reader) => reader,
            kind => unreachable!("{kind:?} reads no pages"),
        }
    }

    /// Requests an object, over `connection` or a new one.
    fn fetch(&mut self, number: u32, object: usize, connection: Option<u32>) {
        let again = connection.is_some();
        let connection = connection.unwrap_or_else(|| {
            let config = &self.apps[number as usize].tcp;
            self.connections.open(number, Side::Server, config)
        });
        let page = &mut self.reader(number).page;
        let fetch = Fetch::new(connection, object, page.sizes[object]);
        let request = Bytes(fetch.request_left);
        page.fetches.push(fetch);
        self.connections.tcp_mut(connection, Side::Station).write(request);
        // A connection in use is polled by the handler of its event.
        if !again {
            self.pump(connection, Side::Station);
        }
    }

    pub(crate) fn on_web_event(&mut self, number: u32, connection: u32, side: Side, event: tcp::Event) {
        let fetches = &mut self.reader(number).page.fetches;
        let Some(place) = fetches.iter().position(|fetch| fetch.connection == connection) else { return };
        let fetch = &mut fetches[place];
        match (side, event) {
            (Side::Server, tcp::Event::Received(bytes)) => {
                fetch.request_left = fetch.request_left.saturating_sub(bytes.0);
                if fetch.request_left == 0 {
                    let answer = Bytes(fetch.head_left + fetch.body_left);
                    self.connections.tcp_mut(connection, Side::Server).write(answer);
                }
            }
            (Side::Station, tcp::Event::Received(bytes)) => {
                let body = fetch.receive(bytes.0);
                let complete = fetch.is_complete();
                self.meter.receive(number, body);
                if complete {
                    self.complete(number, place);
                }
            }
            (_, tcp::Event::Closed(reason)) => {
                let name = &self.scenario.apps[number as usize].name;
                self.note("note", format!("{name}: a page was not read: {reason:?}"));
                self.abandon_page(number);
                self.think(number);
            }
            _ => {}
        }
    }

    /// Handles a complete object: starts the next fetch, or ends the page.
    fn complete(&mut self, number: u32, place: usize) {
        let page = &mut self.reader(number).page;
        let fetch = page.fetches.swap_remove(place);
        page.complete += 1;
        let objects = page.sizes.len();
        if page.complete == objects {
            self.cut(fetch.connection);
            self.end_page(number);
        } else if fetch.object == 0 {
            (2..objects).for_each(|object| self.fetch(number, object, None));
            self.fetch(number, 1, Some(fetch.connection));
        } else {
            self.cut(fetch.connection);
        }
    }

    fn end_page(&mut self, number: u32) {
        let now = self.now;
        let page = &self.reader(number).page;
        let load = PageLoad {
            app: number,
            began: since_start(page.began),
            took: now.saturating_since(page.began),
            objects: page.sizes.len() as u32,
            bytes: page.sizes.iter().sum(),
        };
        self.pages.record(load);
        self.think(number);
    }

    fn think(&mut self, number: u32) {
        let think = self.reader(number).think;
        self.event_queue.schedule(self.now + think, Task::App(number));
    }
}
