//! HTTP client of the drivers: JSON, bounded in time and size, with self-signed certificates of access points.

use std::time::Duration;

use serde_json::Value;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

use crate::source::TelemetryError;

/// The longest answer: a controller's list of some thousand stations, with a kilobyte or two for each.
const LONGEST_ANSWER: u64 = 16 << 20;

/// Which servers are trusted over HTTPS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// Those with a certificate of a public authority.
    #[default]
    Public,
    /// The one with this certificate, or certificates signed by it, in PEM.
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
        let config = TlsConfig::builder();
        let config = match tls {
            Tls::Public => config,
            Tls::Any => config.disable_verification(true),
            Tls::Pinned(pem) => {
                let certificate = Certificate::from_pem(pem.as_bytes());
                let certificate =
                    certificate.map_err(|error| TelemetryError::nonsense(format!("certificate: {error}")))?;
                config.root_certs(RootCerts::from(vec![certificate]))
            }
        };
        let agent = Agent::config_builder()
            .tls_config(config.build())
            .timeout_global(Some(timeout))
            .max_redirects(0)
            .http_status_as_error(false)
            .user_agent("evenair")
            .build()
            .new_agent();
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
            ureq::Error::Io(source) => TelemetryError::Io { what: format!("ask {url}"), source },
            other => TelemetryError::nonsense(format!("{url}: {other}")),
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Each `name=value`.
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
