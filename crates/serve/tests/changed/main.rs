//! Texts of other programs with some bytes changed: they are read or refused, without a panic.

mod control;
mod history;
mod http;
mod init;
mod migration;
mod printed;
mod secrets;

use evenair_serve::control::MAX_LINE;
use proptest::prelude::*;

const REQUEST: &str = "GET /stations HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer secret word\r\n\r\n";
const EVENT: &str = "{\"kind\":\"event\",\"at_s\":5.5,\"name\":\"fail-open\",\"station\":null,\"text\":\"lost\"}\n";
const SAMPLE: &str = concat!(
    r#"{"kind":"sample","at_s":1772323200.0,"seconds":60.0,"mode":"inserted","dropped_by":{"queue_full":3},"lost":1,"#,
    r#""stations":[{"mac":"02:00:00:00:00:01","name":"a \u001b[2J","rate_mbps":54.0,"charged_airtime_s":6.0}],"#,
    r#""hops":[{"hop":"wlan","packets":1,"mean_ms":2.0,"p95_ms":4.0}]}"#,
    "\n"
);
const REQUESTS: &str = "{\"command\":\"insert\"}\n{\"command\":\"set-rate\",\"mac\":\"02:00:00:00:00:01\",\"rate_mbps\":5.5}\n\
                        {\"command\":\"losses\",\"access_point\":\"02:00:00:00:00:09\",\"total\":12}\n";
const OLD: &str = include_str!("../../../boxfile/tests/data/old/site.toml");
const SECRETS: &str = "# Of the controller\npassword = \"secret word\"\ncommunity = \"readers\"\n";
const LINKS: &str = r#"[{"ifname":"eth0","link_type":"ether","address":"02:00:00:00:00:01","flags":["UP","LOWER_UP"],"master":"br0",
"addr_info":[{"family":"inet","local":"10.0.0.7","prefixlen":24,"scope":"global","dynamic":true}]}]"#;
const ROUTES: &str = r#"[{"dst":"default","gateway":"10.0.0.1","dev":"eth0","protocol":"dhcp","metric":100}]"#;
const STATE: &str = "ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/a.network\n";
const NETWORK: &str = "[Match]\nName=eth0\n[Link]\nMTUBytes=9000\n[Network]\nDHCP=yes\n";
const LEASE: &str = "CLIENTID=ff6a7bd4f200020000ab11\n";
const INTERFACES: &str = "auto lo eth0\niface lo inet loopback\n# END\niface eth0 inet static\n    address 10.0.0.7/24\n\
                          iface eth0 inet6 auto\nallow-hotplug eth1\niface eth1 inet dhcp\n";

/// A change of a text: where, with what, how.
type Change = (prop::sample::Index, u8, u8);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..5_u8), 1..8)
}

fn changed(text: &str, changes: &[Change]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (at, byte, kind) in changes {
        let at = at.index(bytes.len());
        match kind {
            0 => bytes[at] = *byte,
            1 => bytes.insert(at, b"9-.:\"[]{}=\n \\#"[usize::from(*byte) % 14]),
            2 if bytes.len() > 1 => drop(bytes.remove(at)),
            // A copy of a part, inserted elsewhere.
            3 => {
                let part = bytes[at..].iter().copied().take(usize::from(*byte)).collect::<Vec<_>>();
                bytes.extend(part);
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}

fn changed_text(text: &str, changes: &[Change]) -> String {
    String::from_utf8_lossy(&changed(text, changes)).into_owned()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn valid_texts_are_read() {
    let folder = folder();
    assert!(http::http(REQUEST.as_bytes()).starts_with("HTTP/1.1 200"), "{}", http::http(REQUEST.as_bytes()));
    assert_eq!(history::history(folder.path(), EVENT.repeat(3).as_bytes()), 3);
    assert_eq!(secrets::secrets(folder.path(), SECRETS.as_bytes()).as_deref(), Some("secret word"));
    assert_eq!(init::ports(LINKS, ROUTES), 1);
    let text = init::networkd(folder.path(), STATE, NETWORK, LEASE).expect("it configures it");
    assert_eq!(text, NETWORK);
    assert!(init::ifupdown(folder.path(), INTERFACES));
    assert_eq!(printed::printed([EVENT, SAMPLE].concat().as_bytes()), 2);
    assert_eq!(control::control(REQUESTS.as_bytes(), 7).len(), 3);
    assert_eq!(migration::migration(OLD), Some(5));
}

#[test]
fn a_line_of_the_largest_size_is_read_and_a_longer_one_is_not() {
    const INSERT: &str = "{\"command\":\"insert\"}\n";
    let request = |len: usize| [&*" ".repeat(len - INSERT.len()), INSERT].concat().repeat(2);
    assert_eq!(control::control(request(MAX_LINE).as_bytes(), 1000).len(), 2);
    assert_eq!(control::control(request(MAX_LINE + 1).as_bytes(), 1000).len(), 0);
}

#[test]
fn a_text_for_a_shell_ends_at_its_delimiter() {
    let text = INTERFACES.replace("# END", "END");
    assert!(init::ifupdown(folder().path(), &text));
}

#[test]
fn lines_commented_out_by_an_earlier_set_up_may_be_commented_out_twice() {
    assert!(init::ifupdown(folder().path(), &format!("#evenair# #evenair# auto eth2\n{INTERFACES}")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn changed_requests_are_answered_or_refused(changes in changes()) {
        let answer = http::http(&changed(REQUEST, &changes));
        prop_assert!(answer.is_empty() || answer.lines().next().is_some_and(|line| line.contains(' ')));
    }

    #[test]
    fn changed_history_is_read_or_skipped(changes in changes()) {
        history::history(folder().path(), &changed(&EVENT.repeat(3), &changes));
    }

    #[test]
    fn changed_history_is_printed(changes in changes()) {
        printed::printed(&changed(&[EVENT, SAMPLE, SAMPLE].concat(), &changes));
    }

    #[test]
    fn changed_requests_on_the_control_socket_are_answered(changes in changes(), most in 1..100_usize) {
        control::control(&changed(REQUESTS, &changes), most);
    }

    #[test]
    fn changed_old_configurations_are_migrated_or_refused(changes in changes()) {
        migration::migration(&changed_text(OLD, &changes));
    }

    #[test]
    fn changed_secrets_are_read_or_refused_and_not_shown(changes in changes()) {
        secrets::secrets(folder().path(), &changed(SECRETS, &changes));
    }

    #[test]
    fn a_changed_description_of_a_machine_is_read_or_refused(changes in changes()) {
        let folder = folder();
        init::ports(&changed_text(LINKS, &changes), &changed_text(ROUTES, &changes));
        let changed = |text| changed_text(text, &changes);
        init::networkd(folder.path(), &changed(STATE), &changed(NETWORK), &changed(LEASE));
        init::ifupdown(folder.path(), &changed(INTERFACES));
    }
}
