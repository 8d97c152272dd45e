//! The environment of the box: a namespace with the bridge and the virtual machine's port, and one that is a wired host with
//! a DHCP server, which also advertises an IPv6 network.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::Status;
use evenair_client::control::Client;
use evenair_sys::netns::Netns;
use evenair_sys::process;

/// Addresses of the wired host.
pub const HOST: &str = "10.77.0.1";
pub const HOST_V6: &str = "fd77::1";
/// Address of the machine with both access points.
pub const ACCESS_POINTS: &str = "10.77.0.2";
/// The box's password for reports of stations.
pub const SECRETS: &str = "password = \"between the box and its access points\"\n";

/// The namespaces and their processes, removed at the end of the test.
pub struct Site {
    pub middle: Netns,
    pub folder: tempfile::TempDir,
    sink: Netns,
    programs: Vec<Child>,
}

impl Site {
    pub fn new(machine: &Path) -> Self {
        let namespace = || Netns::new().expect("make measure NAME=wifi runs as root");
        let (middle, sink) = (namespace(), namespace());
        let folder = tempfile::tempdir().expect("a folder");
        let host = format!("/proc/{}/fd/{}", std::process::id(), sink.as_fd().as_raw_fd());
        let cable = format!("link add wi0 type veth peer name k0 netns {host}");
        for change in ["link add br0 type bridge mcast_snooping 0", "tuntap add tap0 mode tap", &cable] {
            ip(&middle, change);
        }
        for port in ["tap0", "wi0"] {
            ip(&middle, &format!("link set {port} master br0"));
            ip(&middle, &format!("link set {port} up"));
        }
        ip(&middle, "link set br0 up");
        ip(&middle, "addr add 10.77.0.3/24 dev br0");
        // Segments of one packet each, as on a wire.
        for change in ["link set lo up", "link set k0 gso_max_segs 1", "link set k0 up"] {
            ip(&sink, change);
        }
        ip(&sink, &format!("addr add {HOST}/24 dev k0"));
        ip(&sink, &format!("addr add {HOST_V6}/64 dev k0 nodad"));
        let mut this = Self { middle, folder, sink, programs: Vec::new() };
        let leases = format!("--dhcp-leasefile={}", this.folder.path().join("leases").display());
        let mut dnsmasq = Command::new(machine.join("dnsmasq"));
        dnsmasq.args(["--keep-in-foreground", "--conf-file=/dev/null", "--user=root", "--group=root", "--port=0"]);
        dnsmasq.args(["--interface=k0", "--bind-interfaces", "--no-ping", "--pid-file=", "--log-facility=-", &leases]);
        dnsmasq.args(["--dhcp-range=10.77.0.100,10.77.0.200,1h", "--enable-ra", "--dhcp-range=fd77::,ra-only"]);
        this.start(&mut dnsmasq);
        for port in ["5201", "5202"] {
            this.start(Command::new("iperf3").args(["--server", "--port", port]));
        }
        this
    }

    /// Runs a program on the wired host until the end.
    fn start(&mut self, command: &mut Command) {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = process::tie(command, Some(self.sink.as_fd())).spawn();
        self.programs.push(child.expect("it is installed"));
    }

    /// The box as installed, inserted from the start. An evenair on the access points reports their stations to it.
    pub fn start_box(&self) -> BoxProcess {
        let file = |name: &str| self.folder.path().join(name);
        std::fs::write(file("secrets"), SECRETS).expect("written");
        let source = |port: u16| {
            format!(
                "[[telemetry]]\nkind = \"evenair\"\nurl = \"http://{ACCESS_POINTS}:{port}\"\nsecrets = {:?}\n\
                 interval = \"2 s\"\n",
                file("secrets")
            )
        };
        let text = format!(
            "[ports]\nwlan = \"tap0\"\nwire = \"wi0\"\nbridge = \"br0\"\nmode = \"inserted\"\n\
             [control]\nsocket = {:?}\n[radio]\nstandard = \"802.11g\"\n\
             [[manager.access_point]]\nname = \"hall\"\nbssid = [\"02:00:00:00:00:00\"]\n\
             [[manager.access_point]]\nname = \"yard\"\nbssid = [\"02:00:00:00:01:00\"]\n{}{}",
            file("box.sock"),
            source(9470),
            source(9471)
        );
        std::fs::write(file("box.toml"), text).expect("written");
        // The program belongs to another package, which cargo builds into the same folder.
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_evenair")).with_file_name("evenaird"));
        command.arg("--config").arg(file("box.toml"));
        let child = process::tie(&mut command, Some(self.middle.as_fd())).spawn();
        let child = child.expect("built before: cargo build -p evenaird");
        let mut running = BoxProcess { child, socket: file("box.sock") };
        let began = Instant::now();
        while Client::connect(&running.socket).is_err() {
            assert!(running.child.try_wait().expect("a child").is_none(), "the box ended");
            assert!(began.elapsed() < Duration::from_secs(20), "the box does not answer");
            thread::sleep(Duration::from_millis(20));
        }
        running
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// The box's process, killed when dropped.
pub struct BoxProcess {
    child: Child,
    socket: PathBuf,
}

impl BoxProcess {
    pub fn client(&self) -> Client {
        Client::connect(&self.socket).expect("the box answers")
    }

    /// Waits until `is_so` accepts the box's status.
    pub fn until(&self, what: &str, is_so: impl Fn(&Status) -> bool) -> Status {
        let (mut client, began) = (self.client(), Instant::now());
        loop {
            let status = client.status().expect("it answers");
            if is_so(&status) {
                return status;
            }
            let parts = (&status.stations, &status.telemetry, &status.rate_reports, &status.domains);
            assert!(began.elapsed() < Duration::from_secs(60), "{what}: {parts:#?}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for BoxProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ip(namespace: &Netns, arguments: &str) {
    let mut command = Command::new("ip");
    command.args(arguments.split_whitespace());
    let output = process::tie(&mut command, Some(namespace.as_fd())).output().expect("ip(8) is installed");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}
