//! HTTPS with self-signed certificates, as in access points and controllers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use evenair_telemetry::unifi::Unifi;
use evenair_telemetry::{Credentials, Source, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The certificate that a server presents, and its key.
struct Identity {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

fn params(name: &str, is_ca: IsCa) -> CertificateParams {
    let names: Vec<String> = if name.is_empty() { Vec::new() } else { vec![name.into()] };
    let mut params = CertificateParams::new(names).expect("a name");
    params.distinguished_name.push(DnType::CommonName, "UniFi");
    params.is_ca = is_ca;
    params
}

/// A self-signed certificate for this name.
fn own(name: &str, is_ca: IsCa) -> Identity {
    let key = KeyPair::generate().expect("a key");
    let certificate = params(name, is_ca).self_signed(&key).expect("a certificate");
    Identity { certificate: certificate.der().clone(), key }
}

fn pem(certificate: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |bytes: &[u8]| {
        let number = bytes.iter().fold(0_u32, |number, &byte| number << 8 | u32::from(byte)) << (8 * (3 - bytes.len()));
        let digit = |at: usize| char::from(DIGITS[(number >> (18 - 6 * at)) as usize & 63]);
        (0..4).map(|at| if at <= bytes.len() { digit(at) } else { '=' }).collect::<String>()
    };
    let lines: Vec<String> = certificate.chunks(48).map(|line| line.chunks(3).map(group).collect()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

/// A controller that accepts any password and has one station. Returns its port.
fn serve(certificate: &CertificateDer<'static>, key: &KeyPair) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let key = provider.key_provider.load_private_key(key).expect("a key");
    // Without the check that the key matches the certificate.
    let identity = CertifiedKey::new(vec![certificate.clone()], key);
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_no_client_auth();
    let config = Arc::new(config.with_cert_resolver(Arc::new(SingleCertAndKey::from(identity))));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let mut stream = StreamOwned::new(connection, stream);
            thread::spawn(move || {
                let mut request = [0; 4_096];
                // Requests are short, and arrive as a whole.
                while let Ok(len @ 1..) = stream.read(&mut request) {
                    let is_login = request[..len].starts_with(b"POST");
                    if is_login && request[..len].ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    let body = if is_login || !request[..len].starts_with(b"GET") {
                        "{}"
                    } else {
                        r#"{"data":[{"mac":"02:00:00:00:00:0a","tx_rate":54000}]}"#
                    };
                    let head = format!("HTTP/1.1 200 OK\r\nSet-Cookie: T=t\r\nContent-Length: {}\r\n\r\n", body.len());
                    if stream.write_all(format!("{head}{body}").as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    port
}

/// Polls the stations of a server at this host.
fn stations(host: &str, port: u16, tls: &Tls) -> Result<usize, String> {
    let url = format!("https://{host}:{port}");
    let account = Credentials { user: "reader", password: "password" };
    let mut unifi = Unifi::new(&url, "default", account, tls, Duration::from_secs(5)).expect("a client");
    unifi.poll().map(|reading| reading.stations.len()).map_err(|error| error.to_string())
}

#[test]
fn the_pinned_certificate_is_trusted_whatever_it_says_and_no_other() {
    let fine = own("localhost", IsCa::ExplicitNoCa);
    let identities = [
        // A console's is for a name of its own; an older one has only a common name.
        ("another name", own("unifi.local", IsCa::ExplicitNoCa)),
        ("no name", own("", IsCa::NoCa)),
        // As made by `openssl req -x509`.
        ("an authority", own("localhost", IsCa::Ca(BasicConstraints::Unconstrained))),
        ("fine", own("localhost", IsCa::ExplicitNoCa)),
    ];
    for (what, identity) in &identities {
        let port = serve(&identity.certificate, &identity.key);
        for host in ["localhost", "127.0.0.1"] {
            assert_eq!(stations(host, port, &Tls::Pinned(pem(&identity.certificate))), Ok(1), "{what}");
        }
        assert_eq!(stations("localhost", port, &Tls::Any), Ok(1), "{what}");
        for wrong in [Tls::Public, Tls::Pinned(pem(&fine.certificate))] {
            let error = stations("localhost", port, &wrong).expect_err("not trusted");
            assert!(error.contains("its certificate is not trusted"), "{what}: {error}");
        }
    }
}

#[test]
fn the_pinned_certificate_without_its_key_is_refused() {
    let (console, thief) = (own("unifi.local", IsCa::ExplicitNoCa), own("unifi.local", IsCa::ExplicitNoCa));
    let port = serve(&console.certificate, &thief.key);
    let error = stations("localhost", port, &Tls::Pinned(pem(&console.certificate))).expect_err("not trusted");
    assert!(error.contains("BadSignature"), "{error}");
}

#[test]
fn certificates_signed_by_a_pinned_authority_are_trusted_for_their_name() {
    let authority = CertifiedIssuer::self_signed(
        params("", IsCa::Ca(BasicConstraints::Unconstrained)),
        KeyPair::generate().expect("a key"),
    );
    let authority = authority.expect("a certificate");
    let pinned = Tls::Pinned(pem(authority.der()));
    for (name, is_trusted) in [("localhost", true), ("unifi.local", false)] {
        let key = KeyPair::generate().expect("a key");
        let signed = params(name, IsCa::ExplicitNoCa).signed_by(&key, &authority).expect("a certificate");
        let port = serve(signed.der(), &key);
        assert_eq!(stations("localhost", port, &pinned).is_ok(), is_trusted, "{name}");
    }
    // A chain in one file, the server's certificate first.
    let console = own("unifi.local", IsCa::ExplicitNoCa);
    let port = serve(&console.certificate, &console.key);
    let chain = Tls::Pinned([pem(&console.certificate), pem(authority.der())].concat());
    assert_eq!(stations("localhost", port, &chain), Ok(1));
}
