//! SNMP requests with bounds on time, on rows, and against agents whose tables loop.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use snmp2::v3::{Auth, AuthProtocol, Cipher, KeyExtension, Security};
use snmp2::{Oid, SyncSession, Value};

use crate::source::{MOST_STATIONS, TelemetryError};

/// Rows per GetBulk request: a response of this size fits into one Ethernet frame.
const AT_ONCE: u32 = 20;
/// Number of attempts per request: the network may lose one.
const TRIES: u32 = 2;
/// Error status, as in version 1, of an agent without further objects (RFC 3416, 3).
const NO_SUCH_NAME: u32 = 2;

/// SNMP version and credentials.
#[derive(Clone, PartialEq, Eq)]
pub enum Version {
    /// SNMP v2c, with this community.
    V2c {
        /// The community.
        community: String,
    },
    /// SNMP v3 with the user-based security model (RFC 3414).
    V3 {
        /// The user.
        user: String,
        /// Hash and password of the authentication.
        authentication: Option<(Hash, String)>,
        /// Cipher and password of the encryption.
        privacy: Option<(Encryption, String)>,
    },
}

/// Hash for authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Hash {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// A cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Encryption {
    Des,
    Aes128,
    Aes192,
    Aes256,
}

impl fmt::Debug for Version {
    /// Without the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V2c { .. } => f.write_str("v2c"),
            Self::V3 { user, .. } => write!(f, "v3 as {user}"),
        }
    }
}

/// A value of a supported type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Object {
    Number(i64),
    Octets(Vec<u8>),
    Address([u8; 4]),
    Name(Vec<u64>),
    Other,
}

/// An open session with an agent.
pub(super) struct Session {
    inner: Box<SyncSession>,
    timeout: Duration,
    /// Deadline of the current poll.
    deadline: Instant,
    /// Whether a request timed out: no further ones are sent, because a late response would be taken for that
    /// of another request.
    pub(super) is_lost: bool,
}

/// The objects below a name, by the rest of their names.
pub(super) struct Walk {
    /// The objects that were read.
    pub(super) rows: Vec<(Vec<u64>, Object)>,
    /// Whether malformed objects were skipped.
    pub(super) has_malformed: bool,
    /// Why objects may be missing, or are unreliable.
    pub(super) problem: Option<TelemetryError>,
}

/// A response to GetBulk.
#[derive(Default)]
struct Bulk {
    rows: Vec<BulkRow>,
    /// Error status of the agent (RFC 3416).
    error: u32,
}

struct BulkRow {
    name: Vec<u64>,
    /// The value; `None`: there is no object.
    value: Option<Object>,
    /// Whether the preceding object is malformed.
    is_behind_malformed: bool,
}

impl Session {
    pub(super) fn open(address: &str, version: &Version, timeout: Duration) -> Result<Self, TelemetryError> {
        let target = resolve(address)?;
        let fail = TelemetryError::io(format!("open a socket to {address}"));
        let number = first_number();
        let inner = match version {
            Version::V2c { community } => {
                SyncSession::new_v2c(target, community.as_bytes(), Some(timeout), number).map_err(fail)?
            }
            Version::V3 { .. } => {
                let security = security(version).expect("of version 3");
                SyncSession::new_v3(target, Some(timeout), number, security).map_err(fail)?
            }
        };
        let mut this = Self { inner: Box::new(inner), timeout, deadline: Instant::now(), is_lost: false };
        if matches!(version, Version::V3 { .. }) {
            // Discovers the agent's engine id and time.
            this.retry(|session| session.init())?;
        }
        Ok(this)
    }

    /// Begins a poll with this time limit.
    pub(super) fn begin(&mut self, span: Duration) {
        self.deadline = Instant::now() + span;
    }

    /// One object; `None` if the agent does not have it.
    pub(super) fn get(&mut self, name: &[u64]) -> Result<Option<Object>, TelemetryError> {
        let name = oid(name)?;
        let mut found = None;
        self.retry(|session| {
            let answer = session.get(&name)?;
            found = answer.varbinds.clone().next().and_then(|(_, value)| object(&value));
            Ok(())
        })?;
        Ok(found)
    }

    /// All objects below a name. Accepts rows out of order, unless one is repeated.
    pub(super) fn walk(&mut self, root: &[u64]) -> Walk {
        let mut walk = Walk { rows: Vec::new(), has_malformed: false, problem: None };
        walk.problem = self.walk_into(root, &mut walk).err();
        walk
    }

    fn walk_into(&mut self, root: &[u64], walk: &mut Walk) -> Result<(), TelemetryError> {
        let mut seen: BTreeSet<Vec<u64>> = BTreeSet::new();
        let mut last = root.to_vec();
        let mut is_ordered = true;
        let ordered = |is_ordered| match is_ordered {
            true => Ok(()),
            false => Err(TelemetryError::nonsense("its rows are not in ascending order")),
        };
        loop {
            let Bulk { rows, error } = self.bulk(&last)?;
            match error {
                0 if rows.is_empty() => return Err(TelemetryError::nonsense("it is cut short")),
                0 => {}
                NO_SUCH_NAME => return ordered(is_ordered),
                error => return Err(TelemetryError::Refused(format!("error {error} of RFC 3416"))),
            }
            for BulkRow { name, value, is_behind_malformed } in rows {
                let (Some(index), Some(value)) = (name.strip_prefix(root), value) else { return ordered(is_ordered) };
                if !seen.insert(index.to_vec()) {
                    return Err(TelemetryError::nonsense("its rows are not in ascending order, and lead in circles"));
                }
                if walk.rows.len() >= MOST_STATIONS {
                    return Err(TelemetryError::nonsense(format!("it has more than {MOST_STATIONS} rows")));
                }
                is_ordered &= name > last;
                walk.has_malformed |= is_behind_malformed;
                walk.rows.push((index.to_vec(), value));
                last = name;
            }
        }
    }

    /// Whether there are objects below a name.
    pub(super) fn has(&mut self, root: &[u64]) -> Result<bool, TelemetryError> {
        Ok(self.bulk(root)?.rows.first().is_some_and(|row| row.name.starts_with(root) && row.value.is_some()))
    }

    /// The objects after a name.
    fn bulk(&mut self, after: &[u64]) -> Result<Bulk, TelemetryError> {
        let after = oid(after)?;
        let mut bulk = Bulk::default();
        self.retry(|session| {
            let answer = session.getbulk(&[&after], 0, AT_ONCE)?;
            bulk = Bulk { error: answer.error_status, ..Bulk::default() };
            let mut objects = answer.varbinds.clone();
            let mut is_behind_malformed = false;
            // The iterator yields nothing at a malformed object, and continues after it.
            for _ in 0..AT_ONCE {
                let row = objects.next().and_then(|(name, value)| Some((numbers(&name)?, object(&value))));
                let is_malformed = row.is_none();
                bulk.rows.extend(row.map(|(name, value)| BulkRow { name, value, is_behind_malformed }));
                is_behind_malformed = is_malformed;
            }
            Ok(())
        })?;
        Ok(bulk)
    }

    /// Sends a request, with retries. An SNMPv3 agent whose clock has moved reports that, and is asked again,
    /// too.
    fn retry(
        &mut self,
        mut ask: impl FnMut(&mut SyncSession) -> Result<(), snmp2::Error>,
    ) -> Result<(), TelemetryError> {
        let mut outcome = Err(snmp2::Error::Receive);
        if self.is_lost {
            return Err(TelemetryError::Silent(self.timeout));
        }
        for attempt in 0..TRIES + 2 {
            if attempt > 0 && Instant::now() >= self.deadline + self.timeout {
                break;
            }
            outcome = ask(&mut self.inner);
            match &outcome {
                Err(snmp2::Error::AuthUpdated | snmp2::Error::RequestIdMismatch) => {}
                Err(snmp2::Error::Receive) if attempt + 1 < TRIES => {}
                _ => break,
            }
        }
        self.is_lost = matches!(outcome, Err(snmp2::Error::Receive | snmp2::Error::Send));
        outcome.map_err(|error| match error {
            snmp2::Error::Receive | snmp2::Error::Send => TelemetryError::Silent(self.timeout),
            snmp2::Error::AuthFailure(why) => TelemetryError::Refused(format!("{why}: user or passwords")),
            snmp2::Error::CommunityMismatch => TelemetryError::Refused("another community".into()),
            other => TelemetryError::nonsense(other),
        })
    }
}

/// A random first request id, which another program's responses do not match.
fn first_number() -> i32 {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    clock.map_or(1, |since| (since.subsec_nanos() ^ std::process::id()) as i32 & 0x3fff_ffff)
}

fn resolve(address: &str) -> Result<SocketAddr, TelemetryError> {
    let mut found = address.to_socket_addrs().map_err(TelemetryError::io(format!("look up {address}")))?;
    let none = || io::Error::new(io::ErrorKind::NotFound, "no address");
    found.next().ok_or_else(|| TelemetryError::io(format!("look up {address}"))(none()))
}

fn security(version: &Version) -> Option<Security> {
    let Version::V3 { user, authentication, privacy } = version else { return None };
    let password = authentication.as_ref().map_or("", |(_, password)| password.as_str());
    let mut security = Security::new(user.as_bytes(), password.as_bytes());
    if let Some((hash, _)) = authentication {
        security = security.with_auth_protocol(match hash {
            Hash::Md5 => AuthProtocol::Md5,
            Hash::Sha1 => AuthProtocol::Sha1,
            Hash::Sha224 => AuthProtocol::Sha224,
            Hash::Sha256 => AuthProtocol::Sha256,
            Hash::Sha384 => AuthProtocol::Sha384,
            Hash::Sha512 => AuthProtocol::Sha512,
        });
    }
    Some(match (authentication, privacy) {
        (None, _) => security.with_auth(Auth::NoAuthNoPriv),
        (Some(_), None) => security.with_auth(Auth::AuthNoPriv),
        (Some(_), Some((cipher, password))) => {
            let cipher = match cipher {
                Encryption::Des => Cipher::Des,
                Encryption::Aes128 => Cipher::Aes128,
                Encryption::Aes192 => Cipher::Aes192,
                Encryption::Aes256 => Cipher::Aes256,
            };
            let auth = Auth::AuthPriv { cipher, privacy_password: password.as_bytes().to_vec() };
            // If the key is shorter than the cipher's: extended as in net-snmp.
            security.with_auth(auth).with_key_extension_method(KeyExtension::Blumenthal)
        }
    })
}

fn oid(numbers: &[u64]) -> Result<Oid<'static>, TelemetryError> {
    Oid::from(numbers).map_err(|_| TelemetryError::nonsense("a name that is none"))
}

fn numbers(oid: &Oid<'_>) -> Option<Vec<u64>> {
    Some(oid.iter()?.collect())
}

/// `None`: there is no object.
fn object(value: &Value<'_>) -> Option<Object> {
    Some(match value {
        Value::EndOfMibView | Value::NoSuchObject | Value::NoSuchInstance => return None,
        Value::Integer(number) => Object::Number(*number),
        Value::Counter32(number) | Value::Unsigned32(number) | Value::Timeticks(number) => {
            Object::Number((*number).into())
        }
        Value::Counter64(number) => Object::Number(i64::try_from(*number).unwrap_or(i64::MAX)),
        Value::OctetString(octets) => Object::Octets(octets.to_vec()),
        Value::IpAddress(octets) => Object::Address(*octets),
        Value::ObjectIdentifier(name) => Object::Name(numbers(name)?),
        _ => Object::Other,
    })
}
