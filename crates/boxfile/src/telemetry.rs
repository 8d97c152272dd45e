//! Telemetry sources in the box's configuration.
//!
//! ```toml
//! [[telemetry]]
//! kind = "snmp"
//! address = "192.168.1.2"
//! secrets = "/etc/evenair/secrets/ap1.toml"     # community = "..."
//! ```
//!
//! Each key says with which kinds it goes. Passwords and communities are in a separate secret file, with restricted
//! permissions: TOML with `community`, or `password`, or `authentication` and `privacy`.

use std::fmt;

use std::path::{Path, PathBuf};
use std::time::Duration;

use evenair_manager::Label;
use evenair_reader::{OrDefault, Problems, Written, ranges, words};
use evenair_telemetry::hostapd::Hostapd;
use evenair_telemetry::nl80211::StationDump;
use evenair_telemetry::remote::Remote;
use evenair_telemetry::routeros::RouterOs;
use evenair_telemetry::snmp::{Agent, Encryption, Hash, Version, tables::TABLES};
use evenair_telemetry::ubus::Ubus;
use evenair_telemetry::unifi::Unifi;
use evenair_telemetry::{Credentials, Reading, Source, TelemetryError, Tls, poll_once};
use evenair_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::small_file::read_text;

const HASHES: [(&str, Hash); 6] = [
    ("md5", Hash::Md5),
    ("sha1", Hash::Sha1),
    ("sha224", Hash::Sha224),
    ("sha256", Hash::Sha256),
    ("sha384", Hash::Sha384),
    ("sha512", Hash::Sha512),
];
const CIPHERS: [(&str, Encryption); 4] = [
    ("des", Encryption::Des),
    ("aes128", Encryption::Aes128),
    ("aes192", Encryption::Aes192),
    ("aes256", Encryption::Aes256),
];
/// Kinds that are polled with an account's name and password.
const ACCOUNTS: [&str; 3] = ["unifi", "ubus", "routeros"];
/// Kinds that are polled over HTTP.
const HTTP: [&str; 4] = ["unifi", "ubus", "routeros", "evenair"];
/// Default polling interval: older rates are of little use, and an access point has other tasks.
const INTERVAL: Span = Span::from_secs(5);
/// Minimum length of passwords of SNMP v3, in characters (RFC 3414, 11.2).
const SHORTEST_PASSWORD: usize = 8;
/// Maximum size of a secret file, in bytes.
const LONGEST_SECRETS: u64 = 64 * 1024;
/// Maximum size of a certificate with its chain, in bytes.
const LONGEST_CERTIFICATE: u64 = 64 * 1024;

ranges! {
    /// Polling intervals.
    pub PollingIntervals: Span = "1 s to 10 min";
}

/// A telemetry source in the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelemetrySpec {
    /// "snmp", "unifi", "ubus" (OpenWrt), "routeros" (MikroTik RouterOS 7), "hostapd" or "nl80211" (an access point on this machine), or "evenair" (`evenair
    /// telemetry --listen` on an access point).
    pub kind: Written<KindWord>,
    /// Polling interval. Default: "5 s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Written<Span, PollingIntervals>>,
    /// The access point of its stations, by its name in `[[manager.access_point]]`, for sources that do not report it:
    /// controllers do, access points do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_point: Option<Written<String>>,
    /// snmp: name or address of the agent, with `:port` if it is not 161.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["snmp"] }))]
    #[schemars(extend("x-needed-with" = { "kind": ["snmp"] }))]
    pub address: Option<Written<String>>,
    /// snmp: "2c" or "3". Default: "2c".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["snmp"] }))]
    pub version: Option<Written<String>>,
    /// snmp: vendor of its table of stations: "cisco", "cisco-wlc", "aruba" (Instant), "arubaos" (controllers), "mikrotik",
    /// "airos", "aerohive"; "auto" detects it. Default: "auto".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["snmp"] }))]
    pub vendor: Option<Written<String>>,
    /// The user name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": (snmp_and(&ACCOUNTS)) }))]
    #[schemars(extend("x-needed-with" = { "kind": ACCOUNTS }))]
    pub user: Option<Written<String>>,
    /// snmp, version 3: authentication protocol: "md5", "sha1", "sha224", "sha256", "sha384" or "sha512".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["snmp"] }))]
    pub authentication: Option<Written<String>>,
    /// snmp, version 3: privacy protocol: "des", "aes128", "aes192" or "aes256".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["snmp"] }))]
    pub privacy: Option<Written<String>>,
    /// A file with the passwords: `community`, `password`, or `authentication` and `privacy`. Default: no passwords, and the
    /// community "public".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": (snmp_and(&HTTP)) }))]
    #[schemars(extend("x-needed-with" = { "kind": ACCOUNTS }))]
    pub secrets: Option<Written<String>>,
    /// Its URL, such as `https://192.168.1.3:8443`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": HTTP }))]
    #[schemars(extend("x-needed-with" = { "kind": HTTP }))]
    pub url: Option<Written<String>>,
    /// unifi: the name of the site in URLs. Default: "default".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["unifi"] }))]
    pub site: Option<Written<String>>,
    /// Check the server's certificate. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": HTTP }))]
    pub verify: Option<Written<bool>>,
    /// A PEM file with the server's own certificate, trusted whatever name it is for; or with that of the authority that signed
    /// it for the name in `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": HTTP }))]
    pub certificate: Option<Written<String>>,
    /// hostapd: its control socket, such as /var/run/hostapd/wlan0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["hostapd"] }))]
    #[schemars(extend("x-needed-with" = { "kind": ["hostapd"] }))]
    pub socket: Option<Written<String>>,
    /// nl80211: the interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["nl80211"] }))]
    #[schemars(extend("x-needed-with" = { "kind": ["nl80211"] }))]
    pub interface: Option<Written<String>>,
}

/// SNMP and these kinds.
fn snmp_and(kinds: &[&'static str]) -> Vec<&'static str> {
    [&["snmp"], kinds].concat()
}

/// The word for a kind of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindWord {
    /// An SNMP agent.
    Snmp,
    /// A UniFi controller.
    Unifi,
    /// OpenWrt's ubus over HTTP.
    Ubus,
    /// MikroTik RouterOS 7 by its REST API.
    RouterOs,
    /// hostapd on this machine.
    Hostapd,
    /// An interface of this machine.
    Nl80211,
    /// Another evenair.
    Evenair,
}

words!(KindWord {
    "snmp" => Self::Snmp,
    "unifi" => Self::Unifi,
    "ubus" => Self::Ubus,
    "routeros" => Self::RouterOs,
    "hostapd" => Self::Hostapd,
    "nl80211" => Self::Nl80211,
    "evenair" => Self::Evenair,
});

/// A checked telemetry source.
#[derive(Clone, PartialEq)]
pub struct SourceConfig {
    /// Kind and address of the source.
    pub kind: SourceKind,
    /// Polling interval.
    pub interval: Span,
    /// The access point of its stations, if the source does not report it.
    pub access_point: Option<Label>,
}

impl fmt::Debug for SourceConfig {
    /// Omits secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} every {}", self.name(), self.interval)
    }
}

/// Kind of a source, with its address and credentials.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub enum SourceKind {
    Snmp { address: String, version: Version, vendor: Option<String> },
    Unifi { url: String, site: String, user: String, password: String, tls: Tls },
    Ubus { url: String, user: String, password: String, tls: Tls },
    RouterOs { url: String, user: String, password: String, tls: Tls },
    Hostapd { socket: PathBuf },
    Nl80211 { interface: String },
    Remote { url: String, password: Option<String>, tls: Tls },
}

/// Contents of a secret file.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Secrets {
    community: Option<String>,
    password: Option<String>,
    authentication: Option<String>,
    privacy: Option<String>,
}

impl SourceConfig {
    /// Polls the source once.
    ///
    /// # Errors
    /// If it does not answer, refuses, or answers something invalid.
    pub fn ask(&self) -> Result<Reading, TelemetryError> {
        poll_once(&mut *self.open()?)
    }

    /// Opens the source.
    ///
    /// # Errors
    /// If a certificate is invalid.
    pub fn open(&self) -> Result<Box<dyn Source>, TelemetryError> {
        let timeout = self.timeout();
        Ok(match &self.kind {
            SourceKind::Snmp { address, version, vendor } => {
                let table = vendor.as_deref().and_then(Agent::table);
                Box::new(Agent::new(address, version.clone(), table, timeout))
            }
            SourceKind::Unifi { url, site, user, password, tls } => {
                Box::new(Unifi::new(url, site, Credentials { user, password }, tls, timeout)?)
            }
            SourceKind::Ubus { url, user, password, tls } => {
                Box::new(Ubus::new(url, Credentials { user, password }, tls, timeout)?)
            }
            SourceKind::RouterOs { url, user, password, tls } => {
                Box::new(RouterOs::new(url, Credentials { user, password }, tls, timeout)?)
            }
            SourceKind::Hostapd { socket } => Box::new(Hostapd::new(socket, timeout)),
            SourceKind::Nl80211 { interface } => Box::new(StationDump::new(interface, timeout)),
            SourceKind::Remote { url, password, tls } => Box::new(Remote::new(url, password.as_deref(), tls, timeout)?),
        })
    }

    /// Description of the source.
    pub fn name(&self) -> String {
        match &self.kind {
            SourceKind::Snmp { address, .. } => format!("snmp {address}"),
            SourceKind::Unifi { url, .. } => format!("unifi {url}"),
            SourceKind::Ubus { url, .. } => format!("ubus {url}"),
            SourceKind::RouterOs { url, .. } => format!("routeros {url}"),
            SourceKind::Hostapd { socket } => format!("hostapd {}", socket.display()),
            SourceKind::Nl80211 { interface } => format!("nl80211 {interface}"),
            SourceKind::Remote { url, .. } => format!("evenair {url}"),
        }
    }

    /// Timeout of an answer: well below the interval, and at most as long as a slow controller needs.
    pub fn timeout(&self) -> Duration {
        Duration::from_nanos((self.interval / 2).min(Span::from_secs(3)).as_nanos())
    }
}

impl TelemetrySpec {
    /// Checks the source; `None` if it has errors.
    pub fn check(&self, problems: &mut Problems) -> Option<SourceConfig> {
        let before = problems.count();
        let kind = self.kind.get(problems)?;
        let interval = self.interval.get_or(INTERVAL, problems);
        let access_point = match &self.access_point {
            None => None,
            Some(name) => {
                let label = name.get(problems)?.parse().ok();
                if label.is_none() {
                    problems.add(name.span(), format!("{name} is no name of an access point"), "1 to 32 bytes");
                }
                label
            }
        };
        let secrets = self.secrets(problems);
        let kind = match kind {
            KindWord::Snmp => self.snmp(secrets.as_ref(), problems),
            KindWord::Unifi | KindWord::Ubus | KindWord::RouterOs | KindWord::Evenair => {
                self.web(kind, secrets.as_ref(), problems)
            }
            KindWord::Hostapd => {
                self.socket.as_ref().map(|socket| Some(SourceKind::Hostapd { socket: socket.get(problems)?.into() }))?
            }
            KindWord::Nl80211 => self
                .interface
                .as_ref()
                .map(|interface| Some(SourceKind::Nl80211 { interface: interface.get(problems)? }))?,
        };
        Some(SourceConfig { kind: kind?, interval: interval?, access_point }).filter(|_| problems.count() == before)
    }

    fn secrets(&self, problems: &mut Problems) -> Option<Secrets> {
        let Some(written) = &self.secrets else { return Some(Secrets::default()) };
        let path: PathBuf = written.get(problems)?.into();
        match read_secrets(&path) {
            Ok(secrets) => Some(secrets),
            Err(why) => {
                let right = "a TOML file with community, password, authentication or privacy, each with text in quotes";
                problems.add(written.span(), format!("{}: {why}", path.display()), right);
                None
            }
        }
    }

    fn snmp(&self, secrets: Option<&Secrets>, problems: &mut Problems) -> Option<SourceKind> {
        let address =
            self.address.as_ref()?.get_if(problems, |text| !text.trim().is_empty(), "a name or an address")?;
        let address = with_port(&address, 161);
        let vendor = match &self.vendor {
            None => None,
            Some(vendor) => {
                let names = TABLES.iter().map(|table| table.name);
                let known: Vec<_> = ["auto"].into_iter().chain(names).collect();
                let allowed = known.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
                let vendor = vendor.get_if(problems, |text| known.contains(&text.as_str()), allowed)?;
                Some(vendor).filter(|vendor| vendor != "auto")
            }
        };
        let version = match &self.version {
            None => "2c".to_owned(),
            Some(version) => version.get_if(problems, |v| ["2c", "3"].contains(&v.as_str()), "\"2c\" or \"3\"")?,
        };
        let version =
            if version == "3" { self.version_3(secrets?, problems)? } else { self.version_2c(secrets?, problems)? };
        Some(SourceKind::Snmp { address, version, vendor })
    }

    fn version_2c(&self, secrets: &Secrets, problems: &mut Problems) -> Option<Version> {
        for (key, value) in [("user", &self.user), ("authentication", &self.authentication), ("privacy", &self.privacy)]
        {
            if let Some(value) = value {
                problems.add(value.span(), format!("{key} without version 3"), "version = \"3\"");
            }
        }
        Some(Version::V2c { community: secrets.community.clone().unwrap_or_else(|| "public".into()) })
    }

    fn version_3(&self, secrets: &Secrets, problems: &mut Problems) -> Option<Version> {
        let Some(user) = &self.user else {
            problems.add(self.kind.span(), "version 3 without user", "user = \"...\"");
            return None;
        };
        let user = user.get(problems)?;
        let authentication =
            with_password(&self.authentication, "authentication", &secrets.authentication, &HASHES, problems)?;
        let privacy = with_password(&self.privacy, "privacy", &secrets.privacy, &CIPHERS, problems)?;
        if let (None, Some(written)) = (&authentication, &self.privacy) {
            problems.add(written.span(), "privacy without authentication", "authentication = \"sha256\", for instance");
        }
        Some(Version::V3 { user, authentication, privacy })
    }

    fn web(&self, kind: KindWord, secrets: Option<&Secrets>, problems: &mut Problems) -> Option<SourceKind> {
        let is_url = |text: &String| text.starts_with("https://") || text.starts_with("http://");
        let url = self.url.as_ref()?.get_if(problems, is_url, "https://HOST:PORT");
        let tls = self.tls(problems);
        // An agent that listens only on its own machine may have no password.
        let password = match &self.secrets {
            None => None,
            Some(written) => {
                let password = secrets?.password.clone();
                if password.is_none() {
                    problems.add(written.span(), format!("{written} has no password"), "password = \"...\" in it");
                    return None;
                }
                password
            }
        };
        if kind == KindWord::Evenair {
            return Some(SourceKind::Remote { url: url?, password, tls: tls? });
        }
        let user = self.user.as_ref()?.get(problems);
        let (url, user, password, tls) = (url?, user?, password?, tls?);
        match kind {
            KindWord::Ubus => return Some(SourceKind::Ubus { url, user, password, tls }),
            KindWord::RouterOs => return Some(SourceKind::RouterOs { url, user, password, tls }),
            _ => {}
        }
        let is_name =
            |text: &String| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        let site = match &self.site {
            None => "default".into(),
            Some(site) => site.get_if(problems, is_name, "a site's name in URLs: letters and digits")?,
        };
        Some(SourceKind::Unifi { url, site, user, password, tls })
    }

    fn tls(&self, problems: &mut Problems) -> Option<Tls> {
        let verify = self.verify.as_ref().map_or(Some(true), |verify| verify.get(problems))?;
        match &self.certificate {
            Some(written) if !verify => {
                problems.add(written.span(), "a certificate that is not checked", "verify = true, or no certificate");
                None
            }
            Some(written) => {
                let path = written.get(problems)?;
                match read_text(Path::new(&path), LONGEST_CERTIFICATE) {
                    Ok(pem) if pem.contains("-----BEGIN CERTIFICATE-----") => Some(Tls::Pinned(pem)),
                    Ok(_) => {
                        problems.add(written.span(), format!("{path} is no certificate"), "a certificate in PEM");
                        None
                    }
                    Err(error) => {
                        problems.add(written.span(), format!("{path}: {error}"), "a certificate in PEM");
                        None
                    }
                }
            }
            None => Some(if verify { Tls::Public } else { Tls::Any }),
        }
    }
}

/// A method with its password, if there is one.
#[allow(clippy::option_option)]
fn with_password<T: Copy>(
    written: &Option<Written<String>>,
    key: &str,
    password: &Option<String>,
    methods: &[(&str, T)],
    problems: &mut Problems,
) -> Option<Option<(T, String)>> {
    let Some(written) = written else { return Some(None) };
    let allowed = methods.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let name = written.get_if(problems, |text| methods.iter().any(|(name, _)| name == text), allowed)?;
    let (_, method) = methods.iter().find(|(known, _)| *known == name)?;
    match password {
        Some(password) if password.len() >= SHORTEST_PASSWORD => Some(Some((*method, password.clone()))),
        _ => {
            let right = format!("{key} = \"...\" with {SHORTEST_PASSWORD} characters or more in the file of secrets");
            problems.add(written.span(), format!("{key} without a password, or with one that is too short"), right);
            None
        }
    }
}

/// `host`, `host:port`, `address` or `[address]:port`, with a port.
fn with_port(text: &str, port: u16) -> String {
    let colons = text.matches(':').count();
    match colons {
        0 => format!("{text}:{port}"),
        1 => text.into(),
        _ if text.starts_with('[') && text.contains("]:") => text.into(),
        _ if text.starts_with('[') => format!("{text}:{port}"),
        _ => format!("[{text}]:{port}"),
    }
}

/// Reads the password in a secret file.
///
/// # Errors
/// If the file cannot be read, is invalid, or has no password.
pub fn password_in(path: &Path) -> Result<String, String> {
    read_secrets(path)?.password.ok_or_else(|| "it has no password: password = \"...\"".into())
}

fn read_secrets(path: &Path) -> Result<Secrets, String> {
    let text = read_text(path, LONGEST_SECRETS).map_err(|error| error.to_string())?;
    // The library's message would show the line with the password.
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count());
        format!("line {} is not as it should be", line.max(1))
    })
}

#[cfg(test)]
mod tests;
