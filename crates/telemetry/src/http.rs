//! HTTP client of the drivers: JSON, bounded in time and size, with self-signed certificates of access points.

use std::fmt::Display;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use ureq::http::Response;
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, TcpConnector};
use ureq::{Agent, Body};

use crate::source::TelemetryError;
use crate::tls::PinnedConnector;

/// Longest response, in bytes: a controller's list of some thousand stations, with a kilobyte or two for each.
const LONGEST_ANSWER: u64 = 16 << 20;

/// Which servers are trusted over HTTPS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// Those with a certificate from a public authority.
    #[default]
    Public,
    /// The server with this certificate, whatever its name, and servers with a certificate for their name that it has signed;
    /// in PEM.
    Pinned(String),
    /// Any. A man in the middle can then read the password.
    Any,
}

/// A client.
#[derive(Debug)]
pub(crate) struct Http {
    agent: Agent,
    timeout: Duration,
}

impl Http {
    pub(crate) fn new(tls: &Tls, timeout: Duration) -> Result<Self, TelemetryError> {
        let any = TlsConfig::builder().disable_verification(*tls == Tls::Any).build();
        let config = Agent::config_builder()
            .tls_config(any)
            .timeout_global(Some(timeout))
            .max_redirects(0)
            .http_status_as_error(false)
            .user_agent("evenair")
            .build();
        let agent = match tls {
            Tls::Public | Tls::Any => config.new_agent(),
            Tls::Pinned(pem) => {
                let invalid = |why: &dyn Display| TelemetryError::nonsense(format!("certificate: {why}"));
                let pinned = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
                let pinned = pinned.map_err(|error| invalid(&error))?;
                if pinned.is_empty() {
                    return Err(invalid(&"there is none in PEM"));
                }
                let tls = PinnedConnector::new(pinned).map_err(|error| invalid(&error))?;
                let connector = ().chain(ConnectProxyConnector::default()).chain(TcpConnector::default()).chain(tls);
                Agent::with_parts(config, connector, DefaultResolver::default())
            }
        };
        Ok(Self { agent, timeout })
    }

    pub(crate) fn get(&self, url: &str, headers: &[(String, String)]) -> Result<Answer, TelemetryError> {
        let request = headers.iter().fold(self.agent.get(url), |request, (name, value)| request.header(name, value));
        self.read(url, request.call())
    }

    pub(crate) fn post(&self, url: &str, body: &Value) -> Result<Answer, TelemetryError> {
        let request = self.agent.post(url).header("Content-Type", "application/json");
        self.read(url, request.send(body.to_string()))
    }

    fn read(&self, url: &str, answer: Result<Response<Body>, ureq::Error>) -> Result<Answer, TelemetryError> {
        let mut answer = answer.map_err(|error| self.failed(url, error))?;
        let cookies = answer.headers().get_all("set-cookie").iter().filter_map(|cookie| {
            let (pair, _) = cookie.to_str().ok()?.split_once(';').unwrap_or((cookie.to_str().ok()?, ""));
            Some(pair.trim().to_owned())
        });
        let cookies: Vec<String> = cookies.collect();
        let body = answer.body_mut().with_config().limit(LONGEST_ANSWER).read_to_string();
        let body = body.map_err(|error| self.failed(url, error))?;
        Ok(Answer { status: answer.status().as_u16(), cookies, body })
    }

    fn failed(&self, url: &str, error: ureq::Error) -> TelemetryError {
        match error {
            ureq::Error::Timeout(_) => TelemetryError::Silent(self.timeout),
            ureq::Error::Io(source) => match distrust(&source) {
                Some(why) => TelemetryError::Untrusted(why),
                None => TelemetryError::Io { what: format!("ask {url}"), source },
            },
            other => TelemetryError::nonsense(format!("{url}: {other}")),
        }
    }
}

/// Why the server's certificate is not trusted, if that is the cause.
fn distrust(error: &std::io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let rustls::Error::InvalidCertificate(why) = error else { return None };
    Some(format!(
        "{why}; right: `certificate` with the one that it presents, or with that of the authority that signed it for the name \
         in `url`"
    ))
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Cookies, each as `name=value`.
    pub(crate) cookies: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Result<Value, TelemetryError> {
        serde_json::from_str(&self.body).map_err(|error| {
            let start: String = self.body.chars().take(40).collect();
            TelemetryError::nonsense(format!("no JSON ({error}), status {}, it begins {start:?}", self.status))
        })
    }
}
