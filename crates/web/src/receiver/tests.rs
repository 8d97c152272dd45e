use crate::config::WebConfig;

use super::*;

const MAIL: &str = "[mail]\nserver = \"mail.example.org:587\"\nfrom = \"Evenair <evenair@example.org>\"\n";

fn parse(text: &str) -> Result<WebConfig, String> {
    WebConfig::parse(text, "web.toml").map_err(|error| error.to_string())
}

#[test]
fn receivers_have_defaults() {
    let text = "[[alert]]\nname = \"ops\"\nwebhook = \"https://hooks.example.org/x\"\n\
                [[alert]]\nname = \"boss\"\nmail = [\"boss@example.org\"]\nrole = \"view\"\nlevel = \"watch\"\n\
                repeat = \"never\"\nrecovery = false\nmute = [\"slow-link\"]\nweekly = true\n";
    let config = parse(&format!("{text}{MAIL}")).expect("right");
    let [ops, boss] = &config.alerts[..] else { panic!("{config:?}") };
    assert_eq!(ops.in_words(), "webhook at hooks.example.org, operate, bad");
    let rule = Rule { role: Role::Operate, watch: false, repeat_s: Some(14_400), recovery: true, mute: vec![] };
    assert_eq!((&ops.rule, ops.weekly), (&rule, false));
    let rule = Rule { role: Role::View, watch: true, repeat_s: None, recovery: false, mute: vec![Code::SlowLink] };
    assert_eq!((&boss.rule, boss.weekly), (&rule, true));
    let mail = config.mail.expect("a server");
    assert_eq!((&*mail.host, mail.port, mail.tls), ("mail.example.org", 587, Encryption::StartTls));
}

#[test]
fn every_problem_is_refused_with_its_line() {
    let hook = "[[alert]]\nname = \"ops\"\nwebhook = \"https://hooks.example.org/x\"\n";
    for (text, parts) in [
        ("[[alert]]\nname = \"ops\"\n".to_owned(), &["web.toml:2:", "goes nowhere", "webhook"][..]),
        ("[[alert]]\nwebhook = \"https://a.example/\"\n".to_owned(), &["web.toml:", "no `name`"]),
        (
            "[[alert]]\nname = \"ops\"\nwebhook = \"http://hooks.example.org/x\"\n".to_owned(),
            &["web.toml:3:", "http", "loopback"],
        ),
        ("[[alert]]\nname = \"ops\"\nwebhook = \"http://localhost/x\"\n".to_owned(), &["web.toml:3:", "http"]),
        ("[[alert]]\nname = \"ops\"\nwebhook = \"hooks\"\n".to_owned(), &["web.toml:3:", "https://"]),
        ("[[alert]]\nname = \"ops\"\nwebhook = \"https://a:b@c.example/\"\n".to_owned(), &["web.toml:3:", "user name"]),
        ("[[alert]]\nname = \"ops\"\nwebhook_file = \"x\"\n".to_owned(), &["web.toml:3:", "begins with /"]),
        ("[[alert]]\nname = \"ops\"\nmail = [\"a@b.example\"]\n".to_owned(), &["web.toml:3:", "[mail]"]),
        (format!("[[alert]]\nname = \"ops\"\nmail = [\"nobody\"]\n{MAIL}"), &["web.toml:3:", "ops@example.org"]),
        (format!("[[alert]]\nname = \"ops\"\nmail = []\n{MAIL}"), &["web.toml:3:", "empty"]),
        (
            format!("[[alert]]\nname = \"ops\"\nmail = [\"a@b.example\"]\nbody = \"slack\"\n{MAIL}"),
            &["web.toml:4:", "webhooks"],
        ),
        (format!("{hook}body = \"discord\"\n"), &["web.toml:4:", "\"generic\", \"slack\", \"teams\", \"ntfy\""]),
        (format!("{hook}role = \"root\"\n"), &["web.toml:4:", "\"operate\""]),
        (format!("{hook}level = \"good\"\n"), &["web.toml:4:", "\"watch\""]),
        (format!("{hook}repeat = \"1 s\"\n"), &["web.toml:4:", "\"never\""]),
        (format!("{hook}mute = [\"slow-lnk\"]\n"), &["web.toml:4:", "did you mean \"slow-link\""]),
        (format!("{hook}weekly = true\n"), &["web.toml:4:", "weekly"]),
        (format!("{hook}mail = [\"a@b.example\"]\n{MAIL}"), &["web.toml:2:", "several places"]),
        (format!("{hook}{hook}"), &["web.toml:5:", "two receivers"]),
        (format!("{hook}secret = \"x\"\n"), &["web.toml:4:", "secret_file"]),
        (hook.replace("ops", "a b"), &["web.toml:2:", "letters"]),
        (
            "[mail]\nserver = \"mail.example.org\"\nfrom = \"a@b.example\"\n".to_owned(),
            &["web.toml:2:", "host and port"],
        ),
        ("[mail]\nfrom = \"a@b.example\"\n".to_owned(), &["web.toml:1:", "no `server`"]),
        ("[mail]\nserver = \"m.example:25\"\n".to_owned(), &["web.toml:1:", "no `from`"]),
        (format!("{MAIL}tls = \"none\"\n"), &["web.toml:4:", "loopback"]),
        (format!("{MAIL}user = \"me\"\n"), &["web.toml:4:", "password_file"]),
        (format!("{MAIL}password_file = \"/x\"\n"), &["web.toml:4:", "`user`"]),
        (MAIL.replace("Evenair <evenair@example.org>", "Evenair"), &["web.toml:3:", "evenair@example.org"]),
    ] {
        let error = parse(&text).expect_err(&text);
        assert!(parts.iter().all(|part| error.contains(part)), "{text}\n{parts:?}\n{error}");
    }
    let loopback = MAIL.replace("mail.example.org:587", "127.0.0.1:25") + "tls = \"none\"\n";
    assert!(parse(&loopback).is_ok());
    let many: String = (0..9).map(|n| hook.replace("ops", &format!("ops{n}"))).collect();
    assert!(parse(&many).expect_err("nine").contains("at most 8"));
}
