//! A box that polls an access point for its stations, and gets right and absurd reports.

use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use evenair_api::{RateSource, StationStatus, Status};
use evenair_client::control::Client;

use crate::lab::Lab;

const STATION: &str = "02:00:00:00:00:0a";
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until the box's status satisfies the condition.
fn wait(client: &mut Client, what: &str, is_so: impl Fn(&Status) -> bool) -> Status {
    let began = Instant::now();
    loop {
        let status = client.status().expect("it answers");
        if is_so(&status) {
            return status;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "{what}: {:?} {:?} {:?}",
            status.telemetry,
            status.rate_reports,
            status.stations
        );
        thread::sleep(Duration::from_millis(100));
    }
}

fn station(status: &Status) -> Option<&StationStatus> {
    status.stations.iter().find(|station| station.mac == STATION)
}

fn class(status: &Status) -> Option<f64> {
    station(status)?.reported.as_ref()?.class_mbps
}

#[test]
fn what_an_access_point_tells_is_taken_and_forgotten() {
    let Some(lab) = Lab::beside_others() else { return };
    let (socket, file) = (lab.file("wlan0"), lab.file("box.toml"));
    // The rate toward the station, in 100 kb/s.
    let rate = Arc::new(AtomicI64::new(540));
    let reported = Arc::clone(&rate);
    let hostapd = lab.middle.run(|| UnixDatagram::bind(&socket)).expect("entered").expect("a socket");
    thread::spawn(move || {
        let mut question = [0; 256];
        while let Ok((len, from)) = hostapd.recv_from(&mut question) {
            let answer = match &question[..len] {
                b"STA-FIRST" => format!("{STATION}\nsignal=-61\ntx_rate_info={}\n", reported.load(Ordering::Relaxed)),
                _ => String::new(),
            };
            let _ = hostapd.send_to_addr(answer.as_bytes(), &from);
        }
    });
    let ports = "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\n[radio]\nstandard = \"802.11g\"\n";
    let source = |path: &str| format!("[[telemetry]]\nkind = \"hostapd\"\nsocket = \"{path}\"\ninterval = \"1 s\"\n");
    let asking = format!("{ports}{}{}", source(&socket.display().to_string()), source("/nowhere"));
    fs::write(&file, &asking).expect("written");
    let mut started = lab.start_box(&format!("file={}", file.display()));
    let mut client = started.client();

    let status = wait(&mut client, "reported", |status| class(status) == Some(54.0));
    let [good, bad] = &status.telemetry[..] else { panic!("two sources: {:?}", status.telemetry) };
    assert!(good.error.is_none() && good.stations == 1 && good.age_s.is_some_and(|age| age < 10.0), "{good:?}");
    assert!(bad.error.as_deref().is_some_and(|error| error.contains("/nowhere")) && bad.failures > 0, "{bad:?}");
    let station = station(&status).expect("it is reported");
    let reported = station.reported.as_ref().expect("it is reported");
    assert_eq!((reported.signal_dbm, reported.source.as_str()), (Some(-61), good.name.as_str()));
    assert_eq!((station.rate_mbps, station.rate_source), (Some(54.0), RateSource::Reported), "it is charged by it");

    // Absurd reports are counted, and change nothing until the previous report expires.
    rate.store(-1, Ordering::Relaxed);
    let before = status.rate_reports.absurd;
    wait(&mut client, "absurd", |status| status.rate_reports.absurd > before);
    rate.store(540, Ordering::Relaxed);
    wait(&mut client, "reported again", |status| class(status) == Some(54.0));
    // Without the source the report is forgotten.
    let without = asking.split("[[telemetry]]").next().expect("a start");
    fs::write(&file, format!("{without}[control]\nsocket = \"{}\"\n", lab.file("box.sock").display()))
        .expect("written");
    client.reconfigure(None).expect("taken");
    let status = wait(&mut client, "forgotten", |status| status.telemetry.is_empty() && class(status).is_none());
    assert!(status.packets.conserved);
    let began = Instant::now();
    client.shutdown().expect("it ends");
    started.child.wait().expect("it ends");
    assert!(began.elapsed() < Duration::from_secs(10), "nobody waits for a source");
}
