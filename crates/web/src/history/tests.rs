//! The database: merging, deletion, and recovery from kills and full disks.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use evenair_api::histogram::Histogram;
use evenair_api::watch::{Event, LegHistograms};

use super::measure::Measure;
use super::query::WHOLE;
use super::row::{Row, Sum};
use super::series::{Refusal, answer, measure};
use super::store::{Entry, FILE, Store, open_to_read};
use super::subject::{Kind, Subject};
use super::*;

/// Tells a copy of this program which folder to work in.
const PLACE: &str = "EVENAIR_HISTORY_PLACE";
const LIMIT: u64 = 1_000_000_000;
const DAY_S: i64 = 24 * 3600;
/// Begin of a day and an hour, in seconds since 1970.
const BEGIN: i64 = 1_772_323_200;

#[tokio::test]
async fn failures_to_store_are_a_health_reason_until_they_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let feed = Feed::start(&folder.path().join("watch.sock"), None);
    let mut recorder = Recorder {
        socket: folder.path().join("watch.sock"),
        state: folder.path().to_owned(),
        files: folder.path().join("files"),
        limit: LIMIT,
        ended: Arc::default(),
        minute: Minute::default(),
        store: None,
        is_failing: false,
        feed: feed.clone(),
    };
    let line = || serde_json::json!({"health": {"level": "good", "reasons": []}});
    recorder.keep(5.0, |_| {
        Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL), None))
    });
    let failing = feed.with_own(line()).expect("a reason");
    assert!(
        failing.contains("\"history-failing\"") && failing.contains("the history of the page cannot be kept"),
        "{failing}"
    );
    recorder.keep(6.0, |_| Ok(()));
    assert_eq!(feed.with_own(line()), None);
}

/// A deterministic pseudo-random number.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32
}

/// Latencies of a minute, in some twelve buckets.
fn latencies(seed: u64) -> Histogram {
    Histogram::from([mixed(seed) % 30].into_iter().chain((0..12).map(|at| mixed(seed + at) % 200)).collect::<Vec<_>>())
}

fn entry(subject: Subject, seed: u64) -> Entry {
    let mut row = Row::default();
    let sums = [
        (Sum::KnownMs, 60_000),
        (Sum::SeenMs, 60_000),
        (Sum::DownBytes, mixed(seed) % 100_000_000),
        (Sum::UpBytes, mixed(seed + 1) % 10_000_000),
        (Sum::AirUs, mixed(seed + 2) % 5_000_000),
        (Sum::ActiveMs, 60_000),
        (Sum::DataDown, mixed(seed + 3) % 70_000),
        (Sum::BoxDown, mixed(seed + 4) % 100),
        (Sum::WlanDown, mixed(seed + 5) % 100),
        (Sum::DataUp, mixed(seed + 6) % 7_000),
    ];
    let is_time = |sum: Sum| matches!(sum, Sum::KnownMs | Sum::SeenMs);
    let of_box = subject.kind == Kind::Box;
    sums.into_iter().filter(|(sum, _)| of_box || !is_time(*sum)).for_each(|(sum, value)| row.add(sum, value));
    let [in_box, wlan, internet] = [10, 11, 12].map(|leg| latencies(seed + leg));
    row.add_latencies(&LegHistograms { in_box, wlan, internet, ..LegHistograms::default() });
    Entry { subject, label: None, row }
}

fn station(number: u64) -> Subject {
    Subject::new(Kind::Station, &format!("02:00:00:00:{:02x}:{:02x}", number >> 8, number & 0xff))
}

/// Entries of a site in a minute: the box, access points and stations.
fn site(minute: i64, points: u64, stations: u64) -> Vec<Entry> {
    let points = (0..points).map(|number| Subject::new(Kind::AccessPoint, &format!("ap{number}")));
    let subjects = [Subject::BOX].into_iter().chain(points).chain((0..stations).map(station));
    subjects.zip(0..).map(|(subject, number)| entry(subject, minute as u64 * 1000 + number)).collect()
}

fn open(folder: &Path, limit: u64) -> Store {
    let (store, aside) = Store::open(&folder.join(FILE), limit).expect("it opens");
    assert_eq!(aside, None);
    store
}

fn asked(folder: &Path, name: &str, subject: Subject, steps: Steps) -> Result<Vec<SeriesPoint>, Refusal> {
    let question = Question { measure: measure(name).expect("a measure"), subject, steps, is_busiest: false };
    answer(folder, &question).map(|series| series.points)
}

fn count(folder: &Path, table: &str) -> i64 {
    let connection = open_to_read(&folder.join(FILE)).expect("readable");
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("a number")
}

#[test]
fn steps_of_any_length_cover_all_their_packets() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path(), LIMIT);
    let minutes: Vec<_> = (0..150).map(|minute| BEGIN + minute * 60).collect();
    minutes.iter().for_each(|&minute| store.keep(minute, &site(minute, 1, 2)).expect("kept"));
    assert_eq!((count(folder.path(), "hour"), count(folder.path(), "quarter")), (2 * 4, 10 * 2));
    for subject in [Subject::BOX, Subject::new(Kind::AccessPoint, "ap0"), station(1)] {
        for every in [60, 900, 1800, 3600, 7200] {
            let steps = Steps { from: BEGIN, to: BEGIN + 150 * 60, every };
            for name in ["wlan-p95", "down-bytes", "down-mbps", "internet-timed"] {
                let found = asked(folder.path(), name, subject.clone(), steps).expect("an answer");
                let wanted: Vec<_> = (BEGIN..steps.to)
                    .step_by(every as usize)
                    .map(|at| {
                        let (mut row, mut of_box) = (Row::default(), Row::default());
                        for minute in minutes.iter().filter(|minute| (at..at + every).contains(*minute)) {
                            let entries = site(*minute, 1, 2);
                            row.merge(&entries.iter().find(|entry| entry.subject == subject).expect("there").row);
                            of_box.merge(&entries[0].row);
                        }
                        let value = Measure::named(name).and_then(|of| of.of(subject.kind, &row, &of_box));
                        SeriesPoint { at, value: value.expect("known") }
                    })
                    .collect();
                assert_eq!(found, wanted, "{subject} {name} {every}");
            }
        }
    }
}

#[test]
fn a_minute_that_was_kept_in_two_parts_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path(), LIMIT);
    let last = BEGIN + 3540;
    store.keep(last, &site(last, 0, 1)).expect("kept");
    store.keep(last, &site(last, 0, 1)).expect("kept again");
    let steps = |every| Steps { from: BEGIN, to: BEGIN + 3600, every };
    let bytes = entry(station(0), last as u64 * 1000 + 1).row.get(Sum::DownBytes);
    for every in [60, 3600] {
        let found = asked(folder.path(), "down-bytes", station(0), steps(every)).expect("an answer");
        assert_eq!(found.iter().map(|point| point.value).collect::<Vec<_>>(), [2.0 * bytes as f64], "{every}");
    }
    // The clock is set back by a day.
    let before = last - DAY_S;
    store.keep(before, &site(before, 0, 1)).expect("kept");
    let day = Steps { from: BEGIN - DAY_S, to: BEGIN + 3600, every: 3600 };
    assert_eq!(asked(folder.path(), "down-bytes", station(0), day).expect("an answer").len(), 2);
}

#[test]
fn rows_go_when_they_are_older_than_their_tier_keeps_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path(), LIMIT);
    // The last minute of an hour, on several days.
    let days = [0, 1, 80, 100, 1094, 1099];
    for day in days {
        let minute = BEGIN + day * DAY_S + 3540;
        store.keep(minute, &site(minute, 1, 1)).expect("kept");
        store.keep_events(&[Event { at: minute as f64, event: "reload".into(), text: String::new() }]).expect("kept");
    }
    // Minutes for 7 days; quarters for 90; hours for 3 years, and those of the station for 90 days.
    assert_eq!(count(folder.path(), "minute"), 2 * 3);
    assert_eq!(count(folder.path(), "quarter"), 2 * 2);
    assert_eq!(count(folder.path(), "hour"), 2 * 4 + 2);
    assert_eq!(count(folder.path(), "event"), 4);
    let all = Steps { from: BEGIN, to: BEGIN + 1100 * DAY_S, every: 3600 };
    let found = asked(folder.path(), "wlan-p95", Subject::BOX, all).err();
    assert!(matches!(found, Some(Refusal::TooMany(shortest)) if shortest > 3600 && shortest % 60 == 0), "{found:?}");
    // Minutes are requested; where they have expired, the response has hours.
    let minutes = Steps { from: BEGIN + 1090 * DAY_S, to: BEGIN + 1100 * DAY_S, every: 60 };
    assert_eq!(asked(folder.path(), "wlan-p95", Subject::BOX, minutes).expect("an answer").len(), 2);
    let hours = Steps { from: BEGIN + 75 * DAY_S, to: BEGIN + 1100 * DAY_S, every: DAY_S };
    assert_eq!(asked(folder.path(), "wlan-p95", Subject::BOX, hours).expect("an answer").len(), 4);
}

#[test]
fn the_busiest_tenth_of_each_step_is_that_of_its_minutes() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path(), LIMIT);
    let minutes: Vec<_> = (0..120).map(|minute| BEGIN + minute * 60).collect();
    minutes.iter().for_each(|&minute| store.keep(minute, &site(minute, 1, 1)).expect("kept"));
    let steps = Steps { from: BEGIN, to: BEGIN + 7200, every: 3600 };
    let bytes = |row: &Row| row.get(Sum::DownBytes) + row.get(Sum::UpBytes);
    for (number, subject) in [Subject::BOX, Subject::new(Kind::AccessPoint, "ap0"), station(0)].into_iter().enumerate()
    {
        for name in ["wlan-p95", "down-mbps"] {
            let question = Question { measure: name, subject: subject.clone(), steps, is_busiest: true };
            let found = answer(folder.path(), &question).expect("an answer");
            assert_eq!(found.data_s, 12 * 60, "{subject} {name}");
            let wanted = [0, 60].map(|first| {
                let mut hour: Vec<_> = minutes[first..first + 60].iter().map(|&minute| site(minute, 1, 1)).collect();
                hour.sort_by_key(|entries| std::cmp::Reverse(bytes(&entries[number].row)));
                let (mut row, mut of_box) = (Row::default(), Row::default());
                hour[..6].iter().for_each(|entries| {
                    row.merge(&entries[number].row);
                    of_box.merge(&entries[0].row);
                });
                Measure::named(name).and_then(|of| of.of(subject.kind, &row, &of_box)).expect("known")
            });
            assert_eq!(found.points.iter().map(|point| point.value).collect::<Vec<_>>(), wanted, "{subject} {name}");
        }
    }
}

#[test]
fn a_whole_range_is_one_step_with_its_known_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path(), LIMIT);
    for minute in [0, 1, 5, 58, 70, 100].map(|minute| BEGIN + minute * 60) {
        store.keep(minute, &site(minute, 0, 1)).expect("kept");
    }
    let steps = Steps { from: BEGIN + 60, to: BEGIN + 80 * 60, every: WHOLE };
    for (name, subject) in [("wlan-p95", station(0)), ("down-mbps", station(0)), ("good-s", Subject::BOX)] {
        let question = Question { measure: measure(name).expect("a measure"), subject, steps, is_busiest: false };
        let found = answer(folder.path(), &question).expect("an answer");
        assert_eq!((found.data_s, found.every_s), (4 * 60, 79 * 60), "{name}");
        assert_eq!(found.points.iter().map(|point| point.at).collect::<Vec<_>>(), [steps.from], "{name}");
    }
    // Minutes have expired, and the quarter of an hour spans the begin.
    let last = BEGIN + 3540;
    [last, last + 8 * DAY_S].iter().for_each(|&minute| store.keep(minute, &site(minute, 0, 1)).expect("kept"));
    for (begin, count) in [(45, 1), (46, 0)] {
        let steps = Steps { from: BEGIN + begin * 60, to: BEGIN + 3600, every: WHOLE };
        assert_eq!(asked(folder.path(), "wlan-p95", Subject::BOX, steps).expect("an answer").len(), count, "{begin}");
    }
}

#[test]
fn events_of_a_time_are_the_oldest_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let none = events(folder.path(), 0, 1).err();
    assert!(matches!(none, Some(Refusal::NoHistory(_))), "{none:?}");
    let event = |at: i64| Event { at: at as f64 + 0.5, event: "mode".into(), text: format!("inserted {at}") };
    open(folder.path(), LIMIT).keep_events(&[9, 3, 5, 1].map(event)).expect("kept");
    let found = events(folder.path(), 3, 9).expect("readable");
    assert_eq!(found.iter().map(|event| event.at).collect::<Vec<_>>(), [3.5, 5.5]);
}

#[test]
fn a_limit_drops_the_oldest_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let limit = 5_400_000;
    let mut store = open(folder.path(), limit);
    for minute in (0..600).map(|minute| BEGIN + minute * 60) {
        store.keep(minute, &site(minute, 2, 30)).expect("kept");
        let files = fs::read_dir(folder.path()).expect("a folder");
        let size: u64 = files.map(|file| file.and_then(|file| file.metadata()).expect("a file").len()).sum();
        assert!(size <= limit, "{size}");
    }
    let steps = Steps { from: BEGIN, to: BEGIN + 36_000, every: 60 };
    let found = asked(folder.path(), "wlan-p95", station(7), steps).expect("an answer");
    assert_eq!(found.last().map(|point| point.at), Some(BEGIN + 599 * 60));
    assert!((60..500).contains(&found.len()), "{}", found.len());
    assert!(found.windows(2).all(|pair| pair[1].at - pair[0].at == 60), "none is missing in between");
}

#[test]
fn a_damaged_or_later_database_is_set_aside() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(FILE);
    fs::write(&path, "this is no database, and longer than the head of one: ".repeat(100)).expect("written");
    let aside = |number: u32| folder.path().join(format!("{FILE}.aside-{number}"));
    let (store, found) = Store::open(&path, LIMIT).expect("a new one");
    assert_eq!(found, Some(aside(1)));
    drop(store);
    rusqlite::Connection::open(&path).expect("ours").pragma_update(None, "user_version", 7).expect("changed");
    let (mut store, found) = Store::open(&path, LIMIT).expect("a new one");
    assert_eq!(found, Some(aside(2)));
    store.keep(BEGIN, &site(BEGIN, 0, 1)).expect("kept");
    drop(store);
    open(folder.path(), LIMIT);
    assert_eq!(count(folder.path(), "minute"), 2, "one of this version stays");
}

/// A copy of this test program that runs one test in `place`.
fn copy(test: &str, place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", &format!("history::tests::{test}"), "--nocapture", "--include-ignored"]);
    command.env(PLACE, place);
    command
}

#[test]
fn a_killed_writer_loses_the_minute_that_has_not_ended() {
    if let Some(place) = std::env::var_os(PLACE) {
        let mut store = open(place.as_ref(), LIMIT);
        for minute in 0.. {
            let minute = BEGIN + minute * 60;
            store.keep(minute, &site(minute, 1, 20)).expect("kept");
            // Printed after it was stored: at least this must exist.
            println!("kept {minute}");
        }
    }
    kill(5);
}

#[test]
#[ignore = "takes a minute"]
fn writers_that_are_killed_a_hundred_times_lose_no_more() {
    kill(100);
}

/// Kills a writer `times` times at different moments, and checks what is left.
fn kill(times: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..times {
        let mut writer = copy("a_killed_writer_loses_the_minute_that_has_not_ended", folder.path());
        let mut writer = writer.stdout(Stdio::piped()).spawn().expect("a copy of this program");
        sleep(Duration::from_millis(150 + mixed(round) % 200));
        writer.kill().expect("it lives");
        let said = writer.wait_with_output().expect("it is dead").stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        let last = said.lines().rev().skip(1).find_map(|line| line.strip_prefix("kept ")?.parse::<i64>().ok());
        let Some(last) = last else { continue };
        let mut store = open(folder.path(), LIMIT);
        let kept = store.minutes_of_box(0).expect("readable");
        assert!(kept.windows(2).all(|pair| pair[1] == pair[0] + 60), "none is missing in between");
        assert!(kept.last().is_some_and(|kept| *kept >= last), "{last} was kept, and {:?} is there", kept.last());
        let check: String = rusqlite::Connection::open(folder.path().join(FILE))
            .and_then(|connection| connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
            .expect("checked");
        assert_eq!(check, "ok");
        let next = kept[kept.len() - 1] + 60;
        store.keep(next, &site(next, 1, 20)).expect("it goes on");
    }
    assert!(count(folder.path(), "minute") > 22, "no writer came to its second minute");
}

#[test]
fn a_full_disk_drops_the_oldest_and_then_what_is_new() {
    if let Some(place) = std::env::var_os(PLACE) {
        return fill(place.as_ref());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let inner = copy("a_full_disk_drops_the_oldest_and_then_what_is_new", folder.path());
    let mut mounted = Command::new("unshare");
    mounted.args(["--mount", "--map-root-user", "sh", "-c"]);
    mounted.arg("mount -t tmpfs -o size=6m none \"$0\" && exec \"$@\"").arg(folder.path());
    mounted.arg(inner.get_program()).args(inner.get_args()).env(PLACE, folder.path());
    let output = match mounted.output() {
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare") => {
            return println!("skipped: no namespace: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(output) => output,
        Err(error) => return println!("skipped: no unshare: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// In a file system of 6 MB that fills up.
fn fill(place: &Path) {
    let mut store = open(place, LIMIT);
    let mut keep = |minute: i64| match keep_minute(&mut store, BEGIN + minute * 60, &site(minute, 2, 60)) {
        Ok(()) => true,
        Err(error) => {
            println!("{minute}: {error:?}");
            false
        }
    };
    let kept = (0..800).filter(|minute| keep(*minute)).count();
    let first = |minutes: &[i64]| minutes.first().map(|minute| (minute - BEGIN) / 60);
    let minutes = open(place, LIMIT).minutes_of_box(0).expect("readable");
    assert!(kept > 720 && first(&minutes) > Some(0), "{kept} were kept, from minute {:?}", first(&minutes));
    // Another file takes the remaining space.
    let ballast = place.join("ballast");
    fs::write(&ballast, vec![0; 8 << 20]).expect_err("it is larger than the disk");
    (800..850).for_each(|minute| _ = keep(minute));
    fs::remove_file(&ballast).expect("removed");
    assert!((850..860).all(keep), "it goes on");
    let check: String = open_to_read(&place.join(FILE))
        .and_then(|connection| connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
        .expect("checked");
    assert_eq!(check, "ok");
}

#[test]
fn gaps_are_filled_from_the_files_of_the_box() {
    use evenair_api::history::{Record, Sample, StationSample};
    let folder = tempfile::tempdir().expect("a folder");
    let sample = |minute: i64| {
        let station =
            StationSample { mac: "02:00:00:00:00:01".into(), to_station_bytes: 600, ..StationSample::default() };
        let sample = Sample {
            at_s: (BEGIN + minute * 60 + 62) as f64,
            seconds: 60.0,
            to_station_bytes: 600,
            stations: vec![station],
            ..Sample::default()
        };
        Record::Sample(sample.into()).to_json() + "\n"
    };
    let [old, new] = [[0, 1].map(sample).concat() + "nonsense\n", [2, 3].map(sample).concat()];
    fs::write(folder.path().join("history.1.ndjson"), old).expect("written");
    fs::write(folder.path().join("history.ndjson"), new).expect("written");
    let there = BTreeSet::from([BEGIN + 60]);
    let mut found = Vec::new();
    missed::read(folder.path(), BEGIN, &there, |minute, entries| {
        found.push((minute - BEGIN) / 60);
        assert_eq!(entries.iter().map(|entry| entry.row.get(Sum::DownBytes)).collect::<Vec<_>>(), [600, 600]);
    })
    .expect("read");
    assert_eq!(found, [0, 2, 3]);
}

/// Size of a year with 200 active stations, and the time to read it.
#[test]
#[ignore = "takes minutes"]
fn a_year_of_200_stations_is_small_and_read_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path(), LIMIT);
    let end = BEGIN + 365 * DAY_S;
    let begun = Instant::now();
    for hour in (BEGIN..end).step_by(3600) {
        // Minutes that expire before the end of the year leave their sum in an hour: a few represent all. So do stations.
        let (minutes, stations) = match end - hour {
            left if left <= 8 * DAY_S => ((0..60).collect(), 200),
            left if left <= 91 * DAY_S => (vec![14, 29, 44, 59], 200),
            _ => (vec![59], 0),
        };
        for minute in minutes.into_iter().map(|minute: i64| hour + minute * 60) {
            store.keep(minute, &site(minute, 10, stations)).expect("kept");
        }
    }
    let size = fs::metadata(folder.path().join(FILE)).expect("there").len();
    println!("written in {:.0?}, {:.0} MB", begun.elapsed(), size as f64 / 1e6);
    assert!(size < 1_000_000_000, "{size}");
    let steps = Steps { from: BEGIN, to: end, every: 3600 };
    // The limits are for an optimized build; neither tests nor their SQLite are optimized.
    let slower = if cfg!(debug_assertions) { 10 } else { 1 };
    for (subject, least, most) in [(Subject::BOX, 8000, 300), (station(100), 2000, 100)] {
        let mut shortest = Duration::MAX;
        for _ in 0..3 {
            let begun = Instant::now();
            let found = asked(folder.path(), "wlan-p95", subject.clone(), steps).expect("an answer");
            shortest = shortest.min(begun.elapsed());
            assert!(found.len() > least, "{} points", found.len());
        }
        println!("{subject}: {shortest:.1?}");
        assert!(shortest < Duration::from_millis(most * slower), "{subject}: {shortest:?}");
    }
}
