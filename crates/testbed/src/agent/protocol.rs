//! The protocol between the testbed and a host's agent: one JSON object per line, over pipes.
//!
//! It uses pipes because the hosts have no network except the one under test. All times are nanoseconds of the machine's
//! monotonic clock, which all processes share.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use evenair_workload::voice::{BaresipCodec, Heard, VoipSpec};
use evenair_workload::{DatagramSpec, Distribution, FlowSpec, OnOffSpec};
use serde::{Deserialize, Serialize};

/// From the testbed to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// One part of an application. Servers listen before they answer [`Report::Prepared`]; nothing moves yet.
    Prepare(Box<Part>),
    /// The run begins.
    Begin {
        /// Its start.
        origin_ns: u64,
        /// Samples are taken at multiples of this after the start.
        interval_ns: u64,
    },
}

/// One host's part of an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The application's number in the scenario.
    pub app: usize,
    /// After the start of the run.
    pub start_ns: u64,
    /// After the start of the run.
    pub stop_ns: u64,
    /// Differentiated services code point of what it sends.
    pub dscp: u8,
    /// What to do.
    pub task: Task,
}

/// What one host does for an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Accepts TCP connections and sends or discards.
    BulkServer {
        /// Where it listens.
        listen: SocketAddr,
        /// What it does with a connection.
        transfer: Transfer,
    },
    /// Opens one TCP connection, repeating until one is established, and sends or discards.
    BulkClient {
        /// The server.
        server: SocketAddr,
        /// What it does with the connection.
        transfer: Transfer,
    },
    /// Accepts connections over QUIC and sends or discards.
    QuicServer {
        /// Where it listens.
        listen: SocketAddr,
        /// What it does with a connection.
        transfer: Transfer,
        /// X.509, DER.
        certificate: Vec<u8>,
        /// Its private key, PKCS #8, DER.
        key: Vec<u8>,
    },
    /// Opens one connection over QUIC, repeating until one is established, and sends or discards.
    QuicClient {
        /// The server.
        server: SocketAddr,
        /// What it does with the connection.
        transfer: Transfer,
        /// That of the server, the only one that is trusted.
        certificate: Vec<u8>,
    },
    /// Sends datagrams.
    UdpSender {
        /// Where from.
        local: SocketAddr,
        /// Where to.
        remote: SocketAddr,
        /// Which, and when.
        spec: DatagramSpec,
        /// Seed of its draws.
        seed: u64,
    },
    /// Speaks: one direction of a call.
    Speaker {
        /// Where from.
        local: SocketAddr,
        /// Where to.
        remote: SocketAddr,
        /// Which packets, and when.
        spec: VoipSpec,
        /// Seed of its draws.
        seed: u64,
    },
    /// Listens, and judges what it hears.
    Listener {
        /// Where it listens.
        local: SocketAddr,
        /// To what.
        call: Call,
    },
    /// Runs baresip and lets it answer.
    AnswerCalls {
        /// The telephone.
        telephone: Telephone,
    },
    /// Runs baresip and lets it call.
    Call {
        /// The telephone.
        telephone: Telephone,
    },
    /// Takes or sends the transfers that a station opens.
    TransferServer {
        /// Where it listens.
        listen: SocketAddr,
        /// The station sends.
        up: bool,
        /// Congestion control of what it sends.
        congestion_control: String,
    },
    /// Opens transfers as they arrive.
    FlowClient {
        /// The server.
        server: SocketAddr,
        /// The station sends.
        up: bool,
        /// Congestion control of what it sends.
        congestion_control: String,
        /// Arrivals.
        spec: FlowSpec,
        /// Seed of the draws.
        seed: u64,
    },
    /// One transfer after another.
    FileClient {
        /// The server.
        server: SocketAddr,
        /// The station sends.
        up: bool,
        /// Congestion control of what it sends.
        congestion_control: String,
        /// Files and pauses.
        spec: OnOffSpec,
        /// Seed of the draws.
        seed: u64,
    },
    /// Counts datagrams.
    UdpReceiver {
        /// Where it listens.
        local: SocketAddr,
    },
    /// Counts datagrams to a group.
    GroupReceiver {
        /// The group.
        group: Ipv4Addr,
        /// The port that they go to.
        port: u16,
        /// Address of the interface at which it listens.
        interface: Ipv4Addr,
    },
    /// Sends datagrams back.
    EchoServer {
        /// Where it listens.
        listen: SocketAddr,
    },
    /// Sends a small datagram at regular times and measures when it comes back.
    Pinger {
        /// The echo server.
        server: SocketAddr,
        /// Time between two.
        interval_ns: u64,
    },
    /// Serves objects of any size: `GET /SIZE`.
    WebServer {
        /// Where it listens.
        listen: SocketAddr,
        /// Congestion control of its answers.
        congestion_control: String,
    },
    /// Reads pages.
    WebReader {
        /// The server.
        server: SocketAddr,
        /// Fewest and most further objects of a page.
        objects: (u32, u32),
        /// Bytes of an object.
        size: Distribution,
        /// Pause after a page.
        think_ns: u64,
        /// Seed of its draws.
        seed: u64,
    },
    /// Runs `iperf3 --server`.
    Iperf3Server {
        /// Where it listens.
        listen: SocketAddr,
    },
    /// Runs `iperf3 --client`.
    Iperf3Client {
        /// Where from.
        local: IpAddr,
        /// The server.
        server: SocketAddr,
        /// Client port of the data connection, by which routing distinguishes it from the control connection.
        data_port: u16,
        /// The server sends.
        reverse: bool,
        /// How much to send; until stopped where absent.
        bytes: Option<u64>,
        /// Congestion control of the sender, where it is not the host's.
        congestion_control: Option<String>,
    },
}

/// One direction of a call as its listener knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// What is sent, and how it is heard.
    pub spec: VoipSpec,
    /// Starts and ends of the scenario's phases, nanoseconds after the start of the run.
    pub phases: Vec<(u64, u64)>,
    /// The call's own start and end, the same.
    pub lasts: (u64, u64),
    /// Seed of the speaker's draws.
    pub seed: u64,
}

/// A telephone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Telephone {
    /// Address and port of its SIP.
    pub sip: SocketAddr,
    /// Port of its RTP, an even number.
    pub rtp_port: u16,
    /// What it speaks.
    pub codec: BaresipCodec,
    /// Whom it calls; otherwise it waits to be called.
    pub calls: Option<SocketAddr>,
}

/// Which way a bulk connection is used by the one who has this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transfer {
    /// It sends.
    Send {
        /// How much; until stopped where absent.
        bytes: Option<u64>,
        /// Congestion control, where it is not the host's.
        congestion_control: Option<String>,
    },
    /// It reads and discards.
    Receive {
        /// How much will come; without end where absent.
        bytes: Option<u64>,
    },
}

/// From an agent to the testbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The part is ready.
    Prepared {
        /// The application.
        app: usize,
    },
    /// Counts of one application at the end of an interval.
    Sample {
        /// The application.
        app: usize,
        /// Number of the interval, from zero.
        index: u64,
        /// Bytes received since the start.
        received_bytes: u64,
        /// The connection, on the host that sends.
        tcp: Option<TcpSample>,
    },
    /// An echo came back.
    Echo {
        /// The application.
        app: usize,
        /// When it came.
        at_ns: u64,
        /// How long it took.
        rtt_us: u64,
    },
    /// A page was read.
    Page {
        /// The application.
        app: usize,
        /// When it began.
        began_ns: u64,
        /// How long it took.
        took_us: u64,
        /// Objects, the main one included.
        objects: u32,
        /// Their bytes.
        bytes: u64,
    },
    /// A transfer begins: its connection is about to be opened, or what it sends to be written.
    TransferBegan {
        /// The application.
        app: usize,
        /// Number of the transfer at its application.
        id: u64,
        /// When.
        at_ns: u64,
        /// Its size.
        bytes: u64,
    },
    /// Its receiver has the last byte.
    TransferDone {
        /// The application.
        app: usize,
        /// Number of the transfer.
        id: u64,
        /// When.
        at_ns: u64,
    },
    /// It came to nothing.
    TransferFailed {
        /// The application.
        app: usize,
        /// Number of the transfer.
        id: u64,
    },
    /// It did not begin: too many were under way.
    TransferRefused {
        /// The application.
        app: usize,
    },
    /// What was heard of a call so far, by the number of the phase.
    Call {
        /// The application.
        app: usize,
        /// Phases in which anything was sent.
        heard: Vec<(usize, Heard)>,
    },
    /// Something worth a line in the log, such as a connection that could not be made.
    Note {
        /// The application.
        app: usize,
        /// What happened.
        text: String,
    },
    /// A part cannot be done at all.
    Failed {
        /// The application.
        app: usize,
        /// Why.
        error: String,
    },
}

/// The sending side of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpSample {
    /// Congestion window.
    pub cwnd_segments: u32,
    /// Smoothed round-trip time.
    pub srtt_us: u32,
    /// Segments retransmitted since the connection began.
    pub retransmits: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_a_line_of_json() {
        let part = Part {
            app: 3,
            start_ns: 1,
            stop_ns: u64::MAX,
            dscp: 46,
            task: Task::BulkClient {
                server: "[fdea::1]:20003".parse().expect("an address"),
                transfer: Transfer::Send { bytes: None, congestion_control: Some("reno".into()) },
            },
        };
        let request = Request::Prepare(Box::new(part));
        let line = serde_json::to_string(&request).expect("serialises");
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<Request>(&line).expect("parses"), request);
        let report = Report::Sample { app: 3, index: 7, received_bytes: 1 << 60, tcp: Some(TcpSample::default()) };
        let line = serde_json::to_string(&report).expect("serialises");
        assert_eq!(serde_json::from_str::<Report>(&line).expect("parses"), report);
    }
}
