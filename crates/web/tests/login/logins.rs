//! Logins, sessions, and access without a session.

use std::time::{Duration, Instant};

use evenair_web::{Clock, PasswordCost, Web};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::site::{PASSWORD, Site, post};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Paths with data of the box.
const DATA: [&str; 3] = ["/events", "/history", "/history/day"];

#[tokio::test]
async fn without_accounts_the_page_is_as_it_was() {
    let site = Site::start().await;
    for path in ["/history", "/history/day"] {
        assert_eq!(site.get(path, "").await.status, 503, "{path}: the box is away");
    }
    let mut stream = stream(&site, "").await;
    assert!(next(&mut stream).await.expect("a stream").contains("event: away"));
    site.make("anna", PASSWORD).await;
    while next(&mut stream).await.is_some() {}
}

#[tokio::test]
async fn with_an_account_all_but_the_login_needs_a_session() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let no_session = ["", "evenair=", "evenair=0", &format!("evenair={}", "0".repeat(64)), "other=1"];
    for cookie in no_session {
        for path in DATA.iter().chain(&["/main.js", "/nothing", "/login/", "//login"]) {
            let answer = site.get(path, cookie).await;
            assert_eq!(answer.status, 401, "{path} {cookie}: {answer:?}");
        }
        for path in ["/", "/index.html"] {
            let answer = site.get(path, cookie).await;
            assert_eq!((answer.status, answer.header("location")), (303, Some("/login")), "{path}");
        }
        for (path, status) in [("/login", 200), ("/login.css", 200), ("/setup", 403)] {
            assert_eq!(site.get(path, cookie).await.status, status, "{path}");
        }
    }
    let session = site.session("anna", PASSWORD).await;
    let mut stream = stream(&site, &session).await;
    assert!(next(&mut stream).await.expect("a stream").contains("event: away"));
    assert_eq!(site.get("/nothing", &format!("other=1; {session}")).await.status, 404);
    let answer = site.post("/logout", &[], &session).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/login")));
    assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")), "{answer:?}");
    assert_eq!(site.get("/nothing", &session).await.status, 401);
    while next(&mut stream).await.is_some() {}
}

#[tokio::test]
async fn sessions_end_after_twelve_hours_and_with_the_password() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    site.make("berta", PASSWORD).await;
    let session = site.session("anna", PASSWORD).await;
    site.clock.advance(HOUR * 12 - Duration::from_secs(10));
    assert_eq!(site.get("/nothing", &session).await.status, 404);
    site.clock.advance(Duration::from_secs(10));
    assert_eq!(site.get("/nothing", &session).await.status, 401);

    let (anna, berta) = (site.session("anna", PASSWORD).await, site.session("berta", PASSWORD).await);
    site.make("anna", "battery-staple").await;
    assert_eq!(site.get("/nothing", &anna).await.status, 401, "her password was changed");
    assert_eq!(site.get("/nothing", &berta).await.status, 404, "his was not");
    assert_eq!(site.log_in("anna", PASSWORD).await.status, 401);
    site.session("anna", "battery-staple").await;
}

#[tokio::test]
async fn the_cookie_is_for_the_page_alone_and_each_login_has_another() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let answer = site.log_in("anna", PASSWORD).await;
    let cookie = answer.header("set-cookie").expect("a session");
    let (id, flags) = cookie.strip_prefix("evenair=").and_then(|rest| rest.split_once("; ")).expect("its name");
    assert_eq!((id.len(), flags), (64, "Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"));
    let first = answer.cookie();
    let form = [("name", "anna"), ("password", PASSWORD)];
    let second = site.post("/login", &form, &first).await.cookie();
    assert_ne!(first, second);
    assert_eq!(site.get("/nothing", &first).await.status, 401, "a new login ends the session before");
    assert_eq!(site.get("/nothing", &second).await.status, 404);
    assert_eq!(site.log_in("anna", "correct-horsf").await.header("set-cookie"), None);
}

#[tokio::test]
async fn five_failed_logins_a_minute_by_account() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    for host in 1..=5 {
        assert_eq!(site.log_in_from(host, "anna", "wrong-password").await.status, 401);
    }
    let answer = site.log_in_from(6, "anna", PASSWORD).await;
    let wait: u64 = answer.header("retry-after").and_then(|wait| wait.parse().ok()).expect("when to try again");
    assert_eq!(answer.status, 429);
    assert!((50..=60).contains(&wait), "{wait} s");
    assert_eq!(site.log_in_from(6, "berta", PASSWORD).await.status, 401, "of another account");
    site.clock.advance(Duration::from_secs(wait));
    site.session("anna", PASSWORD).await;
}

#[tokio::test]
async fn five_failed_logins_a_minute_by_address() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    for _ in 0..10 {
        site.session("anna", PASSWORD).await;
    }
    for name in ["a", "b", "c", "d", "e"] {
        assert_eq!(site.log_in(name, PASSWORD).await.status, 401);
    }
    assert_eq!(site.log_in("anna", PASSWORD).await.status, 429);
    assert_eq!(site.log_in_from(2, "anna", PASSWORD).await.status, 303, "of another address");
    site.clock.advance(Duration::from_secs(60));
    site.session("anna", PASSWORD).await;
}

#[tokio::test]
async fn other_sites_can_neither_log_in_nor_out() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let form = [("name", "anna"), ("password", PASSWORD)];
    let session = site.session("anna", PASSWORD).await;
    for headers in [
        "",
        "Origin: null\r\n",
        "Origin: http://attacker.example\r\n",
        "Origin: https://localhost\r\n",
        "Origin: http://localhost:8080\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\nOrigin: http://localhost\r\n",
        "Sec-Fetch-Site: none\r\n",
    ] {
        for path in ["/login", "/logout"] {
            let answer = site.send(&post(path, &format!("{headers}Cookie: {session}\r\n"), &form)).await;
            assert_eq!((answer.status, answer.header("set-cookie")), (403, None), "{path} {headers}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(site.get("/nothing", &session).await.status, 404, "still logged in");
    for headers in ["Origin: http://LOCALHOST\r\n", "Sec-Fetch-Site: same-origin\r\nOrigin: null\r\n"] {
        assert_eq!(site.send(&post("/login", headers, &form)).await.status, 303, "{headers}");
    }
    assert_eq!(site.get("/logout", &session).await.status, 405, "a link logs nobody out");
}

#[tokio::test]
async fn bodies_are_bounded_and_are_forms() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let long = "x".repeat(64 << 10);
    assert_eq!(site.log_in("anna", &long).await.status, 413);
    assert_eq!(site.log_in("anna", &long[..2000]).await.status, 422);
    let request = site.post_request("/login", &[("name", "anna")], "").replace("x-www-form-urlencoded", "json");
    assert_eq!(site.send(&request).await.status, 415);
    assert_eq!(site.log_in("<script>", "\"><script>").await.status, 401);
    assert!(!site.log_in("<script>", "\"><script>").await.text.contains("<script"));
    assert_eq!(
        site.send(&post("/login", "Origin: http://localhost\r\n", &[]).replace("POST", "PUT")).await.status,
        405
    );
}

#[tokio::test]
async fn every_answer_has_the_headers() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let session = site.session("anna", PASSWORD).await;
    let mut answers = vec![site.log_in("anna", "wrong-password").await];
    for path in ["/", "/login", "/login.css", "/setup", "/history", "/nothing"] {
        answers.push(site.get(path, "").await);
        answers.push(site.get(path, &session).await);
    }
    for answer in answers {
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("form-action 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
        assert_eq!(answer.header("strict-transport-security"), None, "without TLS");
        assert_eq!(answer.header("access-control-allow-origin"), None);
        let is_file = answer.text.contains("id=\"page\"");
        assert!(is_file || answer.header("cache-control") == Some("no-store"), "{answer:?}");
        let html = answer.text.split_once("\r\n\r\n").expect("a body").1;
        assert!(!html.contains("style=") && !html.contains("<style"), "no inline code: {html}");
    }
    let mut stream = stream(&site, &session).await;
    let text = next(&mut stream).await.expect("a stream").to_lowercase();
    assert!(text.contains("cache-control: no-store"), "{text}");
}

/// With the real cost of a hash. Load can only slow both down: each is compared with a time in which no machine fills 19 MiB twice,
/// whereas a response without a hash is faster.
#[tokio::test]
async fn an_unknown_account_takes_as_long_as_a_wrong_password() {
    const LEAST: Duration = Duration::from_millis(5);
    let mut site = Site::start().await;
    let web = Web::bind(site.config.clone(), Clock::new(), PasswordCost::OWASP).await.expect("it starts");
    site.address = web.address();
    let server = tokio::spawn(web.run());
    site.make("anna", PASSWORD).await;
    for name in ["anna", "nobody", "<b>"] {
        let begin = Instant::now();
        assert_eq!(site.log_in(name, "wrong-password").await.status, 401);
        assert!(begin.elapsed() > LEAST, "{name}: {:?}", begin.elapsed());
    }
    server.abort();
}

async fn stream(site: &Site, cookie: &str) -> TcpStream {
    let mut stream = TcpStream::connect(site.address).await.expect("it listens");
    let request = format!("GET /events HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    stream
}

/// The next data of a stream; `None`: it has ended.
async fn next(stream: &mut TcpStream) -> Option<String> {
    let mut part = [0; 4096];
    let length = timeout(Duration::from_secs(5), stream.read(&mut part)).await.expect("in time").expect("readable");
    (length > 0).then(|| String::from_utf8_lossy(&part[..length]).into_owned())
}
