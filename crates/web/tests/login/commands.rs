//! The commands of the program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use evenair_web::{Clock, PasswordCost, TlsConfig, Web};

use crate::site::config;

pub fn run(folder: &Path, arguments: &[&str]) -> (bool, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_evenair-web"))
        .args(arguments)
        .args(["--config", "web.toml", "--state", "state"])
        .env_remove("SSH_CONNECTION")
        .current_dir(folder)
        .output()
        .expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.success(), text(stdout), text(stderr))
}

#[tokio::test]
async fn setup_prints_a_link_and_where_prints_the_fingerprint() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |text: &str| fs::write(folder.path().join("web.toml"), text).expect("written");
    write("listen = \"127.0.0.1:1\"\n[tls]\nself_signed = true\n");
    let (right, first, error) = run(folder.path(), &["setup"]);
    let link = first.lines().next().unwrap_or_default();
    let token = link.strip_prefix("https://127.0.0.1:1/setup?token=").unwrap_or_default();
    assert!(right && token.len() == 64 && first.contains("15 minutes"), "{first}{error}");
    let file = folder.path().join("state/setup-link.json");
    assert_eq!(fs::metadata(&file).expect("written").permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&file).expect("text").contains(token));
    assert_ne!(run(folder.path(), &["setup"]).1, first, "another link");
    let (_, elsewhere, error) = run(folder.path(), &["--listen", "127.0.0.1:2", "setup"]);
    assert!(
        elsewhere.starts_with("https://127.0.0.1:2/setup?token="),
        "options come before or after: {elsewhere}{error}"
    );
    let (right, _, error) = run(folder.path(), &["--check", "setup"]);
    assert!(!right && error.contains("--check, --where and --farewell go without a command"), "{error}");

    let (_, unknown, _) = run(folder.path(), &["--where"]);
    assert!(unknown.contains("at the first start"), "{unknown}");
    let mut config = config(&folder);
    config.tls = Some(TlsConfig::SelfSigned);
    drop(Web::bind(config.clone(), Clock::new(), PasswordCost::for_tests()).await.expect("it starts"));
    let fingerprint = evenair_web::self_signed_fingerprint(&config).expect("readable").expect("made");
    let (_, directions, _) = run(folder.path(), &["--where"]);
    assert!(directions.contains("https://127.0.0.1:1/") && directions.contains(&fingerprint), "{directions}");
    let (_, json, _) = run(folder.path(), &["--where", "--json"]);
    assert!(json.contains(&fingerprint), "{json}");
}

#[test]
fn addresses_beyond_loopback_are_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |text: &str| fs::write(folder.path().join("web.toml"), text).expect("written");
    write("");
    let (right, _, error) = run(folder.path(), &["--listen", "0.0.0.0:0"]);
    assert!(!right && error.contains("no TLS"), "{error}");
    write("listen = \"0.0.0.0:0\"\n[tls]\nself_signed = true\n");
    let (right, _, error) = run(folder.path(), &[]);
    assert!(!right && error.contains("evenair-web setup"), "{error}");
    let (right, _, error) = run(folder.path(), &["setup"]);
    assert!(!right && error.contains("restart evenair-web"), "{error}");
    write("[tls]\ncertificate = \"/nowhere/web.pem\"\nkey = \"/nowhere/key.pem\"\n");
    for arguments in [&["--check"][..], &[]] {
        let (right, _, error) = run(folder.path(), arguments);
        assert!(!right && error.contains("/nowhere/web.pem"), "{error}");
    }
}

#[test]
fn commands_that_only_print_end_quietly_on_a_closed_pipe() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenair-web"));
    command.args(["--json", "--where"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{:?}", output.status);
}
