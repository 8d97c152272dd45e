//! Requests to the box's HTTP listener: each is answered, or the connection is closed.
//!
//! `fuzz/fuzz_targets/http.rs` does the same with inputs from libFuzzer.

use std::cell::OnceCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use evenair_serve::Listener;

thread_local! {
    static LISTENER: OnceCell<Listener> = const { OnceCell::new() };
}

/// The password that the listener requires.
const PASSWORD: &str = "secret word";

/// Time within which a complete request is answered.
const AT_ONCE: Duration = Duration::from_millis(50);
/// Far more than any reply takes, so that a hanging server is detected.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends only these bytes to the box's HTTP listener. Returns the reply.
pub fn http(bytes: &[u8]) -> String {
    let address = LISTENER.with(|listener| {
        let start = || Listener::new("127.0.0.1:0".parse().expect("an address"), Some(PASSWORD.into()), &[]);
        listener.get_or_init(|| start().expect("a port")).address()
    });
    let mut stream = TcpStream::connect(address).expect("it listens");
    let patience = |stream: &TcpStream, time| stream.set_read_timeout(Some(time)).expect("a time");
    patience(&stream, AT_ONCE);
    // It may have refused the beginning already.
    let _ = stream.write_all(bytes);
    let (mut answer, mut part, mut ended) = (Vec::new(), [0; 4096], false);
    loop {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&part[..read]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            // It waits for more. The end is signalled only now: after a complete request it would mean that no reply is wanted.
            Err(error) if error.kind() == ErrorKind::WouldBlock && !ended => {
                ended = true;
                let _ = stream.shutdown(Shutdown::Write);
                patience(&stream, PATIENCE);
            }
            // libFuzzer has a timer.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("it neither answers nor closes: {error}"),
        }
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1."), "{answer}");
    assert!(!answer.contains(PASSWORD));
    answer
}
