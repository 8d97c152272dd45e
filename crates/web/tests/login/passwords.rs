//! Changing the password of a logged-in account.

use std::fs;
use std::time::Duration;

use evenair_web::Actor;
use serde_json::{Value, json};

use crate::api::{Api, check_problem};
use crate::audit::{entries, text};
use crate::site::{Answer, PASSWORD, Site, with_body};

const NEW: &str = "battery-staple";

/// Submits the form of the page.
async fn change(site: &Site, cookie: &str, [old, new, again]: [&str; 3]) -> Answer {
    site.post("/password", &[("name", "anna"), ("old", old), ("new", new), ("again", again)], cookie).await
}

/// Changes it by the API.
async fn put(site: &Site, cookie: &str, body: &Value) -> Answer {
    let headers = format!("Cookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\n");
    site.send(&with_body("PUT", "/api/v1/me/password", &headers, &body.to_string())).await
}

#[tokio::test]
async fn other_sessions_end_with_a_new_password_and_this_one_goes_on() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    site.make("berta", PASSWORD).await;
    for (round, old, new) in [("page", PASSWORD, NEW), ("API", NEW, PASSWORD)] {
        let [mine, other] = [site.session("anna", old).await, site.session("anna", old).await];
        let berta = site.session("berta", PASSWORD).await;
        let form = site.get("/password", &mine).await;
        assert!(form.status == 200 && form.text.contains("value=\"anna\" readonly"), "{form:?}");
        let answer = match round {
            "page" => change(&site, &mine, [old, new, new]).await,
            _ => put(&site, &mine, &json!({"old": old, "new": new})).await,
        };
        assert_eq!(answer.status, if round == "page" { 200 } else { 204 }, "{answer:?}");
        assert_eq!(site.get("/nothing", &mine).await.status, 404, "{round}: this session goes on");
        assert_eq!(site.get("/nothing", &other).await.status, 401, "{round}: the other one of anna has ended");
        assert_eq!(site.get("/nothing", &berta).await.status, 404, "{round}: that of berta has not");
        assert_eq!(site.log_in("anna", old).await.status, 401);
        site.session("anna", new).await;
        assert!(entries(&site).iter().any(|line| {
            line.what.contains("/password")
                && line.result == "done"
                && (line.doer.by, &*line.doer.who) == (Actor::Account, "anna")
        }));
    }
    let log = text(&site);
    assert!(log.contains("POST /password") && log.contains("PUT /api/v1/me/password"), "{log}");
    assert!(!log.contains(PASSWORD) && !log.contains(NEW), "{log}");
    let mut site = site;
    site.restart().await;
    site.session("anna", PASSWORD).await;
}

#[tokio::test]
async fn invalid_requests_change_nothing_and_are_reported() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let session = site.session("anna", PASSWORD).await;
    let accounts = fs::read(site.file("accounts.json")).expect("there");
    let long = "x".repeat(1025);
    for (fields, status, why) in [
        ([PASSWORD, NEW, PASSWORD], 422, "differ"),
        ([PASSWORD, "short", "short"], 422, "at least 10"),
        ([PASSWORD, &long, &long], 422, "at most 1024"),
        (["wrong-password", NEW, NEW], 403, "old password is wrong"),
    ] {
        let answer = change(&site, &session, fields).await;
        assert!(answer.status == status && answer.text.contains(why), "{why}: {answer:?}");
    }
    for (body, status, why) in [
        (json!({"old": PASSWORD, "new": "short"}), 400, "new: it has 5 characters"),
        (json!({"old": PASSWORD, "new": 12_345_678_901_u64}), 400, "new: it is no string"),
        (json!({"old": PASSWORD, "new": "ä".repeat(1000)}), 400, "at most 1024 bytes"),
        (json!({"old": PASSWORD}), 400, "new: it is missing"),
        (json!({"old": "wrong-password", "new": NEW}), 403, "the old password is wrong"),
    ] {
        let answer = put(&site, &session, &body).await;
        let problem = check_problem(&answer, status, why);
        let detail = problem["detail"].as_str().expect("text");
        assert!(detail.contains(why) && !detail.contains("short") && !detail.contains("1234567"), "{why}: {detail}");
    }
    assert_eq!(change(&site, "", [PASSWORD, NEW, NEW]).await.status, 401, "without a session");
    let foreign =
        with_body("PUT", "/api/v1/me/password", &format!("Cookie: {session}\r\nSec-Fetch-Site: cross-site\r\n"), "{}");
    assert_eq!(site.send(&foreign).await.status, 403, "of another site");
    assert_eq!(fs::read(site.file("accounts.json")).expect("there"), accounts);
    assert_eq!(site.get("/nothing", &session).await.status, 404);
    let log = text(&site);
    assert!(![PASSWORD, NEW, "wrong-password", "short"].iter().any(|secret| log.contains(secret)), "{log}");
    assert_eq!(entries(&site).iter().filter(|line| line.result == "the old password is wrong").count(), 2);
}

#[tokio::test]
async fn a_wrong_old_password_counts_as_a_failed_login() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let session = site.session("anna", PASSWORD).await;
    for _ in 0..3 {
        assert_eq!(change(&site, &session, ["wrong-password", NEW, NEW]).await.status, 403);
    }
    for _ in 0..2 {
        assert_eq!(put(&site, &session, &json!({"old": "wrong-password", "new": NEW})).await.status, 403);
    }
    for answer in [
        change(&site, &session, [PASSWORD, NEW, NEW]).await,
        put(&site, &session, &json!({"old": PASSWORD, "new": NEW})).await,
        site.log_in_from(2, "anna", PASSWORD).await,
    ] {
        let wait: u64 = answer.header("retry-after").and_then(|wait| wait.parse().ok()).expect("when to try again");
        assert!(answer.status == 429 && (50..=60).contains(&wait), "{answer:?}");
    }
    site.clock.advance(Duration::from_secs(61));
    assert_eq!(change(&site, &session, [PASSWORD, NEW, NEW]).await.status, 200);
}

#[tokio::test]
async fn a_token_and_a_page_without_accounts_have_no_password() {
    let site = Site::start().await;
    assert_eq!(site.get("/password", "").await.status, 403);
    let body = json!({"old": PASSWORD, "new": NEW});
    check_problem(&put(&site, "", &body).await, 403, "no account");
    let api = Api::start().await;
    let headers = format!("Authorization: Bearer {}\r\nContent-Type: application/json\r\n", api.admin);
    let answer = api.site.send(&with_body("PUT", "/api/v1/me/password", &headers, &body.to_string())).await;
    let problem = check_problem(&answer, 403, "a token");
    assert!(problem["detail"].as_str().expect("text").contains("a token has none"), "{problem}");
}
