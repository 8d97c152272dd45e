//! Posts to a webhook.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::body::{DELIVERY, Envelope, SIGNATURE, TIMESTAMP, post, signature};
use super::notice::Notice;
use crate::receiver::{BodyForm, UrlPlace, WebhookConfig, check_url, host_of};
use crate::secret::read_private;

/// Timeout of a server's response.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A webhook. It has no `Debug`, since URL and secret must not be logged.
pub(crate) struct Webhook {
    agent: Agent,
    url: String,
    form: BodyForm,
    secret: Option<String>,
}

impl Webhook {
    /// Reads its files.
    ///
    /// # Errors
    /// An invalid file, with the reason.
    pub(crate) fn load(config: &WebhookConfig) -> Result<Self> {
        let url = match &config.url {
            UrlPlace::Here(url) => url.clone(),
            UrlPlace::File(path) => {
                let url = secret(path)?;
                check_url(&url).map_err(|why| anyhow!("{}: {why}", path.display()))?;
                url
            }
        };
        let secret = config.secret_file.as_deref().map(secret).transpose()?;
        let tls = match &config.certificate {
            None => TlsConfig::default(),
            Some(path) => {
                let pem = std::fs::read(path).with_context(|| path.display().to_string())?;
                let certificate = Certificate::from_pem(&pem);
                let certificate = certificate.map_err(|_| anyhow!("{}: no certificate in PEM", path.display()))?;
                TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[certificate])).build()
            }
        };
        let agent = Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(TIMEOUT))
            .max_redirects(0)
            .http_status_as_error(false)
            .user_agent("evenair-web")
            .build()
            .new_agent();
        Ok(Self { agent, url, form: config.body, secret })
    }

    /// Posts a message.
    ///
    /// # Errors
    /// The reason of the failure, without the URL.
    pub(crate) fn send(&self, notice: &Notice, envelope: &Envelope<'_>, now_s: u64) -> Result<(), String> {
        let post = post(self.form, notice, envelope);
        let mut request = self.agent.post(&self.url).header("Content-Type", post.content_type);
        request = request.header(DELIVERY, envelope.id);
        for (name, value) in &post.headers {
            request = request.header(*name, value);
        }
        if let Some(secret) = &self.secret {
            let signature = signature(secret.as_bytes(), now_s, &post.body);
            request = request.header(TIMESTAMP, now_s.to_string()).header(SIGNATURE, signature);
        }
        let host = host_of(&self.url);
        let answer = request.send(post.body).map_err(|error| in_words(&host, &error))?;
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("{host} answers with status {}", status.as_u16())) }
    }
}

/// An error as text, without the URL.
fn in_words(host: &str, error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => format!("{host} has not answered within {} s", TIMEOUT.as_secs()),
        ureq::Error::HostNotFound => format!("there is no host {host}"),
        ureq::Error::Io(error) => format!("{host}: {error}"),
        ureq::Error::Rustls(error) => format!("{host}: {error}"),
        ureq::Error::Tls(what) => format!("{host}: {what}"),
        ureq::Error::ConnectionFailed => format!("{host} cannot be reached"),
        _ => format!("{host}: the request failed"),
    }
}

/// The text of a secret file, without a trailing newline.
///
/// # Errors
/// It is missing or empty, or others than its owner may read it.
pub(crate) fn secret(path: &Path) -> Result<String> {
    let text = read_private(path).with_context(|| path.display().to_string())?;
    let Some(text) = text else { bail!("{}: there is no such file", path.display()) };
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() || text.contains(['\r', '\n']) {
        bail!("{}: it should have one line, with the secret", path.display());
    }
    Ok(text.to_owned())
}
