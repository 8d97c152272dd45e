//! The API: each route responds as documented, to authorized clients only; errors are problem
//! details.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use evenair_web::{Role, TokenGrant, add_token, api_document, list_tokens, remove_token};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::sample_box::{self, STATIONS, mac};
use crate::sample_control::{self, Asked};
use crate::schema::{faults, resolve};
use crate::site::{Answer, PASSWORD, Site, request};

/// A page with a box and an account, so that each request needs a token or a session.
pub struct Api {
    pub site: Site,
    /// Requests to the box's control socket.
    pub asked: Asked,
    /// A token of role view.
    pub view: String,
    /// A token of role operate.
    pub operate: String,
    /// A token of role admin.
    pub admin: String,
}

impl Api {
    pub async fn start() -> Self {
        let mut asked = Asked::default();
        let site = Site::with(|config, folder| {
            config.socket = folder.path().join("watch.sock");
            sample_box::start(&config.socket);
            config.control = folder.path().join("control.sock");
            asked = sample_control::start(&config.control);
        })
        .await;
        site.make("anna", PASSWORD).await;
        let token = |role| {
            let grant = TokenGrant { role, days: 1, note: "test".into() };
            add_token(&site.config, &site.clock, grant).expect("a token").0
        };
        let (view, operate, admin) = (token(Role::View), token(Role::Operate), token(Role::Admin));
        let api = Self { site, asked, view, operate, admin };
        for _ in 0..500 {
            if api.get("/totals").await.status == 200 {
                return api;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("no line has come: {:?}", api.get("/totals").await);
    }

    /// Requests a path with the admin's token.
    pub async fn get(&self, path: &str) -> Answer {
        self.site.get_with(&format!("/api/v1{path}"), &self.admin).await
    }

    async fn items(&self, path: &str) -> (Vec<Value>, Option<String>) {
        let json = self.get(path).await.json();
        let next = json.get("next").map(|next| next.as_str().expect("text").to_owned());
        (json["items"].as_array().unwrap_or_else(|| panic!("{path}: {json}")).clone(), next)
    }
}

/// Each readable path of the document, with names of the sample box.
fn paths() -> Vec<(String, &'static Value)> {
    let named = |path: &str| {
        path.replace("{station}", &mac(1)).replace("{domain}", "yard%202").replace("{access_point}", "ap%2F1")
    };
    let paths = api_document()["paths"].as_object().expect("paths");
    paths.iter().filter_map(|(path, item)| Some((named(path), item.get("get")?))).collect()
}

/// Checks that a response is a problem as documented.
pub fn check_problem(answer: &Answer, status: u16, what: &str) -> Value {
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (status, Some("application/problem+json")),
        "{what}: {answer:?}"
    );
    let (json, document) = (answer.json(), api_document());
    assert_eq!(faults(&json, &document["components"]["schemas"]["Problem"], document), Vec::<String>::new(), "{what}");
    assert_eq!(json["status"], status, "{what}");
    json
}

#[tokio::test]
async fn every_path_answers_what_the_document_says() {
    let (api, document) = (Api::start().await, api_document());
    let mut seen = 0;
    for (path, operation) in paths() {
        let content = &operation["responses"]["200"]["content"];
        let Some(schema) = content.get("application/json").map(|json| &json["schema"]) else { continue };
        let answer = api.site.get_with(&path, &api.admin).await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json")),
            "{path}: {answer:?}"
        );
        let json = answer.json();
        assert_eq!(faults(&json, schema, document), Vec::<String>::new(), "{path}");
        assert!(!faults(&Value::Null, schema, document).is_empty(), "{path}: its schema allows anything");
        let has_values = json.get("items").is_none_or(|items| !items.as_array().expect("a list").is_empty());
        assert!(has_values, "{path}: an empty list shows nothing: {json}");
        seen += 1;
    }
    assert_eq!(seen, 21);
}

#[tokio::test]
async fn roles_and_logins_are_asked_for_by_every_path() {
    let api = Api::start().await;
    let session = api.site.session("anna", PASSWORD).await;
    for (path, operation) in paths() {
        let is_admins = operation["description"].as_str().expect("text").contains("role admin");
        check_problem(&api.site.get(&path, "").await, 401, &path);
        let refused = api.site.get_with(&path, "evenair_0").await;
        check_problem(&refused, 401, &path);
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"), "{path}");
        if path.ends_with("/live") {
            continue;
        }
        assert_eq!(api.site.get(&path, &session).await.status, 200, "{path}: of an admin's browser");
        let viewer = api.site.get_with(&path, &api.view).await;
        if is_admins {
            let problem = check_problem(&viewer, 403, &path);
            assert_eq!(problem["detail"], "this is for role admin, and yours is view");
        } else {
            assert_eq!(viewer.status, 200, "{path}");
        }
    }
}

#[tokio::test]
async fn responses_have_the_data_of_the_box() {
    let api = Api::start().await;
    let json = async |path: &str| api.get(path).await.json();
    assert_eq!(json("/totals").await["mode"], "inserted");
    assert_eq!(json("/health").await["reasons"][0]["code"], "slow-link");
    assert_eq!(json("/stations/02:00:00:00:00:01").await["name"], "Anne");
    assert_eq!(json("/stations/02:00:00:00:00:01").await["at"], 1_764_230_000.5);
    let rate = async |path: &str| json(path).await["points"][0]["down_mbps"]["value"].as_f64();
    assert_eq!(rate("/history").await, Some(10.0));
    assert_eq!(rate("/history?span=24h").await, Some(24.0));
    assert_eq!(rate("/domains/hall/history?span=24h").await, Some(1024.0));
    assert_eq!(rate("/stations/02:00:00:00:00:04/history").await, Some(2010.0));
    let (events, _) = api.items("/events").await;
    let texts: Vec<_> = events.iter().map(|event| &event["text"]).collect();
    assert_eq!(texts, ["c", "a", "b"], "the oldest first");
    let (tokens, _) = api.items("/tokens").await;
    assert_eq!(tokens.len(), 3);
    assert!(!format!("{tokens:?}").contains("sha256"));
}

#[tokio::test]
async fn pages_neither_repeat_nor_leave_out_an_item() {
    let api = Api::start().await;
    for (path, count, key) in
        [("/stations", STATIONS, "mac"), ("/stations/02:00:00:00:00:00/flows", 4, "released_bytes")]
    {
        let (all, next) = api.items(path).await;
        assert_eq!((all.len(), next), (count, None), "{path}");
        for limit in 1..=count {
            let (mut pages, mut cursor) = (Vec::new(), String::new());
            loop {
                let (items, next) = api.items(&format!("{path}?limit={limit}{cursor}")).await;
                assert!(!items.is_empty() && items.len() <= limit, "{path}");
                pages.extend(items);
                let Some(next) = next else { break };
                cursor = format!("&cursor={next}");
            }
            let keys = |items: &[Value]| items.iter().map(|item| item[key].to_string()).collect::<Vec<_>>();
            assert_eq!(keys(&pages), keys(&all), "{path}, {limit} on a page");
            assert_eq!(keys(&all).iter().collect::<BTreeSet<_>>().len(), count, "{path}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_has_not_changed_is_304() {
    let api = Api::start().await;
    let answer = api.get("/stations").await;
    let tag = answer.header("etag").expect("it has one").to_owned();
    assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
    let again = async |tags: &str| {
        let headers = format!("Authorization: Bearer {}\r\nIf-None-Match: {tags}\r\n", api.view);
        api.site.send(&request("GET", "/api/v1/stations", &headers)).await
    };
    for tags in [&tag, &format!("W/{tag}"), &format!("\"other\", {tag}"), "*"] {
        let answer = again(tags).await;
        assert_eq!((answer.status, answer.header("etag")), (304, Some(&*tag)), "{tags}");
        assert!(answer.text.ends_with("\r\n\r\n"), "it has no body: {answer:?}");
    }
    for tags in ["\"other\"", "", &tag[..9], "\"\""] {
        assert_eq!(again(tags).await.status, 200, "{tags}");
    }
    let head = request("HEAD", "/api/v1/stations", &format!("Authorization: Bearer {}\r\n", api.view));
    let head = api.site.send(&head).await;
    assert!(head.status == 200 && head.header("etag") == Some(&tag) && head.text.ends_with("\r\n\r\n"), "{head:?}");
}

#[tokio::test]
async fn live_data_come_until_the_token_is_removed() {
    let api = Api::start().await;
    let mut stream = TcpStream::connect(api.site.address).await.expect("it listens");
    let asked = request("GET", "/api/v1/live", &format!("Authorization: Bearer {}\r\n", api.view));
    stream.write_all(asked.as_bytes()).await.expect("written");
    let (mut text, mut part) = (String::new(), [0; 4096]);
    let read = async {
        while !text.split_once("event: line").is_some_and(|(_, rest)| rest.contains("\n\n")) {
            let length = stream.read(&mut part).await.expect("readable");
            text += &String::from_utf8_lossy(&part[..length]);
        }
    };
    timeout(Duration::from_secs(5), read).await.expect("in time");
    assert!(text.contains("content-type: text/event-stream") && text.contains("event: events"), "{text}");
    let line = text.split("event: line\ndata: ").nth(1).and_then(|rest| rest.lines().next()).expect("a line");
    let (line, document) = (serde_json::from_str(line).expect("JSON"), api_document());
    let content = &document["paths"]["/api/v1/live"]["get"]["responses"]["200"]["content"];
    let schema = &content["text/event-stream"]["schema"]["contentSchema"];
    assert_eq!(faults(&line, schema, document), Vec::<String>::new());
    for token in list_tokens(&api.site.config).expect("readable") {
        remove_token(&api.site.config, &token.id).expect("removed");
    }
    timeout(Duration::from_secs(5), stream.read_to_end(&mut Vec::new())).await.expect("it ends").expect("readable");
    check_problem(&api.get("/live").await, 401, "the removed token");
}

#[tokio::test]
async fn all_problems_of_an_input_are_reported_together() {
    let api = Api::start().await;
    let problem = check_problem(&api.get("/stations?limt=5&limit=0&cursor=zz&limit=1").await, 400, "a query");
    let errors = problem["errors"].as_array().expect("a list");
    let said: Vec<_> =
        errors.iter().map(|error| (error["parameter"].as_str().unwrap(), error["detail"].as_str().unwrap())).collect();
    assert_eq!(said.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["limt", "limit", "cursor", "limit"]);
    assert_eq!(errors[0]["nearest"], "limit");
    for ((_, detail), part) in said.iter().zip(["did you mean \"limit\"", "from 1 to 1000", "`next`", "twice"]) {
        assert!(detail.contains(part), "{detail}");
    }
    for (path, status, nearest, part) in [
        ("/helth", 404, Some("/api/v1/health"), "openapi.json"),
        ("/stations/02:00:00:00:00:01/flow", 404, Some("/api/v1/stations/02:00:00:00:00:01/flows"), "no path"),
        ("/stations/", 404, Some("/api/v1/stations"), "no path"),
        ("", 404, None, "openapi.json"),
        ("/stations/02:00:00:00:00:0f", 404, Some("02:00:00:00:00:00"), "02:00:00:00:00:0f"),
        ("/stations/ane", 404, Some("02:00:00:00:00:01"), "MAC address"),
        ("/stations/anne/flows", 404, Some("02:00:00:00:00:01"), "MAC address"),
        ("/domains/hal", 404, Some("hall"), "domain"),
        ("/domains/hal/history", 404, Some("hall"), "domain"),
        ("/access-points/ap1", 404, Some("ap/1"), "access point"),
        ("/stations/%FF", 400, None, "UTF-8"),
        ("/history?span=24", 400, None, "10min, 24h"),
        ("/health?x", 400, None, "no parameters"),
        ("/live?x=1", 400, None, "no parameters"),
    ] {
        let problem = check_problem(&api.get(path).await, status, path);
        assert!(nearest.is_none_or(|nearest| problem["nearest"] == nearest), "{path}: {problem}");
        assert!(problem["detail"].as_str().expect("text").contains(part), "{path}: {problem}");
    }
}

#[tokio::test]
async fn methods_and_bodies_that_are_not_allowed_are_refused() {
    let api = Api::start().await;
    let with_token = format!("Authorization: Bearer {}\r\n", api.admin);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let answer = api.site.send(&request(method, "/api/v1/health", &with_token)).await;
        let problem = check_problem(&answer, 405, method);
        assert!(problem["detail"].as_str().expect("text").contains(method), "{problem}");
        let allowed: BTreeSet<_> = answer.header("allow").expect("it says what is").split(',').map(str::trim).collect();
        assert_eq!(allowed, BTreeSet::from(["GET", "HEAD"]));
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let long = format!("{with_token}Content-Length: 65537\r\n");
    check_problem(&api.site.send(&request("POST", "/api/v1/health", &long)).await, 413, "a long body");
    let session = format!("Cookie: {}\r\n", api.site.session("anna", PASSWORD).await);
    check_problem(&api.site.send(&request("POST", "/api/v1/health", &session)).await, 403, "without an origin");
    let other =
        format!("GET /api/v1/health HTTP/1.1\r\nHost: attacker.example\r\nConnection: close\r\n{with_token}\r\n");
    check_problem(&api.site.send(&other).await, 421, "another name");
}

#[tokio::test]
async fn random_input_is_never_a_server_error() {
    let api = Api::start().await;
    let long = "x".repeat(8000);
    let words = [
        "%00",
        "%F0%9F%98%80",
        "..%2f..",
        "{station}",
        "-1",
        "1e9",
        "18446744073709551616",
        "null",
        "a&a=",
        "%zz",
        &*long,
    ];
    let mut asked = 0;
    for (path, _) in paths().into_iter().filter(|(path, _)| !path.ends_with("/live")) {
        for word in words {
            for wrong in [
                format!("{path}/{word}"),
                format!("{path}?{word}"),
                format!("{path}?limit={word}&cursor={word}&span={word}"),
            ] {
                let answer = api.site.get_with(&wrong, &api.admin).await;
                assert!(matches!(answer.status, 400 | 404), "{wrong}: {answer:?}");
                check_problem(&answer, answer.status, &wrong);
                asked += 1;
            }
        }
    }
    assert_eq!(asked, 21 * 11 * 3);
}

#[tokio::test]
async fn a_box_that_is_away_is_503_and_says_why() {
    let site = Site::start().await;
    for path in ["/totals", "/stations", "/history", "/events", "/domains/hall/history", "/stations/x/flows"] {
        let answer = site.get(&format!("/api/v1{path}"), "").await;
        let problem = check_problem(&answer, 503, path);
        let why = problem["detail"].as_str().expect("text");
        assert!(why.contains("/nowhere/watch.sock") || why.contains("not answered yet"), "{path}: {why}");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    let document = site.get("/api/v1/openapi.json", "").await;
    assert_eq!(&document.json(), api_document(), "it needs no box");
    check_problem(&site.get("/api/v1/tokens", "").await, 403, "nobody is an admin without a login");
}

/// Collects all references of the document.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn the_committed_document_is_up_to_date_and_whole() {
    let document = api_document();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api/openapi.json");
    let committed: Value = serde_json::from_str(&fs::read_to_string(path).expect("committed")).expect("JSON");
    assert!(&committed == document, "docs/api/openapi.json: write it anew: make reference");
    let mut found = Vec::new();
    references(document, &mut found);
    let found: BTreeSet<_> =
        found.iter().map(|reference| (reference, resolve(reference, document))).map(|(name, _)| name).collect();
    for (kind, components) in document["components"].as_object().expect("components") {
        for name in components.as_object().expect("by name").keys().filter(|_| kind != "securitySchemes") {
            assert!(found.contains(&format!("#/components/{kind}/{name}")), "{kind} {name} is of no use");
        }
    }
    let ids: BTreeSet<_> = paths().iter().map(|(_, operation)| operation["operationId"].to_string()).collect();
    assert_eq!(ids.len(), paths().len(), "each operation has an id of its own");
}
