//! Requests to the page over real connections.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;
use crate::connections::MOST_CONNECTIONS;
use crate::live::MOST_STREAMS;

/// Timeout for a request.
const SHORT: Duration = Duration::from_millis(300);

/// A page without accounts, on a free port of loopback, whose box is away.
async fn started() -> SocketAddr {
    started_with(SHORT).await
}

/// The same with another timeout for requests.
async fn started_with(request_time: Duration) -> SocketAddr {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let (names, state) = (vec!["box.lan".into()], "/nowhere/state".into());
    let config = WebConfig { listen, names, state, socket: "/nowhere/watch.sock".into(), ..WebConfig::default() };
    let web = Web::bind(config, Clock::new(), PasswordCost::for_tests()).await.expect("a free port");
    let address = web.address();
    tokio::spawn(web.run_within(request_time));
    address
}

/// The response to a request with this host name, until it contains `until` or ends.
async fn reply(address: SocketAddr, path: &str, host: &str, until: &str) -> String {
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

#[test]
fn the_address_that_a_browser_connected_to_is_ours() {
    let config = WebConfig { listen: SocketAddr::from(([0, 0, 0, 0], 9471)), ..WebConfig::default() };
    let peer = Peer::at(IpAddr::from([192, 0, 2, 7]));
    for (host, is_ours) in [("192.0.2.7:9471", true), ("192.0.2.8:9471", false), ("attacker.example", false)] {
        let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
        assert_eq!(is_our_name(&headers, &config, &peer), is_ours, "{host}");
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

#[tokio::test]
async fn connections_are_bounded_and_one_more_closes_the_oldest_without_a_stream() {
    let address = started_with(Duration::from_secs(60)).await;
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("written");
    let mut part = [0; 1024];
    assert!(stream.read(&mut part).await.expect("readable") > 0);
    let mut idle = Vec::new();
    for _ in 0..MOST_CONNECTIONS {
        idle.push(TcpStream::connect(address).await.expect("it listens"));
    }
    let closed = timeout(Duration::from_secs(5), idle[0].read(&mut part)).await.expect("at once");
    assert_eq!(closed.expect("closed"), 0);
    timeout(Duration::from_millis(50), idle[1].read(&mut part)).await.expect_err("it is open");
    let text = reply(address, "/nothing", "localhost", "\n\n\n").await;
    assert!(text.starts_with("HTTP/1.1 404"), "{text}");
    let followed = timeout(Duration::from_secs(3), stream.read(&mut part)).await.expect("it goes on");
    assert!(followed.expect("readable") > 0, "the stream is not closed");
}

/// The data received on a connection that sends only `request`, until it is closed; `false`: still open after four times the timeout.
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
