//! The box's end of the control socket.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use evenair_sys::rt::Waker;
use tracing::debug;

use super::{Request, Response, Snapshot};

/// Longest line a client may send, in bytes.
const MAX_LINE: u64 = 64 * 1024;
/// Most clients at once.
const MAX_CLIENTS: usize = 32;
/// How long the end waits for the last answers to be written.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A request on its way to the loop.
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) reply: mpsc::Sender<Answer>,
}

/// The loop's answer, not yet JSON.
pub(crate) enum Answer {
    Done,
    Refused(String),
    Status(Box<Snapshot>),
}

/// Serves the control socket until dropped.
pub(crate) struct Server {
    path: PathBuf,
    busy: Arc<AtomicUsize>,
}

impl Server {
    /// Listens at `path`. A socket left over by a dead box is replaced.
    ///
    /// # Errors
    /// A living box answers there already, or the path cannot be made.
    pub(crate) fn start(path: &Path, loop_inbox: mpsc::Sender<Asked>, waker: Arc<Waker>) -> Result<Self> {
        let describe = || format!("[control] socket = {:?}", path.display());
        if UnixStream::connect(path).is_ok() {
            bail!("{}: another box answers there already", describe());
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).with_context(describe),
            _ => {}
        }
        let listener = UnixListener::bind(path).with_context(describe)?;
        // Who may write to the socket may take the box out of the path.
        fs::set_permissions(path, fs::Permissions::from_mode(0o660)).with_context(describe)?;
        let busy = Arc::new(AtomicUsize::new(0));
        let clients = Arc::new(AtomicUsize::new(0));
        let for_clients = Arc::clone(&busy);
        let accept = move || {
            for client in listener.incoming() {
                let Ok(client) = client else { continue };
                if clients.load(Ordering::Relaxed) >= MAX_CLIENTS {
                    continue;
                }
                clients.fetch_add(1, Ordering::Relaxed);
                let (inbox, waker, busy) = (loop_inbox.clone(), Arc::clone(&waker), Arc::clone(&for_clients));
                let clients = Arc::clone(&clients);
                thread::spawn(move || {
                    if let Err(error) = serve(&client, &inbox, &waker, &busy) {
                        debug!("control client: {error}");
                    }
                    clients.fetch_sub(1, Ordering::Relaxed);
                });
            }
        };
        thread::Builder::new().name("control".into()).spawn(accept).context("start the control thread")?;
        Ok(Self { path: path.to_owned(), busy })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let start = Instant::now();
        while self.busy.load(Ordering::Acquire) > 0 && start.elapsed() < LAST_WORDS {
            thread::sleep(Duration::from_millis(1));
        }
        // Nobody is hurt by a file that stays: the next box replaces it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Answers a client until it hangs up.
fn serve(client: &UnixStream, inbox: &mpsc::Sender<Asked>, waker: &Waker, busy: &AtomicUsize) -> io::Result<()> {
    let mut lines = BufReader::new(client);
    let mut line = String::new();
    loop {
        line.clear();
        if (&mut lines).take(MAX_LINE).read_line(&mut line)? == 0 {
            return Ok(());
        }
        busy.fetch_add(1, Ordering::AcqRel);
        let mut answer = serde_json::to_vec(&answer(&line, inbox, waker)).map_err(io::Error::other)?;
        answer.push(b'\n');
        let written = (&mut &*client).write_all(&answer);
        busy.fetch_sub(1, Ordering::AcqRel);
        written?;
    }
}

fn answer(line: &str, inbox: &mpsc::Sender<Asked>, waker: &Waker) -> Response {
    let refused = |error: String| Response { ok: false, error: Some(error), status: None };
    let request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => return refused(format!("not a request: {error}")),
    };
    let (reply, replies) = mpsc::channel();
    if inbox.send(Asked { request, reply }).is_err() {
        return refused("the box is ending".into());
    }
    waker.wake();
    match replies.recv() {
        Ok(Answer::Done) => Response { ok: true, error: None, status: None },
        Ok(Answer::Refused(error)) => refused(error),
        Ok(Answer::Status(snapshot)) => Response { ok: true, error: None, status: Some(Box::new((*snapshot).into())) },
        Err(_) => refused("the box ended before it was done".into()),
    }
}
