//! How `evenair` finds the other two programs, and the arguments that it passes to them. Small scripts replace them.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

/// Prints each of its arguments in brackets, and exits with status 7.
const STAND_IN: &str = "#!/bin/sh\necho \"$(basename \"$0\"):\"\nfor a; do echo \"[$a]\"; done\nexit 7\n";

/// A copy of the program in a folder without the other two.
fn alone() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    copy(Path::new(env!("CARGO_BIN_EXE_evenair")), &folder.path().join("evenair"));
    folder
}

/// Copies a program in a separate process: a program cannot be started while it is open for writing, and a child that another
/// test has just forked inherits all open files of this process.
fn copy(program: &Path, to: &Path) {
    let status = Command::new("cp").arg("--preserve=mode").args([program, to]).status().expect("cp runs");
    assert!(status.success(), "cp {} {}: {status}", program.display(), to.display());
}

fn stand_in(folder: &Path, name: &str) {
    let written = folder.join(format!("{name}.sh"));
    fs::write(&written, STAND_IN).expect("written");
    fs::set_permissions(&written, Permissions::from_mode(0o755)).expect("permitted");
    copy(&written, &folder.join(name));
}

fn run(folder: &Path, path: &str, arguments: &[&str]) -> (Output, String, String) {
    let output = Command::new(folder.join("evenair")).args(arguments).env("PATH", path).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    (output, said, complained)
}

#[test]
fn a_program_that_is_not_installed_is_named_with_its_package() {
    let folder = alone();
    for (arguments, program, package) in [
        (&["sim", "run", "x.toml"][..], "evenair-lab", "package evenair-lab"),
        (&["help", "sim"], "evenair-lab", "package evenair-lab"),
        (&["run", "--wait-for-ports"], "evenaird", "package evenair"),
        (&["web"], "evenair-web", "package evenair-web"),
    ] {
        let (output, said, complained) = run(folder.path(), "/nowhere", arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(said.is_empty() && complained.lines().count() == 1, "{said}{complained}");
        assert!(complained.contains(program) && complained.trim_end().ends_with(package), "{complained}");
    }
}

#[test]
fn commands_of_the_lab_reach_it_with_their_arguments() {
    let folder = alone();
    stand_in(folder.path(), "evenair-lab");
    let path = std::env::var("PATH").expect("set");
    for arguments in [
        &["sim", "--help"][..],
        &["sim", "run", "a file", "--set", "seed=2"],
        &["testbed", "exec", "run", "host", "--", "ls", "-l"],
        &["demo"],
        &["help", "compare"],
        &["backlog", "--version"],
    ] {
        let (output, said, complained) = run(folder.path(), &path, arguments);
        assert_eq!(output.status.code(), Some(7), "its exit status: {complained}");
        let expected: Vec<_> = arguments.iter().map(|argument| format!("[{argument}]")).collect();
        assert_eq!(said.lines().skip(1).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn run_is_the_daemon_with_its_options() {
    let folder = alone();
    stand_in(folder.path(), "evenaird");
    let path = std::env::var("PATH").expect("set");
    for arguments in [&["--config", "a file", "--check"][..], &["--help"], &["--version"], &[]] {
        let (output, said, complained) = run(folder.path(), &path, &[&["run"], arguments].concat());
        assert_eq!(output.status.code(), Some(7), "its exit status: {complained}");
        let expected: Vec<_> = arguments.iter().map(|argument| format!("[{argument}]")).collect();
        assert_eq!(said.lines().skip(1).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_program_in_path_will_do_and_one_beside_goes_before_it() {
    let (folder, elsewhere) = (alone(), tempfile::tempdir().expect("a temporary directory"));
    stand_in(elsewhere.path(), "evenair-lab");
    let path = format!("{}:{}", elsewhere.path().display(), std::env::var("PATH").expect("set"));
    assert_eq!(run(folder.path(), &path, &["sim"]).0.status.code(), Some(7));
    fs::write(folder.path().join("evenair-lab"), "#!/bin/sh\nexit 8\n").expect("written");
    fs::set_permissions(folder.path().join("evenair-lab"), Permissions::from_mode(0o755)).expect("permitted");
    assert_eq!(run(folder.path(), &path, &["sim"]).0.status.code(), Some(8));
}

#[test]
fn a_service_rate_before_access_points_that_aggregate_is_right_with_a_warning() {
    let folder = alone();
    let file = folder.path().join("box.toml");
    let file = file.to_str().expect("a path of plain text");
    for (standard, warnings) in [("802.11ax", 1), ("802.11g", 0)] {
        let text = format!(
            "[ports]\nwlan = \"eth1\"\nwire = \"eth0\"\n[radio]\nstandard = \"{standard}\"\n\
             [manager.controller]\nkind = \"published\"\n"
        );
        fs::write(file, text).expect("written");
        let (output, said, complained) = run(folder.path(), "/nowhere", &["config", "check", file]);
        assert!(output.status.success() && said.contains("is right"), "{said}{complained}");
        let found = said.lines().filter(|line| line.contains("warning: ") && line.contains("use the default"));
        assert_eq!(found.count(), warnings, "{standard}: {said}");
    }
}

#[test]
fn checks_are_printed_as_json_too() {
    let folder = alone();
    let path = |name: &str| folder.path().join(name).to_str().expect("a path of plain text").to_owned();
    let [right, wrong] = [path("right.toml"), path("wrong.toml")];
    let ports = "[ports]\nwlan = \"eth1\"\nwire = \"eth0\"\n";
    fs::write(&right, format!("{ports}[radio]\nstandard = \"802.11g\"\n")).expect("written");
    fs::write(&wrong, format!("{ports}[radio]\nstandard = \"802.11z\"\n")).expect("written");
    let (output, said, complained) = run(folder.path(), "/nowhere", &["config", "check", "--json", &right, &wrong]);
    assert_eq!((output.status.code(), complained.as_str()), (Some(1), ""));
    let values: Vec<serde_json::Value> = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&values[0]["right"], &values[1]["right"]), (&true.into(), &false.into()));
    assert!(values[1]["error"].as_str().is_some_and(|error| error.contains("802.11z")), "{said}");
}

#[test]
fn where_the_page_is_is_printed_as_json_also_without_its_program() {
    let folder = alone();
    let (output, said, complained) = run(folder.path(), "/nowhere", &["web", "--json"]);
    assert_eq!((output.status.code(), complained.as_str()), (Some(1), ""));
    let value: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    for key in ["program", "page", "address", "fingerprint", "ssh"] {
        assert_eq!(value.get(key), Some(&serde_json::Value::Null), "{key}: {said}");
    }
    assert!(value["error"].as_str().is_some_and(|error| error.ends_with("package evenair-web")), "{said}");
    stand_in(folder.path(), "evenair-web");
    let path = std::env::var("PATH").expect("set");
    for (arguments, expected) in [
        (&["web"][..], &["[--where]"][..]),
        (&["web", "--json"], &["[--where]", "[--json]"]),
        (&["web", "setup"], &["[setup]"]),
    ] {
        let (output, said, complained) = run(folder.path(), &path, arguments);
        assert_eq!(output.status.code(), Some(7), "its exit status: {complained}");
        assert_eq!(said.lines().skip(1).collect::<Vec<_>>(), expected);
    }
}

/// Answers one request at a control socket with this line, and returns the request.
fn answer_once(socket: &Path, line: &'static str) -> thread::JoinHandle<String> {
    let listener = UnixListener::bind(socket).expect("bound");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("asked");
        let mut request = String::new();
        BufReader::new(&stream).read_line(&mut request).expect("a line");
        writeln!(stream, "{line}").expect("written");
        request
    })
}

#[test]
fn whether_a_box_would_accept_a_file_is_printed_as_json() {
    let folder = alone();
    for (number, line, code) in
        [(0, r#"{"ok":true}"#, Some(0)), (1, r#"{"ok":false,"error":"line 3: no standard"}"#, Some(1))]
    {
        let socket = folder.path().join(format!("{number}.sock"));
        let answered = answer_once(&socket, line);
        let arguments =
            ["reload", "--check", "--json", "--config", "/a.toml", "--socket", socket.to_str().expect("text")];
        let (output, said, complained) = run(folder.path(), "/nowhere", &arguments);
        assert_eq!((output.status.code(), complained.as_str()), (code, ""), "{said}");
        assert!(answered.join().expect("asked").contains(r#""check":true"#), "nothing may change");
        let value: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        let answer: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!((&value["file"], &value["accepted"]), (&"/a.toml".into(), &answer["ok"]));
        assert_eq!(value["error"], answer["error"]);
    }
    let nowhere = folder.path().join("nowhere.sock");
    let arguments = ["reload", "--check", "--json", "--socket", nowhere.to_str().expect("text")];
    let (output, said, complained) = run(folder.path(), "/nowhere", &arguments);
    assert!(output.status.code() == Some(1) && said.is_empty() && complained.contains("nowhere.sock"), "{complained}");
}

#[test]
fn commands_that_change_the_box_answer_in_json() {
    let folder = alone();
    let cases: [(&[&str], &str, serde_json::Value); 5] = [
        (&["insert"], r#""insert""#, serde_json::json!({ "mode": "inserted" })),
        (&["observe"], r#""observe""#, serde_json::json!({ "mode": "observing" })),
        (&["bypass"], r#""bypass""#, serde_json::json!({ "mode": "bypassed" })),
        (&["bypass", "--force"], r#""force""#, serde_json::json!({ "mode": "bypassed" })),
        (&["reload"], r#""reconfigure""#, serde_json::json!({ "file": null, "accepted": true, "error": null })),
    ];
    for (number, (command, asked, expected)) in cases.into_iter().enumerate() {
        let socket = folder.path().join(format!("{number}.sock"));
        let answered = answer_once(&socket, r#"{"ok":true}"#);
        let arguments = [command, &["--json", "--socket", socket.to_str().expect("text")]].concat();
        let (output, said, complained) = run(folder.path(), "/nowhere", &arguments);
        assert!(output.status.success() && complained.is_empty(), "{command:?}: {complained}");
        let request = answered.join().expect("asked");
        assert!(request.contains(asked), "{command:?} asks {request}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&said).expect("JSON"), expected, "{command:?}");
    }
}

#[test]
fn help_lists_all_commands() {
    let folder = alone();
    let (output, said, _) = run(folder.path(), "/nowhere", &["--help"]);
    assert!(output.status.success());
    for command in ["insert", "run", "sim", "testbed", "demo", "accept", "calibrate"] {
        assert!(said.lines().any(|line| line.starts_with(&format!("  {command} "))), "{command}: {said}");
    }
    let (output, _, complained) = run(folder.path(), "/nowhere", &["nonsense"]);
    assert!(output.status.code() == Some(2) && complained.contains("nonsense"), "{complained}");
}
