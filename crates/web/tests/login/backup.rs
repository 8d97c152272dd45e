//! Backups of the state directory, and what they restore.

use std::fs::{self, File, Permissions};
use std::io::{Cursor, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evenair_web::{BackupTo, Role, TlsConfig, TokenGrant, add_token, back_up, restore};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rusqlite::Connection;

use crate::commands::run;
use crate::site::{PASSWORD, Site, config, refusal};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("there").map(|entry| entry.expect("readable").file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().expect("text")).collect();
    names.sort_unstable();
    names
}

/// Every file below a folder, with its content.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for name in names(folder) {
        let path = folder.join(name);
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.push((path.clone(), fs::read(path).expect("readable")));
        }
    }
    all
}

fn to(path: &Path) -> BackupTo {
    BackupTo::File { path: path.to_owned(), force: false }
}

/// A site with an account, a token, a certificate and unrelated files, and its backup.
async fn backed_up() -> (Site, PathBuf) {
    let site = Site::with(|config, _| config.tls = Some(TlsConfig::SelfSigned)).await;
    let token = site.token();
    let pem = fs::read_to_string(site.file("self-signed.pem")).expect("made");
    let trusted = [rustls::pki_types::pem::PemObject::from_pem_slice(pem.as_bytes()).expect("PEM")];
    let form = [("token", &*token), ("name", "anna"), ("password", PASSWORD), ("again", PASSWORD)];
    assert_eq!(site.send_tls(&trusted, &site.post_request("/setup", &form, "")).await.0.status, 303);
    add_token(&site.config, &site.clock, TokenGrant { role: Role::View, days: 3, note: "Grafana".into() })
        .expect("made");
    _ = site.token();
    fs::create_dir(site.file("parts")).expect("made");
    fs::write(site.file("parts/one"), "part").expect("written");
    fs::create_dir(site.file("backups")).expect("made");
    fs::write(site.file("backups/evenair-web-20200101T000000Z.tar.gz"), "old").expect("written");
    std::os::unix::fs::symlink("/etc/passwd", site.file("link")).expect("made");
    let path = site.folder.path().join("backup.tar.gz");
    let made = back_up(&site.config, &site.clock, &to(&path)).expect("backed up");
    assert_eq!((made.path.as_deref(), made.left_out.len()), (Some(&*path), 1), "{made:?}");
    assert!(made.left_out[0].contains("link"), "{made:?}");
    (site, path)
}

#[tokio::test]
async fn a_backup_has_everything_but_backups_and_links_and_is_for_its_owner() {
    let (site, path) = backed_up().await;
    assert_eq!(mode(&path), 0o600);
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(&path).expect("there")));
    let entries = archive.entries().expect("a tar").map(|entry| entry.expect("whole"));
    let mut entries: Vec<_> = entries.map(|entry| entry.path().expect("text").display().to_string()).collect();
    assert_eq!(entries.remove(0), "manifest.json");
    let kinds: Vec<_> = entries.iter().map(|name| name.split_once('-').map_or(&**name, |(kind, _)| kind)).collect();
    assert_eq!(kinds, ["accounts.json", "audit", "parts/one", "self", "self", "token"], "{entries:?}");
    let error = back_up(&site.config, &site.clock, &to(&path)).expect_err("it is there").to_string();
    assert!(error.contains("--force"), "{error}");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("ours");
    back_up(&site.config, &site.clock, &BackupTo::File { path: path.clone(), force: true }).expect("replaced");
    assert_eq!((mode(&path), names(site.folder.path())), (0o600, vec!["backup.tar.gz".into(), "state".into()]));
    let nowhere = site.folder.path().join("nowhere/backup.tar.gz");
    assert!(back_up(&site.config, &site.clock, &to(&nowhere)).is_err());
    let state = names(&site.config.state);
    assert!(!state.iter().any(|name| name.starts_with('.')), "nothing is left behind: {state:?}");
}

#[tokio::test]
async fn a_restored_directory_is_as_it_was_and_what_was_there_is_kept() {
    let (site, path) = backed_up().await;
    let other = tempfile::tempdir().expect("a folder");
    let config = config(&other);
    let accounts = fs::read(site.file("accounts.json")).expect("there");
    restore(&config, &site.clock, File::open(&path).expect("there")).expect("restored into nothing");
    for (path, _) in contents(&config.state) {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert_eq!((mode(&config.state), mode(&config.state.join("parts"))), (0o700, 0o700));
    for name in ["accounts.json", "self-signed.pem", "self-signed-key.pem", "parts/one"] {
        let [is, was] = [config.state.join(name), site.file(name)].map(|path| fs::read(path).expect("there"));
        assert_eq!(is, was, "{name}");
    }
    // A second time, over other content.
    fs::write(config.state.join("accounts.json"), "of today").expect("written");
    fs::write(config.state.join("setup-link.json"), "of today").expect("written");
    fs::write(config.state.join("history.db-wal"), "of today").expect("written");
    let restored = restore(&config, &site.clock, File::open(&path).expect("there")).expect("restored");
    let before = restored.before.expect("something was there");
    assert_eq!(fs::read(config.state.join("accounts.json")).expect("there"), accounts);
    for name in ["accounts.json", "setup-link.json", "history.db-wal"] {
        assert_eq!(fs::read_to_string(before.join(name)).expect("kept"), "of today", "{name}");
    }
    let left: Vec<_> = names(&config.state).into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(left.is_empty() && !config.state.join("history.db-wal").exists(), "{left:?}");
    let log = names(&config.state).into_iter().find(|name| name.starts_with("audit-")).expect("a log");
    let log = fs::read_to_string(config.state.join(log)).expect("text");
    assert!(
        log.contains("POST /setup") && log.lines().last().expect("a line").contains("evenair-web restore"),
        "{log}"
    );
}

#[tokio::test]
async fn nothing_is_restored_while_the_program_runs_and_no_program_starts_after_half_a_restore() {
    let (site, path) = backed_up().await;
    let before = contents(&site.config.state);
    let error = restore(&site.config, &site.clock, File::open(&path).expect("there")).expect_err("it runs").to_string();
    assert!(error.contains("systemctl stop evenair-web"), "{error}");
    assert_eq!(contents(&site.config.state), before);
    fs::write(site.file(".restore-unfinished"), "").expect("written");
    let error = refusal(site.config.clone()).await;
    assert!(error.contains("restore FILE"), "{error}");
}

/// A backup with another manifest.
fn with_manifest(backup: &[u8], change: impl Fn(String) -> String) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for entry in tar::Archive::new(GzDecoder::new(backup)).entries().expect("a tar") {
        let mut entry = entry.expect("whole");
        let name = entry.path().expect("text").display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("whole");
        if name == "manifest.json" {
            content = change(String::from_utf8(content).expect("text")).into_bytes();
        }
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, &*content).expect("written");
    }
    tar.into_inner().and_then(GzEncoder::finish).expect("written")
}

#[tokio::test]
async fn a_backup_that_is_cut_damaged_or_of_a_later_version_changes_nothing() {
    let (site, path) = backed_up().await;
    let right = fs::read(&path).expect("there");
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder);
    restore(&config, &site.clock, &*right).expect("right");
    fs::write(config.state.join("accounts.json"), "of today").expect("written");
    let before = contents(&folder.path().join("state"));
    let sum = {
        let mut archive = tar::Archive::new(GzDecoder::new(&*right));
        let mut text = String::new();
        archive.entries().expect("a tar").next().expect("one").expect("whole").read_to_string(&mut text).expect("text");
        text.split("\"sha256\": \"").nth(1).expect("a file")[..64].to_owned()
    };
    let flipped = {
        let mut bytes = right.clone();
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        bytes
    };
    let later = with_manifest(&right, |text| {
        text.replace("\"format\": 1", "\"format\": 7, \"more\": 1").replace("\"version\": \"", "\"version\": \"9.")
    });
    for (what, bytes, part) in [
        ("a later version", later, "format 7, made by evenair-web 9."),
        ("a bad checksum", with_manifest(&right, |text| text.replace(&sum, &"0".repeat(64))), "SHA-256"),
        (
            "a path that leads out",
            with_manifest(&right, |text| text.replace("parts/one", "parts/../../one")),
            "no file that a backup has",
        ),
        (
            "a backup of backups",
            with_manifest(&right, |text| text.replace("parts/one", "backups/one")),
            "no file that a backup has",
        ),
        (
            "a file too many",
            with_manifest(&right, |text| text.replace("parts/one", "parts/two")),
            "not in its manifest",
        ),
        ("a changed byte", flipped, "cannot be used"),
        ("no file", vec![], "cannot be used"),
        ("another file", b"hello".repeat(1000), "cannot be used"),
    ] {
        let error = restore(&config, &site.clock, Cursor::new(bytes)).expect_err(what);
        let error = format!("{error:#}");
        assert!(error.contains(part) && error.contains("nothing was changed"), "{what}: {error}");
        assert_eq!(contents(&folder.path().join("state")), before, "{what}");
    }
    for length in (0..right.len()).step_by(right.len() / 40).chain(right.len() - 9..right.len()) {
        let error = restore(&config, &site.clock, &right[..length]).expect_err("cut off");
        assert!(format!("{error:#}").contains("nothing was changed"), "{length}: {error:#}");
        assert_eq!(contents(&folder.path().join("state")), before, "{length} of {} bytes", right.len());
    }
}

/// A database of the history's version with consistent rows: each transaction writes `at` twice.
fn database(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("made");
    let sql = "PRAGMA journal_mode = WAL; PRAGMA application_id = 1702260296; PRAGMA user_version = 1;
        CREATE TABLE one(at INTEGER); CREATE TABLE two(at INTEGER);";
    connection.execute_batch(sql).expect("made");
    connection
}

#[tokio::test]
async fn a_backup_while_the_history_is_written_restores_the_rows_of_one_moment() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let writer = database(&site.file("history.db"));
    writer.execute_batch("BEGIN; INSERT INTO one VALUES (0); INSERT INTO two VALUES (0); COMMIT").expect("written");
    let ended = Arc::new(AtomicBool::new(false));
    let thread = std::thread::spawn({
        let ended = Arc::clone(&ended);
        move || {
            let mut at = 1;
            while !ended.load(Ordering::Relaxed) {
                let sql = format!("BEGIN; INSERT INTO one VALUES ({at}); INSERT INTO two VALUES ({at}); COMMIT");
                writer.execute_batch(&sql).expect("the backup does not keep it from writing");
                at += 1;
            }
            at
        }
    });
    let mut counts = vec![];
    for round in 0..5 {
        let path = site.folder.path().join(format!("{round}.tar.gz"));
        let made = back_up(&site.config, &site.clock, &to(&path)).expect("backed up");
        assert!(made.left_out.is_empty(), "{made:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let config = config(&folder);
        restore(&config, &site.clock, File::open(&path).expect("there")).expect("restored");
        let restored = Connection::open(config.state.join("history.db")).expect("there");
        let number = |sql: &str| restored.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a number");
        let (one, two) = (number("SELECT count(*) FROM one"), number("SELECT count(*) FROM two"));
        assert_eq!((one, number("SELECT max(at) + 1 FROM two")), (two, two), "whole transactions, in order");
        let mode: String = restored.query_row("PRAGMA journal_mode", [], |row| row.get(0)).expect("text");
        assert_eq!(mode, "wal");
        counts.push(one);
    }
    ended.store(true, Ordering::Relaxed);
    let written = thread.join().expect("it wrote");
    assert!(counts.is_sorted() && counts[0] < counts[4] && counts[4] <= written, "{counts:?} of {written}");
}

#[tokio::test]
async fn a_damaged_history_does_not_keep_the_accounts_from_being_backed_up() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    fs::write(site.file("history.db"), "no database at all".repeat(1000)).expect("written");
    let made = back_up(&site.config, &site.clock, &to(&site.folder.path().join("b.tar.gz"))).expect("backed up");
    assert!(made.left_out.len() == 1 && made.left_out[0].contains("history.db: file is not a database"), "{made:?}");
}

#[test]
fn the_commands_write_read_and_rotate() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("web.toml"), "").expect("written");
    let run = |arguments: &[&str]| run(folder.path(), arguments);
    assert!(!run(&["backup", "b.tar.gz"]).0, "there is no state directory");
    assert!(run(&["token", "add", "--note", "Grafana"]).0);
    let (right, text, error) = run(&["backup", "b.tar.gz"]);
    assert!(right && text.contains("b.tar.gz: 2 files"), "{text}{error}");
    let (right, _, error) = run(&["backup", "b.tar.gz"]);
    assert!(!right && error.contains("--force"), "{error}");
    assert!(run(&["backup", "b.tar.gz", "--force"]).0);
    let (right, _, error) = run(&["backup"]);
    assert!(!right && error.contains("FILE"), "{error}");
    let (right, text, error) = run(&["restore", "b.tar.gz"]);
    assert!(right && text.contains("before-restore-") && text.contains("systemctl start"), "{text}{error}");
    for _ in 0..3 {
        assert!(run(&["backup", "--rotate"]).0);
    }
    let backups = folder.path().join("state/backups");
    assert_eq!((names(&backups).len(), mode(&backups)), (2, 0o700));
    assert!(names(&backups).iter().all(|name| mode(&backups.join(name)) == 0o600));
    let (right, _, error) = run(&["restore", "web.toml"]);
    assert!(!right && error.contains("web.toml: nothing was changed"), "{error}");
}

/// The package's upgrade script, with a stub for `runuser`.
#[test]
fn the_package_backs_up_before_an_upgrade_and_goes_on_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/debian-web/prerm");
    for status in [0, 1] {
        let fake = folder.path().join("runuser");
        fs::write(&fake, format!("#!/bin/sh\necho \"asked: $*\"\nexit {status}\n")).expect("written");
        fs::set_permissions(&fake, Permissions::from_mode(0o755)).expect("ours");
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("set"));
        let output =
            Command::new("sh").arg(&script).args(["upgrade", "9.9.9"]).env("PATH", path).output().expect("it runs");
        let [said, complained] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
        assert!(output.status.success(), "{status}: {complained}");
        assert!(said.contains("asked: -u evenair-web -- /usr/bin/evenair-web backup --rotate"), "{said}");
        assert_eq!(complained.contains("no backup"), status == 1, "{complained}");
    }
}
