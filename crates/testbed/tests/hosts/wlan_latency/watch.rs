//! The box's figures of each second, from its watch socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use evenair_api::watch::{Line, Losses, Part, Request, Station, Times};

/// Timeout for the box to create its watch socket.
const PATIENCE: Duration = Duration::from_secs(20);
/// Timeout for a line; the box publishes one each second.
const SILENCE: Duration = Duration::from_secs(10);

/// Figures of a station for the time between two lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    /// Times of the leg "wlan"; `None`: no packet was timed.
    pub wlan: Option<Times>,
    pub losses: Losses,
}

/// Consecutive lines.
#[derive(Debug, Default)]
pub struct Shown(Vec<Line>);

impl Shown {
    /// Reads lines from a watch socket, until `is_enough` holds for one.
    pub fn read(socket: &Path, mut is_enough: impl FnMut(&Line) -> bool) -> Result<Self> {
        let mut stream = connect(socket)?;
        let request = Request::Watch { watch: vec![Part::Stations], every: "1 s".into() };
        writeln!(stream, "{}", serde_json::to_string(&request)?)?;
        stream.set_read_timeout(Some(SILENCE))?;
        let mut lines = Vec::new();
        for text in BufReader::new(stream).lines() {
            let line: Line = serde_json::from_str(&text?)?;
            let is_last = is_enough(&line);
            lines.push(line);
            if is_last {
                return Ok(Self(lines));
            }
        }
        bail!("the box has ended its lines after {}", lines.len())
    }

    /// The first `count` seconds that begin at `from_s`, since 1970, or later.
    pub fn seconds(&self, from_s: f64, count: usize) -> Result<Seconds<'_>> {
        let first = self.0.iter().position(|line| line.at >= from_s).context("there is no line so late")?;
        let lines = self.0.get(first..=first + count).context("there are too few lines")?;
        ensure!(lines.windows(2).all(|pair| pair[1].seq == pair[0].seq + 1), "lines were lost");
        Ok(Seconds(lines))
    }
}

fn connect(socket: &Path) -> Result<UnixStream> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() > deadline => return Err(error).context("the box makes no watch socket"),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Lines, the first of which only begins the first second.
#[derive(Clone, Copy, Debug)]
pub struct Seconds<'a>(&'a [Line]);

impl Seconds<'_> {
    /// Start of each second, and the end of the last one, since 1970.
    pub fn bounds(self) -> impl Iterator<Item = Duration> {
        self.0.iter().map(|line| Duration::from_secs_f64(line.at))
    }

    /// Figures of the station with this MAC address for each second.
    pub fn of(self, mac: &str) -> impl Iterator<Item = Second> {
        self.0[1..].iter().map(move |line| {
            let station = line.stations.iter().flatten().find(|station| station.mac == mac);
            station.map_or_else(Second::default, |Station { latency, losses, .. }| Second {
                wlan: latency.wlan,
                losses: losses.unwrap_or_default(),
            })
        })
    }
}
