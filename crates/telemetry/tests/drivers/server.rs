//! A real HTTP server on loopback for the drivers over HTTP, and servers that misbehave.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, LOCATION, SET_COOKIE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;

/// A request.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    pub(crate) body: String,
    headers: HeaderMap,
}

impl Asked {
    /// A header's value; empty without it.
    pub(crate) fn header(&self, name: HeaderName) -> &str {
        self.headers.get(name).map(|value| value.to_str().expect("letters")).unwrap_or_default()
    }
}

/// A response.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) cookie: Option<&'static str>,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
}

/// A response without a cookie or another address.
pub(crate) fn reply(status: u16, body: impl Into<String>) -> Reply {
    Reply { status, cookie: None, location: None, body: body.into() }
}

/// Serves on loopback until the process ends. Returns the URL.
pub(crate) fn serve(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    listener.set_nonblocking(true).expect("a setting");
    let answer = Arc::new(answer);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                let answer = Arc::clone(&answer);
                let respond = service_fn(move |request| respond(request, Arc::clone(&answer)));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), respond));
            }
        });
    });
    url
}

async fn respond<A: Fn(&Asked) -> Reply>(
    request: Request<Incoming>,
    answer: Arc<A>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = String::from_utf8_lossy(&body.collect().await?.to_bytes()).into_owned();
    let path = head.uri.path_and_query().map(|path| path.as_str().to_owned()).unwrap_or_default();
    let reply = answer(&Asked { method: head.method.to_string(), path, body, headers: head.headers });
    let mut response = Response::builder().status(reply.status);
    if let Some(cookie) = reply.cookie {
        response = response.header(SET_COOKIE, cookie);
    }
    if let Some(location) = reply.location {
        response = response.header(LOCATION, location);
    }
    Ok(response.body(Full::new(Bytes::from(reply.body))).expect("headers of letters"))
}

/// Polls each of many misbehaving servers, and one that is not there: `poll` gets its URL and the timeout of a request, and
/// returns whether it failed. It sends up to `requests` requests.
pub(crate) fn each_misbehaving(requests: u32, poll: impl Fn(&str, Duration) -> bool) {
    let short = Duration::from_millis(400);
    let polls = |url: &str, what: &str| {
        let began = Instant::now();
        assert!(poll(url, short), "{what}");
        // Twice the timeout for each request.
        assert!(began.elapsed() < short * requests * 2, "{what}: {:?}", began.elapsed());
    };
    for body in ["", "{", "[7", "null", "{\"result\":[0]}", "{\"data\":7}", "<html>", "\u{fffd}"] {
        for status in [200, 204, 302, 401, 404, 429, 500] {
            let url = serve(move |_| Reply { cookie: Some("a=b"), ..reply(status, body) });
            polls(&url, &format!("{status} {body}"));
        }
    }
    for what in ["never ends", "sends nothing", "closes the connection"] {
        polls(&raw(what), what);
    }
    polls("http://127.0.0.1:1", "no server");
    polls("https://127.0.0.1:1", "no server");
}

/// A server that does this after each request.
fn raw(what: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.read(&mut [0; 4_096]);
                match what {
                    "never ends" => {
                        let head = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 100000000\r\n\r\n";
                        let _ = stream.write_all(head);
                        while stream.write_all(&[b'x'; 65_536]).is_ok() {}
                    }
                    "sends nothing" => thread::sleep(Duration::from_secs(5)),
                    _ => {}
                }
            });
        }
    });
    url
}
