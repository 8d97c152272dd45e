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
    /// Prepare one part of an application. Servers listen before they answer [`Report::Prepared`]; no traffic flows yet.
    Prepare(Box<Part>),
    /// The run begins.
    Begin {
        /// Start of the run.
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
    /// Start, after that of the run.
    pub start_ns: u64,
    /// End, after the start of the run.
    pub stop_ns: u64,
    /// DSCP of its packets.
    pub dscp: u8,
    /// What to do.
    pub task: Task,
}

/// What one host does for an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Accepts TCP connections and sends or discards data.
    BulkServer {
        /// Where it listens.
        listen: SocketAddr,
        /// Direction and size of the transfer.
        transfer: Transfer,
    },
    /// Opens one TCP connection, repeating until one is established, and sends or discards data.
    BulkClient {
        /// The server.
        server: SocketAddr,
        /// Direction and size of the transfer.
        transfer: Transfer,
    },
    /// Accepts connections over QUIC and sends or discards data.
    QuicServer {
        /// Where it listens.
        listen: SocketAddr,
        /// Direction and size of the transfer.
        transfer: Transfer,
        /// X.509 certificate, DER.
        certificate: Vec<u8>,
        /// Its private key, PKCS #8, DER.
        key: Vec<u8>,
    },
    /// Opens one connection over QUIC, repeating until one is established, and sends or discards data.
    QuicClient {
        /// The server.
        server: SocketAddr,
        /// Direction and size of the transfer.
        transfer: Transfer,
        /// Certificate of the server, the only one that is trusted.
        certificate: Vec<u8>,
    },
    /// Sends datagrams.
    UdpSender {
        /// Source address.
        local: SocketAddr,
        /// Destination address.
        remote: SocketAddr,
        /// Sizes and times of the datagrams.
        spec: DatagramSpec,
        /// Seed of the random draws.
        seed: u64,
    },
    /// Sends one direction of a call.
    Speaker {
        /// Source address.
        local: SocketAddr,
        /// Destination address.
        remote: SocketAddr,
        /// Packets of the call and their times.
        spec: VoipSpec,
        /// Seed of the random draws.
        seed: u64,
    },
    /// Receives one direction of a call and measures its quality.
    Listener {
        /// Where it listens.
        local: SocketAddr,
        /// The call it expects.
        call: Call,
    },
    /// Runs baresip and answers calls.
    AnswerCalls {
        /// The telephone.
        telephone: Telephone,
    },
    /// Runs baresip and calls.
    Call {
        /// The telephone.
        telephone: Telephone,
    },
    /// Receives or sends the transfers that a station opens.
    TransferServer {
        /// Where it listens.
        listen: SocketAddr,
        /// Upload: the station sends.
        up: bool,
        /// Congestion control of its connections.
        congestion_control: String,
    },
    /// Opens transfers as they arrive.
    FlowClient {
        /// The server.
        server: SocketAddr,
        /// Upload: the station sends.
        up: bool,
        /// Congestion control of its connections.
        congestion_control: String,
        /// Arrivals.
        spec: FlowSpec,
        /// Seed of the draws.
        seed: u64,
    },
    /// Opens one transfer after another.
    FileClient {
        /// The server.
        server: SocketAddr,
        /// Upload: the station sends.
        up: bool,
        /// Congestion control of its connections.
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
    /// Counts datagrams to a multicast group.
    GroupReceiver {
        /// The group.
        group: Ipv4Addr,
        /// Destination port.
        port: u16,
        /// Address of the interface at which it listens.
        interface: Ipv4Addr,
    },
    /// Sends datagrams back.
    EchoServer {
        /// Where it listens.
        listen: SocketAddr,
    },
    /// Sends a small datagram at regular intervals and measures its round-trip time.
    Pinger {
        /// The echo server.
        server: SocketAddr,
        /// Time between two datagrams.
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
        /// Minimum and maximum number of further objects of a page.
        objects: (u32, u32),
        /// Bytes of an object.
        size: Distribution,
        /// Pause after a page.
        think_ns: u64,
        /// Seed of the random draws.
        seed: u64,
    },
    /// Runs `iperf3 --server`.
    Iperf3Server {
        /// Where it listens.
        listen: SocketAddr,
    },
    /// Runs `iperf3 --client`.
    Iperf3Client {
        /// Source address.
        local: IpAddr,
        /// The server.
        server: SocketAddr,
        /// Client port of the data connection, by which routing distinguishes it from the control connection.
        data_port: u16,
        /// Reverse mode: the server sends.
        reverse: bool,
        /// Bytes to send; until stopped if absent.
        bytes: Option<u64>,
        /// Congestion control of the sender, if it is not the host's.
        congestion_control: Option<String>,
    },
}

/// One direction of a call, as configured for its listener.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Packets and parameters of the quality.
    pub spec: VoipSpec,
    /// Starts and ends of the scenario's phases, nanoseconds after the start of the run.
    pub phases: Vec<(u64, u64)>,
    /// Start and end of the call, in the same unit.
    pub lasts: (u64, u64),
    /// Seed of the speaker's random draws.
    pub seed: u64,
}

/// A baresip instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Telephone {
    /// SIP address and port.
    pub sip: SocketAddr,
    /// Port of its RTP, an even number.
    pub rtp_port: u16,
    /// Codec.
    pub codec: BaresipCodec,
    /// SIP address that it calls; `None`: it waits for a call.
    pub calls: Option<SocketAddr>,
}

/// Use of a bulk connection by one of its ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transfer {
    /// Sends data.
    Send {
        /// Bytes to send; until stopped if absent.
        bytes: Option<u64>,
        /// Congestion control, if it is not the host's.
        congestion_control: Option<String>,
    },
    /// Reads and discards data.
    Receive {
        /// Expected bytes; endless if absent.
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
        /// State of the connection, on the host that sends.
        tcp: Option<TcpSample>,
    },
    /// An echo came back.
    Echo {
        /// The application.
        app: usize,
        /// Time of arrival.
        at_ns: u64,
        /// Round-trip time.
        rtt_us: u64,
    },
    /// A page was read.
    Page {
        /// The application.
        app: usize,
        /// Time at which the page began.
        began_ns: u64,
        /// Duration.
        took_us: u64,
        /// Objects, the main one included.
        objects: u32,
        /// Bytes of all objects.
        bytes: u64,
    },
    /// A transfer begins: its connection is about to be opened, or its data to be written.
    TransferBegan {
        /// The application.
        app: usize,
        /// Number of the transfer in its application.
        id: u64,
        /// Time of the start.
        at_ns: u64,
        /// Size of the transfer.
        bytes: u64,
    },
    /// The receiver of a transfer has the last byte.
    TransferDone {
        /// The application.
        app: usize,
        /// Number of the transfer.
        id: u64,
        /// Time of completion.
        at_ns: u64,
    },
    /// A transfer failed.
    TransferFailed {
        /// The application.
        app: usize,
        /// Number of the transfer.
        id: u64,
    },
    /// A transfer was refused: too many were in progress.
    TransferRefused {
        /// The application.
        app: usize,
    },
    /// Reception of a call so far, by phase.
    Call {
        /// The application.
        app: usize,
        /// Statistics of the phases in which packets were sent, with their numbers.
        heard: Vec<(usize, Heard)>,
    },
    /// A message for the log, such as a failed connection.
    Note {
        /// The application.
        app: usize,
        /// The message.
        text: String,
    },
    /// A part failed entirely.
    Failed {
        /// The application.
        app: usize,
        /// The error.
        error: String,
    },
}

/// The sending side of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpSample {
    /// Congestion window, in segments.
    pub cwnd_segments: u32,
    /// Smoothed round-trip time, in microseconds.
    pub srtt_us: u32,
    /// Segments retransmitted since the connection began.
    pub retransmits: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_back_from_a_line_of_json() {
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
