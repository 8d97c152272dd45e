//! An SNMP agent whose responses are made from arbitrary bytes: whole datagrams, lists of objects in a valid message, or rows
//! below the requested name.
//!
//! `fuzz/fuzz_targets/snmp.rs` polls it with bytes from libFuzzer.

use std::cell::RefCell;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use evenair_telemetry::snmp::{Agent, Version, tables};
use evenair_telemetry::{Reading, Source, TelemetryError};

/// The community of all agents here.
pub const COMMUNITY: &str = "readers";
/// Responses come at once; an agent without any left is silent for as long.
const TIMEOUT: Duration = Duration::from_millis(20);

/// Tags of the basic encoding rules (X.690) and of SNMP (RFC 3416).
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const NAME: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const RESPONSE: u8 = 0xa2;

/// An agent on loopback, with the bytes for its responses.
struct Answering {
    address: SocketAddr,
    left: Arc<Mutex<Vec<u8>>>,
}

thread_local! {
    static AGENT: RefCell<Option<Answering>> = const { RefCell::new(None) };
}

/// Polls an agent that responds from these bytes. The first one selects the vendor's table.
///
/// # Errors
/// As for any agent with malformed responses.
pub fn poll(bytes: &[u8]) -> Result<Reading, TelemetryError> {
    AGENT.with_borrow_mut(|agent| {
        let agent = agent.get_or_insert_with(start);
        let (which, answers) = bytes.split_first().map_or((0, bytes), |(which, rest)| (usize::from(*which), rest));
        *agent.left.lock().unwrap_or_else(PoisonError::into_inner) = answers.to_vec();
        let table = tables::TABLES.get(which % (tables::TABLES.len() + 1));
        let version = Version::V2c { community: COMMUNITY.into() };
        // Not by `poll_once`, which would hide a panic.
        Agent::new(&agent.address.to_string(), version, table, TIMEOUT).poll()
    })
}

fn start() -> Answering {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address");
    let left: Arc<Mutex<Vec<u8>>> = Arc::default();
    let answers = Arc::clone(&left);
    thread::spawn(move || {
        let mut question = [0; 2_000];
        while let Ok((len, from)) = socket.recv_from(&mut question) {
            let answer = answer(&question[..len], &mut answers.lock().unwrap_or_else(PoisonError::into_inner));
            let _ = socket.send_to(&answer, from);
        }
    });
    Answering { address, left }
}

/// The next response. An agent without bytes left reports the end of its objects.
fn answer(question: &[u8], left: &mut Vec<u8>) -> Vec<u8> {
    let (Some(number), Some(asked)) = (request_number(question), name_asked(question)) else { return Vec::new() };
    let mut take = |most: usize| left.drain(..most.min(left.len())).collect::<Vec<u8>>();
    let Some(kind) = take(1).first().copied() else {
        return message(&number, &row(&asked, 0x82, &[]));
    };
    let len = take(1).first().copied().unwrap_or(0).into();
    match kind % 8 {
        0 => take(len),
        1 => message(&number, &take(len)),
        _ => {
            let rows = (0..1 + kind / 8 % 4).flat_map(|_| {
                let more = take(1 + len % 12);
                let (tag, size) = (take(1).first().copied().unwrap_or(5), take(1).first().copied().unwrap_or(0) % 16);
                let tag = [INTEGER, OCTETS, 0x41, 0x42, 0x46, 0x40, NAME, tag][usize::from(tag) % 8];
                row(&[&asked[..], &more].concat(), tag, &take(size.into()))
            });
            message(&number, &rows.collect::<Vec<_>>())
        }
    }
}

/// A value with its tag and length.
pub fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = content.len();
    let head = match len {
        0..0x80 => vec![tag, len as u8],
        _ => vec![tag, 0x82, (len >> 8) as u8, len as u8],
    };
    [head, content.to_vec()].concat()
}

/// An object with its name.
pub fn row(name: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
    tagged(SEQUENCE, &[tagged(NAME, name), tagged(tag, value)].concat())
}

/// A complete response with these objects.
pub fn message(number: &[u8], rows: &[u8]) -> Vec<u8> {
    let zero = tagged(INTEGER, &[0]);
    let pdu = [tagged(INTEGER, number), zero.clone(), zero, tagged(SEQUENCE, rows)].concat();
    let parts = [tagged(INTEGER, &[1]), tagged(OCTETS, COMMUNITY.as_bytes()), tagged(RESPONSE, &pdu)];
    tagged(SEQUENCE, &parts.concat())
}

/// The value at the beginning of some bytes, with a length of one byte or three, and the rest.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, head) = match *bytes.get(1)? {
        0x81 => (usize::from(*bytes.get(2)?), 3),
        0x82 => (usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?])), 4),
        len => (usize::from(len), 2),
    };
    Some((bytes.get(head..head + len)?, bytes.get(head + len..)?))
}

/// The request's PDU with its tag.
pub fn behind_community(question: &[u8]) -> Option<&[u8]> {
    let (message, _) = split(question)?;
    let (_, behind_version) = split(message)?;
    Some(split(behind_version)?.1)
}

/// The request's PDU: request id, and the rest.
fn pdu(question: &[u8]) -> Option<(&[u8], &[u8])> {
    split(split(behind_community(question)?)?.0)
}

/// The id of a request.
pub fn request_number(question: &[u8]) -> Option<Vec<u8>> {
    Some(pdu(question)?.0.to_vec())
}

/// The name in a request.
pub fn name_asked(question: &[u8]) -> Option<Vec<u8>> {
    let (_, behind_number) = pdu(question)?;
    let (_, behind_first) = split(behind_number)?;
    let (_, behind_second) = split(behind_first)?;
    let (objects, _) = split(behind_second)?;
    let (object, _) = split(objects)?;
    Some(split(object)?.0.to_vec())
}
