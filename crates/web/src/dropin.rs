//! Permits the service to command the box: a drop-in of its unit, with the group that may open the control socket.
//!
//! `evenair-web setup` writes it with the first account that may command the box; without one, the service has no access to the
//! socket.

use std::fs;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use crate::config::WebConfig;

/// The unit, and the group of the control socket.
const UNIT: &str = "evenair-web.service";
const GROUP: &str = "evenair";
/// Path of the drop-in, relative to the root of the file system.
const FILE: &str = "etc/systemd/system/evenair-web.service.d/50-control.conf";

/// Result of permitting commands.
#[derive(Debug)]
pub enum Permit {
    /// The drop-in was written; the unit has to be restarted.
    Written,
    /// The drop-in already exists.
    Present,
    /// Not possible by a drop-in: the reason and the remedy.
    Other(String),
    /// The drop-in cannot be written.
    Failed(Error),
}

/// Permits the service to command the box, unless it already may. `root`: root of the file system, `/` outside of tests.
pub fn permit_commands(config: &WebConfig, root: &Path) -> Permit {
    let group = format!("give it the group of {}, {GROUP} for the packaged box", config.control.display());
    let folders = ["etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];
    let groups = fs::read_to_string(root.join("etc/group")).unwrap_or_default();
    let other = match () {
        () if config.state != WebConfig::default().state => {
            format!("this page is not that of {UNIT}, since its `state` is another: {group}")
        }
        () if !root.join("run/systemd/system").exists() => {
            format!("there is no systemd that starts evenair-web: {group}")
        }
        () if !folders.iter().any(|folder| root.join(folder).join(UNIT).exists()) => {
            format!("there is no unit {UNIT}: {group}")
        }
        () if root.join(FILE).exists() => return Permit::Present,
        // With a missing group the unit would not start.
        () if !groups.lines().any(|line| line.split(':').next() == Some(GROUP)) => {
            format!("there is no group {GROUP}: install the package evenair, then run this command again")
        }
        () => return write(&root.join(FILE)).map_or_else(Permit::Failed, |()| Permit::Written),
    };
    Permit::Other(other)
}

/// Path of the drop-in.
pub fn drop_in() -> PathBuf {
    Path::new("/").join(FILE)
}

/// The command that revokes the permission.
pub fn undo() -> String {
    format!("rm {} && systemctl daemon-reload && systemctl restart {UNIT}", drop_in().display())
}

fn write(path: &Path) -> Result<()> {
    fs::create_dir_all(path.parent().ok_or_else(|| Error::other("the path has no folder"))?)?;
    let undo = undo();
    let text = format!(
        "# Written by `evenair web setup`, with the first account that may command the box: {GROUP} is the group of its control\n\
         # socket. To undo: {undo}\n[Service]\nSupplementaryGroups={GROUP}\n"
    );
    fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn why(permit: Permit) -> String {
        match permit {
            Permit::Other(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_drop_in_is_written_once_and_where_it_would_work() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, config) = (folder.path(), WebConfig::default());
        let permit = || permit_commands(&config, root);
        assert!(why(permit()).contains("no systemd"));
        fs::create_dir_all(root.join("run/systemd/system")).expect("made");
        assert!(why(permit()).contains("no unit evenair-web.service"));
        put(root, "usr/lib/systemd/system/evenair-web.service", "");
        put(root, "etc/group", "evenair-watch:x:7:\n");
        assert!(why(permit()).contains("package evenair"));
        put(root, "etc/group", "evenair-watch:x:7:\nevenair:x:8:\n");
        let elsewhere = WebConfig { state: "/tmp/state".into(), ..WebConfig::default() };
        let text = why(permit_commands(&elsewhere, root));
        assert!(text.contains("`state`") && text.contains("/run/evenair/control.sock"), "{text}");
        assert!(matches!(permit(), Permit::Written));
        let text = fs::read_to_string(root.join(FILE)).expect("written");
        assert!(text.ends_with("[Service]\nSupplementaryGroups=evenair\n") && text.contains(&undo()), "{text}");
        assert!(matches!(permit(), Permit::Present));
        fs::remove_file(root.join(FILE)).expect("there");
        fs::remove_dir_all(root.join("etc/systemd")).expect("there");
        put(root, "etc/systemd", "a file in its way");
        assert!(matches!(permit(), Permit::Failed(_)));
    }
}
