//! TCP transfers of known size: arrivals of flows, and file after file.
//!
//! The station draws them from the same random streams as the simulator, and opens the connections. The first 16 bytes of
//! each transfer, which the simulator's transfers do not have, are its number and its length. The receiver reports the
//! arrival of the last byte to the testbed, which knows the start from the station: they share a clock.
//!
//! The pause after a file begins when the kernel has had an upload acknowledged completely (polled each millisecond), or
//! when the station has the last byte of a download: half a round-trip time before its sender knows.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use evenair_sys::rt::monotonic_ns;
use evenair_sys::tcp;

use evenair_units::Streams;
use evenair_workload::{FileSource, FlowArrivals, FlowSpec, OnOffSpec};

use super::marking;
use super::protocol::Report;
use super::state::{App, Role, Times, sleep_until};

/// Bytes of one system call; small, since there may be hundreds of concurrent transfers.
const CHUNK: usize = 16 * 1024;
/// Stack size of a thread that runs one transfer, in bytes.
const STACK: usize = 128 * 1024;
/// Interval at which an upload is polled for its last acknowledgment.
const LOOK: Duration = Duration::from_millis(1);

/// Configuration shared by both ends of an application.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub(super) server: SocketAddr,
    /// Upload: the station sends.
    pub(super) up: bool,
    /// Congestion control of the sender.
    pub(super) congestion_control: String,
}

/// Header at the beginning of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    /// Number of the transfer in its application.
    id: u64,
    bytes: u64,
}

impl Head {
    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.id.to_be_bytes());
        bytes[8..].copy_from_slice(&self.bytes.to_be_bytes());
        bytes
    }

    /// Reads the next header of a connection; `None` at its end.
    fn read(stream: &mut impl Read) -> std::io::Result<Option<Self>> {
        let mut bytes = [0; 16];
        match stream.read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let (id, size) = bytes.split_at(8);
        let number = |part: &[u8]| u64::from_be_bytes(*part.first_chunk().expect("half of 16"));
        Ok(Some(Self { id: number(id), bytes: number(size) }))
    }
}

/// Serves the station's transfers: receives uploads, sends downloads.
pub(super) fn serve(app: &Arc<App>, listener: &TcpListener, up: bool) {
    while !app.is_stopped() {
        let Ok((mut stream, _)) = listener.accept() else { continue };
        let app = Arc::clone(app);
        spawn(move || {
            let role = if up { Role::Receiver } else { Role::Sender };
            if app.adopt(&stream, role).is_ok() {
                // The end of either side ends the connection; the station reports the failure.
                let _ = answer(&app, &mut stream, up);
                app.release(&stream);
            }
        });
    }
}

fn answer(app: &App, stream: &mut TcpStream, up: bool) -> std::io::Result<()> {
    while let Some(head) = Head::read(stream)? {
        if up { take(app, stream, head)? } else { give(stream, head.bytes)? }
    }
    // Done: the station waits for the end of the connection and must not see a reset.
    tcp::finish_on_close(stream).map_err(Error::other)
}

/// Receives a transfer, and reports its completion.
fn take(app: &App, stream: &mut TcpStream, head: Head) -> std::io::Result<()> {
    let mut buffer = [0; CHUNK];
    let mut left = head.bytes;
    while left > 0 {
        let most = usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
        match stream.read(&mut buffer[..most])? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => {
                app.count_received(n);
                left -= n as u64;
            }
        }
    }
    app.report(&Report::TransferDone { app: app.number, id: head.id, at_ns: monotonic_ns() });
    Ok(())
}

fn give(stream: &mut TcpStream, bytes: u64) -> std::io::Result<()> {
    let chunk = [0x5a; CHUNK];
    let mut left = bytes;
    while left > 0 {
        let size = usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
        stream.write_all(&chunk[..size])?;
        left -= size as u64;
    }
    Ok(())
}

/// Opens the flows of this station as they arrive.
pub(super) fn open_flows(app: &Arc<App>, ends: &Ends, spec: &FlowSpec, seed: u64, times: Times) {
    let member = app.number as u32 - spec.first;
    let under_way = Arc::new(AtomicU32::new(0));
    let own = FlowArrivals::new(spec, &Streams::new(seed)).filter(|arrival| arrival.member == member);
    for (id, arrival) in (0..).zip(own) {
        let due = times.start_ns + arrival.at.as_nanos();
        sleep_until(due);
        // Transfers due exactly at the end are too late, so that the result does not depend on which side ends first.
        if due >= times.stop_ns || app.is_stopped() {
            return;
        }
        if under_way.load(Ordering::Relaxed) >= spec.limit {
            app.report(&Report::TransferRefused { app: app.number });
            continue;
        }
        under_way.fetch_add(1, Ordering::Relaxed);
        let (app, ends, under_way) = (Arc::clone(app), ends.clone(), Arc::clone(&under_way));
        let head = Head { id, bytes: arrival.bytes.0 };
        spawn(move || {
            begin(&app, head);
            let result = connect(&app, &ends).and_then(|mut stream| {
                let moved = transfer(&app, &mut stream, ends.up, head).and_then(|()| finish(&mut stream));
                app.release(&stream);
                moved
            });
            end(&app, head, result);
            under_way.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Uploads or downloads one file after another.
pub(super) fn move_files(app: &Arc<App>, ends: &Ends, spec: &OnOffSpec, seed: u64, times: Times) {
    let mut source = FileSource::new(spec, &Streams::new(seed));
    let mut next = times.start_ns + source.pause().as_nanos();
    let mut kept = None;
    for id in 0.. {
        sleep_until(next);
        if next >= times.stop_ns || app.is_stopped() {
            return;
        }
        let head = Head { id, bytes: source.file().0 };
        begin(app, head);
        let result = kept.take().map_or_else(|| connect(app, ends), Ok).and_then(|mut stream| {
            transfer(app, &mut stream, ends.up, head)?;
            if ends.up {
                wait_for_acknowledgment(app, &stream)?;
            }
            if spec.persistent {
                kept = Some(stream);
            } else {
                finish(&mut stream)?;
                app.release(&stream);
            }
            Ok(())
        });
        end(app, head, result);
        next = monotonic_ns() + source.pause().as_nanos();
    }
}

fn begin(app: &App, head: Head) {
    let Head { id, bytes } = head;
    app.report(&Report::TransferBegan { app: app.number, id, at_ns: monotonic_ns(), bytes });
}

fn end(app: &App, head: Head, result: std::io::Result<()>) {
    match result {
        Err(error) if !app.is_stopped() => {
            app.note(format!("a transfer failed: {error}"));
            app.report(&Report::TransferFailed { app: app.number, id: head.id });
        }
        _ => {}
    }
}

fn connect(app: &App, ends: &Ends) -> std::io::Result<TcpStream> {
    let stream = marking::connect(ends.server, app.dscp, ends.up.then_some(ends.congestion_control.as_str()))?;
    app.adopt(&stream, if ends.up { Role::Sender } else { Role::Receiver })?;
    Ok(stream)
}

fn transfer(app: &App, stream: &mut TcpStream, up: bool, head: Head) -> std::io::Result<()> {
    stream.write_all(&head.to_bytes())?;
    if up { give(stream, head.bytes) } else { take(app, stream, head) }
}

/// Ends the transfers of this connection: the server closes when it has read to the end.
fn finish(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.read(&mut [0]).map(|_| ())
}

fn wait_for_acknowledgment(app: &App, stream: &TcpStream) -> std::io::Result<()> {
    while !app.is_stopped() && tcp::state(stream).map_err(Error::other)?.unacked_segments > 0 {
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Runs a job on a new thread; skips it if the system has no more threads.
fn spawn(job: impl FnOnce() + Send + 'static) {
    let _ = thread::Builder::new().stack_size(STACK).spawn(job);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_follow_one_another_over_a_real_connection() {
        for up in [true, false] {
            let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
            let server = listener.local_addr().expect("bound");
            let theirs = Arc::new(App::new(0, 0, Arc::default()));
            let app = Arc::clone(&theirs);
            let serving = thread::spawn(move || answer(&app, &mut listener.accept().expect("accepted").0, up));
            let ours = App::new(0, 0, Arc::default());
            let ends = Ends { server, up, congestion_control: "reno".to_owned() };
            let mut stream = connect(&ours, &ends).expect("connected");
            for (id, bytes) in [(0, 1), (1, 100_000), (2, 0)] {
                transfer(&ours, &mut stream, up, Head { id, bytes }).expect("moved");
            }
            finish(&mut stream).expect("closed");
            serving.join().expect("no panic").expect("the end of the connection is no error");
            let receiver = if up { &*theirs } else { &ours };
            assert_eq!(receiver.received.load(Ordering::Relaxed), 100_001);
        }
    }

    #[test]
    fn headers_are_read_completely_or_not_at_all() {
        let head = Head { id: 7, bytes: 1 << 40 };
        let mut two = [head.to_bytes(), Head { id: 8, bytes: 1 }.to_bytes()].concat();
        two.truncate(30);
        let mut input = two.as_slice();
        assert_eq!(Head::read(&mut input).expect("readable"), Some(head));
        assert_eq!(Head::read(&mut input).expect("cut short"), None);
    }
}
