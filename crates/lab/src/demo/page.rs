//! The page of the demo's box, if `evenair-web` is installed: a separate process, which ends with the
//! demo.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use evenair_cli::{WEB, find_program};

/// Message on the page when the demo has ended.
const FAREWELL: &str = "The demo has ended";

/// The running page, until it is dropped.
pub(super) struct Page {
    program: Child,
    folder: PathBuf,
}

impl Page {
    /// Starts the page and prints its address, or why there is none: the demo continues without it.
    pub(super) fn open() -> Option<Self> {
        let Some(program) = find_program(WEB) else {
            println!("No page: the program {WEB} is neither beside this one nor in PATH (package {WEB}).\n");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("evenair-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).ok()?;
        let started = Command::new(program)
            .arg("--socket")
            .arg(folder.join("watch.sock"))
            // Without accounts, whatever the state of this machine's page.
            .arg("--state")
            .arg(&folder)
            .args(["--farewell", FAREWELL])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn();
        let mut page = Self { program: started.ok()?, folder };
        let mut line = String::new();
        BufReader::new(page.program.stdout.take()?).read_line(&mut line).ok()?;
        // It has printed its own error.
        let address = line.split_whitespace().next()?;
        println!("See it in a browser, from the beginning: {address}");
        println!("Or in another terminal: sudo evenair top --socket {}\n", page.socket().display());
        Some(page)
    }

    /// Path for the box's watch socket.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join("watch.sock")
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
