//! Live data: a stream of server-sent events with what the box says, for the page and for the API.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::header;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use tokio_stream::wrappers::BroadcastStream;

use crate::auth::Access;
use crate::connections::Peer;
use crate::feed::Message;
use crate::shared::Shared;

/// Most streams at once.
pub(crate) const MOST_STREAMS: usize = 64;
/// A stream says something at least so often, so that a browser notices its end.
const ALIVE: Duration = Duration::from_secs(5);

/// A place among the streams, for as long as it lives.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The stream of a client that came so.
///
/// # Errors
/// There are too many.
pub(crate) fn stream(shared: Shared, peer: &Peer, access: Access) -> Result<Response, String> {
    let place = Place(Arc::clone(&shared.streams));
    if shared.streams.fetch_add(1, Ordering::Relaxed) >= MOST_STREAMS {
        return Err(format!("{MOST_STREAMS} browsers are open already: close one"));
    }
    peer.streams();
    let (begin, follow) = shared.feed.join();
    // A client that is too slow misses lines, which are whole each.
    let follow = BroadcastStream::new(follow).filter_map(|message| ready(message.ok()));
    let messages = stream::iter(begin).chain(follow);
    // The stream ends with the session or token, or with the first account if it has none.
    let messages = messages.take_while(move |_| ready(shared.auth.lasts(access))).map(move |message| {
        let _in_use = &place;
        event(&message)
    });
    let events = Sse::new(messages).keep_alive(KeepAlive::new().interval(ALIVE));
    Ok(([(header::CACHE_CONTROL, "no-store")], events).into_response())
}

fn event(message: &Message) -> Result<Event, Infallible> {
    Ok(Event::default().event(message.kind).data(&*message.json))
}
