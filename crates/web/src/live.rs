//! Live data: a stream of server-sent events from the box, for the page and for the API.

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

/// Maximum number of streams.
pub(crate) const MOST_STREAMS: usize = 64;
/// Interval of keep-alives, so that a browser notices the end of a stream.
const ALIVE: Duration = Duration::from_secs(5);

/// A slot among the streams, released when dropped.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream for a client.
///
/// # Errors
/// There are too many streams.
pub(crate) fn stream(shared: Shared, peer: &Peer, access: Access) -> Result<Response, String> {
    let place = Place(Arc::clone(&shared.streams));
    if shared.streams.fetch_add(1, Ordering::Relaxed) >= MOST_STREAMS {
        return Err(format!("{MOST_STREAMS} browsers are open already: close one"));
    }
    peer.streams();
    let (begin, follow) = shared.feed.join();
    // A client that is too slow misses lines, each as a whole.
    let follow = BroadcastStream::new(follow).filter_map(|message| ready(message.ok()));
    let messages = stream::iter(begin).chain(follow);
    // The stream ends with the session or token; without either, when the first account is made.
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
