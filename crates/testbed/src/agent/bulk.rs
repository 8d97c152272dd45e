//! Bulk TCP: as fast as TCP can, one connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use evenair_sys::tcp::set_congestion_control;

use super::protocol::Transfer;
use super::state::{App, Role, Times, connect, sleep_until};

/// Bytes of one system call. Large, so that the sender's thread wakes up rarely.
const CHUNK: usize = 128 * 1024;

pub(super) fn listen(address: SocketAddr, transfer: &Transfer) -> Result<TcpListener, String> {
    let listener = TcpListener::bind(address).map_err(|e| format!("listen on {address}: {e}"))?;
    if let Transfer::Send { congestion_control: Some(name), .. } = transfer {
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
    let Some(stream) = connect(app, server, role(transfer)) else { return };
    if let Transfer::Send { congestion_control: Some(name), .. } = transfer
        && let Err(error) = set_congestion_control(&stream, name)
    {
        app.note(error.to_string());
    }
    run(app, stream, transfer);
}

fn role(transfer: &Transfer) -> Role {
    match transfer {
        Transfer::Send { .. } => Role::Sender,
        Transfer::Receive => Role::Receiver,
    }
}

/// Until the transfer is complete, the peer has gone or the application is stopped.
fn run(app: &App, mut stream: TcpStream, transfer: &Transfer) {
    let ended = match transfer {
        Transfer::Send { bytes, .. } => send(&mut stream, *bytes),
        Transfer::Receive => receive(app, &mut stream),
    };
    app.release(&stream);
    match ended {
        Err(error) if !app.is_stopped() => app.note(format!("the connection ended: {error}")),
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
    // All is written but not all has arrived: the receiver closes when it has read to the end.
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read(&mut [0]).map(|_| ())
}

fn receive(app: &App, stream: &mut TcpStream) -> std::io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            n => app.count_received(n),
        }
    }
}
