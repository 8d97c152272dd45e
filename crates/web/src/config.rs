//! The configuration file of the page: `/etc/evenair/web.toml`.
//!
//! ```toml
//! listen = "127.0.0.1:9471"
//! socket = "/run/evenair/watch.sock"
//! control = "/run/evenair/control.sock"
//! names = ["box.lan"]
//! trusted_proxies = ["127.0.0.1"]
//! base_path = "/evenair"
//! state = "/var/lib/evenair-web"
//!
//! [tls]
//! certificate = "/etc/evenair/web.pem"
//! key = "/etc/evenair/web-key.pem"
//!
//! [history]
//! limit = "1 GB"
//! files = "/var/lib/evenair/history"
//!
//! [[alert]]
//! name = "ops"
//! webhook = "https://hooks.example.org/evenair"
//! ```
//!
//! Every key may be missing, and so may the default file.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use evenair_reader::{ConfigError, Document, List, OrDefault, Problems, Written, ranges, read};
use evenair_units::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::network::{Network, is_base_path};
use crate::receiver::{AlertFile, MailFile, MailServer, ReceiverConfig, check_all};

/// Default path of the file.
pub const CONFIG: &str = "/etc/evenair/web.toml";

ranges! {
    /// Sizes of the history's database: the smallest holds a day of a small site.
    HistoryLimits: Bytes = "16 MB to 1000 GB";
}

/// The file as it is written.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct WebFile {
    /// Address and port of the page; beyond loopback with `[tls]` and an account only. Default: "127.0.0.1:9471".
    listen: Option<Written<String>>,
    /// The box's watch socket. Default: "/run/evenair/watch.sock".
    socket: Option<Written<String>>,
    /// The box's control socket, for accounts and tokens of role operate and admin. Default: "/run/evenair/control.sock".
    control: Option<Written<String>>,
    /// Further names under which browsers reach the page, such as that of a tunnel's end.
    names: Option<List<String>>,
    /// Reverse proxies that say who asks and how, as addresses or prefixes: "127.0.0.1", "10.0.0.0/8". Default: none.
    trusted_proxies: Option<List<String>>,
    /// The path below which the page is, such as "/evenair". Default: "", so that it is at "/".
    base_path: Option<Written<String>>,
    /// The directory of accounts and of the self-signed certificate. Default: "/var/lib/evenair-web".
    state: Option<Written<String>>,
    /// TLS. Default: none, so that the page is for this machine alone.
    tls: Option<TlsFile>,
    /// The history that the program keeps, in the state directory.
    history: HistoryFile,
    /// Receivers of alerts.
    alert: Vec<AlertFile>,
    /// The mail server of alerts.
    mail: Option<MailFile>,
}

/// The history as it is written.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct HistoryFile {
    /// Size limit of the database; the oldest rows go first. Default: "1 GB".
    limit: Option<Written<Bytes, HistoryLimits>>,
    /// The directory of the box's own history, for what this program missed. Default: "/var/lib/evenair/history".
    files: Option<Written<String>>,
}

/// The certificate as it is written.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct TlsFile {
    /// A certificate in PEM, with those of its issuers after it. It is read again when the file changes.
    certificate: Option<Written<String>>,
    /// Its private key, in PEM.
    key: Option<Written<String>>,
    /// Make a certificate, once, that browsers do not know. Default: false.
    self_signed: Option<Written<bool>>,
}

/// The certificate of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsConfig {
    /// The operator's own.
    Own {
        /// Certificate in PEM, followed by those of its issuers.
        certificate: PathBuf,
        /// Its private key, in PEM.
        key: PathBuf,
    },
    /// A self-signed one in the state directory, made at the first start.
    SelfSigned,
}

/// Settings of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    /// Size limit of the database, in bytes.
    pub limit: u64,
    /// The directory of the box's own history, to fill gaps.
    pub files: PathBuf,
}

/// The checked configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebConfig {
    /// Address and port of the page.
    pub listen: SocketAddr,
    /// The box's watch socket.
    pub socket: PathBuf,
    /// The box's control socket.
    pub control: PathBuf,
    /// Host names under which requests are accepted, besides the address and those of loopback.
    pub names: Vec<String>,
    /// Reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted.
    pub trusted_proxies: Vec<Network>,
    /// The base path of the page: "", or such as "/evenair".
    pub base_path: String,
    /// The directory of accounts and of the self-signed certificate.
    pub state: PathBuf,
    /// Its certificate; `None`: no TLS.
    pub tls: Option<TlsConfig>,
    /// The history.
    pub history: HistoryConfig,
    /// Receivers of alerts.
    pub alerts: Vec<ReceiverConfig>,
    /// The mail server; `None`: no receiver uses mail.
    pub mail: Option<MailServer>,
    /// Message above the last numbers once the box has ended for good, as in the demo.
    pub farewell: Option<String>,
}

impl Default for WebConfig {
    fn default() -> Self {
        let file = WebFile::default();
        file.check(&Places::default(), &mut Problems::default()).expect("defaults are right")
    }
}

impl WebConfig {
    /// Size limit of the file, in bytes.
    const LONGEST_FILE: u64 = 64 * 1024;

    /// Reads the configuration file.
    ///
    /// # Errors
    /// It cannot be read, or every problem with it: line, key and what is allowed.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let failed = |source| ConfigError::Read { path: path.to_owned(), source };
        let length = std::fs::metadata(path).map_err(failed)?.len();
        if length > Self::LONGEST_FILE {
            return Err(failed(std::io::Error::other("it is larger than 64 kB")));
        }
        Self::parse(&std::fs::read_to_string(path).map_err(failed)?, &path.display().to_string())
    }

    /// Parses the text of a configuration file.
    ///
    /// # Errors
    /// Every problem with it: line, key and what is allowed.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let (raw, document, mut problems) = read::<WebFile>(text, file, &[])?;
        let config = raw.check(&Places::of(&document), &mut problems);
        document.verdict(problems)?;
        Ok(config.expect("what could not be checked is a problem"))
    }

    /// Refuses an address that other machines could reach without TLS.
    ///
    /// # Errors
    /// The address is exposed without TLS.
    pub fn check_exposure(&self) -> Result<()> {
        if !self.listen.ip().is_loopback() && self.tls.is_none() {
            bail!(
                "other machines could reach {}, and the page has no TLS: add [tls] to {CONFIG}, or use 127.0.0.1 and a tunnel (ssh -L)",
                self.listen
            );
        }
        Ok(())
    }

    /// URL of the page for a browser: by name, if it has one and is behind a proxy or listens on all addresses.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let (port, base) = (self.listen.port(), &self.base_path);
        match self.names.first() {
            Some(name) if !self.trusted_proxies.is_empty() => format!("https://{name}{base}/"),
            Some(name) if self.listen.ip().is_unspecified() => format!("{scheme}://{name}:{port}{base}/"),
            None if self.listen.ip().is_unspecified() => {
                let here = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
                format!("{scheme}://{here}{base}/")
            }
            _ => format!("{scheme}://{}{base}/", self.listen),
        }
    }
}

/// Positions of tables, for problems that concern a whole table.
#[derive(Debug, Default)]
struct Places {
    tls: Range<usize>,
    mail: Range<usize>,
    /// The first receiver.
    alert: Range<usize>,
}

impl Places {
    fn of(document: &Document) -> Self {
        let of = |table| document.place_of(table).unwrap_or_default();
        Self { tls: of("tls"), mail: of("mail"), alert: of("alert") }
    }
}

impl WebFile {
    fn check(&self, places: &Places, problems: &mut Problems) -> Option<WebConfig> {
        let tls = match &self.tls {
            None => Some(None),
            Some(tls) => tls.check(places.tls.clone(), problems).map(Some),
        };
        let mail = match &self.mail {
            None => Some(None),
            Some(mail) => mail.check(places.mail.clone(), problems).map(Some),
        };
        let alerts = check_all(&self.alert, self.mail.is_some(), &places.alert, problems);
        let listen = match &self.listen {
            None => Some(SocketAddr::from(([127, 0, 0, 1], 9471))),
            Some(written) => listen(written, self.tls.is_some(), problems),
        };
        let socket = path(&self.socket, "/run/evenair/watch.sock", problems);
        let control = path(&self.control, "/run/evenair/control.sock", problems);
        let state = path(&self.state, "/var/lib/evenair-web", problems);
        let names = match &self.names {
            None => Some(Vec::new()),
            Some(names) => names.get(problems),
        };
        let (trusted_proxies, base_path) = (self.proxies(problems), self.base_path(problems));
        let history = self.history.check(problems);
        let (socket, control, state, history) = (socket?, control?, state?, history?);
        let (listen, names, tls, alerts, mail) = (listen?, names?, tls?, alerts?, mail?);
        let (trusted_proxies, base_path) = (trusted_proxies?, base_path?);
        Some(WebConfig {
            listen,
            socket,
            control,
            names,
            trusted_proxies,
            base_path,
            state,
            tls,
            history,
            alerts,
            mail,
            farewell: None,
        })
    }

    fn proxies(&self, problems: &mut Problems) -> Option<Vec<Network>> {
        const ALLOWED: &str =
            "an address or a prefix whose other bits are zero, such as \"127.0.0.1\" or \"10.0.0.0/8\"";
        let Some(list) = &self.trusted_proxies else { return Some(vec![]) };
        list.get(problems)?;
        let network = |item: &Written<String>| {
            let network = item.get(problems)?.parse().ok();
            if network.is_none() {
                problems.add(item.span(), format!("{item} is neither an address nor a prefix"), ALLOWED);
            }
            network
        };
        let networks: Vec<_> = list.items().iter().map(network).collect();
        networks.into_iter().collect()
    }

    fn base_path(&self, problems: &mut Problems) -> Option<String> {
        const ALLOWED: &str =
            "a path such as \"/evenair\": / first, none at its end, and letters, digits, '-', '.', '_' and '~' between";
        self.base_path.get_or_if(String::new(), problems, |path: &String| is_base_path(path), ALLOWED)
    }
}

impl HistoryFile {
    fn check(&self, problems: &mut Problems) -> Option<HistoryConfig> {
        let limit = self.limit.get_or(Bytes(1_000_000_000), problems);
        let files = path(&self.files, "/var/lib/evenair/history", problems);
        Some(HistoryConfig { limit: limit?.0, files: files? })
    }
}

impl TlsFile {
    fn check(&self, place: Range<usize>, problems: &mut Problems) -> Option<TlsConfig> {
        const ALLOWED: &str = "`certificate` and `key`, or `self_signed = true`";
        let self_signed = self.self_signed.get_or(false, problems);
        let mut file = |key: &Option<Written<String>>| key.as_ref().map(|_| path(key, "", problems));
        let (certificate, key) = (file(&self.certificate), file(&self.key));
        match (self_signed?, certificate, key) {
            (false, Some(certificate), Some(key)) => Some(TlsConfig::Own { certificate: certificate?, key: key? }),
            (true, None, None) => Some(TlsConfig::SelfSigned),
            (true, ..) => {
                let place = self.self_signed.place();
                problems.add(place, "a certificate is named, and a self-signed one is asked for as well", ALLOWED);
                None
            }
            (false, None, None) => {
                problems.add(place, "[tls] has no certificate", ALLOWED);
                None
            }
            (false, Some(_), None) => {
                problems.add(self.certificate.place(), "the certificate has no `key`", ALLOWED);
                None
            }
            (false, None, Some(_)) => {
                problems.add(self.key.place(), "the key has no `certificate`", ALLOWED);
                None
            }
        }
    }
}

fn path(written: &Option<Written<String>>, default: &str, problems: &mut Problems) -> Option<PathBuf> {
    let absolute = |path: &String| path.starts_with('/');
    written.get_or_if(default.into(), problems, absolute, "a path that begins with /").map(PathBuf::from)
}

/// The listen address. Addresses that other machines can reach need TLS. Whether an account exists is checked when the page
/// starts.
fn listen(written: &Written<String>, has_tls: bool, problems: &mut Problems) -> Option<SocketAddr> {
    const ALLOWED: &str = "an address of loopback with a port, such as \"127.0.0.1:9471\" or \"[::1]:9471\"; with [tls] and an account \
                           (evenair-web setup) any address of this machine";
    let text = written.get(problems)?;
    let Ok(address) = text.parse::<SocketAddr>() else {
        problems.add(written.span(), format!("{written} is no address with a port"), ALLOWED);
        return None;
    };
    if !address.ip().is_loopback() && !has_tls {
        let what = format!("{written} could be reached from other machines, and the page has no TLS");
        problems.add(written.span(), what, ALLOWED);
        return None;
    }
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_may_be_missing() {
        let config = WebConfig::parse("", "web.toml").expect("right");
        assert_eq!(config, WebConfig::default());
        assert_eq!(config.listen.to_string(), "127.0.0.1:9471");
        assert_eq!(config.socket, Path::new("/run/evenair/watch.sock"));
    }

    #[test]
    fn every_problem_is_named_with_its_line() {
        let text = "listen = \"0.0.0.0:80\"\nsocket = \"watch.sock\"\nname = [\"a\"]\n";
        let error = WebConfig::parse(text, "web.toml").expect_err("three problems").to_string();
        for part in ["web.toml:1:", "no TLS", "web.toml:2:", "begins with /", "web.toml:3:", "names"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let error = WebConfig::parse("listen = 9471", "web.toml").expect_err("no text").to_string();
        assert!(error.contains("text in quotes"), "{error}");
        let error = WebConfig::parse("listen = \"localhost\"", "web.toml").expect_err("no port").to_string();
        assert!(error.contains("127.0.0.1:9471"), "{error}");
    }

    #[test]
    fn proxies_and_the_path_below_them_are_checked() {
        let text = "names = [\"wifi.example.org\"]\ntrusted_proxies = [\"127.0.0.1\", \"10.0.0.0/8\"]\nbase_path = \"/evenair\"";
        let config = WebConfig::parse(text, "web.toml").expect("right");
        let proxies: Vec<_> = config.trusted_proxies.iter().map(ToString::to_string).collect();
        assert_eq!(
            (proxies, &*config.url()),
            (vec!["127.0.0.1/32".into(), "10.0.0.0/8".into()], "https://wifi.example.org/evenair/")
        );
        let text = "trusted_proxies = [\"::1\", \"10.0.0.1/8\", \"box.lan\"]\nbase_path = \"evenair/\"";
        let error = WebConfig::parse(text, "web.toml").expect_err("three problems").to_string();
        for part in [
            "web.toml:1:",
            "\"10.0.0.1/8\" is neither",
            "\"box.lan\" is neither",
            "web.toml:2:",
            "such as \"/evenair\"",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn the_history_has_a_limit() {
        let config = WebConfig::parse("[history]\nlimit = \"20 MB\"", "web.toml").expect("right");
        assert_eq!((config.history.limit, WebConfig::default().history.limit), (20_000_000, 1_000_000_000));
        let error =
            WebConfig::parse("[history]\nlimit = \"1 MB\"\nlimits = 1", "web.toml").expect_err("small").to_string();
        assert!(error.contains("web.toml:2:") && error.contains("16 MB to 1000 GB"), "{error}");
        assert!(error.contains("web.toml:3:"), "{error}");
    }

    #[test]
    fn tls_takes_a_certificate_with_its_key_or_a_self_signed_one() {
        let parse = |tls: &str| WebConfig::parse(&format!("listen = \"0.0.0.0:443\"\n[tls]\n{tls}"), "web.toml");
        let right = parse("certificate = \"/a.pem\"\nkey = \"/b.pem\"").expect("right");
        assert_eq!(right.tls, Some(TlsConfig::Own { certificate: "/a.pem".into(), key: "/b.pem".into() }));
        assert_eq!(parse("self_signed = true").expect("right").tls, Some(TlsConfig::SelfSigned));
        for (text, parts) in [
            ("", ["web.toml:2:", "self_signed = true"]),
            ("self_signed = false", ["web.toml:2:", "no certificate"]),
            ("self_signed = \"yes\"", ["web.toml:3:", "true"]),
            ("certificate = \"/a.pem\"", ["web.toml:3:", "no `key`"]),
            ("key = \"/a.pem\"", ["web.toml:3:", "no `certificate`"]),
            ("self_signed = true\nkey = \"/a.pem\"", ["web.toml:3:", "as well"]),
            ("certificate = \"a.pem\"\nkey = \"/b.pem\"", ["web.toml:3:", "begins with /"]),
            ("selfsigned = true", ["web.toml:3:", "self_signed"]),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }
}
