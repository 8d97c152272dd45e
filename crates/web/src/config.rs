//! The file of the page's program: `/etc/evenair/web.toml`.
//!
//! ```toml
//! listen = "127.0.0.1:9471"
//! socket = "/run/evenair/watch.sock"
//! names = ["box.lan"]
//! ```
//!
//! Every key may be missing, and so may the file where none was named.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use evenair_reader::{ConfigError, List, OrDefault, Problems, Written, read};
use schemars::JsonSchema;
use serde::Deserialize;

/// Where the file is.
pub const CONFIG: &str = "/etc/evenair/web.toml";

/// The file as it is written.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct WebFile {
    /// Address and port of the page, on a loopback interface. Default: "127.0.0.1:9471".
    listen: Option<Written<String>>,
    /// The box's watch socket. Default: "/run/evenair/watch.sock".
    socket: Option<Written<String>>,
    /// Further names under which browsers reach the page, such as that of a tunnel's end.
    names: Option<List<String>>,
}

/// What the program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebConfig {
    /// Address and port of the page.
    pub listen: SocketAddr,
    /// The box's watch socket.
    pub socket: PathBuf,
    /// Host names under which requests are answered, beside the address and those of loopback.
    pub names: Vec<String>,
    /// The box ends with what it shows, as in the demo: this is what the page says then, above its last numbers.
    pub farewell: Option<String>,
}

impl Default for WebConfig {
    fn default() -> Self {
        let file = WebFile::default();
        file.check(&mut Problems::default()).expect("defaults are right")
    }
}

impl WebConfig {
    /// More than any such file has, in bytes.
    const LONGEST_FILE: u64 = 64 * 1024;

    /// Reads the file.
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

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// Every problem with it: line, key and what is allowed.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let (raw, document, mut problems) = read::<WebFile>(text, file, &[])?;
        let config = raw.check(&mut problems);
        document.verdict(problems)?;
        Ok(config.expect("what could not be checked is a problem"))
    }
}

impl WebFile {
    fn check(&self, problems: &mut Problems) -> Option<WebConfig> {
        let listen = match &self.listen {
            None => Some(SocketAddr::from(([127, 0, 0, 1], 9471))),
            Some(written) => listen(written, problems),
        };
        let absolute = |path: &String| path.starts_with('/');
        let socket =
            self.socket.get_or_if("/run/evenair/watch.sock".into(), problems, absolute, "a path that begins with /");
        let names = match &self.names {
            None => Some(Vec::new()),
            Some(names) => names.get(problems),
        };
        Some(WebConfig { listen: listen?, socket: socket?.into(), names: names?, farewell: None })
    }
}

/// An address that other machines can reach is refused: there is no login yet.
fn listen(written: &Written<String>, problems: &mut Problems) -> Option<SocketAddr> {
    const ALLOWED: &str = "an address of loopback with a port, such as \"127.0.0.1:9471\" or \"[::1]:9471\"";
    let text = written.get(problems)?;
    let Ok(address) = text.parse::<SocketAddr>() else {
        problems.add(written.span(), format!("{written} is no address with a port"), ALLOWED);
        return None;
    };
    if !address.ip().is_loopback() {
        let what =
            format!("{written} could be reached from other machines, and the page has no login: use a tunnel (ssh -L)");
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
        for part in ["web.toml:1:", "no login", "web.toml:2:", "begins with /", "web.toml:3:", "names"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let error = WebConfig::parse("listen = 9471", "web.toml").expect_err("no text").to_string();
        assert!(error.contains("text in quotes"), "{error}");
        let error = WebConfig::parse("listen = \"localhost\"", "web.toml").expect_err("no port").to_string();
        assert!(error.contains("127.0.0.1:9471"), "{error}");
    }
}
