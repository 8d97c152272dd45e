//! Certificates of the page: the operator's own, reloaded when its files change, or a self-signed one, made once.

use std::fmt::Display;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};

use crate::config::{TlsConfig, WebConfig};
use crate::secret::{read_private, write_private};

/// Minimum interval between checks of the files.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The self-signed certificate and its key, in the state directory.
const SELF_SIGNED: &str = "self-signed.pem";
const SELF_SIGNED_KEY: &str = "self-signed-key.pem";

/// Identifies a version of the files: length, inode and modification time in nanoseconds since 1970, each.
type Stamp = [Option<(u64, u64, i128)>; 2];

/// The certificate presented to browsers.
#[derive(Debug)]
pub(crate) struct Certificates {
    files: [PathBuf; 2],
    is_self_signed: bool,
    loaded: Mutex<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    server: Arc<ServerConfig>,
    stamp: Stamp,
    looked: Instant,
    /// The last error with newer files.
    complaint: Option<String>,
}

impl Certificates {
    /// Reads the configured certificate, or makes a self-signed one if missing; `None` without TLS.
    ///
    /// # Errors
    /// An invalid file, with the reason.
    pub(crate) fn load(config: &WebConfig) -> Result<Option<Self>> {
        let files = match &config.tls {
            None => return Ok(None),
            Some(TlsConfig::Own { certificate, key }) => [certificate.clone(), key.clone()],
            Some(TlsConfig::SelfSigned) => self_signed(config)?,
        };
        let stamp = stamp(&files);
        let loaded = Loaded { server: read(&files)?, stamp, looked: Instant::now(), complaint: None };
        let is_self_signed = config.tls == Some(TlsConfig::SelfSigned);
        Ok(Some(Self { files, is_self_signed, loaded: Mutex::new(loaded) }))
    }

    /// Whether it is the operator's own.
    pub(crate) fn is_own(&self) -> bool {
        !self.is_self_signed
    }

    /// The configuration of a new connection, with the newest valid certificate. Invalid files are checked again later, since key and
    /// certificate are seldom replaced at the same instant.
    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.looked.elapsed() < LOOK_AGAIN {
            return Arc::clone(&loaded.server);
        }
        loaded.looked = Instant::now();
        let stamp = stamp(&self.files);
        if stamp != loaded.stamp {
            match read(&self.files) {
                Ok(server) => {
                    println!("the certificate {} was read again", self.files[0].display());
                    (loaded.server, loaded.stamp, loaded.complaint) = (server, stamp, None);
                }
                Err(error) => {
                    let complaint = format!("the certificate stays as it was: {error:#}");
                    if loaded.complaint.as_ref() != Some(&complaint) {
                        eprintln!("{complaint}");
                    }
                    loaded.complaint = Some(complaint);
                }
            }
        }
        Arc::clone(&loaded.server)
    }
}

fn stamp(files: &[PathBuf; 2]) -> Stamp {
    files.each_ref().map(|file| {
        let file = fs::metadata(file).ok()?;
        let changed = i128::from(file.ctime()) * 1_000_000_000 + i128::from(file.ctime_nsec());
        Some((file.size(), file.ino(), changed))
    })
}

/// SHA-256 of the self-signed certificate, in the form that browsers show; `None` if it does not exist yet.
///
/// # Errors
/// Its file cannot be read.
pub fn self_signed_fingerprint(config: &WebConfig) -> Result<Option<String>> {
    let path = config.state.join(SELF_SIGNED);
    let Some(pem) = read_private(&path).with_context(|| path.display().to_string())? else { return Ok(None) };
    let certificates = certificates(&path, pem.as_bytes())?;
    let digits = Sha256::digest(&certificates[0]);
    Ok(Some(digits.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")))
}

/// Checks the operator's own certificate, if one is configured.
///
/// # Errors
/// An invalid file, with the reason.
pub fn check_certificate(config: &WebConfig) -> Result<()> {
    match &config.tls {
        Some(TlsConfig::Own { certificate, key }) => read(&[certificate.clone(), key.clone()]).map(drop),
        _ => Ok(()),
    }
}

/// The files of the self-signed certificate, made if missing. It does not expire, because a box may have no clock and users trust it
/// by its fingerprint.
fn self_signed(config: &WebConfig) -> Result<[PathBuf; 2]> {
    let files = [SELF_SIGNED, SELF_SIGNED_KEY].map(|name| config.state.join(name));
    if fs::exists(&files[0]).with_context(|| files[0].display().to_string())? {
        return Ok(files);
    }
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".into(), "::1".into()];
    if !config.listen.ip().is_loopback() && !config.listen.ip().is_unspecified() {
        names.push(config.listen.ip().to_string());
    }
    names.extend(config.names.iter().cloned());
    let make = || -> Result<_, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "Evenair");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
    };
    let (certificate, key) = make().context("cannot make a self-signed certificate: see `names` in web.toml")?;
    for (file, text) in [(&files[1], key), (&files[0], certificate)] {
        write_private(file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(files)
}

/// The TLS configuration with the certificate and key of these files.
fn read([certificate, key]: &[PathBuf; 2]) -> Result<Arc<ServerConfig>> {
    let text = |path: &Path, what| fs::read(path).with_context(|| format!("tls.{what}: {}", path.display()));
    let chain = certificates(certificate, &text(certificate, "certificate")?)?;
    let wrong_key = |why: &dyn Display| anyhow!("tls.key: {}: {why}", key.display());
    let private = PrivateKeyDer::from_pem_slice(&text(key, "key")?).map_err(|error| match error {
        PemError::NoItemsFound => wrong_key(&"there is no private key in PEM in it (-----BEGIN PRIVATE KEY-----)"),
        error => wrong_key(&format!("it is no PEM: {error}")),
    })?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().context("TLS")?.with_no_client_auth();
    let mut server = builder.with_single_cert(chain, private).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            wrong_key(&format!("it is not the key of the certificate {}", certificate.display()))
        }
        rustls::Error::InvalidCertificate(why) => {
            anyhow!("tls.certificate: {}: not a certificate of X.509: {why:?}", certificate.display())
        }
        error => wrong_key(&format!("the key cannot be used: {error}")),
    })?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(server))
}

/// The certificates of a PEM file, the page's own first.
fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let mut chain = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let number = chain.len() + 1;
        let what = || format!("tls.certificate: {}: certificate {number} is no PEM", path.display());
        chain.push(certificate.with_context(what)?);
    }
    if chain.is_empty() {
        let path = path.display();
        bail!("tls.certificate: {path}: there is no certificate in PEM in it (-----BEGIN CERTIFICATE-----)");
    }
    Ok(chain)
}
