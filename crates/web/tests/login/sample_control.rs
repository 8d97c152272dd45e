//! The control socket of a box for tests: records requests, refuses those about one station, and takes some time to bypass.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evenair_api::{Json, NameOrigin, NamedStation, Request, Response, Status};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::sleep;

/// The station about which requests are refused.
pub const REFUSED: &str = "02:00:00:00:00:ff";
/// Duration of a bypass.
pub const BYPASS_TIME: Duration = Duration::from_millis(200);

/// Requests so far, each with the number of its connection.
pub type Asked = Arc<Mutex<Vec<(usize, Request)>>>;

/// Starts serving this socket.
pub fn start(socket: &Path) -> Asked {
    let listener = UnixListener::bind(socket).expect("a socket");
    let asked = Asked::default();
    let all = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut number = 0;
        while let Ok((stream, _)) = listener.accept().await {
            number += 1;
            tokio::spawn(serve(stream, number, Arc::clone(&all)));
        }
    });
    asked
}

async fn serve(stream: UnixStream, number: usize, asked: Asked) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut text = String::new();
        if stream.read_line(&mut text).await.unwrap_or(0) == 0 {
            return;
        }
        assert!(text.len() <= 64 * 1024, "a box takes no such line");
        let request = Request::from_json(text.as_bytes()).expect("a request");
        asked.lock().expect("unbroken").push((number, request.clone()));
        let response = answer(&request, text.contains(REFUSED)).await;
        _ = stream.get_mut().write_all((response.to_json() + "\n").as_bytes()).await;
    }
}

async fn answer(request: &Request, is_refused: bool) -> Response {
    let done = Response { ok: true, error: None, status: None, names: None };
    match request {
        _ if is_refused => Response { ok: false, error: Some("not this one".into()), ..done },
        Request::Bypass { .. } => {
            sleep(BYPASS_TIME).await;
            done
        }
        Request::Status => Response { status: Some(Box::default()), ..done },
        Request::Names => {
            let named = |mac: &str, name: &str| NamedStation {
                mac: mac.into(),
                name: name.into(),
                origin: NameOrigin::Operator,
            };
            Response {
                names: Some(vec![named("02:00:00:00:00:01", "Anne"), named("02:00:00:00:00:00", "Ben")]),
                ..done
            }
        }
        _ => done,
    }
}

/// The sample parses as a box's response.
#[test]
fn the_sample_is_read_as_it_was_written() {
    let response = Response { ok: true, error: None, status: Some(Box::new(Status::default())), names: None };
    assert_eq!(Response::from_json(response.to_json().as_bytes()).expect("reads"), response);
}
