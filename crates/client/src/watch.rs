//! A client of the watch socket: the lines of the feed, and the flows of a station.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use evenair_api::watch::{Answer, Content, Line, Part, Request};
use evenair_api::{FlowStatus, Json};

/// Default path of the watch socket.
pub const SOCKET: &str = "/run/evenair/watch.sock";
/// Longest line, in bytes. A line with 256 stations and 1000 calls has less than 1 MB.
const LONGEST_LINE: u64 = 8 << 20;
/// How much longer than the interval between two lines a line may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Timeout for the flows of a station: the screen waits for them.
const FLOWS_PATIENCE: Duration = Duration::from_secs(1);

/// A connection to the watch socket that asks for lines.
#[derive(Debug)]
pub struct Feed {
    stream: BufReader<UnixStream>,
}

impl Feed {
    /// Subscribes to lines with these parts, one every `every_s` seconds.
    ///
    /// # Errors
    /// The socket cannot be opened; the message names the remedy.
    pub fn open(socket: &Path, parts: &[Part], every_s: u64) -> Result<Self> {
        let request = Request::Watch { watch: parts.to_vec(), every: format!("{every_s} s") };
        Ok(Self { stream: ask(socket, &request, PATIENCE + Duration::from_secs(every_s))? })
    }

    /// The next line: its text, and the parsed form.
    ///
    /// # Errors
    /// The box has closed the connection or refuses the request, or this is not the watch socket.
    pub fn read(&mut self) -> Result<(String, Line)> {
        let text = line_of(&mut self.stream)?;
        let line = Line::from_json(text.as_bytes()).ok().filter(|line| line.v > 0 && line.totals.is_some());
        match line {
            Some(line) => Ok((text, line)),
            None => Err(refusal(&text)),
        }
    }
}

/// The flows of a station, the most recently used first.
///
/// # Errors
/// As [`Feed::open`] and [`Feed::read`].
pub fn flows_of(socket: &Path, mac: &str) -> Result<Vec<FlowStatus>> {
    let text = line_of(&mut ask(socket, &Request::FlowsOf { flows_of: mac.into() }, FLOWS_PATIENCE)?)?;
    match Answer::from_json(text.as_bytes()) {
        Ok(Answer { content: Content::Flows(flows), .. }) => Ok(flows),
        _ => Err(refusal(&text)),
    }
}

fn ask(socket: &Path, request: &Request, patience: Duration) -> Result<BufReader<UnixStream>> {
    let stream = UnixStream::connect(socket);
    let mut stream =
        stream.map_err(|error| anyhow!("watch socket {}: {error} ({})", socket.display(), remedy(&error)))?;
    stream.set_read_timeout(Some(patience)).context("watch socket")?;
    let request = request.to_json() + "\n";
    stream.write_all(request.as_bytes()).with_context(|| format!("watch socket {}", socket.display()))?;
    Ok(BufReader::new(stream))
}

/// How to make the socket accessible after this error.
fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            "it is for root and the group evenair-watch: use sudo, or `sudo adduser USER evenair-watch` and log in again"
        }
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => "is the box running? --socket names another socket",
        _ => "is it the watch socket of a box?",
    }
}

fn line_of(stream: &mut BufReader<UnixStream>) -> Result<String> {
    let mut text = String::new();
    match stream.take(LONGEST_LINE).read_line(&mut text) {
        Ok(0) => bail!("the box has ended the connection"),
        Ok(_) if !text.ends_with('\n') => bail!("the box sent a line without an end"),
        Ok(_) => {}
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            bail!("the box does not answer")
        }
        Err(error) => return Err(error).context("watch socket"),
    }
    text.truncate(text.trim_end().len());
    Ok(text)
}

/// The error for a response that is not the requested line.
fn refusal(text: &str) -> anyhow::Error {
    match Answer::from_json(text.as_bytes()) {
        Ok(Answer { content: Content::Error(why), .. }) => anyhow!("the box refuses: {why}"),
        _ => anyhow!("not a line of the watch feed; --socket must name the watch socket, such as {SOCKET}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// The client's error message when the socket responds like this.
    fn error_after(answer: &'static str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("watch.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut client, _) = listener.accept().expect("it comes");
                let mut request = String::new();
                BufReader::new(&client).read_line(&mut request).expect("it asks");
                assert_eq!(request, "{\"watch\":[\"totals\"],\"every\":\"1 s\"}\n");
                client.write_all(answer.as_bytes()).expect("written");
            });
            let next = Feed::open(&path, &[Part::Totals], 1).expect("it is there").read();
            next.err().map_or_else(String::new, |error| error.to_string())
        })
    }

    #[test]
    fn errors_name_the_remedy() {
        let gone = Feed::open(Path::new("/nowhere/watch.sock"), &[Part::Totals], 1).expect_err("no box").to_string();
        assert!(gone.contains("/nowhere/watch.sock") && gone.contains("is the box running?"), "{gone}");
        assert!(remedy(&ErrorKind::PermissionDenied.into()).contains("evenair-watch"));
        assert_eq!(error_after("{\"v\":1,\"error\":\"no part\"}\n"), "the box refuses: no part");
        assert!(error_after("{\"error\":\"unknown command\"}\n").contains("must name the watch socket"));
        assert_eq!(error_after(""), "the box has ended the connection");
        assert_eq!(error_after("{\"v\":1,\"totals\":{}}\n"), "");
    }
}
