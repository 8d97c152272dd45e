//! Recording of the manager's inputs, and its replay.
//!
//! The packet loop only appends to memory; a separate thread writes the file. When the disk is full or too slow, the
//! recording stops and the traffic continues. At the end the digest of the manager's decisions is written beside the
//! recording (`FILE.digest`), and [`replay`] checks whether it reproduces them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, bail};
use evenair_api::RecordingStatus;
use evenair_manager::{Command, Config, Hop, Lease, Observation, Output};
use evenair_packet::PacketMeta;
use evenair_recording::{DecisionLog, Recorder};
use evenair_units::Instant;
use tracing::{error, info};

use crate::pool::FrameId;

/// Inputs given to the writer at once: some tens of kilobytes.
const CHUNK_INPUTS: u32 = 256;
/// Chunks waiting for the disk, at most: about 8 MB.
const CHUNKS_WAITING: usize = 256;

/// A recording in progress.
pub struct Recording {
    path: PathBuf,
    recorder: Recorder,
    inputs: u32,
    bytes: u64,
    decisions: Digest,
    writer: Option<Writer>,
    stopped: Option<String>,
}

struct Writer {
    chunks: SyncSender<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

/// Digest of a decision log that is not kept; equals [`DecisionLog::digest`] of the complete log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digest {
    hash: u64,
    bytes: u64,
}

impl Digest {
    /// FNV-1a's offset basis.
    const EMPTY: Self = Self { hash: 0xcbf2_9ce4_8422_2325, bytes: 0 };

    fn add(&mut self, log: &DecisionLog) {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.hash = log.as_bytes().iter().fold(self.hash, step);
        self.bytes += log.as_bytes().len() as u64;
    }
}

impl Recording {
    /// Starts recording a manager made with `config` at `now`, to the file at `path`, which is replaced. The digest beside an earlier
    /// recording is removed first, so that it is never taken for this one's.
    ///
    /// # Errors
    /// The file cannot be created, or the earlier digest cannot be removed.
    pub fn start(path: &Path, config: &Config, now: Instant) -> Result<Self> {
        let digest = digest_path(path);
        match fs::remove_file(&digest) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("[record] file: remove the old {}", digest.display()));
            }
            _ => {}
        }
        let file = File::create(path).with_context(|| format!("[record] file = {:?}", path.display()))?;
        let (chunks, inbox) = mpsc::sync_channel(CHUNKS_WAITING);
        let write = move || write_all(file, &inbox);
        let thread =
            thread::Builder::new().name("recording".into()).spawn(write).context("start the recording thread")?;
        Ok(Self {
            path: path.to_owned(),
            recorder: Recorder::new(config, now),
            inputs: 0,
            bytes: 0,
            decisions: Digest::EMPTY,
            writer: Some(Writer { chunks, thread }),
            stopped: None,
        })
    }

    /// Records a packet given to the manager.
    pub fn packet(&mut self, now: Instant, id: &FrameId, meta: &PacketMeta) {
        self.input(|recorder| recorder.packet(now, id.number().into(), meta));
    }

    /// Records a call at the manager's deadline.
    pub fn timeout(&mut self, now: Instant) {
        self.input(|recorder| recorder.timeout(now));
    }

    /// Records a command.
    pub fn command(&mut self, now: Instant, command: &Command) {
        self.input(|recorder| recorder.command(now, command));
    }

    /// Records an observation.
    pub fn observation(&mut self, now: Instant, observation: &Observation) {
        self.input(|recorder| recorder.observation(now, observation));
    }

    /// Records a lease.
    pub fn lease(&mut self, now: Instant, hop: Hop, lease: Lease) {
        self.input(|recorder| recorder.lease(now, hop, lease));
    }

    /// Adds a decision of the manager to the digest.
    pub fn decision(&mut self, now: Instant, output: &Output<FrameId>) {
        if self.writer.is_some() {
            let mut log = DecisionLog::default();
            log.decision(now, output, |id| id.number().into());
            self.decisions.add(&log);
        }
    }

    fn input(&mut self, record: impl FnOnce(&mut Recorder)) {
        if self.writer.is_none() {
            return;
        }
        record(&mut self.recorder);
        self.inputs += 1;
        if self.inputs == CHUNK_INPUTS {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let Some(writer) = &self.writer else { return };
        self.inputs = 0;
        let chunk = self.recorder.take();
        self.bytes += chunk.len() as u64;
        match writer.chunks.try_send(chunk) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.stop("the disk is too slow".into()),
            Err(TrySendError::Disconnected(_)) => {
                let writer = self.writer.take().expect("it was there");
                let why = join(writer).err().map_or_else(|| "the writer ended".into(), |error| error.to_string());
                self.stop(why);
            }
        }
    }

    fn stop(&mut self, why: String) {
        error!("recording to {} stopped: {why}; the traffic goes on", self.path.display());
        self.writer = None;
        self.stopped = Some(why);
    }

    /// Writes the rest, and the digest beside it. Waits for the disk. Dropping a recording does the same.
    pub fn finish(&mut self) {
        self.hand_over();
        let Some(writer) = self.writer.take() else { return };
        let mut written = join(writer);
        // After a panic the decisions on the last input are missing from the digest.
        if !thread::panicking() {
            written = written.and_then(|()| fs::write(digest_path(&self.path), format!("{}\n", self.digest())));
        }
        match written {
            Ok(()) => info!("recorded {} bytes to {}; decisions {}", self.bytes, self.path.display(), self.digest()),
            Err(error) => self.stop(error.to_string()),
        }
    }

    fn digest(&self) -> String {
        digest_text(self.decisions.hash, self.decisions.bytes)
    }

    /// The status of the recording.
    pub fn status(&self) -> RecordingStatus {
        RecordingStatus {
            file: self.path.display().to_string(),
            bytes: self.bytes,
            digest: self.digest(),
            stopped: self.stopped.clone(),
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Ends a writer and returns its result.
fn join(Writer { chunks, thread }: Writer) -> io::Result<()> {
    drop(chunks);
    thread.join().expect("the writer does not panic")
}

fn write_all(mut file: File, inbox: &mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    for chunk in inbox {
        file.write_all(&chunk)?;
    }
    file.sync_data()
}

/// Length and hash of a decision log, as text.
fn digest_text(hash: u64, bytes: u64) -> String {
    format!("{bytes}-{hash:016x}")
}

fn digest_path(recording: &Path) -> PathBuf {
    let mut path = recording.as_os_str().to_owned();
    path.push(".digest");
    path.into()
}

/// Result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Length and digest of the decisions, as a box writes them for its recording.
    pub digest: String,
    /// The digest written by the box at its end; `None`: it had no clean exit.
    pub recorded: Option<String>,
    /// Where and why the recording is incomplete, if it is (the box was killed, the disk was full).
    pub cut: Option<String>,
}

impl Replay {
    /// Whether the replayed manager made the recorded decisions, to the byte.
    pub fn is_identical(&self) -> bool {
        self.cut.is_none() && self.recorded.as_ref() == Some(&self.digest)
    }
}

/// Replays the recording at `path` with a new manager.
///
/// # Errors
/// The file cannot be read, or is no recording.
pub fn replay(path: &Path) -> Result<Replay> {
    let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let (log, end) = evenair_recording::replay(&bytes).with_context(|| format!("replay {}", path.display()))?;
    Ok(Replay {
        digest: digest_text(log.digest(), log.as_bytes().len() as u64),
        recorded: fs::read_to_string(digest_path(path)).ok().map(|text| text.trim().to_owned()),
        cut: end.err().map(|error| error.to_string()),
    })
}

/// Writes a recording without addresses and names, and the digest of its decisions beside it; nothing if the two do not make the same
/// decisions. Returns why the recording could not be read to its end, if so.
///
/// # Errors
/// The file cannot be read, or is no recording; the other exists, or cannot be written; the decisions differ.
pub fn redact(path: &Path, to: &Path) -> Result<Option<String>> {
    let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let key = evenair_sys::random::random().context("read /dev/urandom")?;
    let redacted = evenair_recording::redact(&bytes, &key).with_context(|| format!("redact {}", path.display()))?;
    if !evenair_recording::decide_alike(&bytes, &redacted.bytes)? {
        bail!("{}: a replay without addresses decides otherwise; nothing was written", path.display());
    }
    let (log, _) = evenair_recording::replay(&redacted.bytes)?;
    let digest = digest_text(log.digest(), log.as_bytes().len() as u64);
    let mut file = File::create_new(to).with_context(|| format!("write {}", to.display()))?;
    file.write_all(&redacted.bytes).with_context(|| format!("write {}", to.display()))?;
    fs::write(digest_path(to), digest + "\n").with_context(|| format!("write {}", digest_path(to).display()))?;
    Ok(redacted.cut.map(|error| error.to_string()))
}

#[cfg(test)]
mod tests {
    use evenair_manager::Manager;
    use evenair_wifi::{Phy, Standard};

    use super::*;
    use crate::pool::{Pool, Put};

    fn config() -> Config {
        Config::new(Phy::default_for(Standard::Dot11g))
    }

    /// Gives the same inputs to a manager and a recording.
    fn record_some(path: &Path, packets: u64) -> Recording {
        let mut recording = Recording::start(path, &config(), Instant::ZERO).expect("the file can be made");
        let mut manager = Manager::new(config(), Instant::ZERO);
        let mut pool = Pool::new(2_048, 0, 64).expect("memory");
        recording.command(Instant::ZERO, &Command::Insert);
        manager.handle_command(Instant::ZERO, Command::Insert);
        for n in 0..packets {
            let now = Instant::from_nanos(1_000 * n);
            let Put::Stored(id) = pool.put(|to| Some(to.len())) else { panic!("there is room") };
            let meta = evenair_packet::parse(evenair_packet::Port::Wire, pool.get(&id));
            recording.packet(now, &id, &meta);
            manager.handle_packet(now, id, &meta);
            while let Some(output) = manager.poll_output() {
                recording.decision(now, &output);
                if let Output::Release { packet, .. } | Output::Drop { packet, .. } = output {
                    pool.free(packet);
                }
            }
        }
        recording
    }

    #[test]
    fn a_replay_decides_the_same() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run");
        let mut recording = record_some(&path, 1000);
        recording.finish();
        let replay = replay(&path).expect("a recording");
        assert_eq!(recording.status().digest, replay.digest);
        assert!(replay.is_identical(), "{replay:?}");
        assert_ne!(replay.digest, digest_text(Digest::EMPTY.hash, 0), "it decided something");
        assert_eq!(fs::metadata(&path).expect("written").len(), recording.status().bytes);
    }

    #[test]
    fn a_changed_recording_is_detected() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run");
        record_some(&path, 10).finish();
        let mut bytes = fs::read(&path).expect("written");
        bytes.truncate(bytes.len() - 3);
        fs::write(&path, &bytes).expect("writable");
        let cut = replay(&path).expect("it begins well");
        assert!(cut.cut.is_some() && !cut.is_identical(), "{cut:?}");
    }

    #[test]
    fn a_dropped_recording_is_complete() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run");
        drop(record_some(&path, 10));
        let replay = replay(&path).expect("a recording");
        assert!(replay.is_identical(), "{replay:?}");
    }

    #[test]
    fn the_digest_of_an_earlier_recording_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run");
        record_some(&path, 10).finish();
        // As if killed: nothing writes a digest.
        std::mem::forget(record_some(&path, 1000));
        assert_eq!(fs::read_to_string(digest_path(&path)).ok(), None);
    }

    #[test]
    fn a_full_disk_stops_the_recording_only() {
        // /dev/full accepts no data, like a full disk.
        let mut recording = record_some(Path::new("/dev/full"), 2000);
        recording.finish();
        let why = recording.status().stopped.expect("stopped");
        assert!(why.contains("No space left"), "{why}");
    }

    #[test]
    fn a_file_that_cannot_be_created_is_named() {
        let error = Recording::start(Path::new("/no/such/dir/run"), &config(), Instant::ZERO).err().expect("refused");
        assert!(format!("{error:#}").contains("[record] file = \"/no/such/dir/run\""), "{error:#}");
    }
}
