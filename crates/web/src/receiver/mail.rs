//! The mail server.

use std::ops::Range;
use std::path::PathBuf;

use evenair_reader::{OrDefault, Problems, Written, words};
use lettre::message::Mailbox;
use schemars::JsonSchema;
use serde::Deserialize;

use super::file::path;
use super::url::is_loopback;

/// The mail server as it is written.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MailFile {
    /// Host and port. Required.
    server: Option<Written<String>>,
    /// "starttls" (submission, port 587), "tls" (port 465), "none" at an address of loopback alone. Default: "starttls".
    tls: Option<Written<Encryption>>,
    /// The sender, such as "Evenair <evenair@example.org>". Required.
    from: Option<Written<String>>,
    /// The user name at the server. Default: none, without a login.
    user: Option<Written<String>>,
    /// A file with the password.
    password_file: Option<Written<String>>,
    /// The certificate of the authority that signed the server's, in PEM. Default: public authorities.
    certificate: Option<Written<String>>,
}

/// Encryption of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// TLS by STARTTLS (RFC 3207), mandatory.
    StartTls,
    /// TLS from the first byte (RFC 8314).
    Tls,
    /// No encryption.
    None,
}

words!(Encryption { "starttls" => Self::StartTls, "tls" => Self::Tls, "none" => Self::None });

/// The mail server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailServer {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: Encryption,
    pub(crate) from: Mailbox,
    /// User name, and the file with the password.
    pub(crate) login: Option<(String, PathBuf)>,
    pub(crate) certificate: Option<PathBuf>,
}

impl MailFile {
    pub(crate) fn check(&self, place: Range<usize>, problems: &mut Problems) -> Option<MailServer> {
        let server = self.server(&place, problems);
        let from = self.from(&place, problems);
        let tls = self.tls.get_or(Encryption::StartTls, problems);
        let login = self.login(problems);
        let certificate = path(&self.certificate, problems);
        let ((host, port), tls) = (server?, tls?);
        if tls == Encryption::None && !is_loopback(&host) {
            let what = "everybody on the way could read alerts and password without TLS";
            problems.add(self.tls.place(), what, "\"starttls\", \"tls\"; \"none\" at an address of loopback alone");
            return None;
        }
        Some(MailServer { host, port, tls, from: from?, login: login?, certificate: certificate? })
    }

    fn server(&self, place: &Range<usize>, problems: &mut Problems) -> Option<(String, u16)> {
        const ALLOWED: &str = "host and port, such as \"mail.example.org:587\"";
        let Some(written) = &self.server else {
            problems.add(place.clone(), "[mail] has no `server`", ALLOWED);
            return None;
        };
        let text = written.get(problems)?;
        let parts = text.rsplit_once(':').and_then(|(host, port)| {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let port: u16 = port.parse().ok().filter(|port| *port != 0)?;
            is_host(host).then(|| (host.to_owned(), port))
        });
        if parts.is_none() {
            problems.add(written.span(), format!("{written} is no server of mail"), ALLOWED);
        }
        parts
    }

    fn from(&self, place: &Range<usize>, problems: &mut Problems) -> Option<Mailbox> {
        const ALLOWED: &str = "an address such as \"Evenair <evenair@example.org>\"";
        let Some(written) = &self.from else {
            problems.add(place.clone(), "[mail] has no `from`", ALLOWED);
            return None;
        };
        let is_mailbox = |text: &String| text.parse::<Mailbox>().is_ok();
        written.get_if(problems, is_mailbox, ALLOWED)?.parse().ok()
    }

    fn login(&self, problems: &mut Problems) -> Option<Option<(String, PathBuf)>> {
        let (user, file) = (self.user.get_optional(problems)?, path(&self.password_file, problems)?);
        match (user, file) {
            (Some(user), Some(file)) => Some(Some((user, file))),
            (None, None) => Some(None),
            (Some(_), None) => {
                problems.add(
                    self.user.place(),
                    "the user has no `password_file`",
                    "both of `user` and `password_file`",
                );
                None
            }
            (None, Some(_)) => {
                problems.add(
                    self.password_file.place(),
                    "the password has no `user`",
                    "both of `user` and `password_file`",
                );
                None
            }
        }
    }
}

/// Whether a text is a host name or an address.
fn is_host(host: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':');
    !host.is_empty() && host.len() <= 253 && host.chars().all(plain) && !host.starts_with(['-', '.'])
}
