//! Bulk transfers over QUIC (RFC 9000), with quinn's state machine: the box sees encrypted datagrams.
//!
//! The station opens the connection, and the sender opens one stream. The certificate is made for the run, and the station
//! trusts no other. Packets do not use ECN: the agent does not read the marks of a datagram socket, so that this sender
//! reacts only to losses, like many QUIC senders.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use evenair_sys::rt::{Epoll, monotonic_ns};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::rustls::RootCertStore;
use quinn_proto::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionEvent, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt, WriteError,
};

use super::protocol::{Report, TcpSample, Transfer};
use super::state::{App, Times, sleep_until};
use super::udp;

/// Server name in the certificate.
pub const NAME: &str = "evenair";
/// Congestion controls of quinn, by Linux's names.
pub const CONGESTION_CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];
/// Interval at which an end checks whether it must stop.
const PATIENCE: Duration = Duration::from_millis(100);
/// Bytes written or read at once.
const CHUNK: usize = 64 * 1024;
/// Transfer number: an application of this kind has one transfer.
const ID: u64 = 0;

/// Identity of a server: certificate and private key.
pub(super) struct Identity {
    pub(super) certificate: Vec<u8>,
    pub(super) key: Vec<u8>,
}

/// Opens the socket of a server and makes its configuration.
pub(super) fn listen(
    address: SocketAddr,
    identity: Identity,
    transfer: &Transfer,
    dscp: u8,
) -> Result<(UdpSocket, ServerConfig), String> {
    let socket = udp::bind(address, dscp)?;
    let key = PrivatePkcs8KeyDer::from(identity.key).into();
    let mut config = ServerConfig::with_single_cert(vec![CertificateDer::from(identity.certificate)], key)
        .map_err(|e| format!("the certificate of QUIC: {e}"))?;
    config.transport_config(Arc::new(transport(transfer)?));
    Ok((socket, config))
}

/// Serves the station, one connection after the other.
pub(super) fn serve(app: &App, socket: UdpSocket, config: ServerConfig, transfer: &Transfer) {
    let endpoint = Endpoint::new(Arc::default(), Some(Arc::new(config)), true, None);
    let ended = End::new(app, socket, endpoint, transfer).and_then(|mut end| end.run());
    if let Err(error) = ended {
        app.note(error);
    }
}

/// Opens a connection, repeating until one is established, and transfers the data.
pub(super) fn run_client(app: &App, server: SocketAddr, certificate: Vec<u8>, transfer: &Transfer, times: Times) {
    sleep_until(times.start_ns);
    let (Transfer::Send { bytes, .. } | Transfer::Receive { bytes }) = transfer;
    if let Some(bytes) = *bytes {
        app.report(&Report::TransferBegan { app: app.number, id: ID, at_ns: monotonic_ns(), bytes });
    }
    let config = match client_config(certificate, transfer) {
        Ok(config) => config,
        Err(error) => return app.note(error),
    };
    while !app.is_stopped() {
        match connect(app, server, config.clone(), transfer) {
            Ok(true) => return,
            Ok(false) => app.note(format!("no connection to {server} over QUIC; trying again")),
            Err(error) => return app.note(error),
        }
        thread::sleep(Duration::from_secs(1));
    }
}

fn client_config(certificate: Vec<u8>, transfer: &Transfer) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(certificate)).map_err(|e| format!("the certificate of QUIC: {e}"))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).map_err(|e| e.to_string())?;
    config.transport_config(Arc::new(transport(transfer)?));
    Ok(config)
}

/// Runs one connection from its first packet to its end; returns whether it was ever established.
fn connect(app: &App, server: SocketAddr, config: ClientConfig, transfer: &Transfer) -> Result<bool, String> {
    let any: SocketAddr = if server.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = udp::bind(any, app.dscp)?;
    let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None);
    let link = endpoint.connect(Instant::now(), config, server, NAME).map_err(|e| e.to_string())?;
    let mut end = End::new(app, socket, endpoint, transfer)?;
    end.link = Some(link);
    end.run()?;
    Ok(end.stood)
}

fn transport(transfer: &Transfer) -> Result<TransportConfig, String> {
    let mut config = TransportConfig::default();
    // Data may be queued in a full buffer for long without the connection being lost.
    config.max_idle_timeout(None).keep_alive_interval(Some(Duration::from_secs(5)));
    if let Transfer::Send { congestion_control: Some(name), .. } = transfer {
        config.congestion_controller_factory(congestion_control(name)?);
    }
    Ok(config)
}

fn congestion_control(name: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    match name {
        "cubic" => Ok(Arc::new(CubicConfig::default())),
        "reno" => Ok(Arc::new(NewRenoConfig::default())),
        "bbr" => Ok(Arc::new(BbrConfig::default())),
        other => Err(format!("QUIC has no congestion control {other:?}; it has {}", CONGESTION_CONTROLS.join(", "))),
    }
}

/// One end: its socket, its endpoint, and its connection.
struct End<'a> {
    app: &'a App,
    socket: UdpSocket,
    epoll: Epoll,
    endpoint: Endpoint,
    /// The server's latest connection, or the client's only one.
    link: Option<(ConnectionHandle, Connection)>,
    is_server: bool,
    transfer: &'a Transfer,
    stream: Option<StreamId>,
    /// Bytes still to be written, if the size is known.
    left: Option<u64>,
    received: u64,
    /// The connection was established.
    stood: bool,
    /// The transfer is complete, or the connection is lost.
    over: bool,
    /// Buffer for a datagram to send or one received.
    buffer: Vec<u8>,
}

impl<'a> End<'a> {
    fn new(app: &'a App, socket: UdpSocket, endpoint: Endpoint, transfer: &'a Transfer) -> Result<Self, String> {
        let epoll = Epoll::new(1).map_err(|e| e.to_string())?;
        epoll.add(&socket, 0).map_err(|e| e.to_string())?;
        let (Transfer::Send { bytes: left, .. } | Transfer::Receive { bytes: left }) = *transfer;
        let is_server = endpoint.open_connections() == 0;
        let (link, stream, buffer) = (None, None, Vec::new());
        let (received, stood, over) = (0, false, false);
        Ok(Self {
            app,
            socket,
            epoll,
            endpoint,
            link,
            is_server,
            transfer,
            stream,
            left,
            received,
            stood,
            over,
            buffer,
        })
    }

    /// Runs until the application is stopped; a client only until its connection is over.
    fn run(&mut self) -> Result<(), String> {
        while !self.app.is_stopped() && (self.is_server || !self.over || !self.is_drained()) {
            self.handle_due();
            self.handle_events();
            self.move_data();
            self.transmit();
            self.receive()?;
        }
        Ok(())
    }

    fn is_drained(&self) -> bool {
        self.link.as_ref().is_none_or(|(_, connection)| connection.is_drained())
    }

    /// Handles an expired timer of the connection.
    fn handle_due(&mut self) {
        let now = Instant::now();
        if let Some((_, connection)) = &mut self.link
            && connection.poll_timeout().is_some_and(|at| at <= now)
        {
            connection.handle_timeout(now);
        }
    }

    /// Exchanges events between endpoint, connection and application.
    fn handle_events(&mut self) {
        let Some((handle, connection)) = &mut self.link else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.stood = true,
                Event::ConnectionLost { reason } if !self.over => {
                    self.over = true;
                    // The sender closes when it knows that everything has arrived.
                    let in_order = matches!(&reason, ConnectionError::ApplicationClosed(close) if close.error_code == VarInt::from_u32(0));
                    if self.stood && !in_order {
                        self.app.note(format!("the connection ended: {reason}"));
                        self.app.report(&Report::TransferFailed { app: self.app.number, id: ID });
                    }
                }
                Event::Stream(StreamEvent::Finished { .. }) => {
                    self.over = true;
                    connection.close(Instant::now(), VarInt::from_u32(0), Bytes::new());
                }
                _ => {}
            }
        }
        let path = connection.stats().path;
        if matches!(self.transfer, Transfer::Send { .. }) {
            self.app.report_sample(TcpSample {
                cwnd_segments: u32::try_from(path.cwnd / u64::from(path.current_mtu).max(1)).unwrap_or(u32::MAX),
                srtt_us: u32::try_from(path.rtt.as_micros()).unwrap_or(u32::MAX),
                retransmits: u32::try_from(path.lost_packets).unwrap_or(u32::MAX),
            });
        }
    }

    fn move_data(&mut self) {
        if !self.stood || self.over {
            return;
        }
        match self.transfer {
            Transfer::Send { .. } => self.write(),
            Transfer::Receive { .. } => self.read(),
        }
    }

    /// Writes as much data as the connection accepts.
    fn write(&mut self) {
        static CONTENT: [u8; CHUNK] = [0x5a; CHUNK];
        let Some((_, connection)) = &mut self.link else { return };
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(stream) = self.stream else { return };
        while self.left != Some(0) {
            let most = self.left.map_or(CHUNK, |left| usize::try_from(left).unwrap_or(CHUNK).min(CHUNK));
            match connection.send_stream(stream).write(&CONTENT[..most]) {
                Ok(written) => self.left = self.left.map(|left| left - written as u64),
                Err(WriteError::Blocked) => return,
                Err(error) => return self.app.note(format!("the stream ended: {error}")),
            }
        }
        // An error means that the stream is finished already.
        let _ = connection.send_stream(stream).finish();
    }

    /// Reads all data received.
    fn read(&mut self) {
        let Some((_, connection)) = &mut self.link else { return };
        if self.stream.is_none() {
            self.stream = connection.streams().accept(Dir::Uni);
        }
        let Some(stream) = self.stream else { return };
        let mut receiving = connection.recv_stream(stream);
        let Ok(mut chunks) = receiving.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(CHUNK) {
            let before = self.received;
            self.received += chunk.bytes.len() as u64;
            self.app.count_received(chunk.bytes.len());
            if self.left.is_some_and(|bytes| before < bytes && self.received >= bytes) {
                self.app.report(&Report::TransferDone { app: self.app.number, id: ID, at_ns: monotonic_ns() });
            }
        }
        // The next step polls for transmissions anyway.
        let _ = chunks.finalize();
    }

    fn transmit(&mut self) {
        let Some((_, connection)) = &mut self.link else { return };
        self.buffer.clear();
        while let Some(transmit) = connection.poll_transmit(Instant::now(), 1, &mut self.buffer) {
            // A datagram that the kernel refuses is lost and retransmitted.
            let _ = self.socket.send_to(&self.buffer[..transmit.size], transmit.destination);
            self.buffer.clear();
        }
    }

    /// Waits for a datagram or a deadline, and handles all datagrams received.
    fn receive(&mut self) -> Result<(), String> {
        let due = self.link.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let mut wait = due.map_or(PATIENCE, |at| at.saturating_duration_since(Instant::now()).min(PATIENCE));
        self.buffer.resize(CHUNK, 0);
        while self.epoll.wait(Some(wait)).map_err(|e| e.to_string())?.next().is_some() {
            // An ICMP error, or a datagram with a wrong checksum: nothing to read.
            let Ok((size, from)) = self.socket.recv_from(&mut self.buffer) else { break };
            let data = BytesMut::from(&self.buffer[..size]);
            self.handle(from, data);
            wait = Duration::ZERO;
        }
        Ok(())
    }

    fn handle(&mut self, from: SocketAddr, data: BytesMut) {
        let (now, mut answer) = (Instant::now(), Vec::new());
        let event = self.endpoint.handle(now, from, None, None, data, &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => self.handle_of(handle, event),
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(link) => self.begin(link),
                    Err(error) => self.app.note(format!("a connection was refused: {}", error.cause)),
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                let _ = self.socket.send_to(&answer[..transmit.size], transmit.destination);
            }
            None => {}
        }
    }

    /// Handles an event of this end's connection; events of earlier connections are ignored.
    fn handle_of(&mut self, of: ConnectionHandle, event: ConnectionEvent) {
        if let Some((handle, connection)) = &mut self.link
            && *handle == of
        {
            connection.handle_event(event);
        }
    }

    /// Begins a connection, in place of the previous one.
    fn begin(&mut self, link: (ConnectionHandle, Connection)) {
        let (Transfer::Send { bytes, .. } | Transfer::Receive { bytes }) = *self.transfer;
        (self.link, self.stream, self.left) = (Some(link), None, bytes);
        (self.received, self.stood, self.over) = (0, false, false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    /// A transfer of known size arrives completely in both directions, which ends the client.
    #[test]
    fn a_transfer_arrives_whole() {
        const BYTES: u64 = 3_000_000;
        let send = || Transfer::Send { bytes: Some(BYTES), congestion_control: Some("cubic".to_owned()) };
        let receive = || Transfer::Receive { bytes: Some(BYTES) };
        for (theirs, ours) in [(receive(), send()), (send(), receive())] {
            let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).expect("a certificate");
            let certificate = made.cert.der().to_vec();
            let identity = Identity { certificate: certificate.clone(), key: made.signing_key.serialize_der() };
            let any = "127.0.0.1:0".parse().expect("an address");
            let (socket, config) = listen(any, identity, &theirs, 0).expect("loopback");
            let address = socket.local_addr().expect("bound");
            let [server, client] = [0, 1].map(|number| Arc::new(App::new(number, 0, Arc::default())));
            let serving = {
                let (server, theirs) = (Arc::clone(&server), theirs.clone());
                thread::spawn(move || serve(&server, socket, config, &theirs))
            };
            run_client(&client, address, certificate, &ours, Times { start_ns: 0, stop_ns: u64::MAX });
            server.stop();
            serving.join().expect("no panic");
            let received = [&server, &client].map(|app| app.received.load(Ordering::Relaxed));
            assert_eq!(received.iter().sum::<u64>(), BYTES);
            let sender = if matches!(ours, Transfer::Send { .. }) { &client } else { &server };
            assert!(sender.sample().is_some_and(|sample| sample.cwnd_segments > 0 && sample.srtt_us > 0));
        }
    }

    #[test]
    fn another_certificate_is_not_trusted() {
        let [mine, other] =
            [0, 1].map(|_| rcgen::generate_simple_self_signed([NAME.to_owned()]).expect("a certificate"));
        let transfer = Transfer::Receive { bytes: None };
        let identity = Identity { certificate: mine.cert.der().to_vec(), key: mine.signing_key.serialize_der() };
        let (socket, config) =
            listen("127.0.0.1:0".parse().expect("an address"), identity, &transfer, 0).expect("loopback");
        let address = socket.local_addr().expect("bound");
        let [server, client] = [0, 1].map(|number| Arc::new(App::new(number, 0, Arc::default())));
        let serving = {
            let server = Arc::clone(&server);
            thread::spawn(move || serve(&server, socket, config, &Transfer::Receive { bytes: None }))
        };
        let send = Transfer::Send { bytes: None, congestion_control: None };
        let config = client_config(other.cert.der().to_vec(), &send).expect("sound");
        assert_eq!(connect(&client, address, config, &send), Ok(false));
        server.stop();
        serving.join().expect("no panic");
    }

    #[test]
    fn an_unknown_congestion_control_is_refused() {
        let error = congestion_control("vegas").err().expect("quinn has none");
        assert!(error.contains("vegas") && error.contains("cubic"), "{error}");
        assert!(CONGESTION_CONTROLS.iter().all(|name| congestion_control(name).is_ok()));
    }
}
