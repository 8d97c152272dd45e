//! The package of the page with that of the box: the first account and its rights, upgrade, backup and restore, and removal in both
//! orders. Requests are made by curl, as in operators' scripts.

use serde_json::Value;

use crate::guest::Guest;
use crate::{CABLES, await_another, make_next, property_of};

const UNIT: &str = "evenair-web";
const PAGE: &str = "http://127.0.0.1:9471";
const STATE: &str = "/var/lib/evenair-web";
const DROP_IN: &str = "/etc/systemd/system/evenair-web.service.d/50-control.conf";
const BACKUP: &str = "/root/page.tar.gz";
const PASSWORD: &str = "correct-horse";
/// A minute, in seconds: the interval of the history.
const MINUTE: u64 = 60;

/// A station behind the cable to the access points, which sends five datagrams per second.
const STATION: &str = "02:00:00:00:00:01";
const TRAFFIC: [&str; 4] = [
    "ip netns add station; ip link set far1 netns station address 02:00:00:00:00:01",
    "ip -n station addr add 10.6.0.2/24 dev far1; ip -n station link set far1 up",
    "ip addr add 10.6.0.1/24 dev far0",
    "ip netns exec station bash -c 'while sleep 0.2; do head -c 1000 /dev/zero >/dev/udp/10.6.0.1/9; done' >/tmp/traffic 2>&1 &",
];
/// The operator's settings: another name of the page.
const SETTINGS: &str = "/etc/evenair/web.toml";
const NAMED: &str = "-H 'Host: box.example' http://127.0.0.1:9471/login";

/// Requests a path of the page. Returns the status with the redirect, and the body.
fn ask(guest: &mut Guest, arguments: &str) -> (String, String) {
    let line = format!(
        "rm -f /tmp/body; curl -sS -m 50 -o /tmp/body -w '%{{http_code}} %{{redirect_url}}' -H 'Origin: {PAGE}' {arguments}; \
         code=$?; echo; cat /tmp/body 2>/dev/null; echo; (exit $code)"
    );
    let output = guest.must(&line);
    let (status, body) = output.split_once('\n').expect("two parts");
    (status.trim().to_owned(), body.to_owned())
}

/// The same with the session of the last login.
fn ask_as_anne(guest: &mut Guest, arguments: &str) -> (String, String) {
    ask(guest, &format!("-b /root/jar -c /root/jar {arguments}"))
}

/// Anne's response from a path of the API.
fn read(guest: &mut Guest, path: &str) -> Value {
    let (status, body) = ask_as_anne(guest, &format!("{PAGE}/api/v1/{path}"));
    assert_eq!(status, "200", "{path}: {body}");
    serde_json::from_str(&body).expect("JSON")
}

/// Sends a command as Anne. Returns the status and, if it failed, the reason.
fn command(guest: &mut Guest, name: &str) -> (String, String) {
    ask_as_anne(guest, &format!("-X POST {PAGE}/api/v1/{name}"))
}

fn await_page(guest: &mut Guest) {
    guest.until(&format!("curl -s -o /tmp/body -w '%{{http_code}}\\n' {PAGE}/login"), |status| status.trim() == "200");
}

fn log_in(guest: &mut Guest, password: &str) -> String {
    let form = format!("--data-urlencode name=anne --data-urlencode password={password}");
    ask_as_anne(guest, &format!("{form} {PAGE}/login")).0
}

/// Starts a new session of Anne.
fn session(guest: &mut Guest) {
    await_page(guest);
    assert_eq!(log_in(guest, PASSWORD), format!("303 {PAGE}/"));
    assert_eq!(read(guest, "me")["who"], "anne");
}

fn property(guest: &mut Guest, name: &str) -> String {
    property_of(guest, UNIT, name)
}

/// A field of `/proc/PID/status` of the page's process.
fn field(guest: &mut Guest, name: &str) -> String {
    let pid = property(guest, "MainPID");
    let status = guest.must(&format!("cat /proc/{pid}/status"));
    let value = status.lines().find_map(|line| line.strip_prefix(name)).expect("as proc(5) says");
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The id of a group.
fn group(guest: &mut Guest, name: &str) -> String {
    guest.must(&format!("getent group {name} | cut -d : -f 3")).trim().to_owned()
}

/// Begins of the minutes in which the stored history has traffic.
fn minutes(guest: &mut Guest) -> Vec<u64> {
    let (code, output) =
        guest.run("evenair-web history --measure up-bytes --from 1h --every 1m --format json 2>/tmp/note");
    let series: Value = if code == 0 { serde_json::from_str(&output).expect("JSON") } else { Value::Null };
    let points = series["points"].as_array().into_iter().flatten();
    points.filter(|point| point["value"].as_f64() > Some(0.0)).filter_map(|point| point["at"].as_u64()).collect()
}

/// Waits until this time, in seconds since 1970.
fn await_time(guest: &mut Guest, time: u64) {
    while guest.must("date +%s").trim().parse::<u64>().expect("a number") < time {
        guest.must("sleep 2");
    }
}

/// Entries of the audit log about `what`.
fn audit(guest: &mut Guest, what: &str) -> Vec<Value> {
    let log = guest.must("evenair web audit --json");
    let entries = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    entries.filter(|entry| entry["what"] == what).collect()
}

/// Box and page from their packages, with a station that sends. The page runs once installed, for this machine only.
pub fn is_installed(guest: &mut Guest) {
    ["evenair", UNIT].iter().for_each(|package| drop(guest.must(&format!("dpkg -i /root/{package}.deb"))));
    guest.must(CABLES);
    TRAFFIC.iter().for_each(|line| drop(guest.must(line)));
    guest.must(&format!("echo 'names = [\"box.example\"]' >{SETTINGS}"));
    guest.must("cp /usr/share/doc/evenair/box.toml /etc/evenair/ && systemctl start evenair");
    await_page(guest);
    assert_eq!(ask(guest, NAMED).0, "421", "before it has read its settings");
    guest.must("systemctl restart evenair-web");
    await_page(guest);
    assert_eq!(guest.must("systemctl is-active evenair-web; systemctl is-enabled evenair-web"), "active\nenabled\n");
    let directions: Value = serde_json::from_str(&guest.must("evenair web --json")).expect("JSON");
    assert_eq!(directions["page"], true, "it was built with its page: {directions}");
    assert_eq!(ask(guest, &format!("{PAGE}/")).0, "200", "without an account it is open to this machine");
    assert_eq!(ask(guest, NAMED).0, "200");
    assert_eq!(guest.run(&format!("ls {DROP_IN}")).0, 2, "it may not command the box");
    assert!(!field(guest, "Groups:").split(' ').any(|id| id == "0"));
}

/// The setup link makes an account, once, and permits the service to command the box.
pub fn makes_the_first_account(guest: &mut Guest) {
    let pid = property(guest, "MainPID");
    let said = guest.must("evenair web setup");
    let link = said.lines().find(|line| line.starts_with(&format!("{PAGE}/setup?token="))).expect("a link").to_owned();
    assert!(said.contains("may command the box from now on"), "{said}");
    await_another(guest, UNIT, &pid);
    await_page(guest);
    assert_eq!(property(guest, "DropInPaths"), DROP_IN);
    assert_eq!(property(guest, "SupplementaryGroups"), "evenair-watch evenair");
    let groups = field(guest, "Groups:");
    for name in ["evenair-watch", "evenair"] {
        let id = group(guest, name);
        assert!(groups.split(' ').any(|other| other == id), "{name} is {id}, and not among {groups}");
    }

    let (status, form) = ask(guest, &format!("'{link}'"));
    assert!(status == "200" && form.contains("<form"), "{status}: {form}");
    let token = link.split_once("token=").expect("it has one").1;
    let data =
        format!("-d token={token} --data-urlencode name=anne -d password={PASSWORD} -d again={PASSWORD} {PAGE}/setup");
    assert_eq!(ask(guest, &data).0, format!("303 {PAGE}/login"));
    assert_eq!(ask(guest, &data).0, "403", "it is valid once");
    assert_eq!(
        guest.must(&format!("stat -c '%a %U' {STATE} {STATE}/accounts.json")),
        "700 evenair-web\n600 evenair-web\n"
    );
}

/// A logged-in user sees the running box and commands it; the audit log records the user.
pub fn shows_and_commands_the_box(guest: &mut Guest) {
    assert_eq!(ask(guest, &format!("{PAGE}/")).0, format!("303 {PAGE}/login"));
    assert_eq!(ask(guest, &format!("{PAGE}/api/v1/status")).0, "401");
    assert_eq!(log_in(guest, "wrong-password"), "401");
    session(guest);
    let (status, page) = ask_as_anne(guest, &format!("{PAGE}/"));
    assert!(status == "200" && page.contains("<title>Evenair") && page.contains("main.js"), "{status}: {page}");
    assert_eq!(ask_as_anne(guest, &format!("{PAGE}/main.js")).0, "200");

    assert_eq!(read(guest, "status")["mode"], "bypassed");
    assert_eq!(command(guest, "insert").0, "204");
    assert_eq!(property_of(guest, "evenair", "StatusText"), "inserted");
    let status = read(guest, "status");
    assert_eq!(status["mode"], "inserted");
    let same = |guest: &mut Guest| serde_json::from_str::<Value>(&guest.must("evenair status --json")).expect("JSON");
    assert_eq!(status["ports"][0]["name"], same(guest)["ports"][0]["name"], "{status}");
    guest.until(&format!("curl -s -b /root/jar {PAGE}/api/v1/stations; echo"), |list| list.contains(STATION));
    let name = format!(
        "-X PUT -H 'Content-Type: application/json' -d '{{\"name\":\"Hall\"}}' {PAGE}/api/v1/stations/{STATION}/name"
    );
    assert_eq!(ask_as_anne(guest, &name).0, "204");
    assert!(guest.must("evenair status --all").contains("Hall"));

    let token = guest.must("evenair web token add --note display --role view 2>/tmp/note").trim().to_owned();
    guest.must(&format!("echo 'Authorization: Bearer {token}' >/root/token"));
    assert_eq!(ask(guest, &format!("-H @/root/token {PAGE}/api/v1/totals")).0, "200");
    assert_eq!(ask(guest, &format!("-H @/root/token -X POST {PAGE}/api/v1/bypass")).0, "403");
    assert_eq!(property_of(guest, "evenair", "StatusText"), "inserted");

    let done = audit(guest, "POST /api/v1/insert");
    let [entry] = &done[..] else { panic!("{done:?}") };
    let of = |key: &str| entry[key].as_str().unwrap_or_default();
    assert_eq!((of("who"), of("role"), of("from"), of("result")), ("anne", "admin", "127.0.0.1", "done"), "{entry}");
    assert_eq!(audit(guest, "POST /login").iter().filter(|entry| entry["status"] == 401).count(), 1);
    assert_eq!(audit(guest, "POST /api/v1/bypass")[0]["status"], 403);
    let words = guest.must("evenair web audit");
    assert!(words.lines().any(|line| line.contains("anne  admin  127.0.0.1  POST /api/v1/insert")), "{words}");
}

/// The unit's restrictions are in force: a user without privileges, limits, a read-only file system.
pub fn is_confined(guest: &mut Guest) {
    let pid = property(guest, "MainPID");
    let uid = guest.must("id -u evenair-web").trim().to_owned();
    assert!(uid != "0" && field(guest, "Uid:") == [&*uid; 4].join(" "));
    for name in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(field(guest, name), "0000000000000000", "{name}");
    }
    assert_eq!((field(guest, "NoNewPrivs:"), field(guest, "Seccomp:")), ("1".into(), "2".into()));
    let bounds = [
        ("MemoryMax", "268435456"),
        ("CPUQuotaPerSecUSec", "500ms"),
        ("TasksMax", "32"),
        ("LimitNOFILE", "4096"),
        ("User", "evenair-web"),
        ("NRestarts", "0"),
    ];
    for (name, value) in bounds {
        assert_eq!(property(guest, name), value, "{name}");
    }
    let cgroup = format!("/sys/fs/cgroup{}", property(guest, "ControlGroup"));
    assert_eq!(
        guest.must(&format!("cat {cgroup}/memory.max {cgroup}/pids.max {cgroup}/cpu.max")),
        "268435456\n32\n50000 100000\n"
    );

    let groups = field(guest, "Groups:").replace(' ', ",");
    let as_page = format!("nsenter -t {pid} -m -- setpriv --reuid {uid} --regid {uid} --groups {groups} --");
    let records = guest.must(&format!("{as_page} sh -c 'cat /var/lib/evenair/history/*'"));
    assert!(records.contains("\"event\":\"mode\""), "the box's history: {records}");
    assert_ne!(guest.run(&format!("{as_page} touch /var/lib/evenair/history/own")).0, 0);
    for path in ["/etc/evenair/own", "/var/lib/own", "/usr/bin/own"] {
        let (code, said) = guest.run(&format!("nsenter -t {pid} -m -- touch {path}"));
        assert!(code != 0 && said.contains("Read-only file system"), "{path}: {said}");
    }
    assert_ne!(guest.run(&format!("nsenter -t {pid} -m -- ls /dev/ttyS0")).0, 0, "no devices");
    guest.must(&format!("nsenter -t {pid} -m -- sh -c 'touch {STATE}/own && rm {STATE}/own'"));
    let journal = guest.must("journalctl -u evenair-web --no-pager");
    assert!(!journal.contains("history-failing") && !journal.contains("is not in the history"), "{journal}");
}

/// Upgrades: a backup is made before, and accounts, tokens, settings and history are kept.
pub fn is_upgraded(guest: &mut Guest) {
    let before = minutes(guest);
    let pid = property(guest, "MainPID");
    make_next(guest, UNIT);
    let said = guest.must("dpkg -i /root/evenair-web-next.deb");
    assert!(said.contains(&format!("{STATE}/backups/evenair-web-")) && !said.contains("no backup"), "{said}");
    await_another(guest, UNIT, &pid);
    await_page(guest);
    assert_eq!(guest.must("dpkg-query -W -f '${Version}' evenair-web | tail -c 2; echo"), ".1\n");
    let backups = guest.must(&format!("stat -c '%a %U %n' {STATE}/backups/*"));
    let backup = backups.strip_prefix("600 evenair-web ").filter(|_| backups.lines().count() == 1).expect("one").trim();
    let files = guest.must(&format!("tar -tzf {backup}"));
    for file in ["manifest.json", "accounts.json", "history.db", "token-", "audit-"] {
        assert!(files.lines().any(|name| name.starts_with(file)), "{file} is not in {files}");
    }

    assert_eq!(ask_as_anne(guest, &format!("{PAGE}/api/v1/me")).0, "401", "sessions end with the process");
    session(guest);
    assert_eq!(ask(guest, &format!("-H @/root/token {PAGE}/api/v1/me")).0, "200");
    assert_eq!(ask(guest, NAMED).0, "200", "its settings");
    assert_eq!(read(guest, "status")["mode"], "inserted");
    assert_eq!(command(guest, "observe").0, "204", "it may command the box");
    assert_eq!(command(guest, "insert").0, "204");
    let after = minutes(guest);
    assert!(before.iter().all(|minute| after.contains(minute)), "{before:?} {after:?}");
}

/// An upgrade continues if no backup can be made, and does not enable what the operator has disabled.
pub fn is_upgraded_without_a_backup(guest: &mut Guest) {
    guest.must("systemctl disable --now evenair-web");
    guest.must(&format!("mv {STATE}/backups /root/ && touch {STATE}/backups"));
    let said = guest.must("dpkg -i /root/evenair-web-next.deb");
    assert!(said.contains("no backup was made before the upgrade"), "{said}");
    assert_eq!(
        guest.run("systemctl is-active evenair-web; systemctl is-enabled evenair-web").1,
        "inactive\ndisabled\n"
    );
    guest.must(&format!("rm {STATE}/backups && mv /root/backups {STATE}/"));
    guest.must("systemctl enable --now evenair-web");
    session(guest);
}

/// Writes the backup for the later restore. Returns its newest minute.
pub fn is_backed_up(guest: &mut Guest) -> u64 {
    let newest = loop {
        match minutes(guest).pop() {
            Some(minute) => break minute,
            None => drop(guest.must("sleep 2")),
        }
    };
    let said = guest.must(&format!("evenair web backup {BACKUP}"));
    assert!(said.contains(BACKUP) && !said.contains("left out"), "{said}");
    assert_eq!(guest.must(&format!("stat -c '%a %U' {BACKUP}")), "600 root\n");
    assert_ne!(guest.run(&format!("evenair web backup {BACKUP}")).0, 0, "it is there already");
    newest
}

/// With damaged accounts, and without any state, the page is restored from a file. The minutes since the backup come from the box's own
/// history; `newest`: the last one in the backup.
pub fn is_restored(guest: &mut Guest, newest: u64) {
    let refused = guest.run(&format!("evenair web restore {BACKUP}"));
    assert!(refused.0 != 0 && refused.1.contains("systemctl stop evenair-web"), "{refused:?}");
    guest.must(&format!("echo '{{' >{STATE}/accounts.json; systemctl restart evenair-web"));
    guest.until("journalctl -u evenair-web --no-pager", |log| log.contains("accounts.json"));
    guest.must("systemctl stop evenair-web");
    let said = guest.must(&format!("evenair web restore {BACKUP}"));
    assert!(said.contains(&format!("{STATE}/before-restore-")), "{said}");
    guest.must("systemctl start evenair-web");
    session(guest);

    guest.must(&format!("systemctl stop evenair-web; rm -r {STATE}; head -c 1000 {BACKUP} >/root/cut.tar.gz"));
    assert_ne!(guest.run("evenair web restore /root/cut.tar.gz").0, 0);
    guest.must(&format!("evenair web restore {BACKUP}"));
    let restored = minutes(guest);
    assert_eq!(restored.last(), Some(&newest));
    // The box's sample for the next minute has its middle in that minute, and so ends at most one and a half minutes later.
    await_time(guest, newest + MINUTE * 5 / 2 + 5);
    guest.must("systemctl start evenair-web");
    session(guest);
    assert_eq!(ask(guest, &format!("-H @/root/token {PAGE}/api/v1/me")).0, "200");
    assert_eq!(read(guest, "status")["mode"], "inserted");
    assert!(!audit(guest, "evenair-web restore").is_empty() && !audit(guest, "POST /api/v1/insert").is_empty());
    assert_eq!(
        guest.must(&format!("find {STATE} ! -user evenair-web -o -perm /077")),
        "",
        "all of it is the service's"
    );
    let made_up = guest.until(
        "evenair-web history --measure up-bytes --from 1h --every 1m --format csv 2>/tmp/note | wc -l",
        |lines| lines.trim().parse::<usize>().is_ok_and(|lines| lines > 1 + restored.len()),
    );
    assert!(minutes(guest).contains(&(newest + MINUTE)), "{made_up} lines, and before {restored:?}");
}

/// A removal keeps everything for the next installation; a purge deletes it. The box is not affected.
pub fn is_removed_and_purged(guest: &mut Guest) {
    let box_pid = property_of(guest, "evenair", "MainPID");
    let count = minutes(guest).len();
    guest.must("dpkg -r evenair-web");
    assert_eq!(guest.run("systemctl is-active evenair-web").1.trim(), "inactive");
    assert_ne!(guest.run(&format!("curl -s {PAGE}/login")).0, 0);
    guest.must(&format!("id evenair-web && ls {STATE}/accounts.json {STATE}/history.db {DROP_IN} {SETTINGS}"));
    guest.must("dpkg -i /root/evenair-web-next.deb");
    assert_eq!(guest.must("systemctl is-enabled evenair-web"), "enabled\n");
    session(guest);
    assert!(minutes(guest).len() >= count);
    assert_eq!(command(guest, "observe").0, "204");
    assert_eq!(command(guest, "insert").0, "204");

    guest.must("dpkg -P evenair-web");
    let left = "find / /run -xdev \\( -path /root -o -path /tmp \\) -prune -o \\( -name '*evenair-web*' -o -nouser -o -nogroup \\) -print";
    assert_eq!(guest.must(left), "");
    assert_eq!(guest.run("grep -h evenair-web /etc/passwd /etc/group /etc/shadow /etc/gshadow").1, "");
    assert_eq!(guest.run(&format!("ls {SETTINGS} 2>/tmp/note; systemctl cat evenair-web 2>/tmp/note")).1, "");
    assert_eq!(property_of(guest, "evenair", "MainPID"), box_pid);
    assert!(guest.must("evenair status --all").starts_with("inserted"));
    assert_eq!(guest.must("stat -c %G /run/evenair/watch.sock"), "evenair-watch\n");
}

/// The box is purged first: the page continues, reports that the box is away, and has no access to a new box before that is granted.
pub fn outlives_the_box(guest: &mut Guest) {
    guest.must("dpkg -i /root/evenair-web.deb");
    await_page(guest);
    makes_the_first_account(guest);
    session(guest);
    guest.must(&format!("echo 'names = [\"box.example\"]' >{SETTINGS}; echo secret >/etc/evenair/mail.password"));
    let pid = property(guest, "MainPID");
    guest.must("dpkg -P evenair");
    await_another(guest, UNIT, &pid);
    guest.must("systemctl restart evenair-web");
    session(guest);
    assert_eq!(ask(guest, NAMED).0, "200", "its settings");
    assert_eq!(property(guest, "SupplementaryGroups"), "evenair-watch");
    assert_eq!(ask_as_anne(guest, &format!("{PAGE}/api/v1/totals")).0, "503");
    assert_eq!(
        guest.run("id evenair 2>/tmp/note; ls -d /etc/evenair/box.toml /var/lib/evenair /run/evenair 2>/tmp/note").1,
        ""
    );

    let said = guest.must("dpkg -i /root/evenair.deb");
    assert!(!said.contains("not migrated"), "{said}");
    guest.must("cp /usr/share/doc/evenair/box.toml /etc/evenair/ && systemctl start evenair");
    guest.until(&format!("curl -s -o /tmp/body -w '%{{http_code}}\\n' -b /root/jar {PAGE}/api/v1/totals"), |status| {
        status.trim() == "200"
    });
    let (status, why) = command(guest, "insert");
    assert!(status == "403" && why.contains("evenair web setup"), "{status}: {why}");
    assert!(guest.must("evenair web setup").contains("may command the box from now on"));
    session(guest);
    assert_eq!(command(guest, "insert").0, "204");

    ["evenair", UNIT].iter().for_each(|package| drop(guest.must(&format!("dpkg -P {package}"))));
    let left = "find /etc /usr /var /run -xdev -path /usr/lib/evenair-test -prune -o \\( -name '*evenair*' -o -nouser -o -nogroup \\) -print";
    assert_eq!(guest.must(left), "");
    assert_eq!(guest.run("grep -h evenair /etc/passwd /etc/group /etc/shadow /etc/gshadow").1, "");
}
