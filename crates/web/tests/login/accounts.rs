//! The setup link, and the file of accounts.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use evenair_web::{Grant, Role, TlsConfig, setup_link};

use crate::site::{PASSWORD, Site, config, post, refusal};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_link_makes_one_account() {
    let site = Site::start().await;
    let token = site.token();
    for _ in 0..2 {
        let form = site.get(&format!("/setup?token={token}"), "").await;
        assert!(form.status == 200 && form.text.contains(&token), "looking at it does not use it up: {form:?}");
    }
    assert_eq!(site.set_up(&token, "anna", PASSWORD).await.status, 303);
    assert_eq!(site.set_up(&token, "berta", PASSWORD).await.status, 403, "used twice");
    assert_eq!(site.get(&format!("/setup?token={token}"), "").await.status, 403);
    assert_eq!(site.log_in("berta", PASSWORD).await.status, 401);
    let session = site.session("anna", PASSWORD).await;
    let who = site.get("/login", &session).await;
    assert!(who.text.contains("logged in as anna (role admin)"), "{who:?}");
}

#[tokio::test]
async fn a_link_used_by_many_at_once_makes_one_account() {
    let site = Site::start().await;
    let token = site.token();
    let names = ["a", "b", "c", "d"];
    let [a, b, c, d] = names.map(|name| site.set_up(&token, name, PASSWORD));
    let answers = tokio::join!(a, b, c, d);
    let mut statuses = [answers.0.status, answers.1.status, answers.2.status, answers.3.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 403, 403, 403]);
}

#[tokio::test]
async fn a_link_for_a_viewer_makes_new_accounts_alone_unless_it_names_one() {
    let site = Site::start().await;
    let link = |role, name: Option<&str>| {
        setup_link(&site.config, &site.clock, Grant { role, name: name.map(Into::into) })
            .map(|link| crate::site::token_of(&link))
    };
    let error = link(Role::View, None).expect_err("no admin yet").to_string();
    assert!(error.contains("first account is of role admin"), "{error}");
    site.make("anna", PASSWORD).await;
    let token = link(Role::View, None).expect("a link");
    assert_eq!(site.set_up(&token, "anna", "another password").await.status, 409, "an admin's account stays hers");
    assert_eq!(site.set_up(&token, "victor", PASSWORD).await.status, 303, "the link was not used up");
    site.session("anna", PASSWORD).await;
    let viewer = site.session("victor", PASSWORD).await;
    let who = site.get("/login", &viewer).await;
    assert!(who.text.contains("logged in as victor (role view)"), "{who:?}");
    // A new password and role for one account only.
    let token = link(Role::Operate, Some("victor")).expect("a link");
    let form = site.get(&format!("/setup?token={token}"), "").await;
    assert!(form.text.contains("value=\"victor\" readonly") && form.text.contains("role operate"), "{form:?}");
    assert_eq!(site.set_up(&token, "anna", PASSWORD).await.status, 403);
    assert_eq!(site.set_up(&token, "victor", "another password").await.status, 303);
    assert_eq!(site.log_in("victor", PASSWORD).await.status, 401);
    let operator = site.session("victor", "another password").await;
    assert!(site.get("/login", &operator).await.text.contains("role operate"));
    let error = link(Role::View, Some("<b>")).expect_err("no name").to_string();
    assert!(error.contains("\"<b>\" is no name"), "{error}");
}

#[tokio::test]
async fn a_link_is_valid_for_fifteen_minutes_and_until_the_next() {
    let site = Site::start().await;
    let (first, token) = (site.token(), site.token());
    assert_eq!(site.set_up(&first, "anna", PASSWORD).await.status, 403, "replaced");
    for wrong in ["", "0", &"0".repeat(64), &token.to_uppercase(), &format!("{token}0"), "\"><script>"] {
        let answer = site.set_up(wrong, "anna", PASSWORD).await;
        assert!(answer.status == 403 && !answer.text.contains("<script"), "{wrong}: {answer:?}");
    }
    site.clock.advance(MINUTE * 15 - Duration::from_secs(5));
    assert_eq!(site.get(&format!("/setup?token={token}"), "").await.status, 200);
    site.clock.advance(Duration::from_secs(5));
    assert_eq!(site.set_up(&token, "anna", PASSWORD).await.status, 403, "after 15 minutes");
    assert!(!site.file("accounts.json").exists());
}

#[tokio::test]
async fn without_a_link_there_is_no_first_account() {
    let site = Site::start().await;
    assert_eq!(site.set_up("", "anna", PASSWORD).await.status, 403);
    assert_eq!(site.log_in("admin", "admin").await.status, 401);
    let token = site.token();
    let file = fs::read_to_string(site.file("setup-link.json")).expect("written");
    assert!(!file.contains(&token), "the link is kept as a hash: {file}");
}

#[tokio::test]
async fn names_and_passwords_are_checked_and_leave_the_link_valid() {
    let site = Site::start().await;
    let token = site.token();
    let long = "x".repeat(1025);
    for (name, password, why) in [
        ("", PASSWORD, "A name is"),
        ("Anna", PASSWORD, "A name is"),
        ("<b>", PASSWORD, "A name is"),
        ("a/../b", PASSWORD, "A name is"),
        ("anna", "123456789", "at least 10 characters"),
        ("anna", "äöüäöüäöü", "at least 10 characters"),
        ("anna", &long, "at most 1024"),
    ] {
        let answer = site.set_up(&token, name, password).await;
        assert!(answer.status == 422 && answer.text.contains(why), "{name} {password}: {answer:?}");
    }
    let form = [("token", &*token), ("name", "anna"), ("password", PASSWORD), ("again", "correct-hors")];
    assert!(site.post("/setup", &form, "").await.text.contains("differ"));
    let request = post("/setup", "Sec-Fetch-Site: cross-site\r\n", &form);
    assert_eq!(site.send(&request).await.status, 403, "of another site");
    assert_eq!(site.set_up(&token, "anna", "äöüäöüäöü!").await.status, 303);
}

#[tokio::test]
async fn the_file_is_for_its_owner_and_outlives_the_program() {
    let mut site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let path = site.file("accounts.json");
    let text = fs::read_to_string(&path).expect("written");
    assert!(text.contains("argon2id") && !text.contains(PASSWORD), "{text}");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&site.config.state).expect("there").permissions().mode() & 0o777, 0o700);
    let files = fs::read_dir(&site.config.state).expect("there").map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = files.filter(|name| !name.to_string_lossy().starts_with("audit-")).collect();
    assert_eq!(names, ["accounts.json"], "no temporary file, no used link");
    let session = site.session("anna", PASSWORD).await;
    site.restart().await;
    assert_eq!(site.get("/", "").await.header("location"), Some("/login"));
    assert_eq!(site.get("/history", &session).await.status, 401, "sessions end with the program");
    let session = site.session("anna", PASSWORD).await;
    assert_eq!(site.get("/history", &session).await.status, 503, "the box is away");
}

#[tokio::test]
async fn an_account_that_cannot_be_written_is_not_made_and_the_link_is_used_up() {
    let site = Site::start().await;
    let token = site.token();
    fs::create_dir(site.file("accounts.json")).expect("in the way");
    let answer = site.set_up(&token, "anna", PASSWORD).await;
    assert_eq!(answer.status, 500, "{answer:?}");
    fs::remove_dir(site.file("accounts.json")).expect("empty");
    assert_eq!(site.set_up(&token, "anna", PASSWORD).await.status, 403);
    assert_eq!(site.get("/nothing", "").await.status, 404, "there is no account");
}

#[tokio::test]
async fn damaged_accounts_are_refused_with_place_and_reason() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let path = site.file("accounts.json");
    let right = fs::read_to_string(&path).expect("written");
    for (damaged, parts) in [
        (String::new(), ["damaged", "line 1"]),
        (right[..right.len() / 2].to_owned(), ["damaged", "line "]),
        (right.replace("admin", "root"), ["damaged", "`view`, `operate`, `admin`"]),
        (right.replace("\"name\"", "\"nam\""), ["damaged", "line 5"]),
        (right.replace("anna", "<b>"), ["account 1", "a to z"]),
        (right.replace("\"salt\": \"", "\"salt\": \"0"), ["account 1", "hash"]),
        (right.replace("\"memory_kib\": 8", "\"memory_kib\": 4000000000"), ["account 1", "hash"]),
        (right.replace("\"version\": 1", "\"version\": 2"), ["version 2", "version 1"]),
        ("{\"version\": 1, \"accounts\": []}".to_owned(), ["damaged", "no account"]),
    ] {
        assert_ne!(damaged, right);
        fs::write(&path, &damaged).expect("written");
        let error = refusal(site.config.clone()).await;
        let is_named = error.contains(path.to_str().expect("text")) && parts.iter().all(|part| error.contains(part));
        assert!(is_named, "{error}\n{damaged}");
        assert!(setup_link(&site.config, &site.clock, Grant::ADMIN).is_err());
    }
    fs::write(&path, &right).expect("written");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("ours");
    let error = refusal(site.config.clone()).await;
    assert!(error.contains("mode 640") && error.contains("chmod 600"), "{error}");
}

#[tokio::test]
async fn other_machines_reach_the_page_only_with_tls_and_an_account() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut open = config(&folder);
    open.listen = "0.0.0.0:0".parse().expect("an address");
    let error = refusal(open.clone()).await;
    assert!(error.contains("no TLS") && error.contains("[tls]"), "{error}");
    open.tls = Some(TlsConfig::SelfSigned);
    let error = refusal(open.clone()).await;
    assert!(error.contains("no account") && error.contains("`evenair-web setup`"), "{error}");
    let error = setup_link(&open, &evenair_web::Clock::new(), Grant::ADMIN).expect_err("not served").to_string();
    assert!(error.contains("127.0.0.1"), "{error}");

    let mut site = Site::start().await;
    site.make("anna", PASSWORD).await;
    (site.config.listen, site.config.tls) = (open.listen, open.tls);
    site.restart().await;
    site.config.tls = None;
    assert!(refusal(site.config.clone()).await.contains("no TLS"), "an account alone is not enough");
}
