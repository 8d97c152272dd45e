//! A server with hostapd's control socket protocol.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenair_packet::MacAddr;
use evenair_telemetry::hostapd::Hostapd;
use evenair_telemetry::{Source, TelemetryError};

const TIMEOUT: Duration = Duration::from_millis(500);

/// Response of hostapd 2.10 for a station at 54 and 6 Mb/s.
fn answer(mac: &str, signal: i32, tx: u32, rx: u32) -> String {
    format!(
        "{mac}\nflags=[AUTH][ASSOC][AUTHORIZED][WMM]\naid=1\ncapability=0x431\nlisten_interval=1\nsupported_rates=82 84 8b 96\n\
         timeout_next=NULLFUNC POLL\nrx_packets=68\ntx_packets=60\nrx_bytes=7000\ntx_bytes=8000\ninactive_msec=12\n\
         signal={signal}\nrx_rate_info={rx}\ntx_rate_info={tx} mcs 7 shortGI\nconnected_time=33\n"
    )
}

/// Serves until it receives `quit`.
fn serve(path: &Path, answers: impl Fn(&str) -> Vec<u8> + Send + 'static) {
    let socket = UnixDatagram::bind(path).expect("a socket");
    thread::spawn(move || {
        let mut question = [0; 256];
        while let Ok((len, from)) = socket.recv_from(&mut question) {
            let text = String::from_utf8_lossy(&question[..len]).into_owned();
            let _ = socket.send_to_addr(&answers(&text), &from);
        }
    });
}

#[test]
fn its_stations_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wlan0");
    serve(&path, |question| {
        match question {
            "STA-FIRST" => answer("02:00:00:00:00:0a", -61, 540, 60),
            "STA-NEXT 02:00:00:00:00:0a" => answer("02:00:00:00:00:0b", -80, 60, 10),
            "STA-NEXT 02:00:00:00:00:0b" => String::new(),
            "GET_CONFIG" => "bssid=02:00:00:00:09:01\nssid=home\nwps_state=disabled\nwpa=2\n".into(),
            "STATUS" => "state=ENABLED\nphy=phy0\nfreq=2437\nchannel=6\n".into(),
            other => panic!("{other}"),
        }
        .into_bytes()
    });
    let mut hostapd = Hostapd::new(&path, TIMEOUT);
    for _ in 0..2 {
        let reading = hostapd.poll().expect("answers");
        let reported: Vec<_> =
            reading.stations.iter().map(|s| (s.mac, s.transmit_kbps, s.receive_kbps, s.signal_dbm)).collect();
        let station = |last, tx, rx, dbm| (MacAddr([2, 0, 0, 0, 0, last]), Some(tx), Some(rx), Some(dbm));
        assert_eq!(reading.radio, Some(MacAddr([2, 0, 0, 0, 9, 1])));
        assert!(reading.stations.iter().all(|s| s.idle == Some(Duration::from_millis(12)) && s.ssid.is_some()));
        assert_eq!(reported, [station(10, 54_000, 6_000, -61), station(11, 6_000, 1_000, -80)]);
    }
}

#[test]
fn other_responses_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("none");
    assert!(matches!(Hostapd::new(&path, TIMEOUT).poll(), Err(TelemetryError::Io { .. })));
    let empty = folder.path().join("empty");
    serve(&empty, |_| b"FAIL\n".to_vec());
    assert!(Hostapd::new(&empty, TIMEOUT).poll().expect("no station is no error").stations.is_empty());
    for (name, text) in
        [("unknown", "UNKNOWN COMMAND\n"), ("circle", "02:00:00:00:00:0a\nsignal=-1\n"), ("noise", "\u{1}\u{2}")]
    {
        let path = folder.path().join(name);
        serve(&path, move |_| text.as_bytes().to_vec());
        let outcome = Hostapd::new(&path, TIMEOUT).poll();
        assert!(matches!(outcome, Err(TelemetryError::Nonsense(_))), "{name}: {outcome:?}");
    }
    let absurd = folder.path().join("absurd");
    serve(&absurd, |question| match question {
        "STA-FIRST" => b"02:00:00:00:00:0a\nsignal=none\nrx_rate_info=9223372036854775807\ntx_rate_info=-1\n".to_vec(),
        _ => Vec::new(),
    });
    let reading = Hostapd::new(&absurd, TIMEOUT).poll().expect("answers");
    let [station] = &reading.stations[..] else { panic!("one station") };
    assert_eq!((station.signal_dbm, station.receive_kbps, station.transmit_kbps), (None, None, Some(-100)));
}

#[test]
fn a_part_of_its_answers_that_fails_leaves_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let reading = |name: &str, answers: fn(&str) -> String| {
        let path = folder.path().join(name);
        serve(&path, move |question| answers(question).into_bytes());
        Hostapd::new(&path, TIMEOUT).poll().unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let left = reading("left", |question| match question {
        "STA-FIRST" => answer("02:00:00:00:00:0a", -61, 540, 60),
        "GET_CONFIG" => "bssid=02:00:00:00:09:01\n".into(),
        "STATUS" => "freq=0\n".into(),
        _ => "FAIL\n".into(),
    });
    assert_eq!((left.stations.len(), left.channel_mhz), (1, None), "0 MHz is no channel");
    assert_eq!(left.warnings, ["stations behind 02:00:00:00:00:0a left out: it left during the poll"]);
    let malformed = reading("malformed", |question| match question {
        "STA-FIRST" => answer("02:00:00:00:00:0a", -61, 540, 60),
        "STA-NEXT 02:00:00:00:00:0a" => "\u{1}\u{2}".into(),
        _ => String::new(),
    });
    assert_eq!(malformed.stations.len(), 1);
    assert!(malformed.warnings[0].contains("where an address was expected"), "{:?}", malformed.warnings);
}

#[test]
fn without_an_answer_to_what_is_optional_stations_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wlan0");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    thread::spawn(move || {
        let mut question = [0; 256];
        while let Ok((len, from)) = socket.recv_from(&mut question) {
            let answer = match &question[..len] {
                b"STA-FIRST" => answer("02:00:00:00:00:0a", -61, 540, 60),
                b"GET_CONFIG" => continue,
                b"STATUS" => panic!("a late answer would be taken for this one's"),
                _ => String::new(),
            };
            let _ = socket.send_to_addr(answer.as_bytes(), &from);
        }
    });
    let reading = Hostapd::new(&path, Duration::from_millis(100)).poll().expect("its stations are read");
    assert_eq!(reading.stations.len(), 1);
    assert!(reading.warnings[0].starts_with("BSSID, network or channel left out: no answer"), "{:?}", reading.warnings);
}

#[test]
fn silence_is_reported_as_such() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wlan0");
    let _deaf = UnixDatagram::bind(&path).expect("a socket");
    let timeout = Duration::from_millis(50);
    let error = Hostapd::new(&path, timeout).poll().expect_err("nobody answers");
    assert!(matches!(error, TelemetryError::Silent(after) if after == timeout), "{error}");
}

#[test]
fn a_poll_ends_in_time_although_each_response_is_slow() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wlan0");
    let next = AtomicU16::new(0);
    let timeout = Duration::from_millis(400);
    serve(&path, move |_| {
        thread::sleep(timeout / 4);
        let [high, low] = next.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        answer(&format!("02:00:00:00:{high:02x}:{low:02x}"), -61, 540, 60).into_bytes()
    });
    let began = Instant::now();
    let error = Hostapd::new(&path, timeout).poll().expect_err("it never ends");
    assert!(matches!(error, TelemetryError::Silent(_)), "{error}");
    // Requests for the maximum number of stations would take 400 seconds.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}
