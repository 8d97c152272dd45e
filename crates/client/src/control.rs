//! Client of the control socket.

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use evenair_api::{Json, NamedStation, Request, Response, StationName, Status};
use evenair_packet::MacAddr;
use evenair_units::BitRate;

/// Kinds of errors with which a closed connection shows.
const HUNG_UP: [io::ErrorKind; 3] =
    [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset, io::ErrorKind::UnexpectedEof];

/// Names per request: with 64 characters of four bytes each they are 40 kB, and a request has at most 64 KiB.
const NAMES_OF_REQUEST: usize = 128;

/// A connection to a running box.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    path: PathBuf,
    /// Whether a request was answered on this connection.
    answered: bool,
}

/// Why a request failed.
#[derive(Debug)]
pub enum ClientError {
    /// The box cannot be reached.
    Io {
        /// The control socket.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The box refused, with its reason.
    Refused(String),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => {
                write!(f, "control socket {}: {source} (is the box running?)", path.display())
            }
            Self::Refused(why) => write!(f, "the box refused: {why}"),
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Refused(_) => None,
        }
    }
}

impl Client {
    /// Connects to the box whose control socket is at `path`.
    ///
    /// # Errors
    /// Nothing listens there.
    pub fn connect(path: impl AsRef<Path>) -> Result<Self, ClientError> {
        let path = path.as_ref().to_owned();
        match UnixStream::connect(&path) {
            Ok(stream) => Ok(Self { stream: BufReader::new(stream), path, answered: false }),
            Err(source) => Err(ClientError::Io { path, source }),
        }
    }

    /// Starts managing.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn insert(&mut self) -> Result<(), ClientError> {
        self.ask(&Request::Insert).map(drop)
    }

    /// Stops managing. Returns when the queues have drained and the bridge carries the traffic.
    ///
    /// # Errors
    /// As [`Self::ask`]; also if the box was inserted again meanwhile, or the bridge cannot carry the traffic.
    pub fn bypass(&mut self) -> Result<(), ClientError> {
        self.ask(&Request::Bypass { force: false }).map(drop)
    }

    /// Stops managing even if the bridge cannot carry the traffic, which is then not forwarded.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn force_bypass(&mut self) -> Result<(), ClientError> {
        self.ask(&Request::Bypass { force: true }).map(drop)
    }

    /// Measures the bridge's traffic and changes nothing. Returns when the queues have drained and the bridge carries the traffic.
    ///
    /// # Errors
    /// As [`Self::bypass`].
    pub fn observe(&mut self) -> Result<(), ClientError> {
        self.ask(&Request::Observe { force: false }).map(drop)
    }

    /// The box's state.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn status(&mut self) -> Result<Status, ClientError> {
        self.ask_for_status(&Request::Status)
    }

    /// Sets a station's PHY rate.
    ///
    /// # Errors
    /// As [`Self::ask`]; the standard has no such rate.
    pub fn set_rate(&mut self, mac: MacAddr, rate: BitRate) -> Result<(), ClientError> {
        self.ask(&Request::SetRate { mac: mac.to_string(), rate_mbps: Some(rate.as_mbps_f64()), mode: None }).map(drop)
    }

    /// Reports to the box that a station has left.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn station_gone(&mut self, mac: MacAddr) -> Result<(), ClientError> {
        self.ask(&Request::SetRate { mac: mac.to_string(), rate_mbps: None, mode: None }).map(drop)
    }

    /// Reports to the box the total of packets that an access point has lost on the way to its stations.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn tell_losses(&mut self, access_point: MacAddr, total: u64) -> Result<(), ClientError> {
        self.ask(&Request::Losses { access_point: access_point.to_string(), total }).map(drop)
    }

    /// Sets the name of a station; `None` removes the name that was set.
    ///
    /// # Errors
    /// As [`Self::ask`]; an invalid name.
    pub fn name(&mut self, mac: MacAddr, name: Option<&str>) -> Result<(), ClientError> {
        self.ask(&Request::Name { mac: mac.to_string(), name: name.map(str::to_owned) }).map(drop)
    }

    /// All names except those from DHCP.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn names(&mut self) -> Result<Vec<NamedStation>, ClientError> {
        Ok(self.ask(&Request::Names)?.names.unwrap_or_default())
    }

    /// Names many stations, all or none. Names of other stations stay.
    ///
    /// # Errors
    /// As [`Self::ask`]; an invalid name, or a station that is listed twice.
    pub fn import_names(&mut self, names: &[(MacAddr, String)]) -> Result<(), ClientError> {
        for (part, names_of_part) in names.chunks(NAMES_OF_REQUEST).enumerate() {
            let name = |(mac, name): &(MacAddr, String)| StationName { mac: mac.to_string(), name: name.clone() };
            let (at, names_of_part) = (part * NAMES_OF_REQUEST, names_of_part.iter().map(name).collect());
            self.ask(&Request::ImportNames { at, total: names.len(), names: names_of_part })?;
        }
        Ok(())
    }

    /// Makes the box reload its configuration, or load another file.
    ///
    /// # Errors
    /// As [`Self::ask`]; the file's errors. The box then keeps its configuration.
    pub fn reconfigure(&mut self, file: Option<&Path>) -> Result<(), ClientError> {
        self.ask(&Request::Reconfigure { file: file.map(Path::to_owned), check: false }).map(drop)
    }

    /// Checks whether the box would accept its configuration file, or another one. Changes nothing.
    ///
    /// # Errors
    /// As [`Self::reconfigure`].
    pub fn check_configuration(&mut self, file: Option<&Path>) -> Result<(), ClientError> {
        self.ask(&Request::Reconfigure { file: file.map(Path::to_owned), check: true }).map(drop)
    }

    /// Bypasses and ends the box; returns its final state.
    ///
    /// # Errors
    /// As [`Self::bypass`].
    pub fn shutdown(&mut self) -> Result<Status, ClientError> {
        self.ask_for_status(&Request::Shutdown { force: false })
    }

    fn ask_for_status(&mut self, request: &Request) -> Result<Status, ClientError> {
        let answer = self.ask(request)?;
        answer.status.map(|status| *status).ok_or_else(|| self.io(io::Error::other("an answer without a status")))
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// The box cannot be reached any more, or refused.
    pub fn ask(&mut self, request: &Request) -> Result<Response, ClientError> {
        let answer = self.exchange(request).map_err(|error| self.io(error))?;
        match answer {
            Response { ok: false, error, .. } => Err(ClientError::Refused(error.unwrap_or_default())),
            answer => Ok(answer),
        }
    }

    /// Sends a request. The box closes connections that are idle for long: then sends it once more, over a new connection.
    fn exchange(&mut self, request: &Request) -> io::Result<Response> {
        let mut line = request.to_json().into_bytes();
        line.push(b'\n');
        let answer = match self.send(&line) {
            Err(error) if self.answered && HUNG_UP.contains(&error.kind()) => {
                self.stream = BufReader::new(UnixStream::connect(&self.path)?);
                self.send(&line)
            }
            done => done,
        }?;
        self.answered = true;
        Ok(answer)
    }

    fn send(&mut self, line: &[u8]) -> io::Result<Response> {
        self.stream.get_mut().write_all(line)?;
        let mut answer = String::new();
        if self.stream.read_line(&mut answer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Response::from_json(answer.as_bytes())?)
    }

    fn io(&self, source: io::Error) -> ClientError {
        ClientError::Io { path: self.path.clone(), source }
    }
}
