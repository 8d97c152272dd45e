//! A change of the machine: how to make it, and the equivalent shell command.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use evenair_sys::{iproute, netns};

/// Marks the disabled lines of another program's file, so that they can be restored.
pub(super) const TAKEN_OUT: &str = "#evenair# ";
/// Timeout for another program to join interfaces.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A change of the network, or of its configuration files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A command of `ip`, `nft`, `networkctl` or `systemctl`, or `sysctl NAME=VALUE`.
    Run(String),
    /// Replace the content of a file with this text.
    Write(PathBuf, String),
    /// Remove a file.
    Remove(PathBuf),
    /// Restore the marked lines of a file, and remove this one.
    PutBack(PathBuf, String),
    /// Wait until another program has made these interfaces ports of the bridge.
    Await { bridge: String, ports: [String; 2] },
}

impl Act {
    /// Makes the change.
    ///
    /// # Errors
    /// The failure, as text.
    pub(super) fn make(&self) -> Result<(), String> {
        match self {
            Self::Run(command) => run(command),
            Self::Write(path, text) => {
                let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
                parent
                    .and_then(|()| write_whole(path, text))
                    .map_err(|error| format!("write {}: {error}", path.display()))
            }
            Self::Remove(path) => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(format!("remove {}: {error}", path.display()))
                }
                _ => Ok(()),
            },
            Self::PutBack(path, added) => {
                let describe = |error| format!("{}: {error}", path.display());
                let text = fs::read_to_string(path).map_err(describe)?;
                write_whole(path, &put_back(&text, added)).map_err(describe)
            }
            Self::Await { bridge, ports } => await_ports(bridge, ports),
        }
    }

    /// The change as shell code; `before` is put in front of a command.
    pub(super) fn in_shell(&self, before: &str) -> String {
        match self {
            Self::Run(command) => match command.split_once(' ') {
                // Quoted, because the shell would interpret braces and semicolons.
                Some(("nft", words)) => format!("{before}nft {}", Self::quoted(words)),
                Some(("sysctl", setting)) => format!("{before}sysctl -w {}", Self::quoted(setting)),
                _ => format!("{before}{}", command.split(' ').map(Self::quoted).collect::<Vec<_>>().join(" ")),
            },
            Self::Write(path, text) => {
                // A delimiter that is no line of the text.
                let mut end = "END".to_owned();
                while text.lines().any(|line| line == end) {
                    end.push('_');
                }
                let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                format!("cat >{} <<'{end}'\n{text}{newline}{end}", Self::quoted(&path.to_string_lossy()))
            }
            Self::Remove(path) => format!("rm -f {}", Self::quoted(&path.to_string_lossy())),
            Self::PutBack(path, added) => {
                let path = Self::quoted(&path.to_string_lossy());
                let drop = if added.is_empty() {
                    String::new()
                } else {
                    format!(" -e {}", Self::quoted(&format!("\\|^{added}$|d")))
                };
                format!("sed -i -e 's/^{TAKEN_OUT}//'{drop} {path}")
            }
            Self::Await { bridge, ports } => {
                format!("# until {} and {} are ports of {bridge}", ports[0], ports[1])
            }
        }
    }

    /// A word quoted for a shell.
    pub(super) fn quoted(word: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@+".contains(c);
        match !word.is_empty() && word.chars().all(plain) {
            true => word.to_owned(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    }
}

/// Replaces a file atomically, also in case of a power loss. Keeps its mode.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".evenair-new");
    let mut file = fs::File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    if let Ok(there) = fs::metadata(path) {
        file.set_permissions(there.permissions())?;
    }
    file.sync_all()?;
    fs::rename(&beside, path)
}

fn put_back(text: &str, added: &str) -> String {
    // Not `lines`, which would strip a carriage return.
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n').filter(|line| added.is_empty() || *line != added);
    lines.map(|line| format!("{}\n", line.strip_prefix(TAKEN_OUT).unwrap_or(line))).collect()
}

fn run(command: &str) -> Result<(), String> {
    match command.split_once(' ') {
        // nft parses its own language, in one argument.
        Some(("nft", words)) => iproute::run(&["nft", words]).map(drop),
        Some(("sysctl", setting)) => {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            netns::set_sysctl(name, value).map_err(|error| error.to_string())
        }
        _ => iproute::run(&command.split(' ').collect::<Vec<_>>()).map(drop),
    }
}

fn await_ports(bridge: &str, ports: &[String; 2]) -> Result<(), String> {
    let began = Instant::now();
    let missing = || ports.iter().find(|port| !PathBuf::from(format!("/sys/class/net/{bridge}/brif/{port}")).exists());
    while let Some(port) = missing() {
        if began.elapsed() > PATIENCE {
            return Err(format!("{port} has not become a port of {bridge} within {} s", PATIENCE.as_secs()));
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words_in_a_shell() {
        let shell = |command: &str| Act::Run(command.into()).in_shell("try ");
        assert_eq!(shell("ip link set eth0 up"), "try ip link set eth0 up");
        assert_eq!(shell("ip link set e$0 up"), "try ip link set 'e$0' up");
        assert_eq!(shell("nft add chain a b { type nat ; }"), "try nft 'add chain a b { type nat ; }'");
        assert_eq!(shell("sysctl net/ipv4/ip_forward=1"), "try sysctl -w net/ipv4/ip_forward=1");
        assert_eq!(Act::quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn lines_that_were_taken_out_come_back_and_what_was_added_goes() {
        let text = format!("auto lo\r\n\n{TAKEN_OUT}auto eth0\n{TAKEN_OUT}iface eth0 inet dhcp\nsource x\n");
        let back = "auto lo\r\n\nauto eth0\niface eth0 inet dhcp\n";
        assert_eq!((put_back(&text, "source x"), put_back(&text, "")), (back.to_owned(), format!("{back}source x\n")));
        // The same by a shell.
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("interfaces");
        for added in ["source x", ""] {
            fs::write(&file, &text).expect("written");
            let line = Act::PutBack(file.clone(), added.into()).in_shell("");
            assert!(std::process::Command::new("sh").args(["-c", &line]).status().expect("a shell").success());
            assert_eq!(fs::read_to_string(&file).expect("readable"), put_back(&text, added));
        }
    }
}
