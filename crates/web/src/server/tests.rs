//! The page is asked over a real connection.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;

/// Time for a request to come.
const SHORT: Duration = Duration::from_millis(300);

/// The page of a box that is away, at a free port of loopback.
async fn started() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it has one");
    let config = WebConfig { listen: address, names: vec!["box.lan".into()], ..WebConfig::default() };
    let feed = Feed::start(std::path::Path::new("/nowhere/watch.sock"), None);
    tokio::spawn(answer(listener, router(feed, config), SHORT));
    address
}

/// What is answered to a request with this name, until the answer has this text or ends.
async fn reply(address: std::net::SocketAddr, path: &str, host: &str, until: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    let (mut text, mut part) = (String::new(), [0; 4096]);
    let read = async {
        while !text.contains(until) {
            let length = stream.read(&mut part).await.expect("readable");
            if length == 0 {
                break;
            }
            text += &String::from_utf8_lossy(&part[..length]);
        }
    };
    timeout(Duration::from_secs(5), read).await.expect("in time");
    text
}

#[tokio::test]
async fn requests_under_other_names_are_refused() {
    let address = started().await;
    for host in ["127.0.0.1:9471", "localhost", "[::1]:1", "BOX.lan:9471"] {
        let text = reply(address, "/nothing", host, "\n\n\n").await;
        assert!(text.starts_with("HTTP/1.1 404"), "{host}: {text}");
        assert!(text.to_lowercase().contains("content-security-policy: default-src 'none'"), "{text}");
    }
    for host in ["attacker.example", "192.0.2.1", "localhost.attacker.example", ""] {
        let text = reply(address, "/", host, "\n\n\n").await;
        assert!(text.starts_with("HTTP/1.1 421"), "{host}: {text}");
    }
}

#[tokio::test]
async fn a_browser_hears_that_the_box_is_away_and_why() {
    let address = started().await;
    let text = reply(address, "/events", "localhost", "/nowhere/watch.sock").await;
    assert!(text.contains("text/event-stream") && text.contains("event: away"), "{text}");
    for path in ["/history", "/history/day"] {
        let text = reply(address, path, "localhost", "\n\n\n").await;
        assert!(text.starts_with("HTTP/1.1 503") && text.contains("/nowhere/watch.sock"), "{text}");
    }
}

#[tokio::test]
async fn streams_are_bounded() {
    let address = started().await;
    let mut open = Vec::new();
    for _ in 0..MOST_STREAMS {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("written");
        let mut part = [0; 1024];
        let length = stream.read(&mut part).await.expect("readable");
        assert!(part[..length].starts_with(b"HTTP/1.1 200"));
        open.push(stream);
    }
    let text = reply(address, "/events", "localhost", "\n\n\n").await;
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("64 browsers"), "{text}");
}

/// What comes on a connection that sends `request` and no more, until it is closed; false: it is still open after four times the time
/// that a request has.
async fn closes_after(request: &str) -> (bool, String) {
    let mut stream = TcpStream::connect(started().await).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut text = Vec::new();
    let closes = timeout(SHORT * 4, stream.read_to_end(&mut text)).await.is_ok();
    (closes, String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test]
async fn idle_connections_are_closed_and_streams_are_not() {
    let whole = "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for request in ["", "GET / HTTP/1.1\r\nHo", whole] {
        let (closes, text) = closes_after(request).await;
        assert!(closes, "{request:?} leaves the connection open");
        assert_eq!(text.contains("404 Not Found"), request == whole, "{request:?}: {text}");
    }
    let (closes, text) = closes_after("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(!closes && text.contains("event: away"), "{text}");
}
