use std::fs;

use super::*;
use crate::BoxConfig;

const HEAD: &str = "[ports]\nwlan = \"a\"\nwire = \"b\"\n[radio]\nstandard = \"802.11g\"\n";

/// Parses sources below a minimal configuration; `{}` in the text is replaced by a file with these secrets.
fn parse(text: &str, secrets: &str) -> Result<Vec<SourceConfig>, String> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(&file, secrets).expect("written");
    let text = format!("{HEAD}{}", text.replace("{}", &file.path().display().to_string()));
    BoxConfig::parse(&text, "box.toml").map(|config| config.telemetry).map_err(|error| error.to_string())
}

fn one(text: &str, secrets: &str) -> SourceConfig {
    let sources = parse(&format!("[[telemetry]]\n{text}"), secrets).unwrap_or_else(|error| panic!("{error}"));
    <[_; 1]>::try_from(sources).unwrap_or_else(|_| panic!("one source")).into_iter().next().expect("one")
}

#[test]
fn every_kind_is_read_and_opens() {
    let plain = one("kind = \"snmp\"\naddress = \"ap1\"\n", "");
    let version = Version::V2c { community: "public".into() };
    assert!(plain.kind == SourceKind::Snmp { address: "ap1:161".into(), version, vendor: None });
    assert_eq!(plain.interval, Span::from_secs(5));
    let v3 = "kind = \"snmp\"\naddress = \"[fd00::1]:1161\"\nversion = \"3\"\nuser = \"box\"\nauthentication = \"sha256\"\n\
              privacy = \"aes128\"\nsecrets = \"{}\"\nvendor = \"mikrotik\"\ninterval = \"30 s\"\n";
    let v3 = one(v3, "authentication = \"12345678\"\nprivacy = \"abcdefgh\"\n");
    let version = Version::V3 {
        user: "box".into(),
        authentication: Some((Hash::Sha256, "12345678".into())),
        privacy: Some((Encryption::Aes128, "abcdefgh".into())),
    };
    assert!(v3.kind == SourceKind::Snmp { address: "[fd00::1]:1161".into(), version, vendor: Some("mikrotik".into()) });
    assert_eq!(format!("{v3:?}"), "snmp [fd00::1]:1161 every 30.000s".replace("30.000s", &v3.interval.to_string()));
    let password = "password = \"secret word\"\n";
    let account = "user = \"reader\"\nsecrets = \"{}\"\n";
    let unifi = one(&format!("kind = \"unifi\"\nurl = \"https://c:8443\"\n{account}verify = false\n"), password);
    assert!(matches!(&unifi.kind, SourceKind::Unifi { site, tls: Tls::Any, .. } if site == "default"));
    let ubus = one(&format!("kind = \"ubus\"\nurl = \"http://ap\"\n{account}"), password);
    let routeros = one(&format!("kind = \"routeros\"\nurl = \"https://ap\"\n{account}"), password);
    assert!(matches!(&routeros.kind, SourceKind::RouterOs { user, tls: Tls::Public, .. } if user == "reader"));
    let hostapd = one("kind = \"hostapd\"\nsocket = \"/var/run/hostapd/wlan0\"\n", "");
    let kernel = one("kind = \"nl80211\"\ninterface = \"wlan0\"\n", "");
    let there = one("kind = \"evenair\"\nurl = \"http://ap:9470\"\nsecrets = \"{}\"\n", password);
    assert!(matches!(&there.kind, SourceKind::Remote { password: Some(it), .. } if it == "secret word"));
    let open = one("kind = \"evenair\"\nurl = \"http://127.0.0.1:9470\"\n", "");
    assert!(matches!(&open.kind, SourceKind::Remote { password: None, .. }));
    for source in [plain, v3, unifi, ubus, routeros, hostapd, kernel, there, open] {
        let opened = source.open().unwrap_or_else(|error| panic!("{source:?}: {error}"));
        assert!(opened.name().starts_with(&source.name()), "{} and {}", opened.name(), source.name());
        assert!(!format!("{source:?}").contains("secret word"));
    }
}

#[test]
fn errors_are_reported_with_the_allowed_values() {
    let password = "password = \"p\"\n";
    for (text, secrets, parts) in [
        ("kind = \"smtp\"\n", "", &["\"smtp\" is not known", "\"snmp\""][..]),
        ("kind = \"snmp\"\n", "", &["without address", "address = "]),
        ("kind = \"hostapd\"\nurl = \"http://a\"\n", "", &["kind = \"hostapd\" does not use this", "without socket"]),
        ("kind = \"snmp\"\naddress = \"a\"\nvendor = \"acme\"\n", "", &["\"acme\"", "\"mikrotik\""]),
        ("kind = \"snmp\"\naddress = \"a\"\nversion = \"1\"\n", "", &["\"2c\" or \"3\""]),
        ("kind = \"snmp\"\naddress = \"a\"\nuser = \"u\"\n", "", &["user without version 3"]),
        ("kind = \"snmp\"\naddress = \"a\"\nversion = \"3\"\n", "", &["version 3 without user"]),
        (
            "kind = \"snmp\"\naddress = \"a\"\nversion = \"3\"\nuser = \"u\"\nauthentication = \"sha256\"\nsecrets = \"{}\"\n",
            "authentication = \"short\"\n",
            &["too short", "8 characters"],
        ),
        (
            "kind = \"snmp\"\naddress = \"a\"\nversion = \"3\"\nuser = \"u\"\nprivacy = \"aes128\"\nsecrets = \"{}\"\n",
            "privacy = \"long enough\"\n",
            &["privacy without authentication"],
        ),
        (
            "kind = \"unifi\"\nurl = \"a\"\nuser = \"u\"\nsecrets = \"{}\"\n",
            password,
            &["\"a\" does not fit", "https://HOST:PORT"],
        ),
        ("kind = \"unifi\"\nurl = \"https://a\"\nuser = \"u\"\nsecrets = \"{}\"\n", "", &["has no password"]),
        (
            "kind = \"unifi\"\nurl = \"https://a\"\nuser = \"u\"\nsecrets = \"/nowhere\"\n",
            "",
            &["/nowhere: No such file"],
        ),
        (
            "kind = \"ubus\"\nurl = \"https://a\"\nuser = \"u\"\nsecrets = \"{}\"\n",
            "a = 1\npassword = \"hush\"\n",
            &["line 1"],
        ),
        (
            "kind = \"ubus\"\nurl = \"https://a\"\nuser = \"u\"\nsecrets = \"{}\"\ncertificate = \"{}\"\n",
            password,
            &["is no certificate", "PEM"],
        ),
        ("kind = \"routeros\"\nurl = \"https://a\"\n", "", &["without user", "without secrets"]),
        (
            "kind = \"routeros\"\nurl = \"https://a\"\nuser = \"u\"\nsecrets = \"{}\"\nsite = \"s\"\n",
            password,
            &["kind = \"routeros\" does not use this"],
        ),
        ("kind = \"evenair\"\n", "", &["without url"]),
        ("kind = \"evenair\"\nurl = \"http://a\"\nsecrets = \"{}\"\n", "", &["has no password"]),
        ("kind = \"evenair\"\nurl = \"http://a\"\nuser = \"u\"\n", "", &["kind = \"evenair\" does not use this"]),
        ("kind = \"nl80211\"\ninterface = \"w\"\ninterval = \"0.1 s\"\n", "", &["1 s to 10 min"]),
        ("kind = \"nl80211\"\ninterfaces = \"w\"\n", "", &["interfaces", "interface"]),
    ] {
        let error = parse(&format!("[[telemetry]]\n{text}"), secrets).expect_err(text);
        assert!(error.contains("box.toml:"), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part:?} is missing in:\n{error}");
        }
        assert!(!error.contains("hush"), "no secrets in messages: {error}");
    }
}

#[test]
fn default_ports_are_added() {
    for (text, whole) in [
        ("ap", "ap:161"),
        ("ap:1161", "ap:1161"),
        ("192.0.2.1", "192.0.2.1:161"),
        ("2001:db8::1", "[2001:db8::1]:161"),
        ("[2001:db8::1]", "[2001:db8::1]:161"),
        ("[2001:db8::1]:1161", "[2001:db8::1]:1161"),
    ] {
        assert_eq!(with_port(text, 161), whole);
    }
}
