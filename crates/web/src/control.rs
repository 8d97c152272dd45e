//! Client of the box's control socket, for users who may command the box. Only the group of the box can open the socket
//! (`dropin.rs`).

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use evenair_api::{Json, Request, Response};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Timeout of a response: before a bypass the box sends all packets that it holds.
const PATIENCE: Duration = Duration::from_secs(30);
/// Concurrent connections; further requests wait. The box accepts 32, some of which `evenair` on the box needs.
const AT_A_TIME: usize = 8;
/// Longest response, in bytes: a status with 4,096 stations and 1,000 connections has 4 MB.
const LONGEST_ANSWER: u64 = 16 << 20;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotDone {
    /// This program may not open the socket.
    Forbidden(String),
    /// The box is not running, or does not respond.
    Away(String),
    /// The box refused, with its reason.
    Refused(String),
}

/// The control socket; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    path: Arc<Path>,
    patience: Duration,
    places: Arc<Semaphore>,
}

impl Control {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path: path.into(), patience: PATIENCE, places: Arc::new(Semaphore::new(AT_A_TIME)) }
    }

    /// Sends requests over one connection, one after the other, and returns the response to the last.
    ///
    /// # Errors
    /// The first failure, after which no further request is sent.
    pub(crate) async fn ask(&self, requests: &[Request]) -> Result<Response, NotDone> {
        let ask = async {
            let _place = self.places.acquire().await.expect("it is never closed");
            let mut stream =
                BufReader::new(UnixStream::connect(&self.path).await.map_err(|error| self.failed(&error))?);
            let mut last = None;
            for request in requests {
                let response = exchange(&mut stream, request).await.map_err(|error| self.failed(&error))?;
                if !response.ok {
                    return Err(NotDone::Refused(response.error.unwrap_or_else(|| "it does not say why".into())));
                }
                last = Some(response);
            }
            last.ok_or_else(|| NotDone::Refused("nothing was asked".into()))
        };
        let late =
            || NotDone::Away(format!("the box has not answered for {} s; it may yet do it", self.patience.as_secs()));
        timeout(self.patience, ask).await.unwrap_or_else(|_| Err(late()))
    }

    fn failed(&self, error: &Error) -> NotDone {
        let path = self.path.display();
        if error.kind() == ErrorKind::PermissionDenied {
            return NotDone::Forbidden(format!(
                "evenair-web may not command the box: {path}: {error}; `sudo evenair web setup` on the box permits it"
            ));
        }
        NotDone::Away(format!("the box is not there: {path}: {error}"))
    }
}

async fn exchange(stream: &mut BufReader<UnixStream>, request: &Request) -> Result<Response, Error> {
    stream.get_mut().write_all((request.to_json() + "\n").as_bytes()).await?;
    let mut line = String::new();
    if stream.take(LONGEST_ANSWER).read_line(&mut line).await? == 0 {
        return Err(Error::new(ErrorKind::UnexpectedEof, "it has ended the connection"));
    }
    Response::from_json(line.as_bytes()).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn a_box_that_does_not_answer_is_given_up() {
        assert_eq!(PATIENCE, Duration::from_secs(30));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("control.sock");
        let _silent = UnixListener::bind(&path).expect("a socket");
        let control = Control { patience: Duration::from_millis(50), ..Control::new(path) };
        match control.ask(&[Request::Insert]).await {
            Err(NotDone::Away(why)) => assert!(why.contains("may yet do it"), "{why}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_forbidden_socket_is_an_error_with_its_remedy() {
        let control = Control::new("/run/evenair/control.sock".into());
        match control.failed(&ErrorKind::PermissionDenied.into()) {
            NotDone::Forbidden(why) => assert!(why.contains("control.sock") && why.contains("web setup"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}
