//! Routes that change something: each sends its request to the box, for authorized clients, and leaves exactly one line in the
//! audit log.

use std::collections::BTreeSet;

use evenair_api::{Request, StationName};
use evenair_web::{Actor, Role, api_document};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Duration, sleep};

use crate::api::{Api, check_problem};
use crate::audit;
use crate::sample_box::mac;
use crate::sample_control::{BYPASS_TIME, REFUSED};
use crate::site::{Answer, PASSWORD, Site, with_body};

/// A valid body of an operation, and the resulting request to the box.
fn sample(operation: &str) -> (Value, Option<Request>) {
    if operation == "put_me_password" {
        return (json!({"old": PASSWORD, "new": "battery-staple"}), None);
    }
    let (body, request) = sample_command(operation);
    (body, Some(request))
}

fn sample_command(operation: &str) -> (Value, Request) {
    let mac = mac(1);
    match operation {
        "post_insert" => (Value::Null, Request::Insert),
        "post_observe" => (Value::Null, Request::Observe { force: false }),
        "post_bypass" => (Value::Null, Request::Bypass { force: false }),
        "post_shutdown" => (Value::Null, Request::Shutdown { force: false }),
        "post_reload" => (json!({"check": true}), Request::Reconfigure { file: None, check: true }),
        "post_names" => {
            let names = vec![StationName { mac: mac.clone(), name: "Anne".into() }];
            (json!({"names": [{"mac": mac, "name": "Anne"}]}), Request::ImportNames { at: 0, total: 1, names })
        }
        "put_stations_station_name" => (json!({"name": "Anne"}), Request::Name { mac, name: Some("Anne".into()) }),
        "delete_stations_station_name" => (Value::Null, Request::Name { mac, name: None }),
        "put_stations_station_rate" => {
            (json!({"rate_mbps": 5.5}), Request::SetRate { mac, rate_mbps: Some(5.5), mode: None })
        }
        "delete_stations_station_rate" => (Value::Null, Request::SetRate { mac, rate_mbps: None, mode: None }),
        "put_stations_station_access_point" => {
            (json!({"access_point": "hall"}), Request::At { mac, access_point: Some("hall".into()) })
        }
        "delete_stations_station_access_point" => (Value::Null, Request::At { mac, access_point: None }),
        "put_stations_station_group" => {
            (json!({"group": "staff"}), Request::Group { mac, group: Some("staff".into()) })
        }
        "delete_stations_station_group" => (Value::Null, Request::Group { mac, group: None }),
        "put_stations_station_network" => {
            (json!({"ssid": "guests"}), Request::Network { mac, ssid: Some("guests".into()) })
        }
        "delete_stations_station_network" => (Value::Null, Request::Network { mac, ssid: None }),
        "post_losses" => (json!({"access_point": mac, "total": 12}), Request::Losses { access_point: mac, total: 12 }),
        other => panic!("{other} has no sample"),
    }
}

/// Method, path in the document, and operation of all routes that change something.
fn changes() -> Vec<(String, &'static str, &'static Value)> {
    let paths = api_document()["paths"].as_object().expect("paths").iter();
    let all = paths.flat_map(|(path, item)| {
        let methods = item.as_object().expect("methods").iter().filter(|(method, _)| *method != "get");
        methods.map(move |(method, operation)| (method.to_uppercase(), path.as_str(), operation))
    });
    all.collect()
}

/// Sends a request with a token, and a body if given.
async fn send(api: &Api, method: &str, path: &str, token: &str, body: &Value) -> Answer {
    let path = path.replace("{station}", &mac(1));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let headers = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    api.site.send(&with_body(method, &path, &headers, &body)).await
}

#[tokio::test]
async fn each_route_that_changes_something_asks_the_box_and_writes_one_line() {
    let api = Api::start().await;
    let mut count = audit::entries(&api.site).len();
    let mut file = audit::text(&api.site);
    for (method, path, operation) in changes() {
        let (body, request) = sample(operation["operationId"].as_str().expect("text"));
        assert_eq!(body.is_null(), operation.get("requestBody").is_none(), "{method} {path}");
        let is_admins = operation["description"].as_str().expect("text").contains("role admin");
        let wrong = json!({"forse": true});
        for (token, body, status) in [
            // A token has no password.
            (&api.admin, &body, if request.is_some() { 204 } else { 403 }),
            (&api.operate, &body, if is_admins || request.is_none() { 403 } else { 204 }),
            (&api.view, &body, 403),
            (&api.admin, &wrong, 400),
        ] {
            let answer = send(&api, &method, path, token, body).await;
            assert_eq!(answer.status, status, "{method} {path} {body}: {answer:?}");
            if status != 204 {
                check_problem(&answer, status, path);
            }
            count += 1;
            let entries = audit::entries(&api.site);
            assert_eq!(entries.len(), count, "{method} {path}: one line each");
            let last = entries.last().expect("a line");
            assert_eq!((&*last.what, last.status), (&*format!("{method} {path}"), Some(status)));
            assert_eq!((last.doer.by, last.from.as_deref()), (Actor::Token, Some("127.0.0.1")));
            assert!(last.doer.role.is_some() && last.doer.who.len() == 8, "{last:?}");
            assert_eq!(last.result == "done", status == 204, "{last:?}");
            let has_values =
                body.as_object().into_iter().flatten().all(|(key, value)| last.values.get(key) == Some(value));
            assert_eq!(has_values, status == 204 || body.is_null(), "{last:?}");
            assert!(request.is_some() || last.values.is_empty(), "passwords are no values of the log: {last:?}");
        }
        assert_eq!(send(&api, &method, path, "evenair_0", &body).await.status, 401);
        assert_eq!(audit::entries(&api.site).len(), count, "a request without a login leaves no line");
        let asked = std::mem::take(&mut *api.asked.lock().expect("unbroken"));
        let asked: Vec<_> = asked.into_iter().map(|(_, request)| request).collect();
        let times = if is_admins { 1 } else { 2 };
        assert_eq!(asked, request.map_or(vec![], |request| vec![request; times]), "{method} {path}");
        let longer = audit::text(&api.site);
        assert!(longer.starts_with(&file), "nothing that was written is changed");
        file = longer;
    }
    assert_eq!(changes().len(), 18);
    let ids: BTreeSet<_> = changes().iter().map(|(.., operation)| operation["operationId"].to_string()).collect();
    assert_eq!(ids.len(), 18, "each operation has an id of its own");
    let token = &api.admin[8..];
    assert!(!file.contains(token) && !file.contains("forse"), "neither secrets nor what is wrong");
}

#[tokio::test]
async fn refusals_of_the_box_are_409_and_an_absent_box_502() {
    let api = Api::start().await;
    let refused = format!("/api/v1/stations/{REFUSED}/name");
    let answer = send(&api, "PUT", &refused, &api.operate, &json!({"name": "Anne"})).await;
    let problem = check_problem(&answer, 409, "refused");
    assert_eq!(problem["detail"], "the box refuses: not this one");
    let last = audit::entries(&api.site).pop().expect("a line");
    assert_eq!((&*last.result, &last.values["name"]), ("the box refuses: not this one", &"Anne".into()));
    std::fs::remove_file(&api.site.config.control).expect("there");
    for (method, path) in [("POST", "/api/v1/insert"), ("GET", "/api/v1/status"), ("GET", "/api/v1/names")] {
        let problem = check_problem(&send(&api, method, path, &api.operate, &Value::Null).await, 502, path);
        assert!(problem["detail"].as_str().expect("text").contains("control.sock"), "{problem}");
    }
}

#[tokio::test]
async fn all_problems_of_a_body_are_reported_together() {
    let api = Api::start().await;
    let put = async |path: &str, body: &Value| {
        let path = format!("/api/v1/stations/{{station}}{path}");
        check_problem(&send(&api, "PUT", &path, &api.operate, body).await, 400, &body.to_string())
    };
    let details = |problem: &Value| -> Vec<String> {
        let errors = problem["errors"].as_array().expect("a list").iter();
        errors
            .map(|error| format!("{}: {}", error["parameter"].as_str().unwrap(), error["detail"].as_str().unwrap()))
            .collect()
    };
    for (path, body, parts) in [
        (
            "/name",
            json!({"nam": "x"}),
            &["nam: there is no such member, but name; did you mean \"name\"?", "name: it is missing"][..],
        ),
        ("/name", json!({"name": ""}), &["name: \"\" has 0 characters, and not 1 to 64"]),
        ("/name", json!({"name": null}), &["name: null is no string"]),
        ("/name", json!("Anne"), &["body: \"Anne\" is no object"]),
        ("/rate", json!({}), &["body: it has to have one of mode, rate_mbps"]),
        (
            "/rate",
            json!({"mode": "HE MCS 7", "rate_mbps": -1}),
            &["rate_mbps: -1 is less than 0", "body: it has to have one of"],
        ),
        ("/rate", json!({"rate_mbps": 10001}), &["rate_mbps: 10001 is more than 10000"]),
    ] {
        let said = details(&put(path, &body).await);
        assert_eq!(said.len(), parts.len(), "{said:?}");
        assert!(said.iter().zip(parts).all(|(said, part)| said.starts_with(part)), "{said:?}");
    }
    let names = json!({"names": [{"mac": "x", "name": "a"}, {"mac": mac(1)}, 7]});
    let problem = check_problem(&send(&api, "POST", "/api/v1/names", &api.operate, &names).await, 400, "names");
    let parameters: Vec<_> =
        problem["errors"].as_array().expect("a list").iter().map(|error| &error["parameter"]).collect();
    assert_eq!(parameters, ["names[0].mac", "names[1].name", "names[2]"]);
    let problem = check_problem(
        &send(&api, "PUT", "/api/v1/stations/anne/name", &api.operate, &json!({"name": "x"})).await,
        400,
        "no MAC",
    );
    assert_eq!(problem["errors"][0]["parameter"], "station");
    let headers = format!("Authorization: Bearer {}\r\n", api.operate);
    let path = "/api/v1/losses";
    let body = json!({"access_point": mac(1), "total": 1.5}).to_string();
    for (kind, body, status) in [
        ("application/json", &*body, 400),
        ("application/json", "{", 400),
        ("application/json", "", 400),
        ("text/plain", &body, 415),
    ] {
        let headers = format!("{headers}Content-Type: {kind}\r\n");
        check_problem(&api.site.send(&with_body("POST", path, &headers, body)).await, status, body);
    }
    assert_eq!(send(&api, "POST", "/api/v1/reload", &api.admin, &Value::Null).await.status, 204, "all has a default");
    assert_eq!(api.asked.lock().expect("unbroken").len(), 1, "the box was asked nothing else");
}

#[tokio::test]
async fn many_names_come_to_the_box_in_parts_of_one_connection() {
    let api = Api::start().await;
    let names: Vec<_> = (0..300).map(|index| json!({"mac": format!("02:00:00:01:{:02x}:{:02x}", index / 256, index % 256), "name": "x".repeat(64)})).collect();
    let answer = send(&api, "POST", "/api/v1/names", &api.operate, &json!({"names": names})).await;
    assert_eq!(answer.status, 204, "{answer:?}");
    let asked = api.asked.lock().expect("unbroken").clone();
    let part = |(connection, request): &(usize, Request)| match request {
        Request::ImportNames { at, total: 300, names } => (*connection, *at, names.len()),
        other => panic!("{other:?}"),
    };
    let parts: Vec<_> = asked.iter().map(part).collect();
    let first = parts[0].0;
    assert_eq!(parts, [(first, 0, 128), (first, 128, 128), (first, 256, 44)]);
    let last = audit::entries(&api.site).pop().expect("a line");
    assert_eq!(last.values["names"].as_array().expect("a list").len(), 300);
}

#[tokio::test]
async fn a_browser_commands_from_our_own_page_alone() {
    let api = Api::start().await;
    let session = api.site.session("anna", PASSWORD).await;
    let post = async |headers: &str| {
        let headers = format!("Cookie: {session}\r\n{headers}");
        api.site.send(&with_body("POST", "/api/v1/observe", &headers, "")).await.status
    };
    for foreign in
        ["", "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n", "Origin: http://attacker.example\r\n"]
    {
        assert_eq!(post(foreign).await, 403, "{foreign}");
    }
    assert!(api.asked.lock().expect("unbroken").is_empty());
    assert_eq!(post("Sec-Fetch-Site: same-origin\r\n").await, 204);
    let last = audit::entries(&api.site).pop().expect("a line");
    assert_eq!((last.doer.by, &*last.doer.who, last.doer.role), (Actor::Account, "anna", Some(Role::Admin)));
    let me = api.site.get("/api/v1/me", &session).await.json();
    assert_eq!(me, json!({"by": "account", "who": "anna", "role": "admin"}));
}

#[tokio::test]
async fn without_an_account_the_box_takes_no_command() {
    let site = Site::start().await;
    let answer = site.send(&with_body("POST", "/api/v1/bypass", "Origin: http://localhost\r\n", "")).await;
    check_problem(&answer, 403, "no account");
    let last = audit::entries(&site).pop().expect("a line");
    assert_eq!((last.doer.by, last.status), (Actor::Anonymous, Some(403)));
    assert_eq!(site.get("/api/v1/me", "").await.json(), json!({"by": "anonymous", "who": "", "role": "view"}));
}

#[tokio::test]
async fn started_changes_are_logged_although_the_client_disconnects() {
    let api = Api::start().await;
    let before = audit::entries(&api.site).len();
    let mut stream = TcpStream::connect(api.site.address).await.expect("it listens");
    let headers = format!("Authorization: Bearer {}\r\n", api.operate);
    stream.write_all(with_body("POST", "/api/v1/bypass", &headers, "").as_bytes()).await.expect("written");
    while api.asked.lock().expect("unbroken").is_empty() {
        sleep(Duration::from_millis(5)).await;
    }
    drop(stream);
    sleep(BYPASS_TIME / 4).await;
    assert_eq!(audit::entries(&api.site).len(), before, "the box is at it");
    for _ in 0..100 {
        if audit::entries(&api.site).len() > before {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    let last = audit::entries(&api.site).pop().expect("a line");
    assert_eq!((&*last.what, &*last.result), ("POST /api/v1/bypass", "done"));
}

#[tokio::test]
async fn changes_that_cannot_be_logged_are_refused() {
    let api = Api::start().await;
    for entry in std::fs::read_dir(&api.site.config.state).expect("there") {
        let path = entry.expect("readable").path();
        if path.to_string_lossy().contains("/audit-") {
            std::fs::remove_file(&path).expect("there");
            std::fs::create_dir(&path).expect("a folder in its place");
        }
    }
    let answer = send(&api, "POST", "/api/v1/insert", &api.admin, &Value::Null).await;
    let problem = check_problem(&answer, 500, "no log");
    assert!(problem["detail"].as_str().expect("text").contains("nothing was done"), "{problem}");
    assert!(api.asked.lock().expect("unbroken").is_empty());
    check_problem(&api.get("/audit").await, 500, "it cannot be read");
}
