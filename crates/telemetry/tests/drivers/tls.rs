//! HTTPS with a certificate that the server has signed itself, as access points have one.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evenair_telemetry::unifi::Unifi;
use evenair_telemetry::{Credentials, Source, Tls};

/// A controller that takes any password, and tells of one station.
const SERVER: &str = r#"
import http.server, ssl, sys
class Controller(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        self.send_response(200)
        self.send_header('Set-Cookie', 'TOKEN=t; Path=/')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.answer(b'{}')
    def do_GET(self):
        self.answer(b'{"data":[{"mac":"02:00:00:00:00:0a","tx_rate":54000}]}')
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Controller)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"#;

struct Server(Child, u16);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A certificate for this name and its key, made by OpenSSL; false: it cannot be had.
fn certificate(folder: &Path, name: &str, subject: &str) -> bool {
    let file = |ending: &str| folder.join(format!("{name}.{ending}")).display().to_string();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"])
        .args(["-subj", "/CN=controller", "-addext", subject, "-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", &file("key"), "-out", &file("pem")])
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: openssl is not installed");
        return false;
    }
    true
}

fn serve(folder: &Path, name: &str) -> Server {
    let file = |ending: &str| folder.join(format!("{name}.{ending}"));
    let mut python = Command::new("python3");
    python.arg("-c").arg(SERVER).arg(file("pem")).arg(file("key")).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = python.spawn().expect("python3 is installed");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it tells its port");
    Server(child, line.trim().parse().expect("a port"))
}

#[test]
fn a_certificate_is_checked_unless_configured_otherwise() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    if !certificate(folder, "own", "subjectAltName=IP:127.0.0.1")
        || !certificate(folder, "other", "subjectAltName=IP:127.0.0.1")
    {
        return;
    }
    let server = serve(folder, "own");
    let stations = |tls: &Tls| {
        let url = format!("https://127.0.0.1:{}", server.1);
        let timeout = Duration::from_secs(5);
        let mut unifi = Unifi::new(&url, "default", Credentials { user: "reader", password: "password" }, tls, timeout)
            .expect("a client");
        unifi.poll().map(|reading| reading.stations.len())
    };
    let pem = |name: &str| fs::read_to_string(folder.join(name)).expect("made");
    assert_eq!(stations(&Tls::Any).expect("any will do"), 1);
    assert_eq!(stations(&Tls::Pinned(pem("own.pem"))).expect("its own"), 1);
    for wrong in [Tls::Public, Tls::Pinned(pem("other.pem"))] {
        let error = stations(&wrong).expect_err("not trusted").to_string();
        assert!(error.contains("certificate"), "{error}");
    }
}
