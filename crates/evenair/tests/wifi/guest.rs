//! A virtual machine of `scripts/wifi-vm` or `scripts/service-vm`, controlled over its serial port.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use evenair_sys::netns::Netns;
use evenair_sys::process;

/// Timeout of a command and of the start: an emulated processor on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_AT_THE_START: Duration = Duration::from_secs(240);

/// A running machine, switched off when dropped.
pub struct Guest {
    child: Child,
    commands: ChildStdin,
    lines: Receiver<String>,
    console: PathBuf,
}

/// Description of the machine to start.
pub struct Machine<'a> {
    /// The output of the script: qemu, vmlinuz, initramfs.
    pub folder: &'a Path,
    pub memory_mb: u32,
    /// The TAP device at the other end of its network port, with its namespace.
    pub network: Option<(&'a Netns, &'a str)>,
}

/// A file to add to the machine.
pub struct Extra<'a> {
    pub path: &'a str,
    pub mode: u32,
    pub bytes: Vec<u8>,
}

impl Guest {
    /// Starts a machine; `folder` is for its files. Returns when it accepts commands.
    pub fn boot(machine: &Machine<'_>, folder: &Path, extras: &[Extra<'_>]) -> Self {
        let made = machine.folder;
        let initramfs = folder.join("initramfs");
        let mut bytes = std::fs::read(made.join("initramfs")).expect("the script made it");
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(archive(extras));
        std::fs::write(&initramfs, bytes).expect("written");
        let console = folder.join("console");
        let mut command = Command::new(made.join("qemu"));
        command.args(["-accel", "tcg", "-cpu", "max", "-M", "q35", "-nodefaults", "-no-user-config"]);
        command.args(["-display", "none", "-no-reboot", "-append", "console=ttyS0 quiet panic=-1", "-kernel"]);
        command.arg(made.join("vmlinuz")).arg("-initrd").arg(initramfs);
        command.arg("-serial").arg(format!("file:{}", console.display())).args(["-serial", "stdio"]);
        command.args(["-m", &machine.memory_mb.to_string()]);
        if let Some((_, tap)) = machine.network {
            command.args(["-netdev", &format!("tap,id=net,ifname={tap},script=no,downscript=no,vnet_hdr=off")]);
            command.args(["-device", "virtio-net-pci,netdev=net,romfile=,mac=02:00:00:00:aa:01"]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = process::tie(&mut command, machine.network.map(|(namespace, _)| namespace.as_fd()))
            .spawn()
            .expect("the emulator starts");
        let commands = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || output.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        let guest = Self { child, commands, lines, console };
        assert_eq!(guest.answer("the start", PATIENCE_AT_THE_START).0, 0);
        guest
    }

    /// Runs a line of shell. Returns its exit status and output.
    pub fn run(&mut self, line: &str) -> (i32, String) {
        writeln!(self.commands, "{line}").expect("the machine runs");
        self.answer(line, PATIENCE)
    }

    /// Runs a line of shell that must succeed. Returns its output.
    pub fn must(&mut self, line: &str) -> String {
        let (code, output) = self.run(line);
        assert_eq!(code, 0, "{line}\n{output}");
        output
    }

    /// Repeats a line of shell until `is_so` accepts its output.
    pub fn until(&mut self, line: &str, is_so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let (_, output) = self.run(line);
            if is_so(&output) {
                return output;
            }
            assert!(began.elapsed() < PATIENCE, "{line}\n{output}\n{}", self.logs());
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn logs(&mut self) -> String {
        self.run("cat /run/*.log; journalctl -n 40; dmesg | tail -n 40").1
    }

    fn answer(&self, line: &str, patience: Duration) -> (i32, String) {
        let deadline = Instant::now() + patience;
        let mut output = String::new();
        loop {
            let Ok(next) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) else {
                let console = std::fs::read_to_string(&self.console).unwrap_or_default();
                panic!("the virtual machine does not answer to {line}\n{output}\n{console}");
            };
            match next.strip_prefix("--done ") {
                Some(code) => return (code.parse().expect("a status"), output),
                None => output += &(next + "\n"),
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An archive of files for the kernel's initramfs (cpio, "newc"), which is appended to the existing one.
fn archive(files: &[Extra<'_>]) -> Vec<u8> {
    let end = Extra { path: "TRAILER!!!", mode: 0, bytes: Vec::new() };
    let mut bytes = Vec::new();
    for (number, file) in (1..).zip(files.iter().chain([&end])) {
        let name_len = file.path.len() + 1;
        let fields =
            [number, 0o100_000 | file.mode, 0, 0, 1, 0, file.bytes.len() as u32, 0, 0, 0, 0, name_len as u32, 0];
        bytes.extend(b"070701");
        fields.iter().for_each(|field| bytes.extend(format!("{field:08x}").bytes()));
        bytes.extend(file.path.bytes().chain([0]));
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(&file.bytes);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}
