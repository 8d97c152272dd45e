//! A net-snmp agent of our own, on loopback, with tables that a script serves.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use evenair_telemetry::Source;
use evenair_telemetry::snmp::{Agent, Encryption, Hash, Version};
use tempfile::TempDir;

/// Serves a file of objects, one per line: identifier, type, value. net-snmp sends requests on its standard input
/// (snmpd.conf(5), `pass_persist`).
const SCRIPT: &str = r#"#!/usr/bin/python3 -u
import sys
key = lambda oid: [int(n) for n in oid.strip('.').split('.')]
rows = sorted((line.rstrip('\n').split(' ', 2) for line in open(sys.argv[1])), key=lambda row: key(row[0]))
keys = [key(row[0]) for row in rows]
while True:
    command = sys.stdin.readline().strip()
    if not command:
        break
    if command == 'PING':
        print('PONG')
        continue
    asked = key(sys.stdin.readline())
    if command == 'get':
        found = [row for row, k in zip(rows, keys) if k == asked]
    else:
        found = [row for row, k in zip(rows, keys) if k > asked]
    print('NONE' if not found else '.' + found[0][0] + '\n' + found[0][1] + '\n' + found[0][2])
"#;

pub const USER: &str = "operator";
pub const AUTHENTICATION: &str = "long enough to sign";
pub const PRIVACY: &str = "long enough to hide";
const COMMUNITY: &str = "readers";

pub struct Net {
    _folder: TempDir,
    agent: Child,
    pub address: String,
}

/// An agent with `enterprise` as its `sysObjectID` and these objects; `None`, with the reason printed, if net-snmp is
/// unavailable.
pub fn start(enterprise: &str, objects: &[(String, &str, String)]) -> Option<Net> {
    let Some(program) = ["/usr/sbin/snmpd", "/sbin/snmpd"].into_iter().find(|path| fs::exists(path).unwrap_or(false))
    else {
        println!("skipped: snmpd is not installed");
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let lines: Vec<_> = objects.iter().map(|(oid, kind, value)| format!("{oid} {kind} {value}\n")).collect();
    fs::write(path("objects"), lines.concat()).expect("written");
    fs::write(path("serve"), SCRIPT).expect("written");
    fs::set_permissions(path("serve"), fs::Permissions::from_mode(0o755)).expect("executable");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address").to_string();
    drop(socket);
    let serve = format!("{} {}", path("serve").display(), path("objects").display());
    let roots = ["1.3.6.1.4.1.9", "1.3.6.1.4.1.14179", "1.3.6.1.4.1.14823", "1.3.6.1.4.1.14988", "1.3.6.1.4.1.26928"];
    let radios = ["1.3.6.1.2.1.2.2.1", "1.2.840.10036"];
    let passes: String = roots.iter().chain(&radios).map(|root| format!("pass_persist .{root} {serve}\n")).collect();
    let text = format!(
        "agentaddress udp:{address}\nrocommunity {COMMUNITY}\nsysObjectID .{enterprise}\n{passes}\
         createUser {USER} SHA-256 \"{AUTHENTICATION}\" AES \"{PRIVACY}\"\nrouser {USER} authPriv\n\
         createUser signer SHA \"{AUTHENTICATION}\"\nrouser signer authNoPriv\n"
    );
    fs::write(path("snmpd.conf"), text).expect("written");
    let conf = path("snmpd.conf");
    let agent = Command::new(program)
        .args(["-f", "-Ln", "-C", "-c"])
        .arg(&conf)
        .args(["-I", "-ifTable,ifXTable,interfaces", "-p"])
        .arg(path("pid"))
        .env("SNMP_PERSISTENT_DIR", folder.path())
        .stdin(Stdio::null())
        .spawn()
        .expect("it starts");
    let net = Net { _folder: folder, agent, address };
    let began = Instant::now();
    while net.v2c(None).poll().is_err() {
        assert!(began.elapsed() < Duration::from_secs(20), "snmpd does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(net)
}

impl Net {
    pub fn v2c(&self, table: Option<&str>) -> Agent {
        self.asked_by(Version::V2c { community: COMMUNITY.into() }, table)
    }

    pub fn v3(&self, user: &str, privacy: Option<(Encryption, &str)>, hash: Hash, password: &str) -> Agent {
        let version = Version::V3 {
            user: user.into(),
            authentication: Some((hash, password.into())),
            privacy: privacy.map(|(cipher, password)| (cipher, password.into())),
        };
        self.asked_by(version, None)
    }

    pub fn asked_by(&self, version: Version, table: Option<&str>) -> Agent {
        let table = table.map(|name| Agent::table(name).expect("a table"));
        Agent::new(&self.address, version, table, Duration::from_millis(1_000))
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}
