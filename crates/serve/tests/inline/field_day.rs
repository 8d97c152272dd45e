//! A short day in the field: events at a site in an order given by a seed. Nothing crashes, memory stays bounded, packet counts balance,
//! and two downloads have equal shares again within two seconds.
//!
//! A share counts the bytes on the station's interface, including retransmissions, since the box decides about these. What the application
//! reads lags behind by the data that TCP holds back for a missing segment: up to 700 kB after a time without the box, in which windows
//! grow to several hundred segments that then have to recover from losses at 20 Mb/s.
//!
//! `EVENAIR_FIELD_DAY=600 EVENAIR_FIELD_SEED=7` makes it last ten minutes, with another order. The lease must not expire in all that time,
//! however busy the box is. Clocks may step meanwhile: the box uses only the monotonic one. A virtual machine has one that can be set
//! (`make service`).

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use evenair_api::Status;
use evenair_packet::MacAddr;
use evenair_sys::iface;
use evenair_sys::netns::{self, Netns};
use evenair_sys::ring::Sender;
use evenair_sys::traffic;
use evenair_units::BitRate;

use crate::lab::{BoxProcess, Lab, SINK, ip, watched};

const STATIONS: usize = 4;
/// Stations 0 and 1 download all the time; the others take part in the events.
const STEADY: usize = 2;
/// Time within which shares are equal again.
const RECOVERY: Duration = Duration::from_secs(2);
const WINDOW: Duration = Duration::from_millis(1500);
/// Least ratio of the smaller of two equal shares to the larger. Measured: 0.97 to 1.00 beside other work on the machine.
const LEAST_FAIRNESS: f64 = 0.9;
/// Largest growth of the process, in kB: stations and connections from floods, in tables of bounded size.
const MOST_GROWTH_KB: u64 = 200_000;
/// Shortest stall for which the machine is to blame, half of the lease of 50 ms.
const STALL: Duration = Duration::from_millis(25);
const PORT: u16 = 6000;

/// SplitMix64 (Steele et al., 2014): the order of the day.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

pub struct Site<'l> {
    lab: &'l Lab,
    stations: Vec<Netns>,
    pub running: BoxProcess,
    config: String,
}

fn configuration(lab: &Lab, rate: &str) -> String {
    let socket = lab.file("box.sock");
    format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nmode = \"inserted\"\nio = {:?}\n[control]\nsocket = {socket:?}\n[radio]\nstandard = \"802.11g\"\n\
         [manager]\ncontroller.kind = \"fixed\"\ncontroller.rate = \"{rate}\"\n",
        crate::IO
    )
}

/// A station behind the switch `ap0` of `place`: address 02:00:00:00:01:n, 10.9.0.(10 + n), interface `sta`.
pub fn station(place: &Netns, n: usize) -> Netns {
    let ns = Netns::new().expect("root");
    ns.run(|| netns::set_sysctl("net/ipv6/conf/default/disable_ipv6", "1")).expect("entered").expect("set");
    ns.run(|| netns::set_sysctl("net/ipv4/conf/default/arp_notify", "1")).expect("entered").expect("set");
    let path = format!("/proc/{}/fd/{}", std::process::id(), ns.as_fd().as_raw_fd());
    ip(place, &format!("link add p{n} type veth peer name sta netns {path}"));
    ip(place, &format!("link set p{n} master ap0"));
    ip(place, &format!("link set p{n} up"));
    ip(&ns, &format!("link set sta address 02:00:00:00:01:{n:02x} gso_max_segs 1"));
    ip(&ns, &format!("addr add 10.9.0.{}/24 dev sta", 10 + n));
    ip(&ns, "link set sta up");
    ns
}

impl<'l> Site<'l> {
    /// A site with stations behind a switch that is the access point.
    fn new(lab: &'l Lab) -> Self {
        ip(&lab.source, "link add ap0 type bridge mcast_snooping 0");
        ip(&lab.source, "addr flush dev s0");
        ip(&lab.source, "link set s0 master ap0");
        ip(&lab.source, "link set ap0 up");
        let stations = (0..STATIONS).map(|n| station(&lab.source, n)).collect();
        let config = lab.file("day.toml").display().to_string();
        std::fs::write(&config, configuration(lab, "20 Mb/s")).expect("writable");
        let running = lab.start_box(&format!("file={config}"));
        Self { lab, stations, running, config }
    }

    /// Resident memory of the box, in kB.
    pub fn resident_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.running.child.id())).expect("it lives");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("as proc(5) says");
        line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).expect("a number")
    }

    /// Triggers an event; returns its name.
    fn event(&self, dice: &mut Dice) -> &'static str {
        let n = STEADY + dice.roll((STATIONS - STEADY) as u64) as usize;
        let (station, mut client) = (&self.stations[n], self.running.client());
        match dice.roll(15) {
            0 => {
                ip(station, "link set sta down");
                sleep(Duration::from_millis(300));
                ip(station, "link set sta up");
                "a station leaves and joins"
            }
            1 => {
                ip(station, &format!("link set sta address 02:00:00:{:02x}:01:{n:02x}", dice.roll(256)));
                "a station comes back with another address"
            }
            2 => {
                // Its old address appears on the wire, as when it has roamed to another building.
                flood(&self.lab.sink, "k0", 20, |i, frame| {
                    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 1, n as u8]);
                    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
                    frame[14] = i as u8;
                });
                "a station roams"
            }
            3 => {
                upload(station, &self.lab.sink, PORT + 10 + n as u16);
                "an upload"
            }
            4 => {
                call(station, n);
                "a call"
            }
            5 => {
                flood(station, "sta", 20_000, |i, frame| {
                    frame[12..14].copy_from_slice(&[8, 0]);
                    frame[14..34]
                        .copy_from_slice(&[0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 9, 0, 99, 10, 9, 0, 2]);
                    frame[34..36].copy_from_slice(&(i as u16).to_be_bytes());
                    frame[36..38].copy_from_slice(&((i >> 16) as u16 + 1000).to_be_bytes());
                    frame[46..48].copy_from_slice(&[0x50, 2]);
                });
                "a flood of SYNs"
            }
            6 => {
                flood(station, "sta", 5_000, |i, frame| {
                    frame[..6].copy_from_slice(&[0xff; 6]);
                    frame[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
                    frame[22..28].copy_from_slice(&[2, 0, 0, 0, 1, n as u8]);
                    frame[38..42].copy_from_slice(&[10, 9, (i >> 8) as u8, i as u8]);
                });
                "a flood of ARP"
            }
            7 => {
                flood(station, "sta", 20_000, |i, frame| {
                    frame[6..12].copy_from_slice(&[2, 9, 9, (i >> 16) as u8, (i >> 8) as u8, i as u8]);
                    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
                });
                "a flood of made-up addresses"
            }
            8 => {
                let mac = MacAddr([2, 0, 0, 0, 1, n as u8]);
                client.set_rate(mac, BitRate::from_mbps(54)).expect("taken");
                client.station_gone(mac).expect("taken");
                "a rate is reported, and no more"
            }
            9 => {
                let rate = ["18 Mb/s", "20 Mb/s", "22 Mb/s"][dice.roll(3) as usize];
                std::fs::write(&self.config, configuration(self.lab, rate)).expect("writable");
                client.reconfigure(None).expect("it is right");
                "a reload"
            }
            10 => {
                std::fs::write(&self.config, configuration(self.lab, "20 parrots")).expect("writable");
                client.reconfigure(None).expect_err("it is wrong");
                "a reload of a wrong file"
            }
            11 => {
                ip(&self.lab.middle, "link set wl0 down");
                sleep(Duration::from_millis(100));
                ip(&self.lab.middle, "link set wl0 up");
                "an interface goes down and up"
            }
            12 => {
                for mtu in [1400, 1500] {
                    ip(&self.lab.middle, &format!("link set wl0 mtu {mtu}"));
                    sleep(Duration::from_millis(50));
                }
                "an interface's MTU changes, and back"
            }
            13 => {
                client.bypass().expect("bypassed");
                client.insert().expect("inserted");
                "bypass and insert"
            }
            _ => {
                client.observe().expect("observes");
                client.insert().expect("inserted");
                "a look on"
            }
        }
    }
}

/// Sends so many frames of 60 bytes, filled in by `make`.
pub fn flood(ns: &Netns, name: &str, frames: usize, make: impl Fn(usize, &mut [u8]) + Sync) {
    let send = || {
        let interface = iface::find(name).expect("laid");
        let sender = Sender::open(&interface, 1 << 20).expect("root");
        let mut frame = [0u8; 60];
        for i in 0..frames {
            frame[..6].copy_from_slice(&SINK);
            frame[6..12].copy_from_slice(&interface.address);
            make(i, &mut frame);
            // A refused frame is not sent again.
            let _ = sender.send([&frame[..]]);
            if i % 64 == 63 {
                sleep(Duration::from_millis(1));
            }
        }
    };
    ns.run(send).expect("entered");
}

fn upload(from: &Netns, to: &Netns, port: u16) {
    let address = SocketAddr::from(([10, 9, 0, 2], port));
    let listener = to.run(|| TcpListener::bind(address)).expect("entered").expect("free");
    listener.set_nonblocking(true).expect("a socket");
    let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(5));
    // A station that has just returned may not be found yet: no harm is done.
    let Ok(mut stream) = from.run(connect).expect("entered") else { return };
    let Ok((mut far, _)) = listener.accept() else { return };
    far.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket");
    let reading = thread::spawn(move || far.read_to_end(&mut Vec::new()).is_ok());
    stream.set_write_timeout(Some(Duration::from_secs(5))).expect("a socket");
    let _ = stream.write_all(&vec![7; 500_000]);
    drop(stream);
    let _ = reading.join();
}

/// A second of a call by G.711: 50 packets of 172 bytes a second from the station.
fn call(from: &Netns, n: usize) {
    let socket = from.run(|| UdpSocket::bind(("0.0.0.0", 7000 + n as u16))).expect("entered").expect("free");
    for _ in 0..50 {
        let _ = socket.send_to(&[0x80; 172], ("10.9.0.2", 7000));
        sleep(Duration::from_millis(20));
    }
}

/// Sends to each client as much as it takes, until the end of the day.
fn serve(sink: &Netns, port: u16, over: &AtomicBool) {
    let listener = sink.run(|| TcpListener::bind(("10.9.0.2", port))).expect("entered").expect("free");
    listener.set_nonblocking(true).expect("a socket");
    let chunk = [5u8; 16_384];
    while !over.load(Relaxed) {
        let Ok((mut stream, _)) = listener.accept() else {
            sleep(Duration::from_millis(20));
            continue;
        };
        stream.set_nonblocking(false).expect("a socket");
        stream.set_write_timeout(Some(Duration::from_secs(2))).expect("a socket");
        while !over.load(Relaxed) && stream.write_all(&chunk).is_ok() {}
    }
}

/// Downloads until the end of the day, with a new connection after a failure.
fn download(station: &Netns, port: u16, over: &AtomicBool) {
    let mut buffer = [0; 16_384];
    while !over.load(Relaxed) {
        let address = SocketAddr::from(([10, 9, 0, 2], port));
        let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(2));
        let Ok(mut stream) = station.run(connect).expect("entered") else { continue };
        stream.set_read_timeout(Some(Duration::from_secs(3))).expect("a socket");
        while let (false, Ok(1..)) = (over.load(Relaxed), stream.read(&mut buffer)) {}
    }
}

/// Ratio of the smaller to the larger share of two stations in a window.
fn fairness(stations: &[Netns]) -> f64 {
    let crossed = |station: &Netns| station.run(|| traffic::of("sta")).expect("entered").expect("it is there").bytes;
    let before = [crossed(&stations[0]), crossed(&stations[1])];
    sleep(WINDOW);
    let [first, second] = [0, 1].map(|n| (crossed(&stations[n]) - before[n]) as f64);
    first.min(second) / first.max(second).max(1.0)
}

/// A number in an environment variable.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn a_day_in_the_field() {
    let length = Duration::from_secs(number("EVENAIR_FIELD_DAY").unwrap_or(30));
    live_through(length, number("EVENAIR_FIELD_SEED").unwrap_or(1), &mut |_, _, _| ());
}

/// A check of the box after each event: time since the start, and status.
pub type Look<'a> = dyn FnMut(&Site<'_>, Duration, &Status) + 'a;

/// A day of this length, in the order of this seed.
pub fn live_through(length: Duration, seed: u64, look: &mut Look<'_>) {
    let Some(lab) = Lab::new() else { return };
    println!("a day of {} s, seed {seed}", length.as_secs());
    let site = Site::new(&lab);
    let over = AtomicBool::new(false);
    let held_up = thread::scope(|scope| {
        for n in 0..STEADY {
            let (port, sink, station, over) = (PORT + n as u16, &lab.sink, &site.stations[n], &over);
            scope.spawn(move || serve(sink, port, over));
            scope.spawn(move || download(station, port, over));
        }
        // Whatever is found, the other threads end before it is reported.
        let day = || watched(|| the_day(&site, seed, length, look));
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(day));
        over.store(true, Relaxed);
        found.unwrap_or_else(|wrong| std::panic::resume_unwind(wrong)).1
    });
    let status = site.running.client().shutdown().expect("ends");
    assert!(status.packets.conserved, "{:?}", status.packets);
    let lapses = status.hold.lapses;
    println!("the lease expired {lapses} times; the machine held up a thread that sleeps for {held_up:?} at most");
    assert!(lapses == 0 || held_up > STALL, "the lease expired {lapses} times, and nothing held the machine up");
}

fn the_day(site: &Site<'_>, seed: u64, length: Duration, look: &mut Look<'_>) {
    let (mut dice, start) = (Dice(seed), Instant::now());
    sleep(RECOVERY);
    let memory = site.resident_kb();
    while start.elapsed() < length {
        let at = start.elapsed().as_secs_f64();
        let what = site.event(&mut dice);
        sleep(RECOVERY);
        // Disturbances by the machine or single losses do not last to the next window.
        let fair = fairness(&site.stations);
        let fair = if fair < LEAST_FAIRNESS { fair.max(fairness(&site.stations)) } else { fair };
        let (status, grown) =
            (site.running.client().status().expect("it lives"), site.resident_kb().saturating_sub(memory));
        println!("{at:6.1} s  {what}: shares {fair:.2}, {} stations, {grown} kB more", status.stations_known);
        assert_eq!(status.mode, evenair_api::Mode::Inserted, "after {what}");
        assert!(status.packets.conserved, "after {what}: {:?}", status.packets);
        assert!(grown < MOST_GROWTH_KB, "after {what}: {grown} kB");
        assert!(fair >= LEAST_FAIRNESS, "after {what}: shares {fair:.2}");
        look(site, start.elapsed(), &status);
    }
}
