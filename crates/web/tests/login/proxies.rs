//! The page behind a reverse proxy, and below a base path.

use std::net::SocketAddr;

use evenair_web::WebConfig;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::audit::entries;
use crate::site::{Answer, PASSWORD, Site, exchange, post, request, with_body};

const NAME: &str = "wifi.example.org";

/// A page below /evenair that trusts the proxies of 127.0.0.1.
async fn behind() -> Site {
    Site::with(|config, _| {
        let text = format!("names = [\"{NAME}\"]\ntrusted_proxies = [\"127.0.0.1\"]\nbase_path = \"/evenair\"\n");
        let WebConfig { names, trusted_proxies, base_path, .. } = WebConfig::parse(&text, "web.toml").expect("right");
        (config.names, config.trusted_proxies, config.base_path) = (names, trusted_proxies, base_path);
    })
    .await
}

/// A small proxy: adds the forwarding headers to the only request of a connection, and copies all other data.
async fn proxy(page: SocketAddr, client: &'static str) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("it has one");
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("it listens");
            tokio::spawn(pass(stream, page, client));
        }
    });
    address
}

async fn pass(stream: TcpStream, page: SocketAddr, client: &str) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut header = String::new();
    while !header.ends_with("\r\n\r\n") && stream.read_line(&mut header).await? > 0 {}
    let header = header.trim_end();
    let mut to = TcpStream::connect(page).await?;
    to.write_all(format!("{header}\r\nX-Forwarded-For: {client}\r\nX-Forwarded-Proto: https\r\n\r\n").as_bytes())
        .await?;
    to.write_all(stream.buffer()).await?;
    let mut answer = Vec::new();
    _ = to.read_to_end(&mut answer).await?;
    stream.get_mut().write_all(&answer).await
}

/// A request with the page's host name.
fn named(request: &str) -> String {
    request.replace("Host: localhost", &format!("Host: {NAME}"))
}

async fn ask(address: SocketAddr, request: &str) -> Answer {
    exchange(TcpStream::connect(address).await.expect("it listens"), request).await
}

#[tokio::test]
async fn behind_a_proxy_with_tls_the_page_is_below_its_path_and_knows_its_clients() {
    let site = behind().await;
    let proxy = proxy(site.address, "203.0.113.7, 192.0.2.1").await;
    let get = async |path: &str, cookie: &str| {
        ask(proxy, &named(&request("GET", path, &format!("Cookie: {cookie}\r\n")))).await
    };
    let origin = format!("Origin: https://{NAME}\r\n");
    let token = site.token();
    let form = [("token", &*token), ("name", "anna"), ("password", PASSWORD), ("again", PASSWORD)];
    assert_eq!(get("/evenair/", "").await.status, 403, "without an account the page is for this machine alone");
    assert_eq!(get("/evenair/history", "").await.status, 403);
    assert_eq!(get(&format!("/evenair/setup?token={token}"), "").await.status, 200);
    let made = ask(proxy, &named(&post("/evenair/setup", &origin, &form))).await;
    assert_eq!((made.status, made.header("location")), (303, Some("/evenair/login")), "{made:?}");

    let form = [("name", "anna"), ("password", PASSWORD)];
    let answer = ask(proxy, &named(&post("/evenair/login", &origin, &form))).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/evenair/")), "{answer:?}");
    let cookie = answer.header("set-cookie").expect("a session");
    assert!(cookie.starts_with("__Secure-evenair=") && cookie.contains("; Path=/evenair;"), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let session = answer.cookie();
    assert_eq!(get("/evenair/history", &session).await.status, 503, "the box is away");
    assert_eq!(get("/evenair/api/v1/me", &session).await.json()["who"], "anna");
    let document = get("/evenair/api/v1/openapi.json", &session).await.json();
    assert_eq!(document["servers"][0]["url"], "/evenair");
    assert_eq!(get("/evenair", "").await.header("location"), Some("/evenair/"));
    assert_eq!(get("/evenair/", "").await.header("location"), Some("/evenair/login"));
    assert_eq!(get("/", "").await.header("location"), Some("/evenair/"));
    assert!(get("/evenair/login", "").await.text.contains("action=\"login\""), "addresses are relative");
    for path in ["/login", "/api/v1/me", "/evenairs/", "/history"] {
        let answer = get(path, &session).await;
        assert!(answer.status == 404 && answer.header("content-security-policy").is_some(), "{path}: {answer:?}");
    }
    let plain = post("/evenair/login", &format!("Origin: http://{NAME}\r\n"), &form);
    assert_eq!(ask(proxy, &named(&plain)).await.status, 403, "of the same host without TLS");
    let log_out = ask(proxy, &named(&post("/evenair/logout", &format!("{origin}Cookie: {session}\r\n"), &[]))).await;
    assert_eq!(log_out.header("location"), Some("/evenair/login"));
    let entries = entries(&site);
    let lines: Vec<_> = entries.iter().map(|entry| (&*entry.what, entry.from.as_deref())).collect();
    let from = Some("192.0.2.1");
    assert_eq!(
        lines,
        [("evenair-web setup", None), ("POST /setup", from), ("POST /login", from), ("POST /logout", from)]
    );
}

#[tokio::test]
async fn logins_through_a_proxy_are_limited_by_client() {
    let site = behind().await;
    let [one, two] = [proxy(site.address, "192.0.2.1").await, proxy(site.address, "192.0.2.2").await];
    site.make_below("anna", PASSWORD).await;
    let login = |name: &str| {
        let form = [("name", name), ("password", "wrong-password")];
        named(&post("/evenair/login", &format!("Origin: https://{NAME}\r\n"), &form))
    };
    for name in ["a", "b", "c", "d", "e"] {
        assert_eq!(ask(one, &login(name)).await.status, 401);
    }
    assert_eq!(ask(one, &login("f")).await.status, 429);
    assert_eq!(ask(two, &login("f")).await.status, 401, "another address behind the same proxy");
}

#[tokio::test]
async fn headers_of_untrusted_peers_are_ignored() {
    let mut site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let lies = "X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Proto: https\r\nOrigin: http://localhost\r\n";
    let form = [("name", "anna"), ("password", PASSWORD)];
    let answer = site.send(&post("/login", lies, &form)).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let cookie = answer.header("set-cookie").expect("a session");
    assert!(cookie.starts_with("evenair=") && !cookie.contains("Secure"), "{cookie}");
    assert_eq!(entries(&site).last().expect("a line").from.as_deref(), Some("127.0.0.1"));
    // A trusted proxy does not vouch for others on its machine.
    site.config.trusted_proxies = vec!["127.0.0.2".parse().expect("an address")];
    site.restart().await;
    assert_eq!(site.send(&post("/login", lies, &form)).await.status, 303);
    assert_eq!(entries(&site).last().expect("a line").from.as_deref(), Some("127.0.0.1"));
    site.config.trusted_proxies = vec!["127.0.0.0/8".parse().expect("a prefix")];
    site.restart().await;
    let lies = lies.replace("http://localhost", "https://localhost");
    assert_eq!(site.send(&post("/login", &lies, &form)).await.status, 303);
    assert_eq!(entries(&site).last().expect("a line").from.as_deref(), Some("192.0.2.9"));
}

#[tokio::test]
async fn a_proxy_without_tls_forwards_no_remote_client() {
    let site = behind().await;
    site.make_below("anna", PASSWORD).await;
    for (headers, status) in [
        ("X-Forwarded-For: 192.0.2.1\r\n", 403),
        ("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: http\r\n", 403),
        ("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n", 200),
        ("X-Forwarded-For: 127.0.0.1\r\n", 200),
        ("X-Forwarded-Proto: http\r\n", 403),
        ("", 200),
    ] {
        let answer = site.send(&request("GET", "/evenair/login", headers)).await;
        assert_eq!(answer.status, status, "{headers}: {answer:?}");
    }
    let headers = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nOrigin: https://localhost\r\n";
    let answer = site.send(&with_body("POST", "/evenair/api/v1/bypass", headers, "")).await;
    assert_eq!(answer.status, 401, "{answer:?}");
    let other = request("GET", "/evenair/login", "").replace("localhost", "attacker.example");
    assert_eq!(site.send(&other).await.status, 421);
}
