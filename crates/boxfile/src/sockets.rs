//! The configuration of the box's sockets: `[control]`.

use std::path::{Path, PathBuf};

use evenair_reader::Written;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sockets of the running box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControlSpec {
    /// Path of the Unix socket that the box creates.
    pub socket: Written<String>,
    /// Path of the Unix socket on which the box shows what it does, second by second, to programs that may change nothing. Default:
    /// beside the control socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Written<String>>,
}

/// Default path of the watch socket: "watch.sock" for "control.sock", "NAME.watch.sock" for "NAME.sock".
pub fn watch_socket_beside(control: &Path) -> PathBuf {
    let stem = control.file_stem().filter(|stem| *stem != "control");
    control.with_file_name(stem.map_or_else(|| "watch.sock".into(), |stem| format!("{}.watch.sock", stem.display())))
}

#[cfg(test)]
mod tests {
    use crate::BoxConfig;

    #[test]
    fn the_watch_socket_is_beside_the_control_socket_unless_it_is_named() {
        for (control, watch) in [
            ("[control]\nsocket = \"/run/evenair/control.sock\"", Some("/run/evenair/watch.sock")),
            ("[control]\nsocket = \"/tmp/hall.sock\"", Some("/tmp/hall.watch.sock")),
            ("[control]\nsocket = \"/tmp/hall.sock\"\nwatch = \"/run/look\"", Some("/run/look")),
            ("", None),
        ] {
            let text = format!("[ports]\nwlan = \"a\"\nwire = \"b\"\n{control}\n[radio]\nstandard = \"802.11g\"\n");
            let config = BoxConfig::parse(&text, "box.toml").expect("good");
            assert_eq!(config.watch_socket(), watch.map(Into::into), "{control}");
        }
    }
}
