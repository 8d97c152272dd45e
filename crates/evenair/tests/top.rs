//! `evenair top` without a terminal: its output from a watch feed, and a closed pipe.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// A line of the feed.
fn line(seq: u32) -> String {
    format!(
        "{{\"v\":1,\"seq\":{seq},\"at\":{seq}.5,\"health\":{{\"level\":\"good\"}},\"totals\":{{\"mode\":\"observing\",\"since_s\":3.0,\"fail_open\":true}},\
         \"stations\":[{{\"mac\":\"02:00:00:00:00:01\",\"domain\":\"hall\"}}]}}\n"
    )
}

/// Serves lines of the feed to clients, without end.
fn serve(socket: &Path) {
    let listener = UnixListener::bind(socket).expect("a socket");
    thread::spawn(move || {
        for mut client in listener.incoming().map(|client| client.expect("a client")) {
            thread::spawn(move || {
                let mut request = String::new();
                BufReader::new(&client).read_line(&mut request).expect("a request");
                assert!(request.contains("\"health\""), "{request}");
                for seq in 0.. {
                    if client.write_all(line(seq).as_bytes()).is_err() {
                        return;
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
    });
}

fn top(socket: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenair"));
    command.arg("top").arg("--socket").arg(socket).args(options).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn updates_are_counted_and_json_is_the_feed() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("watch.sock");
    serve(&socket);
    let output = top(&socket, &["--count", "2", "--every", "3"]).output().expect("it starts");
    let (said, complained) = text(&output);
    assert!(output.status.success() && complained.is_empty(), "{complained}");
    assert_eq!(said.matches("health: good\nobserving for 3 s").count(), 2, "{said}");
    assert_eq!(said.matches("02:00:00:00:00:01 ").count(), 2, "{said}");
    let output = top(&socket, &["--count", "2", "--json"]).output().expect("it starts");
    assert_eq!(text(&output).0, line(0) + &line(1));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("watch.sock");
    serve(&socket);
    for options in [&["--count", "100"][..], &[], &["--json"]] {
        let mut child = top(&socket, options).spawn().expect("it starts");
        let mut first = [0];
        child.stdout.take().expect("piped").read_exact(&mut first).expect("it prints");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), text(&output).1.as_str()), (Some(0), ""), "{options:?}");
    }
}

#[test]
fn a_pipe_to_head_ends_quietly() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("watch.sock");
    serve(&socket);
    let pipe = "\"$0\" top --socket \"$1\" --count 1 | head -n 1; echo \"${PIPESTATUS[0]}\"";
    let output = Command::new("bash").args(["-c", pipe, env!("CARGO_BIN_EXE_evenair")]).arg(&socket).output();
    let (said, complained) = text(&output.expect("it starts"));
    assert_eq!((said.as_str(), complained.as_str()), ("health: good\n0\n", ""));
}

#[test]
fn without_a_box_the_error_names_the_remedy() {
    let output = top(Path::new("/nowhere/watch.sock"), &["--count", "1"]).output().expect("it starts");
    let (said, complained) = text(&output);
    assert_eq!((output.status.code(), said.as_str()), (Some(1), ""));
    assert!(complained.contains("/nowhere/watch.sock") && complained.lines().count() == 1, "{complained}");
}
