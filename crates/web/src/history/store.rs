//! The database of the history, `history.db` in the state directory: SQLite with a write-ahead log.
//!
//! A row has the packed counters of a subject in an interval ([`Row`]). Minutes are written as they end, one transaction each, and
//! merged at the end of each quarter of an hour and each hour. Minutes are sorted by time, so that a minute of many stations takes few
//! pages; longer intervals are sorted by subject, so that a long range of one subject does. A killed process loses only the unfinished
//! minute.
//!
//! Rows beyond the retention of their tier are deleted and, when the file reaches its limit, the oldest rows of all tiers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use evenair_api::watch::Event;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, params};

use super::row::Row;
use super::subject::{Kind, Subject};
use super::tier::Tier;

/// The name of the file.
pub(crate) const FILE: &str = "history.db";
/// Names of its write-ahead log, of that log's index, and of the reserve, which are meaningless without the file.
pub(crate) const LOG: &str = "history.db-wal";
pub(crate) const INDEX: &str = "history.db-shm";
pub(crate) const RESERVE: &str = "history.db.reserve";
/// Application id of SQLite: "evnH", by which `file` and we recognize the database.
const APPLICATION: i64 = 0x65_76_6e_48;
/// Version of the schema. A database with a later one is set aside.
const VERSION: i64 = 1;
/// Timeout for the lock of another writer, such as a restored copy.
const BUSY: Duration = Duration::from_secs(5);
/// Pages of 4 kB after which SQLite checkpoints its log: about half an hour of a site with 200 stations.
const LOG_PAGES: i64 = 256;
/// Size of the reserve, in bytes: a file that is removed when the disk is full, because deleting rows writes to the log, too.
const RESERVE_BYTES: u64 = 2_000_000;
/// Space for log and reserve, in bytes; after many deletions the log is temporarily longer.
const BESIDE_BYTES: i64 = 4_000_000;
/// Pages returned to the file system at a time.
const VACUUM_PAGES: i64 = 250;
/// Reciprocal of the part of the stored time that is deleted at the limit.
const PART: i64 = 20;

const TABLES: &str = "
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    BEGIN;
    CREATE TABLE subject(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name TEXT NOT NULL, label TEXT,
        last INTEGER NOT NULL DEFAULT 0, UNIQUE(kind, name));
    CREATE TABLE minute(at INTEGER NOT NULL, subject INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(at, subject)) WITHOUT ROWID;
    CREATE TABLE quarter(subject INTEGER NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(subject, at)) WITHOUT ROWID;
    CREATE TABLE hour(subject INTEGER NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(subject, at)) WITHOUT ROWID;
    CREATE TABLE event(at REAL NOT NULL, event TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(at, event, text)) WITHOUT ROWID;
    CREATE TABLE mark(tier TEXT PRIMARY KEY, merged INTEGER NOT NULL, cut INTEGER NOT NULL) WITHOUT ROWID;
    INSERT INTO mark VALUES ('minute', 0, 0), ('quarter', 0, 0), ('hour', 0, 0);
    ";

pub(crate) type Result<T> = std::result::Result<T, rusqlite::Error>;

/// Progress of a tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// End of the last merged interval, in seconds since 1970.
    pub merged: i64,
    /// Earlier rows were deleted; in seconds since 1970.
    pub cut: i64,
}

/// Counters of a subject in a minute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub subject: Subject,
    /// Its label: the name that people use.
    pub label: Option<String>,
    pub row: Row,
}

/// The database, for its one writer.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    /// Path of the reserve of [`RESERVE_BYTES`].
    reserve: PathBuf,
    /// Limit of the files' total size, in bytes.
    limit: i64,
    /// Numbers of subjects, with the stored labels.
    ids: BTreeMap<Subject, (i64, Option<String>)>,
}

impl Store {
    /// Opens or creates a database. A damaged one, or one of a later version, is renamed first; returns the new name.
    ///
    /// # Errors
    /// It can neither be opened nor created.
    pub(crate) fn open(path: &Path, limit: u64) -> std::result::Result<(Self, Option<PathBuf>), String> {
        let said = |error: rusqlite::Error| format!("{}: {error}", path.display());
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let reserve = named(path, ".reserve");
        let store = |connection| Self { connection, reserve, limit, ids: BTreeMap::new() };
        match opened(path) {
            Ok(connection) => Ok((store(connection), None)),
            Err(error) if is_damage(&error) => {
                let aside = set_aside(path).map_err(|error| format!("{}: {error}", path.display()))?;
                Ok((store(opened(path).map_err(said)?), Some(aside)))
            }
            Err(error) => Err(said(error)),
        }
    }

    /// Stores the entries of the minute that begins at `minute`. Adds to existing rows.
    ///
    /// # Errors
    /// Nothing was stored.
    pub(crate) fn keep(&mut self, minute: i64, entries: &[Entry]) -> Result<()> {
        let kept = self.keep_all(minute, entries);
        let end = minute + Tier::Minute.length_s();
        if kept.is_err() || end == Tier::Hour.begin_of(end) {
            // New subjects were not stored either; a merged hour may have deleted old ones.
            self.ids.clear();
        }
        kept?;
        self.take_reserve();
        self.keep_limit()
    }

    fn keep_all(&mut self, minute: i64, entries: &[Entry]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let mut rows = BTreeMap::new();
        for entry in entries {
            rows.insert(id_of(&transaction, &mut self.ids, entry)?, &entry.row);
        }
        let mut before = transaction.prepare("SELECT data FROM minute WHERE at = ? AND subject = ?")?;
        let mut put = transaction.prepare("INSERT OR REPLACE INTO minute VALUES (?, ?, ?)")?;
        for (id, row) in rows {
            let there: Option<Vec<u8>> = before.query_row(params![minute, id], |row| row.get(0)).optional()?;
            let packed = match there.as_deref().and_then(Row::unpack) {
                Some(mut sum) => {
                    sum.merge(row);
                    sum.pack()
                }
                None => row.pack(),
            };
            put.execute(params![minute, id, packed])?;
        }
        drop((before, put));
        for tier in [Tier::Quarter, Tier::Hour] {
            merge_up_to(&transaction, tier, minute)?;
        }
        transaction.commit()
    }

    /// Stores events; existing ones are kept.
    ///
    /// # Errors
    /// Nothing was stored.
    pub(crate) fn keep_events(&mut self, events: &[Event]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let mut put = transaction.prepare("INSERT OR IGNORE INTO event VALUES (?, ?, ?)")?;
        for event in events.iter().filter(|event| event.at.is_finite()) {
            put.execute(params![event.at, event.event, event.text])?;
        }
        drop(put);
        transaction.commit()
    }

    /// Existing minutes of the box since a time.
    pub(crate) fn minutes_of_box(&self, from: i64) -> Result<Vec<i64>> {
        let sql = "SELECT at FROM minute JOIN subject ON id = subject WHERE at >= ? AND kind = 0 ORDER BY at";
        let mut query = self.connection.prepare(sql)?;
        query.query_map([from], |row| row.get(0))?.collect()
    }

    /// Makes room on a full disk: deletes the oldest rows, and returns a part of their space, for the reserve.
    ///
    /// # Errors
    /// That fails.
    pub(crate) fn make_room(&mut self) -> Result<()> {
        // Deleting rows and checkpointing the log need this space.
        _ = fs::remove_file(&self.reserve);
        self.write_log_back()?;
        let wanted = 2 * RESERVE_BYTES as i64 / number(&self.connection, "PRAGMA page_size")?;
        while number(&self.connection, "PRAGMA freelist_count")? < wanted && self.drop_oldest()? {
            self.write_log_back()?;
        }
        for _ in 0..wanted / VACUUM_PAGES {
            self.give_back()?;
            self.write_log_back()?;
        }
        Ok(())
    }

    fn write_log_back(&self) -> Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }

    /// Returns free pages to the file system.
    fn give_back(&self) -> Result<()> {
        let mut vacuum = self.connection.prepare(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"))?;
        let mut steps = vacuum.query([])?;
        while steps.next()?.is_some() {}
        Ok(())
    }

    /// Creates the reserve, unless it exists. Without space for it, the next minute tries again.
    fn take_reserve(&self) {
        let is_taken = fs::metadata(&self.reserve).is_ok_and(|file| file.len() == RESERVE_BYTES);
        // Zeros are written, because a hole would reserve no space.
        if !is_taken && fs::write(&self.reserve, vec![0; RESERVE_BYTES as usize]).is_err() {
            _ = fs::remove_file(&self.reserve);
        }
    }

    /// Deletes the oldest rows while the used size exceeds the limit; free pages are reused. A file that is larger, since the limit was
    /// lowered, is shortened.
    fn keep_limit(&mut self) -> Result<()> {
        let most = (self.limit - BESIDE_BYTES) / number(&self.connection, "PRAGMA page_size")?;
        let pages = |store: &Self| number(&store.connection, "PRAGMA page_count");
        if pages(self)? <= most {
            return Ok(());
        }
        while pages(self)? - number(&self.connection, "PRAGMA freelist_count")? > most && self.drop_oldest()? {}
        while pages(self)? > most && number(&self.connection, "PRAGMA freelist_count")? > 0 {
            self.give_back()?;
        }
        Ok(())
    }

    /// Deletes the oldest part of all tiers. Returns `false` if only the last hour is left.
    fn drop_oldest(&mut self) -> Result<bool> {
        let newest = number(&self.connection, "SELECT coalesce(max(at), 0) FROM minute")?;
        let oldest_of = |table| format!("SELECT min((SELECT min(at) FROM {table} WHERE subject = id)) FROM subject");
        let sql = format!(
            "SELECT min(a) FROM (SELECT min(at) AS a FROM minute UNION {} UNION {})",
            oldest_of("quarter"),
            oldest_of("hour")
        );
        let oldest: Option<i64> = self.connection.query_row(&sql, [], |row| row.get(0))?;
        let Some(oldest) = oldest else { return Ok(false) };
        let step = ((newest - oldest) / PART).max(Tier::Hour.length_s());
        let cut = Tier::Hour.begin_of(oldest + step);
        if cut > newest {
            return Ok(false);
        }
        for tier in Tier::ALL {
            // One transaction each, to keep the log short.
            let transaction = self.connection.transaction()?;
            cut_tier(&transaction, tier, cut, "")?;
            transaction.commit()?;
        }
        self.connection.execute("DELETE FROM event WHERE at < ?", [cut])?;
        Ok(true)
    }
}

/// Whether an error means that the file is not a database of ours.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether an error means that the disk is full.
pub(crate) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

fn number(connection: &Connection, sql: &str) -> Result<i64> {
    connection.query_row(sql, [], |row| row.get(0))
}

fn opened(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    if number(&connection, "SELECT count(*) FROM sqlite_schema")? == 0 {
        connection.execute_batch(&format!(
            "{TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
        ))?;
    }
    check_version(&connection)?;
    // A power cut may lose the last minutes; a killed process loses no committed one.
    connection.execute_batch(&format!("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = {LOG_PAGES}"))?;
    // Reads a row of each table and its index, to detect a truncated or overwritten file now.
    for tier in Tier::ALL {
        mark(&connection, tier)?;
        number(&connection, &format!("SELECT coalesce(max(at), 0) FROM (SELECT at FROM {} LIMIT 1)", tier.table()))?;
    }
    Ok(connection)
}

/// # Errors
/// The database has another version: [`is_damage`].
pub(crate) fn check_version(connection: &Connection) -> Result<()> {
    let (application, version) =
        (number(connection, "PRAGMA application_id")?, number(connection, "PRAGMA user_version")?);
    if (application, version) == (APPLICATION, VERSION) {
        return Ok(());
    }
    let why = format!("it is of version {version}, and this program reads version {VERSION}");
    Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB), Some(why)))
}

/// Opens a database read-only.
///
/// # Errors
/// It cannot be opened, or is of another version.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(BUSY)?;
    check_version(&connection)?;
    Ok(connection)
}

/// Copies a consistent snapshot of a database that may be being written (SQLite's online backup, all pages in one step: the writer
/// continues in its log, which does not restart the backup).
///
/// # Errors
/// It cannot be read or written, or is damaged.
pub(crate) fn copy_database(from: &Path, to: &Path) -> Result<()> {
    let source = open_to_read(from)?;
    let mut copy = Connection::open(to)?;
    let backup = Backup::new(&source, &mut copy)?;
    match backup.step(-1)? {
        StepResult::Done => {}
        step => {
            let code = if step == StepResult::Locked { ErrorCode::DatabaseLocked } else { ErrorCode::DatabaseBusy };
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error { code, extended_code: 0 },
                Some("another program does not let go of it".into()),
            ));
        }
    }
    drop(backup);
    check_whole(&copy)
}

/// Checks the integrity and the version of a database.
///
/// # Errors
/// The first problem.
pub(crate) fn check_database(path: &Path) -> Result<()> {
    check_whole(&open_to_read(path)?)
}

fn check_whole(connection: &Connection) -> Result<()> {
    let what: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if what == "ok" {
        return Ok(());
    }
    let code = ErrorCode::DatabaseCorrupt;
    Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error { code, extended_code: 0 }, Some(what)))
}

/// Progress of a tier.
pub(crate) fn mark(connection: &Connection, tier: Tier) -> Result<Mark> {
    connection.query_row("SELECT merged, cut FROM mark WHERE tier = ?", [tier.table()], |row| {
        Ok(Mark { merged: row.get(0)?, cut: row.get(1)? })
    })
}

/// The path with a suffix.
fn named(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Renames a database with its log to a new, unused name, which is returned.
pub(crate) fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let free = (1..).map(|number| named(path, &format!(".aside-{number}"))).find(|name| !name.exists());
    let aside = free.expect("numbers do not end");
    for ending in ["-wal", "-shm"] {
        let log = named(path, ending);
        if log.exists() {
            fs::rename(log, named(&aside, ending))?;
        }
    }
    fs::rename(path, &aside)?;
    Ok(aside)
}

/// The number of a subject, assigned if it is new.
fn id_of(
    transaction: &Transaction<'_>,
    ids: &mut BTreeMap<Subject, (i64, Option<String>)>,
    entry: &Entry,
) -> Result<i64> {
    let Subject { kind, name } = &entry.subject;
    if let Some((id, _)) = ids.get(&entry.subject).filter(|(_, label)| *label == entry.label) {
        return Ok(*id);
    }
    let sql = "INSERT INTO subject(kind, name, label) VALUES (?1, ?2, ?3)
        ON CONFLICT(kind, name) DO UPDATE SET label = coalesce(?3, label) RETURNING id";
    let id = transaction.query_row(sql, params![*kind as i64, name, entry.label], |row| row.get(0))?;
    ids.insert(entry.subject.clone(), (id, entry.label.clone()));
    Ok(id)
}

/// Merges minutes into the intervals of a tier that end with this minute, and deletes expired rows.
fn merge_up_to(transaction: &Transaction<'_>, tier: Tier, minute: i64) -> Result<()> {
    let end = tier.begin_of(minute + Tier::Minute.length_s());
    let merged = mark(transaction, tier)?.merged;
    // Initially, or after the clock was set back.
    let mut begin = if merged == 0 || merged > minute { tier.begin_of(minute) } else { merged };
    if begin >= end {
        if begin != merged {
            set_merged(transaction, tier, begin)?;
        }
        return Ok(());
    }
    while begin < end {
        merge_interval(transaction, tier, begin)?;
        let sql = "SELECT coalesce(min(at), ?2) FROM minute WHERE at >= ?1";
        let next = transaction.query_row(sql, [begin + tier.length_s(), end], |row| row.get(0))?;
        begin = tier.begin_of(next).min(end);
    }
    set_merged(transaction, tier, end)?;
    if tier == Tier::Hour {
        expire(transaction, end)?;
    }
    Ok(())
}

fn set_merged(transaction: &Transaction<'_>, tier: Tier, merged: i64) -> Result<()> {
    transaction.execute("UPDATE mark SET merged = ? WHERE tier = ?", params![merged, tier.table()]).map(|_| ())
}

/// Merges the minutes of an interval.
fn merge_interval(transaction: &Transaction<'_>, tier: Tier, begin: i64) -> Result<()> {
    let end = begin + tier.length_s();
    let skipped = if tier == Tier::Quarter { Kind::Station as i64 } else { -1 };
    let sql = "SELECT subject, data FROM minute JOIN subject ON id = subject WHERE at >= ? AND at < ? AND kind <> ?";
    let mut minutes = transaction.prepare(sql)?;
    let mut found = minutes.query([begin, end, skipped])?;
    let mut sums = BTreeMap::<i64, Row>::new();
    while let Some(found) = found.next()? {
        let row = Row::unpack(found.get_ref(1)?.as_blob()?);
        if let Some(row) = row {
            sums.entry(found.get(0)?).or_default().merge(&row);
        }
    }
    let mut put = transaction.prepare(&format!("INSERT OR REPLACE INTO {} VALUES (?, ?, ?)", tier.table()))?;
    let mut used = transaction.prepare("UPDATE subject SET last = ? WHERE id = ?")?;
    for (id, row) in sums {
        put.execute(params![id, begin, row.pack()])?;
        if tier == Tier::Hour {
            used.execute([end, id])?;
        }
    }
    Ok(())
}

/// Deletes rows beyond the retention of their tier, and stations without rows.
fn expire(transaction: &Transaction<'_>, now: i64) -> Result<()> {
    for tier in Tier::ALL {
        cut_tier(transaction, tier, Tier::Hour.begin_of(now - tier.kept_s()), "")?;
    }
    let stations = Tier::Hour.begin_of(now - Tier::STATION_HOURS_S);
    cut_tier(transaction, Tier::Hour, stations, "WHERE kind = 4")?;
    transaction.execute("DELETE FROM event WHERE at < ?", [now - Tier::Hour.kept_s()])?;
    transaction.execute("DELETE FROM subject WHERE kind = 4 AND last > 0 AND last < ?", [stations]).map(|_| ())
}

/// Deletes a tier's rows before a time, of all subjects or of some.
fn cut_tier(transaction: &Transaction<'_>, tier: Tier, cut: i64, which: &str) -> Result<()> {
    let table = tier.table();
    match tier {
        Tier::Minute => transaction.execute("DELETE FROM minute WHERE at < ?", [cut])?,
        _ => {
            let sql = format!("DELETE FROM {table} WHERE subject IN (SELECT id FROM subject {which}) AND at < ?");
            transaction.execute(&sql, [cut])?
        }
    };
    if which.is_empty() {
        transaction.execute("UPDATE mark SET cut = max(cut, ?) WHERE tier = ?", params![cut, table])?;
    }
    Ok(())
}
