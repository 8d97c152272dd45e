//! Mail to the addresses of a receiver.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::SmtpTransport;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{Address, Transport};

use super::body::{Envelope, footer};
use super::notice::Notice;
use super::webhook::secret;
use crate::receiver::{Encryption, MailServer};

/// Timeout of a server's response.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A mail server with the addresses of a receiver. It has no `Debug`, since it contains the
/// password.
pub(crate) struct Mailer {
    transport: SmtpTransport,
    from: Mailbox,
    to: Vec<Address>,
    host: String,
    password: Option<String>,
}

impl Mailer {
    /// Reads password and certificate.
    ///
    /// # Errors
    /// An invalid file, with the reason.
    pub(crate) fn load(server: &MailServer, to: &[Address]) -> Result<Self> {
        let MailServer { host, port, tls, from, login, certificate } = server;
        let parameters = || parameters(host, certificate.as_deref());
        let tls = match tls {
            Encryption::StartTls => Tls::Required(parameters()?),
            Encryption::Tls => Tls::Wrapper(parameters()?),
            Encryption::None => Tls::None,
        };
        let mut builder = SmtpTransport::builder_dangerous(host).port(*port).tls(tls).timeout(Some(TIMEOUT));
        let mut password = None;
        if let Some((user, file)) = login {
            let secret = secret(file)?;
            builder = builder.credentials(Credentials::new(user.clone(), secret.clone()));
            password = Some(secret);
        }
        let (from, to, host) = (from.clone(), to.to_vec(), host.clone());
        Ok(Self { transport: builder.build(), from, to, host, password })
    }

    /// Sends a message, one mail to all addresses.
    ///
    /// # Errors
    /// The reason of the failure, without the password.
    pub(crate) fn send(&self, notice: &Notice, envelope: &Envelope<'_>) -> Result<(), String> {
        let mail = self.mail(notice, envelope).map_err(|error| error.to_string())?;
        let sent = self.transport.send(&mail);
        sent.map(drop).map_err(|error| {
            let text = format!("{}: {error}", self.host);
            // A server's response may repeat what it was sent.
            let text = self.password.as_ref().map_or_else(|| text.clone(), |password| text.replace(password, "***"));
            text.chars().filter(|c| !c.is_control()).take(300).collect()
        })
    }

    fn mail(&self, notice: &Notice, envelope: &Envelope<'_>) -> Result<Message, lettre::error::Error> {
        let words = notice.words(envelope.site);
        let id = format!("<{}@{}>", envelope.id, self.from.email.domain());
        // Prevents automatic replies (RFC 3834).
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        let mut builder = Message::builder().from(self.from.clone()).subject(words.title).message_id(Some(id));
        builder = builder.raw_header(HeaderValue::new(automatic, "auto-generated".into()));
        for address in &self.to {
            builder = builder.to(Mailbox::new(None, address.clone()));
        }
        let body = format!("{}\n\n-- \n{}\n", words.text, footer(envelope));
        builder.header(ContentType::TEXT_PLAIN).body(body)
    }
}

fn parameters(host: &str, certificate: Option<&Path>) -> Result<TlsParameters> {
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(path) = certificate {
        let pem = std::fs::read(path).with_context(|| path.display().to_string())?;
        let certificate = Certificate::from_pem(&pem);
        let certificate = certificate.map_err(|_| anyhow!("{}: no certificate in PEM", path.display()))?;
        builder = builder.add_root_certificate(certificate);
    }
    builder.build().with_context(|| format!("{host}: TLS cannot be used"))
}
