//! The audit log: logins, accounts and tokens, without secrets.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use evenair_web::{Actor, AuditEntry, Role, TokenGrant, add_token, list_tokens, newest_entries, remove_token};

use crate::commands::run;
use crate::site::{PASSWORD, Site};

/// All lines, the oldest first.
pub fn entries(site: &Site) -> Vec<AuditEntry> {
    newest_entries(&site.config, 10_000).expect("readable")
}

/// The file of this month, as text.
pub fn text(site: &Site) -> String {
    let folder = fs::read_dir(&site.config.state).expect("there").map(|entry| entry.expect("readable").path());
    let file = folder.into_iter().find(|path| path.to_string_lossy().contains("/audit-")).expect("a file");
    assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
    fs::read_to_string(file).expect("text")
}

#[tokio::test]
async fn logins_accounts_and_tokens_leave_a_line_each_and_no_secret() {
    let site = Site::start().await;
    let link = site.token();
    assert_eq!(site.set_up(&link, "anna", PASSWORD).await.status, 303);
    let session = site.session("anna", PASSWORD).await;
    assert_eq!(site.log_in("anna", "wrong-password").await.status, 401);
    assert_eq!(site.log_in("my-password-in-the-wrong-place", "anna").await.status, 401);
    let note = TokenGrant { role: Role::View, days: 3, note: "Grafana".into() };
    let (token, _) = add_token(&site.config, &site.clock, note).expect("a token");
    let id = list_tokens(&site.config).expect("readable")[0].id.clone();
    remove_token(&site.config, &id).expect("removed");
    for status in [303, 401] {
        assert_eq!(site.post("/logout", &[], &session).await.status, status, "the second time nobody is logged in");
    }
    let entries = entries(&site);
    let lines: Vec<_> = entries.iter().map(|entry| (&*entry.what, entry.doer.by, &*entry.doer.who)).collect();
    let shell = &*entries[0].doer.who;
    assert_eq!(
        lines,
        [
            ("evenair-web setup", Actor::Shell, shell),
            ("POST /setup", Actor::Account, "anna"),
            ("POST /login", Actor::Account, "anna"),
            ("POST /login", Actor::Account, "anna"),
            ("POST /login", Actor::Account, ""),
            ("evenair-web token add", Actor::Shell, shell),
            ("evenair-web token remove", Actor::Shell, shell),
            ("POST /logout", Actor::Account, "anna"),
        ]
    );
    assert!(!shell.is_empty());
    let results: Vec<_> = entries.iter().map(|entry| entry.status).collect();
    assert_eq!(results, [None, Some(200), Some(200), Some(401), Some(401), None, None, Some(200)]);
    assert_eq!(entries[3].result, "name, password or code is wrong");
    assert_eq!((&entries[2].from, entries[2].doer.role), (&Some("127.0.0.1".into()), Some(Role::Admin)));
    assert_eq!(entries[5].values["token"], *id);
    let text = text(&site);
    let id_of_session = session.split_once('=').expect("a cookie").1;
    for secret in [&*link, PASSWORD, "wrong-password", "my-password", &token, &token[8..], id_of_session] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[test]
fn the_command_prints_the_newest_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("web.toml"), "").expect("written");
    let run = |arguments: &[&str]| run(folder.path(), arguments);
    assert_eq!(run(&["audit"]), (true, String::new(), String::new()));
    for note in ["one", "two \u{202e}owt"] {
        assert!(run(&["token", "add", "--note", note]).0);
    }
    let (right, lines, error) = run(&["audit"]);
    assert!(right && lines.lines().count() == 2, "{lines}{error}");
    let last = lines.lines().last().expect("two");
    for part in ["(shell)  -  -  evenair-web token add  ", "days=90", "note=\"two \\u{202e}owt\"", "  done"] {
        assert!(last.contains(part), "{part}: {last}");
    }
    assert_eq!(run(&["audit", "--lines", "1"]).1.lines().collect::<Vec<_>>(), [last]);
    let json: AuditEntry = serde_json::from_str(&run(&["audit", "-n", "1", "--json"]).1).expect("JSON");
    assert_eq!((&*json.what, &json.values["role"]), ("evenair-web token add", &"view".into()));
    let (right, _, error) = run(&["audit", "--lines", "0"]);
    assert!(!right && error.contains("--lines"), "{error}");
}
