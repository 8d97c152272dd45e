//! Codes of authenticator apps, after the password.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use evenair_web::{Clock, NewFactor, PasswordCost, Web, remove_factor};
use hmac::{Hmac, Mac};
use sha1::Sha1;

use crate::audit::{entries, text};
use crate::commands::run;
use crate::site::{Answer, PASSWORD, Site};

/// The code of a secret at a time, as an app shows it.
fn code_at(secret: &[u8], at: u64) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(secret).expect("any length");
    mac.update(&(at / 30).to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let offset = usize::from(hash[19] & 15);
    let bits = u32::from_be_bytes(hash[offset..offset + 4].try_into().expect("four")) & 0x7fff_ffff;
    format!("{:06}", bits % 1_000_000)
}

/// Decodes base32.
fn bytes_of(text: &str) -> Vec<u8> {
    let digit = |c: u8| if c.is_ascii_digit() { c - b'2' + 26 } else { c - b'A' };
    let bits: Vec<_> = text.bytes().flat_map(|c| (0..5).rev().map(move |at| digit(c) >> at & 1)).collect();
    bits.as_chunks::<8>().0.iter().map(|byte| byte.iter().fold(0, |sum, bit| sum << 1 | bit)).collect()
}

/// A site whose account anna has a second factor; its secret, and the recovery codes.
async fn with_factor() -> (Site, Vec<u8>, Vec<String>) {
    let (site, secret, codes, _) = confirmed_by().await;
    (site, secret, codes)
}

/// The same, with the code that confirmed the second factor.
async fn confirmed_by() -> (Site, Vec<u8>, Vec<String>, String) {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let factor = NewFactor::of(&site.config, "anna").expect("there is the account");
    assert!(factor.uri().contains(&format!("secret={}&", factor.secret())), "{}", factor.uri());
    let secret = bytes_of(&factor.secret());
    assert_eq!(secret.len(), 20);
    let wrong = factor.confirm(&site.config, &site.clock, "123").expect("writable");
    assert!(wrong.is_none() && !site.file("totp-anna.json").exists(), "a wrong code confirms nothing");
    let code = code_at(&secret, site.clock.unix());
    let codes = factor.confirm(&site.config, &site.clock, &code).expect("writable").expect("it is right");
    (site, secret, codes, code)
}

/// The ticket in the form for a code.
async fn ticket(site: &Site) -> String {
    let answer = site.log_in("anna", PASSWORD).await;
    assert_eq!((answer.status, answer.header("set-cookie")), (200, None), "{answer:?}");
    let (_, rest) = answer.text.split_once("name=\"ticket\" value=\"").expect("it asks for a code");
    rest[..64].to_owned()
}

async fn confirm(site: &Site, ticket: &str, code: &str) -> Answer {
    site.post("/login", &[("ticket", ticket), ("code", code)], "").await
}

/// Status and text of a page.
fn shown(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.text.split_once("\r\n\r\n").expect("a body").1)
}

#[tokio::test]
async fn the_code_is_asked_for_after_the_password_and_taken_once() {
    let (mut site, secret, _, used) = confirmed_by().await;
    assert!(!site.get("/login", "").await.text.contains("ticket"), "only accounts that have it are asked");
    site.make("berta", PASSWORD).await;
    site.session("berta", PASSWORD).await;
    let wrong_password = site.log_in("anna", "wrong-password").await;
    let wrong_code = confirm(&site, &ticket(&site).await, &used).await;
    assert_eq!(wrong_code.status, 401, "it confirmed the second factor: {wrong_code:?}");
    assert_eq!(shown(&wrong_code), shown(&wrong_password), "which of them is wrong is not said");
    site.clock.advance(Duration::from_secs(60));
    let code = code_at(&secret, site.clock.unix());
    let first = ticket(&site).await;
    let answer = confirm(&site, &first, &format!("{} {}", &code[..3], &code[3..])).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{answer:?}");
    assert_eq!(site.get("/nothing", &answer.cookie()).await.status, 404, "logged in");
    let next = code_at(&secret, site.clock.unix() + 30);
    assert_eq!(confirm(&site, &first, &next).await.status, 401, "a ticket is for one code");
    site.restart().await;
    assert_eq!(confirm(&site, &ticket(&site).await, &code).await.status, 401, "nor after a new start");
    assert_eq!(confirm(&site, &ticket(&site).await, &next).await.status, 303);
    for wrong in ["", "0", &"0".repeat(64), "\"><script>"] {
        site.clock.advance(Duration::from_secs(61));
        assert_eq!(confirm(&site, wrong, &code_at(&secret, site.clock.unix())).await.status, 401);
    }
}

#[tokio::test]
async fn a_ticket_ends_after_five_minutes_and_with_the_password() {
    let (site, secret, _) = with_factor().await;
    let late = ticket(&site).await;
    site.clock.advance(Duration::from_secs(300));
    assert_eq!(confirm(&site, &late, &code_at(&secret, site.clock.unix())).await.status, 401);
    let old = ticket(&site).await;
    site.make("anna", "battery-staple").await;
    assert_eq!(confirm(&site, &old, &code_at(&secret, site.clock.unix())).await.status, 401);
}

#[tokio::test]
async fn wrong_codes_count_as_failed_logins() {
    let (site, secret, _) = with_factor().await;
    site.clock.advance(Duration::from_secs(90));
    for _ in 0..5 {
        assert_eq!(confirm(&site, &ticket(&site).await, "abcdef").await.status, 401);
    }
    assert_eq!(site.log_in_from(2, "anna", PASSWORD).await.status, 429, "of another address too");
    site.clock.advance(Duration::from_secs(60));
    let answer = confirm(&site, &ticket(&site).await, &code_at(&secret, site.clock.unix())).await;
    assert_eq!(answer.status, 303, "{answer:?}");
}

#[tokio::test]
async fn recovery_codes_are_for_one_login_each() {
    let (site, _, codes) = with_factor().await;
    assert_eq!((codes.len(), codes[0].len()), (10, 19), "{codes:?}");
    for (code, status) in [(&*codes[0], 303), (&*codes[0], 401), (&*codes[9].to_uppercase().replace('-', " "), 303)] {
        assert_eq!(confirm(&site, &ticket(&site).await, code).await.status, status, "{code}");
    }
    let file = fs::read_to_string(site.file("totp-anna.json")).expect("there");
    assert_eq!(file.matches('"').count(), 2 * (4 + 1 + 8), "eight are left: {file}");
}

#[tokio::test]
async fn secret_and_codes_are_in_no_log_and_no_answer() {
    let (site, secret, codes) = with_factor().await;
    let path = site.file("totp-anna.json");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    let file = fs::read_to_string(&path).expect("text");
    assert!(codes.iter().all(|code| !file.contains(&code.replace('-', "").to_uppercase())), "kept as hashes: {file}");
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(file.contains(&hex));
    site.clock.advance(Duration::from_secs(60));
    let code = code_at(&secret, site.clock.unix());
    let ticket = ticket(&site).await;
    let answer = confirm(&site, &ticket, &code).await;
    let me = site.get("/api/v1/me", &answer.cookie()).await;
    assert_eq!(confirm(&site, &self::ticket(&site).await, &codes[3]).await.status, 303);
    let log = text(&site);
    let cookie = answer.cookie();
    for secret in [&*hex, &hex.to_uppercase(), &code, &ticket, &codes[3], cookie.split_once('=').expect("a cookie").1] {
        assert!(!log.contains(secret) && !me.text.contains(secret), "{secret}: {log}");
    }
    let lines = entries(&site);
    let factors: Vec<_> = lines.iter().filter_map(|line| line.values.get("second_factor")?.as_str()).collect();
    assert_eq!(factors, ["totp", "recovery"]);
    assert!(lines.iter().any(|line| line.what == "evenair-web account totp" && line.values["name"] == "anna"));
    assert!(lines.iter().any(|line| line.result.contains("a code is asked for")), "{log}");
}

#[tokio::test]
async fn a_damaged_file_opens_nothing_and_the_command_removes_it() {
    let (site, _, _) = with_factor().await;
    let path = site.file("totp-anna.json");
    let right = fs::read_to_string(&path).expect("there");
    for damaged in [
        "",
        "{}",
        &right.replace("\"version\": 1", "\"version\": 2"),
        &right.replace("\"secret\": \"", "\"secret\": \"0"),
    ] {
        fs::write(&path, damaged).expect("written");
        let answer = site.log_in("anna", PASSWORD).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (500, None), "{damaged}: {answer:?}");
    }
    remove_factor(&site.config, "anna").expect("removed");
    site.session("anna", PASSWORD).await;
    assert!(remove_factor(&site.config, "anna").expect_err("none").to_string().contains("no second factor"));
    let error = remove_factor(&site.config, "ana").expect_err("no account").to_string();
    assert!(error.contains("did you mean \"anna\""), "{error}");
}

#[tokio::test]
async fn the_command_asks_for_a_code_before_it_changes_anything() {
    let (site, ..) = with_factor().await;
    remove_factor(&site.config, "anna").expect("removed");
    let folder = site.folder.path();
    fs::write(folder.join("web.toml"), "").expect("written");
    let ask = |answer: &dyn Fn(&str) -> String| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_evenair-web"))
            .args(["account", "totp", "anna", "--config", "web.toml", "--state", "state"])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut lines = std::io::BufReader::new(child.stdout.take().expect("piped"));
        let mut text = String::new();
        while !text.contains("app: ") || !text.ends_with('\n') {
            std::io::BufRead::read_line(&mut lines, &mut text).expect("text");
        }
        let secret = text.trim_end().rsplit(' ').next().expect("a secret").to_owned();
        child.stdin.take().expect("piped").write_all(answer(&secret).as_bytes()).expect("written");
        std::io::Read::read_to_string(&mut lines, &mut text).expect("text");
        (child.wait_with_output().expect("it ends").status.success(), text)
    };
    let (right, text) = ask(&|_| "000\nabc\n\n".into());
    assert!(!right && text.matches("not the code of now").count() == 3, "{text}");
    assert!(!site.file("totp-anna.json").exists());
    let (right, text) = ask(&|secret| format!("000\n{}\n", code_at(&bytes_of(secret), Clock::new().unix())));
    assert!(right && text.lines().count() > 10, "{text}");
    let code = text.lines().last().expect("codes");
    assert_eq!(confirm(&site, &ticket(&site).await, code).await.status, 303);
    assert_eq!(
        run(folder, &["account", "totp", "anna", "--off"]),
        (true, "anna logs in with the password alone from now on\n".into(), String::new())
    );
    site.session("anna", PASSWORD).await;
    let (right, _, error) = run(folder, &["account", "totp", "nobody"]);
    assert!(!right && error.contains("there is no account \"nobody\""), "{error}");
}

/// With the real cost of a hash, as in the test of an unknown account.
#[tokio::test]
async fn a_wrong_code_takes_as_long_as_a_wrong_password() {
    const LEAST: Duration = Duration::from_millis(5);
    let (mut site, ..) = with_factor().await;
    let web = Web::bind(site.config.clone(), Clock::new(), PasswordCost::OWASP).await.expect("it starts");
    site.address = web.address();
    let server = tokio::spawn(web.run());
    for ticket in [ticket(&site).await, "0".repeat(64)] {
        let begin = Instant::now();
        assert_eq!(confirm(&site, &ticket, "abcdef").await.status, 401);
        assert!(begin.elapsed() > LEAST, "{:?}", begin.elapsed());
    }
    server.abort();
}
