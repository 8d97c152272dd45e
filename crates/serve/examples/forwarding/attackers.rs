//! Attackers of a box's page: a thousand connections whose requests come at a byte a second, and a hundred logins a second with wrong
//! passwords, each from its own address and for its own account, so that no limit for either stops them.
//!
//! `--web scripts/web-limited` limits evenair-web's use of the processor as its service does. Attackers and page share the core of the
//! packet loop, which they would not on a network.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use evenair_sys::{process, rt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{interval, sleep, timeout};

use crate::lab::Lab;
use crate::load::Place;
use crate::watched::{Beside, Recovery, Web};

/// Connections whose request comes at a byte a second.
const SLOW: usize = 1_000;
/// Time between two bytes of a slow request, and before a refused connection is tried again.
const BYTE: Duration = Duration::from_secs(1);
/// Logins a second.
const LOGINS: u64 = 100;
/// Time after which a login without an answer is given up.
const PATIENCE: Duration = Duration::from_secs(15);
const PASSWORD: &str = "correct-horse";

/// Attackers, and the page with an account.
pub struct Attackers {
    web: Web,
    /// Ends the attackers when dropped.
    stop: oneshot::Sender<()>,
    work: JoinHandle<Result<()>>,
    answers: Arc<Answers>,
    /// State directory of evenair-web.
    _state: tempfile::TempDir,
}

/// Answers to logins, by kind.
#[derive(Default)]
struct Answers {
    /// A wrong password: it was hashed.
    wrong: AtomicU64,
    /// Too many logins wait or failed (429).
    refused: AtomicU64,
    /// No answer: the connection was not admitted, or evenair-web hung.
    none: AtomicU64,
}

impl Beside for Attackers {
    const NAMES: [&str; 2] = ["attackers", "attacked"];
    const SOURCE: Place = Place::Spaced;

    fn numbers() -> String {
        format!("{SLOW} slow connections, {LOGINS} logins a second")
    }

    fn start(lab: &Lab, program: &Path) -> Result<Self> {
        let folder = tempfile::tempdir().context("a folder for the state of evenair-web")?;
        let state = folder.path();
        let mut command = Command::new("taskset");
        command.args(["-c", &(thread::available_parallelism()?.get() - 1).to_string()]).arg(program);
        let web = Web::start(
            &mut command,
            &["--socket".as_ref(), lab.watch_socket().as_ref(), "--state".as_ref(), state.as_ref()],
        )?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let token = setup_token(program, state, web.address)?;
        let form = format!("token={token}&name=anna&password={PASSWORD}&again={PASSWORD}");
        let made = runtime.block_on(post(web.address, Ipv4Addr::LOCALHOST, "/setup", &form))?;
        ensure!(made == 303, "the account is not made: status {made}");
        let (stop, stopped) = oneshot::channel();
        let answers = Arc::new(Answers::default());
        let (address, counted) = (web.address, answers.clone());
        let attack = move || -> Result<()> {
            rt::pin_to_last_core().context("pin the attackers")?;
            runtime.block_on(async {
                for _ in 0..SLOW {
                    tokio::spawn(crawl(address));
                }
                tokio::spawn(log_in(address, counted));
                // An error means that the other end was dropped.
                let _ = stopped.await;
            });
            Ok(())
        };
        let work = thread::Builder::new().name("attackers".into()).spawn(attack).context("a thread of attackers")?;
        web.hang_later();
        Ok(Self { web, stop, work, answers, _state: folder })
    }

    fn end(self) -> Result<Recovery> {
        drop(self.stop);
        self.work.join().map_err(|_| anyhow::anyhow!("the attackers have panicked"))??;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Answers { wrong, refused, none } = &*self.answers;
        println!("    logins: {} wrong, {} refused (429), {} without an answer", of(wrong), of(refused), of(none));
        ensure!(of(wrong) + of(refused) > 0, "no login was answered: this is no attack on logins");
        self.web.recovery()
    }
}

/// The token of the link that creates the first account.
fn setup_token(program: &Path, state: &Path, address: SocketAddr) -> Result<String> {
    let mut command = Command::new(program);
    command.args(["setup", "--state"]).arg(state).args(["--listen", &address.to_string()]);
    let output = process::tie(&mut command, None).output().context("evenair-web setup")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let token = said.lines().next().and_then(|link| link.split_once("setup?token="));
    Ok(token.with_context(|| format!("no link: {said}{}", String::from_utf8_lossy(&output.stderr)))?.1.to_owned())
}

/// The status of the answer to a form, sent from this address.
async fn post(to: SocketAddr, from: Ipv4Addr, path: &str, form: &str) -> Result<u16> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((from, 0)))?;
    let mut stream = socket.connect(to).await?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut start = [0; 12];
    stream.read_exact(&mut start).await?;
    Ok(std::str::from_utf8(&start[9..])?.parse()?)
}

/// Sends a request that never ends, repeatedly.
async fn crawl(to: SocketAddr) {
    loop {
        if let Ok(mut stream) = TcpStream::connect(to).await {
            let mut sent = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ").await;
            while sent.is_ok() {
                sleep(BYTE).await;
                sent = stream.write_all(b"x").await;
            }
        }
        sleep(BYTE).await;
    }
}

/// Makes logins at a fixed rate, whether they are answered or not.
async fn log_in(to: SocketAddr, answers: Arc<Answers>) {
    let mut ticks = interval(Duration::from_secs(1) / LOGINS as u32);
    for number in 0_u32.. {
        ticks.tick().await;
        let answers = answers.clone();
        tokio::spawn(async move {
            // 127.1.0.0 and up.
            let from = Ipv4Addr::from(0x7f01_0000 + number);
            let form = format!("name=account-{number}&password=wrong-password");
            let answer = timeout(PATIENCE, post(to, from, "/login", &form)).await;
            let count = match answer.ok().and_then(Result::ok) {
                Some(401) => &answers.wrong,
                Some(429) => &answers.refused,
                _ => &answers.none,
            };
            count.fetch_add(1, Ordering::Relaxed);
        });
    }
}
