//! Alerts with a real webhook server and a real mail server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenair_api::health::{Code, Level, Reason, Subject, SubjectKind};
use evenair_web::WebConfig;
use hmac::{Hmac, Mac};
use rcgen::generate_simple_self_signed;
use serde_json::json;
use sha2::Sha256;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::alert_sinks::{LINE, Post, Reasons, mail_server, webhook};
use crate::commands::run;
use crate::site::{Site, config, refusal};

/// The path of the webhook, which is secret as for chats.
const PATH: &str = "/services/T0/path-secret";
const SECRET: &str = "webhook-secret";
const PASSWORD: &str = "mail-secret";
/// Longer than the time of absence that ends a reason.
const OVER: Duration = Duration::from_secs(31);
/// Time to wait for something that must not happen.
const QUIET: Duration = Duration::from_millis(600);

fn starving() -> Reason {
    let subject = Subject { kind: SubjectKind::Station, id: "02:00:00:00:00:01".into(), name: "Anne".into() };
    let sentence = "Anne starves: it gets 0.4 Mb/s".into();
    Reason { code: Code::Starving, level: Level::Bad, subject, since_s: 1000.0, sentence, ..Reason::default() }
}

fn put(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its owner's");
    path.display().to_string()
}

/// Adds the receivers and mail server of this text to the configuration.
fn take(config: &mut WebConfig, text: &str) {
    let parsed = WebConfig::parse(text, "web.toml").unwrap_or_else(|error| panic!("{error}"));
    (config.alerts, config.mail) = (parsed.alerts, parsed.mail);
}

/// A site with these receivers, and its box.
async fn site(text: impl FnOnce(&TempDir) -> String) -> (Site, Reasons) {
    let mut reasons = None;
    let site = Site::with(|config, folder| {
        config.socket = folder.path().join("watch.sock");
        reasons = Some(Reasons::serve(&config.socket));
        take(config, &text(folder));
    });
    let site = site.await;
    (site, reasons.expect("begun"))
}

fn is_signed(post: &Post) {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    mac.update(format!("{}.{}", post.header("x-evenair-timestamp"), post.body).as_bytes());
    let digits: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(post.header("x-evenair-signature"), format!("sha256={digits}"));
}

#[tokio::test]
async fn an_alert_comes_once_and_so_does_its_recovery() {
    let (address, posts) = webhook(&[]);
    let (mut site, reasons) = site(|folder| {
        let secret = put(folder.path(), "secret", SECRET);
        format!("[[alert]]\nname = \"ops\"\nwebhook = \"http://{address}{PATH}\"\nsecret_file = \"{secret}\"\n")
    })
    .await;
    sleep(QUIET).await;
    assert!(posts.all().is_empty(), "{:?}", posts.all());
    reasons.set(vec![starving()]);
    let first = &posts.wait(1).await[0];
    is_signed(first);
    let body = first.json();
    assert_eq!((&body["kind"], &body["level"]), (&json!("alert"), &json!("bad")));
    let alert = &body["alerts"][0];
    assert_eq!(
        (&alert["event"], &alert["code"], &alert["name"]),
        (&json!("raised"), &json!("starving"), &json!("Anne"))
    );

    // A restart repeats nothing, and ends no lasting reason.
    site.restart().await;
    sleep(QUIET).await;
    assert_eq!(posts.all().len(), 1);
    reasons.set(vec![]);
    sleep(QUIET).await;
    assert_eq!(posts.all().len(), 1);
    site.clock.advance(OVER);
    let recovery = posts.wait(2).await[1].clone();
    is_signed(&recovery);
    assert_eq!(recovery.json()["alerts"][0]["event"], "recovered");
    sleep(QUIET).await;
    assert_eq!(posts.all().len(), 2);
}

#[tokio::test]
async fn a_failed_delivery_is_retried_and_reported_meanwhile() {
    let (down, posts) = webhook(&[500, 500]);
    let (up, told) = webhook(&[]);
    let (mut site, reasons) = site(|_| {
        format!(
            "[[alert]]\nname = \"ops\"\nwebhook = \"http://{down}{PATH}\"\n\
             [[alert]]\nname = \"chat\"\nwebhook = \"http://{up}/\"\nbody = \"slack\"\nrole = \"admin\"\nlevel = \"watch\"\n"
        )
    })
    .await;
    reasons.set(vec![starving()]);
    posts.wait(1).await;
    let text = told.wait(2).await.iter().map(|post| post.body.clone()).collect::<String>();
    assert!(text.contains("Anne starves") && text.contains("answers with status 500"), "{text}");
    let health = site.get("/api/v1/health", "").await;
    assert!(health.text.contains("alert-failing") && health.text.contains("\\\"ops\\\""), "{health:?}");
    for secret in ["path-secret", SECRET] {
        assert!(!health.text.contains(secret) && !text.contains(secret), "{health:?} {text}");
    }

    // Not before its time, and not lost by a restart.
    site.restart().await;
    sleep(QUIET).await;
    assert_eq!(posts.all().len(), 1);
    site.clock.advance(Duration::from_secs(40));
    posts.wait(2).await;
    sleep(QUIET).await;
    assert_eq!(posts.all().len(), 2);
    site.clock.advance(Duration::from_secs(80));
    let all = posts.wait(3).await;
    let ids: Vec<_> = all.iter().map(|post| post.header("x-evenair-delivery").to_owned()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    sleep(QUIET).await;
    let health = site.get("/api/v1/health", "").await;
    assert!(!health.text.contains("alert-failing") && posts.all().len() == 3, "{health:?}");
}

const MAIL: &str = "user = \"evenair\"\nfrom = \"Evenair <evenair@example.org>\"\n";

/// `web.toml` with this mail server, whose certificate is in the folder.
fn mail_file(folder: &Path, port: u16, certificate: &str) -> String {
    let password = put(folder, "password", PASSWORD);
    let certificate = put(folder, "mail.pem", certificate);
    format!(
        "[[alert]]\nname = \"post\"\nmail = [\"ops@example.org\", \"anne@example.org\"]\n\
         [mail]\nserver = \"localhost:{port}\"\n{MAIL}password_file = \"{password}\"\ncertificate = \"{certificate}\"\n"
    )
}

#[tokio::test]
async fn an_alert_comes_by_mail_once_and_so_does_its_recovery() {
    let made = generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    let (address, mails) = mail_server(&made.cert.pem(), &made.signing_key.serialize_pem(), "235 welcome");
    let (site, reasons) = site(|folder| mail_file(folder.path(), address.port(), &made.cert.pem())).await;
    reasons.set(vec![starving()]);
    let mail = mails.wait(1).await[0].clone();
    assert!(mail.plain.last().is_some_and(|line| line == "STARTTLS"), "{mail:?}");
    assert_eq!(mail.login, format!("AUTH PLAIN {}", STANDARD.encode(format!("\0evenair\0{PASSWORD}"))));
    assert!(mail.from.contains("<evenair@example.org>") && mail.to.len() == 2, "{mail:?}");
    for part in
        ["From: Evenair <evenair@example.org>", "ops@example.org", "Auto-Submitted: auto-generated", "Anne starves"]
    {
        assert!(mail.message.contains(part), "{part}: {mail:?}");
    }
    reasons.set(vec![]);
    sleep(QUIET).await;
    site.clock.advance(OVER);
    let recovery = mails.wait(2).await[1].clone();
    assert!(recovery.message.contains("starving is over: Anne"), "{recovery:?}");
    sleep(QUIET).await;
    assert_eq!(mails.all().len(), 2);
    for entry in fs::read_dir(&site.config.state).expect("readable").flatten() {
        let bytes = fs::read(entry.path()).expect("readable");
        assert!(!String::from_utf8_lossy(&bytes).contains(PASSWORD), "{entry:?}");
    }
}

/// Length of a week, and the first Monday since 1970 at 6:00, in seconds.
const WEEK_S: u64 = 7 * 24 * 3600;
const MONDAY_S: u64 = (4 * 24 + 6) * 3600;

#[tokio::test]
async fn a_summary_of_the_week_comes_by_mail_on_monday() {
    let made = generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    let (address, mails) = mail_server(&made.cert.pem(), &made.signing_key.serialize_pem(), "235 welcome");
    let (site, reasons) = site(|folder| {
        let text = mail_file(folder.path(), address.port(), &made.cert.pem());
        text.replacen("[mail]", "weekly = true\n[mail]", 1)
    })
    .await;
    let now_s = site.clock.unix();
    let end_s = MONDAY_S + ((now_s - MONDAY_S) / WEEK_S + 1) * WEEK_S;
    // Some minutes of the ending week, with a line every ten seconds: a week without history has no summary.
    reasons.set_clock((end_s - 24 * 3600) as f64);
    sleep(LINE * 40).await;
    assert!(mails.all().is_empty(), "a week that ended before the first start has no summary");
    site.clock.advance(Duration::from_secs(end_s + 700 - now_s));
    let mail = mails.wait(1).await[0].clone();
    assert!(mail.message.contains("the last week"), "{mail:?}");
    for part in ["good", "not recorded            168.0 h", "Latency in the busiest 10 % of the minutes"] {
        assert!(mail.message.contains(part), "{part}: {mail:?}");
    }
    sleep(QUIET).await;
    assert_eq!(mails.all().len(), 1);
}

#[test]
fn the_result_of_a_test_has_no_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    let (key, refused) = (made.signing_key.serialize_pem(), "535 no: mail-secret is wrong");
    let (mail, _) = mail_server(&made.cert.pem(), &key, refused);
    let (hook, posts) = webhook(&[]);
    let url = put(folder.path(), "url", &format!("http://{hook}{PATH}\n"));
    let text = format!(
        "[[alert]]\nname = \"chat\"\nwebhook_file = \"{url}\"\nbody = \"ntfy\"\n\
         [[alert]]\nname = \"gone\"\nwebhook = \"http://127.0.0.1:1{PATH}\"\n{}",
        mail_file(folder.path(), mail.port(), &made.cert.pem())
    );
    fs::write(folder.path().join("web.toml"), text).expect("written");
    let (right, output, error) = run(folder.path(), &["alert", "test"]);
    let lines: Vec<_> = output.lines().collect();
    assert!(!right && lines.len() == 3 && lines[0] == "chat: sent", "{output}{error}");
    assert!(lines[1].starts_with("gone: 127.0.0.1: ") && lines[1].contains("refused"), "{output}");
    assert!(lines[2].starts_with("post: localhost: ") && lines[2].contains("535"), "{output}");
    for secret in [PASSWORD, "path-secret"] {
        assert!(!output.contains(secret) && !error.contains(secret), "{output}{error}");
    }
    let post = &posts.all()[0];
    assert!(post.head.starts_with(&format!("POST {PATH} ")) && post.body.contains("test"), "{post:?}");

    let (right, output, _) = run(folder.path(), &["alert", "test", "chat"]);
    assert!(right && output == "chat: sent\n", "{output}");
    let (right, _, error) = run(folder.path(), &["alert", "test", "chats"]);
    assert!(!right && error.contains("did you mean \"chat\""), "{error}");
}

/// Runs the program itself, as the service does.
#[tokio::test]
async fn secrets_are_in_no_log_and_not_in_the_list_of_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    let refused = "535 no: mail-secret is wrong";
    let (mail, mails) = mail_server(&made.cert.pem(), &made.signing_key.serialize_pem(), refused);
    let (hook, posts) = webhook(&[500]);
    let (url, secret) =
        (put(folder.path(), "url", &format!("http://{hook}{PATH}")), put(folder.path(), "secret", SECRET));
    let socket = folder.path().join("watch.sock");
    Reasons::serve(&socket).set(vec![starving()]);
    let text = format!(
        "listen = \"127.0.0.1:0\"\nsocket = \"{}\"\n\
         [[alert]]\nname = \"chat\"\nwebhook_file = \"{url}\"\nsecret_file = \"{secret}\"\n{}",
        socket.display(),
        mail_file(folder.path(), mail.port(), &made.cert.pem())
    );
    fs::write(folder.path().join("web.toml"), text).expect("written");
    let program = Command::new(env!("CARGO_BIN_EXE_evenair-web"))
        .args(["--config", "web.toml", "--state", "state"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    mails.wait(1).await;
    posts.wait(1).await;
    sleep(QUIET).await;
    let process = format!("/proc/{}", program.id());
    let list = ["cmdline", "environ"].map(|file| fs::read(format!("{process}/{file}")).unwrap_or_default());
    let stopped = Command::new("kill").arg(program.id().to_string()).status().expect("it runs");
    let output = program.wait_with_output().expect("ended");
    assert!(stopped.success() && output.status.success(), "SIGTERM ends it in order: {:?}", output.status);
    let log = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(log.contains("alert-failing: post") && log.contains("535"), "{log}");
    assert!(log.contains("alert-failing: chat: 127.0.0.1 answers with status 500"), "{log}");
    let all = log + &String::from_utf8_lossy(&list.concat());
    for secret in [PASSWORD, SECRET, "path-secret"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
}

#[tokio::test]
async fn secrets_that_others_may_read_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = put(folder.path(), "secret", SECRET);
    let mut config = config(&folder);
    let hook = "[[alert]]\nname = \"ops\"\nwebhook = \"https://hooks.example.org/\"\n";
    take(&mut config, &format!("{hook}secret_file = \"{secret}\"\n"));
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).expect("everybody's");
    let why = refusal(config.clone()).await;
    assert!(why.contains("\"ops\"") && why.contains("chmod 600") && !why.contains(SECRET), "{why}");
    fs::remove_file(&secret).expect("removed");
    let why = refusal(config.clone()).await;
    assert!(why.contains("no such file"), "{why}");
    let url = put(folder.path(), "url", "http://hooks.example.org/path-secret");
    take(&mut config, &format!("[[alert]]\nname = \"ops\"\nwebhook_file = \"{url}\"\n"));
    let why = refusal(config).await;
    assert!(why.contains("http") && !why.contains("path-secret"), "{why}");
}

#[tokio::test]
async fn a_mute_keeps_quiet_until_it_ends() {
    let (address, posts) = webhook(&[]);
    let (site, reasons) = site(|_| format!("[[alert]]\nname = \"ops\"\nwebhook = \"http://{address}/\"\n")).await;
    let run = |arguments: &[&str]| {
        fs::write(site.folder.path().join("web.toml"), "").expect("written");
        run(site.folder.path(), arguments)
    };
    let (right, output, error) = run(&["alert", "mute", "starving", "--subject", "anne", "--for", "2 h"]);
    assert!(right && output.starts_with("starving of anne is muted until 20"), "{output}{error}");
    let (_, output, _) = run(&["alert", "list", "--json"]);
    assert!(output.contains("starving") && output.contains("until_s"), "{output}");
    sleep(LINE * 4).await;
    reasons.set(vec![starving()]);
    sleep(QUIET).await;
    assert!(posts.all().is_empty(), "{:?}", posts.all());
    let (right, output, error) = run(&["alert", "unmute", "starving", "--subject", "anne"]);
    assert!(right && output.contains("no longer"), "{output}{error}");
    posts.wait(1).await;

    for (arguments, parts) in [
        (&["alert", "unmute", "starving"][..], "not muted"),
        (&["alert", "mute", "starvin", "--for", "2 h"], "did you mean \"starving\""),
        (&["alert", "mute", "starving", "--for", "2"], "2 h"),
        (&["alert", "mute", "starving", "--for", "1 s"], "1 min"),
    ] {
        let (right, _, error) = run(arguments);
        assert!(!right && error.contains(parts), "{arguments:?}: {error}");
    }
    let (_, output, _) = run(&["audit"]);
    assert!(output.contains("evenair-web alert mute") && output.contains("subject=\"anne\""), "{output}");
    assert!(output.contains("evenair-web alert unmute"), "{output}");
}
