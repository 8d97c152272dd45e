//! Tokens of the API.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use evenair_web::{Role, TokenGrant, add_token, list_tokens, remove_token};

use crate::commands::run;
use crate::site::{PASSWORD, Site, request};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// An unknown path of the API: 404 for authorized clients.
const NOTHING: &str = "/api/v1/nothing";

fn add(site: &Site, role: Role) -> String {
    let grant = TokenGrant { role, days: 30, note: "Grafana".into() };
    add_token(&site.config, &site.clock, grant).expect("a token").0
}

#[tokio::test]
async fn a_token_is_valid_until_it_ends_or_is_removed() {
    let mut site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let (token, other) = (add(&site, Role::View), add(&site, Role::View));
    assert_eq!(site.get(NOTHING, "").await.status, 401);
    assert_eq!(site.get_with(NOTHING, &token).await.status, 404);
    site.restart().await;
    assert_eq!(site.get_with(NOTHING, &token).await.status, 404, "it outlives the program");
    let wrong =
        [String::new(), token.to_uppercase(), token[..20].into(), token.clone() + "0", "evenair_../../x".into()];
    for wrong in wrong {
        assert_eq!(site.get_with(NOTHING, &wrong).await.status, 401, "{wrong}");
    }
    site.clock.advance(DAY * 30 - Duration::from_secs(5));
    assert_eq!(site.get_with(NOTHING, &token).await.status, 404);
    let id = list_tokens(&site.config).expect("readable")[0].id.clone();
    remove_token(&site.config, &id).expect("removed");
    let mut left = [site.get_with(NOTHING, &token).await.status, site.get_with(NOTHING, &other).await.status];
    left.sort_unstable();
    assert_eq!(left, [401, 404], "one of the two is removed, at once");
    site.clock.advance(Duration::from_secs(5));
    for token in [token, other] {
        assert_eq!(site.get_with(NOTHING, &token).await.status, 401, "after 30 days");
    }
}

#[tokio::test]
async fn a_wrong_token_is_refused_even_where_no_login_is_asked() {
    let site = Site::start().await;
    assert_eq!(site.get(NOTHING, "").await.status, 404);
    for wrong in ["evenair_00", ""] {
        assert_eq!(site.get_with(NOTHING, wrong).await.status, 401, "{wrong:?}");
    }
    assert_eq!(site.get_with(NOTHING, &add(&site, Role::Admin)).await.status, 404);
}

#[tokio::test]
async fn tokens_are_for_the_api_alone_and_need_no_origin() {
    let site = Site::start().await;
    site.make("anna", PASSWORD).await;
    let token = add(&site, Role::Admin);
    assert_eq!(site.get_with("/history", &token).await.status, 401);
    assert_eq!(site.get_with("/", &token).await.header("location"), Some("/login"));
    let session = site.session("anna", PASSWORD).await;
    let post = |headers: &str| request("POST", NOTHING, headers);
    assert_eq!(site.send(&post(&format!("Cookie: {session}\r\n"))).await.status, 403, "of another site");
    let with_token = format!("Authorization: Bearer {token}\r\nSec-Fetch-Site: cross-site\r\n");
    assert_eq!(site.send(&post(&with_token)).await.status, 404);
    let both = format!("Cookie: {session}\r\nAuthorization: Bearer x\r\n");
    assert_eq!(site.send(&request("GET", NOTHING, &both)).await.status, 401, "the token counts");
}

#[tokio::test]
async fn a_file_that_is_damaged_or_open_to_others_is_no_token() {
    let site = Site::start().await;
    let token = add(&site, Role::View);
    let id = list_tokens(&site.config).expect("readable")[0].id.clone();
    let path = site.file(&format!("token-{id}.json"));
    let right = fs::read_to_string(&path).expect("written");
    assert!(!right.contains(&token) && !right.contains(token.trim_start_matches("evenair_")), "{right}");
    for wrong in [String::new(), right.replace("view", "root"), right.replace(&id, "00000000"), "[]".into()] {
        assert_ne!(wrong, right);
        fs::write(&path, wrong).expect("written");
        assert_eq!(site.get_with(NOTHING, &token).await.status, 401);
    }
    fs::write(&path, &right).expect("written");
    assert_eq!(site.get_with(NOTHING, &token).await.status, 404);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("ours");
    assert_eq!(site.get_with(NOTHING, &token).await.status, 401);
    let error = format!("{:#}", list_tokens(&site.config).expect_err("damaged"));
    assert!(error.contains("mode 644") && error.contains(&id), "{error}");
}

#[test]
fn commands_make_list_and_remove_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("web.toml"), "").expect("written");
    let run = |arguments: &[&str]| run(folder.path(), arguments);
    assert_eq!(run(&["token", "list"]), (true, String::new(), String::new()));
    let (right, token, said) = run(&["token", "add", "--note", "Grafana, hall 3", "--role", "operate", "--days", "1"]);
    assert!(right && token.len() == "evenair_".len() + 64 + 1 && token.starts_with("evenair_"), "{token}{said}");
    assert!(said.contains("http://127.0.0.1:9471/api/v1/health") && !said.contains(token.trim()), "{said}");
    let list = run(&["token", "list"]).1;
    assert!(list.contains("operate  until 20") && list.contains("Grafana, hall 3"), "{list}");
    let id = &list[..8];
    let json = run(&["token", "list", "--json"]).1;
    assert!(json.contains(&format!("\"id\": \"{id}\"")) && json.contains("\"role\": \"operate\""), "{json}");
    assert!(!json.contains("sha256"), "{json}");
    let near = if id.ends_with('0') { format!("{}1", &id[..7]) } else { format!("{}0", &id[..7]) };
    let (right, _, error) = run(&["token", "remove", &near]);
    assert!(!right && error.contains(&format!("did you mean \"{id}\"")), "{error}");
    assert!(!run(&["token", "remove", "../accounts"]).0);
    assert!(run(&["token", "remove", id]).0 && run(&["token", "list"]).1.is_empty());
    for (arguments, part) in [
        (&["token", "add"][..], "--note"),
        (&["token", "add", "--note", ""], "1 to 100"),
        (&["token", "add", "--note", "a\nb"], "control"),
        (&["token", "add", "--note", "x", "--days", "0"], "1..=3650"),
        (&["token", "add", "--note", "x", "--role", "root"], "view, operate, admin"),
    ] {
        let (right, _, error) = run(arguments);
        assert!(!right && error.contains(part), "{arguments:?}: {error}");
    }
}
