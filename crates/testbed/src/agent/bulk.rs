//! Bulk TCP: one connection at full speed.
//!
//! For a transfer of known size, the station reports the start, the receiver the arrival of the last byte, and both ends
//! close the connection normally. An endless transfer is aborted at the end of its application.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use evenair_sys::rt::monotonic_ns;
use evenair_sys::tcp::{finish_on_close, set_congestion_control};

use super::marking::mark;
use super::protocol::{Report, Transfer};
use super::state::{App, Role, Times, connect, sleep_until};

/// Bytes of one system call. Large, so that the sender's thread wakes up rarely.
const CHUNK: usize = 128 * 1024;
/// Transfer number: an application of this kind has one transfer.
const ID: u64 = 0;

pub(super) fn listen(address: SocketAddr, transfer: &Transfer, dscp: u8) -> Result<TcpListener, String> {
    let listener = TcpListener::bind(address).map_err(|e| format!("listen on {address}: {e}"))?;
    // Accepted connections and their handshakes inherit the mark.
    mark(&listener, address, dscp).map_err(|e| format!("mark with DSCP {dscp}: {e}"))?;
    if let Some(name) = congestion_control(transfer) {
        // Accepted connections inherit it.
        set_congestion_control(&listener, name).map_err(|e| e.to_string())?;
    }
    Ok(listener)
}

pub(super) fn serve(app: &Arc<App>, listener: &TcpListener, transfer: &Transfer) {
    while !app.is_stopped() {
        let Ok((stream, _)) = listener.accept() else { continue };
        let (app, transfer) = (Arc::clone(app), transfer.clone());
        thread::spawn(move || {
            if app.adopt(&stream, role(&transfer)).is_ok() {
                run(&app, stream, &transfer);
            }
        });
    }
}

pub(super) fn run_client(app: &App, server: SocketAddr, transfer: &Transfer, times: Times) {
    sleep_until(times.start_ns);
    let (Transfer::Send { bytes, .. } | Transfer::Receive { bytes }) = transfer;
    if let Some(bytes) = *bytes {
        app.report(&Report::TransferBegan { app: app.number, id: ID, at_ns: monotonic_ns(), bytes });
    }
    let Some(stream) = connect(app, server, role(transfer), congestion_control(transfer)) else { return };
    run(app, stream, transfer);
}

/// Congestion control of a sender, if it is not the host's.
fn congestion_control(transfer: &Transfer) -> Option<&str> {
    if let Transfer::Send { congestion_control, .. } = transfer { congestion_control.as_deref() } else { None }
}

fn role(transfer: &Transfer) -> Role {
    match transfer {
        Transfer::Send { .. } => Role::Sender,
        Transfer::Receive { .. } => Role::Receiver,
    }
}

/// Runs until the transfer is complete, the peer has closed, or the application is stopped.
fn run(app: &App, mut stream: TcpStream, transfer: &Transfer) {
    let ended = match transfer {
        Transfer::Send { bytes, .. } => send(&mut stream, *bytes),
        Transfer::Receive { bytes } => receive(app, &mut stream, *bytes),
    };
    app.release(&stream);
    match ended {
        Err(error) if !app.is_stopped() => {
            app.note(format!("the connection ended: {error}"));
            // Ignored by the testbed if the size is unknown or the transfer is complete.
            app.report(&Report::TransferFailed { app: app.number, id: ID });
        }
        _ => {}
    }
}

fn send(stream: &mut TcpStream, bytes: Option<u64>) -> std::io::Result<()> {
    let chunk = vec![0x5a; CHUNK];
    let mut left = bytes;
    while left != Some(0) {
        let size = left.map_or(CHUNK, |left| usize::try_from(left).unwrap_or(CHUNK).min(CHUNK));
        stream.write_all(&chunk[..size])?;
        left = left.map(|left| left - size as u64);
    }
    // Everything is written but not everything has arrived: the receiver closes when it has read to the end.
    finish_on_close(&*stream).map_err(Error::other)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read(&mut [0]).map(|_| ())
}

fn receive(app: &App, stream: &mut TcpStream, bytes: Option<u64>) -> std::io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut received = 0;
    loop {
        match stream.read(&mut buffer)? {
            0 if bytes.is_some_and(|bytes| received < bytes) => return Err(ErrorKind::UnexpectedEof.into()),
            // The sender waits for the end of the connection and must not see a reset.
            0 => return finish_on_close(&*stream).map_err(Error::other),
            n => {
                app.count_received(n);
                let before = received;
                received += n as u64;
                if bytes.is_some_and(|bytes| before < bytes && received >= bytes) {
                    app.report(&Report::TransferDone { app: app.number, id: ID, at_ns: monotonic_ns() });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_of_known_size_arrives_whole_and_closes_normally() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let server = listener.local_addr().expect("bound");
        let theirs = Arc::new(App::new(0, 0, Arc::default()));
        let app = Arc::clone(&theirs);
        let receiving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepted");
            app.adopt(&stream, Role::Receiver).expect("adopted");
            receive(&app, &mut stream, Some(300_000))?;
            app.release(&stream);
            std::io::Result::Ok(())
        });
        let ours = App::new(0, 0, Arc::default());
        let mut stream = connect(&ours, server, Role::Sender, None).expect("connected");
        // Neither end sees a reset.
        send(&mut stream, Some(300_000)).expect("sent");
        receiving.join().expect("no panic").expect("received");
        assert_eq!(theirs.received.load(std::sync::atomic::Ordering::Relaxed), 300_000);
    }
}
