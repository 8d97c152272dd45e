//! Certificates.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use evenair_web::{TlsConfig, WebConfig, check_certificate, self_signed_fingerprint};
use rcgen::generate_simple_self_signed;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::site::{PASSWORD, Site, config, refusal};

/// Longer than the interval between checks of the files.
const LOOKED_AGAIN: Duration = Duration::from_millis(1100);

const GET: &str = "GET /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// A certificate in PEM, and its key.
fn certificate() -> (String, String) {
    let made = generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM")
}

/// Configures an operator's certificate in this folder, which is created.
fn own(config: &mut WebConfig, folder: &TempDir) {
    let [certificate, key] = ["web.pem", "web-key.pem"].map(|name| folder.path().join(name));
    let (pem, private) = self::certificate();
    put(folder.path(), &pem, &private);
    config.tls = Some(TlsConfig::Own { certificate, key });
}

fn put(folder: &Path, certificate: &str, key: &str) {
    fs::write(folder.join("web.pem"), certificate).expect("written");
    fs::write(folder.join("web-key.pem"), key).expect("written");
}

#[tokio::test]
async fn the_self_signed_certificate_is_made_once() {
    let mut site = Site::with(|config, _| config.tls = Some(TlsConfig::SelfSigned)).await;
    let path = site.file("self-signed.pem");
    let pem = fs::read_to_string(&path).expect("made");
    for name in ["self-signed.pem", "self-signed-key.pem"] {
        assert_eq!(fs::metadata(site.file(name)).expect("made").permissions().mode() & 0o777, 0o600, "{name}");
    }
    let fingerprint = self_signed_fingerprint(&site.config).expect("readable").expect("there");
    assert_eq!((fingerprint.len(), fingerprint.split(':').count()), (95, 32));
    let (answer, certificate) = site.send_tls(&[der(&pem)], GET).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("strict-transport-security"), None, "browsers would refuse it for good");
    assert_eq!(certificate, der(&pem));
    site.restart().await;
    assert_eq!(site.send_tls(&[der(&pem)], GET).await.1, certificate);
    assert_eq!(self_signed_fingerprint(&site.config).expect("readable"), Some(fingerprint));
    fs::remove_file(site.file("self-signed-key.pem")).expect("there");
    let error = refusal(site.config.clone()).await;
    assert!(error.contains("self-signed-key.pem"), "it is not replaced silently: {error}");
}

#[tokio::test]
async fn over_tls_the_cookie_is_secure_and_browsers_stay_with_tls() {
    let site = Site::with(own).await;
    let trusted = [der(&fs::read_to_string(site.folder.path().join("web.pem")).expect("there"))];
    let token = site.token();
    let form = [("token", &*token), ("name", "anna"), ("password", PASSWORD), ("again", PASSWORD)];
    let (answer, _) = site.send_tls(&trusted, &site.post_request("/setup", &form, "")).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let form = [("name", "anna"), ("password", PASSWORD)];
    let plain = site.post_request("/login", &form, "").replace("https://", "http://");
    assert_eq!(site.send_tls(&trusted, &plain).await.0.status, 403, "of the same host without TLS");
    let (answer, _) = site.send_tls(&trusted, &site.post_request("/login", &form, "")).await;
    let cookie = answer.header("set-cookie").expect("a session");
    assert!(cookie.starts_with("__Host-evenair=") && cookie.contains("; Path=/;"), "{cookie}");
    assert!(["; HttpOnly", "; SameSite=Strict", "; Secure"].iter().all(|flag| cookie.contains(flag)), "{cookie}");
    assert!(!cookie.contains("Domain"), "{cookie}");
    assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"));
    let with_cookie =
        |cookie: &str| GET.replace("/login", "/nothing").replace("\r\n\r\n", &format!("\r\nCookie: {cookie}\r\n\r\n"));
    assert_eq!(site.send_tls(&trusted, &with_cookie(&answer.cookie())).await.0.status, 404);
    let without_prefix = answer.cookie().replace("__Host-", "");
    assert_eq!(site.send_tls(&trusted, &with_cookie(&without_prefix)).await.0.status, 401);
    assert_ne!(site.send(GET).await.status, 200, "nothing is answered without TLS");
}

#[tokio::test]
async fn a_certificate_is_read_again_when_it_changes_and_not_while_it_is_wrong() {
    let site = Site::with(own).await;
    let folder = site.folder.path();
    let old = der(&fs::read_to_string(folder.join("web.pem")).expect("there"));
    let (pem, key) = certificate();
    let trusted = [old.clone(), der(&pem)];
    assert_eq!(site.send_tls(&trusted, GET).await.1, old);
    fs::write(folder.join("web.pem"), &pem).expect("written");
    sleep(LOOKED_AGAIN).await;
    assert_eq!(site.send_tls(&trusted, GET).await.1, old, "the key is still that of the old one");
    fs::write(folder.join("web-key.pem"), key).expect("written");
    sleep(LOOKED_AGAIN).await;
    let (answer, certificate) = site.send_tls(&trusted, GET).await;
    assert_eq!((answer.status, certificate), (200, der(&pem)));
}

#[tokio::test]
async fn wrong_files_are_refused_with_file_and_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(&folder);
    own(&mut config, &folder);
    check_certificate(&config).expect("right");
    let (right, (pem, key)) = (certificate(), certificate());
    let broken = pem.replacen('M', "*", 1);
    for (certificate, key, parts) in [
        ("", &*key, ["tls.certificate: ", "web.pem: there is no certificate"]),
        (&key, &key, ["tls.certificate: ", "web.pem: there is no certificate"]),
        (&broken, &key, ["tls.certificate: ", "web.pem: certificate 1 is no PEM"]),
        (&format!("{pem}{broken}"), &key, ["tls.certificate: ", "certificate 2 is no PEM"]),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &key, ["tls.certificate: ", "X.509"]),
        (&pem, "", ["tls.key: ", "web-key.pem: there is no private key"]),
        (&pem, &pem, ["tls.key: ", "web-key.pem: there is no private key"]),
        (&pem, &right.1, ["tls.key: ", "it is not the key of the certificate"]),
    ] {
        put(folder.path(), certificate, key);
        let error = refusal(config.clone()).await;
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
        assert!(check_certificate(&config).is_err());
    }
    fs::remove_file(folder.path().join("web.pem")).expect("there");
    let error = refusal(config).await;
    assert!(error.contains("tls.certificate: ") && error.contains("No such file"), "{error}");
}
